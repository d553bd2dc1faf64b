"""Properties over many kinds of data: what is accepted gives finite results, and units do not matter."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone

from viewsplice import (
    SPLICE,
    AutocorrelationWarning,
    GeometryWarning,
    MLPNetworks,
    ResidualNetworks,
    TrainConfig,
)
from viewsplice.baselines import CCA, DCCAE, RRR
from viewsplice.frontend import Standardizer

X = NDArray[Any]

PAPER = SPLICE(
    1,
    1,
    recipe="paper",
    networks=MLPNetworks((4,)),
    training=TrainConfig(epochs=1, batch_size=8, restart_passes=1, n_msr=1),
    geometry=None,
    random_state=0,
)
AUTO = SPLICE(
    networks=ResidualNetworks(8, 1, n_frequencies=2),
    training=TrainConfig(epochs=1, scout_epochs=1, regression_epochs=1),
    random_state=0,
)
NEURAL = DCCAE(1, networks=MLPNetworks((4,)), training=TrainConfig(epochs=1, batch_size=8), random_state=0)
ESTIMATORS = {
    "paper": PAPER,
    "auto": AUTO,
    "RRR": RRR(1, random_state=0),
    "CCA": CCA(1, random_state=0),
    "DCCAE": NEURAL,
}

FLOATS = ("f2", "f4", "f8", ">f8", "g")
WHOLE = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")
few = settings(max_examples=10, deadline=None, derandomize=True)


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out what is said of series and of collapsed spaces: random data have both now and then."""
    with warnings.catch_warnings():
        for category in (AutocorrelationWarning, GeometryWarning):
            warnings.simplefilter("ignore", category)
        yield


@st.composite
def one_view(draw: st.DrawFn, factors: X, seed: int) -> X:
    """Return a view of these factors, with some peculiarity."""
    rng = np.random.default_rng(seed)
    n_rows, width = len(factors), draw(st.sampled_from([1, 2, 5, 40, 300]))
    x = np.tanh(factors @ rng.normal(size=(factors.shape[1], width))) + 0.05 * rng.normal(size=(n_rows, width))
    dtype = draw(st.sampled_from([*FLOATS, *WHOLE]))
    if np.dtype(dtype).kind != "f":
        counts = np.round(40 * np.abs(x))
        return counts.astype(dtype) if dtype != "?" else x > np.median(x)
    kind = draw(st.sampled_from(["plain", "duplicates", "constant columns", "outlier", "two values"]))
    if kind == "duplicates":
        x = x[rng.integers(0, max(2, n_rows // 3), size=n_rows)]
    elif kind == "constant columns" and width > 1:
        x[:, : width // 2] = rng.normal()
    elif kind == "outlier":
        x[rng.integers(n_rows)] *= 1e3
    elif kind == "two values":
        x = np.where(x > np.median(x, axis=0), 1.0, 0.0)
    if dtype == "f2":
        return x.astype(dtype)
    scale, offset = 10.0 ** draw(st.integers(-12, 12)), draw(st.sampled_from([0.0, -1.0, 30.0]))
    return ((x + offset) * scale).astype(dtype)


@st.composite
def paired_views(draw: st.DrawFn, n_views: int = 2) -> list[X]:
    """Return views that share a factor, each of its own type, scale, width and peculiarity."""
    seed, n_rows = draw(st.integers(0, 10**6)), draw(st.integers(20, 70))
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n_rows, 1))
    return [draw(one_view(np.hstack([shared, rng.normal(size=(n_rows, 1))]), seed + i)) for i in range(n_views)]


def check_results(model: Any, views: list[X]) -> None:
    for name, z in model.transform(views).spaces().items():
        assert z.shape[0] == len(views[0]), name
        assert np.isfinite(z).all(), name
    for (name, rebuilt), x in zip(model.reconstruct(views).items(), views, strict=True):
        assert rebuilt.shape == x.shape, name
        assert np.isfinite(rebuilt).all(), name
        # In the user's units: no further from the data than the data extend.
        assert np.abs(rebuilt - x.astype(float)).max() <= 100 * (np.ptp(x.astype(float)) + 1e-300), name
    assert np.isfinite(model.score(views))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_any_two_views_can_be_fitted(name: str) -> None:
    @few
    @given(paired_views())
    def check(views: list[X]) -> None:
        with quiet():
            check_results(clone(ESTIMATORS[name]).fit(views), views)

    check()


@few
@given(paired_views(n_views=3))
def test_any_three_views_can_be_fitted(views: list[X]) -> None:
    with quiet():
        check_results(clone(PAPER).fit(views), views)


def plain_views(seed: int = 0, n_rows: int = 120) -> list[X]:
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n_rows, 1))
    return [np.tanh(np.hstack([shared, rng.normal(size=(n_rows, 1))]) @ rng.normal(size=(2, w))) for w in (9, 6)]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_factor_and_one_offset_per_view_do_not_matter(name: str) -> None:
    views = plain_views()
    expected = clone(ESTIMATORS[name]).fit(views)
    latents, rebuilt, score = expected.transform(views), expected.reconstruct(views), expected.score(views)
    offsets = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))

    @few
    @given(st.integers(-12, 12), st.integers(-12, 12), st.floats(1, 10), offsets)
    def check(first: int, second: int, factor: float, offset: float) -> None:
        factors = factor * 10.0**first, 10.0**second
        moved = [f * (x + offset) for f, x in zip(factors, views, strict=True)]
        model = clone(ESTIMATORS[name]).fit(moved)
        for space, z in model.transform(moved).spaces().items():
            spread = np.abs(latents.spaces()[space]).max(initial=0)
            # What RRR finds is in units of the view it predicts.
            unit = factors["AB".index(space[-1])] if name == "RRR" else 1.0
            np.testing.assert_allclose(np.abs(z / unit), np.abs(latents.spaces()[space]), atol=2e-3 * spread)
        for f, (view, x) in zip(factors, model.reconstruct(moved).items(), strict=True):
            np.testing.assert_allclose(x / f - offset, rebuilt[view], atol=2e-3)
        assert model.score(moved) == pytest.approx(score, abs=2e-3)

    check()


@few
@given(st.integers(-12, 12), st.sampled_from([0.0, 1.0, -1e3, 1e6]), st.sampled_from(["f4", "f8", "g"]))
def test_standardized_rows_have_unit_variance_at_any_scale(exponent: int, offset: float, dtype: str) -> None:
    x = plain_views()[0]
    if dtype == "f4":
        offset = np.clip(offset, -10, 10)
    given_x = ((x + offset) * 10.0**exponent).astype(dtype)
    standardizer = Standardizer.fit(given_x, np.arange(100), "A")
    rows = standardizer.forward(given_x).numpy()[:100]
    assert rows.mean(axis=0) == pytest.approx(np.zeros(9), abs=1e-4)
    assert rows.var(axis=0).mean() == pytest.approx(1, abs=1e-3)
    back = standardizer.inverse(standardizer.forward(given_x).numpy())
    np.testing.assert_allclose(back, given_x.astype(float), atol=1e-5 * 10.0**exponent * (1 + abs(offset)))


NUMBERS = st.one_of(
    st.floats(-1e6, 1e6),
    st.integers(-(10**20), 10**20),
    st.booleans(),
    st.decimals(-1000, 1000, places=3),
    st.fractions(-1000, 1000, max_denominator=97),
    st.floats(-100, 100, width=32).map(np.float32),
    st.integers(0, 255).map(np.uint8),
)


@few
@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=24, max_size=40), st.integers(0, 100))
def test_objects_that_are_numbers_are_numbers(rows: list[tuple[Any, ...]], seed: int) -> None:
    values = np.empty((len(rows), 3), dtype=object)
    values[:] = rows
    noise = np.random.default_rng(seed).normal(size=(len(rows), 2))
    values[:, 2] = [Fraction(i % 7, 3) + (Decimal(i) == 0) for i in range(len(rows))]  # some variation, always
    with quiet():
        as_objects = clone(PAPER).fit(values, noise).transform(values, noise)
        as_floats = clone(PAPER).fit(values.astype(float), noise).transform(values.astype(float), noise)
    np.testing.assert_array_equal(as_objects.to_array(), as_floats.to_array())


@pytest.mark.parametrize("method", [RRR(2, random_state=0), CCA(2, random_state=0)], ids=["RRR", "CCA"])
def test_linear_methods_do_not_see_rotations_and_order(method: Any) -> None:
    views = plain_views(n_rows=200)
    model = clone(method).fit(views, validation=0)
    expected, score = model.transform(views), model.score(views)

    @few
    @given(st.integers(0, 10**6))
    def check(seed: int) -> None:
        rng = np.random.default_rng(seed)
        turns = [np.linalg.qr(rng.normal(size=(x.shape[1],) * 2))[0] for x in views]
        order = rng.permutation(200)
        turned = [(x @ turn)[order] for x, turn in zip(views, turns, strict=True)]
        other = clone(method).fit(turned, validation=0)
        assert other.score(turned) == pytest.approx(score, abs=1e-8)
        for space, z in other.transform(turned).spaces().items():
            np.testing.assert_allclose(np.abs(z), np.abs(expected.spaces()[space][order]), atol=1e-6)

    check()
