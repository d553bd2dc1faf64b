"""What else is known of the rows, as columns of numbers that probes can read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from viewsplice._types import Array

# Labels with a column of their own, the most frequent ones: an identifier of every row would take rows x rows.
_MOST_LABELS = 256


def covariate_columns(covariates: Mapping[str, Any] | None, n_rows: int) -> dict[str, Array]:
    """Return all covariates as columns of numbers, by name."""
    if covariates is None:
        return {}
    if not isinstance(covariates, Mapping):
        raise TypeError(
            f"covariates is a {type(covariates).__name__}; expected values by name, such as {{'speed': speed}} "
            "(dict(frame) of a table)"
        )
    return {name: as_columns(name, values, n_rows) for name, values in covariates.items()}


def as_columns(name: Any, values: Any, n_rows: int) -> Array:
    """Return a covariate as columns of numbers, (n, k): labels become one column each, numbers as objects numbers.

    Of more than 256 labels the most frequent have columns; rows with the others have zeros there.
    """
    if not isinstance(name, str):
        raise TypeError(f"covariate name {name!r} is a {type(name).__name__}; expected a string")
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"covariate {name!r} is a masked array; expected complete data: leave out rows without a value")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"covariate {name!r} is ragged ({error}); expected one value or row per row") from error
    if array.ndim not in (1, 2) or len(array) != n_rows or 0 in array.shape:
        raise ValueError(f"covariate {name!r} has shape {array.shape}; expected one value or row per row: ({n_rows},)")
    array = _numbers(array) if array.dtype.kind == "O" else array
    if array.dtype.kind in "iuf":
        with np.errstate(over="ignore"):
            numbers: Array = array.reshape(n_rows, -1).astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError(f"covariate {name!r} has NaN or infinite entries; expected finite numbers")
        return numbers
    if array.dtype.kind not in "bOSU" or array.ndim == 2:
        raise TypeError(
            f"covariate {name!r} has dtype {array.dtype} and {array.ndim} axes; expected real numbers, or labels: one "
            "text per row"
        )
    n_missing = sum(map(_is_missing, array))
    if n_missing:
        raise ValueError(f"covariate {name!r} lacks {n_missing} labels; expected one for every row")
    _, members, counts = np.unique(array.astype(str), return_inverse=True, return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:_MOST_LABELS])
    columns: Array = (members[:, None] == kept).astype(np.float64)
    return columns


def _is_missing(label: Any) -> bool:
    """Tell whether there is no label; what stands for a missing value in tables has no truth of its own."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True


def _numbers(array: Array) -> Array:
    """Return numbers that came as Python objects as floats; what else there is stays as it is."""
    if any(isinstance(value, str | bytes | bool) for value in array.ravel()):
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return array
