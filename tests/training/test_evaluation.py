"""Loss terms on held-out rows, and the objective with fresh measurement networks."""

import pytest
import torch
from torch import nn

from viewsplice.config import TrainConfig
from viewsplice.model import SpliceNet
from viewsplice.networks import MLPNetworks
from viewsplice.training.evaluation import evaluate, objective
from viewsplice.training.fresh import fresh_terms
from viewsplice.training.objectives import autoencoding, disentangling, measurement

UNITS = {"A": 6.0, "B": 5.0}


@pytest.fixture
def model():
    return SpliceNet({"A": (6,), "B": (5,)}, {"A": 2, "B": 1}, {"A->B": 3, "B->A": 3}, MLPNetworks((8,)), seed=0)


@pytest.fixture
def views():
    generator = torch.Generator().manual_seed(0)
    return {"A": torch.randn(50, 6, generator=generator), "B": torch.randn(50, 5, generator=generator)}


@pytest.mark.parametrize("scale_free", [False, True])
def test_chunks_do_not_change_the_terms(model, views, monkeypatch, scale_free):
    model.scale_free = scale_free
    rows = torch.arange(3, 47)
    batch = {name: x[rows] for name, x in views.items()}
    private = model.encode_private(batch)
    expected = {
        **autoencoding(model, batch, UNITS).parts,
        **measurement(model, private, batch, UNITS).parts,
        **disentangling(model, private, UNITS, 1.0).parts,
    }
    expected = {name: value.item() for name, value in expected.items()}
    for size in (4096, 7):
        monkeypatch.setattr("viewsplice.training.evaluation.CHUNK_ROWS", size)
        assert evaluate(model, views, rows, UNITS) == pytest.approx(expected, rel=1e-4)


def test_without_trained_measurers_only_reconstruction_is_judged(model, views):
    assert set(evaluate(model, views, torch.arange(9), UNITS, with_measurers=False)) == {"rec/A", "rec/B"}
    alone = SpliceNet({"A": (6,), "B": (5,)}, {"A": 0, "B": 0}, {"A->B": 3, "B->A": 3}, MLPNetworks((8,)), seed=0)
    assert set(evaluate(alone, views, torch.arange(9), UNITS)) == {"rec/A", "rec/B"}


def test_objective_sums_what_it_should():
    terms = {"rec/A": 1.0, "rec/B": 2.0, "dis/A->B": 0.5, "pred/A->B": 9.0, "geo/A": 9.0}
    assert objective(terms, lambda_dis=4.0) == 5.0


class _Pass(nn.Module):
    """A private encoder that hands on the first features of its view."""

    def forward(self, x):
        return x[:, :2]


def test_fresh_measurers_find_what_leaks_and_nothing_else():
    generator = torch.Generator().manual_seed(1)
    shared = torch.randn(400, 2, generator=generator)
    leaky = {"A": torch.cat([shared, torch.randn(400, 1, generator=generator)], 1), "B": shared @ torch.ones(2, 3)}
    clean = {"A": torch.randn(400, 3, generator=generator), "B": leaky["B"]}
    units = {"A": 3.0, "B": leaky["B"].var(0, correction=0).sum().item()}
    model = SpliceNet({"A": (3,), "B": (3,)}, {"A": 2, "B": 0}, {"A->B": 2, "B->A": 2}, MLPNetworks((16,)), seed=0)
    model.private_encoders["A"] = _Pass()
    config = TrainConfig(batch_size=50, learning_rate=1e-2).resolve(TrainConfig.paper())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = {
        name: fresh_terms(model, views, units, config, seed=0)["dis/A->B"]
        for name, views in {"leaky": leaky, "clean": clean}.items()
    }
    assert found["leaky"] > 0.9
    assert found["clean"] < 0.05
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
