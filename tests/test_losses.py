"""Loss values worked out by hand."""

import math

import pytest
import torch

from viewsplice.losses import extent, geodesic_loss, latent_distances, predictability, squared_error


def test_squared_error_by_hand():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x_hat = torch.tensor([[1.0, 0.0], [0.0, 4.0]])
    # Row errors 4 and 9, mean 6.5, unit 2.
    assert squared_error(x, x_hat, unit=2.0).item() == pytest.approx(3.25)


def test_predicting_the_mean_scores_one_in_units_of_total_variance():
    x = torch.tensor([[0.0, 0.0], [2.0, 6.0]])
    total_variance = 1.0 + 9.0
    assert squared_error(x, x.mean(dim=0).expand(2, 2), total_variance).item() == pytest.approx(1.0)
    assert predictability(x, total_variance).item() == pytest.approx(1.0)


def test_predictability_by_hand():
    x_pred = torch.tensor([[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]])
    # Population variances 8/3 and 0.
    assert predictability(x_pred, unit=2.0).item() == pytest.approx(4 / 3)


def test_a_constant_predictor_is_not_predictable():
    assert predictability(torch.full((7, 3), 2.5), unit=1.0).item() == 0.0


def test_geodesic_loss_by_hand():
    d_latent = torch.tensor([[3.0, 4.0]])
    d_geo = torch.tensor([[0.0, 0.0]])
    assert geodesic_loss(d_latent, d_geo).item() == pytest.approx(math.sqrt(12.5))


def test_geodesic_loss_is_zero_with_a_finite_gradient_at_the_optimum():
    z = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    loss = geodesic_loss(latent_distances(z, z), torch.tensor([[0.0, 5.0], [5.0, 0.0]]))
    loss.backward()
    assert loss.item() == pytest.approx(0.0, abs=1e-6)
    assert torch.isfinite(z.grad).all()


def test_gradient_is_finite_where_a_row_is_its_own_landmark():
    z = torch.tensor([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]], requires_grad=True)
    geodesic_loss(latent_distances(z, z), torch.ones(3, 3)).backward()
    assert torch.isfinite(z.grad).all()
    assert z.grad.abs().sum() > 0


def test_geodesic_loss_ignores_rotation_reflection_and_shift():
    generator = torch.Generator().manual_seed(0)
    z, landmarks = torch.randn(20, 3, generator=generator), torch.randn(5, 3, generator=generator)
    d_geo = torch.rand(20, 5, generator=generator)
    turn, _ = torch.linalg.qr(torch.randn(3, 3, generator=generator))
    mirror = turn @ torch.diag(torch.tensor([-1.0, 1.0, 1.0]))
    before = geodesic_loss(latent_distances(z, landmarks), d_geo)
    for move in (turn, mirror):
        after = geodesic_loss(latent_distances(z @ move + 7, landmarks @ move + 7), d_geo)
        assert after.item() == pytest.approx(before.item(), rel=1e-4)
    stretched = geodesic_loss(latent_distances(2 * z, 2 * landmarks), d_geo)
    assert abs(stretched.item() - before.item()) > 0.1


def test_extent_by_hand():
    assert extent(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).item() == pytest.approx(math.sqrt(12.5))
    z = torch.zeros(3, 2, requires_grad=True)
    extent(z).backward()
    assert z.grad.tolist() == [[0.0, 0.0]] * 3  # what is empty stays so
    near = torch.full((3, 2), 1e-6, requires_grad=True)
    extent(near).backward()
    assert near.grad.abs().sum() > 0.5, "the pull does not fade near 0"
