"""Evidence for a shape, and against leaks: loops that last, and probes beside their nulls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from viewsplice._types import Array
from viewsplice.plotting.canvas import GRAY, PALETTE, axes_or_new, literal

_MAX_BARS = 12
_RING = 3.0


def barcode_plot(bars: Array, *, label: str = "", ax: Axes | None = None) -> Axes:
    """Draw the longest loops of a space by the scales at which they exist; one that outlasts the others is a ring.

    Parameters
    ----------
    bars
        Birth and death of each loop, (loops, 2), as in `Shape.loops`.
    label
        Name of the space.
    ax
        Where to draw; None makes a figure.
    """
    bars = np.asarray(bars, dtype=np.float64)
    if bars.ndim != 2 or bars.shape[1] != 2:
        raise ValueError(f"bars has shape {bars.shape}; expected births and deaths: (loops, 2)")
    ax = axes_or_new(ax, (4.2, 2.2))
    lengths = bars[:, 1] - bars[:, 0]
    shown = np.argsort(-lengths, kind="stable")[:_MAX_BARS]
    is_ring = len(shown) == 1 or (len(shown) > 1 and lengths[shown[0]] >= _RING * lengths[shown[1]])
    colors = [PALETTE[0] if place == 0 and is_ring else GRAY for place in range(len(shown))]
    ax.barh(range(len(shown)), lengths[shown], left=bars[shown, 0], color=colors, height=0.7)
    ax.invert_yaxis()
    ax.set(xlabel="scale (distance in the latent space)", ylabel="loops", yticks=[])
    ax.set_xlim(left=0)
    ax.set_title(literal(label))
    return ax


def leak_plot(leaks: Sequence[Mapping[str, Any]], *, ax: Axes | None = None) -> Axes:
    """Draw what probes read out of a space that should not tell it, each beside its shuffled nulls.

    Parameters
    ----------
    leaks
        One mapping per pair: ``source``, ``target``, ``r2``, ``null_mean`` and ``null_q95``.
    ax
        Where to draw; None makes a figure.
    """
    if not leaks:
        raise ValueError("leaks is empty; expected one mapping per pair of a space and a target")
    ax = axes_or_new(ax, (7.5, 1.0 + 0.3 * len(leaks)))
    rows = np.arange(len(leaks))
    r2, mean, q95 = (
        np.array([leak[key] for leak in leaks], dtype=np.float64) for key in ("r2", "null_mean", "null_q95")
    )
    ax.barh(rows, q95 - mean, left=mean, color=GRAY, height=0.5, label="nulls: mean to 95 %")
    above = r2 > q95
    for chosen, color, marker, name in (
        (~above, PALETTE[0], "o", "not above them"),
        (above, PALETTE[1], "D", "above 95 %"),
    ):
        if chosen.any():
            ax.plot(r2[chosen], rows[chosen], marker, color=color, label=name)
    ax.axvline(0, color=GRAY, linewidth=0.8)
    ax.set_yticks(
        rows, [f"{literal(str(leak['source']), 18)} about {literal(str(leak['target']), 18)}" for leak in leaks]
    )
    ax.invert_yaxis()
    ax.set(
        xlabel="held-out R² of the best probe",
        xlim=(min(-0.1, 1.25 * float(r2.min())), max(0.5, 1.1 * float(r2.max()))),
    )
    ax.legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.02))
    return ax
