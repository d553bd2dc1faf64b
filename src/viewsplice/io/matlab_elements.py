"""The elements of a MATLAB 5 file, walked through without their values: SciPy trusts the types and sizes they claim.

An element is a tag, (type, number of bytes) in two 32-bit numbers, and its bytes, filled up to a multiple of 8. Up to
four bytes stand inside the tag, whose first half then holds both. A variable is an element of elements: flags, shape,
name, and numbers (three times, if it is sparse). It may be compressed as a whole.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_HEADER, _TAG = 128, 8
_MATRIX, _COMPRESSED = 14, 15
_INT8, _INT32, _UINT32 = 1, 5, 6
# Types of numbers, and their bytes.
_NUMBERS = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
_SPARSE, _FULL = 5, frozenset(range(6, 16))
_COMPLEX = 0x0800
_BLOCK = 2**16
_MOST_AXES = 64
# Deflate makes a byte of at most 1032.
_DENSEST = 1032


def check_elements(path: Path, name: str) -> None:
    """Raise `ValueError` if the variable ``name`` claims what its file cannot hold, or is no array of real numbers."""
    n_bytes = path.stat().st_size
    with path.open("rb") as file:
        order = "<" if file.read(_HEADER)[126:128] == b"IM" else ">"
        while len(tag := file.read(_TAG)) == _TAG:
            kind, size = struct.unpack(f"{order}II", tag)
            end = file.tell() + size
            if kind not in (_MATRIX, _COMPRESSED) or end > n_bytes:
                raise ValueError(f"an element of type {kind} and {size} bytes where a variable should be")
            walk = _Walk(file.read, order, size)
            if kind == _COMPRESSED:
                walk = _Walk(_inflated(file, size), order, _DENSEST * size)
                inner, walk.left, _ = walk.tag()
                if inner != _MATRIX or walk.left > _DENSEST * size:
                    raise ValueError(f"a compressed element of type {inner} that claims {walk.left} bytes")
            if _is_sound(walk, name):
                return
            file.seek(end)


class _Walk:
    """Reads the elements of one variable, which has ``left`` bytes to go."""

    def __init__(self, read: Callable[[int], bytes], order: str, left: int) -> None:
        self.read, self.order, self.left = read, order, left

    def tag(self) -> tuple[int, int, bytes]:
        """Return (type, number of bytes, the bytes themselves where they stand inside the tag)."""
        tag = self.take(_TAG)
        first, size = struct.unpack(f"{self.order}II", tag)
        if not first >> 16:
            if size > self.left:
                raise ValueError(f"an element that claims {size} bytes where {self.left} are left")
            return first, size, b""
        if first >> 16 > 4:
            raise ValueError(f"{first >> 16} bytes in a tag; expected at most 4")
        return first & 0xFFFF, first >> 16, tag[4 : 4 + (first >> 16)]

    def take(self, n_bytes: int) -> bytes:
        content = self.read(n_bytes) if n_bytes <= self.left else b""
        if len(content) < n_bytes:
            raise ValueError("a variable that ends too early")
        self.left -= n_bytes
        return content

    def element(self, kind: int, most: int) -> bytes:
        """Return the bytes of a small element of a type."""
        found, size, inside = self.tag()
        if found != kind or size > most:
            raise ValueError(f"an element of type {found} and {size} bytes; expected type {kind}")
        return inside or self.take(min(size + -size % _TAG, self.left))[:size]

    def numbers(self, *, skip: bool) -> int:
        """Return how many numbers follow, and go past them if asked to."""
        kind, size, inside = self.tag()
        if kind not in _NUMBERS:
            raise ValueError(f"numbers of type {kind}, which MATLAB does not know")
        if skip and not inside:
            left = size + -size % _TAG
            while left:
                left -= len(self.take(min(_BLOCK, left)))
        return size // _NUMBERS[kind]


def _is_sound(walk: _Walk, name: str) -> bool:
    """Tell whether the variable that begins here has this name; raise if it has, and is no array of real numbers."""
    (flags,) = struct.unpack(f"{walk.order}I", walk.element(_UINT32, _TAG)[:4])
    dimensions = walk.element(_INT32, 4 * _MOST_AXES)
    if walk.element(_INT8, _BLOCK).rstrip(b"\0").decode("latin-1") != name:
        return False
    shape = struct.unpack(f"{walk.order}{len(dimensions) // 4}i", dimensions)
    if flags & _COMPLEX:
        raise ValueError(f"complex numbers in {name!r}; expected real ones")
    kind = flags & 0xFF
    if kind not in (_SPARSE, *_FULL) or len(shape) < 2 or min(shape) < 0:
        raise ValueError(f"{name!r} of class {kind} and shape {shape}; expected an array of numbers")
    counts = [walk.numbers(skip=skip) for skip in ((True, True, False) if kind == _SPARSE else (False,))]
    if kind != _SPARSE and counts != [math.prod(shape)]:
        raise ValueError(f"{counts[0]} numbers for the shape {shape}")
    return True


def _inflated(file: BinaryIO, size: int) -> Callable[[int], bytes]:
    """Return a function that reads from ``size`` compressed bytes of a file."""
    engine, left = zlib.decompressobj(), size

    def read(n_bytes: int) -> bytes:
        nonlocal left
        content = b""
        while len(content) < n_bytes and not engine.eof:
            raw = engine.unconsumed_tail or file.read(min(_BLOCK, left))
            left -= 0 if engine.unconsumed_tail else len(raw)
            if not raw:
                break
            content += engine.decompress(raw, n_bytes - len(content))
        return content

    return read
