"""Values of the objectives, and exactly which parameters each step moves."""

import copy

import pytest
import torch

from viewsplice._types import Latents
from viewsplice.config import TrainConfig
from viewsplice.losses import geodesic_loss, latent_distances
from viewsplice.model import SpliceNet
from viewsplice.networks import MLPNetworks
from viewsplice.training.alternating import adamw, step
from viewsplice.training.objectives import (
    LandmarkBatch,
    autoencoding,
    disentangling,
    measurement,
    reconstruction,
    regression,
)

UNITS = {"A": 2.0, "B": 4.0}


@pytest.fixture
def model():
    return SpliceNet({"A": (6,), "B": (5,)}, {"A": 2, "B": 1}, {"A->B": 3, "B->A": 3}, MLPNetworks((8,)), seed=0)


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    return {"A": torch.randn(10, 6, generator=generator), "B": torch.randn(10, 5, generator=generator)}


def test_values_by_hand(model, batch):
    latents = model.encode(batch)
    rebuilt = model.decode(latents)
    rec = autoencoding(model, batch, UNITS)
    by_hand = {n: ((batch[n] - rebuilt[n]) ** 2).sum(1).mean() / UNITS[n] for n in batch}
    assert rec.parts["rec/A"].item() == pytest.approx(by_hand["A"].item(), rel=1e-5)
    assert rec.total.item() == pytest.approx(sum(v.item() for v in by_hand.values()), rel=1e-5)
    private = model.encode_private(batch)
    pred = measurement(model, private, batch, UNITS)
    x_pred = model.measurers["B->A"](private["B"])
    assert pred.parts["pred/B->A"].item() == pytest.approx(
        ((batch["A"] - x_pred) ** 2).sum(1).mean().item() / 2, rel=1e-5
    )
    dis = disentangling(model, private, UNITS, lambda_dis=3.0)
    variance = ((x_pred - x_pred.mean(0)) ** 2).mean(0).sum().item()
    assert dis.parts["dis/B->A"].item() == pytest.approx(variance / 2, rel=1e-5)
    assert dis.total.item() == pytest.approx(3 * sum(v.item() for v in dis.parts.values()), rel=1e-5)


def test_geometry_is_added_for_the_rows_before_the_landmarks(model, batch):
    d_geo = {"A": torch.ones(7, 3), "B->A": torch.full((7, 3), 2.0)}
    terms = autoencoding(model, batch, UNITS, LandmarkBatch(3, d_geo, lambda_geo=0.5))
    rows = {name: x[:7] for name, x in batch.items()}
    plain = autoencoding(model, rows, UNITS)
    z = model.encode(batch).spaces()
    geo = {s: geodesic_loss(latent_distances(z[s][:7], z[s][7:]), d).item() for s, d in d_geo.items()}
    assert terms.parts["rec/A"].item() == pytest.approx(plain.parts["rec/A"].item(), rel=1e-5)
    assert {n: v.item() for n, v in terms.parts.items() if n.startswith("geo")} == pytest.approx(
        {f"geo/{s}": v for s, v in geo.items()}, rel=1e-5
    )
    assert terms.total.item() == pytest.approx(plain.total.item() + 0.5 * sum(geo.values()), rel=1e-5)


def test_dimensions_without_geometry_rest(model, batch):
    """Distances are those of the leading dimensions; of the others the distance from the origin counts."""
    d_geo = {"A": torch.ones(7, 3), "B->A": torch.full((7, 3), 2.0)}
    marks = LandmarkBatch(3, d_geo, lambda_geo=0.5, leading={"B->A": 1})
    z = model.encode(batch).spaces()
    terms = autoencoding(model, batch, UNITS, marks)
    led = geodesic_loss(latent_distances(z["B->A"][:7, :1], z["B->A"][7:, :1]), d_geo["B->A"]).item()
    rest = z["B->A"][:7, 1:].square().sum(dim=1).mean().sqrt().item()
    assert z["B->A"].shape[1] > 1
    assert rest > 0
    assert terms.parts["geo/B->A"].item() == pytest.approx(led, rel=1e-5)
    assert terms.parts["rest/B->A"].item() == pytest.approx(rest, rel=1e-5)
    assert "rest/A" not in terms.parts
    own = {name: value.item() for name, value in terms.parts.items() if name.startswith(("geo", "rest"))}
    plain = autoencoding(model, {name: x[:7] for name, x in batch.items()}, UNITS)
    assert terms.total.item() == pytest.approx(plain.total.item() + 0.5 * sum(own.values()), rel=1e-5)


def test_disentangling_in_the_same_step_is_the_sum_of_both(model, batch):
    marks = LandmarkBatch(3, {"A": torch.ones(7, 3)}, lambda_geo=0.5)
    rows = {name: x[:7] for name, x in batch.items()}
    for landmarks, seen in ((None, batch), (marks, rows)):
        joint = autoencoding(model, batch, UNITS, landmarks, lambda_dis=3.0)
        alone = autoencoding(model, batch, UNITS, landmarks)
        dis = disentangling(model, model.encode_private(seen), UNITS, 3.0)
        assert set(joint.parts) == {*alone.parts, *dis.parts}
        assert joint.total.item() == pytest.approx(alone.total.item() + dis.total.item(), rel=1e-5)
        # Landmark rows take no part in disentangling.
        assert joint.parts["dis/B->A"].item() == pytest.approx(dis.parts["dis/B->A"].item(), rel=1e-5)
        parameters = model.autoencoder_parameters()
        gradients = [torch.autograd.grad(t.total, parameters, allow_unused=True) for t in (joint, alone, dis)]
        for total, first, second in zip(*gradients, strict=True):
            expected = first if second is None else first + second
            assert torch.allclose(total, expected, atol=1e-5)


def test_reconstruction_of_given_latents_is_of_the_leading_rows(model, batch):
    latents = model.encode(batch)[:4]
    terms = reconstruction(model, latents, batch, UNITS)
    rebuilt = model.decode_view("B", latents)
    expected = ((batch["B"][:4] - rebuilt) ** 2).sum(1).mean().item() / 4
    assert terms.parts["rec/B"].item() == pytest.approx(expected, rel=1e-5)
    assert set(terms.parts) == {"rec/A", "rec/B"}


def test_regression_is_in_fractions_of_the_targets_variance(model, batch):
    latents = model.encode(batch)
    target = torch.randn(10, 2, generator=torch.Generator().manual_seed(1)) * 7 + 3
    terms = regression(latents, {"A": target})
    total = ((target - target.mean(0)) ** 2).sum(1).mean()
    expected = ((latents.private["A"] - target) ** 2).sum(1).mean() / total
    assert terms.parts["coordinates/A"].item() == pytest.approx(expected.item(), rel=1e-5)
    centered = Latents(private={"A": target.mean(0).expand(10, 2)}, shared={})
    assert regression(centered, {"A": target}).total.item() == pytest.approx(1.0, rel=1e-5)
    exact = Latents(private={"A": target}, shared={"A->B": torch.zeros(10, 3)})
    both = regression(exact, {"A": target, "A->B": torch.zeros(10, 3)})
    assert both.total.item() == 0.0  # a space without extent is at the origin, and no division by zero


def kinds(names):
    return {name.split(".")[0] for name in names}


def test_gradient_routing_is_exact(model, batch):
    """Each objective gives gradients to exactly the parameters it is meant for, and its step moves exactly those."""
    config = TrainConfig.paper()
    fixed = {name: z.detach() for name, z in model.encode_private(batch).items()}
    autoencoder, private, measurers = (
        model.autoencoder_parameters(),
        model.private_parameters(),
        model.measurement_parameters(),
    )
    cases = [
        (
            lambda: autoencoding(model, batch, UNITS),
            autoencoder,
            autoencoder,
            {"private_encoders", "shared_encoders", "decoders"},
        ),
        (
            lambda: disentangling(model, model.encode_private(batch), UNITS, 1.0),
            autoencoder,
            private,
            {"private_encoders"},
        ),
        (lambda: measurement(model, fixed, batch, UNITS), measurers, measurers, {"measurers"}),
    ]
    for objective, optimized, parameters, expected in cases:
        objective().total.backward(inputs=parameters)
        given = {id(p) for p in model.parameters() if p.grad is not None}
        assert given == {id(p) for p in parameters}
        model.zero_grad(set_to_none=True)
        before = copy.deepcopy(model.state_dict())
        step(adamw(optimized, config), objective(), parameters)
        assert kinds(n for n, v in model.state_dict().items() if not torch.equal(v, before[n])) == expected
        assert all(p.grad is None for p in model.parameters())
