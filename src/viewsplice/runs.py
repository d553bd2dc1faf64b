"""Run folders: what `fit`, `demo` and `audit` leave behind, and what `transform`, `audit` and `report` read again."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import viewsplice.demo as demonstration
from viewsplice._types import Array, Latents
from viewsplice.estimator import SPLICE
from viewsplice.inputs import RunData, load_inputs, read_colors, read_kinds
from viewsplice.io import (
    fingerprints,
    held,
    installed_versions,
    parse_source,
    read_array,
    read_column,
    write_atomic,
    write_csv,
    write_json,
    write_latents,
)
from viewsplice.metrics import effective_dimension_of, is_collapsed, latent_spread, reconstruction_r2
from viewsplice.persistence import settings_from_json, settings_to_json
from viewsplice.trust import Audit
from viewsplice.views import Views

if TYPE_CHECKING:
    from viewsplice.page.content import Run

MODEL = "model.splice"
SETTINGS = "settings.json"
METRICS = "metrics.json"
AUDIT = "audit.json"
REPORT = "report.html"
COMMAND = "command.json"
CHECKPOINT = "checkpoint"
TASKS = "tasks"


def start_run(folder: Path, command: str, inputs: Mapping[str, Any], model: SPLICE) -> None:
    """Make the folder and write its settings, before any data are loaded."""
    if (folder / MODEL).exists():
        raise ValueError(f"{folder} already holds a fitted model: choose another --out, or remove {folder / MODEL}")
    folder.mkdir(parents=True, exist_ok=True)
    estimator = settings_to_json(model.get_params(deep=False))
    write_json(folder / SETTINGS, {"command": command, "inputs": dict(inputs), "estimator": estimator})


def remove_demo(folder: Path) -> None:
    """Remove the model of an earlier demonstration, which a new one replaces; a model of the user's own stays."""
    if _read(folder / SETTINGS).get("command") == "demo":
        (folder / MODEL).unlink(missing_ok=True)


def read_settings(path: Path) -> dict[str, Any]:
    """Return the estimator settings of a settings file: a run's ``settings.json``, or its ``estimator`` part alone."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as settings ({error}); expected a settings.json") from error
    values = content.get("estimator", content) if isinstance(content, dict) else content
    if not isinstance(values, dict):
        raise ValueError(f"{path} holds no settings; expected a settings.json, a JSON object of names and values")
    known = set(SPLICE().get_params(deep=False))
    unknown = sorted(set(values) - known)
    if unknown:
        raise ValueError(f"{path} has unknown settings {unknown}; expected some of {sorted(known)}")
    return settings_from_json(values)


def read_inputs(folder: Path) -> dict[str, Any]:
    """Return what a run's settings say about its inputs; nothing for a folder without settings."""
    inputs = _read(folder / SETTINGS).get("inputs")
    return inputs if isinstance(inputs, dict) else {}


def _read(path: Path) -> dict[str, Any]:
    """Return a JSON object; an empty one where there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def reopen_data(folder: Path, *, color: Sequence[str] = (), kind: Sequence[str] = ()) -> RunData:
    """Return the data of a run again, with more covariates if ``color`` and ``kind`` name any."""
    data = _reopen(folder)
    colors = {**read_colors(color, len(data.views)), **data.colors}
    return replace(data, colors=colors, kinds={**data.kinds, **read_kinds(kind, colors)})


def _reopen(folder: Path) -> RunData:
    """Return the data of a run from where the run found them, if they have not changed."""
    settings, inputs = _read(folder / SETTINGS), read_inputs(folder)
    if settings.get("command") == "demo":
        train = demonstration.demo_data(quick=bool(inputs.get("quick"))).rows("train")
        return RunData(train.views, train.factors())
    if not inputs.get("views"):
        raise ValueError(f"{folder} does not tell which data it was fitted to; expected the views: give them as well")
    here = all(parse_source(text).path.exists() for text in inputs["views"])
    with contextlib.nullcontext() if here else contextlib.chdir(_folder_of(folder)):
        try:
            data, _ = load_inputs(inputs)
        except ValueError as error:
            raise ValueError(
                f"{error} ({folder} was fitted to these files: give the views if they have moved)"
            ) from error
    known = _read(folder / METRICS).get("fingerprints", {})
    changed = [name for name, found in fingerprints(data.views).items() if known.get(name, found) != found]
    if changed:
        raise ValueError(
            f"view {changed[0]!r} is not what {folder} was fitted to: the file has changed; expected the same data: "
            "give the views to show other rows"
        )
    return data


def _folder_of(run: Path) -> str:
    """Return where the command of a run was given, if that still exists, else the present folder."""
    folder = _read(run / COMMAND).get("folder")
    return folder if isinstance(folder, str) and os.path.isdir(folder) else os.curdir


def run_record(folder: Path) -> Run:
    """Return what a folder tells about its run."""
    from viewsplice.page.content import Run

    metrics = _read(folder / METRICS)
    return Run(
        command=str(_read(folder / COMMAND).get("line", "")),
        seconds=metrics.get("seconds"),
        notes=metrics.get("notes", ()),
        warnings=metrics.get("warnings", ()),
        audit=_read(folder / AUDIT) or None,
        versions=metrics.get("versions"),
    )


def run_groups(folder: Path, view: str) -> str | None:
    """Return the file of groups that a run was fitted with, if it is there and has one label per row of a view."""
    file = read_inputs(folder).get("groups")
    if not isinstance(file, str) or not parse_source(file).path.exists():
        return None
    n_rows = len(read_array(view))
    return file if read_column(file, n_rows).shape == (n_rows,) else None


def write_audit(folder: Path, audit: Audit) -> Path:
    """Write what an audit found into a run folder."""
    write_atomic(folder / AUDIT, f"{audit.to_json()}\n".encode())
    return folder / AUDIT


def finish_run(
    folder: Path,
    model: SPLICE,
    data: RunData,
    *,
    seconds: float,
    notes: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> list[Path]:
    """Write the model, latents of all rows, history, metrics and report; return the files, the report last.

    What was kept to go on from goes when all is written.
    """
    latents = model.transform(data.views)
    model.save(folder / MODEL)
    write_latents(folder / "latents.npz", latents, model.split_)
    write_csv(folder / "history.csv", model.history_)
    said = {"notes": list(notes), "warnings": list(warnings), "fingerprints": fingerprints(data.views)}
    said |= {"versions": installed_versions()}
    write_json(folder / METRICS, {**run_metrics(model, data.views, latents, seconds), **said})
    files = [folder / name for name in (MODEL, "latents.npz", "history.csv", METRICS)]
    if importlib.util.find_spec("matplotlib") is not None:
        files.append(write_report(folder, model, data))
    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)
    return files


def write_report(folder: Path, model: SPLICE, data: RunData, out: Path | None = None) -> Path:
    """Write the page of a run into its folder, or to ``out``."""
    from viewsplice.page.content import make_content
    from viewsplice.page.file import write_page

    content = make_content(
        model,
        data.views,
        colors=data.colors,
        kinds=data.kinds,
        feature_names=data.feature_names,
        run=run_record(folder),
    )
    return write_page(content, out or folder / REPORT)


def run_metrics(model: SPLICE, views: Views, latents: Latents[Array], seconds: float) -> dict[str, Any]:
    """Return reconstruction R² by part and view (None where it is undefined), and each latent space's spread."""
    rebuilt = model.reconstruct(views)
    parts = {part: rows for part, rows in model.split_.items() if len(rows) > 1}
    return {
        "reconstruction_r2": {
            part: {name: _r2(views[name][rows], rebuilt[name][rows]) for name in views.names}
            for part, rows in parts.items()
        },
        "latent_spaces": {
            name: {
                "width": space.shape[1],
                "spread": latent_spread(space),
                "effective_dimension": effective_dimension_of(space),
                "collapsed": is_collapsed(space),
                "n_neighbors": model.geometry_[name].n_neighbors if name in model.geometry_ else None,
            }
            for name, space in latents.spaces().items()
            if space.shape[1]
        },
        "rows": {part: len(rows) for part, rows in model.split_.items()},
        "epochs": len(model.history_),
        "seconds": round(seconds, 2),
        "seed": model.fitted_.seed,
    }


def _r2(x: Array, rebuilt: Array) -> float | None:
    """Return reconstruction R², or None where a few validation rows happen to be equal: no reason to fail a run."""
    return None if (x == x[:1]).all() else reconstruction_r2(x, rebuilt)


def is_open(folder: Path) -> bool:
    """Tell whether a fit in a folder has something left to do; a model whose other files are missing makes way.

    Its networks are in the checkpoint, too, which goes when everything is written.
    """
    wanted = [MODEL, METRICS] + ([REPORT] if importlib.util.find_spec("matplotlib") is not None else [])
    # While another process writes the last files, nothing may be taken away.
    with held(folder):
        if all((folder / name).exists() for name in wanted):
            shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)
        if (folder / CHECKPOINT).exists():
            (folder / MODEL).unlink(missing_ok=True)
        return not (folder / MODEL).exists()


def load_run(folder: Path) -> SPLICE:
    """Return the fitted model of a run folder."""
    if not (folder / MODEL).is_file():
        raise ValueError(f"{folder} has no {MODEL}; expected the folder of a finished `viewsplice fit`")
    return SPLICE.load(folder / MODEL)
