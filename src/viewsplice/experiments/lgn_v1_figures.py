"""Pictures of the LGN-V1 experiment, from the fits of one seed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from viewsplice._types import Array
from viewsplice.datasets import MultiViewData
from viewsplice.estimator import SPLICE
from viewsplice.experiments.drawing import Space, panels, save, show_space
from viewsplice.plotting import reconstruction_plot

_N_SHOWN = 3000
_SHARED = ("lgn->v1", "v1->lgn")


def draw(
    folder: Path, models: Mapping[str, SPLICE], clean: MultiViewData, noisy: MultiViewData, *, quick: bool
) -> None:
    """Write the figures of one seed, from models "full", "step1" and "noisy"."""
    full = models["full"]
    test = _some(clean.rows("test"))
    _fields(clean, folder / "receptive_fields.png", quick)
    _sheets(models["step1"], full, test, folder / "sheet.png", quick)
    _tiling(full, test, folder / "tiling.png", quick)
    _private(full, test, folder / "private.png", quick)
    _leaks(full, test, folder / "leaks.png", quick)
    pairs = {"no noise": (full, clean), "noise 0.4": (models["noisy"], noisy)}
    _reconstructions(pairs, folder / "reconstructions.png", quick)


def _some(data: MultiViewData) -> MultiViewData:
    """Return at most so many rows as a picture can show."""
    rows = np.arange(min(len(data), _N_SHOWN))
    return data.take(rows, {"test": rows})


def _fields(data: MultiViewData, path: Path, quick: bool) -> None:
    """Every field that does not overlap the last one, where it lies in the visual field."""
    axes = panels(1, 3, size=(3.0, 3.3))
    corners, n_grid = data.details["corners"].astype(int), len(data.details["corners"])
    kinds = (
        ("LGN: difference of Gaussians", data.details["lgn_fields"]),
        ("V1: vertical Gabors", data.details["v1_fields"][:n_grid]),
        ("V1: horizontal Gabors", data.details["v1_fields"][n_grid:]),
    )
    side = data.details["lgn_fields"].shape[1]
    low = corners.min(axis=0)
    n_pixels = int((corners - low).max()) + side
    for ax, (title, fields) in zip(axes, kinds, strict=True):
        canvas = np.zeros((n_pixels, n_pixels))
        for (x, y), field in zip(corners - low, fields, strict=True):
            if x % side == 0 and y % side == 0:
                canvas[y : y + side, x : x + side] = field
        limit = np.abs(canvas).max()
        ax.imshow(canvas, origin="lower", cmap="PuOr", vmin=-limit, vmax=limit)
        ax.set(xticks=[], yticks=[], xlabel="x", ylabel="y")
        ax.set_title(title, fontsize="medium")
    save(axes[0], path, quick=quick, title="Receptive fields in the visual field, those that do not overlap")


def _sheets(step1: SPLICE, full: SPLICE, test: MultiViewData, path: Path, quick: bool) -> None:
    axes = panels(2, 4)
    for row, (name, model) in enumerate((("Step 1 only", step1), ("both steps", full))):
        latents = model.transform(test.views).shared
        for column, (space, factor) in enumerate((space, factor) for space in _SHARED for factor in ("x", "y")):
            label = f"{name}: {space}"
            ax = axes[4 * row + column]
            show_space(ax, Space(latents[space], test.shared[factor], f"{factor} (pixels)", label))
    save(axes[0], path, quick=quick, title="The shared sheet before and after geometry, test rows")


def _tiling(full: SPLICE, test: MultiViewData, path: Path, quick: bool) -> None:
    """Single neurons over the shared space: their activity where only the shared part varies."""
    axes = panels(3, 6, size=(2.3, 2.1))
    centers = test.details["centers"]
    places = [(25, 75), (75, 75), (50, 50), (25, 25), (75, 25), (50, 12)]
    nearest = [int(((centers - place) ** 2).sum(axis=1).argmin()) for place in places]
    groups = (
        ("v1->lgn", "LGN", nearest),
        ("lgn->v1", "V1 vertical", nearest),
        ("lgn->v1", "V1 horizontal", [i + len(centers) for i in nearest]),
    )
    for row, (space, name, neurons) in enumerate(groups):
        latents, activity = full.transform(test.views).shared[space], full.project(test.views, vary=space)
        for column, neuron in enumerate(neurons):
            ax = axes[6 * row + column]
            _dots(ax, latents, activity[:, neuron])
            ax.set_title(f"{name} neuron {neuron}", fontsize="small")
    title = "Activity of single neurons over the shared space (private part held): receptive fields tile the sheet"
    save(axes[0], path, quick=quick, title=title)


def _dots(ax: Axes, latents: Array, values: Array) -> None:
    """Draw a small map without axes: position is the latent, color the value."""
    plane = np.column_stack([latents, np.zeros((len(latents), 2))])[:, :2]  # narrower spaces are drawn, too
    ax.scatter(plane[:, 0], plane[:, 1], c=values, s=3, linewidths=0, cmap="cividis", rasterized=True)
    ax.set(xticks=[], yticks=[])
    ax.set_aspect("equal", adjustable="datalim")


def _private(full: SPLICE, test: MultiViewData, path: Path, quick: bool) -> None:
    axes = panels(1, 2)
    latents = full.transform(test.views).private
    for ax, view in zip(axes, test.views.names, strict=True):
        color = test.private[view]["position"]
        show_space(ax, Space(latents[view], color, "true position", f"private space of {view}"))
    save(axes[0], path, quick=quick, title="Private spaces against the true position, test rows")


def _leaks(full: SPLICE, test: MultiViewData, path: Path, quick: bool) -> None:
    axes = panels(2, 4)
    latents = full.transform(test.views).spaces()
    pairs = [(space, f"{view}/position") for space in _SHARED for view in test.views.names]
    pairs += [(view, factor) for view in test.views.names for factor in ("x", "y")]
    factors = test.factors()
    for ax, (space, factor) in zip(axes, pairs, strict=True):
        show_space(ax, Space(latents[space], factors[factor], factor, f"space {space}"))
    save(axes[0], path, quick=quick, title="Leaks would show as structure here: each space by what it should not tell")


def _reconstructions(models: dict[str, tuple[SPLICE, MultiViewData]], path: Path, quick: bool) -> None:
    axes = panels(2, 2, size=(6.5, 3.0))
    for row, (name, (model, data)) in enumerate(models.items()):
        test = data.rows("test")
        rebuilt = model.reconstruct(test.views)
        for column, view in enumerate(test.views.names):
            order = np.argsort(data.details[f"{view}_place_centers"])
            pair = test.views[view][:, order], rebuilt[view][:, order]
            reconstruction_plot(*pair, label=f"{view}, {name}", ax=axes[2 * row + column])
            axes[2 * row + column].set_xlabel("neuron, by its place field")
    save(axes[0], path, quick=quick, title="Activity of single trials, recorded and rebuilt, test rows")
