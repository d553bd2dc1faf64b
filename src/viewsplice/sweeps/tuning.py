"""The paper's protocol of tuning: discrete values, a tree-structured Parzen estimator, successive halving.

Settings are judged by the held-out objective alone, sum of rec + lambda_dis x sum of dis with fresh measurement
networks: no truth, no label and no covariate takes part.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sklearn.base import clone

from viewsplice._random import RandomState, numpy_generator, root_seed
from viewsplice.config import TrainConfig, check_number
from viewsplice.estimator import SPLICE
from viewsplice.exceptions import TrainingDivergedError
from viewsplice.io import joint_fingerprint, json_text
from viewsplice.ordering import row_order
from viewsplice.persistence import settings_to_json
from viewsplice.preparation import paired_views
from viewsplice.splits import Blocks
from viewsplice.sweeps.fits import quiet_fit
from viewsplice.sweeps.search import Search, Trial, best_of
from viewsplice.sweeps.space import SearchSpace, own_settings, own_values, with_values
from viewsplice.sweeps.sweep import Sweep
from viewsplice.sweeps.tasks import Task
from viewsplice.views import Views, as_views

_JUDGED = 0.2
# Fewer rows than this have no objective: half of them train its networks, and half judge.
_FEWEST_JUDGED = 4
# Of the other rows, those that a fit trains on.
_TRAINED = 0.9
_LENGTHS = ("epochs", "scout_epochs", "regression_epochs")


@dataclass(frozen=True, eq=False)
class Tuning:
    """What a search found.

    Attributes
    ----------
    best
        Parameters of the best estimator: ``SPLICE(**tuning.best)``.
    trials
        Every choice that was tried.
    notes
        How it was done.
    """

    best: Mapping[str, Any]
    trials: Sequence[Trial]
    notes: Sequence[str]

    def to_json(self) -> str:
        """Return everything as JSON; ``best`` is what a settings file holds."""
        return json_text({**vars(self), "best": settings_to_json(self.best)})


@dataclass(frozen=True, eq=False)
class _Given:
    """Rows to fit, rows to judge by, and how validation rows are taken from the former."""

    train: Views
    judged: Views
    validation: Any


def tune(
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    n_trials: int = 30,
    model: SPLICE | None = None,
    space: SearchSpace | None = None,
    sweep: Sweep | None = None,
    random_state: RandomState = 0,
) -> Tuning:
    """Return the settings with the lowest objective on rows that no fit saw (needs the extra ``tune``).

    A fifth of the rows judges: whole groups, or one run with a gap where rows are like their neighbors. Widths that
    are ``"auto"`` are found by a first fit and held. Under recipe ``"paper"`` Step 1 alone is trained, as there.

    Parameters
    ----------
    X, y, groups
        As for ``fit``.
    n_trials
        Choices tried; the first is the estimator as it is, if the space has it.
    model
        Where to start from; None: ``SPLICE()``.
    space
        Values to choose from; None: `SearchSpace.of` the estimator.
    sweep
        How the fits are run; with a folder, the same search given again goes on where it stopped.
    random_state
        Seed of the split, of the search and of all fits.
    """
    check_number("n_trials", n_trials, low=1, integer=True)
    seed, sweep = root_seed(random_state), sweep or Sweep()
    views = paired_views(as_views(X, y), groups)
    order = row_order(views)
    train, judged = order.split(_JUDGED, numpy_generator(seed, "tuning", "split"))
    if len(judged) < _FEWEST_JUDGED:
        raise ValueError(
            f"got {len(views)} rows, of which {len(judged)} would judge; expected at least {_FEWEST_JUDGED} that do: "
            "add rows"
        )
    given = _Given(views[train], views[judged], Blocks(gap=order.gap) if order.reach else 1 - _TRAINED)
    about = {"sweep": "tune", "version": 1, "data": joint_fingerprint(views), "seed": seed}
    start = (clone(model) if model is not None else SPLICE()).set_params(random_state=seed)
    start, notes = _with_widths(start, given, about, sweep)
    size = int(_TRAINED * len(train)), max(math.prod(shape) for shape in views.feature_shapes.values())
    space = space if space is not None else SearchSpace.of(start, *size)
    about |= {"estimator": settings_to_json(start.get_params(deep=False))}
    search = Search(
        choices=space.choices(),
        first=own_values(start, space, *size),
        task=partial(_training, start, size, about),
        data=given,
        seed=seed,
    )
    trials = search.run(n_trials, sweep)
    best = best_of(trials)
    notes += [
        f"There are {order}; {len(judged):,} of {len(views):,} rows judged, and no fit saw them.",
        f"Trial {best.number} is the best of {len(trials)}, with a held-out objective of {best.value:.4f}.",
    ]
    return Tuning(with_values(start, best.settings, *size).get_params(deep=False), trials, notes)


def _with_widths(start: SPLICE, given: _Given, about: Mapping[str, Any], sweep: Sweep) -> tuple[SPLICE, list[str]]:
    """Return the estimator with all widths given: where they are to be found, one fit finds them."""
    if not any(_is_open(widths) for widths in (start.n_shared, start.n_private)):
        return start, []
    settings = {**about, "estimator": settings_to_json(start.get_params(deep=False))}
    [found] = Sweep(1, sweep.backend, sweep.folder).run([Task("widths", settings, partial(_find_widths, start))], given)
    words = ", ".join(f"{space} {width}" for space, width in {**found["n_shared"], **found["n_private"]}.items())
    return start.set_params(**found), [f"Widths were found by a first fit and held: {words}."]


def _is_open(widths: Any) -> bool:
    each = widths.values() if isinstance(widths, Mapping) else widths if isinstance(widths, tuple | list) else [widths]
    return any(isinstance(value, str) for value in each)


def _find_widths(start: SPLICE, given: _Given) -> dict[str, Any]:
    model = quiet_fit(start, given.train, validation=given.validation)
    return {"n_shared": model.n_shared_, "n_private": model.n_private_}


def _training(
    start: SPLICE, size: tuple[int, int], about: Mapping[str, Any], values: Mapping[str, Any], budget: float
) -> Task:
    """Return the task that trains some settings on a fraction of the epochs and judges them.

    ``size`` is the number of rows to train on, and of features of the widest view: they decide what is left open.
    """
    name = ", ".join([f"{setting} {value:g}" for setting, value in values.items()])
    model = _shortened(with_values(start, values, *size), size, budget)
    if model.recipe == "paper":
        model.set_params(geometry=None)
    settings = {**about, "values": dict(values), "budget": round(budget, 6)}
    return Task(f"budget {budget:.2f}, {name}", settings, partial(_judge, model))


def _shortened(model: SPLICE, size: tuple[int, int], budget: float) -> SPLICE:
    """Return the estimator with a fraction of its epochs, in every stage."""
    if budget == 1:
        return model
    own = own_settings(model, *size).training
    lengths = {name: getattr(own, name) for name in _LENGTHS}
    fewer = {name: max(1, round(budget * length)) for name, length in lengths.items() if length}
    shorter: SPLICE = model.set_params(training=replace(model.training or TrainConfig(), **fewer))
    return shorter


def _judge(model: SPLICE, given: _Given) -> dict[str, Any]:
    """Return the objective of a fit on the rows that judge; None if it diverges."""
    started = time.monotonic()
    try:
        value = quiet_fit(model, given.train, validation=given.validation).objective(given.judged)
    except TrainingDivergedError:
        value = None
    return {"value": value, "seconds": time.monotonic() - started}
