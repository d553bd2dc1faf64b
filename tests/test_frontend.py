from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from viewsplice import views
from viewsplice.frontend import Standardizer

ALL = np.arange(4)
# Means 1 and 4, population variances 1 and 4: total 5, scale sqrt(5 / 2).
X = np.array([[0.0, 2.0], [2.0, 6.0], [0.0, 6.0], [2.0, 2.0]])


def test_values_by_hand() -> None:
    found = Standardizer.fit(X, ALL, "A")
    assert found.mean.tolist() == [1, 4]
    assert found.scale == pytest.approx(math.sqrt(2.5))
    assert found.n_features == 2
    expected = np.array([[-1, -2], [1, 2], [-1, 2], [1, -2]]) / math.sqrt(2.5)
    out = found.forward(X)
    assert out.dtype == torch.float32
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    np.testing.assert_allclose(found.inverse(expected), X, rtol=1e-12)


def test_statistics_are_of_the_training_rows() -> None:
    outlier = np.vstack([X, [[1e6, -1e6]]])
    found = Standardizer.fit(outlier, ALL, "A")
    assert found.mean.tolist() == [1, 4]
    assert found.scale == pytest.approx(math.sqrt(2.5))


@pytest.mark.parametrize("block_rows", [1, 3, 4, 5])
def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, block_rows: int) -> None:
    x = np.random.default_rng(0).normal(3, 2, size=(13, 4))
    whole = Standardizer.fit(x, np.arange(13), "A")
    expected = whole.forward(x)
    monkeypatch.setattr(views, "_BLOCK_ROWS", block_rows)
    found = Standardizer.fit(x, np.arange(13), "A")
    np.testing.assert_allclose(found.mean, whole.mean, rtol=1e-14)
    assert found.scale == pytest.approx(whole.scale, rel=1e-14)
    assert torch.equal(whole.forward(x), expected)


@pytest.mark.parametrize("kind", ["i1", "u1", "i8", "?", "f2", "f4", "f8"])
def test_any_numeric_type_is_computed_in_float64(kind: str) -> None:
    x = (np.array([[0, 1], [1, 0], [1, 1], [0, 0]]) * (1 if kind == "?" else 100)).astype(kind)
    found = Standardizer.fit(x, ALL, "A")
    np.testing.assert_allclose(found.forward(x), [[-1, 1], [1, -1], [1, 1], [-1, -1]], rtol=1e-6)
    assert found.inverse(np.zeros((1, 2))).dtype == (np.float32 if kind == "f4" else np.float64)


def test_row_shape_comes_back() -> None:
    x = np.random.default_rng(0).normal(size=(5, 2, 3))
    found = Standardizer.fit(x, np.arange(5), "A")
    flat = found.forward(x)
    assert flat.shape == (5, 6)
    np.testing.assert_allclose(found.inverse(flat.numpy()), x, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("factor", "offset"), [(1e-9, 0.0), (1e9, 0.0), (1.0, 1e6), (-3.0, 7.0)])
def test_one_factor_and_offset_leave_the_networks_input(factor: float, offset: float) -> None:
    x = np.random.default_rng(0).normal(size=(50, 3))
    before = Standardizer.fit(x, np.arange(50), "A").forward(x)
    moved = factor * x + offset
    after = Standardizer.fit(moved, np.arange(50), "A").forward(moved)
    np.testing.assert_allclose(after, math.copysign(1, factor) * before.numpy(), rtol=1e-5, atol=1e-6)


def test_an_offset_in_single_precision_costs_no_variance() -> None:
    x = (1e6 + np.random.default_rng(0).normal(0, 10, size=(4000, 2))).astype(np.float32)
    assert Standardizer.fit(x, np.arange(4000), "A").forward(x).var(dim=0).mean() == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("value", [0.0, 3, 1e9, 0.1, -1e-30])
def test_a_constant_view_is_refused(value: Any) -> None:
    message = "view 'A' is constant: all 1000 training rows are equal; expected variation"
    with pytest.raises(ValueError, match=message):
        Standardizer.fit(np.full((1000, 3), value), np.arange(1000), "A")


def test_a_view_constant_on_the_training_rows_only_is_refused() -> None:
    x = np.array([[1.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match="view 'A' is constant: all 2 training rows"):
        Standardizer.fit(x, np.array([0, 1]), "A")


def test_little_variation_is_still_variation() -> None:
    x = np.array([[1e6], [1e6 + 1e-3], [1e6], [1e6 + 1e-3]])
    np.testing.assert_allclose(Standardizer.fit(x, ALL, "A").forward(x), [[-1], [1], [-1], [1]], rtol=1e-5)


def test_values_beyond_any_variance_are_refused() -> None:
    with pytest.raises(ValueError, match="view 'A' has values too large for its variance to be computed: rescale it"):
        Standardizer.fit(X * 1e200, ALL, "A")
    for scale in (1e-160, 1e-250):
        with pytest.raises(ValueError, match="view 'A' has values too small for its variance to be computed: rescale"):
            Standardizer.fit(X * scale, ALL, "A")
    with pytest.raises(ValueError, match="view 'A' is constant"):
        Standardizer.fit(np.zeros((4, 3)), ALL, "A")


def low_rank(n_rows: int, n_features: int, variances: list[float], seed: int = 0) -> Any:
    """Return rows whose variances along orthonormal axes are exactly these, in another unit and off the origin."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_rows, len(variances)))
    scores = np.linalg.qr(scores - scores.mean(axis=0))[0] * np.sqrt(n_rows * np.array(variances))
    axes = np.linalg.qr(rng.normal(size=(n_features, len(variances))))[0]
    return 3.0 * scores @ axes.T + 7.0


SPECTRUM = [50.0, 30.0, 15.0, 4.0, 1.0]


@pytest.mark.parametrize(
    ("retained", "n_axes", "kept"), [(0.5, 1, 0.5), (0.6, 2, 0.8), (0.94, 3, 0.95), (0.985, 4, 0.99), (0.995, 5, 1.0)]
)
def test_the_fewest_axes_that_keep_enough(retained: float, n_axes: int, kept: float) -> None:
    x = low_rank(200, 12, SPECTRUM)
    found = Standardizer.fit(x, np.arange(200), "A", retained_variance=retained)
    assert (found.n_outputs, found.n_features, found.network_shape) == (n_axes, 12, (n_axes,))
    assert found.retained == pytest.approx(kept, abs=1e-6)
    assert found.axes is not None
    np.testing.assert_allclose(found.axes.T @ found.axes, np.eye(n_axes), atol=1e-6)
    out = found.forward(x).numpy()
    # Along principal axes, in network units: uncorrelated, with the variances of the spectrum, scaled to 12 in total.
    np.testing.assert_allclose(out.T @ out / 200, np.diag(np.array(SPECTRUM[:n_axes]) * 12 / 100), atol=1e-4)


def test_axes_turn_and_cut_but_do_not_stretch() -> None:
    x = low_rank(60, 12, SPECTRUM)
    rows = np.arange(60)
    plain, turned = (Standardizer.fit(x, rows, "A", retained_variance=kept) for kept in (1.0, 0.999))
    assert plain.axes is None
    assert (plain.mean == turned.mean).all()
    assert plain.scale == turned.scale
    between = [torch.cdist(s.forward(x), s.forward(x)).numpy() for s in (plain, turned)]
    np.testing.assert_allclose(between[1], between[0], atol=5e-3)
    np.testing.assert_allclose(turned.inverse(turned.forward(x).numpy()), x, atol=1e-5)


def test_what_is_cut_is_the_rest_along_the_smaller_axes() -> None:
    x = low_rank(200, 12, SPECTRUM)
    found = Standardizer.fit(x, np.arange(200), "A", retained_variance=0.95 - 1e-9)
    rebuilt = found.inverse(found.forward(x).numpy())
    missing = ((x - rebuilt) ** 2).sum() / ((x - x.mean(axis=0)) ** 2).sum()
    assert missing == pytest.approx(0.05, abs=1e-6)
    again = found.inverse(found.forward(rebuilt).numpy())
    np.testing.assert_allclose(again, rebuilt, atol=1e-5)


def test_no_axes_where_none_are_saved() -> None:
    x = np.random.default_rng(0).normal(size=(500, 4))
    found = Standardizer.fit(x, np.arange(500), "A", retained_variance=0.9999)
    assert (found.axes, found.retained, found.network_shape, found.n_outputs) == (None, 1.0, (4,), 4)


def test_axes_are_of_the_training_rows_only_and_flatten_images() -> None:
    x = low_rank(100, 12, SPECTRUM).reshape(100, 3, 4)
    spoiled = np.concatenate([x, 1e3 * np.random.default_rng(1).normal(size=(50, 3, 4))])
    one, other = (Standardizer.fit(data, np.arange(100), "A", retained_variance=0.9) for data in (x, spoiled))
    np.testing.assert_array_equal(one.axes, other.axes)  # type: ignore[arg-type]
    assert one.network_shape == (3,)
    assert one.inverse(one.forward(x).numpy()).shape == (100, 3, 4)


def test_fewer_rows_than_features() -> None:
    x = np.random.default_rng(0).normal(size=(10, 300))
    found = Standardizer.fit(x, np.arange(10), "A", retained_variance=0.9999)
    assert found.n_outputs == 9  # ten rows span nine directions around their mean
    np.testing.assert_allclose(found.inverse(found.forward(x).numpy()), x, atol=1e-4)


def test_wide_views_by_random_search_are_as_good_as_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    x = low_rank(60, 3000, [*SPECTRUM, *(0.01 / 2**i for i in range(20))])
    rows = np.arange(60)
    quick = Standardizer.fit(x, rows, "A", retained_variance=0.995, seed=3)
    monkeypatch.setattr("viewsplice.frontend._EXACT_FEATURES", 3000)
    monkeypatch.setattr("viewsplice.frontend._exact_axes", _by_svd)
    exact = Standardizer.fit(x, rows, "A", retained_variance=0.995)
    assert quick.n_outputs == exact.n_outputs == 5
    assert quick.retained == pytest.approx(exact.retained, abs=1e-6)
    assert quick.axes is not None
    np.testing.assert_allclose(quick.axes.T @ quick.axes, np.eye(5), atol=1e-5)
    cosines = np.abs((quick.axes * exact.axes).sum(axis=0))
    np.testing.assert_allclose(cosines, np.ones(5), atol=1e-4)


def _by_svd(plain: Standardizer, x: Any, rows: Any, seed: int) -> tuple[Any, Any]:
    centered = (x[rows].reshape(len(rows), -1) - plain.mean) / plain.scale
    singular, axes = np.linalg.svd(centered, full_matrices=False)[1:]
    return axes.T, singular**2 / len(rows)


def test_random_search_is_the_seeds_and_keeps_no_more_than_rows_allow() -> None:
    x = np.random.default_rng(0).normal(size=(12, 2100))
    found = [Standardizer.fit(x, np.arange(12), "A", retained_variance=0.99, seed=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(found[0].axes, found[1].axes)  # type: ignore[arg-type]
    assert found[0].n_outputs == found[2].n_outputs == 11
    np.testing.assert_allclose(found[2].inverse(found[2].forward(x).numpy()), x, atol=1e-4)


@pytest.mark.parametrize("block_rows", [1, 7, 60])
def test_blocks_do_not_change_the_axes(monkeypatch: pytest.MonkeyPatch, block_rows: int) -> None:
    x = low_rank(60, 12, SPECTRUM)
    whole = Standardizer.fit(x, np.arange(60), "A", retained_variance=0.9)
    expected = whole.forward(x)
    monkeypatch.setattr(views, "_BLOCK_ROWS", block_rows)
    parts = Standardizer.fit(x, np.arange(60), "A", retained_variance=0.9)
    np.testing.assert_allclose(np.abs((parts.axes * whole.axes).sum(axis=0)), np.ones(3), atol=1e-6)  # type: ignore[operator]
    np.testing.assert_allclose(whole.forward(x), expected, atol=1e-5)
