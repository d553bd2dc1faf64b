"""Tuning: the first trial is the model itself, the best by its own objective is kept, time is shared out."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from viewsplice import MLPNetworks, TrainConfig, TrainingDivergedError
from viewsplice.baselines import (
    CCA,
    DMVAE,
    RRR,
    AdversaryConfig,
    DeepCCA,
    Karakasis,
    Lyu,
    time_limit,
    tune_baseline,
    tune_cca,
    tune_rrr,
)
from viewsplice.baselines.tuning import drawn, with_settings
from viewsplice.training.loop import EpochEvent

Pair = tuple[NDArray[np.float64], ...]
SHORT = TrainConfig(epochs=2, batch_size=40)


def make(method: Any, **changes: Any) -> Any:
    quick = {"adversary": AdversaryConfig((8,), rows=0, fresh_steps=2)} if method is Lyu else {}
    return method(1, **{"networks": MLPNetworks((8,)), "training": SHORT, "random_state": 0, **quick, **changes})


@pytest.mark.parametrize("method", [DeepCCA, Karakasis, Lyu, DMVAE])
def test_the_best_of_all_trials_is_kept(method: Any, two_views: Pair) -> None:
    found = tune_baseline(make(method), *two_views, n_trials=4)
    values = [trial["objective"] for trial in found.trials]
    assert len(set(values)) == 4
    assert found.best.validation_objective_ == min(values)
    assert found.trials[0]["settings"] == {}
    assert all(trial["settings"]["learning_rate"] == pytest.approx(1e-3, rel=10) for trial in found.trials[1:])
    assert [(trial["epochs"], trial["ended"]) for trial in found.trials] == [(2, "epochs")] * 4
    # The first trial is the model as it is, and trials can be repeated.
    assert values[0] == make(method).fit(*two_views).validation_objective_
    assert [trial["objective"] for trial in tune_baseline(make(method), *two_views, n_trials=2).trials] == values[:2]


def test_weights_of_an_objective_are_never_drawn() -> None:
    generator = np.random.default_rng(0)
    for model in (make(Karakasis, lambda_rec=0.3), make(Lyu, lambda_dis=7.0), make(DMVAE, lambda_rec=3.0)):
        other, changed = drawn(model, generator)
        weights = {name: value for name, value in model.get_params().items() if name.startswith("lambda")}
        assert {name: other.get_params()[name] for name in weights} == weights
        assert not changed.keys() & weights.keys()
        assert (other.training.epochs, other.training.batch_size) == (2, 40)
        assert other.training.learning_rate == changed["learning_rate"]
    own = AdversaryConfig(hidden=(5,), rows=7)
    draws = [drawn(make(Lyu, adversary=own), generator)[0].adversary for _ in range(20)]
    assert {(draw.hidden, draw.rows) for draw in draws} == {((5,), 7)}
    assert {draw.n_steps for draw in draws} == {1, 5}
    assert all(1e-4 <= draw.learning_rate <= 1e-2 for draw in draws)


def test_a_trial_that_diverges_loses(two_views: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = DeepCCA.fit
    n_fits = 0

    def sometimes(self: Any, *args: Any, **options: Any) -> Any:
        nonlocal n_fits
        n_fits += 1
        if n_fits in failing:
            raise TrainingDivergedError("train", 0, "cca")
        return fit(self, *args, **options)

    monkeypatch.setattr(DeepCCA, "fit", sometimes)
    failing = {1}
    found = tune_baseline(make(DeepCCA), *two_views, n_trials=2)
    assert (found.trials[0]["objective"], found.trials[0]["ended"]) == (math.inf, "divergence")
    assert found.best.validation_objective_ == found.trials[1]["objective"]
    failing = {3, 4}
    with pytest.raises(TrainingDivergedError):
        tune_baseline(make(DeepCCA), *two_views, n_trials=2)


def test_settings_that_cannot_be(two_views: Pair) -> None:
    with pytest.raises(ValueError, match="validation holds too few rows to judge by"):
        tune_baseline(make(DeepCCA), *two_views, n_trials=2, validation=0)
    with pytest.raises(ValueError, match="n_trials is 0; expected an integer of at least 1"):
        tune_baseline(make(DeepCCA), *two_views, n_trials=0)
    with pytest.raises(ValueError, match="seconds is 0; expected a finite number above 0"):
        time_limit(0)


def test_time_runs_out_before_an_epoch_that_would_end_too_late() -> None:
    now = 100.0
    is_over = time_limit(10.0, lambda: now)
    answers = []
    for epoch in range(6):
        now += 2.4  # four epochs are 9.6 s; a fifth would end at 12 s
        answers.append(is_over(EpochEvent("train", epoch, 6, {}, None)))
    assert answers == [False, False, False, True, True, True]


def test_an_attempt_that_starts_over_is_not_taken_for_one_long_epoch() -> None:
    now = 100.0
    is_over = time_limit(10.0, lambda: now)
    answers = []
    for epoch in (0, 1, 2, 3, 0, 1, 2, 3):  # the first attempt diverged
        now += 1.4
        answers.append(is_over(EpochEvent("train", epoch, 6, {}, None)))
    assert answers == [False] * 6 + [True] * 2


@pytest.mark.parametrize(("clock", "is_over"), [(time.monotonic, True), (time.process_time, False)])
def test_seconds_are_those_of_the_clock(clock: Any, is_over: bool) -> None:
    limit = time_limit(0.4, clock)
    time.sleep(0.3)  # the processor has nothing to do, as when another process has it
    assert limit(EpochEvent("train", 0, 6, {}, None)) is is_over


def test_every_trial_has_its_share_of_the_time(two_views: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def limit(seconds: float, clock: Any) -> Any:
        given.append((seconds, clock))
        return lambda event: event.epoch == 0

    monkeypatch.setattr("viewsplice.baselines.tuning.time_limit", limit)
    found = tune_baseline(make(DeepCCA), *two_views, n_trials=3, seconds=60)
    assert given == [(20, time.monotonic)] * 3
    assert [(trial["epochs"], trial["ended"]) for trial in found.trials] == [(1, "callback")] * 3


def test_settings_of_a_trial_make_the_model_of_the_trial() -> None:
    own = AdversaryConfig(n_steps=7)
    start = make(Lyu, lambda_dis=2.0)
    found = with_settings(start, {"learning_rate": 0.5, "adversary": own})
    assert found is not start
    assert (found.training.learning_rate, found.training.epochs, found.training.batch_size) == (0.5, 2, 40)
    assert (found.adversary, found.lambda_dis) == (own, 2.0)
    assert with_settings(make(DeepCCA, training=None), {"weight_decay": 0.1}).training == TrainConfig(weight_decay=0.1)
    assert with_settings(CCA(2), {"regularization": 3.0}).get_params() == CCA(2, regularization=3.0).get_params()


def test_cca_is_tuned_by_what_correlates_on_the_validation_rows() -> None:
    generator = np.random.default_rng(0)
    shared = generator.normal(size=(120, 1))
    # Nearly as many features as rows: without regularization everything correlates on the training rows only.
    x, y = (shared + 2 * generator.normal(size=(120, 60)) for _ in range(2))
    validation = np.arange(80, 120)
    found = tune_cca(CCA(1, random_state=0), x, y, validation=validation)
    values = [trial["objective"] for trial in found.trials]
    assert [trial["settings"]["regularization"] for trial in found.trials] == [10.0**k for k in range(-4, 3)]
    best = found.trials[int(np.argmin(values))]["settings"]["regularization"]
    assert found.best.regularization == best > 1e-3
    assert found.best.objective(x[validation], y[validation]) == min(values)
    u, v = found.best.transform(x[validation], y[validation]).shared.values()
    assert min(values) == pytest.approx(-np.corrcoef(u[:, 0], v[:, 0])[0, 1])
    held_out = {"A": x[validation], "B": y[validation]}
    apart = tune_cca(CCA(1, random_state=0), x[:80], y[:80], validation=held_out)
    assert [trial["objective"] for trial in apart.trials] == pytest.approx(values)


@pytest.mark.parametrize(("n_rows", "ridge"), [(70, "auto"), (1_000, 0.0)])
def test_rrr_is_tuned_by_what_it_predicts_of_the_validation_rows(n_rows: int, ridge: Any) -> None:
    generator = np.random.default_rng(1)
    # Sixty features and much noise: a ridge helps where rows are few, and costs a little where they are many.
    x = generator.normal(size=(n_rows + 400, 60))
    y = x @ generator.normal(size=(60, 10)) + (20 if n_rows == 70 else 1) * generator.normal(size=(n_rows + 400, 10))
    validation = np.arange(n_rows, n_rows + 400)
    found = tune_rrr(RRR(3, random_state=0), x, y, validation=validation)
    values = [trial["objective"] for trial in found.trials]
    assert [trial["settings"] for trial in found.trials] == [{"ridge": 0.0}, {"ridge": "auto"}]
    assert found.best.ridge == ridge == found.trials[int(np.argmin(values))]["settings"]["ridge"]
    guesses = found.best.reconstruct(x[validation], y[validation])
    scores = []
    for truth, guess in ((x[validation], guesses["A"]), (y[validation], guesses["B"])):
        scores.append(1 - ((truth - guess) ** 2).sum() / ((truth - truth.mean(axis=0)) ** 2).sum())
    assert min(values) == pytest.approx(1 - np.mean(scores), abs=1e-6)


def test_cca_cannot_be_tuned_without_validation_rows(two_views: Pair) -> None:
    with pytest.raises(ValueError, match="validation holds no rows to judge by"):
        tune_cca(CCA(1), *two_views, validation=0)


def test_cca_without_pairs_has_nothing_to_minimize(two_views: Pair) -> None:
    assert CCA(0).fit(*two_views).objective(*two_views) == 0
