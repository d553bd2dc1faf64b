"""Pictures of real recordings: what one area tells of the other, and the latents of test trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from viewsplice._types import Array
from viewsplice.experiments.drawing import panels
from viewsplice.plotting import latent_scatter
from viewsplice.plotting.canvas import PALETTE

_MOST_VARIABLES = 3


def draw_prediction(found: Sequence[Mapping[str, Any]]) -> Axes:
    """Draw the R² of prediction of every seed, by method and arrow, beside the null; return the axes."""
    keys = list(found[0])
    ax = panels(1, 1, size=(max(6.5, 1.25 * len(keys)), 3.2))[0]
    for place, key in enumerate(keys):
        scores = [values[key]["score"] for values in found]
        limits = [values[key]["null_q95"] for values in found]
        ax.bar(place, np.mean(scores), color=PALETTE[0 if key.startswith("SPLICE") else 1], alpha=0.8)
        ax.plot([place] * len(scores), scores, "o", color="black", markersize=4)
        ax.plot([place - 0.4, place + 0.4], [np.mean(limits)] * 2, "--", color="black", linewidth=1)
    ax.set_xticks(range(len(keys)), [key.replace(": ", "\n").replace("->", "\n-> ") for key in keys], fontsize="small")
    ax.axhline(0, color="black", linewidth=0.5)
    ax.set_ylabel("R² of prediction")
    ax.set_title("dots: seeds; dashed: 95 % of shuffled trials", fontsize="small")
    return ax


def draw_latents(arrays: Mapping[str, Array]) -> Axes:
    """Draw every space by the first variables; return the first axes."""
    spaces = [name for name in arrays if name.startswith("space/")]
    variables = [name for name in arrays if name.startswith("covariate/")]
    chosen = list(dict.fromkeys([variables[0], *variables[::-1]]))[:_MOST_VARIABLES]
    axes = panels(len(chosen), max(1, len(spaces)), size=(3.9, 2.9))
    for row, variable in enumerate(chosen):
        for column, space in enumerate(spaces):
            latent_scatter(
                arrays[space],
                color=arrays[variable],
                label=space.removeprefix("space/"),
                color_label=variable.removeprefix("covariate/"),
                ax=axes[row * len(spaces) + column],
            )
    return axes[0]
