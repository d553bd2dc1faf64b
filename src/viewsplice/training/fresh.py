"""The held-out objective with measurement networks that never saw the encoders being trained."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from viewsplice._random import derive_seed, torch_generator
from viewsplice._types import TensorViews
from viewsplice.config import TrainConfig
from viewsplice.model import SpliceNet
from viewsplice.training.alternating import RunningMeans, TrainingData, adamw, shuffled_batches, train_measurers
from viewsplice.training.evaluation import evaluate
from viewsplice.training.loop import snapshot
from viewsplice.training.objectives import Units
from viewsplice.training.precision import mixed_precision

# Networks that lag behind make leakage look small; few rows must not mean few steps.
_LEAST_STEPS = 500


def fresh_terms(model: SpliceNet, views: TensorViews, units: Units, config: TrainConfig, seed: int) -> dict[str, float]:
    """Return ``rec/...``, ``pred/...`` and ``dis/...`` of all given rows, with fresh measurement networks.

    The rows are cut in two; each half is judged by networks trained on the other.
    """
    judged = copy.deepcopy(model)
    n_rows = len(next(iter(views.values())))
    halves = torch.randperm(n_rows, generator=torch_generator(seed, "halves")).tensor_split(2)
    sums: dict[str, float] = {}
    for fold, (train, held_out) in enumerate([(halves[0], halves[1]), (halves[1], halves[0])]):
        if judged.measurers:
            _train(judged, views, units, train, config, derive_seed(seed, "fresh", fold))
        for name, value in evaluate(judged, views, held_out, units).items():
            sums[name] = sums.get(name, 0.0) + value * len(held_out) / n_rows
    return sums


def _train(model: SpliceNet, views: TensorViews, units: Units, rows: Tensor, config: TrainConfig, seed: int) -> None:
    """Train new measurement networks on some rows, and keep them as they were when they predicted others best.

    Networks that went on to memorize their rows would vary without knowing anything, and vary is what ``dis`` counts.
    """
    model.reset_measurers(f"fresh/{seed}")
    n_judged = max(1, len(rows) // 5)
    judged, trained = rows[:n_judged], rows[n_judged:]
    data = TrainingData(views, trained.to(next(model.parameters()).device), judged, units)
    generator = torch_generator(seed, "batches")
    batch_size = min(config.batch_size, len(trained))
    n_passes = max(config.restart_passes, math.ceil(_LEAST_STEPS / (len(trained) // batch_size)))
    optimizer = adamw(model.measurement_parameters(), config)
    best, kept = math.inf, snapshot(model)
    precision = mixed_precision(config, data.train.device)

    def batches() -> Sequence[Tensor]:
        return shuffled_batches(data.train, batch_size, generator)

    for _ in range(n_passes):
        train_measurers(model, data, optimizer, batches, 1, RunningMeans(), precision)
        terms = evaluate(model, views, judged, units)
        error = sum(value for name, value in terms.items() if name.startswith("pred/"))
        if error < best:
            best, kept = error, snapshot(model)
    model.load_state_dict(kept)
