"""One stage of a recipe: a call of the one training loop, judged on the validation rows where there are any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from viewsplice._random import derive_seed, torch_generator
from viewsplice._types import Networks
from viewsplice.config import GeometryConfig, TrainConfig
from viewsplice.geometry.targets import GeometryTargets, SpaceGeometry, estimate_geometry
from viewsplice.model import SpliceNet
from viewsplice.recipes.problem import Problem
from viewsplice.training.alternating import AlternatingEpoch
from viewsplice.training.checkpoints import StageCheckpoint, Trainer
from viewsplice.training.evaluation import evaluate, objective
from viewsplice.training.loop import History, Validation, run
from viewsplice.training.regression import RegressionEpoch
from viewsplice.views import is_arrow


def new_model(problem: Problem, widths: Mapping[str, int], networks: Networks, *, name: str) -> SpliceNet:
    """Return untrained networks for the problem's views, seeded by ``name``."""
    like = next(iter(problem.data.views.values()))
    model = SpliceNet(
        problem.shapes,
        {space: width for space, width in widths.items() if not is_arrow(space)},
        {space: width for space, width in widths.items() if is_arrow(space)},
        networks,
        derive_seed(problem.seed, name),
        scale_free=problem.settings.recipe == "auto",
    )
    return model.to(like)


def measure_geometry(model: SpliceNet, problem: Problem, config: GeometryConfig) -> dict[str, SpaceGeometry]:
    """Return distances along the submanifolds of a trained model's spaces, on the training rows."""
    return estimate_geometry(
        model,
        problem.data.views,
        problem.data.train,
        config,
        spaces=model.spaces,
        scales=problem.scales,
        loss_scale=problem.settings.training.loss_scale,
        seed=problem.seed,
    )


def train_stage(
    stage: str,
    model: SpliceNet,
    problem: Problem,
    history: History,
    *,
    config: TrainConfig | None = None,
    targets: GeometryTargets | None = None,
) -> None:
    """Run one stage of Algorithm 1, or of Algorithm 2 with targets."""
    data, config = problem.data, config or problem.settings.training
    epoch = AlternatingEpoch(model, data, config, lambda_dis=problem.lambda_dis, seed=problem.seed, targets=targets)

    order = torch.randperm(len(data.validation), generator=torch_generator(problem.seed, "judged"))
    judged = data.validation[order[: config.judged_rows or None].to(data.validation.device)]

    def held_out(number: int) -> dict[str, float]:
        is_measured = number >= epoch.first_disentangling
        return evaluate(model, data.views, judged, data.units, with_measurers=is_measured)

    def judge(terms: dict[str, float]) -> float:
        return objective(terms, problem.lambda_dis)

    validation = Validation(held_out, judge, epoch.first_disentangling) if len(data.validation) else None
    run(
        stage,
        epoch,
        model,
        config,
        history,
        validation=validation,
        callbacks=problem.callbacks,
        checkpoint=_checkpoint(stage, model, problem, epoch),
    )


def train_regression(
    model: SpliceNet, problem: Problem, history: History, *, config: TrainConfig, coordinates: Mapping[str, Tensor]
) -> None:
    """Run the stage in which networks learn given coordinates; it is not judged, only begun with."""
    seed = derive_seed(problem.seed, "regression")
    epoch = RegressionEpoch(model, problem.data, config, coordinates=coordinates, seed=seed)
    plain = replace(config, patience=0, keep_best=False)
    kept = _checkpoint("regression", model, problem, epoch)
    run("regression", epoch, model, plain, history, callbacks=problem.callbacks, checkpoint=kept)


def _checkpoint(stage: str, model: SpliceNet, problem: Problem, trainer: Trainer) -> StageCheckpoint | None:
    if problem.checkpoints is None:
        return None
    return problem.checkpoints.stage(stage, problem.seed, model, trainer)
