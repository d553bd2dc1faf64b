"""Latents as a .npz file: ``private/A``, ``shared/A->B``, ..., and ``split``."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from viewsplice._types import Array, Latents
from viewsplice.io.problems import InputFileError, check_file, guarded
from viewsplice.io.write import atomic_file

_PRIVATE, _SHARED, _SPLIT = "private/", "shared/", "split"


def write_latents(path: str | Path, latents: Latents[Array], split: Mapping[str, Array]) -> None:
    """Write latents, all rows in input order; equal latents give equal bytes.

    Parameters
    ----------
    path
        The .npz file.
    latents
        What to write.
    split
        The rows (indices or a mask) of each part, such as "train" and "validation". They become one label per row,
        "" for rows of no part; without parts there is no ``split`` in the file.
    """
    arrays = {f"{_PRIVATE}{name}": np.asarray(z) for name, z in latents.private.items()}
    arrays |= {f"{_SHARED}{name}": np.asarray(s) for name, s in latents.shared.items()}
    if split:
        arrays[_SPLIT] = _labels(split, len(latents))
    with atomic_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            # A ZipInfo without a time, where numpy.savez writes the present one.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_latents(path: str | Path) -> Latents[Array]:
    """Return the latents that `write_latents` wrote."""
    path = Path(path)
    check_file(path)
    with guarded(path, "a latents.npz file"), np.load(path, mmap_mode=None, allow_pickle=False) as archive:
        private = {name.removeprefix(_PRIVATE): archive[name] for name in archive.files if name.startswith(_PRIVATE)}
        shared = {name.removeprefix(_SHARED): archive[name] for name in archive.files if name.startswith(_SHARED)}
    if not private and not shared:
        raise InputFileError(f"{path} holds no latents; expected arrays named private/VIEW or shared/VIEW->VIEW")
    return Latents(private=private, shared=shared)


def _labels(split: Mapping[str, Array], n_rows: int) -> Array:
    """Return the name of the part each row belongs to."""
    labels = np.full(n_rows, "", dtype=f"<U{max(map(len, split))}")
    for name, rows in split.items():
        taken = np.flatnonzero(labels[rows])
        if len(taken):
            raise ValueError(f"split {name!r} shares {len(taken)} rows with another part; expected disjoint parts")
        labels[rows] = name
    return labels
