"""The fair second run of a baseline: settings drawn at random, each with its share of the time, the best one kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from sklearn.base import clone

from viewsplice._random import numpy_generator, root_seed
from viewsplice.baselines.base import Baseline
from viewsplice.baselines.cca import CCA
from viewsplice.baselines.neural import NeuralBaseline
from viewsplice.baselines.rrr import RRR
from viewsplice.config import TrainConfig, check_number
from viewsplice.exceptions import TrainingDivergedError
from viewsplice.training.loop import Callback, EpochEvent
from viewsplice.views import Views, as_views

B = TypeVar("B", bound=Baseline)
N = TypeVar("N", bound=NeuralBaseline)
L = TypeVar("L", RRR, CCA)
Clock = Callable[[], float]

# Drawn evenly on a logarithmic scale.
_RATES, _DECAYS = (1e-4, 3e-3), (1e-5, 1e-2)
_OF_TRAINING = ("learning_rate", "weight_decay")
# From next to none to more than any variance; the literature has 1e-4, 1e-2 and 100.
_REGULARIZATIONS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


@dataclass(frozen=True, eq=False)
class TunedBaseline(Generic[B]):
    """What tuning found.

    Attributes
    ----------
    best
        The fitted baseline with the lowest objective on the validation rows.
    trials
        One dict per trial: ``settings`` that were changed, ``objective`` (infinite: diverged), ``seconds``,
        ``epochs`` and what ``ended`` it.
    """

    best: B
    trials: list[dict[str, Any]]


@dataclass(frozen=True)
class Budget:
    """What a search may take.

    Attributes
    ----------
    n_trials, seconds
        How many settings are tried, and in which time altogether.
    clock
        Which seconds, as in `time_limit`.
    """

    n_trials: int
    seconds: float = math.inf
    clock: Clock = time.monotonic

    def limits(self) -> list[Callback]:
        """Return what ends a trial that starts now."""
        return [] if math.isinf(self.seconds) else [time_limit(self.seconds / self.n_trials, self.clock)]


def time_limit(seconds: float, clock: Clock = time.monotonic) -> Callback:
    """Return a callback that ends a training in time: the clock starts now, and an epoch too long is not begun.

    Parameters
    ----------
    seconds
        How long it may take.
    clock
        Which seconds: those on the wall, or with ``time.process_time`` those of the processor (all threads together),
        which do not run while another process has it.
    """
    check_number("seconds", seconds, low=0, open_low=True)
    started, n_epochs = clock(), 0

    def is_over(event: EpochEvent) -> bool:
        # Epochs are counted here: those of an attempt that diverged took their time, too.
        nonlocal n_epochs
        n_epochs += 1
        passed = clock() - started
        return passed + passed / n_epochs > seconds

    return is_over


def with_settings(model: B, settings: Mapping[str, Any]) -> B:
    """Return an unfitted copy with the ``settings`` of a trial: rate and decay of its training, others its own."""
    of_training = {name: settings[name] for name in _OF_TRAINING if name in settings}
    own = {name: value for name, value in settings.items() if name not in _OF_TRAINING}
    if of_training:
        own["training"] = replace(model.get_params()["training"] or TrainConfig(), **of_training)
    copied: B = clone(model).set_params(**own)
    return copied


def drawn(model: N, generator: np.random.Generator) -> tuple[N, dict[str, Any]]:
    """Return an unfitted copy with learning rate, decay and the method's own settings drawn at random, and these.

    The weights of an objective are never drawn: objectives of different weights cannot be compared.
    """
    rate, decay = (float(np.exp(generator.uniform(*np.log(bounds)))) for bounds in (_RATES, _DECAYS))
    settings = {"learning_rate": rate, "weight_decay": decay, **model._drawn(generator)}
    return with_settings(model, settings), settings


def tune_baseline(
    model: N,
    X: Any,
    y: Any = None,
    *,
    n_trials: int,
    seconds: float = math.inf,
    groups: Any = None,
    validation: Any = 0.1,
    callbacks: Sequence[Callback] = (),
) -> TunedBaseline[N]:
    """Return the best of some trials by the method's own objective on the validation rows, which needs no truth.

    Parameters
    ----------
    model
        Where to start from: the first trial is the model as it is.
    X, y, groups, validation, callbacks
        As for `fit`.
    n_trials, seconds
        How many settings are tried, and in which time altogether; each trial gets an equal share.
    """
    check_number("n_trials", n_trials, low=1, integer=True)
    views = Views(as_views(X, y), groups=groups)
    budget = Budget(n_trials, seconds)
    return tune_within(model, views, budget, validation=validation, callbacks=callbacks)


def tune_within(
    model: N, views: Views, budget: Budget, *, validation: Any, callbacks: Sequence[Callback] = ()
) -> TunedBaseline[N]:
    """Return what `tune_baseline` does, within a budget by any clock."""
    seed = root_seed(model.random_state)
    best, trials, lowest = None, [], math.inf
    for trial in range(budget.n_trials):
        candidate, changed = drawn(model, numpy_generator(seed, "tuning", trial)) if trial else (clone(model), {})
        candidate.set_params(random_state=seed)
        limits = budget.limits()
        started = budget.clock()
        row: dict[str, Any] = {"settings": changed, "objective": math.inf, "ended": "divergence", "epochs": 0}
        try:
            candidate.fit(views, validation=validation, callbacks=[*callbacks, *limits])
        except TrainingDivergedError as error:
            failure = error
        else:
            if candidate.validation_objective_ is None:
                raise ValueError("validation holds too few rows to judge by; expected some to compare settings on")
            row |= {"objective": candidate.validation_objective_, "ended": candidate.ended_}
            row |= {"epochs": len(candidate.history_)}
        trials.append({**row, "seconds": budget.clock() - started})
        if row["objective"] < lowest:
            best, lowest = candidate, row["objective"]
    if best is None:
        raise failure
    return TunedBaseline(best, trials)


def tune_cca(model: CCA, X: Any, y: Any = None, *, groups: Any = None, validation: Any = 0.1) -> TunedBaseline[CCA]:
    """Return the CCA whose regularization, of seven between 1e-4 and 100, correlates most on the validation rows.

    Parameters
    ----------
    model
        The CCA whose regularization is to be found.
    X, y, groups, validation
        As for `fit`.
    """
    settings = [{"regularization": regularization} for regularization in _REGULARIZATIONS]
    return _best_of(model, settings, Views(as_views(X, y), groups=groups), validation)


def tune_rrr(model: RRR, X: Any, y: Any = None, *, groups: Any = None, validation: Any = 0.1) -> TunedBaseline[RRR]:
    """Return the RRR, without ridge or with a cross-validated one, that predicts most on the validation rows.

    Parameters
    ----------
    model
        The RRR whose ridge is to be found.
    X, y, groups, validation
        As for `fit`.
    """
    return _best_of(model, [{"ridge": 0.0}, {"ridge": "auto"}], Views(as_views(X, y), groups=groups), validation)


def _best_of(model: L, settings: Sequence[Mapping[str, Any]], views: Views, validation: Any) -> TunedBaseline[L]:
    """Return the best of some settings of a method without epochs, by its objective on the validation rows."""
    best, trials, lowest = None, [], math.inf
    for changed in settings:
        started = time.monotonic()
        candidate = with_settings(model, changed).fit(views, validation=validation)
        rows = candidate.split_["validation"]
        if not len(rows):
            raise ValueError("validation holds no rows to judge by; expected some to compare settings on")
        # Numbers beyond the rows stand for validation data that came as views of their own.
        objective = candidate.objective(views[rows] if rows[-1] < len(views) else validation)
        row = {"settings": dict(changed), "objective": objective, "ended": "closed form", "epochs": 0}
        trials.append({**row, "seconds": time.monotonic() - started})
        if best is None or objective < lowest:
            best, lowest = candidate, objective
    assert best is not None
    return TunedBaseline(best, trials)
