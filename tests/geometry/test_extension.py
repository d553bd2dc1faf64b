"""Further points: distances through known points, as if they were nodes of the graph."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist

from viewsplice.geometry import extension
from viewsplice.geometry.extension import N_LINKS, extend_distances


def extend(*arguments, **options):
    """Return what is yielded block by block as one array, (n_landmarks, n)."""
    return np.concatenate(list(extend_distances(*arguments, **options))).T


RNG = np.random.default_rng(0)
KNOWN = RNG.uniform(size=(120, 3))
FURTHER = RNG.uniform(size=(15, 3))
LANDMARKS = np.array([3, 50, 77])


def graph_distances(points, sources, n_neighbors=6):
    """Return shortest paths over a symmetric nearest-neighbor graph, and the graph as a matrix."""
    d = cdist(points, points)
    weights = np.zeros_like(d)
    for i, row in enumerate(d.argsort(axis=1)[:, 1 : n_neighbors + 1]):
        weights[i, row] = weights[row, i] = d[i, row]
    return dijkstra(csr_matrix(weights), indices=sources), weights


def with_node(weights, known, point):
    """Return the graph with one more node, linked to its nearest known points."""
    lengths = np.linalg.norm(known - point, axis=1)
    nearest = lengths.argsort()[:N_LINKS]
    n = len(known)
    larger = np.zeros((n + 1, n + 1))
    larger[:n, :n] = weights
    larger[n, nearest] = larger[nearest, n] = lengths[nearest]
    return csr_matrix(larger)


def test_a_point_is_as_far_as_it_would_be_as_one_more_node():
    distances, weights = graph_distances(KNOWN, LANDMARKS)
    found = extend(distances, KNOWN, [FURTHER])
    for i, point in enumerate(FURTHER):
        # From the point outwards: a shortest path to a landmark never comes back through the point itself.
        expected = dijkstra(with_node(weights, KNOWN, point), indices=len(KNOWN))[LANDMARKS]
        assert found[:, i] == pytest.approx(expected, rel=1e-6)


def test_known_points_keep_their_distances():
    distances, _ = graph_distances(KNOWN, LANDMARKS, n_neighbors=N_LINKS)
    assert extend(distances, KNOWN, [KNOWN]) == pytest.approx(distances, rel=1e-9)


@pytest.mark.parametrize("sizes", [(1,) * 15, (7, 8), (0, 15), (14, 1)])
@pytest.mark.parametrize("block_rows", [2, 5, 1024])
def test_blocks_change_nothing(monkeypatch, sizes, block_rows):
    distances, _ = graph_distances(KNOWN, LANDMARKS)
    expected = extend(distances, KNOWN, [FURTHER])
    monkeypatch.setattr(extension, "_BLOCK_ROWS", block_rows)
    blocks = np.split(FURTHER, np.cumsum(sizes)[:-1])
    np.testing.assert_array_equal(extend(distances, KNOWN, iter(blocks)), expected)


def test_distances_of_another_kind_are_averaged_over_the_nearest_points():
    other = RNG.uniform(5, 6, size=(3, 120))
    found = extend(other, KNOWN, [FURTHER], add_links=False)
    nearest = cdist(FURTHER, KNOWN).argsort(axis=1)[:, :N_LINKS]
    expected = np.stack([other[:, row].mean(axis=1) for row in nearest], axis=1)
    assert found == pytest.approx(expected, rel=1e-12)


def test_fewer_known_points_than_links():
    known = np.array([[0.0], [1.0], [3.0]])
    distances = np.array([[0.0, 1.0, 3.0]])
    assert extend(distances, known, [np.array([[2.5], [-1.0]])]).tolist() == [[2.5, 1.0]]
    mean = extend(distances, known, [np.array([[2.5]])], add_links=False)
    assert mean[0, 0] == pytest.approx(4 / 3)


def test_wide_points_are_compared_along_their_leading_axes():
    # 200 features, of which three carry the cloud: the candidates are the right ones, and lengths count all features.
    turn = np.linalg.qr(RNG.normal(size=(200, 200)))[0]
    wide = np.hstack([KNOWN, 1e-3 * RNG.normal(size=(120, 197))]) @ turn
    further = np.hstack([FURTHER, 1e-3 * RNG.normal(size=(15, 197))]) @ turn
    distances, _ = graph_distances(KNOWN, LANDMARKS)
    found = extend(distances, wide, [further])
    d = cdist(further, wide)
    nearest = d.argsort(axis=1)[:, :N_LINKS]
    expected = np.stack([(distances[:, row] + d[i, row]).min(axis=1) for i, row in enumerate(nearest)], axis=1)
    assert found == pytest.approx(expected, rel=1e-6)


def test_single_precision_points_give_finite_distances_of_the_distances_type():
    distances, _ = graph_distances(KNOWN, LANDMARKS)
    found = extend(distances, KNOWN.astype(np.float32), [FURTHER.astype(np.float32)])
    assert found.dtype == np.float64
    assert found == pytest.approx(extend(distances, KNOWN, [FURTHER]), rel=1e-5)


@pytest.mark.parametrize("offset", [10.0, 1e6])
def test_where_the_cloud_lies_does_not_matter(offset):
    # Other spaces held at an anchor put a cloud anywhere within the view, some units from the origin.
    distances, _ = graph_distances(KNOWN, LANDMARKS)
    found = extend(distances, KNOWN + offset, [FURTHER + offset])
    assert found == pytest.approx(extend(distances, KNOWN, [FURTHER]), rel=1e-3)
