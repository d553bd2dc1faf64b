"""How much of every view, and of each of its features, the shared and the private latents account for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from viewsplice._types import Array
from viewsplice.plotting.canvas import GRAY, PALETTE, axes_or_new, literal

PARTS = ("shared", "private", "only together", "neither")
# Hatches tell the parts apart where colors do not.
_STYLES = {
    "shared": (PALETTE[0], ""),
    "private": (PALETTE[1], "//"),
    "only together": (PALETTE[3], ".."),
    "neither": (GRAY, ""),
}
_LEAST_LABELED = 0.06


def share_bars(shares: Mapping[str, Mapping[str, float]], *, ax: Axes | None = None) -> Axes:
    """Draw one bar per view, divided by what accounts for its variance.

    Parameters
    ----------
    shares
        By view, fractions of its variance by part: ``"shared"``, ``"private"``, ``"only together"`` (what needs both at
        once) and ``"neither"``. Fractions below 0, which held-out rows may give, have no length.
    ax
        Where to draw; None makes a figure.
    """
    if not shares or any(set(parts) != set(PARTS) for parts in shares.values()):
        raise ValueError(f"got parts {[list(parts) for parts in shares.values()]}; expected {list(PARTS)} of each view")
    ax = axes_or_new(ax, (7.5, 1.3 + 0.45 * len(shares)))
    lefts = np.zeros(len(shares))
    for part in PARTS:
        color, hatch = _STYLES[part]
        widths = np.maximum([parts[part] for parts in shares.values()], 0.0)
        ax.barh(range(len(shares)), widths, left=lefts, color=color, hatch=hatch, edgecolor="white", label=part)
        for row, (left, width) in enumerate(zip(lefts, widths, strict=True)):
            if width >= _LEAST_LABELED:
                box = {"facecolor": "white", "edgecolor": "none", "boxstyle": "round,pad=0.15", "alpha": 0.85}
                ax.text(left + width / 2, row, f"{width:.0%}", ha="center", va="center", bbox=box, color="#111111")
        lefts += widths
    ax.set_yticks(range(len(shares)), [literal(name, 24) for name in shares])
    ax.invert_yaxis()
    ax.set(xlabel="share of the view's variance, held-out rows", xlim=(0, max(1.0, float(lefts.max()))))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(ncols=len(PARTS), loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, fontsize="small")
    return ax


def feature_shares(shared: Array, private: Array, together: Array, *, label: str = "", ax: Axes | None = None) -> Axes:
    """Draw what accounts for the variance of each feature, from the best rebuilt feature to the worst.

    The height of the stack is the reconstruction R² of the feature; what is missing to 1 is explained by neither.

    Parameters
    ----------
    shared, private, together
        Fractions of each feature's variance, (features,), as in `share_bars`.
    label
        Name of the view.
    ax
        Where to draw; None makes a figure.
    """
    stack = np.stack([np.asarray(part, dtype=np.float64) for part in (shared, private, together)])
    if stack.ndim != 2 or not stack.shape[1]:
        raise ValueError(f"got parts of shape {stack.shape[1:]}; expected one fraction per feature: (features,)")
    ax = axes_or_new(ax)
    order = np.argsort(-stack.sum(axis=0), kind="stable")
    heights = np.maximum(stack[:, order], 0.0)
    edges = np.arange(len(order) + 1) + 0.5
    base = np.zeros(len(order))
    for part, height in zip(PARTS, heights, strict=False):
        color, hatch = _STYLES[part]
        ax.stairs(base + height, edges, baseline=base, fill=True, fc=color, ec="white", lw=0, hatch=hatch, label=part)
        base = base + height
    ax.set(xlabel="features, best rebuilt first", ylabel="share of variance", xlim=(edges[0], edges[-1]))
    ax.set_ylim(0, max(1.0, float(base.max())))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize="small", loc="upper right", framealpha=0.6)
    ax.set_title(literal(label))
    return ax
