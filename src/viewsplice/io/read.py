"""From file names to arrays and named views: which reader serves which extension."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from viewsplice._types import Array
from viewsplice.io.hdf5 import read_hdf5, read_nwb
from viewsplice.io.matlab import read_mat
from viewsplice.io.numpy_format import read_npy, read_npz
from viewsplice.io.omics import read_feature_names, read_h5ad, read_h5mu, read_obs
from viewsplice.io.problems import InputFileError, check_file, guarded
from viewsplice.io.source import Source, parse_source
from viewsplice.io.text import column_names, read_labels, read_table
from viewsplice.io.zarr_store import read_zarr
from viewsplice.views import Views, default_names

_Reader = Callable[[Path, str | None], Array]
_OBS = "obs/"

_READERS: dict[str, tuple[_Reader, str]] = {
    ".npy": (read_npy, "a NumPy .npy file"),
    ".npz": (read_npz, "a NumPy .npz file"),
    ".csv": (read_table, "a table of numbers in UTF-8 text"),
    ".tsv": (read_table, "a table of numbers in UTF-8 text"),
    ".txt": (read_table, "a table of numbers in UTF-8 text"),
    ".mat": (read_mat, "a MATLAB file"),
    ".h5": (read_hdf5, "an HDF5 file"),
    ".hdf5": (read_hdf5, "an HDF5 file"),
    ".zarr": (read_zarr, "a Zarr folder"),
    ".h5ad": (read_h5ad, "an AnnData file"),
    ".h5mu": (read_h5mu, "a MuData file"),
    ".nwb": (read_nwb, "an NWB file"),
}
EXTENSIONS = tuple(_READERS)


def read_views(sources: Sequence[str], names: Sequence[str] | None = None) -> Views:
    """Return the views that some files hold.

    Parameters
    ----------
    sources
        One text per view: ``path``, ``name=path``, ``path:key`` or ``name=path:key``.
    names
        What unnamed views are called, by position; default: A, B, ...
    """
    parsed = [parse_source(text) for text in sources]
    known = default_names(len(parsed)) if names is None else names
    if len(parsed) > len(known):
        raise ValueError(f"got {len(parsed)} files; expected at most {len(known)}, one per view: {list(known)}")
    names = [source.name or name for source, name in zip(parsed, known, strict=False)]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        files = ", ".join(str(source) for source, name in zip(parsed, names, strict=True) if name == repeated[0])
        raise ValueError(
            f"got more than one view named {repeated[0]!r} ({files}); expected different names: use name=path"
        )
    arrays = {name: read_array(source) for name, source in zip(names, parsed, strict=True)}
    try:
        return Views(arrays)
    except (TypeError, ValueError) as error:
        files = ", ".join(f"{name!r}: {source}" for name, source in zip(names, parsed, strict=True))
        raise ValueError(f"{error} (files: {files})") from error


def read_array(source: str | Source) -> Array:
    """Return one numeric array in native byte order; a .npy file or a contiguous HDF5 dataset stays memory-mapped."""
    source = parse_source(source) if isinstance(source, str) else source
    array = _read(source)
    if array.dtype.kind not in "fiub":
        raise InputFileError(f"{source} has dtype {array.dtype}; expected real numbers: choose or save another array")
    return _native(array)


def read_column(text: str, n_rows: int | None = None, *, may_lack: bool = False) -> Array:
    """Return one number or text label per row, (rows,), as for groups and colors.

    Parameters
    ----------
    text
        A file as in `read_views`; the key of a .csv, .tsv or .txt file is a column of its header row, and that of a
        .h5ad or .h5mu file may be ``obs/NAME``.
    n_rows
        How many rows are expected, if known: it tells a header from a label in a file of text only.
    may_lack
        Whether cells of a table may be empty: NaN among numbers, an empty text among labels.
    """
    source = parse_source(text)
    if _reader(source)[0] is read_table:
        with guarded(source.path, "a column of UTF-8 text"):
            return read_labels(source.path, source.key, n_rows, may_lack=may_lack)
    if source.key and source.key.startswith(_OBS) and _reader(source)[0] in (read_h5ad, read_h5mu):
        with guarded(source.path, "a column of obs"):
            return read_obs(source.path, source.key.removeprefix(_OBS))
    array = _read(source)
    if array.size != max(array.shape, default=0):
        raise InputFileError(f"{source} has shape {array.shape}; expected a single column")
    column = array.reshape(-1)
    if column.dtype.kind == "S":
        with guarded(source.path, "labels in UTF-8"):
            column = np.char.decode(column, "utf-8")
    if column.dtype.kind == "M":
        return np.where(np.isnat(column), "", np.datetime_as_string(column))
    if column.dtype.kind in "UT":
        return np.array(column.tolist(), dtype=str)  # NumPy cannot cast StringDType, which Zarr gives, by itself
    if column.dtype.kind not in "fiub":
        raise InputFileError(f"{source} has dtype {column.dtype}; expected numbers or text labels")
    return _native(column)


def read_columns(text: str, n_rows: int | None = None) -> dict[str, Array]:
    """Return columns by name: the one that `read_column` returns, or all of a table with a header or a .npz file.

    The name is the one given (``name=path``), else the key, else that of the file. Cells of tables may be empty.
    """
    source = parse_source(text)
    name = source.name or (source.key or source.path.stem).rsplit("/", 1)[-1]
    names: list[str] = []
    if source.key is None and source.path.is_file():
        if source.path.suffix.lower() == ".npz":
            with guarded(source.path, "a NumPy .npz file"), np.load(source.path, allow_pickle=False) as archive:
                names = list(archive.files)
        elif _reader(source)[0] is read_table:
            with guarded(source.path, "a table in UTF-8 text"):
                names = column_names(source.path)
    if len(names) < 2:
        return {name: read_column(text, n_rows, may_lack=True)}
    return {one: read_column(f"{source.path}:{one}", n_rows, may_lack=True) for one in names}


def read_names(text: str) -> list[str] | None:
    """Return the names of a view's features, if its file has any: a header row, or the variables of cells."""
    source = parse_source(text)
    read = _reader(source)[0]
    if read is read_table and source.key is None:
        return column_names(source.path) or None
    if read in (read_h5ad, read_h5mu):
        with guarded(source.path, "a file of cells"):
            return read_feature_names(source.path, source.key)
    return None


def _reader(source: Source) -> tuple[_Reader, str]:
    extension = source.path.suffix.lower()
    if extension not in _READERS:
        check_file(source.path)
        raise InputFileError(f"{source.path} has no known extension; expected one of: {', '.join(EXTENSIONS)}")
    check_file(source.path, is_folder=extension == ".zarr")
    return _READERS[extension]


def _read(source: Source) -> Array:
    read, expected = _reader(source)
    with guarded(source.path, expected):
        return read(source.path, source.key)


def _native(array: Array) -> Array:
    """Return the array in the byte order of this machine, which torch needs; a copy only when it differs."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
