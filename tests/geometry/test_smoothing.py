"""Averages over neighborhoods: by hand, without noise left, and what they do to geodesics."""

import numpy as np
import pytest

from viewsplice.geometry import landmark_geodesics
from viewsplice.geometry.smoothing import smooth_points


def test_every_point_becomes_the_mean_of_itself_and_its_nearest():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 3)).astype(np.float32)
    nearest = np.argsort(((points[:, None] - points) ** 2).sum(2), axis=1)[:, :5]
    found = smooth_points(points, 4)
    assert found == pytest.approx(points[nearest].mean(axis=1), abs=1e-6)
    assert found.dtype == np.float32


@pytest.mark.parametrize("n_neighbors", [0, 60, 100])
def test_no_neighbors_or_too_few_points_change_nothing(n_neighbors):
    points = np.random.default_rng(0).normal(size=(60, 3))
    assert smooth_points(points, n_neighbors) is points


def test_noise_across_a_line_no_longer_lengthens_its_paths():
    rng = np.random.default_rng(0)
    position = np.sort(rng.uniform(size=1500))
    line = np.column_stack([position, np.zeros((1500, 9))])
    noisy = line + 0.003 * rng.normal(size=line.shape)
    truth = np.abs(position - position[0])

    def error(points):
        found = landmark_geodesics(points, np.array([0])).distances[0]
        return float(np.sqrt(((found / found.mean() - truth / truth.mean()) ** 2).mean())), found[-1] / truth[-1]

    (rough, rough_length), (smooth, smooth_length) = error(noisy), error(smooth_points(noisy, 12))
    assert rough_length > 1.05
    assert abs(smooth_length - 1) < abs(rough_length - 1) / 2
    assert smooth < 2 * rough
