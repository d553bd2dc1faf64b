"""One feature over a latent space: the receptive field of a neuron, the domain of a gene."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from viewsplice._types import Array
from viewsplice.plotting.canvas import PALETTE, axes_or_new, literal
from viewsplice.plotting.latents import plane_of

_BINS_1D = 40
_BINS_2D = 32


def feature_map(points: Array, values: Array, *, label: str = "", ax: Axes | None = None) -> Axes:
    """Draw the mean of a feature in every part of a latent space.

    One dimension gives a curve with a band of one SD, two a map; more are drawn by their first two principal axes.
    Parts without rows stay empty.

    Parameters
    ----------
    points
        Latents, (n, width).
    values
        The feature, (n,).
    label
        Name of the feature.
    ax
        Where to draw; None makes a figure.
    """
    points, values = np.asarray(points, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if points.ndim != 2 or 0 in points.shape or values.shape != (len(points),):
        raise ValueError(
            f"points has shape {points.shape} and values {values.shape}; expected (rows, dimensions) and (rows,)"
        )
    ax = axes_or_new(ax)
    if points.shape[1] == 1:
        _draw_curve(ax, points[:, 0], values)
    else:
        _draw_map(ax, points, values)
    ax.set_title(literal(label))
    return ax


def _draw_curve(ax: Axes, x: Array, values: Array) -> None:
    edges = np.linspace(x.min(), x.max() or 1.0, _BINS_1D + 1)
    places = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, _BINS_1D - 1)
    counts, sums, squares = (
        np.bincount(places, weights=weights, minlength=_BINS_1D) for weights in (None, values, values**2)
    )
    kept = counts > 0
    centers, means = ((edges[1:] + edges[:-1]) / 2)[kept], sums[kept] / counts[kept]
    sds = np.sqrt(np.maximum(squares[kept] / counts[kept] - means**2, 0.0))
    ax.fill_between(centers, means - sds, means + sds, color=PALETTE[0], alpha=0.25, linewidth=0)
    ax.plot(centers, means, color=PALETTE[0])
    ax.set(xlabel="latent value", ylabel="mean ± SD")


def _draw_map(ax: Axes, points: Array, values: Array) -> None:
    plane, names = plane_of(points)
    x, y = plane[:, 0], plane[:, 1]
    counts, *edges = np.histogram2d(x, y, bins=_BINS_2D)
    sums = np.histogram2d(x, y, bins=edges, weights=values)[0]
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    mesh = ax.pcolormesh(*edges, means.T, cmap="cividis", rasterized=True)
    ax.figure.colorbar(mesh, ax=ax, label="mean")
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel=names[0], ylabel=names[1])
