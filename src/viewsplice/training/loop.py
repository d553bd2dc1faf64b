"""Epochs, history, validation, callbacks and the non-finite guard: used by SPLICE and by anything trained like it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from viewsplice._random import derive_seed
from viewsplice.config import TrainConfig
from viewsplice.exceptions import TrainingDivergedError
from viewsplice.spool import give_back
from viewsplice.training.checkpoints import StageCheckpoint, Standing

History = list[dict[str, Any]]
R = TypeVar("R")


@dataclass(frozen=True)
class EpochEvent:
    """What a callback sees after each epoch.

    Attributes
    ----------
    stage, epoch, n_epochs
        Where training is; epochs count from 0.
    terms
        The epoch's mean loss terms; those of the validation rows start with ``val/``.
    model
        The networks as they are now.
    """

    stage: str
    epoch: int
    n_epochs: int
    terms: dict[str, float]
    model: nn.Module


Callback = Callable[[EpochEvent], bool | None]
"""Called after each epoch; returning True ends the stage."""


@dataclass(frozen=True)
class Validation:
    """How a stage is judged on rows it is not trained on.

    Attributes
    ----------
    evaluate
        Returns the loss terms of the validation rows; the argument is the epoch.
    objective
        Returns one number from them, lower is better.
    first_epoch
        Epochs before this one do not compete for the best: they are not yet trained on the whole objective.
    """

    evaluate: Callable[[int], dict[str, float]]
    objective: Callable[[dict[str, float]], float]
    first_epoch: int = 0


def run(
    stage: str,
    train_epoch: Callable[[int], dict[str, float]],
    model: nn.Module,
    config: TrainConfig,
    history: History,
    *,
    validation: Validation | None = None,
    callbacks: Sequence[Callback] = (),
    checkpoint: StageCheckpoint | None = None,
) -> None:
    """Train one stage in place, appending one row per epoch to ``history``; a checkpoint is gone on from.

    Raises
    ------
    TrainingDivergedError
        After the first epoch with a non-finite term or weight; it carries the last finite weights.
    """
    give_back()
    standing = checkpoint.restore() if checkpoint else Standing()
    history += standing.rows
    finite = snapshot(model)
    while standing.n_epochs < config.epochs and not standing.is_finished:
        epoch = standing.n_epochs
        terms = train_epoch(epoch)
        is_judged = validation is not None and (epoch + 1) % config.validate_every == 0
        held_out = validation.evaluate(epoch) if validation is not None and is_judged else {}
        terms |= {f"val/{name}": value for name, value in held_out.items()}
        row = {"stage": stage, "epoch": epoch, **terms}
        history.append(row)
        culprit = _non_finite(terms, model)
        if culprit is not None:
            model.load_state_dict(finite)
            raise TrainingDivergedError(stage, epoch, culprit, history, finite)
        del finite  # before there is another: copies of the networks count
        finite = snapshot(model)
        standing.n_epochs += 1
        standing.rows.append(dict(row))
        if validation is not None and is_judged and epoch >= validation.first_epoch:
            # At a high learning rate terms get worse before they get better: only the second half of a decay counts.
            is_settling = config.schedule == "constant" or 2 * standing.n_epochs > config.epochs
            _compare(standing, validation.objective(held_out), finite, is_settling=is_settling)
        event = EpochEvent(stage, epoch, config.epochs, terms, model)
        answers = [callback(event) for callback in callbacks]
        if any(answers) or (config.patience and standing.n_worse >= config.patience):
            break
        if checkpoint:
            checkpoint.keep(standing)
    if config.keep_best and standing.best_weights:
        model.load_state_dict(standing.best_weights)
    if checkpoint and not standing.is_finished:
        checkpoint.finish(standing)


def _compare(standing: Standing, value: float, weights: dict[str, Tensor], *, is_settling: bool) -> None:
    """Note whether an epoch is the best so far; if not, that counts against the stage once it is settling."""
    if value < standing.best:
        standing.best, standing.best_weights, standing.n_worse = value, weights, 0
    elif is_settling:
        standing.n_worse += 1


def snapshot(model: nn.Module) -> dict[str, Tensor]:
    """Return a copy of all weights."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _non_finite(terms: dict[str, float], model: nn.Module) -> str | None:
    """Return the name of the first loss term, or else weight, that is not finite."""
    for name, value in terms.items():
        if not math.isfinite(value):
            return name
    return next((name for name, value in model.named_parameters() if not torch.isfinite(value).all()), None)


def restarting(attempt: Callable[[int], R], history: History, *, seed: int, max_restarts: int) -> R:
    """Return the first attempt that does not diverge; each but the first gets a derived seed.

    Every row of the history says which attempt it belongs to.
    """
    for number in range(max_restarts + 1):
        n_before = len(history)
        try:
            return attempt(derive_seed(seed, "attempt", number) if number else seed)
        except TrainingDivergedError as error:
            failure = error
        finally:
            for row in history[n_before:]:
                row["attempt"] = number
    raise failure
