"""The neighbor graph of a cloud of points: k true neighbors each, joined by union, grown until connected."""

from __future__ import annotations

import hashlib
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import ceil

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from viewsplice._types import Array
from viewsplice.exceptions import DisconnectedGraphError, GeometryWarning
from viewsplice.views import row_blocks

# Sparse graphs drop edges of length 0. The smallest normal float32 stays one; adding it changes no length above 1e-22.
ZERO_LENGTH = float(np.finfo(np.float32).tiny)
# Growth ends where the graph would need about 2 GB: two distant halves of 50,000 points call for 25,000 neighbors.
_MAX_EDGES = 50_000_000
# What a rotation may lose, as a fraction of the variance: the rounding of a float32 network's outputs is of this order.
_EMPTY_VARIANCE = 1e-12
# A cloud is centered when its mean is this many times farther from the origin than its points are from the mean.
_FAR = 10.0
# Connectivity is first tried with this many neighbors.
_FEW = 12
# A cloud of at most so many numbers (64 MB of float32) is kept rather than made twice.
_SMALL_CLOUD = 2**24
# Trees are used up to this many features (scikit-learn's own limit), brute force above.
_TREE_FEATURES = 15


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """A connected, undirected neighbor graph.

    Attributes
    ----------
    weights
        Symmetric sparse matrix (n, n) of Euclidean edge lengths, of the points' type. Coinciding points are joined by
        edges of length `ZERO_LENGTH`, since sparse graphs drop edges of length 0.
    n_neighbors
        The k that was used.
    """

    weights: csr_array
    n_neighbors: int


@dataclass(frozen=True, eq=False)
class NeighborLists:
    """The nearest distinct others of every point: what is left to know of a cloud, in far less memory.

    Attributes
    ----------
    distances, indices
        (n_distinct, k), nearest first; indices count distinct points.
    distinct, first
        Rows of the distinct points, and for every row the first one equal to it.
    asked, grow_by, name
        The call's ``n_neighbors``, ``grow_by`` and ``name``.
    """

    distances: Array
    indices: Array
    distinct: Array
    first: Array
    asked: int
    grow_by: int
    name: str

    def join(self) -> NeighborGraph:
        """Return the graph in which an edge in either direction counts (union), or say that it falls apart."""
        used = self.indices.shape[1] or self.asked
        weights = _tie_duplicates(_union(self.distances, self.indices), self.distinct, self.first)
        if not _is_connected(self.indices):
            raise DisconnectedGraphError(self.name, component_sizes(weights), used)
        if used > (4 * self.asked if self.grow_by == 1 else self.asked):
            warnings.warn(
                f"the neighbor graph of {self.name} is connected only with n_neighbors={used} (asked for: "
                f"{self.asked}); geodesics may take shortcuts: look for isolated points or separate clusters",
                GeometryWarning,
                stacklevel=3,
            )
        return NeighborGraph(weights, used)


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
    axes = _occupied_axes((cloud[block] for block in row_blocks(*cloud.shape)), *cloud.shape)
    turned = cloud if axes is None else cloud @ axes.astype(cloud.dtype)
    return find_neighbors(turned, n_neighbors=n_neighbors, grow_by=grow_by, name=name).join()


def find_neighbors(points: Array, *, n_neighbors: int, grow_by: int, name: str) -> NeighborLists:
    """Return the neighbors that `neighbor_graph` joins; the points can then be let go."""
    cloud = _as_cloud(points, name)
    _check_neighbors(len(cloud), n_neighbors, grow_by, name)
    first = _first_occurrence(cloud)
    distinct = np.flatnonzero(first == np.arange(len(cloud)))
    cloud = cloud if len(distinct) == len(cloud) else cloud[distinct]
    start = min(n_neighbors, len(distinct) - 1)
    distances, indices = _connected_neighbors(cloud, start, grow_by)
    return NeighborLists(distances, indices, distinct, first, n_neighbors, grow_by, name)


def component_sizes(weights: csr_array) -> list[int]:
    """Return how many points each connected component of an undirected graph holds, largest first."""
    _, labels = connected_components(weights, directed=False)
    return sorted(np.bincount(labels).tolist(), reverse=True)


def _as_cloud(points: Array, name: str) -> Array:
    """Return finite, flat points; centered only if distances would suffer from a far origin."""
    cloud = np.asarray(points)
    if cloud.ndim < 2 or 0 in cloud.shape:
        raise ValueError(f"{name} has shape {cloud.shape}; expected (points, features), at least one of each")
    cloud = cloud.reshape(len(cloud), -1)
    if cloud.dtype != np.float32:
        cloud = cloud.astype(np.float64)
    if not all(np.isfinite(cloud[block]).all() for block in row_blocks(*cloud.shape)):
        raise ValueError(f"{name} holds NaN or infinite values; expected finite numbers: fill or remove those points")
    mean = cloud.mean(axis=0, dtype=np.float64)
    squares = sum(float(np.square(cloud[block] - mean).sum()) for block in row_blocks(*cloud.shape))
    if mean @ mean > _FAR**2 * squares / len(cloud):
        cloud = cloud - mean.astype(cloud.dtype)
    return cloud


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
    seen: dict[bytes, int] = {}
    first = np.empty(len(cloud), dtype=np.int64)
    for block in row_blocks(*cloud.shape):
        rows = np.ascontiguousarray(cloud[block] + 0.0)  # turns -0.0 into 0.0, so that equal rows have equal bytes
        for i, row in enumerate(rows, start=block.start):
            first[i] = seen.setdefault(hashlib.blake2b(row.data, digest_size=16).digest(), i)
    return first


def _connected_neighbors(cloud: Array, start: int, grow_by: int) -> tuple[Array, Array]:
    """Return distances and indices (n, k) of the nearest others, for the smallest allowed k that connects the graph.

    Neighbors are sorted by distance, so one query of k columns holds the answers for all smaller k: the search
    doubles k until the graph is connected and then bisects over the columns. If nothing allowed connects it, the
    neighbors of the largest k are returned.
    """
    if start == 0:
        return np.empty((1, 0), dtype=cloud.dtype), np.empty((1, 0), dtype=np.int32)
    search = NearestNeighbors().fit(cloud)
    limit = min(len(cloud) - 1, max(start, _MAX_EDGES // len(cloud)))
    k = start
    distances, indices = _query(search, cloud, k)
    while grow_by and k < limit and not _is_connected(indices):
        k = min(start + grow_by * ceil((2 * k - start) / grow_by), limit)
        distances, indices = _query(search, cloud, k)
    if k > start:
        allowed = [*range(start, k, grow_by), k]
        found = bisect_left(allowed[:-1], True, key=lambda columns: _is_connected(indices[:, :columns]))
        k = allowed[found]
    return np.ascontiguousarray(distances[:, :k]), np.ascontiguousarray(indices[:, :k])


def _query(search: NearestNeighbors, cloud: Array, k: int) -> tuple[Array, Array]:
    """Return distances and indices (n, k) of the nearest others, block by block and in the smaller types.

    With many points these lists are what takes memory; scikit-learn's own would be four times as large.
    """
    distances = np.empty((len(cloud), k), dtype=cloud.dtype)
    indices = np.empty((len(cloud), k), dtype=np.int32)
    for block in row_blocks(len(cloud), max(k, cloud.shape[1])):
        lengths, others = search.kneighbors(cloud[block], n_neighbors=k + 1)
        is_other = others != np.arange(block.start, block.stop)[:, None]
        is_other[is_other.all(axis=1), -1] = False  # rounding put more than k others before the point itself
        distances[block], indices[block] = lengths[is_other].reshape(-1, k), others[is_other].reshape(-1, k)
    return distances, indices


def without_empty_axes(blocks: Callable[[], Iterator[Array]], n_points: int, n_features: int) -> Array:
    """Return a cloud that comes in blocks of rows, turned to its principal axes without those that hold no variance.

    Decoded points span no more axes than the decoder's last hidden layer is wide; distances stay the same, while
    search and memory cost as much as there are axes. For a large cloud ``blocks`` is called twice, so that the cloud as
    a whole never exists.
    """
    again = partial(iter, list(blocks())) if n_points * n_features <= _SMALL_CLOUD else blocks
    axes = _occupied_axes(again(), n_points, n_features)
    rows = (block if axes is None else block @ axes.astype(block.dtype) for block in again())
    first = next(rows)
    out = np.empty((n_points, first.shape[1]), dtype=first.dtype)
    start = 0
    for block in chain([first], rows):
        out[start : start + len(block)] = block
        start += len(block)
    return out


def _occupied_axes(blocks: Iterator[Array], n_points: int, n_features: int) -> Array | None:
    """Return the principal axes (n_features, r) that hold the variance of a cloud.

    None if they are more than half of all axes, or if there are too few points or axes to repay the turn.
    """
    if n_features <= _TREE_FEATURES or n_points <= 4 * n_features:
        return None
    gram = np.zeros((n_features, n_features))
    for block in blocks:
        wide = block.astype(np.float64)
        gram += wide.T @ wide
    variances, axes = np.linalg.eigh(gram)
    kept = np.cumsum(variances) > _EMPTY_VARIANCE * variances.sum()
    return axes[:, kept] if 2 * kept.sum() <= n_features else None


def _as_graph(distances: Array, indices: Array) -> csr_array:
    """Return the directed graph (n, n) of neighbor lists (n, k)."""
    n_points, k = indices.shape
    ends = k * np.arange(n_points + 1, dtype=np.int32)
    return csr_array((distances.ravel(), indices.ravel(), ends), shape=(n_points, n_points))


def _is_connected(indices: Array) -> bool:
    """Tell whether the union graph is connected; the first few neighbors often suffice, in little memory."""
    for columns in dict.fromkeys([min(_FEW, indices.shape[1]), indices.shape[1]]):
        edges = _as_graph(np.ones((len(indices), columns), dtype=np.float32), indices[:, :columns])
        if connected_components(edges, directed=False)[0] == 1:
            return True
    return False


def _union(distances: Array, indices: Array) -> csr_array:
    """Return the symmetric graph with every edge that exists in either direction."""
    np.maximum(distances, ZERO_LENGTH, out=distances)
    graph = _as_graph(distances, indices)
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
