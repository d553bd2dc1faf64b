"""Draw distances.png: geodesic and diffusion distances where a row of stray points bridges a gap, and where none does.

Run from the top folder: python docs/figures/distances.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from viewsplice.geometry import DiffusionDistance, landmark_geodesics
from viewsplice.plotting.canvas import PALETTE

Array = NDArray[np.float64]

N_POINTS = 2500
N_LANDMARKS = 40


def arc(angle: Array, generator: np.random.Generator) -> Array:
    """Return points of a noisy circle of radius 1 at the given angles."""
    radius = 1 + 0.04 * generator.normal(size=len(angle))
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def bridged() -> tuple[Array, Array]:
    """Return an arc of 320 degrees with four stray points across its opening, and the angles (NaN for those)."""
    generator = np.random.default_rng(0)
    angle = np.deg2rad(generator.uniform(20, 340, size=N_POINTS))
    stray = np.deg2rad([-12, -4, 4, 12])
    points = np.concatenate([arc(angle, generator), np.column_stack([np.cos(stray), np.sin(stray)])])
    return points, np.concatenate([angle, np.full(len(stray), np.nan)])


def uneven() -> tuple[Array, Array]:
    """Return an open arc whose points get scarce towards one end, and the angles."""
    generator = np.random.default_rng(0)
    angle = np.deg2rad(20 + 320 * generator.beta(1.3, 4, size=N_POINTS))
    return arc(angle, generator), angle


def draw_row(axes: NDArray[np.object_], points: Array, angle: Array, title: str) -> None:
    """Draw one cloud colored by either distance from its first end, and both against the length of the arc."""
    on_arc = np.flatnonzero(np.isfinite(angle))
    landmarks = np.append(on_arc[np.argmin(angle[on_arc])], on_arc[:: len(on_arc) // N_LANDMARKS])
    truth = np.abs(angle[landmarks, None] - angle[on_arc])
    found = {
        "geodesic": landmark_geodesics(points, landmarks).distances,
        "diffusion": DiffusionDistance()(points, landmarks),
    }
    for ax, color, (name, distances) in zip(axes, PALETTE, found.items(), strict=False):
        end = distances[0] / distances[0, on_arc].max()
        ax.scatter(*points.T, c=end, s=3, cmap="viridis", vmin=0, vmax=1, linewidths=0)
        ax.plot(*points[~np.isfinite(angle)].T, "o", mfc="none", mec="black", ms=5, mew=0.7)
        ax.plot(*points[landmarks[0]], "*", color=PALETTE[1], ms=11, mec="white")
        ax.set(title=f"{title}: {name}", xticks=[], yticks=[], aspect="equal")
        compare(axes[2], truth, distances[:, on_arc], name, color)
    axes[2].set(xlabel="length of the arc between two points", ylabel="distance (mean 1)")
    axes[2].legend(markerscale=4, frameon=False, loc="upper left", fontsize=8)


def compare(ax: Axes, truth: Array, distances: Array, name: str, color: str) -> None:
    """Draw distances against the length of the arc, with their linear R²."""
    r2 = np.corrcoef(truth.ravel(), distances.ravel())[0, 1] ** 2
    shown = np.random.default_rng(0).choice(truth.size, 1500, replace=False)
    scaled = distances.ravel()[shown] / distances.mean()
    ax.scatter(truth.ravel()[shown], scaled, s=2, color=color, linewidths=0, label=f"{name}, R² = {r2:.3f}")


def main() -> None:
    """Write the figure beside this file."""
    figure = Figure(figsize=(9.6, 6.2), layout="constrained")
    axes = figure.subplots(2, 3)
    draw_row(axes[0], *bridged(), "four stray points")
    draw_row(axes[1], *uneven(), "uneven density")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=100, facecolor="white")


if __name__ == "__main__":
    main()
