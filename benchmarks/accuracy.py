"""What recipe "auto" finds where the truth is known: ``python -m benchmarks.accuracy NAME ... [--seeds 0,1,2]``.

Fits never see test rows; the metrics do. Results are merged into one JSON file, one entry per data set and seed. Fits
that a reproduction of the paper's experiments has made, with the same settings, are not made again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from viewsplice import SPLICE
from viewsplice.datasets import MultiViewData, lgn_v1
from viewsplice.datasets import rotated_mnist as load_mnist
from viewsplice.experiments import EXPERIMENTS as EXPERIMENTS_OF_PAPER
from viewsplice.experiments import Options, rotated_mnist
from viewsplice.experiments.contest import FULL
from viewsplice.experiments.fits import MODEL, load_fit
from viewsplice.experiments.lgn_v1 import noise_name
from viewsplice.experiments.parts import read_values, seconds_of
from viewsplice.experiments.truth import judge
from viewsplice.io import json_text, write_json
from viewsplice.metrics import linear_r2

_FOLDER = Path("results/reproduce")


def reproduced(experiment: str, name: str, seed: int) -> dict[str, Any] | None:
    """Return all figures of a fit that a reproduction has made and judged; None if it has not."""
    parts = {part.name: part for part in EXPERIMENTS_OF_PAPER[experiment].parts(Options(seeds=(seed,)))}
    fit, judged = (_FOLDER / experiment / "parts" / parts[part].folder for part in (name, f"{name}, judged"))
    if not (fit / MODEL).is_file() or not judged.is_dir():
        return None
    return {"seconds": seconds_of(fit), **read_values(judged), **_trust(load_fit(fit))}


def lgn(seed: int, *, noise: float = 0.0, **settings: Any) -> dict[str, Any]:
    """Return all figures of one fit to LGN-V1, each simulation with its own seed."""
    data = lgn_v1(noise=noise, random_state=seed)
    name = f"seed {seed}: {noise_name(noise, 6.0) if noise else FULL}"
    found = None if settings else reproduced("lgn-v1", name, seed)
    if found is None:
        views, validation = data.training()
        started = time.perf_counter()
        model = SPLICE(random_state=seed, **settings).fit(views, validation=validation)
        found = {"seconds": time.perf_counter() - started, **judge(model, data), **_trust(model)}
    if noise:
        found["supervised_r2"] = supervised(data.rows("train"), data.rows("test"))
    return found


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
    found = reproduced("rotated-mnist", f"seed {seed}: {FULL}", seed)
    if found is not None:
        return found
    data = load_mnist(random_state=seed)
    views, validation = data.training()
    started = time.perf_counter()
    model = SPLICE(30, (0, 2), random_state=seed).fit(views, validation=validation)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, **rotated_mnist.judge(model, data)[0], **_trust(model)}


def _trust(model: SPLICE) -> dict[str, Any]:
    return {
        "disagreement": {space: found.disagreement for space, found in model.geometry_.items()},
        "attempts": model.history_[-1]["attempt"] + 1,
        "epochs": model.epochs_,
        "notes": model.notes_,
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
    for name in options.names:
        if name not in EXPERIMENTS:
            parser.error(f"there is no {name!r}; expected some of {list(EXPERIMENTS)}")
    for name in options.names or EXPERIMENTS:
        for seed in map(int, options.seeds.split(",")):
            result = EXPERIMENTS[name](seed)
            results = json.loads(options.out.read_text()) if options.out.exists() else {}
            results.setdefault(name, {})[str(seed)] = result
            options.out.parent.mkdir(parents=True, exist_ok=True)
            write_json(options.out, results)
            sys.stdout.write(f"{name}, seed {seed}: {json_text(result)}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
