"""NumPy's own files: .npy, memory-mapped, and .npz. Pickled objects are never loaded."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from viewsplice._types import Array
from viewsplice.io.problems import InputFileError, choose, refuse_key


def read_npy(path: Path, key: str | None) -> Array:
    """Return the array of a .npy file as a read-only memory map."""
    refuse_key(path, key)
    with path.open("rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise InputFileError(f"{path} is not a NumPy .npy file: expected one written by numpy.save")
    with _without_objects(path):
        return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))


def read_npz(path: Path, key: str | None) -> Array:
    """Return one array of a .npz file."""
    if not zipfile.is_zipfile(path):
        raise InputFileError(f"{path} is not a complete .npz file: expected one written by numpy.savez; write it again")
    with np.load(path, allow_pickle=False) as archive, _without_objects(path):
        return np.asarray(archive[choose(path, key, archive.files, "array")])


@contextmanager
def _without_objects(path: Path) -> Iterator[None]:
    """Say what is wrong when NumPy refuses an array of objects, instead of its hint to allow pickles."""
    try:
        yield
    except ValueError as error:
        if "object" not in str(error).lower():
            raise
        raise InputFileError(
            f"{path} holds Python objects, which are never unpickled; expected numbers or text: "
            "convert the array to a plain dtype and save it again"
        ) from error
