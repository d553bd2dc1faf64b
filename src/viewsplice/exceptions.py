"""What can go wrong after the input was accepted: errors that carry what was reached, and three warnings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any


class DisconnectedGraphError(ValueError):
    """The neighbor graph of a latent space falls apart, and may not (or can no longer) grow."""

    def __init__(self, space: str, component_sizes: Sequence[int], n_neighbors: int) -> None:
        self.space = space
        self.component_sizes = tuple(component_sizes)
        self.n_neighbors = n_neighbors
        sizes = ", ".join(str(size) for size in self.component_sizes[:5])
        super().__init__(
            f"the neighbor graph of {space} has {len(self.component_sizes)} components "
            f"(largest: {sizes}) with n_neighbors={n_neighbors}; expected one connected graph: "
            "raise n_neighbors, set grow_by above 0, or remove isolated points"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.space, self.component_sizes, self.n_neighbors)


class TrainingDivergedError(RuntimeError):
    """A loss term or a weight became non-finite; carries the history and the last finite state.

    Attributes
    ----------
    stage, epoch, term
        Where it happened, and the name of the first non-finite term.
    history
        All epochs so far, the failed one last.
    state
        The ``state_dict`` of the networks after the last finite epoch.
    """

    def __init__(
        self,
        stage: str,
        epoch: int,
        term: str,
        history: Sequence[Mapping[str, Any]] = (),
        state: Mapping[str, Any] | None = None,
    ) -> None:
        self.stage = stage
        self.epoch = epoch
        self.term = term
        self.history = list(history)
        self.state = dict(state or {})
        super().__init__(
            f"training diverged: {term} became non-finite in epoch {epoch} of stage {stage!r}; "
            "lower the learning rate or look for extreme values in the data "
            "(the last finite weights are in this error's `state`)"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.stage, self.epoch, self.term, self.history, self.state)


class GeometryWarning(UserWarning):
    """The geometry step met duplicate points, a neighborhood that had to grow, or a collapsed space."""


class AutocorrelationWarning(UserWarning):
    """Neighboring rows are alike, and held-out rows lie between training rows."""


class RestartWarning(UserWarning):
    """A fit diverged or collapsed, and another one, with a derived seed, took its place."""


def warn_of_restarts(history: Sequence[Mapping[str, Any]]) -> None:
    """Warn the caller's caller if the last epoch belongs to another attempt than the first."""
    n_restarts = history[-1]["attempt"] if history else 0
    if n_restarts:
        warnings.warn(
            f"training diverged or collapsed {n_restarts} time{'s' * (n_restarts > 1)} and was started over with "
            "another seed, derived from random_state; history_ has all attempts: if it happens often, lower the "
            "learning rate or look for extreme values in the data",
            RestartWarning,
            stacklevel=3,
        )
