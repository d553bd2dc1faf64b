"""Counts made fit for squared errors, on request only: square root and smoothing over rows."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter1d

from viewsplice._types import Array
from viewsplice.views import Views


def square_root(views: Views) -> Views:
    """Return the square root of every view: the variance of Poisson counts then no longer grows with their mean."""
    for name, x in views.arrays.items():
        if np.min(x) < 0:
            raise ValueError(f"view {name!r} has negative values; expected counts or rates for a square root")
    return Views({name: np.sqrt(_floating(x)) for name, x in views.arrays.items()}, groups=views.groups)


def smooth(views: Views, bins: float) -> Views:
    """Return views smoothed over successive rows by a Gaussian with an SD of ``bins`` rows.

    With groups (trials), each is smoothed by itself and nothing flows across its ends.
    """
    if not 0 < bins < np.inf:
        raise ValueError(f"smoothing is over {bins} bins; expected a number above 0")
    groups = np.zeros(len(views), dtype=np.int64) if views.groups is None else views.groups
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    out: dict[str, Array] = {}
    for name, x in views.arrays.items():
        smoothed = np.array(_floating(x))
        for rows in members:
            smoothed[rows] = gaussian_filter1d(smoothed[rows], bins, axis=0, mode="nearest")
        out[name] = smoothed
    return Views(out, groups=views.groups)


def _floating(x: Array) -> Array:
    return x if x.dtype == np.float32 else x.astype(np.float64)
