"""Bridges: sparse points that join what is far apart along the dense part of a manifold.

A network that cannot tell where a row belongs decodes it to a blend: a point between two places. A few blends between
an angle and its opposite, and every shortest path leads across: a ring is measured as if it wound twice.

A way whose cost is the sum of |edge|^p, p > 1, keeps to where points are dense: many short steps cost less than few
long ones. Its length is measured as ever, by the sum of |edge|. Where nothing bridges, such ways are longer than the
shortest ones by about the same factor everywhere, since they zigzag; across a bridge they are longer by several times
that factor. This is how bridges are found (`bridging`).

Note: for large p and points drawn from a density f the cost of dense ways tends to the Fermat distance, in which a
step counts by a power of 1 / f (Groisman, Jonckheere & Sapienza 2022). Here costs only choose the way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from viewsplice._types import Array
from viewsplice._validation import row_numbers
from viewsplice.config import check_number
from viewsplice.geometry.neighbors import NeighborGraph, neighbor_graph

# What `bridging` is above where shortest paths lead across bridges. Measured: 1.02 to 1.5 for lines, rings, sheets and
# clusters, with noise and without; 3 to 4 for a ring with blends of opposite angles.
BRIDGED = 2.0
# Ways shorter than this fraction of the median one tell nothing of bridges: they are a few steps long.
_LEAST_WAY = 0.3
# Landmarks whose ways are compared.
_FEW = 40


@dataclass(frozen=True)
class DenseGeodesics:
    """Lengths of ways that keep to dense points, for use alone or as ``GeometryConfig(distance=DenseGeodesics())``.

    Parameters
    ----------
    n_neighbors
        Neighbors per point, more only until the graph is connected; a smaller cloud uses all others.
    power
        p, what the length of an edge is raised to in the cost of a way. 1 gives shortest paths.

    Examples
    --------
    >>> import numpy as np
    >>> from viewsplice.geometry import DenseGeodesics
    >>> angle = np.linspace(0, 5, 300)
    >>> arc = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> bridge = arc[[0]] + np.linspace(0.2, 0.8, 4)[:, None] * (arc[-1] - arc[0])
    >>> points = np.concatenate([arc, bridge])
    >>> [DenseGeodesics(8, power)(points, np.array([0]))[0, 299].round(1).item() for power in (1, 4)]
    [1.2, 5.0]
    """

    n_neighbors: int = 16
    power: float = 4.0

    def __post_init__(self) -> None:
        check_number("n_neighbors", self.n_neighbors, low=1, integer=True)
        check_number("power", self.power, low=1)

    def __call__(self, points: Array, landmarks: Array) -> Array:
        """Return the distances (n_landmarks, n) from the points at the ``landmarks`` rows to all points."""
        rows = row_numbers("landmarks", landmarks, len(points))
        graph = neighbor_graph(points, n_neighbors=max(1, min(self.n_neighbors, len(points) - 1)))
        return dense_ways(graph, rows, self.power)


def dense_ways(graph: NeighborGraph, landmarks: Array, power: float = DenseGeodesics.power) -> Array:
    """Return the lengths (n_landmarks, n) of the ways from landmarks to all points that keep to dense points."""
    costs = graph.weights.astype(np.float64)
    longest = costs.data.max() if costs.nnz else 1.0
    costs.data = np.maximum((costs.data / longest) ** power, np.finfo(np.float64).tiny)  # an edge of 0 would vanish
    lengths = np.empty((len(landmarks), costs.shape[0]))
    for row, landmark in enumerate(landmarks):  # one at a time: all predecessors at once would be as large again
        _, before = dijkstra(costs, directed=True, indices=landmark, return_predecessors=True)
        lengths[row] = _lengths(graph.weights, before)
    return lengths


def bridging(graph: NeighborGraph, landmarks: Array, distances: Array) -> float:
    """Return how much more dense ways exceed shortest paths at the 90th percentile than in the median.

    Parameters
    ----------
    graph, landmarks, distances
        The graph, from which points, and the lengths of the shortest paths, (n_landmarks, n).
    """
    shortest = distances[:_FEW]
    is_far = shortest > _LEAST_WAY * np.median(shortest)
    if not is_far.any():
        return 1.0
    middle, high = np.quantile(dense_ways(graph, landmarks[:_FEW])[is_far] / shortest[is_far], [0.5, 0.9])
    return float(high / middle)


def _lengths(weights: csr_array, before: Array) -> Array:
    """Return the length of the way to every point (n,), given the point before it on its way (negative: none)."""
    points = np.arange(len(before))
    before = np.where(before < 0, points, before)
    lengths = np.where(before == points, 0.0, np.asarray(weights[before, points]).ravel())
    while (before != before[before]).any():  # every turn doubles the steps that are summed up
        lengths, before = lengths + lengths[before], before[before]
    return lengths
