"""Optuna's search: it proposes settings, and gives up those that fall behind (extra ``tune``).

Trials run in waves of as many as there are workers. Each is first trained for a ninth of the epochs; who is among the
best third of those so far is trained again for a third of them, and then in full. Nothing but settings travels to the
workers and nothing but numbers comes back, so that any backend will do.

The search itself is kept nowhere: given the same values, Optuna proposes the same settings. An interrupted one is run
again from the start, finds the results of its trainings on disk, and ends as it would have ended: there is no file that
a kill could tear, and no lock that it could leave behind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from viewsplice._random import derive_seed
from viewsplice.records import Record
from viewsplice.sweeps.sweep import Sweep
from viewsplice.sweeps.tasks import Task, TaskEvent

_FACTOR = 3
BUDGETS = (1 / _FACTOR**2, 1 / _FACTOR, 1.0)


@dataclass(frozen=True)
class Trial(Record):
    """One choice of settings, tried.

    Attributes
    ----------
    number, settings
        Which, and what was chosen.
    value
        The held-out objective of the longest training it got, lower is better; None: training diverged.
    state
        ``"complete"``: trained in full. ``"pruned"``: given up before. ``"diverged"``.
    budget
        Fraction of all epochs of the longest training it got.
    seconds
        Time that its trainings took.
    """

    number: int
    settings: Mapping[str, Any]
    value: float | None
    state: str
    budget: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Search:
    """What is searched, and how.

    Attributes
    ----------
    choices
        By setting, the values to choose from.
    first
        The settings of the first trial; None: Optuna's choice.
    task
        Returns the task that trains some settings on a fraction of the epochs; its result has ``value`` (None: it
        diverged) and ``seconds``.
    data
        What the tasks work on.
    seed
        Of Optuna's proposals.
    """

    choices: Mapping[str, tuple[Any, ...]]
    first: Mapping[str, Any] | None
    task: Callable[[Mapping[str, Any], float], Task]
    data: Any
    seed: int

    def run(self, n_trials: int, sweep: Sweep) -> list[Trial]:
        """Return all trials; what an earlier run has trained in the same folder is found there."""
        trained: list[TaskEvent] = []
        quiet = replace(sweep, on_done=trained.append)
        with _optuna() as optuna:
            study = self._study(optuna)
            under_way: list[tuple[Any, int]] = []  # trials and the number of trainings they had
            while True:
                n_new = min(n_trials - len(_finished(study)), sweep.n_workers) - len(under_way)
                for _ in range(n_new):
                    trial = study.ask()
                    for name, values in self.choices.items():
                        trial.suggest_categorical(name, values)
                    under_way.append((trial, 0))
                if not under_way:
                    break
                tasks = [self.task(trial.params, BUDGETS[rung]) for trial, rung in under_way]
                results = quiet.run(tasks, self.data)
                waiting = []
                for (trial, rung), result in zip(under_way, results, strict=True):
                    if self._goes_on(optuna, study, trial, rung, result):
                        waiting.append((trial, rung + 1))
                    elif sweep.on_done is not None and trained:
                        sweep.on_done(TaskEvent(f"trial {trial.number}", len(_finished(study)), n_trials))
                under_way = waiting
            return [_row(trial) for trial in _finished(study)]

    def _study(self, optuna: Any) -> Any:
        """Return a new study that proposes the same settings for the same values."""
        study = optuna.create_study(
            sampler=optuna.samplers.TPESampler(seed=derive_seed(self.seed, "search") % 2**32),
            pruner=optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=_FACTOR),
        )
        if self.first is not None:
            study.enqueue_trial(dict(self.first))
        return study

    def _goes_on(self, optuna: Any, study: Any, trial: Any, rung: int, result: Mapping[str, Any]) -> bool:
        """Tell Optuna what a training gave; return whether the trial is trained again, for longer."""
        trial.set_user_attr("budget", BUDGETS[rung])
        trial.set_user_attr("seconds", trial.user_attrs.get("seconds", 0.0) + result["seconds"])
        trial.set_user_attr("value", result["value"])
        if result["value"] is None:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            return False
        trial.report(result["value"], step=_FACTOR**rung)
        if rung == len(BUDGETS) - 1:
            study.tell(trial, result["value"])
            return False
        if trial.should_prune():
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            return False
        return True


def _finished(study: Any) -> list[Any]:
    return [trial for trial in study.trials if trial.state.is_finished()]


def _row(trial: Any) -> Trial:
    value = trial.user_attrs["value"]
    state = "diverged" if value is None else trial.state.name.lower()
    seconds = round(trial.user_attrs["seconds"], 2)
    return Trial(trial.number, dict(trial.params), value, state, trial.user_attrs["budget"], seconds)


@contextmanager
def _optuna() -> Iterator[Any]:
    """Import Optuna and keep it quiet for a while: it would announce every study on standard error."""
    try:
        import optuna
    except ImportError as error:
        raise ValueError("tune needs optuna: pip install 'viewsplice[tune]'") from error
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(before)


def best_of(trials: list[Trial]) -> Trial:
    """Return the trial with the lowest objective of those trained in full."""
    complete = [trial for trial in trials if trial.state == "complete"]
    if not complete:
        raise ValueError(
            f"none of {len(trials)} trials trained to its end; expected one at least: give lower learning rates"
        )
    return min(complete, key=lambda trial: math.inf if trial.value is None else trial.value)
