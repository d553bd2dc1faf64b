"""Which command runs in a folder, so that `viewsplice resume` can give it again after an interruption."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from viewsplice.io import held, remove_leftovers, write_atomic, write_json
from viewsplice.runs import CHECKPOINT, COMMAND, MODEL, SETTINGS, TASKS


@contextmanager
def begun(folder: Path, line: str) -> Iterator[None]:
    """Note in a folder what the user typed; when its input turns out to be bad, leave the folder as it was.

    The folder is held meanwhile: a second command in the same one would use, and remove, what this one keeps.
    Once there is a model or something to go on from, everything stays: it is worth more than a tidy folder.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; expected a folder for the results")
    existed = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    with held(folder), _noted(folder, line, existed=existed):
        yield


@contextmanager
def _noted(folder: Path, line: str, *, existed: bool) -> Iterator[None]:
    """Note what runs in a folder that is held."""
    worth = _worth(folder)
    before = {name: _bytes(folder / name) for name in (COMMAND, SETTINGS)}
    remove_leftovers(folder)
    write_json(folder / COMMAND, {"line": line, "folder": os.getcwd()})
    try:
        yield
    except (ValueError, TypeError):
        if _worth(folder) <= worth:
            for name, content in before.items():
                (folder / name).unlink(missing_ok=True)
                if content is not None:
                    write_atomic(folder / name, content)
            if not existed and not any(folder.iterdir()):
                folder.rmdir()
        raise


def recorded(folder: Path) -> tuple[list[str], Path]:
    """Return the arguments of the command that ran in a folder, and where it was given."""
    path = folder / COMMAND
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        words, where = shlex.split(content["line"]), Path(content["folder"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} does not tell what ran here ({error}); expected the folder of a run") from error
    if words[:1] != ["viewsplice"] or "resume" in words[1:2]:
        raise ValueError(f"{path} has the line {content['line']!r}; expected a command of viewsplice")
    return words[1:], where


def how_to_go_on(command: str, folder: Path | None) -> str:
    """Return what is said of a command that was stopped, after a colon; nothing where nothing was begun."""
    if command == "audit":
        return ": give the same command again to go on"
    if command in ("transform", "report") or folder is None or not (folder / COMMAND).exists():
        return ""
    return f": viewsplice resume {shlex.quote(str(folder))} goes on"


def _worth(folder: Path) -> set[str]:
    return {name for name in (MODEL, CHECKPOINT, TASKS) if (folder / name).exists()}


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
