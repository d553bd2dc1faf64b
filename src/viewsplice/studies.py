"""What `scan` and `tune` leave behind: results as JSON, a figure, and settings that `fit` takes."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from viewsplice.io import write_atomic, write_csv, write_json
from viewsplice.persistence import settings_to_json
from viewsplice.runs import SETTINGS
from viewsplice.sweeps import Scan, Tuning


def write_scan(folder: Path, scan: Scan, params: Mapping[str, Any], inputs: Mapping[str, Any]) -> list[Path]:
    """Write ``scan.json``, ``settings.json`` with the recommended widths and, with matplotlib, ``scan.png``.

    Parameters
    ----------
    folder
        Where to.
    scan
        What was found.
    params, inputs
        Of the estimator that was scanned, and the files that were read, for the settings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "scan.json", f"{scan.to_json()}\n".encode())
    chosen = {**params, "n_shared": scan.recommended[0], "n_private": scan.recommended[1:]}
    files = [folder / "scan.json", _write_settings(folder, "scan", chosen, inputs)]
    if importlib.util.find_spec("matplotlib") is not None:
        from viewsplice.plotting import scan_plot, to_png

        shared, *private = scan.recommended
        title = f"Recommended: {shared} shared; {', '.join(map(str, private))} private"
        write_atomic(folder / "scan.png", to_png(scan_plot(scan.curves, scan.spectra, title=title)))
        files.append(folder / "scan.png")
    return files


def write_tuning(folder: Path, tuning: Tuning, inputs: Mapping[str, Any]) -> list[Path]:
    """Write ``tuning.json``, ``trials.csv``, ``settings.json`` with the best settings and, with matplotlib, a figure.

    Parameters
    ----------
    folder
        Where to.
    tuning
        What was found.
    inputs
        The files that were read, for the settings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "tuning.json", f"{tuning.to_json()}\n".encode())
    rows = [{**{k: v for k, v in trial.items() if k != "settings"}, **trial.settings} for trial in tuning.trials]
    write_csv(folder / "trials.csv", rows)
    settings = _write_settings(folder, "tune", tuning.best, inputs)
    files = [folder / "tuning.json", folder / "trials.csv", settings]
    if importlib.util.find_spec("matplotlib") is not None:
        from viewsplice.plotting import to_png, trials_plot

        write_atomic(folder / "trials.png", to_png(trials_plot(tuning.trials)))
        files.append(folder / "trials.png")
    return files


def _write_settings(folder: Path, command: str, params: Mapping[str, Any], inputs: Mapping[str, Any]) -> Path:
    """Write settings as a run has them."""
    content = {"command": command, "inputs": dict(inputs), "estimator": settings_to_json(params)}
    write_json(folder / SETTINGS, content)
    return folder / SETTINGS
