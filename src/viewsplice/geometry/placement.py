"""Coordinates of all rows from their distances to landmarks, and from what is known of them besides."""

from __future__ import annotations

import numpy as np

from viewsplice._types import Array
from viewsplice.geometry.landmark_mds import faithful_width, landmark_mds
from viewsplice.views import row_blocks

# Rows whose distances to the landmarks decide how many coordinates are used, and at which scale others follow.
_JUDGED_ROWS = 1_000


def place_rows(distances: Array, landmarks: Array, unit: float, width: int, known: Array) -> Array:
    """Return coordinates (n, width), float32, whose distances are the given ones as nearly as may be.

    The leading coordinates are those of landmark MDS, as many as place rows that are no landmarks best. Where more are
    asked for, the principal axes of what these do not tell of ``known`` follow, at the scale at which distances fit
    best: what a wide space tells is not lost, and where distances leave nothing to explain, nothing is added.

    Parameters
    ----------
    distances, landmarks
        From landmarks to all rows, (n_landmarks, n), and which rows the landmarks are.
    unit
        What distances are divided by.
    width
        Number of coordinates.
    known
        Other coordinates of the same rows, (n, any width).
    """
    n_rows = distances.shape[1]
    between = distances[:, landmarks].astype(np.float64) / unit
    others = np.setdiff1d(np.arange(n_rows), landmarks)[:: max(1, n_rows // _JUDGED_ROWS)]
    judged = others if len(others) else landmarks
    given = distances[:, judged].astype(np.float64) / unit
    mds = landmark_mds(between, width)
    n_used = faithful_width(mds, between, given)
    mds = mds.limited(n_used)
    placed = np.empty((n_rows, width), dtype=np.float32)
    for block in row_blocks(n_rows, len(landmarks)):
        placed[block] = mds.transform(distances[:, block].astype(np.float64) / unit)
    if n_used < width:
        rest = _untold(placed[:, :n_used], known, width - n_used)
        rest *= _scale(placed[:, :n_used], rest, landmarks, judged, given)
        placed[:, n_used : n_used + rest.shape[1]] = rest
    return placed


def _untold(told: Array, known: Array, n_axes: int) -> Array:
    """Return principal coordinates (n, up to n_axes) of what a linear map of ``told`` leaves of ``known``."""
    blocks = list(row_blocks(len(told), told.shape[1] + known.shape[1]))

    def given(block: slice) -> Array:
        return np.column_stack([np.ones(block.stop - block.start), told[block]])

    def left(block: slice) -> Array:
        return np.asarray(known[block] - given(block) @ told_of_known)

    products = sum(given(block).T @ given(block) for block in blocks)
    told_of_known = np.linalg.pinv(products, hermitian=True) @ sum(given(block).T @ known[block] for block in blocks)
    _, axes = np.linalg.eigh(sum(left(block).T @ left(block) for block in blocks))
    return np.concatenate([left(block) @ axes[:, ::-1][:, :n_axes] for block in blocks])


def _scale(told: Array, rest: Array, landmarks: Array, judged: Array, given: Array) -> float:
    """Return a with which squared distances |told|² + a² |rest|² between landmarks and judged rows fit best."""
    missing = given**2 - _squared(told[landmarks], told[judged])
    further = _squared(rest[landmarks], rest[judged])
    size = float((further * further).sum())
    return float(np.sqrt(max(0.0, float((missing * further).sum()) / size))) if size > 0 else 0.0


def _squared(first: Array, second: Array) -> Array:
    """Return squared distances (len(first), len(second))."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    cross = first @ second.T
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2 * cross
    return np.asarray(np.maximum(squares, 0.0))
