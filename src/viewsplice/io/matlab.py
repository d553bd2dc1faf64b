"""MATLAB files: version 5 through SciPy, version 7.3 (which is HDF5) through h5py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from scipy import sparse

from viewsplice._types import Array
from viewsplice.io.hdf5 import is_group, load, open_hdf5
from viewsplice.io.matlab_elements import check_elements
from viewsplice.io.problems import choose, densify

_NUMERIC = frozenset(
    {"double", "single", "logical", "sparse", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
)
_HEADER_7_3 = b"MATLAB 7.3"


def read_mat(path: Path, key: str | None) -> Array:
    """Return one numeric variable of a .mat file, with the axes it has in MATLAB."""
    with path.open("rb") as file:
        is_hdf5 = file.read(len(_HEADER_7_3)) == _HEADER_7_3
    return _read_7_3(path, key) if is_hdf5 else _read_5(path, key)


def _read_5(path: Path, key: str | None) -> Array:
    names = [name for name, _, kind in scipy.io.whosmat(path) if kind in _NUMERIC]
    name = choose(path, key, names, "numeric array")
    if scipy.io.matlab.matfile_version(path)[0] == 1:  # 0 is version 4, whose numbers have one tag only
        check_elements(path, name)
    value = scipy.io.loadmat(path, variable_names=[name])[name]
    return densify(value, path) if sparse.issparse(value) else np.asarray(value)


def _read_7_3(path: Path, key: str | None) -> Array:
    with open_hdf5(path) as file:
        names = [name for name, item in file.items() if _matlab_class(item) in _NUMERIC]
        item = file[choose(path, key, names, "numeric array")]
        if is_group(item):
            return densify(_sparse(item), path)
        values = load(item).T  # MATLAB stores columns first, so HDF5 sees the axes reversed
        return values.astype(bool) if _matlab_class(item) == "logical" else values


def _matlab_class(item: Any) -> str:
    """Return the type a variable has in MATLAB."""
    if "MATLAB_empty" in item.attrs:  # what is stored is then the shape, not the values
        return "empty"
    if is_group(item):
        return "sparse" if "MATLAB_sparse" in item.attrs else "struct"
    kind = item.attrs.get("MATLAB_class", "double")
    return kind if isinstance(kind, str) else bytes(kind).decode()


def _sparse(group: Any) -> Any:
    n_rows, ends = int(group.attrs["MATLAB_sparse"]), group["jc"][...]
    parts = (group["data"][...], group["ir"][...], ends) if "data" in group else ([], [], ends)
    return sparse.csc_array(parts, shape=(n_rows, len(ends) - 1))
