"""Diagonal Gaussian posteriors: product of experts, densities, and the divergence from N(0, I) in three parts.

With q(z | x) the posterior of one row and q(z) the mean of the posteriors of all rows,

    KL(q(z | x) || N(0, I)) = E[log q(z | x) - log q(z)]              information of the code about the row
                            + E[log q(z) - sum_d log q(z_d)]          total correlation of the code's dimensions
                            + E[sum_d log q(z_d) - log p(z)]          how far each dimension is from normal

which `decomposed_divergence` estimates from one sample per row of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_LOG_2PI = math.log(2 * math.pi)
# Added to variances, so that a posterior that knows a row exactly still has a density.
_LEAST_VARIANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Independent normal posteriors, one row each.

    Attributes
    ----------
    mean, variance
        (n, width).
    """

    mean: Tensor
    variance: Tensor

    @classmethod
    def from_outputs(cls, mean: Tensor, log_variance: Tensor) -> Gaussian:
        """Return the posteriors that a network describes by mean and logarithm of variance."""
        return cls(mean, log_variance.exp() + _LEAST_VARIANCE)

    def sample(self, noise: Tensor) -> Tensor:
        """Return one sample per row from standard normal noise (n, width), differentiable in mean and variance."""
        return self.mean + self.variance.sqrt() * noise


def product_of_experts(experts: Sequence[Gaussian]) -> Gaussian:
    """Return the normalized product of all experts and N(0, I): precisions add, means are weighted by them."""
    precision = torch.stack([1 / expert.variance for expert in experts]).sum(dim=0) + 1
    weighted = torch.stack([expert.mean / expert.variance for expert in experts]).sum(dim=0)
    return Gaussian(weighted / precision, 1 / precision)


def divergence(posterior: Gaussian) -> Tensor:
    """Return KL(q || N(0, I)) in closed form, summed over dimensions, mean over rows."""
    mean, variance = posterior.mean, posterior.variance
    return 0.5 * (mean.square() + variance - 1 - variance.log()).sum(dim=1).mean()


def log_densities(z: Tensor, posterior: Gaussian) -> Tensor:
    """Return log q(z_id | x_j) of every sample under every row's posterior, by dimension: (width, i, j)."""
    mean, variance = posterior.mean.T[:, None, :], posterior.variance.T[:, None, :]
    return -0.5 * ((z.T[:, :, None] - mean).square() / variance + (variance.log() + _LOG_2PI))


@dataclass(frozen=True, eq=False)
class Densities:
    """Log densities of samples (n, width) of one code; those of independent codes add up.

    Attributes
    ----------
    own, prior
        log q(z | x) under the own row's posterior, and log p(z) under N(0, I), (n,).
    pairs
        log q(z_i | x_j), (n, n).
    by_dimension
        sum_d log q(z_d), (n,).
    """

    own: Tensor
    prior: Tensor
    pairs: Tensor
    by_dimension: Tensor

    @classmethod
    def of(cls, z: Tensor, posterior: Gaussian, n_rows: int) -> Densities:
        """Return the densities of one sample per row of a batch, one of ``n_rows`` rows."""
        each = log_densities(z, posterior)
        return cls(
            own=each.diagonal(dim1=1, dim2=2).sum(dim=0),
            prior=-0.5 * (z.square() + _LOG_2PI).sum(dim=1),
            pairs=each.sum(dim=0),
            by_dimension=_aggregate(each, n_rows).sum(dim=0),
        )


def decomposed_divergence(codes: Sequence[Densities], n_rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the three parts of the divergence (above) of independent codes, means over a batch.

    The parts add up to the mean of log q(z | x) - log p(z), whatever q(z).
    """
    own, prior, by_dimension = (
        torch.stack([getattr(code, name) for code in codes]).sum(dim=0) for name in ("own", "prior", "by_dimension")
    )
    joint = _aggregate(torch.stack([code.pairs for code in codes]).sum(dim=0), n_rows)
    return (own - joint).mean(), (joint - by_dimension).mean(), (by_dimension - prior).mean()


def _aggregate(pairs: Tensor, n_rows: int) -> Tensor:
    """Return log q(z_i), the mean over a batch of the densities log q(z_i | x_j), (..., n, n) -> (..., n).

    A sample's own posterior, 1 of ``n_rows``, is in every batch that has the sample, and counts for
    (n - 1) / (n_rows - 1) in return.
    """
    n = pairs.shape[-1]
    own = torch.eye(n).to(pairs) * math.log((n_rows - 1) / (n - 1))
    return torch.logsumexp(pairs - own, dim=-1) - math.log(n)
