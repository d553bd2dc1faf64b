"""An experiment as parts that are each done once: what an interruption leaves behind is not done again.

A part is a function that fills a folder. Its folder appears under its final name only when the part is done, and that
name contains a hash of everything the content depends on. Files that are too large to be kept with results (models) may
be removed: a part is done again only when another one needs such a file.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.experiments.stopwatch import Stopwatch
from viewsplice.io import settings_hash, write_json
from viewsplice.sweeps.tasks import slug

Say = Callable[[str], None]

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
    heavy
        Names of files that may be missing from its folder once it is done.
    """

    name: str
    settings: Mapping[str, Any]
    work: Callable[[Path, Done], None]
    minutes: float = 1.0
    heavy: Sequence[str] = ()

    @property
    def folder(self) -> str:
        """Return the name of its folder."""
        return f"{slug(self.name)}-{settings_hash(self.settings)}"

    @property
    def checkpoint(self) -> str:
        """Return the name of a folder beside it, in which work may keep what it has done; it goes when all is done."""
        return f".{self.folder}.checkpoint"


class Done(Mapping[str, Path]):
    """Folders of finished parts by name, in the order in which they were finished."""

    def __init__(self, folder: Path, say: Say) -> None:
        self._folder = folder
        self._say = say
        self._parts: dict[str, Part] = {}

    def __getitem__(self, name: str) -> Path:
        return self._folder / self._parts[name].folder

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, part: Part) -> None:
        """Note that a part is done."""
        self._parts[part.name] = part

    def whole(self, name: str) -> Path:
        """Return the folder of a part with its heavy files; if one is missing, the part is done again for it."""
        part, target = self._parts[name], self[name]
        missing = [file for file in part.heavy if not (target / file).exists()]
        if missing:
            self._say(f"again: {name}, for {', '.join(missing)}")
            with _temporary(target) as temporary:
                part.work(temporary, self)
                for file in missing:
                    os.replace(temporary / file, target / file)
            shutil.rmtree(target.with_name(part.checkpoint), ignore_errors=True)
        return target


def run_parts(parts: Sequence[Part], folder: Path, say: Say, told: Callable[[Done], None] | None = None) -> Done:
    """Do what is not yet done, in order; return the folder of each part by its name.

    Parameters
    ----------
    parts
        What there is to do; a part may need those before it.
    folder
        Where their folders are.
    say
        Told which part begins and how long the rest will take.
    told
        Called after each part that had to be done, with all that are done by then, later ones among them.
    """
    names = [part.name for part in parts]
    if len(set(names)) < len(names):
        raise ValueError(f"parts share names: {sorted(name for name in set(names) if names.count(name) > 1)}")
    folder.mkdir(parents=True, exist_ok=True)
    done = Done(folder, say)
    pace = _Pace(parts, folder)
    for number, part in enumerate(parts, start=1):
        target = folder / part.folder
        is_open = not target.is_dir()
        if is_open:
            say(f"part {number} of {len(parts)}: {part.name} ({pace.left(number - 1)})")
            pace.note(part, _do(part, target, done))
        done.add(part)
        if is_open and told is not None:
            told(_found(parts, folder, say))
    return done


def _found(parts: Sequence[Part], folder: Path, say: Say) -> Done:
    """Return the parts that are done, also those that come after open ones."""
    done = Done(folder, say)
    for part in parts:
        if (folder / part.folder).is_dir():
            done.add(part)
    return done


def _do(part: Part, target: Path, done: Done) -> float:
    """Fill a temporary folder and give it its final name; return the seconds it took."""
    kept = target.with_name(part.checkpoint)
    watch = Stopwatch(kept)
    with _temporary(target) as temporary:
        part.work(temporary, done)
        spent = watch.spent()
        write_json(temporary / TIME, {"part": part.name, "settings": part.settings, **spent})
        _settle(temporary, target)
        shutil.rmtree(kept, ignore_errors=True)
    return spent["seconds"]


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """Make an empty folder beside another, and remove what is left of it."""
    folder = target.with_name(f".{uuid.uuid4().hex}.part")
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
    """Return how long a finished part took on the wall."""
    return float(json.loads((folder / TIME).read_text(encoding="utf-8"))["seconds"])


def processor_seconds_of(folder: Path) -> float:
    """Return how long a finished part kept the processor busy; where only the time on the wall is known, that."""
    told = json.loads((folder / TIME).read_text(encoding="utf-8"))
    return float(told.get("processor_seconds", told["seconds"]))
