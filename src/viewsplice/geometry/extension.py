"""Distances of further points to the landmarks, through the points on which they were estimated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import numpy as np
import torch
from scipy.linalg import eigh
from torch import Tensor

from viewsplice._types import Array
from viewsplice.views import row_blocks

# Neighbors through which a further point reaches the landmarks.
N_LINKS = 8
# Candidates are looked for along so many axes of largest variance; the lengths of links are exact.
_MOST_AXES = 64
# Rows compared at a time: with 6,000 known points a block of distances takes 6 MB.
_BLOCK_ROWS = 256


def extend_distances(
    distances: Array, known: Array, blocks: Iterable[Array], *, add_links: bool = True
) -> Iterator[Array]:
    """Yield distances (rows, n_landmarks) of further points to the landmarks, a few points at a time.

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
    ends, axes = torch.from_numpy(known), torch.from_numpy(_leading_axes(known))
    origin = torch.from_numpy(known.mean(axis=0))
    nodes = torch.cat([_turned(ends[block], origin, axes) for block in row_blocks(*known.shape)])
    squares = nodes.square().sum(dim=1)
    n_links = min(N_LINKS, len(known))
    by_point = torch.from_numpy(np.ascontiguousarray(distances.T))  # (n_known, n_landmarks): one row per link
    for block in blocks:
        for rows in torch.from_numpy(block).tensor_split(max(1, len(block) // _BLOCK_ROWS)):
            seen = _turned(rows, origin, axes)
            links = torch.addmm(squares, seen, nodes.T, alpha=-2.0).topk(n_links, dim=1, largest=False).indices
            lengths = _lengths(ends, rows, links) if add_links else None
            yield _through(by_point, links, lengths).numpy()


def _turned(points: Tensor, origin: Tensor, axes: Tensor) -> Tensor:
    """Return points along the axes; the origin goes first, as a small cloud far from 0 would lose its digits."""
    return (points - origin).to(axes) @ axes


def _lengths(known: Tensor, rows: Tensor, links: Tensor) -> Tensor:
    """Return the lengths (rows, n_links) of the links to known points."""
    return torch.stack([torch.linalg.vector_norm(rows - known.index_select(0, ends), dim=1) for ends in links.T], dim=1)


def _through(distances: Tensor, links: Tensor, lengths: Tensor | None) -> Tensor:
    """Return distances (rows, n_landmarks) through the linked points: the shortest way, or the mean without lengths."""
    if lengths is None:
        return torch.stack([distances.index_select(0, ends) for ends in links.T]).mean(dim=0)
    ways = (
        distances.index_select(0, ends) + length[:, None]
        for ends, length in zip(links.T, lengths.to(distances).T, strict=True)
    )
    shortest: Tensor = reduce(torch.minimum, ways)
    return shortest


def _leading_axes(points: Array) -> Array:
    """Return the axes (features, at most 64) along which points vary most."""
    if points.shape[1] <= _MOST_AXES:
        return np.eye(points.shape[1], dtype=np.float32)
    mean, gram = points.mean(axis=0, dtype=np.float64), np.zeros((points.shape[1],) * 2)
    for block in row_blocks(*points.shape):
        centered = points[block] - mean
        gram += centered.T @ centered
    leading = (len(gram) - _MOST_AXES, len(gram) - 1)
    return np.asarray(eigh(gram, subset_by_index=leading, overwrite_a=True)[1], dtype=np.float32)
