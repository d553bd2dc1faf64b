"""From one value per row to its colors: continuous, circular or categorical."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap, Normalize

from viewsplice._types import Array
from viewsplice.plotting.canvas import GRAY, PALETTE, literal

ColorKind = Literal["continuous", "circular", "categorical"]

MARKERS = ("o", "^", "s")
MAX_LABELS = 20
MISSING = "missing"
_LONGEST_LABEL = 18
# How objects that stand for no label are written: those of Python, NumPy and pandas.
_NO_LABEL = frozenset({"None", "nan", "NaN", "<NA>", "NaT"})
# Numbers beyond 1 % and 99 % have the colors of these where they would make the scale longer by a quarter.
_TAIL, _LONG_TAILS, _LEAST_WITH_TAILS = 0.01, 1.25, 20
_CIRCULAR_NAME = re.compile("angle|direction|orientation|phase|heading|azimuth|hue|theta", re.IGNORECASE)
# Values that cover less of a turn may as well lie on a line.
_LEAST_OF_A_TURN = 0.8
_ROUNDING = 1 + 1e-6


@dataclass(frozen=True, eq=False)
class Coloring:
    """One value per row, ready to be drawn.

    Attributes
    ----------
    kind
        How to read the values; None where there are none.
    values
        Numbers (NaN where missing), angles from 0 to one turn, or places in ``labels``, (n,).
    labels
        Names of the categories; empty for numbers.
    has_rest
        Whether the last category stands for all rare labels.
    turn
        After how much a circular variable is where it was.
    """

    kind: ColorKind | None
    values: Array
    labels: tuple[str, ...] = ()
    has_rest: bool = False
    turn: float = 360.0

    def mappable(self) -> ScalarMappable:
        """Return the color scale of numbers; missing ones are gray."""
        low, high = (0.0, self.turn) if self.kind == "circular" else _usual_ends(self.values)
        return ScalarMappable(Normalize(low, high), _scale(self.kind == "circular"))

    def beyond(self) -> str:
        """Return at which ends of the scale there are numbers beyond: "neither", "min", "max" or "both"."""
        if self.kind != "continuous":
            return "neither"
        low, high = _usual_ends(self.values)
        is_below, is_above = bool((self.values < low).any()), bool((self.values > high).any())
        return {(True, True): "both", (True, False): "min", (False, True): "max"}.get((is_below, is_above), "neither")

    def quarters(self) -> tuple[list[float], list[str]]:
        """Return where the quarters of a turn are, and what they are called."""
        places = [self.turn * quarter / 4 for quarter in range(5)]
        return places, ["0", "π/2", "π", "3π/2", "2π"] if self.turn == 2 * math.pi else [f"{x:g}" for x in places]

    def is_rest(self, label: int) -> bool:
        """Tell whether a category stands for all rare labels."""
        return self.has_rest and label == len(self.labels) - 1

    def marker(self, label: int) -> str:
        """Return the marker of a category: colors repeat after seven, with another marker."""
        return MARKERS[0] if self.is_rest(label) else MARKERS[label // len(PALETTE) % len(MARKERS)]

    def color(self, label: int) -> str:
        """Return the color of a category."""
        return GRAY if self.is_rest(label) or self.labels[label] == MISSING else PALETTE[label % len(PALETTE)]


def coloring(color: Array | None, kind: ColorKind | None, n_rows: int, name: str = "") -> Coloring:
    """Return the colors of rows.

    Without ``kind``, `infer_kind` tells it. Beyond 20 labels, the rarest share one gray "other".
    """
    if kind not in (None, "continuous", "circular", "categorical"):
        raise ValueError(f"kind is {kind!r}; expected 'continuous', 'circular', 'categorical', or None to infer it")
    if color is None:
        return Coloring(None, np.zeros(n_rows))
    values = np.asarray(color)
    if values.shape != (n_rows,):
        raise ValueError(f"color has shape {values.shape}; expected one value per row: ({n_rows},)")
    chosen = kind or infer_kind(values, name)
    if chosen == "categorical":
        return _categories(values)
    if values.dtype.kind not in "fiub":
        raise TypeError(f"color has dtype {values.dtype}; expected numbers for kind={chosen!r}")
    numbers = values.astype(np.float64)
    numbers[~np.isfinite(numbers)] = np.nan
    if np.isnan(numbers).all():
        return Coloring(None, np.zeros(n_rows))
    if chosen == "continuous":
        return Coloring(chosen, numbers)
    turn = full_turn(numbers, name)
    return Coloring(chosen, np.mod(numbers, turn), turn=turn)


def infer_kind(values: Array, name: str = "") -> ColorKind:
    """Return how to read values, by their type, their number and the name they have.

    Numbers are circular if the name speaks of an angle, a direction, an orientation, a phase, a heading, an azimuth, a
    hue or theta, and they cover 80 % to 100 % of one turn. Else floats, and whole numbers with more than 20 distinct
    values, are continuous, and everything else is categorical.
    """
    if values.dtype.kind in "fiu" and _CIRCULAR_NAME.search(name):
        finite = values[np.isfinite(values)].astype(np.float64)
        if len(finite) and _LEAST_OF_A_TURN <= np.ptp(finite) / full_turn(finite, name) <= _ROUNDING:
            return "circular"
    is_continuous = values.dtype.kind == "f" or (values.dtype.kind in "iu" and len(np.unique(values)) > MAX_LABELS)
    return "continuous" if is_continuous else "categorical"


def full_turn(values: Array, name: str = "") -> float:
    """Return the length of a turn: 2π if no value is beyond, 180 for orientations that span no more, else 360."""
    finite = values[np.isfinite(values)]
    if not len(finite) or np.abs(finite).max() <= 2 * math.pi * _ROUNDING:
        return 2 * math.pi
    is_axis = "orientation" in name.lower() and np.ptp(finite) <= 180 * _ROUNDING
    return 180.0 if is_axis else 360.0


def _usual_ends(values: Array) -> tuple[float, float]:
    """Return the lowest and highest number, without tails that would make the scale longer by a quarter."""
    numbers = np.sort(values[np.isfinite(values)])
    n_left = max(1, int(_TAIL * len(numbers))) if len(numbers) >= _LEAST_WITH_TAILS else 0
    (low, high), (first, last) = numbers[[n_left, -1 - n_left]], numbers[[0, -1]]
    is_long = low < high and last - first > _LONG_TAILS * (high - low)
    return (float(low), float(high)) if is_long else (float(first), float(last))


def _categories(values: Array) -> Coloring:
    names, places = category_codes(values)
    labels = tuple(literal(name, _LONGEST_LABEL) for name in names)
    kept = frequent(places, len(names))
    if len(kept) == len(names):
        return Coloring("categorical", places, labels)
    new_places = np.full(len(names), len(kept))
    new_places[kept] = np.arange(len(kept))
    rest = f"other ({len(names) - len(kept)} labels)"
    return Coloring("categorical", new_places[places], (*(labels[i] for i in kept), rest), has_rest=True)


def category_codes(values: Array) -> tuple[list[str], Array]:
    """Return the distinct labels as text, sorted, and the place of each row's label among them, (n,).

    Rows without a label, or with an empty one, come last, as "missing".
    """
    is_missing = np.array([_is_missing(value) for value in values.tolist()], dtype=bool)
    told = values[~is_missing]
    names, found = np.unique(told.astype(str) if told.dtype.kind == "O" else told, return_inverse=True)
    places = np.full(len(values), len(names))
    places[~is_missing] = found
    return [*(str(name) for name in names), *[MISSING] * bool(is_missing.any())], places


def _is_missing(label: Any) -> bool:
    return not label.strip() if isinstance(label, str) else str(label) in _NO_LABEL


def frequent(places: Array, n_labels: int) -> Array:
    """Return the labels that get a color of their own: all, or the most frequent of more than 20."""
    if n_labels <= MAX_LABELS:
        return np.arange(n_labels)
    counts = np.bincount(places, minlength=n_labels)
    return np.sort(np.argsort(-counts, kind="stable")[: MAX_LABELS - 1])


def _scale(circular: bool) -> Colormap:
    """Return a scale that stays visible on white: its lightest end is darkened or left out."""
    return ListedColormap(scale_table(circular=circular, dark=False)).with_extremes(bad=GRAY)


def scale_table(*, circular: bool, dark: bool) -> Array:
    """Return the 256 colors of a scale, (256, 3), from 0 to 1; what would be lost on the ground is left out."""
    if circular:
        table: Array = colormaps["twilight"](np.linspace(0, 1, 256))[:, :3]
        return 0.25 + 0.75 * table if dark else 0.85 * table
    ends = (0.12, 1.0) if dark else (0.0, 0.94)
    table = colormaps["cividis"](np.linspace(*ends, 256))[:, :3]
    return table
