"""How many dimensions a latent space uses, and at which width reconstruction stops improving."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewsplice._types import Array
from viewsplice.metrics.variance import as_rows

TOLERANCE = 0.01


def covariance_spectrum(latents: Array) -> Array:
    """Return the eigenvalues of the covariance (ddof 1) of latents (n, dimensions), largest first, (dimensions,)."""
    rows = as_rows(latents, "latents")
    if len(rows) < 2:
        raise ValueError(f"latents has {len(rows)} row; expected at least 2")
    centered = rows - rows.mean(axis=0)
    eigenvalues = np.linalg.eigvalsh(centered.T @ centered / (len(rows) - 1))
    spectrum: Array = np.maximum(eigenvalues[::-1], 0.0)
    return spectrum


def effective_dimension_of(latents: Array, threshold: float = 0.05) -> int:
    """Return how many covariance eigenvalues exceed ``threshold`` times the first; 0 for a constant space."""
    spectrum = covariance_spectrum(latents)
    return int((spectrum > threshold * spectrum[0]).sum())


def saturation(widths: Sequence[int], scores: Sequence[float], sems: Sequence[float]) -> int:
    """Return the smallest width whose score is within max(one SEM of the best, 0.01) of the best.

    Parameters
    ----------
    widths
        Latent widths (or ranks) tried, in any order.
    scores
        Held-out score of each, such as reconstruction R²; higher is better.
    sems
        Standard error of each score over repetitions; 0 where there is one repetition.
    """
    width, score, sem = np.asarray(widths), np.asarray(scores, dtype=float), np.asarray(sems, dtype=float)
    if not width.shape == score.shape == sem.shape or width.ndim != 1 or not len(width):
        raise ValueError(
            f"got {width.shape} widths, {score.shape} scores and {sem.shape} SEMs; expected equally many, at least one"
        )
    if not (np.isfinite(score).all() and np.isfinite(sem).all()):
        raise ValueError("scores or SEMs are NaN or infinite; expected finite numbers: pass an SEM of 0 if unknown")
    best = int(np.argmax(score))
    allowed = max(float(sem[best]), TOLERANCE) + 1e-12
    return int(width[score >= score[best] - allowed].min())
