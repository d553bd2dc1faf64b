"""Points moved to the mean of their neighborhood: noise across a manifold goes, the manifold stays whole."""

from __future__ import annotations

import numpy as np
import torch
from scipy.sparse import coo_array, csr_array
from sklearn.neighbors import NearestNeighbors

from viewsplice._types import Array
from viewsplice.geometry.neighbors import ZERO_LENGTH
from viewsplice.views import row_blocks

# Neighbors are torn apart if the way between them is so many times longer than they are apart. Where nothing is torn,
# bends and noise make it up to about 3, a stray point between far parts of a manifold 25; along a ring that was opened
# it is in the hundreds.
_TORN = 50.0
# ... and if it matters: points that smoothing has made one are at any ratio, of nothing.
_SHORTEST_WAY = 0.1


def nearest_points(points: Array, n_neighbors: int) -> Array:
    """Return the rows of every point's neighborhood, (n, n_neighbors + 1), the point itself among them.

    Without neighbors, or with too few points to have as many, every point is alone: (n, 1).
    """
    if n_neighbors == 0 or len(points) <= n_neighbors:
        return np.arange(len(points))[:, None]
    search = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(points)
    blocks = row_blocks(*points.shape)
    return np.concatenate([search.kneighbors(points[block], return_distance=False) for block in blocks])


def smooth_points(points: Array, nearest: Array) -> Array:
    """Return every point replaced by the mean of its neighborhood.

    Noise off the manifold lengthens every path through a neighbor graph, and the more the shorter its steps are. The
    mean over k neighbors leaves 1 / sqrt(k) of it. Borders move inward by about half the radius of a neighborhood, also
    those of small gaps: what they tear, `torn_edges` finds.

    Parameters
    ----------
    points, nearest
        The cloud, (n, features), and its `nearest_points`.
    """
    if nearest.shape[1] == 1:
        return points
    smoothed = np.zeros_like(points)
    for column in nearest.T:  # one neighbor of every point at a time: all at once would be many clouds
        smoothed += points[column]
    smoothed /= nearest.shape[1]
    return smoothed


def torn_edges(smoothed: Array, nearest: Array, distances: Array) -> csr_array | None:
    """Return edges between neighbors that smoothing has torn apart, as a symmetric graph; None if there are none.

    Smoothing draws the points on both sides of a small gap into clumps, and the gap becomes a border: rings open.
    Points that were neighbors before and are now far apart along the graph tell where.

    Parameters
    ----------
    smoothed, nearest
        The smoothed cloud, (n, features), and neighborhoods before that, at least as large as those averaged over.
    distances
        Along the graph of smoothed points, (n_landmarks, n).
    """
    least = _SHORTEST_WAY * distances.mean()
    points, ways = torch.from_numpy(smoothed), torch.from_numpy(np.ascontiguousarray(distances.T, dtype=np.float32))
    found = []
    for block in row_blocks(len(points), max(points.shape[1], ways.shape[1])):
        for column in nearest[block].T:
            others = torch.from_numpy(column.astype(np.int64))
            lengths = torch.linalg.vector_norm(points[block] - points.index_select(0, others), dim=1).numpy()
            lengths = np.maximum(lengths, ZERO_LENGTH)
            # The way between two points is at least the difference of their ways to any landmark.
            way = (ways[block] - ways.index_select(0, others)).abs_().amax(dim=1).numpy()
            is_torn = way > np.maximum(_TORN * lengths, least)
            found.append((block.start + np.flatnonzero(is_torn), column[is_torn], lengths[is_torn]))
    sources, targets, lengths = (np.concatenate(parts) for parts in zip(*found, strict=True))
    if not len(sources):
        return None
    edges = csr_array(coo_array((lengths, (sources, targets)), shape=(len(smoothed), len(smoothed))))
    return csr_array(edges.maximum(edges.T))
