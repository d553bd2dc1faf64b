"""The correlation objective against linear CCA, formulas, finite differences, and inputs that break decompositions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from viewsplice.baselines import canonical_axes
from viewsplice.baselines.correlation import common_targets, total_correlation


def outputs(n: int = 60, k1: int = 4, k2: int = 3, seed: int = 0) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 3))
    first = common @ rng.normal(size=(3, k1)) + rng.normal(size=(n, k1)) + 5
    second = common @ rng.normal(size=(3, k2)) + 0.5 * rng.normal(size=(n, k2)) - 2
    return torch.from_numpy(first), torch.from_numpy(second)


def orthonormal(n: int, k: int, seed: int = 0) -> Tensor:
    """Return centered columns that are uncorrelated and of variance 1: all eigenvalues are equal."""
    x = np.random.default_rng(seed).normal(size=(n, k))
    return torch.from_numpy(np.linalg.qr(x - x.mean(axis=0))[0] * math.sqrt(n - 1))


def gradients(first: Tensor, second: Tensor, r: float = 1e-3) -> tuple[float, list[Tensor]]:
    first, second = (x.clone().requires_grad_() for x in (first, second))
    value = total_correlation(first, second, r)
    value.backward()
    return value.item(), [first.grad, second.grad]


@pytest.mark.parametrize(("k1", "k2"), [(4, 3), (3, 5), (1, 1), (6, 6)])
def test_it_is_the_sum_of_the_canonical_correlations(k1: int, k2: int) -> None:
    first, second = outputs(k1=k1, k2=k2)
    expected = canonical_axes(first.numpy(), second.numpy()).correlations.sum()
    assert total_correlation(first, second, 1e-12).item() == pytest.approx(expected, abs=1e-6)
    # Correlation knows neither means nor units nor invertible mixtures.
    mixed = first @ torch.randn(k1, k1, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 100 - 7
    assert total_correlation(mixed, second, 1e-12).item() == pytest.approx(expected, abs=1e-6)


def test_regularization_is_that_of_the_formula_and_the_norm_is_the_trace_norm() -> None:
    first, second = outputs()
    r = 0.4
    covariance = np.cov(np.hstack([first, second]).T)
    s11, s12, s22 = covariance[:4, :4] + r * np.eye(4), covariance[:4, 4:], covariance[4:, 4:] + r * np.eye(3)
    roots = [(axes / np.sqrt(values)) @ axes.T for values, axes in map(np.linalg.eigh, (s11, s22))]
    t = roots[0] @ s12 @ roots[1]
    assert total_correlation(first, second, r).item() == pytest.approx(np.linalg.norm(t, "nuc"), abs=1e-7)
    # sqrt(trace(T^T T)) is another norm, sometimes mistaken for it.
    assert np.linalg.norm(t, "nuc") > 1.1 * np.linalg.norm(t)


def test_the_gradient_agrees_with_finite_differences() -> None:
    for r in (1e-3, 0.1):
        pair = [x.clone().requires_grad_() for x in outputs(n=20)]
        assert torch.autograd.gradcheck(lambda a, b, r=r: total_correlation(a, b, r), pair, atol=1e-6)


def test_repeated_eigenvalues_have_the_same_exact_gradient() -> None:
    first = orthonormal(20, 4)
    turn = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))[0]
    for second in (first.clone(), first @ turn, first + 0.3 * orthonormal(20, 4, seed=1)):
        pair = [x.clone().requires_grad_() for x in (first, second)]
        assert torch.autograd.gradcheck(lambda a, b: total_correlation(a, b, 1e-2), pair, atol=1e-6)
    value, slopes = gradients(first, first, r=1e-4)
    assert value == pytest.approx(4, abs=1e-3)
    assert all(torch.isfinite(slope).all() for slope in slopes)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (torch.ones(20, 3), torch.ones(20, 3)),
        (torch.zeros(20, 3), outputs(20)[1]),
        (torch.cat([torch.full((20, 1), 7.0), torch.randn(20, 2, generator=torch.Generator().manual_seed(0))], 1),) * 2,
        (outputs(3, 5, 5)[0], outputs(3, 5, 5)[1]),
        (outputs(2, 5, 5)[0], outputs(2, 5, 5)[1]),
        (outputs(20)[0][:, [0, 0, 0]] * 1e8, outputs(20)[1] * 1e-8),
        (outputs(20)[0].float() * 1e12, outputs(20)[1].float()),
    ],
    ids=["constant", "half constant", "one constant column", "three rows", "two rows", "copies at odd scales", "huge"],
)
def test_it_stays_finite_where_others_do_not(first: Tensor, second: Tensor) -> None:
    value, slopes = gradients(first, second)
    assert -1e-6 <= value <= min(first.shape[1], second.shape[1]) + 1e-6
    assert all(torch.isfinite(slope).all() for slope in slopes)


def test_constant_outputs_do_not_correlate_and_few_rows_always_do() -> None:
    constant = torch.ones(20, 3)
    assert total_correlation(constant, outputs(20)[1].float(), 1e-3).item() == 0
    rng = np.random.default_rng(0)
    a, b = (torch.from_numpy(rng.normal(size=(5, 6))) for _ in range(2))
    assert total_correlation(a, b, 1e-9).item() == pytest.approx(4, abs=1e-3)


def test_a_large_regularization_crushes_small_outputs() -> None:
    first, second = outputs(200)
    values = [total_correlation(scale * first, scale * second, 1e-3).item() for scale in (1.0, 1e-1, 1e-2, 1e-3)]
    assert values == sorted(values, reverse=True)
    assert values[0] > 2
    assert values[-1] < 0.1


def test_non_finite_outputs_give_nan_instead_of_an_error() -> None:
    first, second = (x.float() for x in outputs(20))
    for value in (math.nan, math.inf):
        spoilt = first.clone()
        spoilt[3, 1] = value
        assert math.isnan(total_correlation(spoilt, second, 1e-3))
        assert math.isnan(total_correlation(second, spoilt, 1e-3))
        assert torch.isnan(common_targets([spoilt, spoilt])).any()


def test_single_precision_is_enough_for_the_caller() -> None:
    first, second = outputs(500)
    exact = total_correlation(first, second, 1e-4).item()
    single = total_correlation(first.float(), second.float(), 1e-4)
    assert single.dtype == torch.float32
    assert single.item() == pytest.approx(exact, abs=1e-5)


# Common targets


def test_targets_are_white_and_the_closest_white_points() -> None:
    first, second = outputs(80, 3, 3)
    targets = common_targets([first, second])
    assert torch.allclose(targets.mean(dim=0), torch.zeros(3, dtype=torch.float64), atol=1e-12)
    assert torch.allclose(targets.T @ targets, 80 * torch.eye(3, dtype=torch.float64), atol=1e-9)

    def distance(g: Tensor) -> float:
        return (sum(((x - x.mean(dim=0) - g) ** 2).sum() for x in (first, second))).item()

    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        turn = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64, generator=generator))[0]
        assert distance(targets) <= distance(targets @ turn)
        nearby = torch.linalg.qr(targets + 0.1 * torch.randn(80, 3, dtype=torch.float64, generator=generator))[0]
        white = nearby @ torch.linalg.svd(nearby.T @ targets)[0] @ torch.linalg.svd(nearby.T @ targets)[2] * 80**0.5
        assert distance(targets) <= distance(white)


def test_targets_do_not_follow_codes_that_collapse() -> None:
    first, second = (1e-4 * x for x in outputs(80, 3, 3))
    targets = common_targets([first, second])
    assert targets.square().mean().item() == pytest.approx(1)
    for codes in ([torch.zeros(30, 4)] * 2, [torch.ones(30, 1) @ torch.ones(1, 4)] * 2):
        found = common_targets(codes)
        assert torch.isfinite(found).all()
        assert ((found - codes[0]).square().mean()).item() > 0.9
