"""The paper's experiments: each from raw data to rows, tables and figures (needs the extra ``plot``)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from viewsplice.experiments import lgn_v1, neural, rotated_mnist, sprites
from viewsplice.experiments.fits import Options as Options
from viewsplice.experiments.pages import Shown, write_pages
from viewsplice.experiments.parts import Done, Part, Say, run_parts, seconds_of
from viewsplice.experiments.results import PAPER as PAPER
from viewsplice.experiments.results import Result as Result
from viewsplice.experiments.results import Summary, missing_rows, paper_table
from viewsplice.io import installed_versions, write_atomic, write_json

# What a part of a quick run takes, about: all are small.
_QUICK_MINUTES = 0.05
_QUICK = "Quick run: reduced data and training. It shows that everything runs, not what the method finds."


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper.

    Attributes
    ----------
    name, seeds
        What it is called, and which seeds run unless others are asked for.
    parts, summarize, shown
        What there is to do, what came of it, and which fits get a page.
    """

    name: str
    seeds: Sequence[int]
    parts: Callable[[Options], list[Part]]
    summarize: Callable[[Done, Options], Summary]
    shown: Callable[[Options], list[Shown]]


EXPERIMENTS: Mapping[str, Experiment] = {
    module.NAME: Experiment(module.NAME, module.SEEDS, module.parts, module.summarize, module.shown)
    for module in (lgn_v1, rotated_mnist, sprites, neural)
}


def run_experiments(name: str, out: Path, options: Options, *, say: Say, command: str) -> list[Path]:
    """Run one experiment into ``out``, or all, each into its folder there; return the tables and pages written.

    Parameters
    ----------
    name
        One of `EXPERIMENTS`, or ``"all"``.
    out
        Folder for the results. Finished parts are found there again.
    options
        The user's choices. Without seeds: the experiment's own, of a quick run only the first.
    say, command
        As in `reproduce`.
    """
    if name != "all" and name not in EXPERIMENTS:
        raise ValueError(f"got experiment {name!r}; expected one of {', '.join(EXPERIMENTS)}, or all")
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; expected a folder for the results")
    rows: list[dict[str, Any]] = []
    files = []
    for chosen in EXPERIMENTS if name == "all" else [name]:
        own = EXPERIMENTS[chosen].seeds
        seeds = tuple(options.seeds) or tuple(own[:1] if options.quick else own)
        folder = out / chosen if name == "all" else out
        rows += reproduce(chosen, folder, replace(options, seeds=seeds), say=say, command=command)
        files += [folder / "tables.md", *sorted(folder.glob("report*.html"))]
    if name == "all":
        write_json(out / "metrics.json", rows)
    return files


def reproduce(name: str, out: Path, options: Options, *, say: Say, command: str) -> list[dict[str, Any]]:
    """Run one experiment, or go on with it, and write its results; return the rows of ``metrics.json``.

    Parameters
    ----------
    name
        One of `EXPERIMENTS`.
    out
        Folder: ``metrics.json``, ``tables.md``, ``run.json``, ``figures`` and ``report.html`` are written, finished
        ``parts`` kept.
    options
        Seeds, data, size, and whether baselines run.
    say
        Told what is being done and how long it will take.
    command
        What the user typed, for the record.
    """
    experiment = EXPERIMENTS[name]
    parts = experiment.parts(options)
    own = {part.name for part in experiment.parts(replace(options, baselines=False))}
    if options.quick:
        parts = [replace(part, minutes=_QUICK_MINUTES) for part in parts]
    run = _Run(experiment, parts, options, command, out)

    def told(done: Done) -> None:
        """Write what is known so far: baselines take long, and those that are done need not wait for the others."""
        if own <= set(done) and len(done) < len(parts):
            _write(run, done)

    done = run_parts(parts, out / "parts", say, told)
    rows = _write(run, done)
    write_pages(experiment.shown(options), done, out, command=command, notes=[_QUICK] if options.quick else [])
    return rows


@dataclass(frozen=True)
class _Run:
    """What there is to do, and where it is written."""

    experiment: Experiment
    parts: Sequence[Part]
    options: Options
    command: str
    out: Path


def _write(run: _Run, done: Done) -> list[dict[str, Any]]:
    """Write rows, tables, record and figures of what is done, all but for some baselines at most; return the rows."""
    name, out = run.experiment.name, run.out
    summary = run.experiment.summarize(done, run.options)
    missing = missing_rows(name, summary.results)
    if missing:
        raise RuntimeError(f"{name} left out {missing}; expected every figure of the paper's tables")
    rows = [result.to_dict() for result in summary.results]
    write_json(out / "metrics.json", rows)
    write_json(out / "run.json", _record(done, run.options, run.command))
    tables = [paper_table(name, rows), *summary.tables]
    head = [f"## {name}", *([f"**{_QUICK}**"] if run.options.quick else [])]
    n_open = len(run.parts) - len(done)
    head += [f"**Not finished: {n_open} of {len(run.parts)} parts are still to be done.**"] if n_open else []
    write_atomic(out / "tables.md", ("\n\n".join([*head, *(table.markdown() for table in tables)]) + "\n").encode())
    _collect_figures(done, out / "figures")
    return rows


def _record(done: Done, options: Options, command: str) -> dict[str, Any]:
    return {
        "command": command,
        "seeds": list(options.seeds),
        "quick": options.quick,
        "baselines": options.baselines,
        "threads": torch.get_num_threads(),
        "versions": installed_versions(),
        "seconds": {name: seconds_of(folder) for name, folder in done.items()},
    }


def _collect_figures(done: Done, folder: Path) -> None:
    """Copy the pictures of all parts into one folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in done.values():
        for picture in sorted(part.glob("*.png")):
            shutil.copyfile(picture, folder / picture.name)
