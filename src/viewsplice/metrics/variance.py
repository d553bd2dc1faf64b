"""How much of the variance of latents an angle or a label explains, and of views their reconstruction.

A collapsed space scores 1 in the first two: report `latent_spread` and `is_collapsed` beside every such score.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viewsplice._types import Array

_NO_SPREAD = 8 * float(np.finfo(np.float32).eps)
_FEW_ROWS = 0.01
_NEARLY_ALL = 0.9


def as_rows(values: Any, name: str) -> Array:
    """Return values as finite floats, (n, features); further axes are flattened."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(
            f"{name} has shape {array.shape}; expected (rows, dimensions), at least one of each: "
            "reshape a single dimension to (n, 1)"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has NaN or infinite entries; expected finite numbers: drop those rows")
    return array.reshape(len(array), -1)


def reconstruction_r2(x: Array, x_hat: Array) -> float:
    """Return 1 - sum_f mse_f / sum_f var_f over the features f of a view, (n, ...): 1 is perfect, the mean gives 0."""
    if np.shape(x) != np.shape(x_hat):
        raise ValueError(f"x_hat has shape {np.shape(x_hat)}; expected the shape of x: {np.shape(x)}")
    truth, rebuilt = as_rows(x, "x"), as_rows(x_hat, "x_hat")
    variance = truth.var(axis=0).sum()
    if variance == 0:
        raise ValueError("x is constant; expected rows that differ, as R² has no meaning without variance")
    return float(1 - ((truth - rebuilt) ** 2).mean(axis=0).sum() / variance)


def variance_explained_by_angle(
    latents: Array, angle_degrees: Array, *, width: float = 2.0, min_rows: int = 3
) -> float:
    """Return 1 - mean over windows of (sum_d var_d in the window) / (sum_d var_d overall), a fraction.

    Parameters
    ----------
    latents
        One latent space, (n, dimensions).
    angle_degrees
        Angle of each row, (n,), taken modulo 360.
    width
        Width of the windows [i width, (i + 1) width) in degrees; must divide 360.
    min_rows
        Windows with fewer rows are skipped. Variances have ddof 1.
    """
    return _explained(latents, _angle_windows(angle_degrees, width), _variance, min_rows)


def sd_explained_by_angle(latents: Array, angle_degrees: Array, *, width: float = 2.0, min_rows: int = 3) -> float:
    """Return `variance_explained_by_angle` with standard deviations in place of variances.

    Note: a sum of SDs depends on the axes; unlike the variance, it changes when the latent space is rotated.
    """
    return _explained(latents, _angle_windows(angle_degrees, width), np.sqrt, min_rows)


def variance_explained_by_label(latents: Array, labels: Array, *, min_rows: int = 3) -> float:
    """Return the same as `variance_explained_by_angle`, with one window per label, such as an identity, (n,)."""
    return _explained(latents, np.asarray(labels), _variance, min_rows)


def sd_explained_by_label(latents: Array, labels: Array, *, min_rows: int = 3) -> float:
    """Return the same as `sd_explained_by_angle`, with one window per label, such as an identity, (n,)."""
    return _explained(latents, np.asarray(labels), np.sqrt, min_rows)


def variance_by_dimension(
    latents: Array, angle_degrees: Array, *, width: float = 2.0, min_rows: int = 3
) -> tuple[Array, Array]:
    """Return each principal dimension's share of the variance, and how much of that is unrelated to the angle.

    Both are fractions of the total variance, (dimensions,), the largest dimension first. The first sum to 1, the
    second to 1 - `variance_explained_by_angle`.

    Parameters
    ----------
    latents, angle_degrees, width, min_rows
        As in `variance_explained_by_angle`.
    """
    rows = as_rows(latents, "latents")
    centered = rows - rows.mean(axis=0)
    axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1]
    total, within = _variances(rows @ axes, _angle_windows(angle_degrees, width), min_rows)
    return total / total.sum(), within.mean(axis=0) / total.sum()


def latent_spread(latents: Array) -> float:
    """Return the total SD of a latent space, sqrt(sum_d var_d) with ddof 1."""
    rows = as_rows(latents, "latents")
    if len(rows) < 2:
        raise ValueError(f"latents has {len(rows)} row; expected at least 2")
    return float(np.sqrt(rows.var(axis=0, ddof=1).sum()))


def is_collapsed(latents: Array) -> bool:
    """Tell whether a latent space has no spread, or owes nearly all of it to a few rows.

    True when the total SD is below 8 float32 epsilons of the rows' root mean square length (constant but for
    rounding), or when, with at least 100 rows, 1 % of them hold more than 90 % of the squared distances from the
    median of each dimension.
    """
    rows = as_rows(latents, "latents")
    if _is_constant(rows):
        return True
    squared = np.sort(((rows - np.median(rows, axis=0)) ** 2).sum(axis=1))
    few = int(_FEW_ROWS * len(rows))
    return few > 0 and bool(squared[-few:].sum() > _NEARLY_ALL * squared.sum())


def _is_constant(rows: Array) -> bool:
    length = np.sqrt((rows**2).sum(axis=1).mean())
    return latent_spread(rows) <= _NO_SPREAD * float(length)


def _angle_windows(angle_degrees: Array, width: float) -> Array:
    n_windows = round(360 / width) if width > 0 else 0
    if n_windows < 1 or not np.isclose(n_windows * width, 360):
        raise ValueError(f"width is {width}; expected degrees that divide 360, such as 2")
    angle = np.asarray(angle_degrees, dtype=np.float64)
    if not np.isfinite(angle).all():
        raise ValueError("angle_degrees has NaN or infinite entries; expected finite degrees: drop those rows")
    # The remainder of a tiny negative angle rounds to 360 itself, which is 0.
    windows: Array = (np.mod(angle, 360) // width).astype(np.intp) % n_windows
    return windows


def _variance(variances: Array) -> Array:
    return variances


def _explained(latents: Array, windows: Array, spread: Callable[[Array], Array], min_rows: int) -> float:
    """Return 1 - mean over windows of (sum_d spread(var_d) in the window) / (sum_d spread(var_d) overall)."""
    total, within = _variances(as_rows(latents, "latents"), windows, min_rows)
    return float(1 - spread(within).sum(axis=1).mean() / spread(total).sum())


def _variances(rows: Array, windows: Array, min_rows: int) -> tuple[Array, Array]:
    """Return the variance of each dimension overall, (dimensions,), and in windows, (windows, dimensions)."""
    if windows.shape != (len(rows),):
        raise ValueError(f"angles or labels have shape {windows.shape}; expected one per row: ({len(rows)},)")
    if min_rows < 2:
        raise ValueError(f"min_rows is {min_rows}; expected at least 2, the fewest rows that have a variance")
    if _is_constant(rows):
        raise ValueError("latents have zero total variance; expected a space that is not collapsed: see is_collapsed")
    window, counts = np.unique(windows, return_inverse=True, return_counts=True)[1:]
    kept = counts >= min_rows
    if not kept.any():
        raise ValueError(f"no window has {min_rows} rows; expected at least one: pass more rows or wider windows")
    return rows.var(axis=0, ddof=1), _window_variances(rows, window, counts)[kept]


def _window_variances(rows: Array, window: Array, counts: Array) -> Array:
    """Return the variance (ddof 1) of each dimension in each window, (windows, dimensions)."""
    means = np.zeros((len(counts), rows.shape[1]))
    np.add.at(means, window, rows)
    means /= counts[:, None]
    squares = np.zeros_like(means)
    np.add.at(squares, window, (rows - means[window]) ** 2)
    variances: Array = squares / np.maximum(counts - 1, 1)[:, None]
    return variances
