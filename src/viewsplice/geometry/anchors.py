"""Anchors: the rows at which all latent spaces but one are held while that one's submanifold is decoded."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sklearn.cluster import KMeans

from viewsplice._types import Array

# Medoids of so many rows: more would find the same ones.
_MOST_ROWS = 4096


def choose_anchors(spaces: Mapping[str, Array], n_anchors: int, generator: np.random.Generator) -> Array:
    """Return the row numbers of the anchors, sorted.

    One anchor is a random row, as in the paper. Several are medoids: the rows next to the centers of as many clusters
    of all latents together, each space divided by its total SD. They lie where there are data, and apart, so that no
    result hangs on one odd row.
    """
    n_rows = len(next(iter(spaces.values())))
    if n_anchors == 1 or n_anchors >= n_rows:
        return np.sort(generator.choice(n_rows, min(n_anchors, n_rows), replace=False))
    rows = np.sort(generator.choice(n_rows, min(_MOST_ROWS, n_rows), replace=False))
    parts = [z[rows] - z[rows].mean(axis=0) for z in spaces.values()]
    cloud = np.concatenate([z / (np.sqrt((z**2).sum(axis=1).mean()) or 1.0) for z in parts], axis=1)
    seed = int(generator.integers(2**31))
    centers = KMeans(n_anchors, n_init=1, max_iter=50, random_state=seed).fit(cloud).cluster_centers_
    nearest = [int(((cloud - center) ** 2).sum(axis=1).argmin()) for center in centers]
    return np.unique(rows[nearest])
