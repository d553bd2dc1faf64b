"""Geodesics against closed forms on a line, a circle and a periodic grid, and against the all-pairs matrix."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from viewsplice.exceptions import DisconnectedGraphError
from viewsplice.geometry.geodesics import choose_landmarks, graph_geodesics, landmark_geodesics
from viewsplice.geometry.neighbors import NeighborGraph, neighbor_graph

SIDE = 9
CHORD = 2 * np.sin(np.pi / SIDE)  # distance of neighbors on a unit circle of SIDE points


def circular_steps(i: NDArray[np.integer], j: int, n: int) -> NDArray[np.integer]:
    around = np.abs(i - j)
    return np.minimum(around, n - around)


def periodic_grid() -> NDArray[np.float64]:
    """Return a SIDE x SIDE grid without borders: the product of two circles of SIDE points, in four dimensions."""
    angles = 2 * np.pi * np.arange(SIDE) / SIDE
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.hstack([np.repeat(circle, SIDE, axis=0), np.tile(circle, (SIDE, 1))])


def test_line() -> None:
    points = np.arange(10.0)[:, None] * np.array([[3.0, 4.0]])
    geodesics = landmark_geodesics(points, np.array([0, 6]), n_neighbors=2)
    np.testing.assert_allclose(geodesics.distances, 5.0 * np.abs(np.arange(10) - np.array([[0], [6]])), atol=1e-12)
    assert geodesics.n_neighbors == 2


def test_circle_is_measured_along_its_polygon() -> None:
    n = 60
    angles = 2 * np.pi * np.arange(n) / n
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    distances = landmark_geodesics(points, np.array([7]), n_neighbors=2).distances
    expected = circular_steps(np.arange(n), 7, n) * 2 * np.sin(np.pi / n)
    np.testing.assert_allclose(distances[0], expected, atol=1e-12)
    assert distances.max() == pytest.approx(np.pi, rel=1e-3)


@pytest.mark.parametrize("n_neighbors", [4, 8], ids=["manhattan", "king moves"])
def test_grid(n_neighbors: int) -> None:
    landmark = 3 * SIDE + 5
    distances = landmark_geodesics(periodic_grid(), np.array([landmark]), n_neighbors=n_neighbors).distances
    row, column = np.divmod(np.arange(SIDE * SIDE), SIDE)
    steps = np.sort([circular_steps(row, 3, SIDE), circular_steps(column, 5, SIDE)], axis=0)
    manhattan = steps.sum(axis=0) * CHORD
    king = (steps[1] - steps[0] + np.sqrt(2) * steps[0]) * CHORD
    np.testing.assert_allclose(distances[0], manhattan if n_neighbors == 4 else king, atol=1e-12)


def test_landmark_rows_are_rows_of_the_all_pairs_matrix() -> None:
    points = np.random.default_rng(0).uniform(size=(150, 3))
    landmarks = np.array([3, 70, 149])
    geodesics = landmark_geodesics(points, landmarks, n_neighbors=6)
    weights = neighbor_graph(points, n_neighbors=6).weights
    np.testing.assert_allclose(geodesics.distances, shortest_path(weights, method="FW")[landmarks], rtol=1e-12)


def test_unchanged_by_rotation_and_shift() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(120, 5))
    rotation, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    landmarks = np.arange(10)
    moved = landmark_geodesics(points @ rotation + 50.0, landmarks, n_neighbors=6)
    np.testing.assert_allclose(
        moved.distances, landmark_geodesics(points, landmarks, n_neighbors=6).distances, rtol=1e-9
    )


def test_duplicates_are_at_distance_zero_and_change_no_other_distance() -> None:
    points = np.arange(6.0)[:, None]
    repeated = np.concatenate([points, np.full((8, 1), 2.0)])
    distances = landmark_geodesics(repeated, np.array([0, 2, 13]), n_neighbors=2).distances
    expected = np.abs(repeated.T - np.array([[0.0], [2.0], [2.0]]))
    np.testing.assert_allclose(distances, expected, atol=1e-12)
    assert (distances[1:, 6:] == 0).all()


def test_unreachable_points_are_an_error() -> None:
    ones = np.ones(4)
    two_pairs = csr_array((ones, ([0, 1, 2, 3], [1, 0, 3, 2])), shape=(5, 5))
    with pytest.raises(DisconnectedGraphError, match="neighbor graph of B has 3 components") as caught:
        graph_geodesics(NeighborGraph(two_pairs, 1), np.array([0]), name="B")
    assert caught.value.component_sizes == (2, 2, 1)


def test_disconnected_cloud_names_itself() -> None:
    points = np.array([[0.0], [1.0], [50.0], [51.0]])
    with pytest.raises(DisconnectedGraphError, match="neighbor graph of cloud"):
        landmark_geodesics(points, np.array([0]), n_neighbors=1, grow_by=0, name="cloud")
    distances = landmark_geodesics(points, np.array([0]), n_neighbors=1).distances
    np.testing.assert_allclose(distances, [[0.0, 1.0, 50.0, 51.0]])


def test_choose_landmarks() -> None:
    landmarks = choose_landmarks(30, 12, np.random.default_rng(0))
    assert len(set(landmarks.tolist())) == 12
    np.testing.assert_array_equal(landmarks, np.sort(landmarks))
    np.testing.assert_array_equal(landmarks, choose_landmarks(30, 12, np.random.default_rng(0)))
    assert not np.array_equal(landmarks, choose_landmarks(30, 12, np.random.default_rng(1)))
    np.testing.assert_array_equal(choose_landmarks(5, 5, np.random.default_rng(0)), np.arange(5))


@pytest.mark.parametrize("n_landmarks", [0, 11])
def test_bad_number_of_landmarks(n_landmarks: int) -> None:
    with pytest.raises(ValueError, match=f"n_landmarks is {n_landmarks}; expected between 1 and .* 10"):
        choose_landmarks(10, n_landmarks, np.random.default_rng(0))
