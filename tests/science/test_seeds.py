"""Twenty seeds on each toy, by the default recipe: all succeed. And what must not matter stays within their spread."""

import numpy as np
import pytest

from viewsplice.datasets import linear_gaussian, sheet_and_lines, two_rings
from viewsplice.metrics import circular_columns, linear_r2

pytestmark = pytest.mark.slow

N_ROWS = 500
RING = {"A": 2, "B": 2, "A->B": 2, "B->A": 2}
PLANE = {"A": 1, "B": 1, "A->B": 2, "B->A": 2}
TOYS = {"rings": (two_rings, RING), "sheet": (sheet_and_lines, PLANE), "linear": (linear_gaussian, PLANE)}


def decoded(model, train, test):
    """Return held-out linear R² of every true factor from the spaces that should hold it, worst column."""
    latents = [model.transform(part.views).spaces() for part in (train, test)]
    found = {}
    for name, truth in train.factors().items():
        to_columns = circular_columns if name.endswith("angle") else np.asarray
        for space in [name.split("/")[0]] if "/" in name else ["A->B", "B->A"]:
            values = linear_r2(
                latents[0][space], to_columns(truth), latents[1][space], to_columns(test.factors()[name])
            )
            found[f"{name} in {space}"] = float(values.min())
    return found
