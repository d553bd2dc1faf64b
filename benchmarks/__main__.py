"""Run all benchmarks: ``python -m benchmarks --out results/bench.json``."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import viewsplice
from benchmarks.auto import measure_growth, measure_lgn, measure_mnist, measure_rate
from benchmarks.baselines import measure_baselines
from benchmarks.geodesics import measure_geodesics
from benchmarks.leaks import measure_leaks
from benchmarks.memory import measure_fit_memory
from benchmarks.page import measure_page
from benchmarks.rows import Row
from benchmarks.significance import measure_significance
from benchmarks.size import measure_size
from benchmarks.sweeps import measure_sweeps
from benchmarks.table import update
from benchmarks.training import measure_epochs
from viewsplice.io import write_json


def groups(size: int) -> dict[str, Callable[[], list[Row]]]:
    """Return what is measured, by name; ``size`` divides all numbers of rows."""
    return {
        "lgn": lambda: measure_lgn(18_900 // size),
        "mnist": lambda: measure_mnist(70_000 // size),
        "rate": lambda: measure_rate(18_900 // size),
        "epochs": lambda: measure_epochs(50_000 // size, repeats=1 if size > 1 else 3),
        "baselines": lambda: measure_baselines(10_000 // size, repeats=1 if size > 1 else 3),
        "geodesics": lambda: measure_geodesics(12_000 // size),
        "memory": lambda: measure_fit_memory(50_000 // size),
        "page": lambda: measure_page(20_000 // size),
        "growth": lambda: measure_growth(tuple(n // size for n in (5_000, 10_000, 20_000, 40_000, 80_000))),
        "size": lambda: measure_size(1_000_000 // size**2),
        "sweeps": lambda: measure_sweeps(2_000 // size, 20),
        "significance": lambda: measure_significance(200 // size, 20 // size, 2_000),
        "leaks": lambda: measure_leaks(2_000, 20 // size),
    }


def main() -> int:
    """Measure, show and write; the exit code says whether every limit was met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/bench.json"))
    parser.add_argument("--quick", action="store_true", help="a tenth of the size: shows that everything runs")
    parser.add_argument(
        "--only", choices=list(groups(1)), action="append", help="measure this again, keep the other rows"
    )
    options = parser.parse_args()
    torch.set_num_threads(2)
    versions = {"viewsplice": viewsplice.__version__, "torch": torch.__version__, "python": platform.python_version()}
    settings = {"command": "make bench", "quick": options.quick, "threads": 2, "versions": versions}
    rows: dict[str, dict[str, Any]] = {}
    if options.only and options.out.is_file():
        before = json.loads(options.out.read_text(encoding="utf-8"))
        rows = {row["name"]: row for row in before["rows"]} if before["quick"] == options.quick else {}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for name, measure in groups(10 if options.quick else 1).items():
        if options.only and name not in options.only:
            continue
        for row in measure():
            sys.stdout.write(f"{row}\n")
            sys.stdout.flush()
            rows[row.name] = row.to_dict()
        # After each group, so that an interrupted run leaves what it has measured.
        write_json(options.out, {**settings, "rows": list(rows.values())})
    if not options.quick and options.out == Path("results/bench.json"):
        update(Path("README.md"), list(rows.values()), Path("docs/statistics.md"))
    return 0 if all(row["met"] for row in rows.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
