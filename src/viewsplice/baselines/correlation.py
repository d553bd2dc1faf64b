"""What deep correlation methods maximize, as functions of network outputs; here a small mistake is a NaN later.

Two forms of the same wish, that the outputs H_1 and H_2 of two networks go together:

- *trace norm* (Andrew et al. 2013): the sum of the canonical correlations of H_1 and H_2, differentiated through both;
- *MAX-VAR* (Karakasis and Sidiropoulos 2023, Lyu et al. 2021): squared distance of both to common targets G with
  G^T G = n I, which are found in closed form from all rows and then held fixed for an epoch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

# Added to the regularization, as a fraction of the mean variance: rounding must not make a covariance indefinite.
_LEAST_VARIANCE = 1e-9


def total_correlation(first: Tensor, second: Tensor, regularization: float) -> Tensor:
    """Return the sum of canonical correlations of paired outputs (n, k): ||T||_tr, T = S11^-1/2 S12 S22^-1/2.

    S_ii is a covariance (n - 1) plus ``regularization`` on its diagonal. Any root of S_ii gives T the same singular
    values, and the Cholesky factor is one whose gradient needs no gaps between eigenvalues; nor does that of a sum of
    singular values, U V^T. Hence equal, zero and tiny eigenvalues are all the same to it. Double precision inside.
    """
    if not (torch.isfinite(first).all() and torch.isfinite(second).all()):
        return (first.sum() + second.sum()) * math.nan  # the training loop knows what to do; a decomposition does not
    h1, h2 = (h.double() - h.double().mean(dim=0) for h in (first, second))
    cross = h1.T @ h2 / (len(h1) - 1)  # (k1, k2)
    left = torch.linalg.solve_triangular(_root(h1, regularization), cross, upper=False)
    whitened = torch.linalg.solve_triangular(_root(h2, regularization), left.T, upper=False)
    total: Tensor = torch.linalg.svdvals(whitened).sum()
    return total.to(first.dtype)


def _root(h: Tensor, regularization: float) -> Tensor:
    """Return L with L L^T = the regularized covariance of centered outputs."""
    covariance = h.T @ h / (len(h) - 1)
    ridge = regularization + _LEAST_VARIANCE * covariance.diagonal().mean()
    root: Tensor = torch.linalg.cholesky(covariance + ridge * torch.eye(len(covariance)).to(covariance))
    return root


def common_targets(codes: Sequence[Tensor]) -> Tensor:
    """Return G = sqrt(n) U W^T from the centered sum of all views' codes, Y = U S W^T: (n, k).

    Among all G with G^T G = n I it is the closest to the codes (Procrustes): uncorrelated columns of mean 0 and
    variance 1. It cannot shrink, so that codes cannot agree by being 0.
    """
    total = torch.stack(list(codes)).sum(dim=0)
    if not torch.isfinite(total).all():
        return total * math.nan
    left, _, right = torch.linalg.svd(total.double() - total.double().mean(dim=0), full_matrices=False)
    targets: Tensor = math.sqrt(len(total)) * left @ right
    return targets.to(total.dtype)
