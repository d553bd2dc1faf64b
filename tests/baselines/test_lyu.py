"""Lyu's objective by hand, who climbs and who descends, and whether the adversary lives."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from viewsplice import MLPNetworks, TrainConfig
from viewsplice.baselines import AdversaryConfig, Lyu
from viewsplice.baselines.adversary import absolute_correlation, fresh_correlation, new_adversary, reversed_gradient
from viewsplice.baselines.coders import Coders
from viewsplice.baselines.correlation import common_targets
from viewsplice.baselines.lyu_objective import LyuObjective
from viewsplice.baselines.minibatches import MinibatchEpoch, Task
from viewsplice.training.alternating import TrainingData

Pair = tuple[NDArray[np.float64], ...]
POSITIONS = torch.tensor([3, 1, 7, 20, 12, 5, 9, 11])


def columns(n: int = 500, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, generator=generator), torch.randn(n, generator=generator)


def task(loss_scale: Any = "fraction", n_private: tuple[int, int] = (0, 2), epochs: int = 20) -> Task:
    generator = torch.Generator().manual_seed(0)
    views = {"A": torch.randn(60, 5, generator=generator), "B": torch.randn(60, 3, generator=generator)}
    # The units of views whose scale is 2 and 0.5.
    units = {"A": 5.0, "B": 3.0} if loss_scale == "fraction" else {"A": 5 / 4, "B": 3 / 0.25}
    data = TrainingData(views, torch.arange(40), torch.arange(40, 60), units)
    widths = dict(zip("AB", n_private, strict=True))
    outputs = {name: 2 + width for name, width in widths.items()}
    net = Coders({"A": (5,), "B": (3,)}, outputs, {n: [2, w] for n, w in widths.items()}, MLPNetworks((8,)), 0)
    config = TrainConfig(epochs=epochs, batch_size=10, loss_scale=loss_scale).resolve(TrainConfig.paper())
    return Task(net, data, config, 2, widths, {"A": 5, "B": 3}, 0)


def objective(given: Task, **changes: Any) -> LyuObjective:
    adversary = AdversaryConfig(hidden=(8,), rows=0, n_steps=1, fresh_steps=10)
    settings: dict[str, Any] = {"lambda_rec": 0.5, "lambda_dis": 3.0, "adversary": adversary, "refresh_every": 1}
    return LyuObjective(given, **{**settings, **changes})


# Correlation and its adversaries


def test_correlation_is_pearsons_and_safe() -> None:
    a, b = columns()
    b = 0.5 * a - b
    expected = abs(np.corrcoef(a, b)[0, 1])
    assert absolute_correlation(a, b).item() == pytest.approx(expected, abs=1e-5)
    assert absolute_correlation(-100 * a + 3, b).item() == pytest.approx(expected, abs=1e-5)
    for constant in (torch.zeros(500), torch.full((500,), 7.0)):
        x = constant.clone().requires_grad_()
        value = absolute_correlation(x, b)
        value.backward()
        assert value.item() == 0
        assert torch.isfinite(x.grad).all()


def test_reversal_changes_the_sign_of_gradients_only() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = reversed_gradient(x)
    assert torch.equal(y, x)
    (y * torch.tensor([3.0, 5.0])).sum().backward()
    assert torch.equal(x.grad, torch.tensor([-3.0, -5.0]))


def test_fresh_adversaries_find_what_is_there_and_nothing_else() -> None:
    s, noise = columns(2000)
    together = torch.stack([s.square(), noise], dim=1)
    config = AdversaryConfig()
    assert fresh_correlation(s[:, None], together, config, seed=0) > 0.9
    assert fresh_correlation(1e-3 * s[:, None], 1e3 * together, config, seed=0) > 0.9
    assert fresh_correlation(s[:, None], noise[:, None], config, seed=0) < 0.12
    constant = fresh_correlation(s[:, None], torch.zeros(2000, 1), config, seed=0)
    assert constant == pytest.approx(0, abs=1e-9)  # the rounding of a matrix product differs from machine to machine


# The objective by hand


@pytest.mark.parametrize("loss_scale", ["fraction", "mean"])
def test_terms_by_hand(loss_scale: Any) -> None:
    given = task(loss_scale)
    found = objective(given)
    found.begin(0)
    terms = found.terms(POSITIONS)
    x = {name: view[POSITIONS] for name, view in given.data.views.items()}
    out = {name: given.net.encoders[name](rows) for name, rows in x.items()}
    everything = [given.net.encoders[name](given.data.views[name][:40])[:, :2] for name in "AB"]
    u = common_targets(everything)[POSITIONS]
    matching = [((out[name][:, :2] - u) ** 2).sum(1).mean() for name in "AB"]
    errors = [((given.net.decoders[name](out[name]) - x[name]) ** 2).sum(1).mean() for name in "AB"]
    correlation = given.net.adversaries["B"](out["B"][:, :2], out["B"][:, 2:])
    if loss_scale == "fraction":
        expected = sum(matching) / 2 + 0.5 * (errors[0] / 5 + errors[1] / 3)
    else:  # sums over features in the user's units, as printed
        expected = sum(matching) + 0.5 * (errors[0] * 4 + errors[1] * 0.25)
    assert terms.total.item() == pytest.approx((expected - 3 * correlation).item(), rel=1e-5)
    assert terms.parts["dis/B"].item() == pytest.approx(correlation.item())
    assert "dis/A" not in terms.parts  # no private space, no adversary
    # To judge by, a correlation is something bad.
    numbers = {name: value.item() for name, value in terms.parts.items()}
    assert found.total(numbers) == pytest.approx((expected + 3 * correlation).item(), rel=1e-5)


def test_adversaries_climb_and_encoders_descend() -> None:
    given = task()
    found = objective(given, lambda_rec=0.0)
    found.targets = given.net.encode(given.data.views)["B"][:40, :2].detach()
    out = given.net.encoders["B"](given.data.views["B"][POSITIONS])
    correlation = given.net.adversaries["B"](out[:, :2], out[:, 2:])
    own = list(given.net.adversaries.parameters())
    encoder = list(given.net.encoders["B"].parameters())
    plain = torch.autograd.grad(correlation, [*own, *encoder])
    terms = found.terms(POSITIONS)
    # Matching of B is perfect, so that its encoder has no other gradient.
    slopes = torch.autograd.grad(terms.total, [*own, *encoder])
    for sign, a, b in zip([-1] * len(own) + [1] * len(encoder), slopes, plain, strict=True):
        assert torch.allclose(a, 3.0 * sign * b, atol=1e-5)


def test_targets_are_refreshed_when_it_is_time() -> None:
    given = task()
    found = objective(given, refresh_every=3)
    seen = []
    for epoch in range(4):
        found.begin(epoch)
        seen.append(found.targets)
        with torch.no_grad():
            next(given.net.encoders.parameters()).mul_(1.5)
    assert seen[0] is seen[1] is seen[2]
    assert not torch.allclose(seen[2], seen[3])


def test_extra_steps_move_the_adversaries_only_and_further() -> None:
    correlations = []
    for n_steps in (1, 20):
        given = task()
        adversary = AdversaryConfig(hidden=(8,), rows=0, n_steps=n_steps, learning_rate=1e-2)
        found = objective(given, adversary=adversary)
        found.begin(0)
        before = [parameter.clone() for parameter in given.net.coder_parameters()]
        correlations.append(found.terms(POSITIONS).parts["dis/B"].detach().item())
        assert all(torch.equal(a, b) for a, b in zip(before, given.net.coder_parameters(), strict=True))
        assert all(parameter.grad is None for parameter in given.net.parameters())
    assert correlations[1] > correlations[0]


def test_correlations_are_over_rows_of_their_own() -> None:
    given = task()
    found = objective(given, adversary=AdversaryConfig(hidden=(8,), rows=1_000, n_steps=1))
    found.begin(0)
    out = given.net.encoders["B"](given.data.views["B"][:40])
    expected = given.net.adversaries["B"](out[:, :2], out[:, 2:])
    # All 40 rows are fewer than asked for.
    assert found.terms(POSITIONS).parts["dis/B"].item() == pytest.approx(expected.item(), abs=1e-5)


def test_rows_of_a_correlation_are_those_of_the_batch_and_others() -> None:
    found = objective(task(), adversary=AdversaryConfig(hidden=(8,), rows=15, n_steps=1))
    drawn = [found._others(POSITIONS) for _ in range(40)]
    for others in drawn:
        assert len(others) == 7
        assert len({*others.tolist(), *POSITIONS.tolist()}) == 15
    # In the end every other row has come by.
    assert {row for others in drawn for row in others.tolist()} == set(range(40)) - set(POSITIONS.tolist())
    assert not found.is_in_batch.any()
    assert not len(objective(task())._others(POSITIONS))  # 0: the batch alone


def test_a_fit_tells_whether_its_adversaries_are_alive(two_views: Pair) -> None:
    training = TrainConfig(epochs=2, batch_size=50)
    adversary = AdversaryConfig((8,), rows=0, n_steps=1, fresh_steps=10)
    model = Lyu(1, (0, 1), adversary=adversary, networks=MLPNetworks((8,)), training=training, random_state=0)
    found = model.fit(*two_views).adversary_
    assert list(found) == ["B"]
    codes = model.transform(two_views[0][model.split_["validation"]], two_views[1][model.split_["validation"]])
    own = model.net_.adversaries["B"](*(torch.from_numpy(z) for z in (codes.shared["B->A"], codes.private["B"])))
    assert found["B"]["adversary"] == pytest.approx(own.item(), abs=1e-5)
    assert 0 <= found["B"]["fresh"] <= 1
    assert model.fit(*two_views, validation=0).adversary_["B"]["fresh"] != found["B"]["fresh"]


def test_every_part_is_trained_by_its_own_optimizer() -> None:
    given = task(n_private=(1, 2))
    epoch = MinibatchEpoch(objective(given))
    before = {name: value.clone() for name, value in given.net.state_dict().items()}
    epoch(0)
    moved = {name for name, value in given.net.state_dict().items() if not torch.equal(value, before[name])}
    assert moved == set(before)
    assert all(parameter.grad is None for parameter in given.net.parameters())
    assert {group["lr"] for group in epoch.objective.optimizers()[0].param_groups} == {3e-3}


def test_fresh_correlations_are_logged_five_times_and_last() -> None:
    found = objective(task(epochs=23))
    logged = [epoch for epoch in range(23) if found.end(epoch)]
    assert logged == [3, 7, 11, 15, 19, 22]
    assert list(found.end(22)) == ["fresh/B"]


def test_settings_are_compared_with_fresh_adversaries() -> None:
    given = task()
    found = objective(given)
    with torch.no_grad():
        for parameter in given.net.adversaries.parameters():
            parameter.zero_()  # dead
    cheap, thorough = found.held_out(given.data.validation), found.examined(given.data.validation)
    assert cheap["dis/B"] == 0
    assert thorough["dis/B"] > 0
    assert {name: cheap[name] for name in cheap if name != "dis/B"} == {
        name: thorough[name] for name in thorough if name != "dis/B"
    }
    assert found.total(thorough) - found.total(cheap) == pytest.approx(3 * thorough["dis/B"], rel=1e-4)


def test_a_dead_adversary_does_not_spoil_the_rest(two_views: Pair) -> None:
    # At this rate every unit is dead within a few steps: 0 / 0 without care.
    adversary = AdversaryConfig(learning_rate=1e3, weight_decay=0.0, fresh_steps=2)
    training = TrainConfig(epochs=4, batch_size=50, max_restarts=0)
    model = Lyu(2, 1, adversary=adversary, networks=MLPNetworks((16,)), training=training, random_state=0)
    model.fit(*two_views)
    assert np.isfinite(model.transform(*two_views).to_array()).all()
    assert all(math.isfinite(value) for row in model.history_ for value in row.values() if not isinstance(value, str))


# Settings


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"lambda_rec": -1}, ValueError, "lambda_rec is -1; expected a finite number of at least 0"),
        ({"lambda_dis": None}, TypeError, "lambda_dis is None; expected a number"),
        ({"refresh_every": 0}, ValueError, "refresh_every is 0; expected an integer of at least 1"),
        ({"adversary": {"rows": 10}}, TypeError, "expected an AdversaryConfig or None"),
    ],
)
def test_settings_that_cannot_be(two_views: Pair, changes: dict[str, Any], kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        Lyu(1, **changes).fit(*two_views)


@pytest.mark.parametrize(
    "changes",
    [{"hidden": 64}, {"learning_rate": 0}, {"weight_decay": -1}, {"rows": -1}, {"n_steps": 0}, {"fresh_steps": 0}],
)
def test_adversaries_that_cannot_be(changes: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match=next(iter(changes))):
        replace(AdversaryConfig(), **changes)


def test_without_private_spaces_there_is_no_adversary(two_views: Pair) -> None:
    training = TrainConfig(epochs=2, batch_size=50)
    model = Lyu(1, 0, networks=MLPNetworks((8,)), training=training, random_state=0).fit(*two_views)
    assert not model.net_.adversaries
    assert not [name for row in model.history_ for name in row if name.startswith(("dis/", "fresh/"))]


def test_an_adversary_is_two_networks_of_one_output() -> None:
    adversary = new_adversary(3, 2, (5, 4), 0, "B")
    assert [layer.out_features for layer in adversary.phi if isinstance(layer, torch.nn.Linear)] == [5, 4, 1]
    assert next(iter(adversary.tau)).in_features == 2
