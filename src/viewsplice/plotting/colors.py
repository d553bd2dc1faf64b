"""From one value per row to its colors: continuous, circular (degrees) or categorical."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap, Normalize

from viewsplice._types import Array
from viewsplice.plotting.canvas import GRAY, PALETTE, literal

ColorKind = Literal["continuous", "circular", "categorical"]

MARKERS = ("o", "^", "s")
_MAX_LABELS = 20
_LONGEST_LABEL = 18


@dataclass(frozen=True, eq=False)
class Coloring:
    """One value per row, ready to be drawn.

    Attributes
    ----------
    kind
        How to read the values; None where there are none.
    values
        Numbers (NaN where missing), degrees from 0 to 360, or places in ``labels``, (n,).
    labels
        Names of the categories; empty for numbers.
    has_rest
        Whether the last category stands for all rare labels.
    """

    kind: ColorKind | None
    values: Array
    labels: tuple[str, ...] = ()
    has_rest: bool = False

    def mappable(self) -> ScalarMappable:
        """Return the color scale of numbers; missing ones are gray."""
        finite = self.values[np.isfinite(self.values)]
        low, high = (0.0, 360.0) if self.kind == "circular" else (float(finite.min()), float(finite.max()))
        return ScalarMappable(Normalize(low, high), _scale(self.kind == "circular"))

    def is_rest(self, label: int) -> bool:
        """Tell whether a category stands for all rare labels."""
        return self.has_rest and label == len(self.labels) - 1

    def marker(self, label: int) -> str:
        """Return the marker of a category: colors repeat after seven, with another marker."""
        return MARKERS[0] if self.is_rest(label) else MARKERS[label // len(PALETTE) % len(MARKERS)]

    def color(self, label: int) -> str:
        """Return the color of a category."""
        return GRAY if self.is_rest(label) else PALETTE[label % len(PALETTE)]


def coloring(color: Array | None, kind: ColorKind | None, n_rows: int) -> Coloring:
    """Return the colors of rows.

    Without ``kind``, floats and whole numbers with more than 20 distinct values are continuous, all else is
    categorical. Beyond 20 labels, the rarest share one gray "other".
    """
    if kind not in (None, "continuous", "circular", "categorical"):
        raise ValueError(f"kind is {kind!r}; expected 'continuous', 'circular', 'categorical', or None to infer it")
    if color is None:
        return Coloring(None, np.zeros(n_rows))
    values = np.asarray(color)
    if values.shape != (n_rows,):
        raise ValueError(f"color has shape {values.shape}; expected one value per row: ({n_rows},)")
    chosen = kind or _inferred(values)
    if chosen == "categorical":
        return _categories(values)
    if values.dtype.kind not in "fiub":
        raise TypeError(f"color has dtype {values.dtype}; expected numbers for kind={chosen!r}")
    numbers = values.astype(np.float64)
    numbers[~np.isfinite(numbers)] = np.nan
    if np.isnan(numbers).all():
        return Coloring(None, np.zeros(n_rows))
    return Coloring(chosen, np.mod(numbers, 360) if chosen == "circular" else numbers)


def _inferred(values: Array) -> ColorKind:
    is_continuous = values.dtype.kind == "f" or (values.dtype.kind in "iu" and len(np.unique(values)) > _MAX_LABELS)
    return "continuous" if is_continuous else "categorical"


def _categories(values: Array) -> Coloring:
    if values.dtype.kind == "O":
        values = values.astype(str)
    names, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    labels = tuple(literal(str(name), _LONGEST_LABEL) for name in names)
    if len(names) <= _MAX_LABELS:
        return Coloring("categorical", places, labels)
    kept = np.sort(np.argsort(-counts, kind="stable")[: _MAX_LABELS - 1])
    new_places = np.full(len(names), _MAX_LABELS - 1)
    new_places[kept] = np.arange(len(kept))
    rest = f"other ({len(names) - len(kept)} labels)"
    return Coloring("categorical", new_places[places], (*(labels[i] for i in kept), rest), has_rest=True)


def _scale(circular: bool) -> Colormap:
    """Return a scale that stays visible on white: its lightest end is darkened or left out."""
    if circular:
        return ListedColormap(colormaps["twilight"](np.linspace(0, 1, 256))[:, :3] * 0.85).with_extremes(bad=GRAY)
    return ListedColormap(colormaps["cividis"](np.linspace(0, 0.94, 256))).with_extremes(bad=GRAY)
