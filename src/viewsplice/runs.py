"""Run folders: what `fit`, `demo` and `audit` leave behind, and what `transform` and `audit` read again."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from viewsplice._types import Array, Latents
from viewsplice.counts import smooth, square_root
from viewsplice.estimator import SPLICE
from viewsplice.io import parse_source, read_column, write_atomic, write_csv, write_json, write_latents
from viewsplice.metrics import effective_dimension_of, is_collapsed, latent_spread, reconstruction_r2
from viewsplice.persistence import settings_from_json, settings_to_json
from viewsplice.trust import Audit
from viewsplice.views import Views

MODEL = "model.splice"
SETTINGS = "settings.json"
REPORT = "report.html"
AUDIT = "audit.json"


def start_run(folder: Path, command: str, inputs: Mapping[str, Any], model: SPLICE) -> None:
    """Make the folder and write its settings, before any data are loaded."""
    if (folder / MODEL).exists():
        raise ValueError(f"{folder} already holds a fitted model: choose another --out, or remove {folder / MODEL}")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; expected a folder for the results")
    folder.mkdir(parents=True, exist_ok=True)
    estimator = settings_to_json(model.get_params(deep=False))
    write_json(folder / SETTINGS, {"command": command, "inputs": dict(inputs), "estimator": estimator})


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
    try:
        inputs = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))["inputs"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return inputs if isinstance(inputs, dict) else {}


def run_groups(folder: Path, n_rows: int) -> str | None:
    """Return the file of groups that a run was fitted with, if it is still there and has one label per row."""
    file = read_inputs(folder).get("groups")
    if not isinstance(file, str) or not parse_source(file).path.exists():
        return None
    return file if read_column(file, n_rows).shape == (n_rows,) else None


def write_audit(folder: Path, audit: Audit) -> Path:
    """Write what an audit found into a run folder."""
    write_atomic(folder / AUDIT, f"{audit.to_json()}\n".encode())
    return folder / AUDIT


def prepare_counts(views: Views, *, sqrt: bool, bins: float | None) -> tuple[Views, list[str]]:
    """Return the views as asked for, and a sentence for every change: nothing happens to data silently."""
    changes = []
    if sqrt:
        views = square_root(views)
        changes.append("The square root of all values was taken (--sqrt).")
    if bins is not None:
        views = smooth(views, bins)
        within = "within groups" if views.groups is not None else "over all rows as one sequence"
        changes.append(f"All values were smoothed over rows, {within}, with an SD of {bins:g} rows (--smooth).")
    return views, changes


def finish_run(
    folder: Path,
    model: SPLICE,
    views: Views,
    *,
    colors: Mapping[str, Array],
    seconds: float,
    notes: Sequence[str] = (),
) -> list[Path]:
    """Write the model, latents of all rows, history, metrics and report; return the files, the report last."""
    latents = model.transform(views)
    model.save(folder / MODEL)
    write_latents(folder / "latents.npz", latents, model.split_)
    write_csv(folder / "history.csv", model.history_)
    write_json(folder / "metrics.json", run_metrics(model, views, latents, seconds))
    files = [folder / name for name in (MODEL, "latents.npz", "history.csv", "metrics.json")]
    if importlib.util.find_spec("matplotlib") is not None:
        from viewsplice.report import report

        files.append(report(model, views, out=folder / REPORT, colors=colors, notes=notes))
    return files


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


def load_run(folder: Path) -> SPLICE:
    """Return the fitted model of a run folder."""
    if not (folder / MODEL).is_file():
        raise ValueError(f"{folder} has no {MODEL}; expected the folder of a finished `viewsplice fit`")
    return SPLICE.load(folder / MODEL)


def check_rows(label: str, values: Array, n_rows: int) -> Array:
    """Return one value per row, or say how many there are instead."""
    if values.shape != (n_rows,):
        raise ValueError(f"{label} has shape {np.shape(values)}; expected one value per row: ({n_rows},)")
    return values
