"""How the loss terms went down, over all stages of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from viewsplice._types import Array
from viewsplice.plotting.canvas import GRAY, GRID, PALETTE, axes_or_new, literal

_HELD_OUT = "val/"
_KINDS = {
    "rec": "reconstruction error (rec)",
    "pred": "measurement error (pred)",
    "dis": "leak still measured (dis)",
    "geo": "distance error (geo)",
    "rest": "extent of spare dimensions (rest)",
}
_FEW = 15
_NARROW = 0.3


def loss_curves(history: Sequence[Mapping[str, Any]], *, ax: Axes | None = None) -> Axes:
    """Draw the loss terms of every epoch on a logarithmic scale.

    A bold line is the mean of the terms of one kind, thin lines are the terms themselves, dashed is the mean on the
    validation rows. Vertical lines part stages and restarts.

    Parameters
    ----------
    history
        ``model.history_``: one mapping per epoch with ``stage``, ``epoch`` and terms such as ``rec/A`` and
        ``val/rec/A``; ``attempt`` if fits were restarted.
    ax
        Where to draw; None makes a figure.
    """
    if not history:
        raise ValueError("history is empty; expected one mapping per epoch, as in model.history_")
    terms = list(dict.fromkeys(name for row in history for name in row if "/" in name.removeprefix(_HELD_OUT)))
    kinds = list(dict.fromkeys([*_KINDS, *(name.removeprefix(_HELD_OUT).split("/")[0] for name in terms)]))
    ax = axes_or_new(ax, (7.5, 3.6))
    marker = "." if len(history) <= _FEW else ""
    starts = _starts(history)
    handles = []
    for i, kind in enumerate(kinds):
        trained = _curves(history, [name for name in terms if name.startswith(f"{kind}/")])
        held_out = _curves(history, [name for name in terms if name.startswith(f"{_HELD_OUT}{kind}/")])
        color = PALETTE[i % len(PALETTE)]
        for curve in trained if len(trained) > 1 else ():
            _draw(ax, curve, starts, color=color, width=0.6, alpha=0.5)
        for curve, style in ((_mean(trained), "-"), (_mean(held_out), "--")):
            _draw(ax, curve, starts, color=color, width=1.8, style=style, marker=marker)
        if trained or held_out:
            handles.append(Line2D([], [], color=color, linewidth=1.8, label=_KINDS.get(kind, literal(kind))))
    if any(name.startswith(_HELD_OUT) for name in terms):
        handles.append(Line2D([], [], color="black", linewidth=1.8, linestyle="--", label="on validation rows"))
    _mark_stages(ax, history, starts)
    ax.set_yscale("log")
    ax.set(xlabel="epoch, all stages", ylabel="loss (logarithmic)")
    ax.legend(handles=handles, fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.02))
    ax.grid(axis="y", color=GRID, linewidth=0.6)
    return ax


def _curves(history: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Array]:
    """Return one curve per term, (epochs,), NaN where it is absent or not finite."""
    curves = [np.array([row.get(name, np.nan) for row in history], dtype=np.float64) for name in names]
    return [np.where(np.isfinite(curve), curve, np.nan) for curve in curves]


def _mean(curves: Sequence[Array]) -> Array:
    """Return the mean of the curves that are there, in every epoch."""
    if not curves:
        return np.full(0, np.nan)
    stacked = np.stack(curves)
    counts = np.isfinite(stacked).sum(axis=0)
    return np.where(counts > 0, np.nansum(stacked, axis=0) / np.maximum(counts, 1), np.nan)


def _draw(
    ax: Axes,
    curve: Array,
    starts: Sequence[int],
    *,
    color: str,
    width: float,
    style: str = "-",
    marker: str = "",
    alpha: float = 1.0,
) -> None:
    """Draw the epochs that a curve has and that have a logarithm; validation may skip some.

    Lines end with their stage: one drawn across a stage without values would tell of values that were not measured.
    """
    for start, stop in pairwise([*starts, len(curve)]):
        epochs = start + np.flatnonzero(curve[start:stop] > 0)
        lone = marker or ("." if len(epochs) == 1 else "")
        ax.plot(epochs + 1, curve[epochs], color=color, linewidth=width, linestyle=style, marker=lone, alpha=alpha)


def _keys(history: Sequence[Mapping[str, Any]]) -> list[tuple[int, str]]:
    return [(row.get("attempt", 0), str(row.get("stage", ""))) for row in history]


def _starts(history: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return at which epochs stages and attempts begin."""
    return [0, *(i for i, (before, after) in enumerate(pairwise(_keys(history)), start=1) if before != after)]


def _mark_stages(ax: Axes, history: Sequence[Mapping[str, Any]], starts: Sequence[int]) -> None:
    """Part stages and attempts by lines, and write their names above the axes."""
    keys = _keys(history)
    shortest = min(after - before for before, after in pairwise([*starts, len(history)]))
    rotation = 0 if shortest > _NARROW * len(history) else 30
    for start in starts:
        attempt, stage = keys[start]
        name = stage if not attempt else f"{stage}, attempt {attempt + 1}"
        text = ax.text(start + 0.5, 1.01, literal(name), transform=ax.get_xaxis_transform(), va="bottom")
        text.set(fontsize="small", rotation=rotation)
        if start:
            ax.axvline(start + 0.5, color=GRAY, linewidth=0.8)
    ax.set_xlim(0.5, len(history) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
