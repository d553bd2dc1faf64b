"""Small files of a run folder, written whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

if sys.platform != "win32":
    import fcntl

_TEMPORARY = re.compile(r"\.[0-9a-f]{32}\.tmp")


@contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path`` that takes its place when the block ends well.

    After any failure the temporary file is gone and the previous file is as it was. What the disk fails with says which
    file it was about.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected the file to write, such as {path / 'name'}")
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@contextmanager
def held(folder: str | Path) -> Iterator[None]:
    """Hold a folder for this process; raise if another one holds it.

    Two commands that write into one folder would tear each other's results apart. The lock is on the folder itself and
    goes with the process, however that ends. Where file systems, or Windows, know no such locks, nothing is held.
    """
    if sys.platform == "win32":
        yield
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ValueError(
                f"{folder} is in use: another viewsplice is writing there; expected a folder of its own for each: wait "
                "until it ends, or choose another --out"
            ) from error
        except OSError:
            pass
        yield
    finally:
        os.close(number)


def remove_leftovers(folder: Path, *, seconds: float = 0.0) -> None:
    """Remove the temporary files of writers that were killed: nothing else ever will.

    Where others may be writing into the folder, only those that nobody has written to for some ``seconds``.
    """
    for path in folder.glob(".*.tmp"):
        with suppress(FileNotFoundError):  # its writer has just finished
            if _TEMPORARY.fullmatch(path.name) and time.time() - path.stat().st_mtime >= seconds:
                path.unlink()


def write_atomic(path: str | Path, data: bytes) -> None:
    """Write bytes to a file so that a reader sees the old content or the new, never a part."""
    with atomic_file(path) as file:
        file.write(data)


def write_json(path: str | Path, content: Any) -> None:
    """Write a JSON file; NumPy values become plain ones, and NaN and infinities become null."""
    write_atomic(path, f"{json_text(content)}\n".encode())


def json_text(content: Any) -> str:
    """Return the text that `write_json` writes."""
    return json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def write_csv(path: str | Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as a table: the columns are all keys in first-seen order, and what a row lacks stays empty."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    table = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    if columns:
        table.writeheader()
        table.writerows(rows)
    write_atomic(path, text.getvalue().encode())
