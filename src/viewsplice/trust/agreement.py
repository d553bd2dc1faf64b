"""How much two versions of a latent space agree: after the best rotation and size, and after any linear map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewsplice._types import Array
from viewsplice.records import Record


@dataclass(frozen=True)
class Agreement(Record):
    """How much a latent space is the same in two results.

    Attributes
    ----------
    space
        Its name.
    compared
        What the two results are, such as ``"model, refit 1"`` or ``"anchor 1, anchor 2"``.
    procrustes
        R² of one after the rotation, reflection and single size that bring it closest to the other.
    canonical
        Mean canonical correlation over dimensions: agreement up to any linear map.
    """

    space: str
    compared: str
    procrustes: float
    canonical: float


def agreement(space: str, compared: str, first: Array, second: Array) -> Agreement:
    """Return how much two versions of a space agree, rows being the same, (n, width) each."""
    return Agreement(space, compared, procrustes_r2(first, second), float(np.mean(canonical(first, second))))


def procrustes_r2(first: Array, second: Array) -> float:
    """Return 1 - |a - c b R|^2 / |a|^2 of centered spaces for the best rotation R and size c.

    With both of unit size this is the squared sum of the singular values of a^T b; 0 if a space is a point.
    """
    a, b = _centered(first), _centered(second)
    sizes = np.linalg.norm(a), np.linalg.norm(b)
    if 0 in sizes:
        return 0.0
    return float(np.linalg.svd(a.T @ b / (sizes[0] * sizes[1]), compute_uv=False).sum() ** 2)


def canonical(first: Array, second: Array) -> Array:
    """Return the canonical correlations of two spaces, largest first; directions without variance are left out."""
    bases = [_basis(_centered(space)) for space in (first, second)]
    if 0 in (bases[0].shape[1], bases[1].shape[1]):
        return np.zeros(1)
    correlations: Array = np.clip(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False), 0.0, 1.0)
    return correlations


def _centered(x: Array) -> Array:
    rows = np.asarray(x, dtype=np.float64)
    result: Array = rows - rows.mean(axis=0)
    return result


def _basis(x: Array) -> Array:
    """Return orthonormal columns that span the space's directions of variance."""
    left, sizes, _ = np.linalg.svd(x, full_matrices=False)
    basis: Array = left[:, sizes > 1e-6 * sizes.max(initial=0.0)]
    return basis
