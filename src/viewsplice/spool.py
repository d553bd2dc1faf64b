"""Room for large arrays: small ones are in memory, large ones in temporary files that vanish with the process.

What is mapped from a file can be written back and read again when memory is short; what is in memory cannot.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from viewsplice._types import Array

# Arrays of at most so many bytes are in memory.
_MOST_BYTES = 256 * 2**20
# Numbers that are read at once.
_BLOCK_VALUES = 2**22
# A disk or a memory is not filled to the last byte.
_SPARE = 1.1
_GIB = 2**30


def room(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    """Return an array to be filled: in memory, or in a temporary file (in ``TMPDIR``) if it is large."""
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if n_bytes <= _MOST_BYTES or n_bytes * _SPARE > free_disk():
        return np.empty(shape, dtype=dtype)
    with tempfile.TemporaryFile(prefix="viewsplice-") as file:
        # The file has no name; it goes when the last array that is mapped from it goes.
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape)


def give_back() -> None:
    """Return freed memory to the system, where the C library (glibc) would keep tens of megabytes for later.

    Stages of a fit need memory of different kinds: what one has freed is of little use to the next.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library; Windows has no CDLL(None)
        ctypes.CDLL(None).malloc_trim(0)


def read_blocks(source: Any) -> Array:
    """Return all values of something on disk that is read by slices (an HDF5 dataset, a Zarr array), block by block."""
    out = room(tuple(source.shape), source.dtype)
    if out.ndim == 0:
        return np.asarray(source[()])
    step = max(1, _BLOCK_VALUES // max(1, math.prod(out.shape[1:])))
    for start in range(0, len(out), step):
        out[start : start + step] = source[start : start + step]
    return out


def check_room(sizes: dict[str, int]) -> None:
    """Raise, before any work, if what a fit must keep has room neither on the disk nor in memory.

    Parameters
    ----------
    sizes
        Bytes of each array, by what it is.
    """
    large = {what: n_bytes for what, n_bytes in sizes.items() if n_bytes > _MOST_BYTES}
    needed, disk, memory = sum(large.values()), free_disk(), free_memory()
    if needed * _SPARE <= max(disk, memory):
        return
    told = ", ".join(f"{what} {n_bytes / _GIB:.1f}" for what, n_bytes in large.items())
    raise ValueError(
        f"this fit needs about {needed / _GIB:.1f} GiB ({told}), but {tempfile.gettempdir()} has {disk / _GIB:.1f} GiB "
        f"left and the memory {memory / _GIB:.1f}; expected room for it: set TMPDIR to a larger disk, or fit fewer rows"
    )


def free_disk() -> float:
    """Return the bytes that are left for temporary files."""
    return float(shutil.disk_usage(tempfile.gettempdir()).free)


def free_memory() -> float:
    """Return the bytes of memory that programs could still have; infinity where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        (line,) = (line for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError):
        return math.inf
    return 1024.0 * int(line.split()[1])
