"""How much the first coordinates of a submanifold tell: 1 for a line, 2 for a sheet and for a ring."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from viewsplice.geometry.evidence import reconstruction_by_width
from viewsplice.geometry.landmark_mds import landmark_mds
from viewsplice.metrics import saturation

N = 1200
RNG = np.random.default_rng(0)


def line():
    """A curve that bends into three dimensions; its distances are those along it."""
    t = RNG.uniform(0, 3, N)
    return np.column_stack([np.cos(t), np.sin(t), t]), np.abs(t[:, None] - t) * np.sqrt(2)


def sheet():
    """A sheet rolled up; its distances are those of the flat one."""
    flat = RNG.uniform(size=(N, 2)) * [1.5, 1.0]
    return np.column_stack([np.cos(2 * flat[:, 0]) / 2, np.sin(2 * flat[:, 0]) / 2, flat[:, 1]]), cdist(flat, flat)


def ring():
    angle = RNG.uniform(0, 2 * np.pi, N)
    difference = np.abs(angle[:, None] - angle)
    return np.column_stack([np.cos(angle), np.sin(angle)]), np.minimum(difference, 2 * np.pi - difference)


@pytest.mark.parametrize(("shape", "width"), [(line, 1), (sheet, 2), (ring, 2)])
def test_the_curve_rises_until_the_coordinates_suffice(shape, width):
    points, distances = shape()
    landmarks = np.arange(0, N, N // 60)
    mds = landmark_mds(distances[np.ix_(landmarks, landmarks)], 6)
    curve = reconstruction_by_width(points, mds.transform(distances[landmarks]))
    assert curve.shape == (7,)
    assert curve[0] == 0
    assert (np.diff(curve[: width + 1]) > 0.1).all()
    assert curve[width] > 0.99
    assert curve[width - 1] < 0.9 if width > 1 else curve[0] == 0
    assert (curve[width:] > 0.95).all()  # more coordinates blur a little, never much
    assert saturation(range(7), list(curve), [0.0] * 7) == width


def test_values_against_a_mean_of_the_nearest_five():
    points, coordinates = RNG.normal(size=(40, 3)), RNG.normal(size=(40, 2))
    curve = reconstruction_by_width(points, coordinates)
    truth = points[20:]
    for width in (1, 2):
        d = cdist(coordinates[20:, :width], coordinates[:20, :width])
        predicted = points[:20][d.argsort(axis=1)[:, :5]].mean(axis=1)
        expected = 1 - ((truth - predicted) ** 2).sum() / ((truth - truth.mean(axis=0)) ** 2).sum()
        assert curve[width] == pytest.approx(expected)


def test_random_coordinates_tell_nothing():
    points = np.random.default_rng(1).normal(size=(400, 2))
    curve = reconstruction_by_width(points, np.random.default_rng(2).normal(size=(400, 3)))
    assert (curve < 0.05).all()


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_few_points(n):
    points = np.arange(n, dtype=float)[:, None]
    curve = reconstruction_by_width(points, points)
    assert curve.shape == (2,)
    assert np.isfinite(curve).all()


def test_points_that_do_not_differ_have_nothing_to_tell():
    assert reconstruction_by_width(np.ones((30, 4)), RNG.normal(size=(30, 3))).tolist() == [0, 0, 0, 0]


def test_no_coordinates_no_curve():
    assert reconstruction_by_width(np.ones((30, 4)), np.ones((30, 0))).tolist() == [0]
