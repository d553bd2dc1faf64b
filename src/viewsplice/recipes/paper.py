"""Which stages run with which settings. Every stage is a call of the one training loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from viewsplice._random import derive_seed
from viewsplice._types import Networks, Shape
from viewsplice.config import GeometryConfig, TrainConfig
from viewsplice.exceptions import TrainingDivergedError
from viewsplice.geometry.targets import GeometryTargets, SpaceGeometry, as_targets, estimate_geometry
from viewsplice.model import SpliceNet
from viewsplice.networks import MLPNetworks
from viewsplice.training.alternating import AlternatingEpoch, TrainingData
from viewsplice.training.evaluation import evaluate, objective
from viewsplice.training.loop import Callback, History, Validation, run


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
        Widths of the latent spaces.
    settings, lambda_dis
        How to train, and the weight of disentangling.
    seed, callbacks
        Root of all seeds, and who is told after each epoch.
    """

    data: TrainingData
    shapes: Mapping[str, Shape]
    scales: Mapping[str, float]
    n_private: Mapping[str, int]
    n_shared: Mapping[str, int]
    settings: Settings
    lambda_dis: float
    seed: int
    callbacks: Sequence[Callback] = ()


@dataclass(frozen=True, eq=False)
class Solution:
    """A trained model, the geometry it was shaped by, and how it got there."""

    model: SpliceNet
    geometry: dict[str, SpaceGeometry]
    history: History


def choose_settings(
    recipe: str, networks: Networks | None, training: TrainConfig | None, geometry: GeometryConfig | str | None
) -> Settings:
    """Return complete settings: what the user left open is the recipe's own."""
    if recipe != "paper":
        raise ValueError(f"recipe is {recipe!r}; expected 'paper'")
    if isinstance(geometry, str) and geometry != "default":
        raise ValueError(f"geometry is {geometry!r}; expected a GeometryConfig, 'default', or None")
    own = GeometryConfig() if isinstance(geometry, str) else geometry
    if own is not None and not isinstance(own, GeometryConfig):
        raise TypeError(f"geometry is {own!r}; expected a GeometryConfig, 'default', or None")
    makers = ("encoder", "decoder", "measurer")
    if networks is not None and not all(callable(getattr(networks, name, None)) for name in makers):
        raise TypeError(
            f"networks is {networks!r}; expected MLPNetworks or the like, with {', '.join(makers)}, or None"
        )
    if training is not None and not isinstance(training, TrainConfig):
        raise TypeError(f"training is {training!r}; expected a TrainConfig or None")
    return Settings(
        recipe=recipe,
        networks=networks if networks is not None else MLPNetworks.paper(),
        training=(training or TrainConfig()).resolve(TrainConfig.paper()),
        geometry=own.resolve(GeometryConfig.paper()) if own is not None else None,
    )


@torch.enable_grad()
def solve(problem: Problem) -> Solution:
    """Fit; a fit that diverges starts over with a derived seed, up to ``max_restarts`` times.

    Every row of the history says which attempt it belongs to.
    """
    history: History = []
    for attempt in range(problem.settings.training.max_restarts + 1):
        seed = derive_seed(problem.seed, "attempt", attempt) if attempt else problem.seed
        done = len(history)
        try:
            return solve_paper(replace(problem, seed=seed), history)
        except TrainingDivergedError as error:
            failure = error
        finally:
            for row in history[done:]:
                row["attempt"] = attempt
    raise failure


def solve_paper(problem: Problem, history: History) -> Solution:
    """Fit by Algorithms 1 and 2, literally: disentangle, estimate geodesics once, fine-tune with fresh optimizers."""
    settings, like = problem.settings, next(iter(problem.data.views.values()))
    seed = derive_seed(problem.seed, "networks")
    model = SpliceNet(problem.shapes, problem.n_private, problem.n_shared, settings.networks, seed).to(like)
    train_stage("disentangle", model, problem, history)
    if settings.geometry is None:
        return Solution(model, {}, history)
    geometry = estimate_geometry(
        model,
        problem.data.views,
        problem.data.train,
        settings.geometry,
        spaces=model.spaces,
        scales=problem.scales,
        loss_scale=settings.training.loss_scale,
        seed=problem.seed,
    )
    targets = as_targets(geometry, settings.geometry.lambda_geo, like)
    train_stage("geometry", model, problem, history, targets)
    return Solution(model, geometry, history)


def train_stage(
    stage: str, model: SpliceNet, problem: Problem, history: History, targets: GeometryTargets | None = None
) -> None:
    """Run one stage of alternating training, judged on the validation rows where there are any."""
    data = problem.data
    epoch = AlternatingEpoch(
        model, data, problem.settings.training, lambda_dis=problem.lambda_dis, seed=problem.seed, targets=targets
    )

    def held_out(number: int) -> dict[str, float]:
        is_measured = number >= epoch.first_disentangling
        return evaluate(model, data.views, data.validation, data.units, with_measurers=is_measured)

    def judge(terms: dict[str, float]) -> float:
        return objective(terms, problem.lambda_dis)

    validation = Validation(held_out, judge, epoch.first_disentangling) if len(data.validation) else None
    run(stage, epoch, model, problem.settings.training, history, validation=validation, callbacks=problem.callbacks)
