"""What each space adds, on models whose decoders use or ignore a space by construction."""

import numpy as np
import pytest
import torch
from torch import nn

from viewsplice.model import SpliceNet
from viewsplice.networks import MLPNetworks
from viewsplice.recipes.relevance import N_SHUFFLES, relevances
from viewsplice.training.alternating import TrainingData


class Columns(nn.Module):
    """Hands on some columns, weighted: as an encoder or as a decoder."""

    def __init__(self, *weights, n_columns=2):
        super().__init__()
        matrix = torch.zeros(n_columns, len(weights))
        for output, (column, weight) in enumerate(weights):
            matrix[column, output] = weight
        self.matrix = nn.Parameter(matrix)

    def forward(self, x):
        return x @ self.matrix


def make(n=400, n_validation=200, noise=0.0, width_a=1):
    """Return a model that is right by construction: A = (s, z), B = (s, noise); B is rebuilt from s alone."""
    generator = torch.Generator().manual_seed(0)
    s, z, own = (torch.randn(n, 1, generator=generator) for _ in range(3))
    views = {"A": torch.cat([s, z], 1), "B": torch.cat([s, own * noise], 1)}
    units = {name: x.var(0, correction=0).sum().item() for name, x in views.items()}
    data = TrainingData(views, torch.arange(n - n_validation), torch.arange(n - n_validation, n), units)
    model = SpliceNet({"A": (2,), "B": (2,)}, {"A": width_a, "B": 1}, {"A->B": 1, "B->A": 1}, MLPNetworks((4,)), seed=0)
    if width_a:
        model.private_encoders["A"] = Columns((1, 1.0))
    model.private_encoders["B"] = Columns((1, 1.0))
    model.shared_encoders["A->B"] = Columns((0, 1.0))
    model.shared_encoders["B->A"] = Columns((0, 1.0))
    # Decoders get the shared latent first, then the private one; that of B ignores its private latent.
    model.decoders["A"] = Columns((0, 1.0), (width_a, 1.0), n_columns=1 + width_a)
    model.decoders["B"] = Columns((0, 1.0), (0, 0.0))
    return model, data


def test_shares_are_fractions_of_variance_and_a_space_that_is_ignored_has_none():
    model, data = make(n_validation=399)
    found = relevances(model, data, seed=0)
    assert set(found) == {"A", "B", "A->B", "B->A"}
    # A has s and z in equal parts, B has s alone.
    assert found["A"].share == pytest.approx(0.5, abs=0.06)
    assert found["B->A"].share == pytest.approx(0.5, abs=0.06)
    assert found["A->B"].share == pytest.approx(1.0, abs=0.1)
    assert found["B"].share == 0.0
    for space in ("A->B", "B->A"):
        assert found[space].p_value == pytest.approx(1 / (1 + N_SHUFFLES)) == pytest.approx(0.005)
    assert found["B"].p_value == 1.0


def test_the_shares_of_a_view_add_up_to_what_is_rebuilt():
    model, data = make()
    found = relevances(model, data, seed=0)
    held_out = data.views["A"][data.validation]
    assert found["A"].share + found["B->A"].share == pytest.approx(
        held_out.var(0, correction=0).sum().item() / data.units["A"], rel=0.03
    )


def test_chance_is_chance():
    """A decoder that uses what has nothing to do with its view: p-values are spread, the share is not positive."""
    shares, p_values = [], []
    for seed in range(20):
        model, data = make(n=60, n_validation=50)
        generator = torch.Generator().manual_seed(100 + seed)
        views = {**data.views, "A": torch.randn(60, 2, generator=generator)}
        found = relevances(model, TrainingData(views, data.train, data.validation, data.units), seed=seed)["B->A"]
        shares.append(found.share)
        p_values.append(found.p_value)
    assert abs(np.mean(shares)) < 0.05
    assert 0.3 < np.mean(p_values) < 0.7
    assert sum(p <= 0.01 for p in p_values) <= 2


def test_held_out_rows_are_judged_and_training_rows_where_there_are_none():
    model, data = make(n=100, n_validation=40)
    spoiled = {name: x.clone() for name, x in data.views.items()}
    for x in spoiled.values():
        x[data.train] = 1e6
    seen = TrainingData(spoiled, data.train, data.validation, data.units)
    assert relevances(model, seen, seed=0) == relevances(model, data, seed=0)
    none = TrainingData(data.views, data.train, data.validation[:0], data.units)
    assert relevances(model, none, seed=0)["A"].share == pytest.approx(0.5, abs=0.15)
    one = TrainingData(data.views, data.train, data.validation[:1], data.units)
    assert relevances(model, one, seed=0) == relevances(model, none, seed=0)


def test_spaces_of_width_zero_are_left_out_and_the_seed_decides():
    model, data = make(width_a=0)
    found = relevances(model, data, seed=0)
    assert set(found) == {"B", "A->B", "B->A"}
    assert relevances(model, data, seed=0) == found
    assert relevances(model, data, seed=1)["B->A"].share != found["B->A"].share


def test_large_data_are_thinned(monkeypatch):
    monkeypatch.setattr("viewsplice.recipes.relevance._MOST_ROWS", 50)
    model, data = make()
    calls = []
    model.decoders["A"].register_forward_hook(lambda module, inputs, output: calls.append(len(output)))
    assert relevances(model, data, seed=0)["A"].share == pytest.approx(0.5, abs=0.15)
    assert set(calls) == {50}
