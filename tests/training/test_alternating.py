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
from viewsplice.training.alternating import AlternatingEpoch, TrainingData, adamw, set_learning_rate, shuffled_batches
from viewsplice.training.objectives import autoencoding, disentangling, measurement

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
    return GeometryTargets(torch.tensor([1, 5, 9, 20]), distances, 0.3, units=dict.fromkeys(distances, 1.0))


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
    batches = shuffled_batches(data.train, CONFIG.batch_size, generator)
    for step, i in enumerate(batches):
        # Linear decay over all steps of the stage, down to 1 % of the rate.
        progress = step / (len(batches) * CONFIG.epochs)
        opt_ae.param_groups[0]["lr"] = CONFIG.learning_rate * (0.01 + 0.99 * (1 - progress))
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


def test_batches_cover_all_rows_in_one_size_none_short_and_few_rows_twice():
    batches = shuffled_batches(torch.arange(107), 10, torch.Generator().manual_seed(0))
    assert {len(batch) for batch in batches} == {11}
    counts = torch.bincount(torch.cat(list(batches)), minlength=107)
    assert counts.min() == 1
    assert counts.max() == 2
    assert int((counts == 2).sum()) == 10 * 11 - 107
    assert all(len(batch.unique()) == 11 for batch in batches)
    (whole,) = shuffled_batches(torch.arange(107), 107, torch.Generator().manual_seed(0))
    assert sorted(whole.tolist()) == list(range(107))


def rate_at(epoch, **settings):
    config = TrainConfig(**{"epochs": 4, "learning_rate": 2.0, "final_learning_rate": 0.1, **settings}).resolve(CONFIG)
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], 1.0)
    set_learning_rate(optimizer, config, epoch)
    return optimizer.param_groups[0]["lr"]


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("constant", [2.0, 2.0, 2.0, 2.0, 2.0]),
        ("linear", [2.0, 1.55, 1.1, 0.65, 0.2]),
        # (1 + cos 45 degrees) / 2 = 0.8536 of the way down, and its mirror image.
        ("cosine", [2.0, 1.7364, 1.1, 0.4636, 0.2]),
    ],
)
def test_learning_rate_schedules(schedule, rates):
    assert [rate_at(epoch, schedule=schedule) for epoch in range(5)] == pytest.approx(rates, abs=1e-4)


def test_the_schedule_runs_within_an_epoch():
    assert rate_at(0.5, epochs=1, schedule="linear") == rate_at(2, epochs=4, schedule="linear") == pytest.approx(1.1)


def test_a_warm_up_rises_from_almost_nothing_and_multiplies_the_schedule():
    rates = [rate_at(epoch, warmup=0.5, schedule="constant") for epoch in (0, 0.5, 1, 2, 3)]
    assert rates == pytest.approx([2.0 * 0.002, 2.0 * 0.252, 2.0 * 0.502, 2.0, 2.0])
    assert rate_at(1, warmup=0.5, schedule="linear") == pytest.approx(1.55 * 0.502)
    assert rate_at(0, warmup=1.0, schedule="constant") > 0


def test_both_optimizers_have_the_configured_memory():
    config = replace(TrainConfig.paper(), learning_rate=0.1, weight_decay=0.2, beta2=0.7)
    (group,) = adamw([torch.nn.Parameter(torch.zeros(2))], config).param_groups
    assert (group["lr"], group["weight_decay"], group["betas"]) == (0.1, 0.2, (0.9, 0.7))


def test_every_step_has_its_own_rate(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "viewsplice.training.alternating.set_learning_rate", lambda optimizer, config, epoch: seen.append(epoch)
    )
    run_epochs(2)
    assert seen == pytest.approx([0, 1 / 3, 2 / 3, 1, 4 / 3, 5 / 3])


def test_joint_steps_are_one_step_on_the_sum_of_both_losses():
    config = TrainConfig(steps="joint", batch_size=28, restart_passes=1).resolve(CONFIG)
    data, model = make_data(), make_model()
    twin = copy.deepcopy(model)
    calls = []
    model.private_encoders["B"].register_forward_hook(lambda *_: calls.append(1))
    epoch = AlternatingEpoch(model, data, config, lambda_dis=2.0, seed=7)
    epoch(0)
    assert len(calls) == 2  # once for the measurement networks, once for the one step
    twin.measurers = copy.deepcopy(model.measurers)
    batch = {name: x[data.train] for name, x in data.views.items()}
    parameters = twin.autoencoder_parameters()
    autoencoding(twin, batch, UNITS).total.backward(inputs=parameters)
    disentangling(twin, twin.encode_private(batch), UNITS, 2.0).total.backward(inputs=parameters_of_private(twin))
    torch.optim.AdamW(parameters, config.learning_rate, weight_decay=config.weight_decay).step()
    for name, value in twin.state_dict().items():
        assert torch.allclose(model.state_dict()[name], value, atol=2e-5), name


def parameters_of_private(model):
    return [parameter for encoder in model.private_encoders.values() for parameter in encoder.parameters()]


def test_joint_steps_log_the_same_terms_and_wait_as_long():
    config = TrainConfig(steps="joint", disentangle_after=0.2).resolve(CONFIG)
    _, terms = run_epochs(3, config)
    assert ["dis/A->B" in row for row in terms] == [False, False, True]
    assert set(terms[2]) == set(run_epochs(3)[1][2])
    _, terms = run_epochs(1, config, make_targets())
    assert {"dis/A->B", "geo/A", "geo/B->A", "rec/B"} <= set(terms[0])
    assert set(run_epochs(1, config, n_private=(0, 0))[1][0]) == {"rec/A", "rec/B"}


def seen_batches(monkeypatch, config, targets=None):
    """Run one epoch and return the views and the landmarks of every autoencoding step, and the measured rows."""
    calls, measured = [], []

    def autoencode(model, views, units, landmarks=None, **options):
        calls.append((views, landmarks, options["seen"]))
        return autoencoding(model, views, units, landmarks, **options)

    def measure(model, private, views, units):
        measured.append(len(views["A"]))
        return measurement(model, private, views, units)

    monkeypatch.setattr("viewsplice.training.alternating.autoencoding", autoencode)
    monkeypatch.setattr("viewsplice.training.alternating.measurement", measure)
    AlternatingEpoch(make_model(), make_data(), config, lambda_dis=1.0, seed=0, targets=targets)(0)
    return calls, measured


def test_a_batch_may_be_compared_with_some_of_the_landmarks(monkeypatch):
    targets = make_targets()
    calls, _ = seen_batches(monkeypatch, replace(CONFIG, batch_landmarks=2), targets)
    data, chosen = make_data(), set()
    for views, landmarks, _ in calls:
        assert landmarks.n_landmarks == 2
        marks = [int((data.views["A"] == row).all(1).nonzero()) for row in views["A"][-2:]]
        rows = [int((data.views["A"] == row).all(1).nonzero()) for row in views["A"][:-2]]
        columns = [targets.landmarks.tolist().index(mark) for mark in marks]
        assert torch.equal(landmarks.distances["B"], targets.distances["B"][rows][:, columns])
        chosen |= set(columns)
    assert len(chosen) > 2


def test_a_measurement_pass_may_be_over_some_of_the_rows(monkeypatch):
    _, every = seen_batches(monkeypatch, CONFIG)
    _, some = seen_batches(monkeypatch, replace(CONFIG, measured_rows=16))
    assert sum(every) == CONFIG.restart_passes * 30  # 28 rows in three batches of one size
    assert len(every) == CONFIG.restart_passes * 3
    assert len(some) == CONFIG.restart_passes * 2


def test_encoders_see_noise_that_falls_with_the_learning_rate(monkeypatch):
    calls, _ = seen_batches(monkeypatch, CONFIG)
    assert all(seen is None for _, _, seen in calls)
    config = replace(CONFIG, input_noise=0.5, schedule="linear", final_learning_rate=0.0, epochs=1)
    calls, _ = seen_batches(monkeypatch, config)
    fractions = []
    for views, _, seen in calls:
        noise = seen["A"] - views["A"]
        fractions.append(float(noise.square().mean() / views["A"].square().mean()))
    for i, fraction in enumerate(fractions):
        assert fraction == pytest.approx(0.5 * (1 - i / len(fractions)), rel=0.5)
    assert fractions[-1] < fractions[0]
