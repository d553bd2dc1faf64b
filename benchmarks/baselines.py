"""One epoch of each baseline with networks against one of the paper's recipe on the same networks, at MNIST's size.

The recipe has two steps of equally many epochs; its epoch is the mean of both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from benchmarks.rows import Row
from viewsplice._types import Networks
from viewsplice.baselines import DCCAE, DMVAE, DeepCCA, Karakasis, Lyu
from viewsplice.baselines.minibatches import MinibatchEpoch
from viewsplice.baselines.neural import NeuralBaseline
from viewsplice.baselines.settings import default_training
from viewsplice.config import GeometryConfig, TrainConfig
from viewsplice.geometry.targets import GeometryTargets
from viewsplice.model import SpliceNet
from viewsplice.networks import ConvNetworks, MLPNetworks
from viewsplice.preparation import Prepared, prepare
from viewsplice.training.alternating import AlternatingEpoch, TrainingData
from viewsplice.views import Views

_SHAPE = (28, 28)
_N_SHARED, _N_PRIVATE = 30, {"A": 0, "B": 2}
_ARROWS = {"A->B": _N_SHARED, "B->A": _N_SHARED}
# Convolutions take ten times as long per row; the ratio does not depend on the number of rows.
_CONV_ROWS_DIVISOR = 10
_METHODS: tuple[NeuralBaseline, ...] = (
    DeepCCA(_N_SHARED, form="maxvar"),
    DCCAE(_N_SHARED, form="maxvar"),
    Karakasis(_N_SHARED),
    Lyu(_N_SHARED, (0, 2)),
    DMVAE(_N_SHARED, (0, 2)),
)


def prepared_rows(n_rows: int) -> Prepared:
    """Return two views of MNIST's size, ready for training; the time of an epoch does not depend on the values."""
    generator = torch.Generator().manual_seed(0)
    views = Views({name: torch.randn(n_rows, *_SHAPE, generator=generator).numpy() for name in "AB"})
    training = TrainConfig.paper("rotated-mnist")
    return prepare(views, None, 0.0, device=torch.device("cpu"), training=training, seed=0)


def splice_epochs(prepared: Prepared, networks: Networks) -> dict[str, Callable[[], object]]:
    """Return an ordinary epoch of both steps of the paper's recipe (past warm-up, no measurement restart due)."""
    config, data, found = TrainConfig.paper("rotated-mnist"), prepared.data, {}
    landmarks = data.train[: GeometryConfig.paper("rotated-mnist").n_landmarks]
    generator = torch.Generator().manual_seed(0)
    targets = GeometryTargets(
        landmarks=landmarks,
        distances={
            space: torch.rand(len(data.train), len(landmarks), generator=generator) for space in ("B", *_ARROWS)
        },
        lambda_geo=1.0,
        units=dict.fromkeys(("B", *_ARROWS), 1.0),
    )
    for name, geometry in (("Step 1", None), ("Step 2", targets)):
        model = SpliceNet(dict.fromkeys("AB", _SHAPE), _N_PRIVATE, _ARROWS, networks, seed=0)
        train = AlternatingEpoch(model, data, config, lambda_dis=1.0, seed=0, targets=geometry)
        # The first epoch of disentangling creates the measurement optimizer; a few rows suffice for that.
        train.data = TrainingData(data.views, data.train[:200], data.validation, data.units)
        train(train.first_disentangling)
        train.data = data
        found[name] = partial(train, train.first_disentangling + 1)
    return found


def baseline_epoch(model: NeuralBaseline, prepared: Prepared, networks: Networks) -> Callable[[], object]:
    """Return one epoch of a baseline, in which targets are found where there are any."""
    training = default_training(len(prepared.data.train), model._batch_size, is_judged=model._is_judged)
    task = model._task(
        prepared, networks, (model.training or TrainConfig()).resolve(training), (_N_PRIVATE, _ARROWS), 0
    )
    epoch = MinibatchEpoch(model._objective(task))
    return partial(epoch, 0)


def fastest(variants: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the processor seconds of the quickest round of each, on one thread, all taking turns.

    Unlike the time on the wall, these hardly depend on what else the machine does.
    """
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(repeats):
        for name, run in variants.items():
            started = time.process_time()
            run()
            seconds[name].append(time.process_time() - started)
    torch.set_num_threads(n_threads)
    return {name: min(values) for name, values in seconds.items()}


def measure_baselines(n_rows: int, repeats: int) -> list[Row]:
    """Return for every baseline the larger ratio of two: with fully connected and with convolutional networks."""
    ratios: dict[str, dict[str, float]] = {}
    of_step1: dict[str, dict[str, float]] = {}
    sizes: tuple[tuple[Any, int], ...] = (
        (MLPNetworks.paper("rotated-mnist"), n_rows),
        (ConvNetworks(), n_rows // _CONV_ROWS_DIVISOR),
    )
    for networks, n_used in sizes:
        prepared = prepared_rows(n_used)
        variants = {type(m).__name__: baseline_epoch(m, prepared, networks) for m in _METHODS}
        best = fastest({**splice_epochs(prepared, networks), **variants}, repeats)
        kind, mean = type(networks).__name__, (best["Step 1"] + best["Step 2"]) / 2
        for method in variants:
            ratios.setdefault(method, {})[kind] = best[method] / mean
            of_step1.setdefault(method, {})[kind] = best[method] / best["Step 1"]
    return [
        Row(
            f"{method}, one MNIST epoch: processor time / paper recipe on the same networks",
            max(found.values()),
            at_most=1.0,
            detail={"rows": n_rows, "threads": 1, "by_networks": found, "of_step1": of_step1[method]},
        )
        for method, found in ratios.items()
    ]
