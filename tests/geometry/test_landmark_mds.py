"""Landmark MDS on clouds whose coordinates are known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist

from viewsplice.geometry.landmark_mds import LandmarkMDS, effective_dimension, faithful_width, landmark_mds

Points = NDArray[np.float64]


@pytest.fixture
def cloud() -> Points:
    """Return 60 points in three dimensions with different spreads."""
    return np.random.default_rng(0).normal(size=(60, 3)) * np.array([3.0, 2.0, 1.0]) + 7.0


def test_three_points_on_a_line() -> None:
    # 0, 1, 5 have mean 2: coordinates 2, 1, -3 (largest magnitude made positive), variance (4 + 1 + 9) / 3.
    mds = landmark_mds(np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 4.0], [5.0, 4.0, 0.0]]), 1)
    np.testing.assert_allclose(mds.spectrum, [14 / 3, 0.0, 0.0], atol=1e-12)
    coordinates = mds.transform(np.array([[0.0, 1.0, 5.0, 7.0], [1.0, 0.0, 4.0, 6.0], [5.0, 4.0, 0.0, 2.0]]))
    np.testing.assert_allclose(coordinates, [[-2.0], [-1.0], [3.0], [5.0]], atol=1e-12)


def test_euclidean_cloud_comes_back_up_to_rotation(cloud: Points) -> None:
    landmarks = cloud[:12]
    mds = landmark_mds(cdist(landmarks, landmarks), 3)
    coordinates = mds.transform(cdist(landmarks, cloud))
    np.testing.assert_allclose(cdist(coordinates, coordinates), cdist(cloud, cloud), atol=1e-9)
    assert procrustes(cloud, coordinates)[2] < 1e-20
    np.testing.assert_allclose(coordinates[:12].mean(axis=0), 0.0, atol=1e-10)


def test_spectrum_is_the_variances_along_the_principal_axes(cloud: Points) -> None:
    mds = landmark_mds(cdist(cloud, cloud), 3)
    variances = np.linalg.eigvalsh(np.cov(cloud.T, ddof=0))[::-1]
    assert mds.spectrum.shape == (60,)
    np.testing.assert_allclose(mds.spectrum[:3], variances, rtol=1e-10)
    np.testing.assert_allclose(mds.spectrum[3:], 0.0, atol=1e-10)
    coordinates = mds.transform(cdist(cloud, cloud))
    np.testing.assert_allclose(np.cov(coordinates.T, ddof=0), np.diag(variances), atol=1e-9)


def test_signs_are_fixed(cloud: Points) -> None:
    landmarks = cloud[:20]
    forward = landmark_mds(cdist(landmarks, landmarks), 3).components
    mirrored = landmark_mds(cdist(-landmarks, -landmarks), 3).components
    np.testing.assert_allclose(forward, mirrored, atol=1e-10)
    assert (forward.max(axis=1) == np.abs(forward).max(axis=1)).all()


def test_rounding_asymmetry_is_averaged() -> None:
    mds = landmark_mds(np.array([[0.0, 3.0], [5.0, 0.0]]), 1)
    np.testing.assert_allclose(mds.spectrum, [17 / 4, 0.0])  # squared distance (9 + 25) / 2 = 17, halves 17 / 4


def test_non_euclidean_distances_have_negative_eigenvalues() -> None:
    # Steps around a square, 1, 1, 2: the plane holds the cycle with two equal variances, the rest is negative.
    steps = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]], dtype=np.float64)
    np.testing.assert_allclose(landmark_mds(steps, 2).spectrum, [0.5, 0.5, 0.0, -0.25], atol=1e-12)


@pytest.mark.parametrize("n_components", [5, 40])
def test_coordinates_beyond_the_positive_eigenvalues_are_zero(cloud: Points, n_components: int) -> None:
    landmarks = cloud[:15]
    coordinates = landmark_mds(cdist(landmarks, landmarks), n_components).transform(cdist(landmarks, cloud))
    assert coordinates.shape == (60, n_components)
    assert (coordinates[:, 3:] == 0).all()
    np.testing.assert_allclose(cdist(coordinates, coordinates), cdist(cloud, cloud), atol=1e-9)


def test_collapsed_cloud_is_all_zero() -> None:
    mds = landmark_mds(np.zeros((4, 4)), 2)
    np.testing.assert_array_equal(mds.transform(np.zeros((4, 6))), np.zeros((6, 2)))
    assert effective_dimension(mds.spectrum) == 0


def test_effective_dimension() -> None:
    spectrum = np.array([2.0, 0.5, 0.11, 0.1, 0.01, -0.3])
    assert effective_dimension(spectrum) == 3  # 0.1 is 5 % of the first, not above it
    assert effective_dimension(spectrum, threshold=0.2) == 2


def test_bad_input(cloud: Points) -> None:
    square = cdist(cloud, cloud)
    with pytest.raises(ValueError, match=r"shape \(5, 60\); expected a square matrix"):
        landmark_mds(square[:5], 2)
    with pytest.raises(ValueError, match="n_components is 0; expected at least 1"):
        landmark_mds(square, 0)
    mds = landmark_mds(square, 2)
    with pytest.raises(ValueError, match=r"shape \(5, 60\); expected one row per landmark"):
        mds.transform(square[:5])
    with pytest.raises(ValueError, match=r"shape \(60,\); expected one row per landmark"):
        mds.transform(square[0])


def test_axes_that_throw_points_off_are_left_out() -> None:
    # Three dimensions, and an error in every distance: of the axes of thirty landmarks, three mean something.
    generator = np.random.default_rng(1)
    cloud = generator.normal(size=(400, 3))
    distances = cdist(cloud[:30], cloud) + 0.05 * generator.normal(size=(30, 400))
    between, others = np.abs(distances[:, :30]), distances[:, 30:]
    np.fill_diagonal(between, 0.0)
    mds = landmark_mds(between, 25)
    width = faithful_width(mds, between, others)
    assert width == 3

    def error(placement: LandmarkMDS) -> float:
        return float(np.abs(cdist(placement.transform(between), placement.transform(others)) - others).mean())

    limited = mds.limited(width)
    assert not limited.transform(others)[:, width:].any()
    np.testing.assert_array_equal(limited.transform(others)[:, :width], mds.transform(others)[:, :width])
    assert error(limited) < 0.2 * error(mds)


def test_exact_distances_keep_every_axis(cloud: Points) -> None:
    between = cdist(cloud[:12], cloud[:12])
    assert faithful_width(landmark_mds(between, 2), between, cdist(cloud[:12], cloud)) == 2
    assert faithful_width(landmark_mds(between, 3), between, cdist(cloud[:12], cloud)) == 3
