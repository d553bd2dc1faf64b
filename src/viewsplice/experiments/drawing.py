"""Figures of experiments: panels in one picture, small enough to be kept beside the results, and honest about size."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from viewsplice._types import Array
from viewsplice.plotting import ColorKind, latent_scatter, to_png

_MOST_BYTES = 200_000
_RESOLUTIONS = (110, 95, 80, 65, 50)
_QUICK = "Quick run: reduced data and training.\nNot what the method finds."


def panels(n_rows: int, n_columns: int, *, size: tuple[float, float] = (3.4, 3.0)) -> list[Axes]:
    """Return the axes of a new figure, row by row; ``size`` is that of one panel in inches."""
    figure = Figure(figsize=(n_columns * size[0], n_rows * size[1]), layout="constrained")
    return [figure.add_subplot(n_rows, n_columns, i + 1) for i in range(n_rows * n_columns)]


@dataclass(frozen=True, eq=False)
class Space:
    """A latent space to be drawn.

    Attributes
    ----------
    latents
        (n, width); of width 0 where there is nothing to draw.
    color, color_label, kind
        As in `latent_scatter`.
    label
        What stands above it.
    absent
        What is said where there is nothing to draw.
    """

    latents: Array
    color: Array
    color_label: str
    label: str = ""
    kind: ColorKind | None = None
    absent: str = "no dimension was found"


def show_space(ax: Axes, space: Space) -> None:
    """Draw a latent space by a variable, or say why there is none."""
    if space.latents.shape[1]:
        latent_scatter(
            space.latents, color=space.color, label=space.label, color_label=space.color_label, kind=space.kind, ax=ax
        )
        return
    show_text(ax, space.absent, title=space.label)


def show_text(ax: Axes, text: str, *, title: str) -> None:
    """Write in a panel in which there is nothing to draw."""
    ax.text(0.5, 0.5, text, ha="center", transform=ax.transAxes)
    ax.set(xticks=[], yticks=[], title=title)


def show_spaces(columns: Sequence[Sequence[Space]], *, size: tuple[float, float]) -> Axes:
    """Draw spaces side by side, one column for each sequence; return the first axes."""
    n_rows = max(len(column) for column in columns)
    axes = panels(n_rows, len(columns), size=size)
    for number, column in enumerate(columns):
        for row, space in enumerate(column):
            show_space(axes[row * len(columns) + number], space)
    return axes[0]


def show_images(ax: Axes, images: Sequence[Array] | Array, *, n_columns: int, title: str = "") -> Axes:
    """Draw images (height, width) or (height, width, 3) side by side, row by row, on one scale."""
    stack = np.asarray(images, dtype=np.float64)
    n_rows = -(-len(stack) // n_columns)
    height, width = stack.shape[1:3]
    low, high = float(stack.min()), float(stack.max())
    sheet = np.ones((n_rows * (height + 1) - 1, n_columns * (width + 1) - 1, *stack.shape[3:]))
    for i, image in enumerate((stack - low) / ((high - low) or 1.0)):
        top, left = (i // n_columns) * (height + 1), (i % n_columns) * (width + 1)
        sheet[top : top + height, left : left + width] = image
    ax.imshow(np.clip(sheet, 0, 1), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    ax.set(xticks=[], yticks=[], title=title)
    ax.spines[:].set_visible(False)
    return ax


def save(ax: Axes, path: Path, *, quick: bool, title: str = "") -> None:
    """Write the figure that holds ``ax`` as a PNG below 200 kB; a quick run says so on it."""
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    lines = [line for line in (title, _QUICK if quick else "") if line]
    if lines:
        figure.suptitle("\n".join(lines), fontsize="medium")
    for resolution in _RESOLUTIONS:
        png = to_png(ax, dpi=resolution)
        png = png if len(png) <= _MOST_BYTES else fewer_colors(png)
        if len(png) <= _MOST_BYTES:
            break
    path.write_bytes(png)


def fewer_colors(png: bytes, *, keep_rare: bool = False) -> bytes:
    """Return a picture with 256 colors: a third of the size, and hardly a difference to see.

    Colors of few pixels, such as the ends of a color bar, are mixed with others unless ``keep_rare``.
    """
    file = io.BytesIO()
    method = Image.Quantize.MAXCOVERAGE if keep_rare else Image.Quantize.MEDIANCUT
    picture = Image.open(io.BytesIO(png)).convert("RGB").quantize(256, method=method)
    picture.save(file, format="png", optimize=True)
    return file.getvalue()
