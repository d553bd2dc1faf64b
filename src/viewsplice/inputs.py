"""What a command line names, read: views, groups, covariates, and what is done to them before a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from viewsplice._types import Array
from viewsplice.counts import smooth, square_root
from viewsplice.io import read_column, read_columns, read_names, read_views
from viewsplice.views import Views

if TYPE_CHECKING:
    from viewsplice.plotting import ColorKind

_KINDS = ("continuous", "circular", "categorical")


@dataclass(frozen=True, eq=False)
class RunData:
    """Rows, what is known about them, how to read it, and names of features: what a fit and its page are given."""

    views: Views
    colors: Mapping[str, Array] = field(default_factory=dict)
    kinds: Mapping[str, ColorKind] = field(default_factory=dict)
    feature_names: Mapping[str, Sequence[str]] = field(default_factory=dict)


def load_inputs(inputs: Mapping[str, Any], names: Sequence[str] | None = None) -> tuple[RunData, list[str]]:
    """Return the data that files named on a command line hold, and a sentence for every change made to them.

    Parameters
    ----------
    inputs
        ``views`` and ``color`` (lists of files), ``groups`` (a file or None), ``sqrt``, ``smooth``, and ``kind`` (a
        list of ``NAME=KIND``), as `start_run` records them.
    names
        What unnamed views are called; default: A, B, ...
    """
    views = read_views(inputs["views"], names)
    colors = read_colors(inputs.get("color", ()), len(views))
    if inputs.get("groups"):
        labels = check_rows("--groups", read_column(inputs["groups"], len(views)), len(views))
        views = Views(views, groups=labels)
    feature_names = {
        name: found
        for name, text in zip(views.names, inputs["views"], strict=True)
        if (found := read_names(text)) is not None and views.feature_shapes[name] == (len(found),)
    }
    views, changes = prepare_counts(views, sqrt=inputs.get("sqrt", False), bins=inputs.get("smooth"))
    return RunData(views, colors, read_kinds(inputs.get("kind", ()), colors), feature_names), changes


def read_colors(texts: Sequence[str], n_rows: int) -> dict[str, Array]:
    """Return covariates by name; a name that is taken gives way to the text as it was typed."""
    colors: dict[str, Array] = {}
    for text in texts:
        for name, column in read_columns(text, n_rows).items():
            colors[text if name in colors else name] = check_rows(text, column, n_rows)
    return colors


def read_kinds(texts: Sequence[str], colors: Mapping[str, Array]) -> dict[str, ColorKind]:
    """Return how to read covariates, from texts such as ``phase=circular``."""
    kinds: dict[str, ColorKind] = {}
    for text in texts:
        name, _, kind = text.rpartition("=")
        if name not in colors or kind not in _KINDS:
            raise ValueError(f"--kind is {text!r}; expected NAME={'|'.join(_KINDS)}, NAME one of: {', '.join(colors)}")
        kinds[name] = kind  # type: ignore[assignment]
    return kinds


def prepare_counts(views: Views, *, sqrt: bool, bins: float | None) -> tuple[Views, list[str]]:
    """Return the views as asked for, and a sentence for every change: nothing happens to data silently."""
    changes = []
    if sqrt:
        views = square_root(views)
        changes.append("The square root of all values was taken (--sqrt).")
    if bins is not None:
        views = smooth(views, bins)
        within = "within groups" if views.groups is not None else "over all rows as one sequence"
        changes.append(f"All values were smoothed over rows, {within}, with an SD of {bins:g} rows (--smooth).")
    return views, changes


def check_rows(label: str, values: Array, n_rows: int) -> Array:
    """Return one value per row, or say how many there are instead."""
    if values.shape != (n_rows,):
        raise ValueError(f"{label} has shape {values.shape}; expected one value per row: ({n_rows},)")
    return values


def is_missing(values: Array) -> Array:
    """Tell of every row of a covariate whether it has no number or label there."""
    if values.dtype.kind == "U":
        return np.asarray(values == "")
    return ~np.isfinite(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
