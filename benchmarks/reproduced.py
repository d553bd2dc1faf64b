"""Tables of reproduced experiments in the README and the docs: ``python -m benchmarks.reproduced``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.table import put
from viewsplice.experiments import EXPERIMENTS, PAPER
from viewsplice.experiments.results import spread

_FOLDER = Path("results/reproduce")
_README, _PAGE = Path("README.md"), Path("docs/reproduce.md")


def overview(rows: list[dict[str, Any]]) -> str:
    """Return each figure of the paper's tables beside ours, mean and SD over seeds."""
    lines = ["| experiment | method | figure | paper | viewsplice | seeds |", "|---|---|---|---|---|---|"]
    for (experiment, method), metrics in PAPER.items():
        for metric, paper in metrics.items():
            found = [r for r in rows if (r["experiment"], r["method"], r["metric"]) == (experiment, method, metric)]
            if found:
                digits = 2 if max(abs(row["value"]) for row in found) > 2 else 4
                ours = spread([row["value"] for row in found], digits)
                shown = "" if paper is None else f"{paper:g}"
                lines.append(f"| {experiment} | {method} | {metric} | {shown} | {ours} | {len(found)} |")
    return "\n".join(lines)


def main() -> int:
    """Put the tables of every experiment that has been run in full between the marks of both pages."""
    rows: list[dict[str, Any]] = []
    pages = []
    for name in EXPERIMENTS:
        folder = _FOLDER / name
        if (folder / "metrics.json").is_file():
            rows += json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
            tables = (folder / "tables.md").read_text(encoding="utf-8").strip()
            command = json.loads((folder / "run.json").read_text(encoding="utf-8"))["command"]
            pages.append(
                tables.replace("\n", f"\n\n`{command}`\n", 1).replace("\n##", "\n###").replace("## ", "### ", 1)
            )
    put(_README, "reproduced", overview(rows))
    put(_PAGE, "reproduced", "\n\n".join(pages))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
