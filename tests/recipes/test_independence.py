"""Whether other views tell private latents: spaces that keep what is shared by construction, and ones that do not."""

import pytest
import torch
from torch import nn

import viewsplice.recipes.auto as recipe
from viewsplice import SPLICE, ResidualNetworks, TrainConfig
from viewsplice.model import SpliceNet
from viewsplice.networks import MLPNetworks
from viewsplice.recipes import doubts
from viewsplice.recipes.independence import check_independence
from viewsplice.recipes.problem import Choice
from viewsplice.training.alternating import TrainingData


class Columns(nn.Module):
    """Passes on some features: as an encoder."""

    def __init__(self, *columns):
        super().__init__()
        self.columns = list(columns)

    def forward(self, x):
        return x[:, self.columns]


def make(*private, n=1200, n_validation=300, n_private_of_b=0):
    """Return A = (cos t, sin t, cos 2t, own, 0) and B = (cos t, sin t), and a model whose z_A is some columns of A."""
    generator = torch.Generator().manual_seed(1)
    t, own = 6.2832 * torch.rand(n, generator=generator), torch.randn(n, generator=generator)
    ring = torch.stack([t.cos(), t.sin()], 1)
    views = {"A": torch.cat([ring, torch.stack([(2 * t).cos(), own, 0 * own], 1)], 1), "B": ring}
    data = TrainingData(views, torch.arange(n - n_validation), torch.arange(n - n_validation, n), {"A": 1.0, "B": 1.0})
    widths = {"A": len(private), "B": n_private_of_b}
    model = SpliceNet({"A": (5,), "B": (2,)}, widths, {"A->B": 2, "B->A": 2}, MLPNetworks((4,)), seed=0)
    model.private_encoders["A"] = Columns(*private)
    model.shared_encoders["A->B"] = model.shared_encoders["B->A"] = Columns(0, 1)
    return model, data


def test_what_says_nothing_of_the_mean_is_found_when_the_other_view_tells_it():
    model, data = make(2)
    choices = check_independence(model, data)
    assert choices["told/A"].value == pytest.approx(1.0, abs=0.01)
    assert choices["told/A"].is_weak
    note = doubts(choices)["told/A"]
    assert note.startswith("Private space A may not be private: B->A, which view B alone determines, tells 100% of its")
    assert note.endswith(".")


def test_all_dimensions_of_a_space_are_judged_together():
    # Half of the cosine's variance, 0.5, beside 1 of what A alone knows, and a dimension that is not used.
    value = check_independence(*make(2, 3, 4))["told/A"].value
    assert value == pytest.approx(1 / 3 - 0.1 * 2 / 3, abs=0.07)


def test_what_is_private_and_what_is_empty_is_not_doubted():
    assert check_independence(*make(3)) == {}
    assert check_independence(*make(4)) == {}
    assert check_independence(*make()) == {}


def test_private_spaces_that_know_one_another_are_told():
    model, data = make(3, n_private_of_b=1)
    data.views["B"] = torch.cat([data.views["B"], data.views["A"][:, 3:4]], 1)
    model.private_encoders["B"] = Columns(2)
    choices = check_independence(model, data)
    assert set(choices) == {"told/A", "told/B"}
    assert choices["told/A"].reason.startswith("B, which view B alone determines")
    assert choices["told/B"].reason.startswith("A, which view A alone determines")


def test_a_handful_of_rows_tells_nothing():
    assert check_independence(*make(2, n=349, n_validation=49)) == {}
    assert check_independence(*make(2, n=349, n_validation=300)) == {}
    assert "told/A" in check_independence(*make(2, n=350, n_validation=50))


@pytest.mark.filterwarnings("ignore::viewsplice.GeometryWarning")
@pytest.mark.parametrize("geometry", ["default", None])
def test_every_fit_by_the_default_recipe_says_what_was_found(two_views, monkeypatch, geometry):
    found = {"told/A": Choice(0.5, "the other view tells it", is_weak=True)}
    monkeypatch.setattr(recipe, "check_independence", lambda *_: found)
    training = TrainConfig(epochs=1, scout_epochs=1, regression_epochs=1)
    model = SPLICE(1, 1, geometry=geometry, training=training, networks=ResidualNetworks(16, 1), random_state=0)
    assert "Private space A may not be private: the other view tells it." in model.fit(*two_views).notes_
