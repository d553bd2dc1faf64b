"""Draw the p-values of independent views, which should be uniform: from ``results/bench.json``.

Run from the root of the repository: ``python docs/figures/statistics.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

OUT = Path(__file__).with_suffix(".png")
BENCH = Path("results/bench.json")
KINDS = ("independent", "autocorrelated")


def main() -> None:
    """Draw, for each kind of rows, which fraction of p-values is at most p."""
    rows = {row["name"]: row for row in json.loads(BENCH.read_text(encoding="utf-8"))["rows"]}
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.5), layout="constrained", sharey=True)
    for ax, kind, color in zip(axes, KINDS, ("C0", "C1"), strict=True):
        row = next(row for name, row in rows.items() if f"{kind} rows, nothing shared" in name)
        p = np.sort(row["p_values"])
        line = np.linspace(0, 1)
        # Two standard errors of a fraction of so many independent p-values.
        error = 2 * np.sqrt(line * (1 - line) / len(p))
        ax.fill_between(line, line - error, line + error, color="0.85", label="uniform, ± 2 SE")
        ax.plot(line, line, color="0.5", linewidth=1)
        ax.step(p, np.arange(1, len(p) + 1) / len(p), where="post", color=color, label=f"{len(p)} pairs of views")
        ax.set(xlabel="p", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        ax.set_title(f"{kind} rows: {row['value']:.1%} at most 0.05", fontsize="medium")
        ax.legend(loc="lower right", frameon=False, fontsize="small")
    axes[0].set_ylabel("fraction of p-values at most p")
    figure.savefig(OUT, dpi=90)


if __name__ == "__main__":
    main()
