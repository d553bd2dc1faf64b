"""Run all benchmarks: ``python -m benchmarks --out results/bench.json``."""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path

import torch

import viewsplice
from benchmarks.geodesics import measure_geodesics
from benchmarks.memory import measure_fit_memory
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
    rows = []
    for measured in (
        lambda: measure_epochs(50_000 // size, repeats=1 if options.quick else 3),
        lambda: measure_geodesics(12_000 // size),
        lambda: measure_fit_memory(50_000 // size),
    ):
        for row in measured():
            sys.stdout.write(f"{row}\n")
            sys.stdout.flush()
            rows.append(row)
    versions = {"viewsplice": viewsplice.__version__, "torch": torch.__version__, "python": platform.python_version()}
    settings = {"quick": options.quick, "threads": 2, "versions": versions}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results = [row.to_dict() for row in rows]
    write_json(options.out, {"command": "make bench", **settings, "rows": results})
    if not options.quick and options.out == Path("results/bench.json"):
        update(Path("README.md"), results)
    return 0 if all(row.is_met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
