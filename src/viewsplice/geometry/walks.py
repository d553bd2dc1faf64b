"""Random walks through the neighbor graph of a cloud, from points to the cells that the cloud is divided into.

1. Neighbors are joined by the weight w_ij = exp(-2 (d_ij / min(r_i, r_j))²), where r_i is the distance from i to its
   k-th neighbor: a Gaussian whose standard deviation is half the smaller radius. A stray point is far from its
   neighbors by their measure, so that hardly any walk goes over it.
2. A step stays where it is with probability 0.6 (more than a half, so that even two points end differently), else it
   goes from i to j in proportion to w_ij.
3. A few bases, drawn at random, divide the cloud into cells. From cell to cell the walk is T = C / rowsums(C), where
   C_ab is the sum of w over all pairs from a and b; π, the share of each cell in C, is its equilibrium.

All terms are positive, so that even tiny probabilities keep their relative accuracy. Memory grows with points x
neighbors and points x cells at most.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components, dijkstra
from sklearn.neighbors import NearestNeighbors

from viewsplice._types import Array
from viewsplice.exceptions import GeometryWarning
from viewsplice.geometry.neighbors import ZERO_LENGTH, NeighborLists, component_sizes, find_neighbors

Time = int | Literal["auto"]

# What a walk still remembers of its start when it ends, in bits: more follows the manifold more closely, less is more
# robust against shortcuts.
_MEMORY = 1.0
# A walk that forgets less than this, in bits, while its time doubles has seen all of its cluster; on a line it is 0.5.
_CAUGHT = 0.25
_MOST_DOUBLINGS = 40
# Steps from point to point, at most, before the walk goes from cell to cell.
_MOST_POINT_STEPS = 10
# Walks jump anywhere with this probability, so that separate clouds are comparable.
_JUMP = 1e-20
# The weight of two points that are just within each other's radius, exp(-2) up to rounding.
_MUTUAL = 0.135335
# Weights end at exp(-600): a smaller one could vanish, and with it the only way to or from a point.
_LARGEST_EXPONENT = 600.0


@dataclass(frozen=True, eq=False)
class CellWalk:
    """A walk of fixed time from points to cells.

    Attributes
    ----------
    reached
        Where the walk from each point is after the steps from point to point, (n, n_cells).
    ends
        T^t, (n_cells, n_cells).
    masses
        π, (n_cells,).
    exchange
        C, (n_cells, n_cells): how much walks go from cell to cell.
    centers
        Means of the cells' points, (n_cells, n_features).
    time
        t, the steps from cell to cell.
    """

    reached: csr_array
    ends: Array
    masses: Array
    exchange: Array
    centers: Array
    time: int

    def from_points(self, rows: Any) -> Array:
        """Return the probabilities (rows, n_cells) of ending in each cell, from some points."""
        return np.asarray(self.reached[rows] @ self.ends) + _JUMP * self.masses

    def from_cells(self) -> Array:
        """Return the probabilities (n_cells, n_cells) of ending in each cell, from all cells."""
        return self.ends + _JUMP * self.masses


def walk_weights(cloud: Array, *, n_neighbors: int, name: str) -> tuple[csr_array, NeighborLists]:
    """Return the weights w (n_distinct, n_distinct) of a cloud (n, features), and the neighbor lists behind them.

    A graph that falls apart gets two and four times as many neighbors. Radii stay what they were, so that what joins
    the parts is as weak as it is long. What is still apart is warned of.
    """
    most = max(len(cloud) - 1, 1)
    for factor in (1, 2, 4):
        lists = find_neighbors(cloud, n_neighbors=min(factor * n_neighbors, most), grow_by=0, name=name)
        weights = _weights(lists, n_neighbors)
        sizes = component_sizes(weights)
        if len(sizes) == 1:
            return weights, lists
    warnings.warn(
        f"the neighbor graph of {name} has {len(sizes)} components (largest: {', '.join(map(str, sizes[:5]))}) with "
        f"n_neighbors={lists.indices.shape[1]}; no walk joins them, so they are all about equally far apart: "
        "raise n_neighbors, or look at the clusters one by one",
        GeometryWarning,
        stacklevel=4,
    )
    return weights, lists


def _weights(lists: NeighborLists, n_neighbors: int) -> csr_array:
    """Return the symmetric weights, where an edge in either direction counts.

    In a small cloud the radius ends at a third of the points: with all of them, all would be equally near.
    """
    n_points, k = lists.indices.shape
    if k == 0:
        return csr_array((n_points, n_points))
    lengths = np.maximum(lists.distances.astype(np.float64), ZERO_LENGTH)
    radii = lengths[:, min(n_neighbors, max(1, (n_points - 1) // 3)) - 1]
    smaller = np.minimum(radii[:, None], radii[lists.indices])
    weights = np.exp(-np.minimum(2 * (lengths / smaller) ** 2, _LARGEST_EXPONENT))
    ends = k * np.arange(n_points + 1)
    directed = csr_array((weights.ravel(), lists.indices.ravel(), ends), shape=(n_points, n_points))
    return csr_array(directed.maximum(directed.T))


def cell_walk(
    weights: csr_array, cloud: Array, *, n_bases: int, time: Time, generator: np.random.Generator
) -> CellWalk:
    """Return the walk over the cells of a cloud (n, features) with weights (n, n).

    Parameters
    ----------
    weights, cloud
        Of distinct points.
    n_bases
        Number of cells; a smaller cloud is not divided.
    time
        Steps from cell to cell, or "auto".
    generator
        Draws the bases.
    """
    cell = _cells(weights, cloud, n_bases, generator)
    n_points, n_cells = len(cloud), int(cell.max()) + 1
    member = csr_array((np.ones(n_points), cell, np.arange(n_points + 1)), shape=(n_points, n_cells))
    leaving = weights.sum(axis=1)
    lazy = weights + diags_array(np.where(leaving > 0, 1.5 * leaving, 1.0))
    exchange = (member.T @ lazy @ member).toarray()
    sums = exchange.sum(axis=1)
    masses = sums / sums.sum()
    ends, steps = _run(exchange / sums[:, None], masses, time)
    reached = member
    if n_cells < n_points:
        reached = _leave_cells(csr_array(diags_array(1 / lazy.sum(axis=1)) @ lazy), member)
    centers = (member.astype(cloud.dtype).T @ cloud) / np.bincount(cell)[:, None]
    return CellWalk(reached, ends, masses, exchange, centers, steps)


def _cells(weights: csr_array, cloud: Array, n_bases: int, generator: np.random.Generator) -> Array:
    """Return the cell of each point: that of the base which is nearest along the graph, d_ij / min(r_i, r_j) per edge.

    Within a cell the walk is taken to be everywhere at once, so only points within each other's radius are joined. A
    stray point becomes a cell of its own; with its neighbors it would make their cells one bridge. Of such cells there
    are at most ``n_bases`` again, and the smallest others go with the base that is nearest in space.
    """
    if len(cloud) <= n_bases:
        return np.arange(len(cloud))
    lengths = weights.copy()
    lengths.data[lengths.data < _MUTUAL] = 0
    lengths.eliminate_zeros()
    lengths.data = np.sqrt(-np.log(lengths.data) / 2)
    bases = generator.permutation(len(cloud))[:n_bases]
    _, parts = connected_components(lengths, directed=False)
    _, first, sizes = np.unique(parts, return_index=True, return_counts=True)
    without = np.setdiff1d(parts, parts[bases])
    largest = without[np.argsort(-sizes[without], kind="stable")][:n_bases]
    bases = np.sort(np.concatenate([bases, first[largest]]))
    _, _, nearest = dijkstra(lengths, indices=bases, min_only=True, return_predecessors=True)
    cell = np.searchsorted(bases, nearest)
    left = np.flatnonzero(nearest < 0)
    if len(left):
        search = NearestNeighbors(n_neighbors=1).fit(cloud[bases])
        cell[left] = search.kneighbors(cloud[left], return_distance=False)[:, 0]
    return cell


def _leave_cells(step: csr_array, member: csr_array) -> csr_array:
    """Return where the walk is (n, n_cells) when half of it has left its first cell: points of one cell then differ."""
    reached = member
    for _ in range(_MOST_POINT_STEPS):
        if reached.multiply(member).sum() <= 0.5 * member.shape[0]:
            break
        reached = csr_array(step @ reached)
    return reached


def _run(step: Array, masses: Array, time: Time) -> tuple[Array, int]:
    """Return T^t and t.

    "auto" doubles t until the walk has seen all that it is going to see, which is its cluster if there are several,
    and goes back to the last t, within an eighth, at which it remembered `_MEMORY` bits more than then.
    """
    if time != "auto":
        return np.linalg.matrix_power(step, int(time)), int(time)
    ends, memories = step, [_memory(step, masses)]
    while memories[-1] > 0 and len(memories) <= _MOST_DOUBLINGS:
        ends = ends @ ends
        memories.append(_memory(ends, masses))
        # At first a walk forgets little because it has hardly left its cell.
        if memories[-2] - memories[-1] < _CAUGHT and masses @ np.diag(ends) < 0.5:
            break
    enough = memories[-1] + _MEMORY
    powers, t = [step], 1
    for _ in range(sum(memory > enough for memory in memories[1:])):
        powers, t = [*powers[-2:], powers[-1] @ powers[-1]], 2 * t
    ends, part = powers.pop(), t
    for power in reversed(powers):
        longer, part = ends @ power, part // 2
        if _memory(longer, masses) > enough:
            ends, t = longer, t + part
    return ends, t


def _memory(ends: Array, masses: Array) -> float:
    """Return the mutual information, in bits, between the first and the last cell of a walk in equilibrium."""
    ratio = ends / masses
    return float(masses @ (ends * np.log2(np.where(ratio > 0, ratio, 1.0))).sum(axis=1))
