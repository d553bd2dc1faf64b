"""One epoch of the paper's recipe against the reference, at the MNIST settings."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from benchmarks.reference import Batches, Reference, by_data_loader, by_index, epoch
from benchmarks.rows import Row
from viewsplice.config import TrainConfig
from viewsplice.model import SpliceNet
from viewsplice.networks import MLPNetworks
from viewsplice.training.alternating import AlternatingEpoch, TrainingData

N_FEATURES = 784
N_SHARED = 30
N_PRIVATE = (0, 2)
HIDDEN = (256, 128, 64, 32)


def mnist_like(n_rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two views of MNIST's size; the time of an epoch does not depend on the values."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n_rows, N_FEATURES, generator=generator), torch.randn(n_rows, N_FEATURES, generator=generator)


def reference_epoch(batches: Batches, config: TrainConfig) -> Callable[[], object]:
    """Return one epoch of the reference as a function without arguments."""
    nets = Reference((N_FEATURES, N_FEATURES), N_SHARED, N_PRIVATE, HIDDEN)
    return lambda: epoch(nets, batches, (float(N_FEATURES), float(N_FEATURES)), config.n_msr)


def package_epoch(a: torch.Tensor, b: torch.Tensor, config: TrainConfig) -> Callable[[], object]:
    """Return one ordinary epoch of the package (past warm-up, no measurement restart due)."""
    shapes = {"A": (N_FEATURES,), "B": (N_FEATURES,)}
    model = SpliceNet(shapes, {"A": 0, "B": 2}, {"A->B": N_SHARED, "B->A": N_SHARED}, MLPNetworks(HIDDEN), seed=0)
    rows = torch.arange(len(a))
    data = TrainingData({"A": a, "B": b}, rows, rows[:0], {"A": float(N_FEATURES), "B": float(N_FEATURES)})
    train = AlternatingEpoch(model, data, config, lambda_dis=1.0, seed=0)
    # The first epoch of disentangling creates the measurement optimizer; a few rows suffice for that.
    train.data = TrainingData(data.views, rows[:200], rows[:0], data.units)
    train(train.first_disentangling)
    train.data = data
    return lambda: train(train.first_disentangling + 1)


def measure_epochs(n_rows: int, repeats: int) -> list[Row]:
    """Return epoch times, all variants taking turns so that a busy machine slows them alike."""
    config = TrainConfig.paper("rotated-mnist")
    a, b = mnist_like(n_rows)
    variants = {
        "package": package_epoch(a, b, config),
        "reference": reference_epoch(by_index(a, b, config.batch_size), config),
        "reference with DataLoader": reference_epoch(by_data_loader(a, b, config.batch_size), config),
    }
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(repeats):
        for name, run in variants.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
    # The quietest round of each: whatever else the machine does only ever adds time.
    best = {name: min(values) for name, values in seconds.items()}
    detail = {"rows": n_rows, "threads": torch.get_num_threads(), "seconds": best, "all_seconds": seconds}
    ratio = best["package"] / best["reference"]
    loader = best["package"] / best["reference with DataLoader"]
    return [
        Row("paper recipe, one MNIST epoch: time / reference", ratio, at_most=0.7, detail=detail),
        Row("paper recipe, one MNIST epoch: time / reference with DataLoader", loader, detail={"rows": n_rows}),
    ]
