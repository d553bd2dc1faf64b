"""Run all benchmarks: ``python -m benchmarks --out results/bench.json``."""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path

import torch

import viewsplice
from benchmarks.auto import measure_growth, measure_lgn, measure_mnist, measure_rate
from benchmarks.baselines import measure_baselines
from benchmarks.geodesics import measure_geodesics
from benchmarks.memory import measure_fit_memory
from benchmarks.page import measure_page
from benchmarks.rows import Row
from benchmarks.table import update
from benchmarks.training import measure_epochs
from viewsplice.io import write_json


def main() -> int:
    """Measure, show and write; the exit code says whether every limit was met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/bench.json"))
    parser.add_argument("--quick", action="store_true", help="a tenth of the size: shows that everything runs")
    options = parser.parse_args()
    size = 10 if options.quick else 1
    torch.set_num_threads(2)
    rows: list[Row] = []
    versions = {"viewsplice": viewsplice.__version__, "torch": torch.__version__, "python": platform.python_version()}
    settings = {"command": "make bench", "quick": options.quick, "threads": 2, "versions": versions}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for measured in (
        lambda: measure_lgn(18_900 // size),
        lambda: measure_mnist(70_000 // size),
        lambda: measure_rate(18_900 // size),
        lambda: measure_epochs(50_000 // size, repeats=1 if options.quick else 3),
        lambda: measure_baselines(10_000 // size, repeats=1 if options.quick else 3),
        lambda: measure_geodesics(12_000 // size),
        lambda: measure_fit_memory(50_000 // size),
        lambda: measure_page(20_000 // size),
        lambda: measure_growth(tuple(n // size for n in (5_000, 10_000, 20_000, 40_000, 80_000))),
    ):
        for row in measured():
            sys.stdout.write(f"{row}\n")
            sys.stdout.flush()
            rows.append(row)
        # After each group, so that an interrupted run leaves what it has measured.
        write_json(options.out, {**settings, "rows": [row.to_dict() for row in rows]})
    if not options.quick and options.out == Path("results/bench.json"):
        update(Path("README.md"), [row.to_dict() for row in rows])
    return 0 if all(row.is_met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
