"""What else is known of the rows, as columns of numbers that probes can read."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewsplice._types import Array


def as_columns(name: Any, values: Any, n_rows: int) -> Array:
    """Return a covariate as columns of numbers, (n, k): labels become one column each, numbers as objects numbers."""
    if not isinstance(name, str):
        raise TypeError(f"covariate name {name!r} is a {type(name).__name__}; expected a string")
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"covariate {name!r} is a masked array; expected complete data: leave out rows without a value")
    array = np.asarray(values)
    if array.ndim not in (1, 2) or len(array) != n_rows or 0 in array.shape:
        raise ValueError(f"covariate {name!r} has shape {array.shape}; expected one value or row per row: ({n_rows},)")
    array = _numbers(array) if array.dtype.kind == "O" else array
    if array.dtype.kind in "iuf":
        if not np.isfinite(array).all():
            raise ValueError(f"covariate {name!r} has NaN or infinite entries; expected finite numbers")
        return array.reshape(n_rows, -1).astype(np.float64)
    if array.dtype.kind not in "bOSU" or array.ndim == 2:
        raise TypeError(
            f"covariate {name!r} has dtype {array.dtype} and {array.ndim} axes; expected real numbers, or labels: one "
            "text per row"
        )
    missing = [value for value in array if value is None or value != value]
    if missing:
        raise ValueError(f"covariate {name!r} lacks {len(missing)} labels; expected one for every row")
    labels = np.unique(array.astype(str))
    columns: Array = (array.astype(str)[:, None] == labels).astype(np.float64)
    return columns


def _numbers(array: Array) -> Array:
    """Return numbers that came as Python objects as floats; what else there is stays as it is."""
    if any(isinstance(value, str | bytes | bool) for value in array.ravel()):
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return array
