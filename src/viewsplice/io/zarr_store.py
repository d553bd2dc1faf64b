"""Zarr folders: one array, or one array of a group. Pickled chunks are never loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from viewsplice._types import Array
from viewsplice.io.problems import InputFileError, choose, optional_library, refuse_key
from viewsplice.spool import read_blocks


def read_zarr(path: Path, key: str | None) -> Array:
    """Return an array of a Zarr folder; ``key`` is its path inside a group."""
    zarr = optional_library("zarr", "io", path)
    node = zarr.open(str(path), mode="r")
    if isinstance(node, zarr.Array):
        refuse_key(path, key)
        return _load(node, path)
    names = sorted(name for name, item in node.members(max_depth=None) if isinstance(item, zarr.Array))
    return _load(node[choose(path, None if key is None else key.strip("/"), names, "array")], path)


def _load(array: Any, path: Path) -> Array:
    """Return the values, unless chunks would be unpickled: older numcodecs do that without asking."""
    filters = getattr(array.metadata, "filters", None) or ()
    codecs = [getattr(codec, "codec_id", "") for codec in (*filters, getattr(array.metadata, "compressor", None))]
    if "pickle" in codecs:
        raise InputFileError(
            f"{path} holds pickled Python objects, which are never unpickled; expected numbers: write it again"
        )
    return read_blocks(array)
