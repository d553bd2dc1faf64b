"""What recipe "auto" costs against the paper's budget, how that grows with the rows, and where the time goes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.reference import Reference, by_index, epoch
from benchmarks.rows import Row
from viewsplice import SPLICE, TrainConfig
from viewsplice.datasets import MultiViewData, lgn_v1, rotated_mnist
from viewsplice.training.loop import EpochEvent

_LGN_EPOCHS, _MNIST_EPOCHS = 25_000, 100
_GEMM = 1024


class Stages:
    """A callback that notes how long each stage took; what comes between stages counts to the next one."""

    def __init__(self) -> None:
        self.last = self.started = time.perf_counter()
        self.seconds: Counter[str] = Counter()

    def __call__(self, event: EpochEvent) -> None:
        """Note the time since the last epoch."""
        now = time.perf_counter()
        self.seconds[event.stage if event.epoch else f"before and in the first epoch of {event.stage}"] += (
            now - self.last
        )
        self.last = now


def timed_fit(data: MultiViewData, **settings: Any) -> tuple[SPLICE, float, dict[str, float]]:
    """Return a fit, the seconds it took, everything included, and how they divide."""
    views, validation = data.training()
    stages = Stages()
    model = SPLICE(random_state=0, **settings).fit(views, validation=validation, callbacks=[stages])
    return model, time.perf_counter() - stages.started, dict(stages.seconds)


def reference_epoch(
    data: MultiViewData, hidden: tuple[int, ...], widths: tuple[int, tuple[int, int]], batch: int
) -> float:
    """Return the seconds of one epoch of the reference on a data set's training rows: the median of three."""
    rows = data.split["train"]
    a, b = (
        torch.from_numpy(np.asarray(x[rows], dtype=np.float32).reshape(len(rows), -1))
        for x in data.views.arrays.values()
    )
    nets = Reference((a.shape[1], b.shape[1]), *widths, hidden)
    variances = (float(a.var(dim=0).sum()), float(b.var(dim=0).sum()))
    return median(_seconds(lambda: epoch(nets, by_index(a, b, batch), variances, 5)) for _ in range(3))


def measure_lgn(n_trials: int) -> list[Row]:
    """Return the time of LGN-V1 with widths found, over 25,000 full-batch epochs of the reference."""
    data = lgn_v1(n_trials)
    one = reference_epoch(data, (200,) * 6, (2, (1, 1)), len(data.split["train"]))
    model, seconds, stages = timed_fit(data)
    detail = {
        "rows": len(data.split["train"]),
        "seconds": seconds,
        "stages": stages,
        "reference_epoch_seconds": one,
        "n_shared": model.n_shared_,
        "n_private": model.n_private_,
    }
    ratio = seconds / (one * _LGN_EPOCHS)
    return [
        Row(
            "recipe auto, LGN-V1, widths found: time / 25,000 epochs of the reference",
            ratio,
            at_most=0.001,
            detail=detail,
        )
    ]


def measure_mnist(n_samples: int) -> list[Row]:
    """Return the time of both steps on rotated MNIST, over 100 epochs of the reference's Step 1."""
    data = rotated_mnist(n_samples)
    one = reference_epoch(data, (256, 128, 64, 32), (30, (0, 2)), 100)
    _, seconds, stages = timed_fit(data, n_shared=30, n_private=(0, 2))
    detail = {
        "rows": len(data.split["train"]),
        "seconds": seconds,
        "stages": stages,
        "reference_epoch_seconds": one,
    }
    ratio = seconds / (one * _MNIST_EPOCHS)
    return [
        Row(
            "recipe auto, rotated MNIST: time / 100 epochs of the reference's Step 1", ratio, at_most=0.1, detail=detail
        )
    ]


def measure_growth(sizes: tuple[int, ...]) -> list[Row]:
    """Return the largest growth of the time of a fit when the rows double."""
    seconds = {}
    for n_rows in sizes:
        data = lgn_v1(round(n_rows / 0.8))
        seconds[n_rows] = timed_fit(data, n_shared=2, n_private=1)[1]
    growth = max(seconds[b] / seconds[a] / (b / a) for a, b in pairwise(sizes))
    name = f"recipe auto, {sizes[0]:,} to {sizes[-1]:,} rows: time per row after doubling / before, largest"
    return [Row(name, growth, at_most=1.1, detail={"seconds": seconds})]


def measure_rate(n_trials: int) -> list[Row]:
    """Return the fraction of the machine's matrix-multiplication rate that one epoch of the scout achieves."""
    data = lgn_v1(n_trials)
    views, validation = data.training()
    peak = _gemm_rate()
    budget = TrainConfig(scout_epochs=4, epochs=1, regression_epochs=0, disentangle_after=0.5)
    moments: list[float] = []
    flops: list[int] = []
    with FlopCounterMode(display=False) as counter:
        SPLICE(2, 1, training=budget, random_state=0).fit(
            views, validation=validation, callbacks=[lambda _: flops.append(counter.get_total_flops())]
        )
    SPLICE(2, 1, training=budget, random_state=0).fit(
        views, validation=validation, callbacks=[lambda _: moments.append(time.perf_counter())]
    )
    rate = (flops[3] - flops[2]) / (moments[3] - moments[2])
    detail = {"gemm_per_second": peak, "achieved_per_second": rate, "share_of_time": _profile(data)}
    return [
        Row(
            "recipe auto, one scout epoch: matrix arithmetic per second / the machine's rate",
            rate / peak,
            detail=detail,
        )
    ]


def _profile(data: MultiViewData) -> dict[str, float]:
    """Return which share of one epoch's time each kind of operation takes."""
    views, validation = data.training()
    budget = TrainConfig(scout_epochs=2, epochs=1, regression_epochs=0, disentangle_after=0.0)
    kinds = {"mm": "matrix products", "layer_norm": "layer norms", "adamw": "optimizer", "index": "gathering batches"}
    profiler = torch.profiler.profile()
    with profiler:
        SPLICE(2, 1, training=budget, geometry="default", random_state=0).fit(
            views, validation=validation, callbacks=[lambda event: event.stage == "scout"]
        )
    shares: Counter[str] = Counter()
    for event in profiler.key_averages():
        kind = next((label for key, label in kinds.items() if key in event.key), "everything else")
        shares[kind] += event.self_cpu_time_total
    total = sum(shares.values())
    return {kind: round(value / total, 3) for kind, value in shares.most_common()}


def _gemm_rate() -> float:
    a, b = torch.randn(_GEMM, _GEMM), torch.randn(_GEMM, _GEMM)
    return 2 * _GEMM**3 / min(_seconds(lambda: a @ b) for _ in range(20))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
