"""What a fit keeps while it runs: after an interruption it goes on from there, and ends with the same bits.

A stage has one file. It holds the networks, the best ones so far, what the optimizers remember and where the random
numbers are; a stage that has ended holds its networks alone. Names begin with a hash of data and settings, so that
another fit neither uses nor destroys them.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from viewsplice.io import remove_leftovers, settings_hash, write_atomic

# Epochs may be shorter than it takes to write a file: at most one twentieth of the time is spent on writing.
_SECONDS_BETWEEN_FILES = 1.0
_WRITINGS_BETWEEN_FILES = 20
# Another fit may be writing into the same folder; nobody takes so long between two pieces of a file.
_SECONDS_TO_WRITE = 600.0
_FORMAT = "viewsplice checkpoint 1"

Weights = dict[str, Tensor]


class Trainer(Protocol):
    """Trains for one epoch at a time, and can tell everything that the next epoch depends on besides the networks."""

    def tensors(self) -> dict[str, Tensor]:
        """Return what optimizers and random numbers have come to."""
        ...

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take up what `tensors` returned."""
        ...


@dataclass
class Standing:
    """How far a stage has come.

    Attributes
    ----------
    n_epochs
        Epochs done.
    rows
        Their rows of the history.
    best, best_weights
        The lowest held-out objective and the networks that had it.
    n_worse
        Judged epochs since.
    is_finished
        Whether the stage has ended.
    """

    n_epochs: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    best: float = math.inf
    best_weights: Weights = field(default_factory=dict)
    n_worse: int = 0
    is_finished: bool = False


class Checkpoints:
    """The files of one fit in a folder, which is made if need be.

    Parameters
    ----------
    folder
        Where they are; it may hold those of other fits.
    identity
        JSON values that change with anything the fit depends on.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.key = settings_hash(identity)
        self.folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(self.folder, seconds=_SECONDS_TO_WRITE)

    def stage(self, name: str, seed: int, model: nn.Module, trainer: Trainer) -> StageCheckpoint:
        """Return the file of one stage; ``seed`` tells attempts apart."""
        return StageCheckpoint(self.folder / f"{self.key}-{name}-{seed:x}.safetensors", model, trainer)


class StageCheckpoint:
    """The file of one stage, and the networks and trainer whose standing it holds."""

    def __init__(self, path: Path, model: nn.Module, trainer: Trainer) -> None:
        self.path = path
        self.model = model
        self.trainer = trainer
        self._next = time.monotonic() + _SECONDS_BETWEEN_FILES

    def restore(self) -> Standing:
        """Bring networks and trainer to where the file has them; without a readable file nothing changes."""
        if not self.path.is_file():
            return Standing()
        try:
            standing, tensors = self._read()
            self.model.load_state_dict(tensors_of(tensors, "networks"))
            if not standing.is_finished:
                self.trainer.load_tensors(tensors_of(tensors, "trainer"))
        except (safetensors.SafetensorError, OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            raise ValueError(
                f"{self.path} is damaged ({' '.join(str(error).split())[:200]}); expected what a fit wrote: remove the "
                "file to start this stage over"
            ) from error
        return standing

    def keep(self, standing: Standing) -> None:
        """Write the standing after an epoch, unless that was done a moment ago."""
        if time.monotonic() >= self._next:
            self._write(standing, {"trainer": self.trainer.tensors(), "best": standing.best_weights})

    def finish(self, standing: Standing) -> None:
        """Write the networks of a stage that has ended."""
        standing.is_finished = True
        self._write(standing, {})

    def _write(self, standing: Standing, parts: Mapping[str, Mapping[str, Tensor]]) -> None:
        told = {name: value for name, value in vars(standing).items() if name != "best_weights"}
        told["best"] = standing.best if math.isfinite(standing.best) else None
        tensors = {
            f"{part}/{name}": value.detach().cpu().contiguous()
            for part, values in {"networks": self.model.state_dict(), **parts}.items()
            for name, value in values.items()
        }
        metadata = {"format": _FORMAT, "standing": json.dumps(told)}
        started = time.monotonic()
        try:
            write_atomic(self.path, safetensors.torch.save(tensors, metadata=metadata))
        except OSError as error:
            warnings.warn(
                f"the fit goes on, but could not write {self.path} ({error}): if it is interrupted now, it goes on "
                "from an earlier epoch",
                UserWarning,
                stacklevel=2,
            )
        ended = time.monotonic()
        self._next = ended + max(_SECONDS_BETWEEN_FILES, _WRITINGS_BETWEEN_FILES * (ended - started))

    def _read(self) -> tuple[Standing, Weights]:
        with safetensors.safe_open(self.path, framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != _FORMAT:
                raise ValueError("of another format")
            told = json.loads(metadata["standing"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        told["best"] = math.inf if told["best"] is None else told["best"]
        return Standing(**told, best_weights=tensors_of(tensors, "best")), tensors


def tensors_of(tensors: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    """Return those whose names begin with ``part/``, without it."""
    return {name.removeprefix(f"{part}/"): x for name, x in tensors.items() if name.startswith(f"{part}/")}


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return what an optimizer remembers of every parameter that has had a step, by number and name."""
    return {
        f"{i}/{name}": value
        for i, parameter in enumerate(_parameters(optimizer))
        for name, value in optimizer.state.get(parameter, {}).items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Give a new optimizer of the same parameters what `optimizer_tensors` returned."""
    parameters = _parameters(optimizer)
    for key, value in tensors.items():
        number, name = key.split("/")
        parameter = parameters[int(number)]
        optimizer.state[parameter][name] = value.clone().to(parameter.device)


def _parameters(optimizer: torch.optim.Optimizer) -> list[nn.Parameter]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
