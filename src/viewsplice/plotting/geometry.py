"""Whether a latent space keeps the distances along its submanifold, and how many dimensions these need."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb

from viewsplice._types import Array
from viewsplice.geometry import effective_dimension
from viewsplice.plotting.canvas import GRAY, PALETTE, axes_or_new, literal

_MAX_PAIRS = 20_000
_N_EIGENVALUES = 10
_THRESHOLD = 0.05


def distance_plot(geodesics: Array, latent_distances: Array, *, label: str = "", ax: Axes | None = None) -> Axes:
    """Draw latent against geodesic distances: on the diagonal, the space keeps the geometry.

    At most 20,000 pairs are drawn, denser where there are more; the correlation in the title is of all pairs.

    Parameters
    ----------
    geodesics
        Distances (n_landmarks, n) along the submanifold, in latent units.
    latent_distances
        Euclidean distances of the same pairs in the latent space, (n_landmarks, n).
    label
        Name of the space.
    ax
        Where to draw; None makes a figure.
    """
    x, y = np.ravel(geodesics).astype(np.float64), np.ravel(latent_distances).astype(np.float64)
    if np.shape(geodesics) != np.shape(latent_distances) or not len(x):
        raise ValueError(
            f"got geodesics of shape {np.shape(geodesics)} and latent_distances of shape {np.shape(latent_distances)}; "
            "expected the same shape, (landmarks, rows)"
        )
    ax = axes_or_new(ax)
    is_varied = np.ptp(x) > 0 and np.ptp(y) > 0
    agreement = f"correlation {np.corrcoef(x, y)[0, 1]:.3f}" if is_varied else "no correlation: all distances equal"
    top = float(max(x.max(), y.max())) or 1.0
    kept = np.random.default_rng(0).choice(len(x), min(len(x), _MAX_PAIRS), replace=False)
    # One color that grows denser reads the same on a light and on a dark ground.
    ink = LinearSegmentedColormap.from_list("ink", [(*to_rgb(PALETTE[0]), 0.12), (*to_rgb(PALETTE[0]), 1.0)])
    ax.hexbin(
        x[kept],
        y[kept],
        gridsize=70,
        extent=(0, top, 0, top),
        bins="log",
        mincnt=1,
        cmap=ink,
        linewidths=0,
        rasterized=True,
    )
    ax.plot([0, top], [0, top], color=PALETTE[1], linestyle="--", linewidth=1.5, label="equal")
    ax.legend(loc="upper left", fontsize="small", frameon=False)
    ax.set_aspect("equal")
    ax.set(xlabel="distance along the submanifold", ylabel="distance in the latent space")
    ax.set_title(f"{literal(label)}: {agreement}" if label else agreement)
    return ax


def spectrum_plot(spectrum: Array, *, label: str = "", ax: Axes | None = None) -> Axes:
    """Draw the first ten landmark-MDS eigenvalues relative to the first, and the line at 5 %.

    Parameters
    ----------
    spectrum
        Eigenvalues, largest first, (m,), as in ``model.geometry_["A->B"].spectrum``.
    label
        Name of the space.
    ax
        Where to draw; None makes a figure.
    """
    values = np.asarray(spectrum, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"spectrum has shape {values.shape}; expected eigenvalues, largest first: (m,)")
    n_dimensions = effective_dimension(values, _THRESHOLD)
    shown = values[:_N_EIGENVALUES] / values[0] if n_dimensions else np.zeros(min(len(values), _N_EIGENVALUES))
    ax = axes_or_new(ax)
    numbers = np.arange(1, len(shown) + 1)
    ax.bar(numbers, shown, color=[PALETTE[0] if value > _THRESHOLD else GRAY for value in shown])
    ax.axhline(_THRESHOLD, color=PALETTE[1], linestyle="--", linewidth=1.2, label="5 % of the first")
    ax.legend(loc="upper right", fontsize="small", frameon=False)
    ax.set_xticks(numbers)
    ax.set(xlabel="dimension", ylabel="eigenvalue relative to the first", ylim=(min(0.0, 1.05 * shown.min()), 1.1))
    found = f"{n_dimensions} dimension{'' if n_dimensions == 1 else 's'} above 5 %" if n_dimensions else "no extent"
    ax.set_title(f"{literal(label)}: {found}" if label else found)
    return ax


def width_plot(curve: Array, *, chosen: int | None = None, label: str = "", ax: Axes | None = None) -> Axes:
    """Draw what the first w coordinates of a space tell about held-out points of its submanifold.

    Parameters
    ----------
    curve
        Held-out R² at widths 0, 1, 2, ..., as in ``model.geometry_["A->B"].curve``.
    chosen
        Width to mark.
    label
        Name of the space.
    ax
        Where to draw; None makes a figure.
    """
    values = np.asarray(curve, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"curve has shape {values.shape}; expected R² by width, from 0 on: (widths,)")
    ax = axes_or_new(ax)
    widths = np.arange(len(values))
    ax.plot(widths, values, color=PALETTE[0], marker="o", markersize=4)
    if chosen is not None and 0 <= chosen < len(values):
        ax.plot([chosen], [values[chosen]], "o", color=PALETTE[1], markersize=10, fillstyle="none", label="this fit")
        ax.legend(loc="lower right", fontsize="small", frameon=False)
    ax.set(xlabel="coordinates used", ylabel="R² of held-out points", ylim=(min(0.0, 1.05 * values.min()), 1.05))
    ax.set_xticks(widths[:: max(1, len(widths) // 8)])
    ax.set_title(literal(label) if label else f"best R² {values.max():.3f}")
    return ax
