"""Landmark Isomap: curved sheets come out flat, new points land where they belong, scikit-learn's contract holds."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from viewsplice.exceptions import DisconnectedGraphError
from viewsplice.geometry.isomap import LandmarkIsomap, landmark_isomap

Points = NDArray[np.float64]


def swiss_roll(n: int, seed: int) -> tuple[Points, Points]:
    """Return points of a rolled-up rectangle, and their arc length and height."""
    rng = np.random.default_rng(seed)
    angle = np.sqrt(rng.uniform(4.0, 64.0, size=n)) + np.pi / 2  # uniform in arc length, to a good approximation
    height = rng.uniform(0, 12, size=n)
    arc = (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle)) / 2
    return np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)]), np.column_stack([arc, height])


def s_curve(n: int, seed: int) -> tuple[Points, Points]:
    """Return points of a sheet bent to an S, and their arc length and height."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(-1.5, 1.5, size=n) * np.pi
    height = rng.uniform(0, 4, size=n)
    sheet = np.column_stack([np.sin(angle), height, np.sign(angle) * (np.cos(angle) - 1)])
    return sheet, np.column_stack([angle, height])


def linear_r2(embedding: Points, truth: Points) -> Points:
    """Return R² of each true coordinate, linearly from the embedding."""
    residuals = truth - LinearRegression().fit(embedding, truth).predict(embedding)
    return 1 - residuals.var(axis=0) / truth.var(axis=0)


@pytest.fixture
def _restored_global_random_state() -> Iterator[None]:
    """Put NumPy's global state back: one of scikit-learn's checks shuffles rows with it."""
    state = np.random.get_state()  # noqa: NPY002 - the legacy global state is what the check uses
    yield
    np.random.set_state(state)  # noqa: NPY002


# Some checks fit separate clusters, which connect late.
@pytest.mark.filterwarnings("ignore::viewsplice.exceptions.GeometryWarning")
@pytest.mark.usefixtures("_restored_global_random_state")
@parametrize_with_checks([LandmarkIsomap(n_neighbors=5, random_state=0)])
def test_scikit_learn_contract(estimator: LandmarkIsomap, check: Callable[[LandmarkIsomap], None]) -> None:
    check(estimator)


@pytest.mark.parametrize("sheet", [swiss_roll, s_curve])
def test_curved_sheet_comes_out_flat(sheet: Callable[[int, int], tuple[Points, Points]]) -> None:
    points, truth = sheet(1500, 0)
    isomap = landmark_isomap(points, n_neighbors=8, n_landmarks=80, random_state=0)
    assert linear_r2(isomap.embedding_, truth).min() > 0.98
    assert linear_r2(points, truth).min() < 0.95  # the sheet is curved: the points themselves do not do
    assert (isomap.spectrum_[2:] < 0.05 * isomap.spectrum_[0]).all()
    new_points, new_truth = sheet(300, 1)
    flat = LinearRegression().fit(isomap.embedding_, truth)
    error = flat.predict(isomap.transform(new_points)) - new_truth
    assert (error.std(axis=0) < 0.1 * new_truth.std(axis=0)).all()


def test_training_rows_keep_their_coordinates() -> None:
    points, _ = s_curve(400, 0)
    isomap = LandmarkIsomap(n_landmarks=30, random_state=0)
    embedding = isomap.fit_transform(points)
    assert embedding is isomap.embedding_
    np.testing.assert_allclose(isomap.transform(points), embedding, atol=1e-10)
    np.testing.assert_allclose(isomap.transform(points[5:6]), embedding[5:6], atol=1e-10)


def test_new_point_goes_through_its_nearest_training_points() -> None:
    # Between the training points 3 and 4 of a line, and beyond its end.
    line = np.arange(10.0)[:, None]
    isomap = landmark_isomap(line, 1, n_neighbors=2)
    step = np.diff(isomap.embedding_[:, 0]).mean()
    assert abs(step) == pytest.approx(1.0)
    moved = isomap.transform(np.array([[3.4], [11.0]])) - isomap.embedding_[0]
    np.testing.assert_allclose(moved / step, [[3.4], [11.0]], atol=0.1)


def test_unchanged_by_rotation_and_shift() -> None:
    points, _ = s_curve(300, 0)
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    isomap = landmark_isomap(points, random_state=0)
    moved = landmark_isomap(points @ rotation + 100.0, random_state=0)
    np.testing.assert_allclose(moved.embedding_, isomap.embedding_, atol=1e-8)
    new = points[:20] + 0.01
    np.testing.assert_allclose(moved.transform(new @ rotation + 100.0), isomap.transform(new), atol=1e-8)


def test_fitted_attributes() -> None:
    points, _ = s_curve(200, 0)
    isomap = landmark_isomap(points, 3, n_neighbors=7, n_landmarks=40, random_state=0)
    assert isomap.embedding_.shape == (200, 3)
    assert isomap.geodesics_.shape == (40, 200)
    assert isomap.spectrum_.shape == (40,)
    assert isomap.n_neighbors_ == 7
    assert isomap.n_features_in_ == 3
    assert list(isomap.get_feature_names_out()) == ["landmarkisomap0", "landmarkisomap1", "landmarkisomap2"]
    np.testing.assert_array_equal(isomap.geodesics_[np.arange(40), isomap.landmarks_], 0.0)


def test_same_seed_same_landmarks() -> None:
    points, _ = s_curve(200, 0)
    first, again, other = (landmark_isomap(points, n_landmarks=20, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.embedding_, again.embedding_)
    assert not np.array_equal(first.landmarks_, other.landmarks_)
    np.testing.assert_array_equal(clone(first).fit(points).embedding_, first.embedding_)


def test_more_landmarks_than_rows_means_all_rows() -> None:
    points, _ = s_curve(50, 0)
    np.testing.assert_array_equal(landmark_isomap(points, n_landmarks=100).landmarks_, np.arange(50))


def test_growth_settings_reach_the_graph() -> None:
    points, _ = s_curve(40, 0)
    apart = np.concatenate([points[:10], points[10:] + 1000.0])
    assert landmark_isomap(apart, n_neighbors=5).n_neighbors_ >= 10
    with pytest.raises(DisconnectedGraphError, match="neighbor graph of X has 2 components"):
        landmark_isomap(apart, n_neighbors=5, grow_by=0)


def test_memory_grows_with_landmarks_not_with_pairs() -> None:
    points, _ = swiss_roll(4000, 0)
    tracemalloc.start()
    landmark_isomap(points, n_neighbors=8, n_landmarks=20, random_state=0).transform(points)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4000 * 4000 * 8 / 10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components is 0"),
        ({"n_landmarks": 0}, "n_landmarks is 0"),
        ({"n_neighbors": 30}, "n_neighbors is 30, but X has only 30 rows"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    points, _ = s_curve(30, 0)
    with pytest.raises(ValueError, match=message):
        landmark_isomap(points, **settings)
