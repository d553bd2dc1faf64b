"""Reduced-rank regression: the best prediction of one view from another through few dimensions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewsplice._types import Array
from viewsplice.baselines.axes import centered, padded, principal_axes


@dataclass(frozen=True, eq=False)
class ReducedRank:
    """The regressions of all ranks at once: that of rank q uses the first q coordinates and axes.

    y_q = target_mean + (x - source_mean) coordinates[:, :q] axes[:q], r = min(features, targets) being the full rank.
    Where the data have a lower rank than r, the last coordinates and axes are 0.

    Attributes
    ----------
    source_mean, target_mean
        Means of the rows, (features,) and (targets,).
    coordinates
        B V^T: from centered rows to coordinates along the axes, (features, r).
    axes
        V: principal axes of the predictions of the full regression B, orthonormal rows, (r, targets).
    spectrum
        Variance of these predictions along each axis, largest first, (r,).
    """

    source_mean: Array
    target_mean: Array
    coordinates: Array
    axes: Array
    spectrum: Array

    def coefficients(self, rank: int) -> Array:
        """Return B_q = B V_q^T V_q, (features, targets)."""
        result: Array = self.coordinates[:, :rank] @ self.axes[:rank]
        return result


def reduced_rank(x: Array, y: Array, ridge: float = 0.0) -> ReducedRank:
    """Return the regressions of y on x of all ranks, from one decomposition of x.

    Truncating the singular values of B instead would not give the smallest error of its rank: it is the variance of
    the predictions that must be kept, not that of the coefficients.

    Parameters
    ----------
    x, y
        Paired rows, (n, features) and (n, targets); n may be smaller than either.
    ridge
        lambda of ||Y - X B||² + lambda ||B||², rows centered; 0 is least squares with the pseudo-inverse.
    """
    source = principal_axes(x)
    target_mean, targets = centered(y)
    weights = source.rows.T @ targets
    squares = source.scales**2 + ridge
    # X B = U diag(s² / (s² + lambda)) U^T Y has orthonormal U: the axes of what stands behind it are those of X B.
    predicted = (source.scales**2 / squares)[:, None] * weights
    spread, axes = np.linalg.svd(predicted, full_matrices=False)[1:]
    coordinates = source.axes @ ((source.scales / squares)[:, None] * (weights @ axes.T))
    width = min(len(source.mean), len(target_mean))
    return ReducedRank(
        source_mean=source.mean,
        target_mean=target_mean,
        coordinates=padded(coordinates, width),
        axes=padded(axes.T, width).T,
        spectrum=padded(spread[None] ** 2 / (len(targets) - 1), width)[0],
    )
