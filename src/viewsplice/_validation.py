"""Checks at the edge: data, widths per space, and the split into training and validation rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from viewsplice._types import Array, Shape
from viewsplice.views import Views, arrows, as_views, endpoints, is_arrow, row_blocks


def check_finite(views: Views) -> None:
    """Raise if a view holds NaN or infinity, saying how many and where the first one is."""
    for name, x in views.arrays.items():
        if x.dtype.kind != "f":
            continue
        n_features = math.prod(x.shape[1:])
        count, first = 0, None
        for block in row_blocks(len(x), n_features):
            bad = ~np.isfinite(x[block].reshape(-1, n_features))
            found = int(bad.sum())
            if found and first is None:
                row, column = np.unravel_index(int(bad.argmax()), bad.shape)
                first = (block.start + int(row), int(column))
            count += found
        if first is not None:
            raise ValueError(
                f"view {name!r} has {count} non-finite value{'s' if count > 1 else ''} (NaN or infinity), the first at "
                f"row {first[0]}, feature {first[1]}; expected finite numbers: "
                "impute them or drop those rows in all views"
            )


def fitted_views(X: Any, y: Any, shapes: Mapping[str, Shape], *, complete: bool = False) -> Views:
    """Return new data as views of the fitted ``shapes``, in their order; all of them if they must be complete."""
    views = as_views(X, y, names=tuple(shapes))
    unknown = [name for name in views.names if name not in shapes]
    if unknown:
        raise ValueError(f"unknown view {unknown[0]!r}; expected some of {list(shapes)}")
    for name, shape in views.feature_shapes.items():
        if shape != shapes[name]:
            raise ValueError(f"view {name!r} has rows of shape {shape}; expected {shapes[name]}, as in fit")
    missing = [name for name in shapes if name not in views]
    if complete and missing:
        raise ValueError(f"view {missing[0]!r} is missing; expected all of {list(shapes)}")
    check_finite(views)
    return Views({name: views[name] for name in shapes if name in views})


def check_target(target: str, given: Views, names: Sequence[str]) -> None:
    """Raise unless ``target`` is a fitted view that is not among the given ones."""
    if target not in names:
        raise ValueError(f"unknown view {target!r}; expected one of {list(names)}")
    if target in given:
        raise ValueError(f"the given views include the target {target!r}; expected the others only")


def shared_widths(n_shared: Any, shapes: Mapping[str, Shape]) -> dict[str, int | None]:
    """Return the width of every arrow from an int, ``"auto"`` (None), or a dict of these by arrow."""
    names = arrows(shapes)
    widths = _by_name("n_shared", n_shared, names, "arrow")
    for name, width in widths.items():
        if width is None:
            continue
        source, target = endpoints(name)
        limit = min(math.prod(shapes[source]), math.prod(shapes[target]))
        if width > limit:
            raise ValueError(
                f"n_shared is {width} for {name}; expected at most {limit}, the features of the smaller view"
            )
    return widths


def private_widths(n_private: Any, shapes: Mapping[str, Shape]) -> dict[str, int | None]:
    """Return the width of every private space from an int, ``"auto"`` (None), a tuple in view order, or a dict."""
    names = tuple(shapes)
    if isinstance(n_private, tuple | list):
        if len(n_private) != len(names):
            raise ValueError(f"n_private has {len(n_private)} widths; expected one per view: {list(names)}")
        n_private = dict(zip(names, n_private, strict=True))
    widths = _by_name("n_private", n_private, names, "view")
    for name, width in widths.items():
        limit = math.prod(shapes[name])
        if width is not None and width > limit:
            raise ValueError(f"n_private is {width} for view {name!r}; expected at most its {limit} features")
    return widths


def check_known(widths: Mapping[str, int | None], why: str) -> None:
    """Raise if the width of some space is still to be found where it cannot be."""
    for name, width in widths.items():
        if width is None:
            setting = "n_shared" if is_arrow(name) else "n_private"
            raise ValueError(f"{setting} is 'auto'; {why} expects widths, such as {setting}=2")


def check_decodable(n_private: Mapping[str, int | None], n_shared: Mapping[str, int | None]) -> None:
    """Raise if some view would have to be rebuilt from nothing."""
    for view, width in n_private.items():
        if width == 0 and all(n == 0 for name, n in n_shared.items() if endpoints(name)[1] == view):
            raise ValueError(
                f"view {view!r} has private width 0 and no incoming shared dimensions, so nothing could rebuild it: "
                "raise n_shared or n_private"
            )


def _by_name(setting: str, value: Any, names: Sequence[str], kind: str) -> dict[str, int | None]:
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in names]
        missing = [name for name in names if name not in value]
        if unknown or missing:
            problem = f"unknown {kind}s {unknown}" if unknown else f"no width for {missing}"
            raise ValueError(f"{setting} has {problem}; expected one width per {kind}: {list(names)}")
        given = dict(value)
    else:
        given = dict.fromkeys(names, value)
    for name, width in given.items():
        if isinstance(width, str) and width == "auto":
            continue
        if isinstance(width, bool) or not isinstance(width, int | np.integer):
            raise TypeError(f"{setting} is {width!r} for {name}; expected an integer width, or 'auto'")
        if width < 0:
            raise ValueError(f"{setting} is {width} for {name}; expected a width of at least 0")
    return {name: None if isinstance(given[name], str) else int(given[name]) for name in names}


def check_callbacks(callbacks: Any) -> tuple[Callable[..., Any], ...]:
    """Return the functions to be called after each epoch, or say why they cannot be."""
    found = tuple(callbacks) if isinstance(callbacks, Iterable) else (callbacks,)
    if not isinstance(callbacks, Iterable) or not all(map(callable, found)):
        raise TypeError(f"callbacks is {callbacks!r}; expected a list of functions, such as [progress()]")
    return found


def row_numbers(name: str, rows: Any, n_rows: int) -> Array:
    """Return one or more row numbers as an index array, or say why they are none."""
    found = np.atleast_1d(rows)
    if found.ndim != 1 or found.dtype.kind not in "iu" or ((found < -n_rows) | (found >= n_rows)).any():
        raise ValueError(f"{name} is {rows!r}; expected row numbers from 0 to {n_rows - 1}")
    return found


def row_number(name: str, row: Any, n_rows: int) -> int:
    """Return a single row number, or say why it is none."""
    if np.ndim(row):
        raise ValueError(f"{name} is {row!r}; expected one row number")
    return int(row_numbers(name, row, n_rows)[0])


def split_rows(
    n_rows: int, validation: Any, groups: Array | None, generator: np.random.Generator
) -> tuple[Array, Array]:
    """Return (training, validation) row numbers, sorted; groups are never divided.

    ``validation`` is a fraction below 1 (0: none) or the validation rows themselves.
    """
    if isinstance(validation, bool) or not (np.ndim(validation) or isinstance(validation, float | int | np.number)):
        raise TypeError(f"validation is {validation!r}; expected a fraction, row numbers, Blocks, or views")
    if np.ndim(validation):
        held_out = _given_rows(n_rows, np.asarray(validation), groups)
    else:
        held_out = _drawn_rows(n_rows, float(validation), groups, generator)
    return np.setdiff1d(np.arange(n_rows), held_out), held_out


def _given_rows(n_rows: int, rows: Array, groups: Array | None) -> Array:
    if rows.dtype == bool and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise TypeError(f"validation has dtype {rows.dtype} and shape {rows.shape}; expected integer row numbers")
    if len(rows) and (rows.min() < 0 or rows.max() >= n_rows):
        raise ValueError(f"validation names rows {rows.min()} to {rows.max()}; expected 0 to {n_rows - 1}")
    rows = np.unique(rows)
    if len(rows) == n_rows:
        raise ValueError("validation holds every row; expected some rows left for training")
    if groups is not None:
        divided = np.intersect1d(groups[rows], np.delete(groups, rows))
        if len(divided):
            raise ValueError(f"validation divides group {divided.tolist()[0]!r}; expected whole groups")
    return rows


def _drawn_rows(n_rows: int, fraction: float, groups: Array | None, generator: np.random.Generator) -> Array:
    if not 0 <= fraction < 1:
        raise ValueError(f"validation is {fraction}; expected a fraction of at least 0 and below 1")
    if fraction == 0:
        return np.empty(0, dtype=np.int64)
    wanted = min(max(1, round(fraction * n_rows)), n_rows - 1)
    if groups is None:
        return np.sort(generator.permutation(n_rows)[:wanted])
    labels, members = np.unique(groups, return_inverse=True)
    if len(labels) < 2:
        raise ValueError("groups holds a single group; expected at least two, or validation=0")
    order = generator.permutation(len(labels))
    sizes = np.cumsum(np.bincount(members)[order])
    n_groups = min(int(np.searchsorted(sizes, wanted)) + 1, len(labels) - 1)
    return np.flatnonzero(np.isin(members, order[:n_groups]))
