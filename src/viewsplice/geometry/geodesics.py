"""Geodesic distances: shortest paths through the neighbor graph, from a few landmarks to all points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import dijkstra

from viewsplice._types import Array
from viewsplice.exceptions import DisconnectedGraphError
from viewsplice.geometry.neighbors import ZERO_LENGTH, NeighborGraph, component_sizes, neighbor_graph


@dataclass(frozen=True, eq=False)
class Geodesics:
    """Distances along the manifold.

    Attributes
    ----------
    distances
        D_geo, (n_landmarks, n): row i holds the distances from landmark i to all points.
    n_neighbors
        The k of the neighbor graph they were measured on.
    """

    distances: Array
    n_neighbors: int


def choose_landmarks(n_points: int, n_landmarks: int, generator: np.random.Generator) -> Array:
    """Return the sorted indices of ``n_landmarks`` different points, drawn at random."""
    if not 1 <= n_landmarks <= n_points:
        raise ValueError(
            f"n_landmarks is {n_landmarks}; expected between 1 and the number of points, {n_points}: "
            "lower n_landmarks, or pass more points"
        )
    return np.sort(generator.choice(n_points, size=n_landmarks, replace=False))


def landmark_geodesics(
    points: Array, landmarks: Array, *, n_neighbors: int = 12, grow_by: int = 1, name: str = "points"
) -> Geodesics:
    """Return the geodesic distances from the landmarks to all points of a cloud.

    Parameters
    ----------
    points
        The cloud, (n, ...); trailing axes are flattened.
    landmarks
        Row indices of the landmarks, (n_landmarks,).
    n_neighbors, grow_by, name
        As in `neighbor_graph`.
    """
    graph = neighbor_graph(points, n_neighbors=n_neighbors, grow_by=grow_by, name=name)
    return graph_geodesics(graph, landmarks, name=name)


def graph_geodesics(graph: NeighborGraph, landmarks: Array, *, name: str = "points") -> Geodesics:
    """Return the lengths of the shortest paths from the landmarks through a neighbor graph (Dijkstra).

    Only the landmark rows are computed, one after the other in one process: 100 landmarks take 0.3 s on 12,000
    points with k = 12, less than it takes to start a second process. The graph is symmetric, so it is read as a
    directed one: the same paths, without a second look at each edge.
    """
    distances = dijkstra(graph.weights, directed=True, indices=np.atleast_1d(landmarks))
    if np.isinf(distances).any():
        raise DisconnectedGraphError(name, component_sizes(graph.weights), graph.n_neighbors)
    distances[distances <= 2 * ZERO_LENGTH] = 0.0  # two duplicates are joined through their first occurrence
    return Geodesics(distances, graph.n_neighbors)
