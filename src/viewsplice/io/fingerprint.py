"""What tells whether data or settings are the same: hashes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.views import Views, row_blocks


def fingerprint(x: Array) -> str:
    """Return the SHA-256 of a view's type, shape and values, in hexadecimal digits."""
    digest = hashlib.sha256(f"{x.dtype.str} {x.shape}".encode())
    for block in row_blocks(len(x), int(np.prod(x.shape[1:]))):
        digest.update(np.ascontiguousarray(x[block]).tobytes())
    return digest.hexdigest()


def joint_fingerprint(arrays: Views | Mapping[str, Array]) -> str:
    """Return a text that changes with any number of named arrays, with their names and order; of views, with groups."""
    if isinstance(arrays, Views):
        arrays = {**arrays.arrays, **({} if arrays.groups is None else {"/groups": arrays.groups})}
    digest = hashlib.sha256()
    for name, x in arrays.items():
        content = np.asarray([str(label) for label in x]) if x.dtype.kind == "O" else x
        digest.update(f"{name} {fingerprint(content)}\n".encode())
    return digest.hexdigest()[:16]


def settings_hash(settings: Mapping[str, Any]) -> str:
    """Return ten hexadecimal digits that change with any setting."""
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def fingerprints(views: Views) -> dict[str, str]:
    """Return the fingerprint of every view."""
    return {name: fingerprint(x) for name, x in views.arrays.items()}
