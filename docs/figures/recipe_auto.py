"""Draw what recipe "auto" finds in LGN-V1, and what Step 1 alone finds with the same networks and budget.

Run from the root of the repository: ``python docs/figures/recipe_auto.py`` (a few minutes).
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from viewsplice import SPLICE
from viewsplice.datasets import lgn_v1
from viewsplice.plotting import latent_scatter

OUT = Path(__file__).with_suffix(".png")
N_DRAWN = 2500


def main() -> None:
    """Fit twice and draw both."""
    data = lgn_v1(random_state=0)
    train, validation = data.split["train"], data.split["validation"]
    rows = np.concatenate([train, validation])
    held_out = np.arange(len(train), len(rows))
    test = data.rows("test")
    factors = test.factors()
    fits = {
        "Step 1 alone": SPLICE(2, 1, geometry=None, random_state=0),
        "recipe auto, nothing given": SPLICE(random_state=0),
    }
    figure, axes = plt.subplots(2, 4, figsize=(13, 6.2), layout="constrained")
    for row, (name, model) in zip(axes, fits.items(), strict=True):
        latents = model.fit(data.views[rows], validation=held_out).transform(test.views)
        shared = latents.shared["lgn->v1"][:N_DRAWN]
        for ax, factor in zip(row[:2], ("x", "y"), strict=True):
            latent_scatter(shared, color=factors[factor][:N_DRAWN], color_label=factor, ax=ax)
            ax.set_title(f"shared: {name}", fontsize="medium")
        for ax, view in zip(row[2:], data.views.names, strict=True):
            ax.plot(factors[f"{view}/position"][:N_DRAWN], latents.private[view][:N_DRAWN, 0], ".", markersize=2)
            ax.set(xlabel="true position on the track", ylabel=f"private latent of {view}")
            ax.set_title(f"private: {name}", fontsize="medium")
    figure.savefig(OUT, dpi=70)


if __name__ == "__main__":
    main()
