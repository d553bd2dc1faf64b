"""A few rows of a view beside what the model makes of them."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from viewsplice._types import Array, Shape
from viewsplice.plotting.canvas import axes_or_new, literal

_N_VECTORS = 6
_N_IMAGES = 8
_GAP = 1
_CHANNELS = (1, 3)


def reconstruction_plot(x: Array, x_hat: Array, *, label: str = "", ax: Axes | None = None) -> Axes:
    """Draw rows of a view, evenly spread over the rows given, each above its reconstruction.

    Parameters
    ----------
    x, x_hat
        The view and its reconstruction, (n, ...): images are (n, height, width), with one or three channels in the
        last axis or before the height; all else is drawn as a heat map with one strip per row.
    label
        Name of the view.
    ax
        Where to draw; None makes a figure.
    """
    if np.shape(x) != np.shape(x_hat) or np.ndim(x) < 2 or 0 in np.shape(x):
        raise ValueError(
            f"x has shape {np.shape(x)} and x_hat {np.shape(x_hat)}; expected the same, (rows, ...), at least one row"
        )
    is_image = _is_image(x.shape)
    rows = np.unique(np.linspace(0, len(x) - 1, _N_IMAGES if is_image else _N_VECTORS).astype(int))
    truth, rebuilt = x[rows].astype(np.float64), x_hat[rows].astype(np.float64)
    if is_image:
        ax = axes_or_new(ax, (7.5, 2.2))
        _draw_images(ax, _channels_last(truth), _channels_last(rebuilt))
    else:
        ax = axes_or_new(ax, (7.5, 3.4))
        _draw_strips(ax, truth.reshape(len(rows), -1), rebuilt.reshape(len(rows), -1))
    ax.set_title(literal(label))
    return ax


def _is_image(shape: Shape) -> bool:
    return len(shape) == 3 or (len(shape) == 4 and (shape[3] in _CHANNELS or shape[1] in _CHANNELS))


def _channels_last(x: Array) -> Array:
    """Return images as (n, height, width) or (n, height, width, 3)."""
    if x.ndim == 4 and x.shape[3] not in _CHANNELS:
        x = np.moveaxis(x, 1, 3)
    return x[..., 0] if x.ndim == 4 and x.shape[3] == 1 else x


def _draw_strips(ax: Axes, truth: Array, rebuilt: Array) -> None:
    gap = np.full_like(truth, np.nan)
    strips = np.stack([truth, rebuilt, gap], axis=1).reshape(-1, truth.shape[1])[:-_GAP]
    image = ax.imshow(
        strips, aspect="auto", cmap="cividis", vmin=truth.min(), vmax=truth.max(), interpolation="nearest"
    )
    places = 3 * np.arange(len(truth))
    names = ["original"] * len(places) + ["rebuilt"] * len(places)
    ax.set_yticks([*places, *(places + 1)], names, fontsize="small")
    ax.tick_params(axis="y", length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("feature")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.figure.colorbar(image, ax=ax, label="value", extend="both")


def _draw_images(ax: Axes, truth: Array, rebuilt: Array) -> None:
    low, high = float(truth.min()), float(truth.max())
    height, width = truth.shape[1:3]
    tiles = np.ones((2 * height + _GAP, len(truth) * (width + _GAP) - _GAP, *truth.shape[3:]))
    for i, pair in enumerate(zip(truth, rebuilt, strict=True)):
        for top, picture in zip((0, height + _GAP), pair, strict=True):
            left = i * (width + _GAP)
            scaled = np.clip((picture - low) / ((high - low) or 1.0), 0, 1)
            tiles[top : top + height, left : left + width] = scaled
    ax.imshow(tiles, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    ax.set_yticks([height / 2, 1.5 * height + _GAP], ["original", "rebuilt"])
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
