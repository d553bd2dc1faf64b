"""How near each technique comes to true distances along manifolds: the tables of docs/distances.md.

Run from the top folder: python -m benchmarks.distances
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from viewsplice.geometry import DenseGeodesics, DiffusionDistance, landmark_geodesics

Array = NDArray[np.float64]

N_POINTS, N_LANDMARKS = 3000, 60
N_STRAY = (0, 1, 3, 5, 8, 12, 20)
TECHNIQUES: dict[str, Callable[[Array, NDArray[np.intp]], Array]] = {
    "geodesics": lambda points, landmarks: landmark_geodesics(points, landmarks).distances,
    "diffusion": DiffusionDistance(),
    "dense": DenseGeodesics(),
}


def manifolds(generator: np.random.Generator) -> dict[str, tuple[Array, Array]]:
    """Return clouds, and coordinates whose Euclidean distances are those along the manifold."""
    u, v = generator.uniform(size=(2, N_POINTS))
    uneven = generator.beta(2, 5, size=N_POINTS)
    turn = 1.5 * np.pi * (1 + 2 * u)
    along = 0.5 * (turn * np.sqrt(1 + turn**2) + np.arcsinh(turn))
    return {
        "line": (np.column_stack([u, 0 * u]), u[:, None]),
        "square sheet": (np.column_stack([u, v]),) * 2,
        "sheet of 3 x 1": (np.column_stack([3 * u, v]),) * 2,
        "swiss roll": (
            np.column_stack([turn * np.cos(turn), 21 * v, turn * np.sin(turn)]),
            np.column_stack([along, 21 * v]),
        ),
        "line with uneven density, Beta(2, 5)": (np.column_stack([uneven, 0 * uneven]), uneven[:, None]),
    }


def ring(generator: np.random.Generator, noise: float) -> tuple[Array, Array]:
    """Return points of a ring, and the distances along it from the landmarks."""
    turn = generator.uniform(size=N_POINTS)
    radius = 1 + noise * generator.normal(size=N_POINTS)
    points = radius[:, None] * np.column_stack([np.cos(2 * np.pi * turn), np.sin(2 * np.pi * turn)])
    return points, np.abs((turn[:N_LANDMARKS, None] - turn + 0.5) % 1 - 0.5)


def bridged(generator: np.random.Generator, n_points: int, n_stray: int) -> tuple[Array, Array]:
    """Return a noisy arc of 320 degrees with stray points across its opening, and the distances along it."""
    angle = np.deg2rad(generator.uniform(20, 340, size=n_points))
    stray = np.deg2rad(np.linspace(-20, 20, n_stray + 2)[1:-1])
    radius = np.concatenate([1 + 0.04 * generator.normal(size=n_points), np.ones(n_stray)])
    every = np.concatenate([angle, stray])
    points = radius[:, None] * np.column_stack([np.cos(every), np.sin(every)])
    return points, np.abs(angle[:N_LANDMARKS, None] - angle)


def r2(truth: Array, found: Array) -> float:
    """Return the linear R² between true and estimated distances."""
    return float(np.corrcoef(truth.ravel(), found[:, : truth.shape[1]].ravel())[0, 1] ** 2)


def main() -> None:
    """Print both tables."""
    landmarks = np.arange(N_LANDMARKS)
    generator = np.random.default_rng(0)
    clouds = {name: (x, cdist(t[landmarks], t)) for name, (x, t) in manifolds(generator).items()}
    clouds |= {"ring": ring(generator, 0.0), "ring with 4 % noise": ring(generator, 0.04)}
    for name, (points, truth) in clouds.items():
        print("|", name, "|", " | ".join(f"{r2(truth, t(points, landmarks)):.3f}" for t in TECHNIQUES.values()), "|")
    for n_points in (4000, 1500):
        for kind, technique in TECHNIQUES.items():
            cells = []
            for n_stray in N_STRAY:
                drawn = [bridged(np.random.default_rng(seed), n_points, n_stray) for seed in range(3)]
                cells.append(np.mean([r2(truth, technique(points, landmarks)) for points, truth in drawn]))
            print(f"| {kind}, {n_points:,} points |", " | ".join(f"{cell:.2f}" for cell in cells), "|")


if __name__ == "__main__":
    main()
