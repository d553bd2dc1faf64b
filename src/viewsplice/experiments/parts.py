"""An experiment as parts that are each done once: what an interruption leaves behind is not done again.

A part is a function that fills a folder. Its folder appears under its final name only when the part is done, and that
name contains a hash of everything the content depends on.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.io import settings_hash, write_json
from viewsplice.sweeps.tasks import slug

Say = Callable[[str], None]
Done = Mapping[str, Path]

VALUES, ARRAYS, TIME = "values.json", "arrays.npz", "time.json"


@dataclass(frozen=True, eq=False)
class Part:
    """One piece of work of an experiment.

    Attributes
    ----------
    name
        What it is, unique within the experiment: ``"seed 0: both steps"``.
    settings
        Everything its content depends on, as JSON values.
    work
        Fills an empty folder; the folders of all earlier parts are given by name.
    minutes
        About how long it takes; only the ratios between parts matter.
    """

    name: str
    settings: Mapping[str, Any]
    work: Callable[[Path, Done], None]
    minutes: float = 1.0

    @property
    def folder(self) -> str:
        """Return the name of its folder."""
        return f"{slug(self.name)}-{settings_hash(self.settings)}"

    @property
    def checkpoint(self) -> str:
        """Return the name of a folder beside it, in which work may keep what it has done; it goes when all is done."""
        return f".{self.folder}.checkpoint"


def run_parts(parts: Sequence[Part], folder: Path, say: Say) -> dict[str, Path]:
    """Do what is not yet done, in order; return the folder of each part by its name."""
    names = [part.name for part in parts]
    if len(set(names)) < len(names):
        raise ValueError(f"parts share names: {sorted(name for name in set(names) if names.count(name) > 1)}")
    folder.mkdir(parents=True, exist_ok=True)
    done: dict[str, Path] = {}
    pace = _Pace(parts, folder)
    for number, part in enumerate(parts, start=1):
        target = folder / part.folder
        if target.is_dir():
            done[part.name] = target
            continue
        say(f"part {number} of {len(parts)}: {part.name} ({pace.left(number - 1)})")
        seconds = _do(part, target, done)
        pace.note(part, seconds)
        done[part.name] = target
    return done


def _do(part: Part, target: Path, done: Done) -> float:
    """Fill a temporary folder and give it its final name; return the seconds it took."""
    temporary = target.with_name(f".{uuid.uuid4().hex}.part")
    temporary.mkdir()
    started = time.monotonic()
    try:
        part.work(temporary, done)
        seconds = time.monotonic() - started
        write_json(temporary / TIME, {"part": part.name, "settings": part.settings, "seconds": round(seconds, 2)})
        _settle(temporary, target)
        shutil.rmtree(target.with_name(part.checkpoint), ignore_errors=True)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return seconds


def _settle(temporary: Path, target: Path) -> None:
    """Give a finished folder its name; another process may have finished the same part first."""
    try:
        os.rename(temporary, target)
    except OSError:
        if not target.is_dir():
            raise


class _Pace:
    """How long the rest will take, from what the parts so far took against what they were thought to take."""

    def __init__(self, parts: Sequence[Part], folder: Path) -> None:
        self.parts = parts
        self.open = [not (folder / part.folder).is_dir() for part in parts]
        self.thought = self.took = 0.0

    def note(self, part: Part, seconds: float) -> None:
        self.thought += 60 * part.minutes
        self.took += seconds

    def left(self, n_done: int) -> str:
        rest = 60 * sum(
            part.minutes for part, is_open in zip(self.parts[n_done:], self.open[n_done:], strict=True) if is_open
        )
        minutes = rest * (self.took / self.thought if self.thought else 1.0) / 60
        return f"about {minutes:.0f} min left" if minutes >= 1 else "less than a minute left"


def write_values(folder: Path, values: Mapping[str, Any], arrays: Mapping[str, Array] | None = None) -> None:
    """Write what a part found: plain values and, if any, arrays."""
    write_json(folder / VALUES, dict(values))
    if arrays:
        members: dict[str, Any] = {name.replace("/", "|"): array for name, array in arrays.items()}
        np.savez_compressed(folder / ARRAYS, **members)


def read_values(folder: Path) -> dict[str, Any]:
    """Return the plain values of a finished part."""
    values: dict[str, Any] = json.loads((folder / VALUES).read_text(encoding="utf-8"))
    return values


def read_arrays(folder: Path) -> dict[str, Array]:
    """Return the arrays of a finished part."""
    with np.load(folder / ARRAYS, allow_pickle=False) as file:
        return {name.replace("|", "/"): file[name] for name in file.files}


def hash_of(folder: Path) -> str:
    """Return the hash of a finished part's settings."""
    return folder.name.rsplit("-", 1)[1]


def seconds_of(folder: Path) -> float:
    """Return how long a finished part took."""
    return float(json.loads((folder / TIME).read_text(encoding="utf-8"))["seconds"])
