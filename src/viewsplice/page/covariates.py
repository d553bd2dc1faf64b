"""What is known about each row, as the page carries it: numbers, or places among labels."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.page.blocks import Blocks
from viewsplice.page.content import Content
from viewsplice.plotting import ColorKind
from viewsplice.plotting.colors import MAX_LABELS, MISSING, category_codes, full_turn, infer_kind

# Labels beyond these would only make the page large; the rarest become one.
_MOST_LABELS = 5_000
_REST = "(other)"
# Rounding beyond this part of the range can be seen.
_ROUGH = 1e-4
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
_DAY = 86_400.0


def covariates(content: Content, blocks: Blocks) -> list[dict[str, Any]]:
    """Return what every row is known by: the part of the split, its group, and the user's variables."""
    rows = content.drawn
    known: list[dict[str, Any]] = []
    if len(content.parts) > 1:
        part = np.full(len(content.views), "no part", dtype=object)
        for name, members in content.parts.items():
            part[members] = name
        known.append(_encoded("part of the split", part[rows], "categorical", blocks))
    if content.views.groups is not None:
        known.append(_encoded("group", content.views.groups[rows], "categorical", blocks))
    for name, values in content.colors.items():
        seconds = None if name in content.kinds else times_of(values)
        if seconds is None:
            kind = content.kinds.get(name) or infer_kind(values, name)
            known.append(_encoded(name, values[rows], kind, blocks))
        else:
            told = _encoded(name, seconds[rows], "continuous", blocks)
            known.append({**told, "turn": _DAY, "is_time": True})
    return known


def times_of(values: Array) -> Array | None:
    """Return seconds since 1970 where values are more dates or times than labels can be told apart, else None.

    Without a time zone they are taken as they stand; what is missing is NaN.
    """
    if values.dtype.kind not in "MUO":
        return None
    labels, places = category_codes(values.astype(str) if values.dtype.kind == "M" else values)
    found = [_seconds(label) for label in labels]
    if sum(seconds is not None for seconds in found) <= MAX_LABELS:
        return None
    if any(seconds is None and label not in (MISSING, "NaT") for label, seconds in zip(labels, found, strict=True)):
        return None
    return np.array([np.nan if seconds is None else seconds for seconds in found])[places]


def _seconds(text: str) -> float | None:
    """Return the seconds since 1970 of a date in the form 2024-03-01, perhaps with a time; None for other text."""
    if not _DATE.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _encoded(name: str, values: Array, kind: ColorKind, blocks: Blocks) -> dict[str, Any]:
    # The reader may take numbers for angles, whatever they were taken for here; text has no turn.
    turn = full_turn(values.astype(np.float64), name) if values.dtype.kind in "fiub" else None
    told = {"name": name, "kind": kind, "turn": turn, "is_time": False}
    if kind == "categorical":
        labels, places = _fewer(*category_codes(values))
        return {**told, "labels": labels, "block": blocks.add(places, "u2")}
    numbers = values.astype(np.float64)
    numbers[~np.isfinite(numbers)] = np.nan
    shown = "none" if np.isnan(numbers).all() else kind
    return {**told, "kind": shown, "labels": None, "block": blocks.add(numbers, _width(numbers))}


def _width(numbers: Array) -> str:
    """Return how many bytes keep numbers as they are: times in seconds since 1970 would be rounded to two minutes."""
    finite = numbers[np.isfinite(numbers)]
    with np.errstate(over="ignore"):
        lost = np.abs(finite.astype(np.float32) - finite)
    is_changed = (lost > 0) & (finite == np.rint(finite))
    is_rough = len(finite) > 0 and lost.max() > _ROUGH * np.ptp(finite)
    return "f8" if is_changed.any() or is_rough else "f4"


def _fewer(labels: list[str], places: Array) -> tuple[list[str], Array]:
    """Return the most frequent labels, and one for all others, where there are very many."""
    if len(labels) <= _MOST_LABELS:
        return labels, places
    kept = np.sort(np.argsort(-np.bincount(places), kind="stable")[: _MOST_LABELS - 1])
    new = np.full(len(labels), len(kept))
    new[kept] = np.arange(len(kept))
    return [*(labels[i] for i in kept), _REST], new[places]
