"""How a baseline is trained: an objective, one epoch of minibatches on it, and a call of the one training loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from viewsplice._random import torch_generator
from viewsplice._types import LossTerms, TensorViews
from viewsplice.baselines.coders import Coders
from viewsplice.config import TrainConfig
from viewsplice.training.alternating import (
    RunningMeans,
    TrainingData,
    adamw,
    set_learning_rate,
    shuffled_batches,
    take,
)
from viewsplice.training.loop import Callback, EpochEvent, History, Validation, run

STAGE = "train"


@dataclass(frozen=True, eq=False)
class Task:
    """What an objective is about.

    Attributes
    ----------
    net, data, config
        What is trained, on what, and how (complete settings).
    n_shared, n_private
        Width of the shared code of every view, and of each view's private one.
    n_features
        By view, the number of values of one row in the user's data.
    seed
        Root of all seeds.
    """

    net: Coders
    data: TrainingData
    config: TrainConfig
    n_shared: int
    n_private: Mapping[str, int]
    n_features: Mapping[str, int]
    seed: int

    def training_batch(self, positions: Tensor) -> TensorViews:
        """Return all views of some of the training rows."""
        return take(self.data.views, self.data.train[positions])


class Objective(ABC):
    """What a baseline minimizes: terms of training batches, and of rows that are not trained on."""

    task: Task

    @property
    @abstractmethod
    def least_rows(self) -> int:
        """How many rows it takes for `held_out` to mean something."""

    @abstractmethod
    def begin(self, epoch: int) -> None:
        """Get ready for an epoch, such as by finding targets for it."""

    @abstractmethod
    def terms(self, positions: Tensor) -> LossTerms:
        """Return the loss of one batch; positions are within the training rows."""

    @abstractmethod
    def end(self, epoch: int) -> dict[str, float]:
        """Return what is to be logged once at the end of an epoch."""

    @abstractmethod
    def held_out(self, rows: Tensor) -> dict[str, float]:
        """Return the terms of rows that are not trained on; cheap enough for every epoch."""

    @abstractmethod
    def examined(self, rows: Tensor) -> dict[str, float]:
        """Return the terms of rows that are not trained on, as they count in a comparison of settings."""

    @abstractmethod
    def total(self, terms: Mapping[str, float]) -> float:
        """Return the number that is minimized, from its terms."""

    @abstractmethod
    def optimizers(self) -> list[torch.optim.Optimizer]:
        """Return the optimizers of what is trained against the encoders; they keep their own learning rates."""


class MinibatchEpoch:
    """Callable that trains for one epoch and returns the epoch's mean loss terms.

    Every batch is one step of all networks on one loss. Batches are never smaller than ``batch_size``: the rows that
    do not fill one are spread over the others, as correlations and densities over few rows mean nothing.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        task = objective.task
        self.config, self.train = task.config, task.data.train
        self.generator = torch_generator(task.seed, "batches", STAGE)
        self.optimizer = adamw(task.net.coder_parameters(), task.config)
        self.parameters = list(task.net.parameters())

    def __call__(self, epoch: int) -> dict[str, float]:
        """Train for one epoch (counted from 0)."""
        means = RunningMeans()
        self.objective.begin(epoch)
        others = self.objective.optimizers()
        batches = shuffled_batches(self.train, self.config.batch_size, self.generator)
        for i, positions in enumerate(batches):
            set_learning_rate(self.optimizer, self.config, epoch + i / len(batches))
            terms = self.objective.terms(positions)
            terms.total.backward(inputs=self.parameters)
            for optimizer in (self.optimizer, *others):
                optimizer.step()
            for parameter in self.parameters:
                parameter.grad = None
            means.add(terms.parts)
        return {**means.result(), **self.objective.end(epoch)}


def train(objective: Objective, history: History, judged: Tensor, callbacks: Sequence[Callback]) -> str:
    """Train in place by the one training loop; return what ended it: "epochs", "convergence" or "callback".

    Parameters
    ----------
    objective
        What to minimize.
    history
        Gets one row per epoch.
    judged
        Rows to judge by; none: the last epoch is kept.
    callbacks
        Told after each epoch; one that returns True ends the training.
    """
    task, is_stopped, n_before = objective.task, False, len(history)

    def tell(event: EpochEvent) -> bool:
        nonlocal is_stopped
        answers = [callback(event) for callback in callbacks]  # all of them are told
        is_stopped = any(answers)
        return is_stopped

    validation = Validation(lambda epoch: objective.held_out(judged), objective.total) if len(judged) else None
    run(STAGE, MinibatchEpoch(objective), task.net, task.config, history, validation=validation, callbacks=[tell])
    if is_stopped:
        return "callback"
    return "epochs" if len(history) - n_before == task.config.epochs else "convergence"
