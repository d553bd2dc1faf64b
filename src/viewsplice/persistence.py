"""Saved models: one safetensors file whose header holds JSON. Loading runs no code and reads no other file."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, fields
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch

from viewsplice._saved import (
    GEOMETRY_ARRAYS,
    DamagedModelError,
    check_choices,
    check_depth,
    check_history,
    check_numbers,
    check_part,
    check_seed,
    check_settings,
    check_stored,
    check_values,
    check_view,
    check_widths,
    completed,
    stored_tensors,
)
from viewsplice._types import Array, DistanceEstimator, Latents, Networks
from viewsplice.config import GeometryConfig, TrainConfig, check_number, from_dict, to_dict
from viewsplice.fitted import Fitted
from viewsplice.frontend import Standardizer
from viewsplice.geometry.bridges import DenseGeodesics
from viewsplice.geometry.diffusion import DiffusionDistance
from viewsplice.geometry.targets import SpaceGeometry
from viewsplice.io import fingerprint, write_atomic
from viewsplice.io.problems import printable
from viewsplice.model import SpliceNet
from viewsplice.networks import ConvNetworks, MLPNetworks, ResidualNetworks
from viewsplice.recipes import Problem, Settings

FORMAT_VERSION = 1
_NETWORKS: dict[str, Callable[..., Networks]] = {
    "MLPNetworks": MLPNetworks,
    "ResidualNetworks": ResidualNetworks,
    "ConvNetworks": ConvNetworks,
}
_GEOMETRY_NUMBERS = ("n_neighbors", "unit", "disagreement", "bridging")
_DISTANCES: dict[str, Any] = {"DiffusionDistance": DiffusionDistance, "DenseGeodesics": DenseGeodesics}
_LONGEST_REASON = 300
_EXPECTED = "expected a file of SPLICE.save"


def save_model(path: str | PathLike[str], params: Mapping[str, Any], fitted: Fitted) -> None:
    """Write a fit and the parameters of its estimator, whole or not at all."""
    if not Path(path).parent.is_dir():
        raise FileNotFoundError(f"{Path(path).parent} is not a folder; expected an existing one to save the model in")
    header = {
        "format": "viewsplice",
        "format_version": FORMAT_VERSION,
        "params": settings_to_json(params),
        "settings": settings_to_json({f.name: getattr(fitted.settings, f.name) for f in fields(fitted.settings)}),
        "views": {
            name: {"shape": list(s.shape), "scale": s.scale, "dtype": s.dtype, "retained": s.retained}
            for name, s in fitted.standardizers.items()
        },
        "n_private": fitted.model.n_private,
        "n_shared": fitted.model.n_shared,
        "geometry": {
            name: {field: getattr(g, field) for field in _GEOMETRY_NUMBERS} for name, g in fitted.geometry.items()
        },
        "choices": {name: asdict(choice) for name, choice in fitted.choices.items()},
        "seed": fitted.seed,
        "networks_seed": fitted.model._seed,
        "history": fitted.history,
    }
    tensors = {f"networks/{name}": value.cpu().contiguous() for name, value in fitted.model.state_dict().items()}
    tensors |= {name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in _arrays(fitted).items()}
    metadata = {"viewsplice": json.dumps(header)}
    write_atomic(Path(path), safetensors.torch.save(tensors, metadata=metadata))


def _arrays(fitted: Fitted) -> dict[str, Array]:
    """Return every array of a fit that is not a network weight, by name."""
    arrays = {f"mean/{name}": s.mean for name, s in fitted.standardizers.items()}
    arrays |= {f"axes/{name}": s.axes for name, s in fitted.standardizers.items() if s.axes is not None}
    arrays |= {f"split/{name}": rows for name, rows in fitted.split.items()}
    for kind, latents in (("reference", fitted.reference), ("anchor", fitted.anchor)):
        arrays |= {f"{kind}/{name}": x for name, x in latents.spaces().items()}
    for space, found in fitted.geometry.items():
        arrays |= {f"geometry/{space}/{name}": getattr(found, name) for name in GEOMETRY_ARRAYS}
    return arrays


def problem_to_json(problem: Problem) -> dict[str, Any]:
    """Return everything the bits of a fit depend on: settings, widths, seed, versions, and fingerprints of the data."""
    data = problem.data
    tensors = {**data.views, "train": data.train, "validation": data.validation}
    return {
        "settings": settings_to_json(vars(problem.settings)),
        "widths": problem.widths,
        "lambda_dis": problem.lambda_dis,
        "seed": problem.seed,
        "data": {name: fingerprint(x.cpu().numpy()) for name, x in tensors.items()},
        "versions": {name: version(name) for name in ("viewsplice", "torch")},
    }


def settings_to_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return estimator settings as JSON values; what JSON cannot hold (own classes, generators) becomes a note."""
    return {name: _to_json(value) for name, value in settings.items()}


def _to_json(value: Any) -> Any:
    if isinstance(value, TrainConfig):
        return to_dict(value)
    if isinstance(value, GeometryConfig):
        return {name: _to_json(v) for name, v in to_dict(value).items()}
    if type(value) in (*_NETWORKS.values(), *_DISTANCES.values()):
        return {"kind": type(value).__name__, **to_dict(value)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(k): _to_json(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_to_json(v) for v in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return {"kind": "custom", "type": type(value).__name__}


def settings_from_json(values: Mapping[str, Any], networks: Networks | None = None) -> dict[str, Any]:
    """Return estimator settings from their JSON form; ``networks`` stands in for networks of a user's own class."""
    settings = dict(values)
    if isinstance(made := settings.get("networks"), Mapping):
        settings["networks"] = networks if networks is not None else _networks_from_json(made)
    if isinstance(settings.get("training"), Mapping):
        settings["training"] = from_dict(TrainConfig, settings["training"])
    if isinstance(settings.get("geometry"), Mapping):
        settings["geometry"] = _geometry_from_json(settings["geometry"])
    if isinstance(settings.get("n_private"), list):
        settings["n_private"] = tuple(settings["n_private"])
    if isinstance(settings.get("random_state"), Mapping):
        settings["random_state"] = None
    return settings


def _geometry_from_json(values: Mapping[str, Any]) -> GeometryConfig:
    others = {name: value for name, value in values.items() if name != "distance"}
    return from_dict(GeometryConfig, {**others, "distance": _distance_from_json(values.get("distance"))})


def _distance_from_json(values: Any) -> DistanceEstimator | None:
    if values is None:
        return None
    kind = values.get("kind") if isinstance(values, Mapping) else None
    if kind == "custom":
        warnings.warn(
            "geometry.distance was a function of your own, which is not stored: set it again before fitting anew",
            UserWarning,
            stacklevel=2,
        )
        return None
    if kind not in _DISTANCES:
        raise ValueError(
            f"geometry.distance is {values!r}; expected one of the kinds {list(_DISTANCES)} with its settings, such as "
            '{"kind": "DiffusionDistance", "n_neighbors": 15}'
        )
    made: DistanceEstimator = from_dict(_DISTANCES[kind], {k: v for k, v in values.items() if k != "kind"})
    return made


def _networks_from_json(values: Mapping[str, Any]) -> Networks:
    kind = values.get("kind")
    if kind not in _NETWORKS:
        raise ValueError(
            f"networks are of a class that viewsplice does not know ({values.get('type', kind)}): "
            "pass them again, as in SPLICE.load(path, networks=...)"
        )
    arguments = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items() if name != "kind"}
    return _NETWORKS[kind](**arguments)


def load_model(
    path: str | PathLike[str], networks: Networks | None, device: torch.device, known: Collection[str]
) -> tuple[dict[str, Any], Fitted]:
    """Return the estimator parameters (some of those ``known``) and the fit of a saved model.

    Sizes are checked before anything is allocated: the header is held against the types and shapes of what the file
    has, networks are built without memory, and only a model that is whole is read.
    """
    if not Path(path).is_file():
        raise ValueError(f"{path} is not a file; expected a model written by SPLICE.save")
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            header = _header(file.metadata())
            params = _params(check_part(header, "params", dict), networks, known)
            settings = Settings(**settings_from_json(completed(check_part(header, "settings", dict)), networks))
            return params, _fitted(header, file, settings, device)
    except (safetensors.SafetensorError, json.JSONDecodeError, UnicodeError, OSError) as error:
        raise ValueError(f"{path} cannot be read as a saved model ({_reason(error)}); {_EXPECTED}") from error
    except (DamagedModelError, KeyError, TypeError, AttributeError, RuntimeError, IndexError, ArithmeticError) as error:
        raise ValueError(f"{path} is damaged or incomplete ({_reason(error)}); {_EXPECTED}") from error
    except MemoryError as error:
        raise ValueError(f"{path} does not fit in memory") from error
    except ValueError as error:
        raise ValueError(f"{path}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return printable(str(error), _LONGEST_REASON)


def _header(metadata: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the header, after checking that this is a viewsplice file of a known version."""
    try:
        header = json.loads((metadata or {}).get("viewsplice", "null"))
    except RecursionError as error:
        raise DamagedModelError("the header is nested too deeply") from error
    check_depth(header)
    if not isinstance(header, dict) or header.get("format") != "viewsplice":
        raise ValueError("this is a safetensors file, but not a viewsplice model; expected a file of SPLICE.save")
    version = header.get("format_version")
    if type(version) is not int or version != FORMAT_VERSION:
        raise ValueError(
            f"this has format version {version}; this viewsplice reads {FORMAT_VERSION}: update viewsplice"
        )
    return header


def _params(values: Mapping[str, Any], networks: Networks | None, known: Collection[str]) -> dict[str, Any]:
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ValueError(f"unknown parameter {unknown[0]!r}; expected some of {sorted(known)}")
    check_number("lambda_dis", values.get("lambda_dis"), low=0)
    return settings_from_json(values, networks)


def _fitted(header: Mapping[str, Any], file: Any, settings: Settings, device: torch.device) -> Fitted:
    stored = stored_tensors(file)
    check_settings(settings, len(stored))
    n_private, n_shared = check_widths(header, stored)
    geometry = check_part(header, "geometry", dict)
    shapes = {name: check_view(name, view, stored) for name, view in header["views"].items()}
    with torch.device("meta"):
        model = SpliceNet(
            shapes,
            n_private,
            n_shared,
            settings.networks,
            check_seed(header, "networks_seed"),
            scale_free=settings.recipe == "auto",
        )
    features = {name: math.prod(view["shape"]) for name, view in header["views"].items()}
    check_stored(stored, model.state_dict(), features, {**n_private, **n_shared}, geometry)
    tensors = {name: file.get_tensor(name) for name in stored}
    check_values(tensors, geometry)
    weights = {name.removeprefix("networks/"): x for name, x in tensors.items() if name.startswith("networks/")}
    model.load_state_dict(weights, assign=True)
    arrays = {name: x.numpy() for name, x in tensors.items() if not name.startswith("networks/")}
    return Fitted(
        model=model.to(device).eval(),
        standardizers={name: _standardizer(name, view, arrays) for name, view in header["views"].items()},
        settings=settings,
        seed=check_seed(header, "seed"),
        history=check_history(header),
        geometry={space: _geometry(space, values, arrays) for space, values in geometry.items()},
        split={name: arrays[f"split/{name}"] for name in ("train", "validation")},
        choices=check_choices(header),
        reference=_latents("reference", model, arrays),
        anchor=_latents("anchor", model, arrays),
    )


def _standardizer(name: str, view: Mapping[str, Any], arrays: Mapping[str, Array]) -> Standardizer:
    mean, axes = arrays[f"mean/{name}"], arrays.get(f"axes/{name}")
    return Standardizer(mean, view["scale"], tuple(view["shape"]), view["dtype"], axes, view["retained"])


def _geometry(space: str, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> SpaceGeometry:
    values = {"bridging": 1.0, **values}  # which the first files do not name
    check_numbers(f"geometry of {space!r}", values, positive=("unit",), other=("disagreement", "bridging"))
    check_number("n_neighbors", values["n_neighbors"], low=1, integer=True)
    stored: dict[str, Any] = {name: arrays[f"geometry/{space}/{name}"] for name in GEOMETRY_ARRAYS}
    return SpaceGeometry(**stored, **{name: values[name] for name in _GEOMETRY_NUMBERS})


def _latents(kind: str, model: SpliceNet, arrays: Mapping[str, Array]) -> Latents[Array]:
    return Latents(
        private={name: arrays[f"{kind}/{name}"] for name in model.n_private},
        shared={name: arrays[f"{kind}/{name}"] for name in model.n_shared},
    )
