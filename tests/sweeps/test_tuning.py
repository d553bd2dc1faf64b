"""Tuning: what is searched, that Optuna's halving is obeyed, that nothing but the objective judges, and resuming."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from viewsplice import SPLICE, ConvNetworks, MLPNetworks, ResidualNetworks, Sweep, TrainConfig, tune
from viewsplice.datasets import linear_gaussian
from viewsplice.exceptions import TrainingDivergedError
from viewsplice.persistence import settings_from_json
from viewsplice.sweeps import SearchSpace, Task, tuning
from viewsplice.sweeps.search import BUDGETS, Search, Trial, best_of
from viewsplice.sweeps.space import own_values, with_values
from viewsplice.training import fresh

pytest.importorskip("optuna")

DATA = linear_gaussian(200, n_features=6, n_shared=1, random_state=0)
SPACE = SearchSpace(learning_rate=(1e-3, 1e-2), weight_decay=(0.0,), batch_size=(20, 40), width=(4, 8), depth=(1, 2))


@pytest.fixture(autouse=True)
def _quick_objective(monkeypatch) -> None:
    monkeypatch.setattr(fresh, "_LEAST_STEPS", 5)


def start(**params) -> SPLICE:
    training = TrainConfig(epochs=9, restart_passes=1, batch_size=20, learning_rate=1e-2, weight_decay=0.0)
    chosen = {"n_shared": 1, "n_private": 1, "networks": MLPNetworks((8,)), "training": training, "geometry": None}
    return SPLICE(**{**chosen, **params})


def value_of(values, budget: float, data) -> dict:
    """Stand in for a training: the best is a=3, b=0, and short trainings tell as much."""
    return {"value": abs(values["a"] - 3) + values["b"] + 1 / (10 * budget), "seconds": 0.5}


def search(value=value_of, first=None) -> Search:
    def task(values, budget):
        return Task(f"{values} {budget:.2f}", {**values, "budget": budget}, partial(value, values, budget))

    return Search({"a": (0, 1, 2, 3, 4, 5), "b": (0, 1, 2)}, first, task, None, seed=0)


def test_the_search_finds_the_lowest_and_gives_up_most_trials_early() -> None:
    trials = search().run(40, Sweep())
    assert len(trials) == 40
    best = best_of(trials)
    assert (best.settings, best.state, best.budget) == ({"a": 3, "b": 0}, "complete", 1.0)
    assert best.value == pytest.approx(0.1)
    assert best.seconds == 1.5
    pruned = [trial for trial in trials if trial.state == "pruned"]
    assert len(pruned) > 20
    assert {trial.budget for trial in pruned} <= set(BUDGETS[:2])
    assert [trial.number for trial in trials] == list(range(40))


def test_only_the_best_third_of_those_before_goes_on() -> None:
    trials = search().run(30, Sweep())
    for trial in trials:
        first = [abs(t.settings["a"] - 3) + t.settings["b"] for t in trials[: trial.number + 1]]
        allowed = sorted(first)[max(1, len(first) // 3) - 1]
        assert (trial.budget > BUDGETS[0]) == (first[-1] <= allowed)


def test_the_first_trial_is_the_one_given_and_waves_are_as_wide_as_there_are_workers(monkeypatch) -> None:
    waves = []
    run = Sweep.run

    def watch(self, tasks, data):
        waves.append(len(tasks))
        return run(Sweep(), tasks, data)

    monkeypatch.setattr(Sweep, "run", watch)
    trials = search(first={"a": 5, "b": 2}).run(7, Sweep(n_jobs=3))
    assert trials[0].settings == {"a": 5, "b": 2}
    assert max(waves) == 3
    assert len(trials) == 7


def test_a_search_interrupted_at_any_training_ends_as_if_it_had_not_been(tmp_path) -> None:
    whole = search(first={"a": 5, "b": 2}).run(8, Sweep())
    n_trainings = 0
    for stop_at in range(1, 100):
        calls = []

        def counted(values, budget, data, calls=calls, stop_at=stop_at):
            calls.append((dict(values), budget))
            if len(calls) == stop_at:
                raise KeyboardInterrupt
            return value_of(values, budget, data)

        sweep = Sweep(folder=tmp_path / str(stop_at))
        try:
            search(counted, first={"a": 5, "b": 2}).run(8, sweep)
        except KeyboardInterrupt:
            lost = calls[-1]
        else:
            n_trainings = len(calls)
            break
        assert search(counted, first={"a": 5, "b": 2}).run(8, sweep) == whole
        assert calls[stop_at] == lost, "what was lost is trained first, and nothing is trained twice"
        assert len({json.dumps(call) for call in calls}) == len(calls) - 1
    assert n_trainings > 10


def test_a_search_with_more_trials_begins_with_those_of_before(tmp_path) -> None:
    calls, seen = [], []

    def counted(values, budget, data):
        calls.append(dict(values))
        return value_of(values, budget, data)

    trials = search(counted).run(12, Sweep(folder=tmp_path))
    n_before = len(calls)
    assert search(counted).run(12, Sweep(folder=tmp_path, on_done=seen.append)) == trials
    assert (len(calls), seen) == (n_before, [])
    more = search(counted).run(30, Sweep(folder=tmp_path, on_done=seen.append))
    assert more[:12] == trials
    assert seen[-1].n_done == seen[-1].n_tasks == 30


def test_a_diverged_trial_is_told_and_never_the_best() -> None:
    def sometimes(values, budget, data):
        return {"value": None, "seconds": 0.1} if values["b"] == 0 else value_of(values, budget, data)

    trials = search(sometimes, first={"a": 3, "b": 0}).run(15, Sweep())
    assert (trials[0].state, trials[0].value) == ("diverged", None)
    assert best_of(trials).settings["b"] > 0
    with pytest.raises(ValueError, match="none of 1 trials trained to its end"):
        best_of(trials[:1])


def test_the_space_of_the_paper() -> None:
    space = SearchSpace.of(SPLICE(2, 1, recipe="paper"), 12_096)
    assert space.choices() == {
        "learning_rate": (1e-2, 1e-3, 1e-4, 1e-5),
        "weight_decay": (0.0, 1e-1, 1e-2, 1e-3, 1e-4),
        "batch_size": (1000, 2000, 5000, 12_096),
        "width": (50, 100, 200),
        "depth": (2, 3, 4, 5, 6),
    }
    assert SearchSpace.of(SPLICE(2, 1, recipe="paper"), 1_000).batch_size == (83, 165, 413, 1000)


def test_the_space_around_the_default_recipe_has_its_own_values() -> None:
    model = SPLICE(2, 1)
    space = SearchSpace.of(model, 5_000)
    own = own_values(model, space, 5_000)
    assert own is not None
    assert (own["width"], own["depth"]) == (256, 2)
    assert with_values(model, own, 5_000).networks == ResidualNetworks(256, 2, 128, 6.0, gated=True)
    assert max(space.batch_size) <= 2_500
    convolutions = SearchSpace.of(SPLICE(2, 1, networks=ConvNetworks()), 5_000)
    assert set(convolutions.choices()) == {"learning_rate", "weight_decay", "batch_size"}
    assert own_values(SPLICE(2, 1, recipe="paper"), SearchSpace.of(SPLICE(2, 1, recipe="paper"), 100), 100) is None


def test_wide_views_begin_with_the_networks_that_the_recipe_gives_them() -> None:
    model, size = SPLICE(2, 1), (5_000, 4_096)
    own = own_values(model, SearchSpace.of(model, *size), *size)
    assert own is not None
    assert own["width"] == 512
    assert with_values(model, own, *size).networks == ResidualNetworks(512, 2, 128, 6.0, gated=True, head=1_024)
    lengths = [tuning._shortened(SPLICE(2, 1), (5_000, n), 1 / 3).training.epochs for n in (100, 4_096)]
    assert lengths[1] == 2 * lengths[0]


def test_too_few_rows_to_judge_by_are_told_before_any_training(monkeypatch) -> None:
    monkeypatch.setattr(SPLICE, "fit", None)
    with pytest.raises(ValueError, match="got 15 rows, of which 3 would judge; expected at least 4"):
        tune(DATA.views[:15], n_trials=1, model=start(), space=SPACE)


def test_chosen_values_reach_the_estimator() -> None:
    values = {"learning_rate": 1e-3, "weight_decay": 0.0, "batch_size": 40, "width": 4, "depth": 2}
    model = with_values(start(), values, 100)
    assert model.networks == MLPNetworks((4, 4))
    assert (model.training.learning_rate, model.training.batch_size, model.training.epochs) == (1e-3, 40, 9)
    with pytest.raises(TypeError, match="to change width or depth of"):
        with_values(start(networks=ConvNetworks()), {"width": 3}, 100)


@pytest.mark.parametrize("arguments", [{"learning_rate": (-1.0,)}, {"batch_size": (0,)}])
def test_spaces_are_checked(arguments) -> None:
    empty = {"learning_rate": (), "weight_decay": (), "batch_size": ()}
    with pytest.raises(ValueError, match=f"each {next(iter(arguments))}"):
        SearchSpace(**{**empty, **arguments})
    with pytest.raises(ValueError, match="the search space is empty"):
        SearchSpace(**empty)


def test_a_search_in_earnest(tmp_path) -> None:
    found = tune(DATA.views, n_trials=4, model=start(), space=SPACE, sweep=Sweep(folder=tmp_path), random_state=0)
    assert len(found.trials) == 4
    assert found.trials[0].settings == {
        "learning_rate": 1e-2,
        "weight_decay": 0.0,
        "batch_size": 20,
        "width": 8,
        "depth": 1,
    }
    best = best_of(found.trials)
    model = SPLICE(**found.best)
    assert model.networks.hidden == (best.settings["width"],) * best.settings["depth"]
    assert model.training.epochs == 9, "the best settings train in full"
    content = json.loads(found.to_json())
    assert settings_from_json(content["best"])["training"] == model.training
    assert content["trials"][0]["state"] in ("complete", "pruned")
    assert "40 of 200 rows judged, and no fit saw them" in found.notes[0]


def test_trials_are_judged_by_the_objective_on_rows_that_no_fit_saw(monkeypatch) -> None:
    fitted, judged = [], []
    fit, objective = SPLICE.fit, SPLICE.objective

    def watch_fit(self, X, y=None, **options):
        fitted.append(X)
        return fit(self, X, y, **options)

    def watch_objective(self, X, y=None):
        judged.append(X)
        return objective(self, X, y)

    monkeypatch.setattr(SPLICE, "fit", watch_fit)
    monkeypatch.setattr(SPLICE, "objective", watch_objective)
    tune(DATA.views, n_trials=1, model=start(), space=SPACE)
    assert len(fitted) == len(judged) == 3  # one for each budget
    for train, test in zip(fitted, judged, strict=True):
        together = np.concatenate([train["A"], test["A"]])
        assert len(np.unique(together, axis=0)) == 200
    epochs = [tuning._shortened(start(), (100, 6), budget).training.epochs for budget in BUDGETS]
    assert epochs == [1, 3, 9]


def test_open_widths_are_found_first_and_held(monkeypatch) -> None:
    monkeypatch.setattr(
        tuning, "_find_widths", lambda model, given: {"n_shared": {"A->B": 1, "B->A": 1}, "n_private": {"A": 1, "B": 0}}
    )
    found = tune(DATA.views, n_trials=1, model=start(n_shared="auto", n_private=(1, "auto")), space=SPACE)
    assert found.best["n_private"] == {"A": 1, "B": 0}
    assert found.notes[0] == "Widths were found by a first fit and held: A->B 1, B->A 1, A 1, B 0."


def test_the_paper_tunes_step_1_alone() -> None:
    model = start(recipe="paper", geometry="default")
    task = tuning._training(model, (100, 6), {}, {"batch_size": 20}, 1.0)
    assert task.work.args[0].geometry is None
    task = tuning._training(start(geometry="default"), (100, 6), {}, {"batch_size": 20}, 1.0)
    assert task.work.args[0].geometry == "default"


def test_divergence_has_no_value(monkeypatch) -> None:
    def diverge(*_, **__):
        raise TrainingDivergedError("disentangle", 0, "rec/A")

    monkeypatch.setattr(SPLICE, "fit", diverge)
    assert tuning._judge(start(), tuning._Given(DATA.views, DATA.views, 0.1))["value"] is None


def test_without_optuna_the_message_says_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(ValueError, match=r"pip install 'viewsplice\[tune\]'"):
        tune(DATA.views, n_trials=1, model=start(), space=SPACE)


def test_a_trial_reads_like_a_dict() -> None:
    trial = Trial(0, {"a": 1}, 0.5, "complete", 1.0, 2.0)
    assert trial["value"] == trial.value == 0.5
