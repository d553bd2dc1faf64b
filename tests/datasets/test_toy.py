"""The toys have the truth and the geometry they claim."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.manifold import Isomap

from viewsplice._types import Array
from viewsplice.datasets import MultiViewData, linear_gaussian, sheet_and_lines, two_rings

Toy = Callable[..., MultiViewData]
TOYS: dict[str, Toy] = {"two_rings": two_rings, "sheet_and_lines": sheet_and_lines, "linear_gaussian": linear_gaussian}
SHARED_ONLY, PRIVATE_ONLY = 0.0, 1e12


@pytest.fixture(params=list(TOYS))
def toy(request: pytest.FixtureRequest) -> Toy:
    return TOYS[str(request.param)]


def isomap(points: Array, n_components: int) -> Isomap:
    # The dense solver needs no random start, which would come from the global generator.
    return Isomap(n_neighbors=10, n_components=n_components, eigen_solver="dense").fit(points.astype(float))


def linear_fit(points: Array, factors: Array) -> float:
    return float(LinearRegression().fit(points, factors).score(points, factors))


def test_same_seed_same_data_other_seed_other_data(toy: Toy) -> None:
    first, again, other = toy(n_samples=50), toy(n_samples=50), toy(n_samples=50, random_state=1)
    for name in ("A", "B"):
        np.testing.assert_array_equal(first.views[name], again.views[name])
        assert not np.allclose(first.views[name], other.views[name])
    np.testing.assert_array_equal(first.split["test"], again.split["test"])


def test_shapes_parts_and_names(toy: Toy) -> None:
    data = toy(n_samples=100, n_features=17)
    assert data.views.names == ("A", "B")
    assert data.views["A"].shape == data.views["B"].shape == (100, 17)
    assert data.views["A"].dtype == np.float32
    assert {name: len(rows) for name, rows in data.split.items()} == {"train": 64, "validation": 16, "test": 20}
    assert list(data.private) == ["A", "B"]
    assert data.groups is None


def test_factors_are_independent(toy: Toy) -> None:
    columns = np.column_stack(list(toy(n_samples=4000).factors().values()))
    off_diagonal = np.corrcoef(columns.T) - np.eye(columns.shape[1])
    assert np.abs(off_diagonal).max() < 0.06


def test_private_and_shared_variance_have_the_ratio_asked_for(toy: Toy) -> None:
    # Shared and private parts of the same seed, recovered from the extremes of the mixture.
    mixed = toy(n_samples=300, private_to_shared=4.0).views["A"].astype(float)
    shared = toy(n_samples=300, private_to_shared=SHARED_ONLY).views["A"].astype(float)
    private = toy(n_samples=300, private_to_shared=PRIVATE_ONLY).views["A"].astype(float)
    np.testing.assert_allclose(mixed, np.sqrt(0.2) * shared + np.sqrt(0.8) * private, atol=2e-5)


def test_noise_is_added_to_both_views(toy: Toy) -> None:
    clean, noisy = toy(n_samples=3000), toy(n_samples=3000, noise=0.5)
    for name in ("A", "B"):
        noise = noisy.views[name] - clean.views[name]
        expected = 0.5 * clean.views[name].var(axis=0).mean()
        np.testing.assert_allclose(noise.var(axis=0).mean(), expected, rtol=0.03)
    np.testing.assert_array_equal(clean.shared[next(iter(clean.shared))], noisy.shared[next(iter(noisy.shared))])


@pytest.mark.parametrize(("ratio", "factor"), [(SHARED_ONLY, "angle"), (PRIVATE_ONLY, "B/angle")])
def test_each_part_of_two_rings_is_a_round_ring(ratio: float, factor: str) -> None:
    data = two_rings(n_samples=1000, private_to_shared=ratio)
    angle = np.deg2rad(data.factors()[factor])
    assert angle.min() >= 0
    assert angle.max() < 2 * np.pi
    ring = isomap(data.views["B"], 2).embedding_
    assert linear_fit(ring, np.column_stack([np.cos(angle), np.sin(angle)])) > 0.995
    radius = np.linalg.norm(ring, axis=1)
    assert radius.std() / radius.mean() < 0.05


def test_speed_along_a_ring_is_constant() -> None:
    data = two_rings(n_samples=20000, private_to_shared=SHARED_ONLY, n_features=12)
    order = np.argsort(data.shared["angle"])
    step = np.diff(data.shared["angle"][order])
    length = np.linalg.norm(np.diff(data.views["A"][order].astype(float), axis=0), axis=1)
    speed = (length / step)[step > 0.01]
    assert speed.std() / speed.mean() < 1e-3


@pytest.mark.parametrize("view", ["A", "B"])
def test_the_sheet_is_nearly_isometric_to_its_rectangle(view: str) -> None:
    data = sheet_and_lines(n_samples=1000, private_to_shared=SHARED_ONLY)
    x, y = data.shared["x"], data.shared["y"]
    assert (x.min() >= 0, x.max() <= 1.5, y.min() >= 0, y.max() <= 1) == (True, True, True, True)
    sheet = isomap(data.views[view], 3)
    assert linear_fit(sheet.embedding_[:, :2], x) > 0.98
    assert linear_fit(sheet.embedding_[:, :2], y) > 0.98
    spectrum = sheet.kernel_pca_.eigenvalues_
    # A uniform rectangle of 1.5 by 1 has a ratio of variances of 1 / 1.5² = 0.44.
    np.testing.assert_allclose(spectrum[1] / spectrum[0], 1 / 1.5**2, atol=0.1)
    assert spectrum[2] / spectrum[0] < 0.04


def test_the_line_is_a_line() -> None:
    data = sheet_and_lines(n_samples=500, private_to_shared=PRIVATE_ONLY)
    for view in ("A", "B"):
        line = isomap(data.views[view], 1).embedding_
        assert linear_fit(line, data.private[view]["position"]) > 0.995


def test_linear_gaussian_equals_its_formula() -> None:
    data = linear_gaussian(n_samples=400, n_features=9, n_shared=3, n_private=(2, 0), private_to_shared=2.0)
    loadings = data.details["A_loadings"]
    np.testing.assert_allclose(loadings @ loadings.T, np.eye(5), atol=1e-12)
    s = np.column_stack([data.shared[f"s{i}"] for i in range(3)])
    z = np.column_stack([data.private["A"][f"z{i}"] for i in range(2)])
    shared, private = s @ loadings[:3], z @ loadings[3:]
    a = np.sqrt(1 / 3 / shared.var(axis=0).mean())
    b = np.sqrt(2 / 3 / private.var(axis=0).mean())
    np.testing.assert_allclose(data.views["A"], a * shared + b * private, atol=1e-5)
    assert data.private["B"] == {}
    assert np.linalg.matrix_rank(data.views["B"], tol=1e-3) == 3


def test_linear_gaussian_without_shared_factors_has_independent_views() -> None:
    data = linear_gaussian(n_samples=5000, n_shared=0)
    assert data.shared == {}
    u, v = (np.linalg.svd(data.views[name], full_matrices=False)[0][:, 0] for name in ("A", "B"))
    assert abs(np.corrcoef(u, v)[0, 1]) < 0.05


def test_too_few_features_raise() -> None:
    with pytest.raises(ValueError, match="n_features is 11; expected at least 12"):
        two_rings(n_features=11)
    with pytest.raises(ValueError, match="n_features is 2; expected at least 3"):
        linear_gaussian(n_features=2)
