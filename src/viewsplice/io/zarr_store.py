"""Zarr folders: one array, or one array of a group."""

from __future__ import annotations

from pathlib import Path

from viewsplice._types import Array
from viewsplice.io.problems import choose, optional_library, refuse_key
from viewsplice.spool import read_blocks


def read_zarr(path: Path, key: str | None) -> Array:
    """Return an array of a Zarr folder; ``key`` is its path inside a group."""
    zarr = optional_library("zarr", "io", path)
    node = zarr.open(str(path), mode="r")
    if isinstance(node, zarr.Array):
        refuse_key(path, key)
        return read_blocks(node)
    names = sorted(name for name, item in node.members(max_depth=None) if isinstance(item, zarr.Array))
    return read_blocks(node[choose(path, None if key is None else key.strip("/"), names, "array")])
