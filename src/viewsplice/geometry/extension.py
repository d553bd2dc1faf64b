"""Distances of further points to the landmarks, through the points on which they were estimated."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

from viewsplice._types import Array

# Neighbors through which a further point reaches the landmarks.
N_LINKS = 8
# Candidates are looked for along so many axes of largest variance; the lengths of links are exact.
_MOST_AXES = 64
# Rows compared at a time: with 8,000 known points a block of distances takes 32 MB.
_BLOCK_ROWS = 1024


def extend_distances(distances: Array, known: Array, blocks: Iterable[Array], *, add_links: bool = True) -> Array:
    """Return distances (n_landmarks, n) of further points to the landmarks.

    A point reaches a landmark through its nearest known points, as it would as one more node of their graph:
    D(l, x) = min_i (||x - x_i|| + D(l, x_i)). The cost per point does not depend on how many there are.

    Parameters
    ----------
    distances
        (n_landmarks, n_known) from the landmarks to the known points.
    known
        The known points, (n_known, features).
    blocks
        The further points, (rows, features) at a time.
    add_links
        Whether the links' lengths count; if not (distances that are no lengths in this space), a point takes the
        mean of its nearest known points' distances.
    """
    axes, origin = _leading_axes(known), known.mean(axis=0)
    nodes = torch.from_numpy(np.ascontiguousarray((known - origin) @ axes, dtype=np.float32))
    squares = nodes.square().sum(dim=1)
    n_links = min(N_LINKS, len(known))
    parts = []
    for block in blocks:
        for rows in np.array_split(block, max(1, len(block) // _BLOCK_ROWS)):
            seen = torch.from_numpy(np.ascontiguousarray((rows - origin) @ axes, dtype=np.float32))
            links = torch.addmm(squares, seen, nodes.T, alpha=-2.0).topk(n_links, dim=1, largest=False).indices.numpy()
            parts.append(_through(distances, known, rows, links, add_links))
    return np.concatenate(parts, axis=1)


def _through(distances: Array, known: Array, rows: Array, links: Array, add_links: bool) -> Array:
    """Return distances (n_landmarks, rows) through the linked points, (rows, n_links) of them."""
    if not add_links:
        return np.asarray(distances[:, links].mean(axis=2))
    found = np.full((len(distances), len(rows)), np.inf, dtype=distances.dtype)
    for ends in links.T:
        lengths = np.sqrt(((rows - known[ends]) ** 2).sum(axis=1))
        np.minimum(found, distances[:, ends] + lengths, out=found)
    return found


def _leading_axes(points: Array) -> Array:
    """Return the axes (features, at most 64) along which points vary most."""
    if points.shape[1] <= _MOST_AXES:
        return np.eye(points.shape[1], dtype=np.float32)
    centered = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    return np.asarray(np.linalg.eigh(centered.T @ centered)[1][:, -_MOST_AXES:], dtype=np.float32)
