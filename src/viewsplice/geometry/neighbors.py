"""The neighbor graph of a cloud of points: k true neighbors each, joined by union, grown until connected."""

from __future__ import annotations

import warnings
from bisect import bisect_left
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from viewsplice._types import Array
from viewsplice.exceptions import DisconnectedGraphError, GeometryWarning

# Sparse graphs drop edges of length 0. The smallest normal float stays one; adding it changes no length above 1e-292.
ZERO_LENGTH = float(np.finfo(np.float64).tiny)
# Growth ends where the graph would need about 2 GB: two distant halves of 50,000 points call for 25,000 neighbors.
_MAX_EDGES = 50_000_000
# What a rotation may lose, as a fraction of the variance: the rounding of a float32 network's outputs is of this order.
_EMPTY_VARIANCE = 1e-12
# Trees are used up to this many features (scikit-learn's own limit), brute force above.
_TREE_FEATURES = 15


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """A connected, undirected neighbor graph.

    Attributes
    ----------
    weights
        Symmetric sparse matrix (n, n) of Euclidean edge lengths, float64. Coinciding points are joined by edges of
        length `ZERO_LENGTH`, since sparse graphs drop edges of length 0.
    n_neighbors
        The k that was used.
    """

    weights: csr_array
    n_neighbors: int


def neighbor_graph(points: Array, *, n_neighbors: int = 12, grow_by: int = 1, name: str = "points") -> NeighborGraph:
    """Join each point to its k nearest others; an edge in either direction counts (union).

    More neighbors only add edges, so k is the smallest of ``n_neighbors``, ``n_neighbors + grow_by``,
    ``n_neighbors + 2 grow_by``, ... that connects the graph (at most the number of points minus 1, where the graph is
    complete). Small k is better: long edges are shortcuts through the space around the manifold.

    Parameters
    ----------
    points
        The cloud, (n, ...); trailing axes are flattened. float32 is kept, all else is computed in float64.
    n_neighbors
        The smallest k allowed. Neighbors are distinct points: neither the point itself nor its duplicates count.
    grow_by
        Step between the k that are considered: 1 for the smallest connected k, 100 for the paper's 100, 200, ...;
        0 forbids growth.
    name
        What the points are called in messages.

    Raises
    ------
    DisconnectedGraphError
        If the graph is not connected and ``grow_by`` is 0, or it would outgrow the memory.

    Notes
    -----
    Duplicates are collapsed before the search and tied to their first occurrence by edges of length `ZERO_LENGTH`.
    Kept in the search, more than k duplicates of one point would be an island that only a larger k for the whole
    cloud could reach.
    """
    cloud = _as_cloud(points, name)
    _check_neighbors(len(cloud), n_neighbors, grow_by, name)
    first = _first_occurrence(cloud)
    distinct = np.flatnonzero(first == np.arange(len(cloud)))
    if len(distinct) == 1:
        return NeighborGraph(_tie_duplicates(csr_array((1, 1), dtype=np.float64), distinct, first), n_neighbors)
    start = min(n_neighbors, len(distinct) - 1)
    distances, indices = _connected_neighbors(cloud[distinct], start, grow_by)
    weights = _tie_duplicates(_union(distances, indices), distinct, first)
    used = indices.shape[1]
    sizes = component_sizes(weights)
    if len(sizes) > 1:
        raise DisconnectedGraphError(name, sizes, used)
    if used > (4 * n_neighbors if grow_by == 1 else n_neighbors):
        warnings.warn(
            f"the neighbor graph of {name} is connected only with n_neighbors={used} (asked for: {n_neighbors}); "
            "geodesics may take shortcuts: look for isolated points or separate clusters",
            GeometryWarning,
            stacklevel=2,
        )
    return NeighborGraph(weights, used)


def component_sizes(weights: csr_array) -> list[int]:
    """Return how many points each connected component of an undirected graph holds, largest first."""
    _, labels = connected_components(weights, directed=False)
    return sorted(np.bincount(labels).tolist(), reverse=True)


def _as_cloud(points: Array, name: str) -> Array:
    """Return finite, centered, flat points; centering keeps distances exact when the cloud is far from the origin."""
    cloud = np.asarray(points)
    if cloud.ndim < 2 or 0 in cloud.shape:
        raise ValueError(f"{name} has shape {cloud.shape}; expected (points, features), at least one of each")
    cloud = cloud.reshape(len(cloud), -1)
    if cloud.dtype != np.float32:
        cloud = cloud.astype(np.float64)
    if not np.isfinite(cloud).all():
        raise ValueError(f"{name} holds NaN or infinite values; expected finite numbers: fill or remove those points")
    centered: Array = cloud - cloud.mean(axis=0, dtype=np.float64).astype(cloud.dtype)
    centered += 0.0  # turns -0.0 into 0.0, so that equal points have equal bytes
    return centered


def _check_neighbors(n_points: int, n_neighbors: int, grow_by: int, name: str) -> None:
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors is {n_neighbors}; expected at least 1")
    if n_neighbors >= n_points:
        raise ValueError(
            f"n_neighbors is {n_neighbors}, but {name} has only {n_points} rows; expected fewer neighbors than rows: "
            f"set n_neighbors to at most {n_points - 1}, or pass more rows"
        )
    if grow_by < 0:
        raise ValueError(f"grow_by is {grow_by}; expected 0 (no growth) or a positive step")


def _first_occurrence(cloud: Array) -> Array:
    """Return, for each row, the index of the first row equal to it."""
    rows = np.ascontiguousarray(cloud).view(np.dtype((np.void, cloud.itemsize * cloud.shape[1]))).ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    return np.asarray(first[inverse])


def _connected_neighbors(cloud: Array, start: int, grow_by: int) -> tuple[Array, Array]:
    """Return distances and indices (n, k) of the nearest others, for the smallest allowed k that connects the graph.

    Neighbors are sorted by distance, so one query of k columns holds the answers for all smaller k: the search
    doubles k until the graph is connected and then bisects over the columns. If nothing allowed connects it, the
    neighbors of the largest k are returned.
    """
    search = NearestNeighbors().fit(_drop_empty_axes(cloud))
    limit = min(len(cloud) - 1, max(start, _MAX_EDGES // len(cloud)))
    k = start
    distances, indices = search.kneighbors(n_neighbors=k)  # without a query, the point itself is left out
    while grow_by and k < limit and not _is_connected(indices):
        k = min(start + grow_by * ceil((2 * k - start) / grow_by), limit)
        distances, indices = search.kneighbors(n_neighbors=k)
    if k > start:
        allowed = [*range(start, k, grow_by), k]
        found = bisect_left(allowed[:-1], True, key=lambda columns: _is_connected(indices[:, :columns]))
        k = allowed[found]
    return distances[:, :k], indices[:, :k]


def _drop_empty_axes(cloud: Array) -> Array:
    """Rotate a centered cloud to its principal axes and leave out those without variance: distances stay the same.

    Decoded points span no more axes than the decoder's last hidden layer is wide, and brute-force search costs as
    much as there are axes. A cloud that fills more than half of its axes, or is too small to repay the rotation,
    comes back as it is.
    """
    n_points, n_features = cloud.shape
    if n_features <= _TREE_FEATURES or n_points <= 4 * n_features:
        return cloud
    gram = np.zeros((n_features, n_features))
    for begin in range(0, n_points, 4096):
        block = cloud[begin : begin + 4096].astype(np.float64)
        gram += block.T @ block
    variances, axes = np.linalg.eigh(gram)
    kept = np.cumsum(variances) > _EMPTY_VARIANCE * variances.sum()
    if 2 * kept.sum() > n_features:
        return cloud
    return np.ascontiguousarray(cloud @ axes[:, kept].astype(cloud.dtype))


def _as_graph(distances: Array, indices: Array) -> csr_array:
    """Return the directed graph (n, n) of neighbor lists (n, k)."""
    n_points, k = indices.shape
    ends = np.arange(0, n_points * k + 1, k)
    return csr_array((distances.ravel(), indices.ravel(), ends), shape=(n_points, n_points))


def _is_connected(indices: Array) -> bool:
    n_components, _ = connected_components(_as_graph(np.ones(indices.shape), indices), directed=False)
    return bool(n_components == 1)


def _union(distances: Array, indices: Array) -> csr_array:
    """Return the symmetric graph with every edge that exists in either direction."""
    graph = _as_graph(np.maximum(distances, ZERO_LENGTH, dtype=np.float64), indices)
    return csr_array(graph.maximum(graph.T))


def _tie_duplicates(graph: csr_array, distinct: Array, first: Array) -> csr_array:
    """Return the graph over all rows: distinct rows keep their edges, the others hang on their first occurrence."""
    if len(distinct) == len(first):
        return graph
    edges = graph.tocoo()
    repeated = np.flatnonzero(first != np.arange(len(first)))
    sources = np.concatenate([distinct[edges.row], repeated, first[repeated]])
    targets = np.concatenate([distinct[edges.col], first[repeated], repeated])
    lengths = np.concatenate([edges.data, np.full(2 * len(repeated), ZERO_LENGTH)])
    return csr_array((lengths, (sources, targets)), shape=(len(first), len(first)))
