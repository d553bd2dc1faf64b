"""Regression: encoders learn given coordinates, decoders learn to rebuild views from the same ones."""

import copy
from dataclasses import replace

import pytest
import torch

from viewsplice.config import TrainConfig
from viewsplice.model import SpliceNet
from viewsplice.networks import MLPNetworks
from viewsplice.training.alternating import TrainingData
from viewsplice.training.regression import RegressionEpoch

CONFIG = TrainConfig(epochs=60, batch_size=20, learning_rate=1e-2).resolve(TrainConfig.paper())
N = 120


def make(n_private=(1, 0)):
    """Return views that are smooth functions of a shared and a private number, and these numbers as coordinates."""
    generator = torch.Generator().manual_seed(0)
    s, z = torch.rand(N, 1, generator=generator) * 2 - 1, torch.rand(N, 1, generator=generator) * 2 - 1
    a = torch.cat([s, z, s * z, s - z], dim=1)
    b = torch.cat([s, s**2, 1 - s], dim=1)
    views = {"A": a - a.mean(0), "B": b - b.mean(0)}
    units = {name: x.var(0, correction=0).sum().item() for name, x in views.items()}
    data = TrainingData(views, torch.arange(10, N), torch.arange(10), units)
    widths = dict(zip("AB", n_private, strict=True))
    model = SpliceNet({"A": (4,), "B": (3,)}, widths, {"A->B": 1, "B->A": 1}, MLPNetworks((32,)), seed=0)
    coordinates = {"A": z[10:], "A->B": s[10:], "B->A": s[10:]}
    return model, data, coordinates


def test_encoders_and_decoders_learn_the_coordinates():
    model, data, coordinates = make()
    epoch = RegressionEpoch(model, data, CONFIG, coordinates=coordinates, seed=0)
    first = epoch(0)
    for number in range(1, CONFIG.epochs):
        last = epoch(number)
    assert set(first) == {"coordinates/A", "coordinates/A->B", "coordinates/B->A", "rec/A", "rec/B"}
    assert first["coordinates/A"] > 0.5
    assert all(last[name] < 0.02 for name in last)
    with torch.no_grad():
        latents = model.encode({name: x[data.train] for name, x in data.views.items()})
        for space, target in coordinates.items():
            error = (latents.spaces()[space] - target).square().mean() / target.var()
            assert error < 0.02
        # Held-out rows too, through their own latents: both halves meet in the same coordinates.
        held_out = {name: x[data.validation] for name, x in data.views.items()}
        rebuilt = model.decode(model.encode(held_out))
        assert ((held_out["A"] - rebuilt["A"]).square().sum(1).mean() / data.units["A"]) < 0.1


def test_one_step_by_hand():
    model, data, coordinates = make()
    config = replace(CONFIG, batch_size=N, schedule="constant")
    twin = copy.deepcopy(model)
    RegressionEpoch(model, data, config, coordinates=coordinates, seed=0)(0)
    a, b = data.views["A"][data.train], data.views["B"][data.train]
    z, s = coordinates["A"], coordinates["A->B"]
    encoders = {"A": (twin.private_encoders["A"](a), z), "A->B": (twin.shared_encoders["A->B"](a), s)}
    encoders["B->A"] = (twin.shared_encoders["B->A"](b), s)
    loss = sum(((found - t) ** 2).sum(1).mean() / t.var(0, correction=0).sum() for found, t in encoders.values())
    # Decoders see the coordinates themselves, shared ones first, and not what the encoders make of the views.
    loss = loss + ((a - twin.decoders["A"](torch.cat([s, z], 1))) ** 2).sum(1).mean() / data.units["A"]
    loss = loss + ((b - twin.decoders["B"](s)) ** 2).sum(1).mean() / data.units["B"]
    loss.backward()
    torch.optim.AdamW(twin.autoencoder_parameters(), config.learning_rate, weight_decay=config.weight_decay).step()
    for name, value in twin.state_dict().items():
        assert torch.allclose(model.state_dict()[name], value, atol=2e-5), name


def test_measurers_rest_and_the_seed_decides():
    runs = []
    for seed in (3, 3, 4):
        model, data, coordinates = make()
        before = copy.deepcopy(model.measurers.state_dict())
        epoch = RegressionEpoch(model, data, CONFIG, coordinates=coordinates, seed=seed)
        terms = [epoch(number) for number in range(2)]
        assert all(torch.equal(value, before[name]) for name, value in model.measurers.state_dict().items())
        assert all(parameter.grad is None for parameter in model.parameters())
        runs.append((terms, model.state_dict()))
    assert runs[0][0] == runs[1][0]
    assert all(torch.equal(value, runs[1][1][name]) for name, value in runs[0][1].items())
    assert runs[0][0] != runs[2][0]


def test_the_rate_follows_the_schedule(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "viewsplice.training.regression.set_learning_rate", lambda optimizer, config, epoch: seen.append(epoch)
    )
    model, data, coordinates = make()
    RegressionEpoch(model, data, replace(CONFIG, batch_size=55), coordinates=coordinates, seed=0)(3)
    assert seen == pytest.approx([3.0, 3.5])
