"""One latent space as a picture, colored by something known about the rows."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from viewsplice._types import Array
from viewsplice.metrics import covariance_spectrum
from viewsplice.plotting.canvas import PALETTE, axes_or_new, literal
from viewsplice.plotting.colors import MARKERS, Coloring, ColorKind, coloring

_MANY = 2000
_FEW_LABELS = 10
_MAX_BINS = 60


def latent_scatter(
    points: Array,
    *,
    color: Array | None = None,
    label: str = "",
    color_label: str = "",
    kind: ColorKind | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one latent space.

    One dimension is drawn against the color variable, or as a histogram without one; two as they are, with equal
    aspect; more by their first two principal axes, with the share of variance on the axes.

    Parameters
    ----------
    points
        Latents, (n, width).
    color
        A number or label per row, (n,).
    label, color_label
        Names of the space and of the color variable.
    kind
        ``"continuous"``, ``"circular"`` (degrees, or radians if no value is beyond 2π) or ``"categorical"``; None:
        floats are continuous, up to 20 distinct whole numbers or any texts categorical, and numbers that cover a turn
        circular if ``color_label`` speaks of an angle.
    ax
        Where to draw; None makes a figure.
    """
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(f"points has shape {points.shape}; expected (rows, dimensions), at least one of each")
    if not np.isfinite(points).all():
        raise ValueError("points has NaN or infinite entries; expected finite latents")
    colors = coloring(color, kind, len(points), color_label)
    ax = axes_or_new(ax)
    if points.shape[1] == 1:
        _draw_line(ax, points[:, 0], colors, literal(color_label) or "color variable")
    else:
        _draw_plane(ax, points, colors, literal(color_label))
    ax.set_title(literal(label))
    return ax


def _draw_line(ax: Axes, values: Array, colors: Coloring, color_label: str) -> None:
    if colors.kind is None:
        is_spread = np.ptp(values) > 1e-6 * np.abs(values).max()
        n_bins = min(_MAX_BINS, int(np.sqrt(len(values))) + 1) if is_spread else 1
        ax.hist(values, bins=n_bins, color=PALETTE[0])
        ax.set(xlabel="latent value", ylabel="rows")
        return
    if colors.kind == "categorical":
        # Even steps of the golden ratio spread the dots of a strip without a random generator.
        jitter = 0.6 * (np.arange(len(values)) * 0.618034 % 1 - 0.5)
        _dots(ax, np.column_stack([colors.values + jitter, values]), colors)
        is_crowded = sum(map(len, colors.labels)) > 30
        rotation, size = (90, "x-small") if is_crowded else (0, "medium")
        ax.set_xticks(range(len(colors.labels)), colors.labels, rotation=rotation, fontsize=size)
    else:
        _dots(ax, np.column_stack([colors.values, values]), Coloring(None, colors.values))
        if colors.kind == "circular":
            ax.set_xticks(*colors.quarters())
    ax.set(xlabel=color_label, ylabel="latent value")


def _draw_plane(ax: Axes, points: Array, colors: Coloring, color_label: str) -> None:
    plane, names = plane_of(points)
    _dots(ax, plane, colors)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel=names[0], ylabel=names[1])
    if colors.kind == "categorical":
        handles = [
            Line2D([], [], linestyle="", marker=colors.marker(i), color=colors.color(i), label=name)
            for i, name in enumerate(colors.labels)
        ]
        ax.legend(
            handles=handles,
            title=color_label,
            fontsize="small" if len(handles) <= _FEW_LABELS else 6.5,
            labelspacing=0.5 if len(handles) <= _FEW_LABELS else 0.15,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.03),
            frameon=False,
            handletextpad=0.1,
        )
    elif colors.kind is not None:
        bar = ax.figure.colorbar(colors.mappable(), ax=ax, label=color_label, extend=colors.beyond())
        if colors.kind == "circular":
            places, names = colors.quarters()
            bar.set_ticks(places, labels=names)


def plane_of(points: Array) -> tuple[Array, list[str]]:
    """Return the two coordinates by which a space of at least two dimensions is drawn, (n, 2), and their names."""
    if points.shape[1] == 2:
        return points, ["latent dimension 1", "latent dimension 2"]
    return _principal_plane(points)


def _principal_plane(points: Array) -> tuple[Array, list[str]]:
    """Return the coordinates on the first two principal axes, (n, 2), and the names of these axes."""
    centered = points - points.mean(axis=0)
    axes = np.linalg.eigh(centered.T @ centered)[1][:, :-3:-1]  # (width, 2), largest first
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0, keepdims=True), axis=0)
    spectrum = covariance_spectrum(points) if len(points) > 1 else np.zeros(2)
    shares = spectrum[:2] / (spectrum.sum() or 1.0)
    names = [f"principal axis {i} ({share:.0%} of variance)" for i, share in enumerate(shares, start=1)]
    return centered @ (axes * np.sign(largest)), names


def _dots(ax: Axes, plane: Array, colors: Coloring) -> None:
    """Draw points, (n, 2), smaller and fainter the more there are, in an order that lets no group cover another."""
    n_points = len(plane)
    size, alpha = np.clip(6000 / n_points, 2, 16), float(np.clip(30 / np.sqrt(n_points), 0.2, 0.9))
    order = np.random.default_rng(0).permutation(n_points)
    if colors.kind == "categorical":
        rgba = np.array([colors.color(i) for i in range(len(colors.labels))])[colors.values]
        # The gray rest goes below everything else.
        order = order[np.argsort([not colors.is_rest(int(i)) for i in colors.values[order]], kind="stable")]
        shape = np.array([colors.marker(i) for i in range(len(colors.labels))])[colors.values]
        groups = [(order[shape[order] == marker], marker) for marker in MARKERS]
    else:
        rgba = colors.mappable().to_rgba(colors.values) if colors.kind else np.full(n_points, PALETTE[0])
        groups = [(order, "o")]
    for rows, marker in groups:
        ax.scatter(
            plane[rows, 0],
            plane[rows, 1],
            s=size,
            c=rgba[rows],
            marker=marker,
            alpha=alpha,
            linewidths=0,
            rasterized=n_points > _MANY,
        )
