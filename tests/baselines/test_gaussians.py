"""Posteriors against torch.distributions, numerical integrals, and a Gaussian toy with every term in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from viewsplice.baselines.gaussians import (
    Densities,
    Gaussian,
    decomposed_divergence,
    divergence,
    log_densities,
    product_of_experts,
)


def some(n: int = 6, width: int = 3, seed: int = 0) -> Gaussian:
    generator = torch.Generator().manual_seed(seed)
    return Gaussian(torch.randn(n, width, generator=generator), torch.rand(n, width, generator=generator) + 0.1)


def parts(z: torch.Tensor, q: Gaussian, n_rows: int) -> tuple[torch.Tensor, ...]:
    return decomposed_divergence([Densities.of(z, q, n_rows)], n_rows)


def noise(*shape: int, seed: int = 9) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_outputs_are_means_and_logarithms_of_variances() -> None:
    q = Gaussian.from_outputs(torch.tensor([[2.0]]), torch.tensor([[math.log(0.25)]]))
    assert (q.mean.item(), q.variance.item()) == pytest.approx((2.0, 0.25))
    assert q.sample(torch.tensor([[-2.0]])).item() == pytest.approx(1.0)
    certain = Gaussian.from_outputs(torch.zeros(1, 1), torch.full((1, 1), -200.0))
    assert math.isfinite(divergence(certain).item())


def test_divergence_is_that_of_torch() -> None:
    q = some()
    expected = kl_divergence(Normal(q.mean, q.variance.sqrt()), Normal(0.0, 1.0)).sum(dim=1).mean()
    assert divergence(q).item() == pytest.approx(expected.item(), abs=1e-6)
    assert divergence(Gaussian(torch.zeros(4, 2), torch.ones(4, 2))).item() == 0


def test_the_product_of_experts_is_the_product_of_densities() -> None:
    experts = [some(1, 1, seed) for seed in range(3)]
    x = torch.linspace(-8, 8, 20_001)
    density = torch.exp(Normal(0.0, 1.0).log_prob(x))
    for expert in experts:
        density = density * torch.exp(Normal(expert.mean[0, 0], expert.variance[0, 0].sqrt()).log_prob(x))
    density = density / density.sum()
    mean = (x * density).sum()
    variance = ((x - mean) ** 2 * density).sum()
    found = product_of_experts(experts)
    assert found.mean.item() == pytest.approx(mean.item(), abs=1e-4)
    assert found.variance.item() == pytest.approx(variance.item(), abs=1e-4)
    # Two experts that know nothing leave the prior.
    vague = Gaussian(torch.full((1, 1), 5.0), torch.full((1, 1), 1e8))
    assert product_of_experts([vague, vague]).variance.item() == pytest.approx(1, abs=1e-6)


def test_densities_are_of_every_sample_under_every_posterior() -> None:
    q, z = some(), noise(6, 3)
    found = log_densities(z, q)
    assert found.shape == (3, 6, 6)
    for i, j, d in np.ndindex(6, 6, 3):
        expected = Normal(q.mean[j, d], q.variance[j, d].sqrt()).log_prob(z[i, d])
        assert found[d, i, j].item() == pytest.approx(expected.item(), abs=1e-5)


@pytest.mark.parametrize("n_rows", [6, 1000])
def test_the_parts_add_up_to_the_one_sample_divergence(n_rows: int) -> None:
    q = some()
    z = q.sample(noise(6, 3))
    whole = Normal(q.mean, q.variance.sqrt()).log_prob(z).sum(dim=1) - Normal(0.0, 1.0).log_prob(z).sum(dim=1)
    assert (sum(parts(z, q, n_rows))).item() == pytest.approx(whole.mean().item(), abs=1e-5)


def test_the_parts_of_a_gaussian_toy_have_their_analytic_values() -> None:
    # Means are N(0, [[1, c], [c, 1]]), variances v: then q(z) is N(0, [[1 + v, c], [c, 1 + v]]).
    n, c, v = 2000, 0.8, 0.2
    rng = np.random.default_rng(0)
    means = torch.from_numpy(rng.multivariate_normal([0, 0], [[1, c], [c, 1]], size=n))
    q = Gaussian(means, torch.full((n, 2), v, dtype=torch.float64))
    z = q.sample(torch.from_numpy(rng.normal(size=(n, 2))))
    information, correlation, dimensions = (part.item() for part in parts(z, q, n))
    determinant = (1 + v) ** 2 - c**2
    assert information == pytest.approx(0.5 * math.log(determinant / v**2), abs=0.06)
    assert correlation == pytest.approx(0.5 * math.log((1 + v) ** 2 / determinant), abs=0.04)
    assert dimensions == pytest.approx(2 * 0.5 * (1 + v - 1 - math.log(1 + v)), abs=0.03)
    # Together they are the plain divergence, of which one sample per row is an estimate.
    assert information + correlation + dimensions == pytest.approx(divergence(q).item(), abs=0.1)


def test_a_batch_counts_the_own_posterior_as_one_of_all_rows() -> None:
    # Posteriors that do not overlap: a sample's own one is all of q(z), 1 of n_rows, and its row is known exactly.
    n, n_rows = 50, 10_000
    q = Gaussian(1000.0 * torch.arange(n)[:, None], torch.ones(n, 1))
    information = parts(q.sample(noise(n, 1)), q, n_rows)[0].item()
    assert information == pytest.approx(math.log(n_rows), abs=0.03)


def test_densities_that_underflow_stay_finite_with_their_gradients() -> None:
    mean = (1e3 * torch.arange(8.0)[:, None]).requires_grad_()
    q = Gaussian(mean, torch.full((8, 1), 1e-6))
    found = parts(q.sample(noise(8, 1)), q, 100)
    sum(found).backward()
    assert all(math.isfinite(part.item()) for part in found)
    assert torch.isfinite(mean.grad).all()


@pytest.mark.parametrize("width", [0, 1])
def test_independent_codes_are_one_code_side_by_side(width: int) -> None:
    first, second = some(6, 2), some(6, width, seed=1)
    z, w = first.sample(noise(6, 2)), second.sample(noise(6, width, seed=4))
    joined = Gaussian(torch.cat([first.mean, second.mean], 1), torch.cat([first.variance, second.variance], 1))
    found = decomposed_divergence([Densities.of(z, first, 50), Densities.of(w, second, 50)], 50)
    for ours, expected in zip(found, parts(torch.cat([z, w], 1), joined, 50), strict=True):
        assert ours.item() == pytest.approx(expected.item(), abs=1e-5)
