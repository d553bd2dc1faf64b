"""How much of every view, and of each of its features, the shared and the private latents account for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

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
_BOTH = "in both"
_LEAST_LABELED = 0.06
# Lengths below this cannot be seen.
_SEEN = 0.001
# Features that hardly vary have an R² far below zero, which would squeeze all others into a corner.
_LOWEST = -1.0
_FEW = 100
_MANY = 2000


def share_bars(shares: Mapping[str, Mapping[str, float]], *, ax: Axes | None = None) -> Axes:
    """Draw one bar per view, divided by what accounts for its variance.

    Parameters
    ----------
    shares
        By view, fractions of its variance by part: ``"shared"``, ``"private"``, ``"only together"`` (what needs both at
        once) and ``"neither"``. A bar is never longer than the variance there is: fractions below 0, which held-out
        rows may give, have no length, and what shared and private both account for is drawn once, as "in both".
    ax
        Where to draw; None makes a figure.
    """
    if not shares or any(set(parts) != set(PARTS) for parts in shares.values()):
        raise ValueError(f"got parts {[list(parts) for parts in shares.values()]}; expected {list(PARTS)} of each view")
    ax = axes_or_new(ax, (7.5, 1.3 + 0.45 * len(shares)))
    pieces = [_pieces(parts) for parts in shares.values()]
    lefts = np.zeros(len(shares))
    for part, (color, hatch) in _styles(pieces).items():
        widths = np.array([found[part] for found in pieces])
        # The color of a hatch is that of the edge.
        edge = PALETTE[1] if part == _BOTH else "white"
        ax.barh(range(len(shares)), widths, left=lefts, color=color, hatch=hatch, edgecolor=edge, label=part)
        for row, (left, width) in enumerate(zip(lefts, widths, strict=True)):
            if width >= _LEAST_LABELED:
                box = {"facecolor": "white", "edgecolor": "none", "boxstyle": "round,pad=0.15", "alpha": 0.85}
                ax.text(left + width / 2, row, f"{width:.0%}", ha="center", va="center", bbox=box, color="#111111")
        lefts += widths
    ax.set_yticks(range(len(shares)), [literal(name, 24) for name in shares])
    ax.invert_yaxis()
    ax.set(xlabel="share of the view's variance", xlim=(0, 1))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(ncols=len(PARTS) + 1, loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, fontsize="small")
    return ax


def _pieces(parts: Mapping[str, float]) -> dict[str, float]:
    """Return lengths that add up to no more than 1: what shared and private both account for is a piece of its own."""
    neither = min(1.0, max(0.0, parts["neither"]))
    room = 1 - neither
    shared, private = (min(room, max(0.0, parts[part])) for part in ("shared", "private"))
    both = max(0.0, shared + private - room)
    together = max(0.0, min(parts["only together"], room - shared - private))
    return {
        "shared": shared - both,
        _BOTH: both,
        "private": private - both,
        "only together": together,
        "neither": neither,
    }


def _styles(pieces: Sequence[Mapping[str, float]]) -> dict[str, tuple[str, str]]:
    """Return color and hatch of the pieces, in the order of a bar; what is in both is told only where it is seen."""
    both = {_BOTH: (PALETTE[0], "//")} if any(found[_BOTH] >= _SEEN for found in pieces) else {}
    return {"shared": _STYLES["shared"], **both, **_STYLES}


def feature_shares(shared: Array, private: Array, *, label: str = "", ax: Axes | None = None) -> Axes:
    """Draw each feature of a view by what its shared and its private latents account for.

    On the dashed line the two account for all of its variance; what is missing to it is explained by neither, or only
    by both together. Fractions below -1, of features that hardly vary, are drawn at the edge.

    Parameters
    ----------
    shared, private
        Fractions of each feature's variance, (features,), as in `Shares.features`; NaN for constant ones.
    label
        Name of the view.
    ax
        Where to draw; None makes a figure.
    """
    x, y = _fractions(shared), _fractions(private)
    if x.shape != y.shape:
        raise ValueError(f"shared has {len(x)} features and private {len(y)}; expected equally many")
    ax = axes_or_new(ax)
    is_beyond = (x < _LOWEST) | (y < _LOWEST)
    x, y = np.maximum(x, _LOWEST), np.maximum(y, _LOWEST)
    low = min(0.0, float(np.nanmin([x, y]))) - 0.03
    ax.plot([0, 1], [1, 0], color=PALETTE[1], linestyle="--", linewidth=1.2, label="all of it")
    alpha = float(np.clip(12 / np.sqrt(len(x)), 0.25, 0.9))
    for chosen, color, marker, name in (
        (~is_beyond, PALETTE[0], "o", "a feature"),
        (is_beyond, GRAY, "v", f"{is_beyond.sum()} beyond -1"),
    ):
        if chosen.any():
            dots = ax.scatter(x[chosen], y[chosen], s=14, marker=marker, color=color, alpha=alpha, label=name)
            dots.set(linewidths=0, rasterized=len(x) > _MANY)
    ax.set(xlabel="shared", ylabel="private", xlim=(low, 1.05), ylim=(low, 1.05))
    ax.set_aspect("equal")
    ax.legend(fontsize="small", frameon=False, loc="upper right")
    ax.set_title(literal(label))
    return ax


def feature_r2(r2: Array, *, label: str = "", ax: Axes | None = None) -> Axes:
    """Draw the reconstruction R² of every feature, the best rebuilt first; what is below -1 is drawn at the edge.

    Parameters
    ----------
    r2
        R² of each feature, (features,); NaN for constant ones, which are left out.
    label
        Name of the view.
    ax
        Where to draw; None makes a figure.
    """
    values = _fractions(r2)
    values = -np.sort(-values[np.isfinite(values)])
    n_beyond, values = int((values < _LOWEST).sum()), np.maximum(values, _LOWEST)
    ax = axes_or_new(ax)
    numbers = np.arange(1, len(values) + 1)
    ax.plot(numbers, values, color=PALETTE[0], marker="." if len(values) < _FEW else "", linewidth=1.8)
    ax.axhline(float(np.median(values)), color=PALETTE[1], linestyle="--", linewidth=1.2, label="median")
    if n_beyond:
        beyond = numbers[len(values) - n_beyond :], values[len(values) - n_beyond :]
        ax.plot(*beyond, color=GRAY, linewidth=3.6, label=f"{n_beyond} below -1")
    ax.legend(fontsize="small", frameon=False, loc="lower left")
    ax.set(xlabel="features, best rebuilt first", ylabel="R²")
    ax.set_ylim(min(0.0, float(values.min())) - 0.02, 1.05)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_title(literal(label))
    return ax


def _fractions(values: Array) -> Array:
    fractions = np.asarray(values, dtype=np.float64)
    if fractions.ndim != 1 or not np.isfinite(fractions).any():
        raise ValueError(
            f"got fractions of shape {fractions.shape}; expected one per feature, (features,), some finite"
        )
    return fractions
