"""Single-cell files: a matrix of an AnnData file, or of one modality of a MuData file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from viewsplice._types import Array
from viewsplice.io.hdf5 import open_hdf5
from viewsplice.io.problems import InputFileError, choose, densify, optional_library

_MAIN = "X"


def read_h5ad(path: Path, key: str | None) -> Array:
    """Return X, or the layer or obsm entry that ``key`` names (``layers/NAME`` or ``obsm/NAME`` if both do)."""
    with open_hdf5(path, extra="omics") as file:
        return _matrix(file, path, key)


def read_h5mu(path: Path, key: str | None) -> Array:
    """Return one modality (``rna``, or ``rna/NAME`` for a layer or obsm entry), its rows in the order of all cells.

    Modalities may hold different cells, or the same in another order; as views they must be paired, so the rows
    follow the cells of the whole file.
    """
    with open_hdf5(path, extra="omics") as file:
        name, _, part = (key or "").partition("/")
        name = choose(path, name or None, list(file["mod"]) if "mod" in file else [], "modality")
        matrix = _matrix(file["mod"][name], path, part or None)
        own, cells = _cells(file["mod"][name], path), _cells(file, path)
    if np.array_equal(own, cells):
        return matrix
    row_of = {cell: row for row, cell in enumerate(own)}
    if len(row_of) < len(own) or sorted(own) != sorted(cells):
        raise InputFileError(
            f"{path}: modality {name!r} has {len(own)} cells, not the same as the {len(cells)} of the file; "
            "expected paired rows: keep the cells measured in every modality, each under its own name, and write again"
        )
    return matrix[[row_of[cell] for cell in cells]]


def read_obs(path: Path, column: str) -> Array:
    """Return what is known about each cell under one name: numbers, or labels as text, (cells,)."""
    with open_hdf5(path, extra="omics") as file:
        frame = optional_library("anndata", "omics", path).io.read_elem(file["obs"])
    values = frame[choose(path, column, [str(name) for name in frame.columns], "column of obs")]
    return np.asarray(values) if values.dtype.kind in "fiub" else np.asarray(values.astype(str), dtype=str)


def read_feature_names(path: Path, key: str | None) -> list[str] | None:
    """Return the names of the variables of a matrix; None where it has others, as in obsm."""
    with open_hdf5(path, extra="omics") as file:
        group = file
        if path.suffix.lower() == ".h5mu":
            name, _, key = (key or "").partition("/")
            group = file["mod"][choose(path, name or None, list(file["mod"]) if "mod" in file else [], "modality")]
        part = (key or _MAIN).split("/")[0]
        if part == "obsm" or (part not in (_MAIN, "layers") and part in group.get("obsm", ())):
            return None
        frame = optional_library("anndata", "omics", path).io.read_elem(group["var"])
    return [str(name) for name in frame.index]


def _matrix(group: Any, path: Path, key: str | None) -> Array:
    places = [_MAIN] if _MAIN in group else []
    places += [f"{part}/{name}" for part in ("layers", "obsm") for name in group.get(part, ())]
    wanted = _MAIN if key is None else key
    matches = [place for place in places if wanted in (place, place.partition("/")[2])]
    place = matches[0] if len(matches) == 1 else choose(path, wanted, places, "matrix")
    read_elem = optional_library("anndata", "omics", path).io.read_elem
    value = read_elem(group[place])
    return densify(value, path) if sparse.issparse(value) else np.asarray(value)


def _cells(group: Any, path: Path) -> Array:
    frame = optional_library("anndata", "omics", path).io.read_elem(group["obs"])
    return np.asarray(frame.index, dtype=str)
