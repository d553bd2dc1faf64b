"""Figures of sweeps: scores by width, and what a search of settings went through."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from viewsplice._types import Array
from viewsplice.plotting.canvas import GRAY, PALETTE, axes_or_new
from viewsplice.plotting.geometry import spectrum_plot
from viewsplice.sweeps.curves import Curve

_FEW = 12
_N_COLUMNS = 4


def curve_plot(curve: Curve, *, ax: Axes | None = None) -> Axes:
    """Draw held-out scores by width with one SEM, and mark where they saturate.

    Parameters
    ----------
    curve
        What to draw.
    ax
        Where to draw; None makes a figure.
    """
    ax = axes_or_new(ax)
    low, high = curve.mean - curve.sem, curve.mean + curve.sem
    ax.fill_between(curve.widths, low, high, color=PALETTE[0], alpha=0.3, linewidth=0)
    marker = "o" if len(curve.widths) <= _FEW else None
    ax.plot(curve.widths, curve.mean, color=PALETTE[0], marker=marker, markersize=4)
    ax.axvline(curve.saturates_at, color=PALETTE[1], linestyle="--", label=f"saturates at {curve.saturates_at}")
    ax.set_title(f"{curve.method}\n{curve.score}", fontsize="x-small")
    ax.set_xlabel(curve.varied)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(fontsize="small", loc="lower right")
    return ax


def scan_plot(curves: Sequence[Curve], spectra: Mapping[str, Array], *, title: str = "") -> Axes:
    """Draw every curve of a scan, then the landmark-MDS spectrum of every space; return the first axes.

    Parameters
    ----------
    curves
        ``scan.curves``.
    spectra
        By space, eigenvalues, largest first: ``scan.spectra``.
    title
        Above all panels.
    """
    n_panels = len(curves) + len(spectra)
    n_columns = min(_N_COLUMNS, n_panels)
    n_rows = math.ceil(n_panels / n_columns)
    figure = Figure(figsize=(3.1 * n_columns, 2.8 * n_rows), layout="constrained")
    axes = [figure.add_subplot(n_rows, n_columns, number + 1) for number in range(n_panels)]
    for ax, curve in zip(axes, curves, strict=False):
        curve_plot(curve, ax=ax)
    for ax, (space, spectrum) in zip(axes[len(curves) :], spectra.items(), strict=True):
        spectrum_plot(np.asarray(spectrum), label=space, ax=ax)
        ax.title.set_fontsize("x-small")
    if title:
        figure.suptitle(title, fontsize="medium")
    return axes[0]


def trials_plot(trials: Sequence[Mapping[str, Any]], *, ax: Axes | None = None) -> Axes:
    """Draw the objective of every trial, and the lowest so far; hollow ones were given up early.

    Parameters
    ----------
    trials
        ``tuning.trials``: ``number``, ``value`` (None: it diverged) and ``state``.
    ax
        Where to draw; None makes a figure.
    """
    judged = [trial for trial in trials if trial["value"] is not None]
    if not judged:
        raise ValueError("no trial has a value; expected at least one that did not diverge")
    ax = axes_or_new(ax, (6.5, 3.5))
    for state, face, label in (("complete", PALETTE[0], "full length"), ("pruned", "none", "given up early")):
        found = [trial for trial in judged if trial["state"] == state]
        if found:
            x, y = [trial["number"] for trial in found], [trial["value"] for trial in found]
            ax.scatter(x, y, facecolors=face, edgecolors=PALETTE[0] if face != "none" else GRAY, s=28, label=label)
    complete = [trial for trial in judged if trial["state"] == "complete"]
    if complete:
        lowest = np.minimum.accumulate([trial["value"] for trial in complete])
        ax.step([trial["number"] for trial in complete], lowest, where="post", color=PALETTE[1], label="lowest so far")
    ax.set(xlabel="trial", ylabel="held-out objective, lower is better")
    if min(trial["value"] for trial in judged) > 0:
        ax.set_yscale("log")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(fontsize="small", frameon=False)
    return ax
