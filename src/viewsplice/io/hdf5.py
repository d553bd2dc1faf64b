"""HDF5 files: one dataset, memory-mapped when it lies in the file as one uncompressed block, else read in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.io.problems import choose, optional_library
from viewsplice.spool import read_blocks


@contextmanager
def open_hdf5(path: Path, extra: str = "io") -> Iterator[Any]:
    """Open an HDF5 file for reading; ``extra`` is what to install when h5py is missing."""
    h5py = optional_library("h5py", extra, path)
    with h5py.File(path, "r") as file:
        yield file


def is_group(item: Any) -> bool:
    """Tell a group from a dataset."""
    import h5py

    return isinstance(item, h5py.Group)


def load(dataset: Any) -> Array:
    """Return the values of a dataset; text comes as text."""
    import h5py

    if h5py.check_string_dtype(dataset.dtype) is not None:
        return np.asarray(dataset.asstr()[...]).astype(str)
    if not _is_mappable(dataset):
        return read_blocks(dataset)
    # The file of the dataset, which for an external link is not the one that was opened.
    return np.memmap(
        dataset.file.filename, dtype=dataset.dtype, mode="r", offset=dataset.id.get_offset(), shape=dataset.shape
    )


def _is_mappable(dataset: Any) -> bool:
    """Tell if the bytes on disk are the array itself: a type that NumPy has, one block, no filter."""
    import h5py

    is_one_block = dataset.id.get_offset() is not None and dataset.id.get_storage_size() != 0
    return is_one_block and bool(h5py.h5t.py_create(dataset.dtype, logical=True) == dataset.id.get_type())


def read_hdf5(path: Path, key: str | None) -> Array:
    """Return one dataset of an HDF5 file; ``key`` is its path inside the file."""
    with open_hdf5(path) as file:
        wanted = None if key is None else f"/{key.strip('/')}"
        item = None if wanted is None else file.get(wanted)
        if item is not None and not is_group(item):
            return load(item)
        names: list[str] = []
        file.visititems(lambda name, item: None if is_group(item) else names.append(f"/{name}"))
        return load(file[choose(path, wanted, names, "dataset")])


def read_nwb(path: Path, key: str | None) -> Array:
    """Return the stored values of one TimeSeries of an NWB file, without its unit conversion.

    An NWB file is an HDF5 file of agreed layout: a TimeSeries is a group with a dataset ``data``, such as
    ``/acquisition/NAME`` or ``/processing/MODULE/NAME``.
    """
    with open_hdf5(path, extra="nwb") as file:
        names: list[str] = []

        def visit(name: str, item: Any) -> None:
            if is_group(item) and "data" in item and not is_group(item["data"]):
                names.append(f"/{name}")

        file.visititems(visit)
        wanted = None if key is None else f"/{key.strip('/')}"
        return load(file[choose(path, wanted, names, "TimeSeries")]["data"])
