"""Small data whose names and labels try to be markup, and a fit of a second."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from viewsplice import SPLICE, GeometryConfig, GeometryWarning, MLPNetworks, TrainConfig, Views
from viewsplice._types import Array

N_ROWS = 300
FIRST, SECOND = "<b>lgn", 'v1"&'
MARKUP = "</script><img src=x onerror='window.hacked=1'><!-- \u2028"
COLOR = f'"><svg onload="window.hacked=1">{MARKUP}'
LABELS = ("<i>left</i>", MARKUP, "right")
NOTE = f"<script>window.hacked=1</script>{MARKUP}"
TITLE = "Fit of <b>lgn & v1"


def make_views(n_rows: int, seed: int = 0) -> Views:
    """Return two views of 8 and 7 features that share two factors."""
    rng = np.random.default_rng(seed)
    mixes = [np.random.default_rng(1).normal(size=(5, width)) for width in (8, 7)]
    factors = rng.uniform(-1, 1, size=(n_rows, 8))
    used = ([0, 1, 2, 3, 4], [0, 1, 5, 6, 7])
    arrays = [np.tanh(factors[:, rows] @ mix) for rows, mix in zip(used, mixes, strict=True)]
    return Views(dict(zip((FIRST, SECOND), arrays, strict=True)), groups=np.arange(n_rows) // 10)


def make_colors(n_rows: int) -> dict[str, Array]:
    """Return a number, an angle and a label per row."""
    rows = np.arange(n_rows)
    return {COLOR: rows / n_rows, "heading": rows * 1.2 % 360, "side": np.array(LABELS, dtype=object)[rows % 3]}


def make_model(views: Views, **changes: Any) -> SPLICE:
    """Return a fit of a second: two shared dimensions, one private to the first view and three to the second."""
    settings: dict[str, Any] = {
        "n_private": {FIRST: 1, SECOND: 3},
        "recipe": "paper",
        "networks": MLPNetworks((16,)),
        "training": TrainConfig(epochs=2, batch_size=50, restart_passes=1),
        "geometry": GeometryConfig(n_neighbors=12, grow_by=4, n_landmarks=20),
        "random_state": 5,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeometryWarning)
        return SPLICE(2, **{**settings, **changes}).fit(views, validation=0.2)


LEAKS = [
    {"source": FIRST, "target": SECOND, "probe": "trees", "r2": 0.01, "null_mean": 0.0, "null_q95": 0.02, "p": 0.5},
    {"source": MARKUP, "target": FIRST, "probe": "network", "r2": 0.4, "null_mean": 0.0, "null_q95": 0.02, "p": 0.05},
]
