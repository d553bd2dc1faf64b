"""Whether a line predicts better: errors against closed forms, and models that are right or wrong by construction."""

import pytest
import torch
from torch import nn

from viewsplice.model import SpliceNet
from viewsplice.networks import MLPNetworks
from viewsplice.recipes import doubts
from viewsplice.recipes.prediction import check_prediction, linear_errors, shared_errors
from viewsplice.training.alternating import TrainingData


class Weighted(nn.Module):
    """Multiplies by a matrix: as an encoder or as a decoder."""

    def __init__(self, matrix):
        super().__init__()
        self.matrix = nn.Parameter(torch.tensor(matrix))

    def forward(self, x):
        return x @ self.matrix


def make(n=1200, n_validation=400, weight=1.0, noise=0.5):
    """Return A = (s, z) and B = s + noise, and a model that decodes ``weight`` times the shared latent."""
    generator = torch.Generator().manual_seed(1)
    s, z, own = (torch.randn(n, 1, generator=generator) for _ in range(3))
    views = {"A": torch.cat([s, z], 1), "B": s + noise * own}
    units = {name: x.var(0, correction=0).sum().item() for name, x in views.items()}
    data = TrainingData(views, torch.arange(n - n_validation), torch.arange(n - n_validation, n), units)
    model = SpliceNet({"A": (2,), "B": (1,)}, {"A": 1, "B": 0}, {"A->B": 1, "B->A": 1}, MLPNetworks((4,)), seed=0)
    model.private_encoders["A"] = Weighted([[0.0], [1.0]])
    model.shared_encoders["A->B"] = Weighted([[1.0], [0.0]])
    model.shared_encoders["B->A"] = Weighted([[1.0]])
    # Decoders get the shared latent first; s given B is B / (1 + noise²).
    model.decoders["A"] = Weighted([[weight / (1 + noise**2), 0.0], [0.0, 1.0]])
    model.decoders["B"] = Weighted([[weight]])
    return model, data


def check(model, data, **asked):
    return check_prediction(model, data, {"A->B": None, "B->A": 1} | asked, seed=0)


def test_the_line_is_ridge_regression_from_either_side():
    generator = torch.Generator().manual_seed(0)
    for n_features in (5, 300):  # fewer than rows, and more
        x = torch.randn(100, n_features, generator=generator)
        y = x @ torch.randn(n_features, 3, generator=generator) + torch.randn(100, 3, generator=generator)
        data = TrainingData({"A": x, "B": y}, torch.arange(60), torch.arange(60, 100), {"A": 1.0, "B": 1.0})
        found = linear_errors(data, data.validation, seed=0)["B"]
        centered, target = (x - x[:60].mean(0)).double(), (y - y[:60].mean(0)).double()
        gram = centered[:60].T @ centered[:60]
        # The mean eigenvalue is over the smaller side.
        unit = gram.trace() / min(60, n_features)
        errors = []
        for power in range(-3, 4):
            ridge = 10.0**power * unit * torch.eye(n_features, dtype=torch.float64)
            weights = torch.linalg.solve(gram + ridge, centered[:60].T @ target[:60])
            errors.append((target[60:] - centered[60:] @ weights).square().sum(1))
        best = min(errors, key=lambda error: error.mean())
        assert torch.allclose(found.double(), best, rtol=1e-4, atol=1e-4)


def test_a_prediction_is_averaged_over_private_parts_without_their_spread():
    model, data = make(n=12_000, n_validation=10_000)
    found = shared_errors(model, data.views, data.validation, seed=0)
    # What B leaves open of A: z, of variance 1, and s given B, of variance 0.2. Of B: its noise, of variance 0.25.
    assert float(found["A"].mean()) == pytest.approx(1.2, abs=0.05)
    assert float(found["B"].mean()) == pytest.approx(0.25, abs=0.02)
    again = shared_errors(model, data.views, data.validation, seed=0)
    assert torch.equal(found["A"], again["A"])


def test_a_fit_that_predicts_as_well_as_a_line_is_not_doubted():
    assert check(*make()) == {}
    assert check(*make(weight=0.8)) == {}  # a little worse


def test_a_fit_that_falls_behind_a_line_is_told():
    choices = check(*make(weight=0.2))
    assert set(choices) == {"linear/A", "linear/B"}
    note = doubts(choices)["linear/B"]
    assert note.startswith("View B: linear regression on the other view predicts 8")
    assert "this fit 2" in note
    assert note.endswith(".")


def test_a_view_that_is_asked_to_share_nothing_is_not_doubted():
    assert set(check(*make(weight=0.0), **{"A->B": 0})) == {"linear/A"}


def test_a_handful_of_held_out_rows_tells_nothing():
    model, data = make(n=419, n_validation=19, weight=0.0)
    assert check(model, data) == {}


def test_a_view_that_nothing_predicts_is_not_doubted():
    model, data = make()
    order = torch.randperm(1200, generator=torch.Generator().manual_seed(2))
    data = TrainingData({**data.views, "B": data.views["B"][order]}, data.train, data.validation, data.units)
    model.decoders["A"] = Weighted([[0.0, 0.0], [0.0, 1.0]])
    model.decoders["B"] = Weighted([[0.0]])
    assert check(model, data) == {}
