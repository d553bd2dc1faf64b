"""Points moved to the mean of their neighborhood: noise across a manifold goes, the manifold stays."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from viewsplice._types import Array
from viewsplice.views import row_blocks


def smooth_points(points: Array, n_neighbors: int) -> Array:
    """Return every point replaced by the mean of itself and its nearest others.

    Noise off the manifold lengthens every path through a neighbor graph, and the more the shorter its steps are. The
    mean over k neighbors leaves 1 / sqrt(k) of it. Borders move inward by about half the radius of a neighborhood.

    Parameters
    ----------
    points
        The cloud, (n, features).
    n_neighbors
        Neighbors in the mean; 0 returns the points as they are.
    """
    if n_neighbors == 0 or len(points) <= n_neighbors:
        return points
    search = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(points)
    blocks = row_blocks(*points.shape)
    nearest = np.concatenate([search.kneighbors(points[block], return_distance=False) for block in blocks])
    smoothed = np.zeros_like(points)
    for column in nearest.T:  # one neighbor of every point at a time: all at once would be many clouds
        smoothed += points[column]
    smoothed /= n_neighbors + 1
    return smoothed
