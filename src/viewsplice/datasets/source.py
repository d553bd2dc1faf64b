"""Where the files of a data set are, and what must be in them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from viewsplice._types import Array
from viewsplice.io.problems import InputFileError, check_file, guarded

DATA_VARIABLE = "VIEWSPLICE_DATA"
DataPath = str | os.PathLike[str]


def given_path(argument: str, value: DataPath | None) -> tuple[Path, str] | None:
    """Return the path that an argument, or without it the environment, gives, and which of the two gave it."""
    if value is not None:
        return Path(value), argument
    variable = os.environ.get(DATA_VARIABLE)
    return (Path(variable), DATA_VARIABLE) if variable else None


def require_path(data: DataPath | None, expected: str) -> tuple[Path, str]:
    """Return a path that exists and what gave it; ``expected`` says what it should be."""
    given = given_path("data", data)
    if given is None:
        raise ValueError(
            f"no data are given: pass data=, or set the environment variable {DATA_VARIABLE}, to {expected}"
        )
    path, source = given
    if not path.exists():
        raise ValueError(f"{source} is {str(path)!r}, which does not exist; expected {expected}")
    return path, source


def find_file(data: DataPath | None, name: str, expected: str) -> Path:
    """Return the path of a file that is given itself, or by its folder."""
    path, source = require_path(data, expected)
    if path.is_file():
        return path
    if not (path / name).is_file():
        raise ValueError(f"{source} is {str(path)!r}, which lacks {name}; expected {expected}")
    return path / name


def load_arrays(path: Path, axes: Mapping[str, Sequence[int | str]]) -> dict[str, Array]:
    """Return arrays of an ``.npz`` file, their shapes checked.

    Parameters
    ----------
    path
        The file.
    axes
        Per array, its axes: a number is a length, a name stands for one length wherever it occurs.
    """
    check_file(path)
    with guarded(path, "a NumPy .npz file"), np.load(path, allow_pickle=False) as file:
        missing = [name for name in axes if name not in file]
        if missing:
            raise InputFileError(
                f"{path} lacks {', '.join(missing)}; expected the arrays {', '.join(axes)}: "
                "check that the file is what its name says"
            )
        arrays = {name: np.asarray(file[name]) for name in axes}
    lengths: dict[str, int] = {}
    for name, expected in axes.items():
        shape = arrays[name].shape
        if len(shape) != len(expected) or not all(_fit(shape, expected, lengths)):
            known = ", ".join(str(lengths.get(axis, axis)) if isinstance(axis, str) else str(axis) for axis in expected)
            raise InputFileError(f"{path}: {name} has shape {shape}; expected ({known}{',' * (len(expected) == 1)})")
    return arrays


def _fit(shape: Sequence[int], axes: Sequence[int | str], lengths: dict[str, int]) -> Iterator[bool]:
    """Compare lengths of axes with what is expected; the first length of a name is the one that counts."""
    for length, axis in zip(shape, axes, strict=True):
        yield length == (lengths.setdefault(axis, length) if isinstance(axis, str) else axis)
