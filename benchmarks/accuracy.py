"""What recipe "auto" finds where the truth is known: ``python -m benchmarks.accuracy NAME ... [--seeds 0,1,2]``.

Fits never see test rows; the metrics do. Results are merged into one JSON file, one entry per data set and seed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from benchmarks.auto import training_views
from viewsplice import SPLICE
from viewsplice._types import Array
from viewsplice.datasets import MultiViewData, lgn_v1, rotated_mnist
from viewsplice.datasets.mnist import rotate_images
from viewsplice.io import write_json
from viewsplice.metrics import (
    angle_shifts,
    effective_dimension_of,
    is_collapsed,
    latent_spread,
    linear_r2,
    linear_svc_accuracy,
    reconstruction_r2,
    variance_explained_by_angle,
)
from viewsplice.trust import probe_leaks
from viewsplice.views import is_arrow

_N_RING_POINTS = 500
_GRID = np.arange(0, 360, 3)


def lgn(seed: int, *, noise: float = 0.0, **settings: Any) -> dict[str, Any]:
    """Return all figures of one fit to LGN-V1, each simulation with its own seed."""
    data = lgn_v1(noise=noise, random_state=seed)
    views, validation = training_views(data)
    started = time.perf_counter()
    model = SPLICE(random_state=seed, **settings).fit(views, validation=validation)
    seconds = time.perf_counter() - started
    train, test = data.rows("train"), data.rows("test")
    before, after = model.transform(train.views).spaces(), model.transform(test.views).spaces()
    own, foreign = _decoding(before, train, after, test)
    found = {"widths": {**model.n_shared_, **model.n_private_}, "notes": model.notes_, "seconds": seconds}
    found |= {"linear_r2": own, "leaks": foreign, "reconstruction_r2": _reconstruction(model, test)}
    found |= _spaces(after) | _trust(model)
    if noise:
        found["supervised_r2"] = supervised(train, test)
    return found


def _decoding(
    before: dict[str, Array], train: MultiViewData, after: dict[str, Array], test: MultiViewData
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return linear R² of what belongs to each space, and the leak of everything that does not."""
    factors, truth = train.factors(), test.factors()
    own, foreign = {}, {}
    for space, z in before.items():
        mine = [name for name in factors if _belongs(name, space)]
        for name in mine:
            own[f"{space}: {name}"] = float(linear_r2(z, factors[name], after[space], truth[name])[0])
        others = {name: values for name, values in factors.items() if name not in mine}
        leaks = probe_leaks(z, others, after[space], {name: truth[name] for name in others})
        foreign |= {
            f"{space}: {name}": {"leak": leak.leak, "r2": leak.r2, "null_mean": leak.null_mean, "p": leak.p}
            for name, leak in leaks.items()
        }
    return own, foreign


def _belongs(factor: str, space: str) -> bool:
    return "/" not in factor if is_arrow(space) else factor.startswith(f"{space}/")


def supervised(train: MultiViewData, test: MultiViewData) -> dict[str, float]:
    """Return what a supervised network reads from each view alone: the bar that noise leaves in reach."""
    found = {}
    factors, truth = train.factors(), test.factors()
    for view, x in train.views.arrays.items():
        scaler = StandardScaler().fit(x)
        for name in factors:
            if "/" in name and not name.startswith(f"{view}/"):
                continue
            network = MLPRegressor(hidden_layer_sizes=(256, 128), early_stopping=True, random_state=0, max_iter=60)
            network.fit(scaler.transform(x), (factors[name] - factors[name].mean()) / factors[name].std())
            predicted = network.predict(scaler.transform(test.views[view]))
            score = linear_r2(predicted[:, None], truth[name], predicted[:, None], truth[name])
            found[f"{view}: {name}"] = float(score[0])
    return found


def mnist(seed: int) -> dict[str, Any]:
    """Return all figures of one fit to rotated MNIST, (30; 0, 2)."""
    data = rotated_mnist(random_state=seed)
    views, validation = training_views(data)
    started = time.perf_counter()
    model = SPLICE(30, (0, 2), random_state=seed).fit(views, validation=validation)
    seconds = time.perf_counter() - started
    train, test = data.rows("train"), data.rows("test")
    before, after = model.transform(train.views).spaces(), model.transform(test.views).spaces()
    turned = [model.transform({"B": rotate_images(test.views["A"], float(angle))}).private["B"] for angle in _GRID]
    corrected = (test.private["B"]["angle"] - angle_shifts(np.stack(turned, axis=1))) % 360
    accuracy = {
        space: linear_svc_accuracy(before[space], train.shared["digit"], after[space], test.shared["digit"])
        for space in ("B->A", "A->B")
    }
    return {
        "seconds": seconds,
        "angle_variance": variance_explained_by_angle(after["B"], corrected),
        "digit_accuracy": accuracy,
        "ring_ratio": ring_ratio(after["B"], seed),
        "reconstruction_r2": _reconstruction(model, test),
        **_spaces(after),
        **_trust(model),
    }


def ring_ratio(latents: Array, seed: int) -> float:
    """Return the longest H1 bar over the second, on 500 rows."""
    from ripser import ripser

    rows = np.random.default_rng(seed).choice(len(latents), _N_RING_POINTS, replace=False)
    births, deaths = ripser(latents[rows], maxdim=1)["dgms"][1].T
    bars = np.sort(deaths - births)[::-1]
    return float(bars[0] / bars[1])


def _reconstruction(model: SPLICE, test: MultiViewData) -> dict[str, float]:
    rebuilt = model.reconstruct(test.views)
    return {name: reconstruction_r2(x, rebuilt[name]) for name, x in test.views.arrays.items()}


def _spaces(latents: dict[str, Array]) -> dict[str, Any]:
    used = {name: z for name, z in latents.items() if z.shape[1]}
    return {
        "effective_dimension": {name: effective_dimension_of(z) for name, z in used.items()},
        "spread": {name: latent_spread(z) for name, z in used.items()},
        "collapsed": [name for name, z in used.items() if is_collapsed(z)],
    }


def _trust(model: SPLICE) -> dict[str, Any]:
    return {
        "disagreement": {space: found.disagreement for space, found in model.geometry_.items()},
        "attempts": model.history_[-1]["attempt"] + 1,
        "epochs": model.epochs_,
    }


EXPERIMENTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "lgn-v1, widths found": lgn,
    "lgn-v1, widths given": lambda seed: lgn(seed, n_shared=2, n_private=1),
    "lgn-v1, noise 0.4": lambda seed: lgn(seed, noise=0.4),
    "lgn-v1, widths three times too large": lambda seed: lgn(seed, n_shared=6, n_private=3),
    "rotated-mnist": mnist,
}


def main() -> int:
    """Run experiments and merge their results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {'; '.join(EXPERIMENTS)} (default: all)")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--out", type=Path, default=Path("results/auto.json"))
    options = parser.parse_args()
    for name in options.names or EXPERIMENTS:
        for seed in map(int, options.seeds.split(",")):
            result = EXPERIMENTS[name](seed)
            results = json.loads(options.out.read_text()) if options.out.exists() else {}
            results.setdefault(name, {})[str(seed)] = result
            options.out.parent.mkdir(parents=True, exist_ok=True)
            write_json(options.out, results)
            sys.stdout.write(f"{name}, seed {seed}: {json.dumps(result)}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
