"""What all readers share: one clear error per bad file, optional libraries, the choice of one array among many."""

from __future__ import annotations

import importlib
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from viewsplice._types import Array

MAX_DENSE_BYTES = 4 * 2**30
_MAX_LISTED, _MAX_SHOWN = 20, 60


class InputFileError(ValueError):
    """A file that cannot be used, said in one sentence; the cause is chained."""


def printable(text: str, most: int) -> str:
    """Return text of a file as it may stand in a message: one line, no control characters, not long."""
    line = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in " ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 3]}..."


@contextmanager
def guarded(path: Path, expected: str) -> Iterator[None]:
    """Turn whatever a library raises while it reads a file into an `InputFileError` that names the file.

    Parameters
    ----------
    path
        The file that is read in the block.
    expected
        What it should be, such as "a NumPy .npy file".
    """
    try:
        yield
    except InputFileError:
        raise
    except MemoryError as error:
        raise InputFileError(f"{path} does not fit in memory: take fewer rows or features") from error
    except Exception as error:  # each library has its own error types for a damaged file, and they change
        reason = printable(str(error), 200) or type(error).__name__
        raise InputFileError(
            f"{path} cannot be read as {expected} ({reason}): check that it is complete and its extension is right"
        ) from error


def check_file(path: Path, *, is_folder: bool = False) -> None:
    """Raise unless the path is a readable file with content (or a folder, for a format that is one)."""
    if not os.path.exists(path):
        raise InputFileError(f"{path} does not exist: expected the path of a data file")
    if os.path.isdir(path) != is_folder:
        got, expected = ("a folder", "a file") if not is_folder else ("a file", "a folder")
        raise InputFileError(f"{path} is {got}; expected {expected}")
    if not os.access(path, os.R_OK):
        raise InputFileError(f"{path} is not readable: check its permissions")
    if not is_folder and os.path.getsize(path) == 0:
        raise InputFileError(f"{path} is empty (0 bytes); expected a data file: write it again")


def optional_library(library: str, extra: str, path: Path) -> Any:
    """Return an imported optional library, or say how to install it."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise InputFileError(
            f"{path} needs {library}, which is not installed: pip install viewsplice[{extra}]"
        ) from error


def choose(path: Path, key: str | None, names: Collection[str], noun: str) -> str:
    """Return the name that ``key`` asks for; without a key, the only one there is."""
    listed = ", ".join(printable(name, _MAX_SHOWN) for name in list(names)[:_MAX_LISTED])
    if len(names) > _MAX_LISTED:
        listed += f", and {len(names) - _MAX_LISTED} more"
    if not names:
        raise InputFileError(f"{path} holds no {noun}; expected at least one")
    if key is not None:
        if key in names:
            return key
        raise InputFileError(f"{path} has no {noun} {key!r}; expected one of: {listed}")
    if len(names) > 1:
        first = printable(next(iter(names)), _MAX_SHOWN)
        raise InputFileError(
            f"{path} holds more than one {noun}; expected a key, as in {path.name}:{first}, out of: {listed}"
        )
    return next(iter(names))


def refuse_key(path: Path, key: str | None) -> None:
    """Raise if a key was given for a file that is one array."""
    if key is not None:
        raise InputFileError(f"{path} is a single array; expected no key, got {key!r}")


def densify(matrix: Any, path: Path) -> Array:
    """Return a SciPy sparse matrix as a dense array, unless that would fill the memory."""
    n_bytes = int(np.prod(matrix.shape, dtype=object)) * matrix.dtype.itemsize
    if n_bytes > MAX_DENSE_BYTES:
        raise InputFileError(
            f"{path} holds a sparse matrix of shape {matrix.shape} that needs {n_bytes / 2**30:.1f} GiB when dense; "
            f"expected at most {MAX_DENSE_BYTES / 2**30:.0f} GiB: reduce its columns first, as by truncated SVD"
        )
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)  # SciPy writes where the stored indices say
    return np.asarray(matrix.toarray())
