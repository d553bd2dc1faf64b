"""What a saved model may hold: checks of what its header says against what the file has, before anything is read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from viewsplice._types import Networks, Shape
from viewsplice.config import GeometryConfig, TrainConfig, check_number
from viewsplice.recipes import Choice, Settings
from viewsplice.views import arrows, check_name

GEOMETRY_ARRAYS = ("anchors", "landmarks", "geodesics", "spectrum", "curve")
# A header of this package is five levels deep.
_DEEPEST = 16
_TYPES = {"float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64", "int64": "I64", "bool": "BOOL"}
# Rows and coordinates that are computed with; the arrays of a geometry are only shown.
_FINITE = ("networks/", "mean/", "axes/", "reference/", "anchor/")
# Settings that the first files do not name, as they were then.
_SINCE = {"beta1": 0.9, "precision": "float32"}
_ROWS = ("split/train", "split/validation", "/anchors", "/landmarks")


class DamagedModelError(ValueError):
    """A part of a saved model that cannot be, said in a few words."""


@dataclass(frozen=True)
class Stored:
    """Type (as safetensors names it) and shape of a tensor that has not been read yet."""

    dtype: str
    shape: Shape


def stored_tensors(file: Any) -> dict[str, Stored]:
    """Return what an open safetensors file has, by name."""
    parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    return {name: Stored(part.get_dtype(), tuple(part.get_shape())) for name, part in parts.items()}


def check_depth(value: Any) -> None:
    """Raise if JSON values are nested deeper than any header is: later code may then walk them by recursion."""
    level = [value]
    for _ in range(_DEEPEST):
        nested = [one for one in level if isinstance(one, dict | list)]
        level = [inner for one in nested for inner in (one.values() if isinstance(one, dict) else one)]
        if not level:
            return
    raise DamagedModelError(f"the header is nested deeper than {_DEEPEST} levels")


def check_part(header: Mapping[str, Any], name: str, kind: type[dict[str, Any]] | type[list[Any]]) -> Any:
    """Return one part of the header, a table or a list."""
    if name not in header:
        raise DamagedModelError(f"{name!r} is missing")
    if not isinstance(header[name], kind):
        raise DamagedModelError(f"{name!r} is a {type(header[name]).__name__} instead of a {kind.__name__}")
    return header[name]


def check_seed(header: Mapping[str, Any], name: str) -> int:
    """Return a seed of the header."""
    value = header.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise DamagedModelError(f"{name!r} is missing or not a seed")
    return value


def check_widths(header: Mapping[str, Any], stored: Mapping[str, Stored]) -> tuple[dict[str, int], dict[str, int]]:
    """Return (private, shared) widths, those that the stored latents have."""
    names = [check_name(name) for name in check_part(header, "views", dict)]
    if len(names) < 2 or len(names) ** 2 > len(stored):
        raise DamagedModelError(f"{len(names)} views for {len(stored)} tensors")
    found: list[dict[str, int]] = []
    for part, spaces in (("n_private", tuple(names)), ("n_shared", arrows(names))):
        widths = check_part(header, part, dict)
        if set(widths) != set(spaces):
            raise DamagedModelError(f"{part!r} does not have the latent spaces of the views")
        for space in spaces:
            shape = _stored(stored, f"reference/{space}").shape
            is_width = type(widths[space]) is int and len(shape) == 2 and 0 <= widths[space] == shape[1]
            if not is_width:
                raise DamagedModelError(f"{part!r} of {space!r} is {str(widths[space])[:40]}, its latents are {shape}")
        found.append({space: widths[space] for space in spaces})
    return found[0], found[1]


def check_view(name: str, view: Any, stored: Mapping[str, Stored]) -> Shape:
    """Return the shape of one row of a view as the networks see it: the user's, or flat along principal axes."""
    mean, axes = _stored(stored, f"mean/{name}").shape, stored.get(f"axes/{name}")
    shape: Any = view.get("shape") if isinstance(view, dict) else None
    is_shape = isinstance(shape, list) and 0 < len(shape) <= _DEEPEST and all(type(n) is int and n > 0 for n in shape)
    if not is_shape or mean != (math.prod(shape),):
        raise DamagedModelError(f"view {name!r} has a mean {mean} and shape {str(shape)[:40]}")
    check_numbers(f"view {name!r}", view, positive=("scale", "retained"), other=())
    if view.get("dtype") not in ("float32", "float64"):
        raise DamagedModelError(f"view {name!r} has another dtype than float32 or float64")
    return tuple(shape) if axes is None else axes.shape[1:]


def completed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return saved settings, complete where the first files are silent."""
    training = settings.get("training")
    return {**settings, "training": {**_SINCE, **training} if isinstance(training, Mapping) else training}


def check_settings(settings: Settings, n_tensors: int) -> None:
    """Raise unless settings are complete, and networks have no more layers than the file has tensors."""
    if settings.recipe not in ("auto", "paper") or not isinstance(settings.training, TrainConfig):
        raise DamagedModelError("'settings' lack a recipe or training")
    if not (settings.geometry is None or isinstance(settings.geometry, GeometryConfig)):
        raise DamagedModelError("'settings' hold a geometry of another kind")
    for config in (settings.training, settings.geometry):
        if config is None:
            continue
        missing = [f.name for f in fields(config) if getattr(config, f.name) is None and f.name != "distance"]
        if missing:
            raise DamagedModelError(f"'settings' lack {missing[0]!r}")
    if _n_layers(settings.networks) > n_tensors:
        raise DamagedModelError(f"networks of more layers than the {n_tensors} tensors")


def _n_layers(networks: Networks) -> int:
    """Return a lower bound of the layers that known networks have; a user's own are the user's to judge."""
    layers = [getattr(networks, name, None) for name in ("hidden", "channels", "measurer_hidden")]
    n_blocks = getattr(networks, "n_blocks", None)
    return max([0, *(len(one) for one in layers if isinstance(one, tuple)), n_blocks if type(n_blocks) is int else 0])


def check_numbers(where: str, values: Mapping[str, Any], *, positive: tuple[str, ...], other: tuple[str, ...]) -> None:
    """Raise unless entries of a table are finite numbers, the first ones above 0 and the others at least 0."""
    for name in (*positive, *other):
        if values.get(name) is None:
            raise DamagedModelError(f"{where} has no {name!r}")
        try:
            check_number(name, values[name], low=0, open_low=name in positive)
        except ValueError as error:
            raise DamagedModelError(f"{where}: {error}") from error


def check_history(header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the history: rows of named numbers and texts."""
    history: list[dict[str, Any]] = check_part(header, "history", list)
    for row in history:
        plain = isinstance(row, dict) and all(isinstance(v, str | int | float) for v in row.values())
        if not plain or not {"stage", "epoch", "attempt"} <= row.keys():
            raise DamagedModelError("'history' has a row that is none")
    return history


def check_choices(header: Mapping[str, Any]) -> dict[str, Choice]:
    """Return what was chosen for the user."""
    choices = {name: Choice(**values) for name, values in check_part(header, "choices", dict).items()}
    for name, choice in choices.items():
        plain = isinstance(choice.value, str | int | float) and isinstance(choice.reason, str)
        if not plain or not isinstance(choice.is_weak, bool):
            raise DamagedModelError(f"the choice of {name!r} has values of other types")
    return choices


def check_stored(
    stored: Mapping[str, Stored],
    weights: Mapping[str, Tensor],
    features: Mapping[str, int],
    widths: Mapping[str, int],
    geometry: Mapping[str, Any],
) -> None:
    """Raise unless the file has exactly the tensors of this model, each of its type and shape.

    Parameters
    ----------
    stored
        What the file has.
    weights
        What the networks have, on no device.
    features, widths, geometry
        Features by view, widths by space, and what the header says of the geometry by space.
    """
    expected = {
        f"networks/{name}": (str(w.dtype).removeprefix("torch."), tuple(w.shape)) for name, w in weights.items()
    }
    expected |= dict(_expected_arrays(stored, features, widths, geometry))
    for name, (dtype, shape) in expected.items():
        found = _stored(stored, name)
        if found != Stored(_TYPES.get(dtype, dtype), shape):
            raise DamagedModelError(
                f"{name} is {found.dtype} {found.shape}: size mismatch, the model has {dtype} {shape}"
            )
    unknown = sorted(stored.keys() - expected.keys())
    if unknown:
        raise DamagedModelError(f"unknown tensor {unknown[0]!r}")


def _expected_arrays(
    stored: Mapping[str, Stored], features: Mapping[str, int], widths: Mapping[str, int], geometry: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[str, Shape]]]:
    """Yield name, type and shape of every tensor that is no weight; lengths that are free are those found."""

    def length(name: str, axis: int = 0) -> int:
        shape = _stored(stored, name).shape
        return shape[axis] if axis < len(shape) else 0

    for view, n_features in features.items():
        yield f"mean/{view}", ("float64", (n_features,))
        if f"axes/{view}" in stored:
            yield f"axes/{view}", ("float32", (n_features, length(f"axes/{view}", 1)))
    for part in ("train", "validation"):
        yield f"split/{part}", ("int64", (length(f"split/{part}"),))
    n_reference = length(f"reference/{next(iter(widths))}")
    if n_reference < 1 or length("split/train") < 1:
        raise DamagedModelError("no training rows")
    for space, width in widths.items():
        yield f"reference/{space}", ("float32", (n_reference, width))
        yield f"anchor/{space}", ("float32", (1, width))
    for space in geometry:
        if space not in widths:
            raise DamagedModelError(f"'geometry' has a space {space!r} that the model has not")
        sizes = {name: length(f"geometry/{space}/{name}") for name in GEOMETRY_ARRAYS}
        for name in ("anchors", "landmarks"):
            yield f"geometry/{space}/{name}", ("int64", (sizes[name],))
        shapes = {name: (sizes[name],) for name in ("spectrum", "curve")}
        for name, shape in {"geodesics": (sizes["landmarks"], length("split/train")), **shapes}.items():
            # Of the precision that the distance came in.
            is_single = stored[f"geometry/{space}/{name}"].dtype == "F32"
            yield f"geometry/{space}/{name}", ("float32" if is_single else "float64", shape)


def _stored(stored: Mapping[str, Stored], name: str) -> Stored:
    if name not in stored:
        raise DamagedModelError(f"{name.removeprefix('networks/')!r} is missing")
    return stored[name]


def check_values(tensors: Mapping[str, Tensor], geometry: Mapping[str, Any]) -> None:
    """Raise unless what is computed with is finite, and row numbers are some of the rows of the fit."""
    for name, x in tensors.items():
        if name.startswith(_FINITE) and not torch.isfinite(x).all():
            raise DamagedModelError(f"{name} has values that are not finite")
        if name.endswith(_ROWS) and (x < 0).any():
            raise DamagedModelError(f"{name} has negative row numbers")
    for space in geometry:
        for name in ("anchors", "landmarks"):
            rows = tensors[f"geometry/{space}/{name}"]
            if not len(rows) or not torch.isin(rows, tensors["split/train"]).all():
                raise DamagedModelError(f"the {name} of {space!r} are no training rows")
