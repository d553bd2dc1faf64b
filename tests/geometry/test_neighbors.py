"""Neighbor graphs: true neighbors, union, duplicates, and growth until connected."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from viewsplice.exceptions import DisconnectedGraphError, GeometryWarning
from viewsplice.geometry import neighbors
from viewsplice.geometry.neighbors import ZERO_LENGTH, component_sizes, neighbor_graph

Points = NDArray[np.floating]


def reference_graph(points: Points, k: int) -> Points:
    """Return the dense union graph of k true neighbors, by sorting all distances; 0 where there is no edge."""
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :k]
    graph = np.zeros_like(distances)
    np.put_along_axis(graph, nearest, np.take_along_axis(distances, nearest, axis=1), axis=1)
    return np.maximum(graph, graph.T)


def two_clusters(small: int, large: int, gap: float = 100.0) -> Points:
    rng = np.random.default_rng(0)
    shift = np.array([gap, 0.0])
    return np.concatenate([rng.normal(size=(large, 2)), rng.normal(size=(small, 2)) + shift])


def test_one_neighbor_each_makes_this_tree() -> None:
    # 0-1 choose each other, 3 chooses 1, 7 chooses 3, 15 chooses 7; the union is a path.
    graph = neighbor_graph(np.array([[0.0], [1.0], [3.0], [7.0], [15.0]]), n_neighbors=1)
    expected = np.diag([1.0, 2.0, 4.0, 8.0], k=1)
    np.testing.assert_allclose(graph.weights.toarray(), expected + expected.T)
    assert graph.n_neighbors == 1


@pytest.mark.parametrize("n_features", [3, 30], ids=["tree", "brute force"])
def test_equals_all_distances_sorted(n_features: int) -> None:
    points = np.random.default_rng(1).normal(size=(80, n_features))
    graph = neighbor_graph(points, n_neighbors=7)
    np.testing.assert_allclose(graph.weights.toarray(), reference_graph(points, 7), atol=1e-12)
    assert (graph.weights != graph.weights.T).nnz == 0
    assert np.diff(graph.weights.indptr).min() == 7  # the point itself is not one of the seven


def test_smallest_connected_k() -> None:
    points = two_clusters(small=20, large=60)
    with pytest.warns(GeometryWarning, match=r"connected only with n_neighbors=\d+ \(asked for: 3\)"):
        graph = neighbor_graph(points, n_neighbors=3)
    n_components = [connected_components(reference_graph(points, k))[0] for k in range(3, 61)]
    assert graph.n_neighbors == 3 + n_components.index(1)
    assert graph.n_neighbors >= 20
    np.testing.assert_allclose(graph.weights.toarray(), reference_graph(points, graph.n_neighbors), atol=1e-12)


@pytest.mark.parametrize("small", [11, 17])
def test_grows_in_steps(small: int) -> None:
    points = two_clusters(small=small, large=60)
    connected = [k for k in range(4, 61) if connected_components(reference_graph(points, k))[0] == 1]
    with pytest.warns(GeometryWarning, match="shortcuts"):
        graph = neighbor_graph(points, n_neighbors=4, grow_by=6)
    assert connected[0] not in range(4, 61, 6)  # the steps must matter
    assert graph.n_neighbors == next(k for k in range(4, 61, 6) if k in connected)


def test_little_growth_by_one_is_silent_and_growth_in_steps_is_not() -> None:
    points = two_clusters(small=9, large=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 9 <= neighbor_graph(points, n_neighbors=4).n_neighbors <= 16
    with pytest.warns(GeometryWarning, match="asked for: 4"):
        neighbor_graph(points, n_neighbors=4, grow_by=6)


def test_grows_up_to_the_complete_graph() -> None:
    points = np.array([[0.0], [1.0], [100.0], [101.0]])
    assert neighbor_graph(points, n_neighbors=1).n_neighbors == 2
    with pytest.warns(GeometryWarning, match="n_neighbors=3"):
        assert neighbor_graph(points, n_neighbors=1, grow_by=50).n_neighbors == 3


@pytest.mark.parametrize(("grow_by", "max_edges", "k"), [(0, 10**6, 4), (1, 24 * 6, 6)], ids=["fixed", "too large"])
def test_disconnected(monkeypatch: pytest.MonkeyPatch, grow_by: int, max_edges: int, k: int) -> None:
    monkeypatch.setattr(neighbors, "_MAX_EDGES", max_edges)
    with pytest.raises(DisconnectedGraphError, match="neighbor graph of A->B has 2 components") as caught:
        neighbor_graph(two_clusters(small=8, large=16), n_neighbors=4, grow_by=grow_by, name="A->B")
    assert caught.value.component_sizes == (16, 8)
    assert caught.value.n_neighbors == k


def test_duplicates_are_edges_but_not_neighbors() -> None:
    # Rows 1, 2 and 4 coincide: more duplicates than neighbors.
    graph = neighbor_graph(np.array([[0.0], [1.0], [1.0], [3.0], [1.0]]), n_neighbors=1, grow_by=0)
    expected = np.zeros((5, 5))
    for i, j, length in [(0, 1, 1.0), (1, 3, 2.0), (1, 2, ZERO_LENGTH), (1, 4, ZERO_LENGTH)]:
        expected[i, j] = expected[j, i] = length
    np.testing.assert_array_equal(graph.weights.toarray(), expected)
    assert graph.n_neighbors == 1


def test_distances_that_round_to_zero_stay_edges() -> None:
    # The square of 1e-200 is 0 in floating point.
    graph = neighbor_graph(np.array([[-1.0], [0.0], [1e-200], [1.0]]), n_neighbors=2)
    assert graph.weights[1, 2] == ZERO_LENGTH
    assert graph.weights[0, 1] == 1.0


def test_component_sizes_count_duplicates() -> None:
    points = np.repeat(np.array([[0.0], [1.0], [90.0], [91.0]]), [1, 1, 4, 1], axis=0)
    with pytest.raises(DisconnectedGraphError) as caught:
        neighbor_graph(points, n_neighbors=1, grow_by=0)
    assert caught.value.component_sizes == (5, 2)


def test_fewer_distinct_points_than_neighbors() -> None:
    graph = neighbor_graph(np.repeat(np.eye(3), 5, axis=0), n_neighbors=10)
    assert graph.n_neighbors == 2
    assert component_sizes(graph.weights) == [15]


def test_all_points_coincide() -> None:
    graph = neighbor_graph(np.full((6, 3), 0.1), n_neighbors=2)
    assert component_sizes(graph.weights) == [6]
    assert graph.weights.max() == ZERO_LENGTH


def test_negative_zero_is_zero() -> None:
    points = np.array([[0.0, -1.0], [-0.0, -1.0], [0.0, 1.0], [-0.0, 1.0]])
    assert neighbor_graph(points, n_neighbors=1, grow_by=0).weights.max() == 2.0


def test_images_are_flattened_and_float32_is_close() -> None:
    images = np.random.default_rng(2).normal(size=(40, 4, 5)).astype(np.float32)
    flat = neighbor_graph(images.reshape(40, 20).astype(np.float64), n_neighbors=5).weights.toarray()
    np.testing.assert_allclose(neighbor_graph(images, n_neighbors=5).weights.toarray(), flat, rtol=1e-5)


def test_distances_survive_a_large_offset() -> None:
    # Integers stay exact under the shift, so that only the search itself could lose digits.
    points = np.random.default_rng(3).integers(0, 1000, size=(60, 20)).astype(np.float64)
    shifted = neighbor_graph(points + 2.0**40, n_neighbors=6).weights.toarray()
    np.testing.assert_allclose(shifted, neighbor_graph(points, n_neighbors=6).weights.toarray(), rtol=1e-9)


@pytest.mark.parametrize("small_cloud", [0, 2**24], ids=["made twice", "kept"])
def test_leaving_out_empty_axes_keeps_distances(monkeypatch: pytest.MonkeyPatch, small_cloud: int) -> None:
    monkeypatch.setattr(neighbors, "_SMALL_CLOUD", small_cloud)
    rng = np.random.default_rng(4)
    basis, _ = np.linalg.qr(rng.normal(size=(40, 40)))
    spreads = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1e-4])  # the last axis is thin, not empty
    points = rng.normal(size=(400, 6)) * spreads @ basis[:6]
    points -= points.mean(axis=0)
    reduced = neighbors.without_empty_axes(lambda: iter(np.array_split(points, 7)), *points.shape)
    assert reduced.shape == (400, 6)
    np.testing.assert_allclose(cdist(reduced, reduced), cdist(points, points), atol=1e-9)
    np.testing.assert_allclose(
        neighbor_graph(points, n_neighbors=8).weights.toarray(), reference_graph(points, 8), atol=1e-9
    )


@pytest.mark.parametrize(("n_points", "rank"), [(160, 6), (400, 21)], ids=["too few points", "too many axes"])
def test_other_clouds_are_not_rotated(n_points: int, rank: int) -> None:
    rng = np.random.default_rng(5)
    points = rng.normal(size=(n_points, rank)) @ rng.normal(size=(rank, 40))
    kept = neighbors.without_empty_axes(lambda: iter(np.array_split(points, 7)), *points.shape)
    np.testing.assert_array_equal(kept, points)


@pytest.mark.parametrize("n_features", [3, 30], ids=["tree", "brute force"])
def test_memory_is_far_below_all_pairs(n_features: int) -> None:
    points = np.random.default_rng(6).normal(size=(4000, n_features))
    tracemalloc.start()
    neighbor_graph(points, n_neighbors=8)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4000 * 4000 * 8 / 10


@pytest.mark.parametrize(
    ("points", "settings", "message"),
    [
        (np.zeros(5), {}, r"points has shape \(5,\); expected \(points, features\)"),
        (np.zeros((5, 0)), {}, r"points has shape \(5, 0\)"),
        (np.array([[0.0], [np.nan], [1.0]]), {"n_neighbors": 1}, "NaN or infinite values"),
        (np.eye(5), {"n_neighbors": 5}, "only 5 rows; .* set n_neighbors to at most 4"),
        (np.eye(5), {"n_neighbors": 0}, "n_neighbors is 0; expected at least 1"),
        (np.eye(5), {"n_neighbors": 2, "grow_by": -1}, "grow_by is -1"),
    ],
)
def test_bad_input(points: Points, settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        neighbor_graph(points, **settings)
