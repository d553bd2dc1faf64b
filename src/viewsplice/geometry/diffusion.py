"""Diffusion distances: how differently the random walks end that start at two points of a cloud.

With p_i(b) the probability that a walk from point i ends in cell b (`viewsplice.geometry.walks`),

    D(i, j)² = Σ_b (p_i(b) - p_j(b)) (log p_i(b) - log p_j(b)):

the potentials -log p of two points, compared where their walks differ (Jeffreys' divergence). On a flat manifold p_i
is the heat kernel, and D² = |x_i - x_j|² / 2t: a distance along the manifold. As t grows, D becomes the diffusion
distance of Coifman and Lafon (2006), in which a path counts for as much as walks take it: a bridge of a few stray
points, which is all that a shortest path needs, counts for little. "auto" takes a time between the two.

Note: PHATE (Moon et al. 2019) takes the L2 norm of log p_i - log p_j over all cells alike. That stretches the longer
side of a sheet of 3 x 1 about twofold at any time; with the weights p_i - p_j both sides count the same until walks
fill the shorter one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from viewsplice._random import numpy_generator
from viewsplice._types import Array
from viewsplice._validation import row_numbers
from viewsplice.config import check_number
from viewsplice.geometry.neighbors import without_empty_axes
from viewsplice.geometry.walks import CellWalk, Time, cell_walk, walk_weights
from viewsplice.views import row_blocks


@dataclass(frozen=True, eq=False)
class Diffusion:
    """Diffusion distances, and how they were found.

    Attributes
    ----------
    distances
        (n_landmarks, n): row i holds the distances from landmark i to all points.
    time
        Steps of the walk from cell to cell.
    n_neighbors
        Neighbors per point in the graph.
    """

    distances: Array
    time: int
    n_neighbors: int


@dataclass(frozen=True)
class DiffusionDistance:
    """A diffusion (potential) distance, for use alone or as ``GeometryConfig(distance=DiffusionDistance())``.

    Parameters
    ----------
    n_neighbors
        Neighbors per point; a smaller cloud uses all others. A graph that falls apart gets up to four times as many.
    time
        Steps of the walk. ``"auto"``: as many as it takes to forget all but one bit of where in its cluster it began.
    n_bases
        Cells that the cloud is divided into, apart from stray points; a smaller cloud is not divided. Memory grows
        with points x cells at most.
    random_state
        Seed of the cells.

    Examples
    --------
    >>> import numpy as np
    >>> from viewsplice.geometry import DiffusionDistance
    >>> line = np.linspace(0, 1, 50)[:, None]
    >>> distances = DiffusionDistance(n_neighbors=4)(line, np.array([0]))
    >>> distances.shape, bool((np.diff(distances[0]) > 0).all())
    ((1, 50), True)
    """

    n_neighbors: int = 15
    time: Time = "auto"
    n_bases: int = 500
    random_state: int = 0

    def __post_init__(self) -> None:
        for name, low in (("n_neighbors", 1), ("n_bases", 2), ("random_state", 0)):
            _check_integer(name, getattr(self, name), low, "an integer")
        if self.time != "auto":
            _check_integer("time", self.time, 1, "'auto' or a number of steps")

    def __call__(self, points: Array, landmarks: Array) -> Array:
        """Return the distances (n_landmarks, n) from the points at the ``landmarks`` rows to all points."""
        return self.estimate(points, landmarks).distances

    def estimate(self, points: Array, landmarks: Array, *, name: str = "points") -> Diffusion:
        """Return the distances together with the time and the number of neighbors that were used.

        Parameters
        ----------
        points
            The cloud, (n, ...); trailing axes are flattened. Points that coincide count once.
        landmarks
            Row indices of the landmarks, (n_landmarks,).
        name
            What the points are called in messages.

        Notes
        -----
        Distances are in the units of the points, roughly: neighboring cells are as far apart as their centers, in the
        median. Clouds that no walk joins are all about equally far from each other.
        """
        cloud = _as_cloud(points)
        weights, lists = walk_weights(cloud, n_neighbors=self.n_neighbors, name=name)
        place = np.searchsorted(lists.distinct, lists.first)  # of each row among the distinct ones
        rows = place[row_numbers("landmarks", landmarks, len(place))]
        generator = numpy_generator(self.random_state, "bases")
        walk = cell_walk(weights, cloud[lists.distinct], n_bases=self.n_bases, time=self.time, generator=generator)
        return Diffusion(_distances(walk, rows)[:, place], walk.time, lists.indices.shape[1])


def _check_integer(name: str, value: Any, low: int, expected: str) -> None:
    if value is None or isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; expected {expected}")
    check_number(name, value, low=low, integer=True)


def _as_cloud(points: Array) -> Array:
    """Return points (n, features) without empty axes; what is no cloud is left for the neighbor search to refuse."""
    cloud = np.asarray(points)
    cloud = cloud if cloud.dtype == np.float32 else cloud.astype(np.float64)
    if cloud.ndim < 2 or not cloud.size or not np.isfinite(cloud).all():
        return cloud
    flat = cloud.reshape(len(cloud), -1)
    return without_empty_axes(lambda: (flat[block] for block in row_blocks(*flat.shape)), *flat.shape)


def _distances(walk: CellWalk, landmarks: Array) -> Array:
    """Return D (n_landmarks, n), block by block."""
    n_points, n_cells = walk.reached.shape
    here, unit = walk.from_points(landmarks), _unit(walk)
    distances = np.empty((len(landmarks), n_points))
    for block in row_blocks(n_points, n_cells):
        distances[:, block] = unit * np.sqrt(_divergence(here, walk.from_points(block), walk.masses))
    distances[np.arange(len(landmarks)), landmarks] = 0.0  # instead of the root of a rounding error
    return distances


def _divergence(p: Array, q: Array, masses: Array) -> Array:
    """Return Jeffreys' divergence (len(p), len(q)) of distributions over cells, as its four sums."""
    log_p, log_q = np.log(p / masses), np.log(q / masses)  # the masses cancel; they keep the sums small
    own = (p * log_p).sum(axis=1)[:, None] + (q * log_q).sum(axis=1)
    return np.asarray(np.maximum(own - p @ log_q.T - log_p @ q.T, 0.0))


def _unit(walk: CellWalk) -> float:
    """Return the length of one unit of D: the median of the distances of cell centers over D, for neighboring cells.

    Those are neighbors of a cell that take at least a tenth of what leaves it.
    """
    p = walk.from_cells()
    squared = _divergence(p, p, walk.masses)
    taken = walk.exchange * (1 - np.eye(len(p)))
    first, second = np.nonzero((taken > 0) & (taken >= 0.1 * taken.sum(axis=1, keepdims=True)) & (squared > 0))
    lengths = np.linalg.norm(walk.centers[first] - walk.centers[second], axis=1)
    return float(np.median(lengths / np.sqrt(squared[first, second]))) if len(first) else 1.0
