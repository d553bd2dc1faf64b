"""Landmark geodesics against the all-pairs fit of scikit-learn's Isomap, and how their memory grows."""

from __future__ import annotations

import time

import numpy as np
from sklearn.manifold import Isomap

from benchmarks.memory import peak_of
from benchmarks.rows import Row
from viewsplice.geometry import landmark_geodesics

N_LANDMARKS = 100
N_NEIGHBORS = 12


def sheet(n_points: int) -> np.ndarray:
    """Return points of a curved sheet in 50 dimensions."""
    generator = np.random.default_rng(0)
    x, y = generator.uniform(0, 3, (2, n_points))
    curved = np.stack([np.cos(x), np.sin(x), y, np.cos(2 * y) / 4, np.sin(x + y) / 4], axis=1)
    return (curved @ generator.normal(size=(5, 50))).astype(np.float32)


def landmark_run(n_points: int) -> None:
    """Compute landmark geodesics of a sheet of this size."""
    landmarks = np.arange(0, n_points, n_points // N_LANDMARKS)[:N_LANDMARKS]
    landmark_geodesics(sheet(n_points), landmarks, n_neighbors=N_NEIGHBORS)


def measure_geodesics(n_points: int) -> list[Row]:
    """Return the time ratio, and the memory of twice the points over that of once."""
    points = sheet(n_points)
    started = time.perf_counter()
    landmark_run(n_points)
    ours = time.perf_counter() - started
    started = time.perf_counter()
    Isomap(n_neighbors=N_NEIGHBORS, eigen_solver="dense" if n_points < 3000 else "arpack").fit(points)
    theirs = time.perf_counter() - started
    once, twice = (peak_of("benchmarks.geodesics", "landmark_run", n * n_points) for n in (1, 2))
    detail = {"points": n_points, "landmarks": N_LANDMARKS, "seconds": {"landmarks": ours, "isomap": theirs}}
    return [
        Row("landmark geodesics: time / scikit-learn Isomap fit", ours / theirs, at_most=0.1, detail=detail),
        Row(
            "landmark geodesics: memory of twice the points / of once",
            twice / once,
            at_most=2.5,
            detail={"points": n_points, "bytes": {"once": once, "twice": twice}},
        ),
    ]
