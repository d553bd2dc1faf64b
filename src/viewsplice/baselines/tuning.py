"""The fair second run of a baseline: settings drawn at random, each with its share of the time, the best one kept."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from sklearn.base import clone

from viewsplice._random import numpy_generator, root_seed
from viewsplice.baselines.neural import NeuralBaseline
from viewsplice.config import TrainConfig, check_number
from viewsplice.exceptions import TrainingDivergedError
from viewsplice.training.loop import Callback, EpochEvent

B = TypeVar("B", bound=NeuralBaseline)

# Drawn evenly on a logarithmic scale.
_RATES, _DECAYS = (1e-4, 3e-3), (1e-5, 1e-2)


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


def time_limit(seconds: float) -> Callback:
    """Return a callback that ends a training in time: the clock starts now, and an epoch too long is not begun."""
    check_number("seconds", seconds, low=0, open_low=True)
    started = time.monotonic()

    def is_over(event: EpochEvent) -> bool:
        passed = time.monotonic() - started
        return passed + passed / (event.epoch + 1) > seconds

    return is_over


def drawn(model: B, generator: np.random.Generator) -> tuple[B, dict[str, Any]]:
    """Return an unfitted copy with learning rate, decay and the method's own settings drawn at random, and these.

    The weights of an objective are never drawn: objectives of different weights cannot be compared.
    """
    rate, decay = (float(np.exp(generator.uniform(*np.log(bounds)))) for bounds in (_RATES, _DECAYS))
    own = model._drawn(generator)
    training = replace(model.training or TrainConfig(), learning_rate=rate, weight_decay=decay)
    copied: B = clone(model).set_params(training=training, **own)
    return copied, {"learning_rate": rate, "weight_decay": decay, **own}


def tune_baseline(
    model: B,
    X: Any,
    y: Any = None,
    *,
    n_trials: int,
    seconds: float = math.inf,
    groups: Any = None,
    validation: Any = 0.1,
    callbacks: Sequence[Callback] = (),
) -> TunedBaseline[B]:
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
    seed = root_seed(model.random_state)
    best, trials, lowest = None, [], math.inf
    for trial in range(n_trials):
        candidate, changed = drawn(model, numpy_generator(seed, "tuning", trial)) if trial else (clone(model), {})
        candidate.set_params(random_state=seed)
        limits = [] if math.isinf(seconds) else [time_limit(seconds / n_trials)]
        started = time.monotonic()
        row: dict[str, Any] = {"settings": changed, "objective": math.inf, "ended": "divergence", "epochs": 0}
        try:
            candidate.fit(X, y, groups=groups, validation=validation, callbacks=[*callbacks, *limits])
        except TrainingDivergedError as error:
            failure = error
        else:
            if candidate.validation_objective_ is None:
                raise ValueError("validation holds too few rows to judge by; expected some to compare settings on")
            row |= {"objective": candidate.validation_objective_, "ended": candidate.ended_}
            row |= {"epochs": len(candidate.history_)}
        trials.append({**row, "seconds": time.monotonic() - started})
        if row["objective"] < lowest:
            best, lowest = candidate, row["objective"]
    if best is None:
        raise failure
    return TunedBaseline(best, trials)
