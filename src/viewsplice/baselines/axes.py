"""Principal axes of centered rows, from which both linear baselines are computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewsplice._types import Array


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """The thin singular value decomposition x - mean = rows diag(scales) axes^T, without what is zero.

    Its rank r is at most the smaller side of x, so that wide views cost no more than their rows allow.

    Attributes
    ----------
    mean
        Mean of the rows, (features,).
    rows, scales, axes
        Orthonormal (n, r); singular values, largest first, (r,); orthonormal (features, r).
    """

    mean: Array
    rows: Array
    scales: Array
    axes: Array


def centered(x: Array) -> tuple[Array, Array]:
    """Return the mean of rows (n, features) and the centered rows; constant columns become 0 exactly."""
    rows = np.asarray(x, dtype=np.float64)
    shifted = rows - rows[0]
    shift = shifted.mean(axis=0)
    return rows[0] + shift, shifted - shift


def principal_axes(x: Array) -> PrincipalAxes:
    """Return the principal axes of rows (n, features); columns without variance take no part."""
    mean, rows = centered(x)
    varies = rows.any(axis=0)
    left, scales, right = np.linalg.svd(rows[:, varies], full_matrices=False)
    # The tolerance of a pseudo-inverse: what is smaller is rounding.
    tolerance = max(rows.shape) * np.finfo(np.float64).eps * scales.max(initial=0.0)
    n_axes = int(np.sum(scales > tolerance))
    axes = np.zeros((rows.shape[1], n_axes))
    axes[varies] = right[:n_axes].T
    return PrincipalAxes(mean, left[:, :n_axes], scales[:n_axes], axes)


def padded(columns: Array, width: int) -> Array:
    """Return the first ``width`` columns, with columns of 0 where there are fewer."""
    out = np.zeros((len(columns), width))
    n_columns = min(width, columns.shape[1])
    out[:, :n_columns] = columns[:, :n_columns]
    return out
