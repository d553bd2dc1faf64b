"""What a recipe is given, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from viewsplice._types import Networks, Shape
from viewsplice.config import GeometryConfig, TrainConfig
from viewsplice.geometry.targets import SpaceGeometry
from viewsplice.model import SpliceNet
from viewsplice.training.alternating import TrainingData
from viewsplice.training.checkpoints import Checkpoints
from viewsplice.training.loop import Callback, History
from viewsplice.views import is_arrow


@dataclass(frozen=True)
class Choice:
    """Something that was chosen for the user.

    Attributes
    ----------
    value, reason
        What was chosen, and why, in a sentence.
    is_weak
        Whether the evidence would bear another choice as well.
    """

    value: float | int | str
    reason: str
    is_weak: bool = False


def doubts(choices: Mapping[str, Choice]) -> dict[str, str]:
    """Return what to be careful about, a sentence by the name of the choice: absent spaces, and weak evidence."""
    found = {}
    for name, choice in choices.items():
        what, _, space = name.partition("/")
        if what == "linear":
            found[name] = f"View {space}: {choice.reason}."
        elif space and (choice.is_weak or not choice.value):
            kind = "Shared" if is_arrow(space) else "Private"
            dimensions = f", {choice.value} dimension{'s' * (choice.value != 1)}"
            said = {
                "torn": " may be torn",
                "narrow": " may be too narrow",
                "told": " may not be private",
                "n_neighbors": ", distances",
            }
            found[name] = f"{kind} space {space}{said.get(what, dimensions)}: {choice.reason}."
    return found


@dataclass(frozen=True)
class Settings:
    """Complete settings of a fit; ``geometry=None`` is Step 1 alone."""

    recipe: str
    networks: Networks
    training: TrainConfig
    geometry: GeometryConfig | None


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything a recipe needs, complete and checked.

    Attributes
    ----------
    data, shapes, scales
        Tensors with their split; shape of one row, and user's units per network unit, of each view.
    n_private, n_shared
        Widths of the latent spaces; None where the recipe is to find them.
    settings, lambda_dis
        How to train, and the weight of disentangling.
    seed, callbacks
        Root of all seeds, and who is told after each epoch.
    checkpoints
        Where what has been done is kept, if anywhere.
    """

    data: TrainingData
    shapes: Mapping[str, Shape]
    scales: Mapping[str, float]
    n_private: Mapping[str, int | None]
    n_shared: Mapping[str, int | None]
    settings: Settings
    lambda_dis: float
    seed: int
    callbacks: Sequence[Callback] = ()
    checkpoints: Checkpoints | None = None

    @property
    def widths(self) -> dict[str, int | None]:
        """Widths of all spaces in one namespace."""
        return {**self.n_private, **self.n_shared}


@dataclass(frozen=True, eq=False)
class Solution:
    """A trained model, the geometry it was shaped by, how it got there, and what was chosen on the way."""

    model: SpliceNet
    geometry: dict[str, SpaceGeometry]
    history: History
    choices: dict[str, Choice] = field(default_factory=dict)
