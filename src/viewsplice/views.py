"""Views and their names: the container users may pass, and the arrows between views."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from string import ascii_uppercase
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from viewsplice._types import Array, Shape
from viewsplice.spool import read_blocks

_ARROW = "->"
_RESERVED = frozenset(dir(nn.ModuleDict()))

# Rows are handled in blocks of about this many numbers (4 MB in float64), and of at most this many rows.
_BLOCK_VALUES = 2**19
_BLOCK_ROWS = 2**12


def arrow(source: str, target: str) -> str:
    """Return the name of the shared space computed from ``source`` and used to rebuild ``target``."""
    return f"{source}{_ARROW}{target}"


def arrows(names: Iterable[str]) -> tuple[str, ...]:
    """Return all N(N-1) ordered pairs, in view order: which shared spaces exist is decided here."""
    return tuple(arrow(source, target) for source, target in permutations(names, 2))


def endpoints(name: str) -> tuple[str, str]:
    """Return (source, target) of an arrow."""
    source, target = name.split(_ARROW)
    return source, target


def is_arrow(space: str) -> bool:
    """Tell a shared space (an arrow) from a private one (a view)."""
    return _ARROW in space


def default_names(n_views: int) -> tuple[str, ...]:
    """Return A, B, C, ... and, past Z, AA, AB, ..."""
    letters = [*ascii_uppercase, *(a + b for a in ascii_uppercase for b in ascii_uppercase)]
    if n_views > len(letters):
        raise ValueError(f"got {n_views} views; expected at most {len(letters)}")
    return tuple(letters[:n_views])


def check_name(name: Any) -> str:
    """Return a view name, or say why it cannot be one."""
    if not isinstance(name, str):
        raise TypeError(f"view name {name!r} is a {type(name).__name__}; expected a string")
    if not name or "." in name or _ARROW in name or "/" in name or "=" in name:
        raise ValueError(f"view name {name!r} is not allowed: expected a non-empty text without '.', '/', '=' or '->'")
    if name in _RESERVED:
        raise ValueError(f"view name {name!r} is reserved by torch.nn.ModuleDict: choose another, such as '{name}_'")
    return name


def as_array(values: Any, name: str) -> Array:
    """Return one view as a numeric array of at least two dimensions, without copying where possible."""
    if isinstance(values, Tensor):
        values = _from_tensor(values, name)
    if hasattr(values, "toarray") and hasattr(values, "nnz"):
        raise TypeError(
            f"view {name!r} is a sparse matrix; expected a dense array: pass .toarray() if it fits in memory"
        )
    rows = values if isinstance(values, list | tuple) else ()
    if any(isinstance(one, np.ma.MaskedArray) for one in (values, *rows)):
        raise TypeError(f"view {name!r} is a masked array; expected complete data: fill or drop the masked entries")
    if not isinstance(values, np.ndarray) and hasattr(values, "chunks") and hasattr(values, "shape"):
        values = read_blocks(values)  # an HDF5 dataset or a Zarr array
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"view {name!r} is ragged: expected rows of equal length") from error
    array = _as_real(array, name)
    if array.ndim < 2:
        raise ValueError(
            f"view {name!r} has shape {array.shape}; expected (rows, features): reshape a single feature to (n, 1)"
        )
    if 0 in array.shape:
        raise ValueError(f"view {name!r} is empty: shape {array.shape}; expected at least one row and one feature")
    return array


def _from_tensor(values: Tensor, name: str) -> Array:
    if values.layout != torch.strided:
        raise TypeError(
            f"view {name!r} is a sparse tensor; expected a dense one: pass .to_dense() if it fits in memory"
        )
    try:
        dense = values.detach().cpu()
        array: Array = (dense.float() if dense.dtype == torch.bfloat16 else dense).numpy()
    except (TypeError, RuntimeError) as error:
        raise TypeError(
            f"view {name!r} is a tensor of {values.dtype} on {values.device}, which NumPy cannot hold; "
            "expected numbers such as float32"
        ) from error
    return array


def _as_real(array: Array, name: str) -> Array:
    if array.dtype.kind == "O":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeError(
                f"view {name!r} holds objects that are not numbers ({error}); expected numeric data"
            ) from error
    if array.dtype.kind == "c":
        raise TypeError(f"view {name!r} is complex; expected real numbers: pass real and imaginary parts as features")
    if array.dtype.kind not in "fiub":
        raise TypeError(f"view {name!r} has dtype {array.dtype}; expected numeric data")
    return array


class Views:
    """Paired views of the same rows that stock scikit-learn tools can split.

    Parameters
    ----------
    views
        Mapping from name to array, or a sequence of arrays (named A, B, C, ...); each (n, ...).
    groups
        Optional label per row (trial, donor, animal) that a split must not divide.

    Examples
    --------
    >>> import numpy as np
    >>> views = Views({"lgn": np.zeros((4, 3)), "v1": np.ones((4, 5))}, groups=[0, 0, 1, 1])
    >>> views.shape, views[:2]["v1"].shape
    ((4,), (2, 5))
    """

    def __init__(self, views: Views | Mapping[str, Any] | Sequence[Any], groups: Any = None) -> None:
        if isinstance(views, Views):
            groups = views.groups if groups is None else groups
            views = views.arrays
        named = views if isinstance(views, Mapping) else dict(zip(default_names(len(views)), views, strict=True))
        if not named:
            raise ValueError("got no views; expected at least one")
        self.arrays: dict[str, Array] = {check_name(name): as_array(x, name) for name, x in named.items()}
        sizes = {name: len(x) for name, x in self.arrays.items()}
        if len(set(sizes.values())) > 1:
            counts = ", ".join(f"{name!r}: {n}" for name, n in sizes.items())
            raise ValueError(f"views have different numbers of rows ({counts}); expected paired rows, equally many")
        self.groups: Array | None = None if groups is None else _as_labels(groups, len(self))

    @property
    def names(self) -> tuple[str, ...]:
        """View names, in order."""
        return tuple(self.arrays)

    @property
    def shape(self) -> Shape:
        """One axis, the rows: what scikit-learn needs to split this container."""
        return (len(self),)

    @property
    def feature_shapes(self) -> dict[str, Shape]:
        """Shape of one row of each view."""
        return {name: x.shape[1:] for name, x in self.arrays.items()}

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def __getitem__(self, key: Any) -> Any:
        """Return a view (key is its name), or the rows of all views (index array, mask, slice or int)."""
        if isinstance(key, str):
            if key not in self.arrays:
                raise KeyError(f"no view {key!r}; there are {list(self.arrays)}")
            return self.arrays[key]
        rows = key[0] if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis else key
        if isinstance(rows, int | np.integer):
            rows = [int(rows)]
        groups = None if self.groups is None else self.groups[rows]
        return Views({name: x[rows] for name, x in self.arrays.items()}, groups=groups)

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}: {x.shape}" for name, x in self.arrays.items())
        return f"Views({inner}{'' if self.groups is None else ', with groups'})"


def _as_labels(groups: Any, n_rows: int) -> Array:
    if isinstance(groups, np.ma.MaskedArray):
        raise TypeError("groups is a masked array; expected a label for every row")
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"groups has shape {labels.shape}; expected one label per row: ({n_rows},)")
    try:
        np.unique(labels)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        raise TypeError(f"groups mixes labels of types {kinds}; expected labels of one type, such as text") from error
    if labels.dtype.kind in "fmMO" and (labels != labels).any():  # NaN and NaT are not equal to themselves
        raise ValueError(f"groups lacks {int((labels != labels).sum())} labels (NaN); expected one for every row")
    return labels


def as_views(views: Any, second: Any = None, *, names: Sequence[str] | None = None) -> Views:
    """Return any accepted input form as `Views`.

    Parameters
    ----------
    views
        `Views`, a mapping, a list or tuple of views, or the array of the first view.
    second
        The second view, when ``views`` is one array.
    names
        Names known from fitting; unnamed views take them in order.
    """
    if isinstance(views, Views):
        return views
    if isinstance(views, Mapping):
        return Views(views)
    if isinstance(views, list | tuple):
        arrays = list(views)
    else:
        arrays = [views] if second is None else [views, second]
        # Lists may be ragged, which np.ndim does not forgive; as_array tells what is wrong with them.
        if second is not None and not isinstance(second, list | tuple) and np.ndim(second) == 1:
            raise ValueError(
                f"y has shape {tuple(np.shape(second))}; expected the second view, (rows, features): "
                "a single feature must be (n, 1)"
            )
    known = tuple(names) if names is not None else default_names(len(arrays))
    if len(arrays) > len(known):
        raise ValueError(f"got {len(arrays)} views; expected at most {len(known)}: {list(known)}")
    return Views(dict(zip(known, arrays, strict=False)))


def row_blocks(n_rows: int, n_features: int) -> Iterator[slice]:
    """Yield slices over the rows such that no block is large, however wide a row is."""
    step = max(1, min(_BLOCK_ROWS, _BLOCK_VALUES // max(1, n_features)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
