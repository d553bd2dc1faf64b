"""What each part of recipe "auto" buys on 6,000 trials of LGN-V1: ``python -m benchmarks.ablation [NAME ...]``.

One part is left out or replaced at a time; data, seed, split and all else stay as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from viewsplice import SPLICE, GeometryConfig, TrainConfig
from viewsplice.datasets import lgn_v1
from viewsplice.io import write_json
from viewsplice.metrics import linear_r2, reconstruction_r2
from viewsplice.model import SpliceNet
from viewsplice.recipes.settings import auto_networks
from viewsplice.views import is_arrow

N_TRIALS = 6_000


@contextmanager
def cold_start() -> Iterator[None]:
    """Let compact networks begin untrained."""
    with mock.patch.object(SpliceNet, "start_from", autospec=True, return_value=None):
        yield


@contextmanager
def raw_measurement() -> Iterator[None]:
    """Let measurement networks see latents at whatever scale they have."""
    plain = SpliceNet.__init__

    def init(self: SpliceNet, *arguments: Any, scale_free: bool = False) -> None:
        plain(self, *arguments, scale_free=False)

    with mock.patch.object(SpliceNet, "__init__", init):
        yield


VARIANTS: dict[str, dict[str, Any]] = {
    "everything": {},
    "no scout, no geometry (Step 1 at the final widths)": {"geometry": None},
    "compact networks start untrained": {"patch": cold_start},
    "no regression on landmark-MDS coordinates": {"training": TrainConfig(regression_epochs=0)},
    "no Fourier features": {"networks": replace(auto_networks(), n_frequencies=0)},
    "blocks without gates": {"networks": replace(auto_networks(), gated=False)},
    "100 neighbors, the paper's first k": {"geometry": GeometryConfig(n_neighbors=100)},
    "no smoothing of decoded points": {"geometry": GeometryConfig(smoothing=0)},
    "Adam remembers 1,000 steps (beta2 = 0.999)": {"training": TrainConfig(beta2=0.999)},
    "Adam averages ten gradients (beta1 = 0.9)": {"training": TrainConfig(beta1=0.9)},
    "little weight decay (0.01)": {"training": TrainConfig(weight_decay=0.01)},
    "products in float32": {"training": TrainConfig(precision="float32")},
    "no input noise": {"training": TrainConfig(input_noise=0.0)},
    "no geometric loss (regression only)": {"geometry": GeometryConfig(lambda_geo=0.0)},
    "measurement of latents as they are": {"patch": raw_measurement},
    "noise 0.4: everything": {"noise": 0.4},
    "noise 0.4: no smoothing of decoded points": {"noise": 0.4, "geometry": GeometryConfig(smoothing=0)},
    "noise 0.4: no input noise": {"noise": 0.4, "training": TrainConfig(input_noise=0.0)},
}
# What a variant says besides the settings of the estimator.
_BESIDE = ("patch", "noise")


def run(variant: dict[str, Any], seed: int = 0) -> dict[str, float]:
    """Return figures of test rows and the processor time of one fit."""
    settings = {name: value for name, value in variant.items() if name not in _BESIDE}
    data = lgn_v1(N_TRIALS, noise=variant.get("noise", 0.0), random_state=seed)
    views, validation = data.training()
    started = time.process_time()  # of this process: other load on the machine does not count
    with ExitStack() as stack:
        if "patch" in variant:
            stack.enter_context(variant["patch"]())
        model = SPLICE(2, 1, random_state=seed, **settings).fit(views, validation=validation)
    seconds = time.process_time() - started
    train, test = data.rows("train"), data.rows("test")
    before, after = model.transform(train.views).spaces(), model.transform(test.views).spaces()
    factors, truth = train.factors(), test.factors()
    shared = [
        float(linear_r2(z, factors[name], after[space], truth[name])[0])
        for space, z in before.items()
        if is_arrow(space)
        for name in data.shared
    ]
    private = [
        float(linear_r2(before[view], factors[f"{view}/position"], after[view], truth[f"{view}/position"])[0])
        for view in data.views.names
    ]
    leaks = []
    for view in data.views.names:
        spread = np.sqrt(before[view].var(axis=0).sum())
        probe = KNeighborsRegressor(30).fit(before[view] / spread, np.column_stack([factors[n] for n in data.shared]))
        found = probe.predict(after[view] / spread)
        leaks += [1 - ((found[:, i] - truth[n]) ** 2).mean() / truth[n].var() for i, n in enumerate(data.shared)]
    rebuilt = model.reconstruct(test.views)
    return {
        "shared": min(shared),
        "private": min(private),
        "leak": float(max(leaks)),
        "reconstruction": min(reconstruction_r2(x, rebuilt[name]) for name, x in test.views.arrays.items()),
        "seconds": seconds,
    }


def main() -> int:
    """Run variants and merge their results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {'; '.join(VARIANTS)} (default: all)")
    parser.add_argument("--out", type=Path, default=Path("results/ablation.json"))
    options = parser.parse_args()
    for name in options.names or VARIANTS:
        result = run(VARIANTS[name])
        results = json.loads(options.out.read_text()) if options.out.exists() else {}
        write_json(options.out, {**results, name: result})
        sys.stdout.write(f"{name}: {json.dumps(result)}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
