"""Mixed precision: where it is used, what stays exact, and that rounding does not change where training goes."""

from dataclasses import replace

import pytest
import torch

from viewsplice._random import forked_rng
from viewsplice.config import TrainConfig
from viewsplice.model import SpliceNet
from viewsplice.networks import ResidualNetworks
from viewsplice.networks.residual import FourierFeatures
from viewsplice.training import precision
from viewsplice.training.alternating import AlternatingEpoch, TrainingData
from viewsplice.training.precision import mixed_precision

CONFIG = TrainConfig(epochs=4, batch_size=256, learning_rate=2e-3, precision="float32").resolve(TrainConfig.paper())
CPU = torch.device("cpu")


def is_mixed(config):
    with mixed_precision(config, CPU):
        return (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("chosen", "batch_size", "has", "expected"),
    [
        ("float32", 512, True, False),
        ("bfloat16", 8, False, True),
        ("auto", 256, True, True),
        ("auto", 255, True, False),
        ("auto", 512, False, False),
    ],
)
def test_where_it_is_used(monkeypatch, chosen, batch_size, has, expected):
    monkeypatch.setattr(precision, "_has_bfloat16", lambda device: has)
    assert is_mixed(replace(CONFIG, precision=chosen, batch_size=batch_size)) is expected


def test_the_papers_recipe_is_never_mixed():
    assert TrainConfig.paper().precision == "float32"


def make(seed=0):
    generator = torch.Generator().manual_seed(seed)
    s, a, b = (torch.randn(2048, 2, generator=generator) for _ in range(3))
    maps = [torch.randn(4, 20, generator=generator) / 2 for _ in range(2)]
    views = {"A": torch.cat([s, a], 1) @ maps[0], "B": torch.cat([s, b], 1) @ maps[1]}
    units = {name: float(x.var(dim=0).sum()) for name, x in views.items()}
    networks = ResidualNetworks(32, 1, n_frequencies=8, gated=True)
    widths = {"A": 2, "B": 2}, {"A->B": 2, "B->A": 2}
    model = SpliceNet(dict.fromkeys("AB", (20,)), *widths, networks, seed=0, scale_free=True)
    return model, TrainingData(views, torch.arange(2048), torch.arange(0), units)


def test_latents_and_views_stay_float32():
    model, data = make()
    with mixed_precision(replace(CONFIG, precision="bfloat16"), CPU):
        latents = model.encode(data.views)
        others = [*model.decode(latents).values(), *model.measure(latents.private).values()]
    assert {x.dtype for x in (*latents.spaces().values(), *others)} == {torch.float32}
    exact = model.encode(data.views).spaces()
    for name, z in latents.spaces().items():
        error = (z - exact[name]).square().mean() / exact[name].var()
        assert 0 < error < 1e-3


def test_phases_are_not_rounded():
    with forked_rng(0, "phases"):
        features, z = FourierFeatures([2], 16, 50.0), torch.randn(64, 2)
    with mixed_precision(replace(CONFIG, precision="bfloat16"), CPU):
        rounded = features(z)
    assert torch.equal(rounded, features(z))


def test_training_ends_where_it_would_in_full_precision():
    ends = {}
    for chosen in ("float32", "bfloat16"):
        model, data = make()
        train = AlternatingEpoch(model, data, replace(CONFIG, precision=chosen), lambda_dis=1.0, seed=0)
        for epoch in range(4):
            ends[chosen] = train(epoch)
        assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
    assert ends["bfloat16"] != ends["float32"]
    assert ends["bfloat16"] == pytest.approx(ends["float32"], rel=0.05, abs=0.01)
