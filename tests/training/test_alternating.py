"""One epoch of the loop against a literal transcription of Algorithms 1 and 2, and the schedule around it."""

import copy
from dataclasses import replace

import pytest
import torch

from viewsplice._random import torch_generator
from viewsplice.config import TrainConfig
from viewsplice.geometry.targets import GeometryTargets
from viewsplice.model import SpliceNet
from viewsplice.networks import MLPNetworks
from viewsplice.training.alternating import AlternatingEpoch, TrainingData, set_learning_rate, shuffled_batches

CONFIG = TrainConfig(
    epochs=10, batch_size=8, n_msr=2, disentangle_after=0.0, restart_every=0.0, restart_passes=2
).resolve(TrainConfig.paper())
UNITS = {"A": 6.0, "B": 5.0}


def make_data(n=32):
    generator = torch.Generator().manual_seed(3)
    views = {"A": torch.randn(n, 6, generator=generator), "B": torch.randn(n, 5, generator=generator)}
    return TrainingData(views, torch.arange(n - 4), torch.arange(n - 4, n), UNITS)


def make_model(n_private=(2, 1)):
    n_private = dict(zip("AB", n_private, strict=True))
    return SpliceNet({"A": (6,), "B": (5,)}, n_private, {"A->B": 3, "B->A": 3}, MLPNetworks((8,)), seed=0)


def make_targets():
    generator = torch.Generator().manual_seed(4)
    distances = {space: torch.rand(28, 4, generator=generator) for space in ("A", "B", "A->B", "B->A")}
    return GeometryTargets(torch.tensor([1, 5, 9, 20]), distances, lambda_geo=0.3)


def literal_epoch(model, data, generator, *, lambda_dis, targets=None):
    """Algorithm 1 (2 with targets) as printed, for two views with private spaces; the first epoch after a restart."""
    f, g, m = {**model.private_encoders, **model.shared_encoders}, model.decoders, model.measurers
    a, b = data.views["A"][data.train], data.views["B"][data.train]
    ae = [p for module in (*f.values(), *g.values()) for p in module.parameters()]
    opt_ae = torch.optim.AdamW(ae, CONFIG.learning_rate, weight_decay=CONFIG.weight_decay)
    opt_m = torch.optim.AdamW(m.parameters(), CONFIG.learning_rate, weight_decay=CONFIG.weight_decay)
    for _ in range(CONFIG.restart_passes):
        for i in shuffled_batches(data.train, CONFIG.batch_size, generator):
            x_pred_a, x_pred_b = m["B->A"](f["B"](b[i]).detach()), m["A->B"](f["A"](a[i]).detach())
            loss = ((a[i] - x_pred_a) ** 2).sum(1).mean() / 6 + ((b[i] - x_pred_b) ** 2).sum(1).mean() / 5
            opt_m.zero_grad()
            loss.backward()
            opt_m.step()
    for i in shuffled_batches(data.train, CONFIG.batch_size, generator):
        z_a, z_b, s_ab, s_ba = f["A"](a[i]), f["B"](b[i]), f["A->B"](a[i]), f["B->A"](b[i])
        x_hat_a, x_hat_b = g["A"](torch.cat([s_ba, z_a], 1)), g["B"](torch.cat([s_ab, z_b], 1))
        loss = ((a[i] - x_hat_a) ** 2).sum(1).mean() / 6 + ((b[i] - x_hat_b) ** 2).sum(1).mean() / 5
        if targets is not None:
            mark_a, mark_b = data.views["A"][targets.landmarks], data.views["B"][targets.landmarks]
            for space, z in {"A": z_a, "B": z_b, "A->B": s_ab, "B->A": s_ba}.items():
                z_marks = f[space](mark_a if space.startswith("A") else mark_b)
                d_latent = (z[:, None] - z_marks[None]).norm(dim=2)
                loss = loss + targets.lambda_geo * ((d_latent - targets.distances[space][i]) ** 2).mean().sqrt()
        opt_ae.zero_grad()
        loss.backward()
        opt_ae.step()
        x_pred_a, x_pred_b = m["B->A"](f["B"](b[i])), m["A->B"](f["A"](a[i]))
        loss = lambda_dis * (x_pred_a.var(0, correction=0).sum() / 6 + x_pred_b.var(0, correction=0).sum() / 5)
        opt_ae.zero_grad(set_to_none=True)
        loss.backward()
        opt_ae.step()


@pytest.mark.parametrize("with_targets", [False, True])
def test_one_epoch_equals_the_literal_algorithm(with_targets):
    data, model, targets = make_data(), make_model(), make_targets() if with_targets else None
    stage = "geometry" if with_targets else "disentangle"
    literal = copy.deepcopy(model)
    literal.reset_measurers(f"{stage}/0")
    literal_epoch(literal, data, torch_generator(7, "batches", stage), lambda_dis=2.0, targets=targets)
    AlternatingEpoch(model, data, CONFIG, lambda_dis=2.0, seed=7, targets=targets)(0)
    for name, value in literal.state_dict().items():
        assert torch.allclose(model.state_dict()[name], value, atol=2e-5), name


def run_epochs(n_epochs, config=CONFIG, targets=None, n_private=(2, 1), lambda_dis=1.0):
    model = make_model(n_private)
    epoch = AlternatingEpoch(model, make_data(), config, lambda_dis=lambda_dis, seed=7, targets=targets)
    return model, [epoch(i) for i in range(n_epochs)]


def test_the_same_seed_gives_the_same_bits():
    one, other = run_epochs(3), run_epochs(3)
    assert one[1] == other[1]
    assert all(torch.equal(v, other[0].state_dict()[n]) for n, v in one[0].state_dict().items())


def test_disentangling_waits_for_its_turn():
    config = TrainConfig(disentangle_after=0.3).resolve(CONFIG)
    _, terms = run_epochs(4, config)
    assert ["dis/A->B" in row for row in terms] == [False, False, False, True]
    assert ["pred/A->B" in row for row in terms] == [False, False, False, True]
    _, terms = run_epochs(1, config, make_targets())
    assert {"dis/A->B", "geo/A", "geo/B", "geo/A->B", "geo/B->A"} <= set(terms[0])


def test_measurers_restart_on_schedule(monkeypatch):
    tags = []
    monkeypatch.setattr(SpliceNet, "reset_measurers", lambda self, tag: tags.append(tag))
    run_epochs(7, TrainConfig(disentangle_after=0.1, restart_every=0.3).resolve(CONFIG))
    assert tags == ["disentangle/1", "disentangle/4"]
    tags.clear()
    run_epochs(5, TrainConfig(restart_every=0.2).resolve(CONFIG), make_targets())
    assert tags == ["geometry/0", "geometry/2", "geometry/4"]


def test_number_of_measurement_passes(monkeypatch):
    passes = []
    monkeypatch.setattr("viewsplice.training.alternating.train_measurers", lambda *args: passes.append(args[4]))
    run_epochs(3, TrainConfig(n_msr=3, restart_passes=9).resolve(CONFIG))
    assert passes == [9, 3, 3]


def test_private_latents_are_encoded_once_for_all_measurement_passes():
    model, data = make_model(), make_data()
    calls = []
    model.private_encoders["B"].register_forward_hook(lambda *_: calls.append(1))
    config = TrainConfig(restart_passes=10).resolve(CONFIG)
    AlternatingEpoch(model, data, config, lambda_dis=1.0, seed=0)(0)
    n_batches = 28 // 8
    assert len(calls) == 1 + 2 * n_batches


def test_without_private_spaces_there_is_nothing_to_disentangle():
    _, terms = run_epochs(1, n_private=(0, 0))
    assert set(terms[0]) == {"rec/A", "rec/B"}


def test_validation_rows_are_never_trained_on():
    data = make_data()
    spoiled = {name: x.clone() for name, x in data.views.items()}
    for x in spoiled.values():
        x[data.validation] = 1e9
    models = [make_model(), make_model()]
    for model, views in zip(models, (data.views, spoiled), strict=True):
        AlternatingEpoch(
            model, TrainingData(views, data.train, data.validation, UNITS), CONFIG, lambda_dis=1.0, seed=0
        )(0)
    assert all(torch.equal(v, models[1].state_dict()[n]) for n, v in models[0].state_dict().items())


def test_zero_weight_geometry_changes_nothing_but_the_log():
    silent = replace(make_targets(), lambda_geo=0.0)
    with_targets, rows = run_epochs(1, targets=silent)
    assert "geo/A" in rows[0]
    without = make_model()
    # The stage names the generator: train the twin without targets on the same batches and measurers.
    epoch = AlternatingEpoch(without, make_data(), CONFIG, lambda_dis=1.0, seed=7)
    epoch.stage, epoch.generator = "geometry", torch_generator(7, "batches", "geometry")
    epoch(0)
    for name, value in without.state_dict().items():
        assert torch.allclose(value, with_targets.state_dict()[name], atol=1e-6), name


def test_batches_cover_all_rows_once_and_none_is_short():
    batches = shuffled_batches(torch.arange(107), 10, torch.Generator().manual_seed(0))
    assert sorted(torch.cat(list(batches)).tolist()) == list(range(107))
    assert {len(batch) for batch in batches} == {10, 11}


@pytest.mark.parametrize(
    ("schedule", "rates"), [("constant", [1, 1, 1]), ("linear", [1, 0.55, 0.1]), ("cosine", [1, 0.55, 0.1])]
)
def test_learning_rate_schedules(schedule, rates):
    config = TrainConfig(epochs=3, learning_rate=1.0, schedule=schedule, final_learning_rate=0.1).resolve(CONFIG)
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], 1.0)
    found = []
    for epoch in range(3):
        set_learning_rate(optimizer, config, epoch)
        found.append(optimizer.param_groups[0]["lr"])
    assert found == pytest.approx(rates)
