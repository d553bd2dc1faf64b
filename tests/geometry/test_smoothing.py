"""Averages over neighborhoods: by hand, without noise left, and what they do to geodesics."""

from dataclasses import replace

import numpy as np
import pytest

from viewsplice.geometry import graph_geodesics, landmark_geodesics
from viewsplice.geometry.neighbors import neighbor_graph
from viewsplice.geometry.smoothing import nearest_points, smooth_points, torn_edges


def smooth(points, n_neighbors):
    return smooth_points(points, nearest_points(points, n_neighbors))


def test_every_point_becomes_the_mean_of_itself_and_its_nearest():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 3)).astype(np.float32)
    nearest = np.argsort(((points[:, None] - points) ** 2).sum(2), axis=1)[:, :5]
    found = smooth(points, 4)
    assert found == pytest.approx(points[nearest].mean(axis=1), abs=1e-6)
    assert found.dtype == np.float32


@pytest.mark.parametrize("n_neighbors", [0, 60, 100])
def test_no_neighbors_or_too_few_points_change_nothing(n_neighbors):
    points = np.random.default_rng(0).normal(size=(60, 3))
    assert smooth(points, n_neighbors) is points


def test_noise_across_a_line_no_longer_lengthens_its_paths():
    rng = np.random.default_rng(0)
    position = np.sort(rng.uniform(size=1500))
    line = np.column_stack([position, np.zeros((1500, 9))])
    noisy = line + 0.003 * rng.normal(size=line.shape)
    truth = np.abs(position - position[0])

    def error(points):
        found = landmark_geodesics(points, np.array([0])).distances[0]
        return float(np.sqrt(((found / found.mean() - truth / truth.mean()) ** 2).mean())), found[-1] / truth[-1]

    (rough, rough_length), (gentle, gentle_length) = error(noisy), error(smooth(noisy, 12))
    assert rough_length > 1.05
    assert abs(gentle_length - 1) < abs(rough_length - 1) / 2
    assert gentle < 2 * rough


def ring(angles, *, noise=0.0, seed=0):
    plane = np.column_stack([np.cos(angles), np.sin(angles), np.zeros((len(angles), 8))])
    return plane + noise * np.random.default_rng(seed).normal(size=plane.shape)


def distances_of(points, smoothing, n_neighbors=4):
    """Return distances from point 0 along the smoothed graph, and the edges that smoothing has torn."""
    nearest = nearest_points(points, smoothing)
    smoothed = smooth_points(points, nearest)
    graph = neighbor_graph(smoothed, n_neighbors=n_neighbors)
    distances = graph_geodesics(graph, np.array([0, len(points) // 3])).distances
    return graph, distances, torn_edges(smoothed, nearest, distances)


def test_a_ring_that_smoothing_opens_is_closed_again():
    # A gap of eight steps: twelve neighbors reach across it, clumps of smoothed points do not.
    angles = np.linspace(0, 2 * np.pi * (1 - 8 / 2000), 1993)
    graph, opened, seam = distances_of(ring(angles), 12)
    assert opened[0, -1] > 0.9 * 2 * np.pi
    closed = graph_geodesics(replace(graph, weights=graph.weights + seam), np.array([0])).distances
    assert closed[0, -1] < 0.1
    assert closed.max() == pytest.approx(np.pi, rel=0.02)
    assert (seam.toarray() == seam.toarray().T).all()


@pytest.mark.parametrize("seed", range(5))
def test_random_points_of_a_ring_stay_a_ring(seed):
    points = ring(np.random.default_rng(seed).uniform(0, 2 * np.pi, 2000), noise=0.002, seed=seed)
    graph, distances, seam = distances_of(points, 12, 16)
    if seam is not None:
        distances = graph_geodesics(replace(graph, weights=graph.weights + seam), np.array([0])).distances
    assert distances[0].max() == pytest.approx(np.pi, rel=0.05)


def test_nothing_is_torn_where_nothing_was_whole():
    rng = np.random.default_rng(0)
    arc = rng.uniform(0, 1.9 * np.pi, 2000)  # its ends are far more than a neighborhood apart
    sheet = np.column_stack([rng.uniform(size=(2000, 2)), np.zeros((2000, 3))])
    assert distances_of(ring(arc, noise=0.002), 12, 16)[2] is None
    assert distances_of(sheet + 0.01 * rng.normal(size=sheet.shape), 12, 16)[2] is None
    assert distances_of(sheet, 0, 16)[2] is None


def test_a_stray_point_is_no_seam():
    # The last point had the other end of the arc among its neighbors; off the arc, that is no sign of a ring.
    angles = np.linspace(0, 1.98 * np.pi, 1000)
    points = ring(angles)
    nearest = np.column_stack([np.arange(1000), np.r_[np.arange(999), 0]])
    distances = graph_geodesics(neighbor_graph(points, n_neighbors=4), np.array([0, 300])).distances
    way, straight = distances[0, -1], np.linalg.norm(points[-1] - points[0])
    assert way / straight > 50
    assert torn_edges(points, nearest, distances).nnz == 2
    points[-1] += 0.1  # off the ring: noise
    assert way / np.linalg.norm(points[-1] - points[0]) < 50
    assert torn_edges(points, nearest, distances) is None
