from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from viewsplice.config import GeometryConfig, TrainConfig, from_dict, to_dict


@pytest.mark.parametrize(
    ("experiment", "epochs", "batch_size", "learning_rate", "n_neighbors"),
    [
        ("rotated-mnist", 100, 100, 1e-3, 100),
        ("lgn-v1", 25_000, 12_096, 1e-3, 200),
        ("sprites", 5_000, 1_000, 1e-4, 500),
    ],
)
def test_printed_settings(
    experiment: str, epochs: int, batch_size: int, learning_rate: float, n_neighbors: int
) -> None:
    training, geometry = TrainConfig.paper(experiment), GeometryConfig.paper(experiment)
    assert (training.epochs, training.batch_size, training.learning_rate) == (epochs, batch_size, learning_rate)
    assert (training.weight_decay, training.n_msr, training.schedule) == (1e-3, 5, "linear")
    assert (training.final_learning_rate, training.disentangle_after) == (0.01, 0.1)
    assert (training.restart_every, training.restart_passes, training.loss_scale) == (0.1, 20, "fraction")
    assert (training.warmup, training.steps, training.retained_variance) == (0.0, "alternating", 1.0)
    assert (geometry.n_neighbors, geometry.grow_by, geometry.n_landmarks) == (n_neighbors, 100, 100)
    assert (geometry.n_anchors, geometry.max_points) == (1, 0)


def test_the_default_set_is_mnist_and_complete() -> None:
    assert TrainConfig.paper() == TrainConfig.paper("rotated-mnist")
    assert GeometryConfig.paper() == GeometryConfig.paper("rotated-mnist")
    assert None not in dataclasses.asdict(TrainConfig.paper()).values()
    assert [name for name, v in dataclasses.asdict(GeometryConfig.paper()).items() if v is None] == ["distance"]
    with pytest.raises(ValueError, match=r"experiment is 'mnist'; expected one of \['rotated-mnist'"):
        TrainConfig.paper("mnist")


def test_resolve_fills_open_fields_only() -> None:
    mine = TrainConfig(epochs=3, patience=0, keep_best=False, weight_decay=0.0)
    full = mine.resolve(TrainConfig.paper("sprites"))
    assert (full.epochs, full.patience, full.keep_best, full.weight_decay) == (3, 0, False, 0.0)
    assert (full.batch_size, full.learning_rate) == (1_000, 1e-4)
    assert mine.batch_size is None
    assert GeometryConfig(lambda_geo=0.0).resolve(GeometryConfig.paper()).lambda_geo == 0.0


def test_settings_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainConfig().epochs = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    "config", [TrainConfig(), TrainConfig.paper(), TrainConfig(epochs=1, keep_best=False), GeometryConfig(grow_by=0)]
)
def test_json_form_gives_equal_settings(config: Any) -> None:
    assert from_dict(type(config), json.loads(json.dumps(to_dict(config)))) == config


def test_unknown_fields_are_named() -> None:
    with pytest.raises(ValueError, match=r"unknown TrainConfig settings \['epoch', 'lr'\]; expected some of"):
        from_dict(TrainConfig, {"lr": 1e-3, "epoch": 3, "epochs": 3})


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("epochs", 0, "epochs is 0; expected an integer of at least 1"),
        ("batch_size", 0, "batch_size is 0; expected an integer of at least 1"),
        ("n_msr", 0, "n_msr is 0"),
        ("restart_passes", 0, "restart_passes is 0"),
        ("validate_every", 0, "validate_every is 0"),
        ("patience", -1, "patience is -1; expected an integer of at least 0"),
        ("max_restarts", -1, "max_restarts is -1"),
        ("learning_rate", 0, "learning_rate is 0; expected a finite number above 0"),
        ("learning_rate", float("inf"), "learning_rate is inf; expected a finite number above 0"),
        ("weight_decay", -1e-9, "weight_decay is -1e-09; expected a finite number of at least 0"),
        ("weight_decay", float("nan"), "weight_decay is nan"),
        ("final_learning_rate", 1.5, "is 1.5; expected a finite number of at least 0 and at most 1"),
        ("disentangle_after", 1.1, "disentangle_after is 1.1"),
        ("restart_every", -0.1, "restart_every is -0.1"),
        ("warmup", 1.1, "warmup is 1.1; expected a finite number of at least 0 and at most 1"),
        ("steps", "both", r"steps is 'both'; expected one of \['alternating', 'joint'\]"),
        ("retained_variance", 0, "retained_variance is 0; expected a finite number above 0 and at most 1"),
        ("retained_variance", 1.01, "retained_variance is 1.01"),
        ("scout_epochs", -1, "scout_epochs is -1; expected an integer of at least 0"),
        ("scout_shared", 0, "scout_shared is 0; expected an integer of at least 1"),
        ("scout_private", 0, "scout_private is 0"),
        ("regression_epochs", -1, "regression_epochs is -1"),
        ("schedule", "step", r"schedule is 'step'; expected one of \['constant', 'linear', 'cosine'\]"),
        ("loss_scale", "sum", r"loss_scale is 'sum'; expected one of \['fraction', 'mean'\]"),
        ("keep_best", "yes", "keep_best is 'yes'; expected one of"),
    ],
)
def test_training_values_out_of_range(field: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_dict(TrainConfig, {field: value})


@pytest.mark.parametrize(
    ("kind", "field", "value", "message"),
    [
        (TrainConfig, "epochs", 2.0, "epochs is 2.0; expected an integer"),
        (TrainConfig, "epochs", True, "epochs is True; expected an integer"),
        (TrainConfig, "learning_rate", "1e-3", "learning_rate is '1e-3'; expected a finite number"),
        (GeometryConfig, "lambda_geo", False, "lambda_geo is False; expected a finite number"),
        (GeometryConfig, "distance", "diffusion", r"distance is 'diffusion'; expected a function of"),
    ],
)
def test_values_of_another_type(kind: Any, field: str, value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        from_dict(kind, {field: value})


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("lambda_geo", -0.1, "lambda_geo is -0.1; expected a finite number of at least 0"),
        ("n_neighbors", 0, "n_neighbors is 0; expected an integer of at least 1"),
        ("grow_by", -1, "grow_by is -1"),
        ("n_landmarks", 1, "n_landmarks is 1; expected an integer of at least 2"),
        ("n_anchors", 0, "n_anchors is 0; expected an integer of at least 1"),
        ("max_points", -1, "max_points is -1; expected an integer of at least 0"),
    ],
)
def test_geometry_values_out_of_range(field: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_dict(GeometryConfig, {field: value})


def test_bounds_themselves_are_allowed() -> None:
    TrainConfig(epochs=1, patience=0, max_restarts=0, weight_decay=0, final_learning_rate=1, disentangle_after=0)
    TrainConfig(warmup=1, retained_variance=1, scout_epochs=0, regression_epochs=0)
    GeometryConfig(n_anchors=1, max_points=0)
    GeometryConfig(lambda_geo=0, n_neighbors=1, grow_by=0, n_landmarks=2, distance=lambda points, rows: np.empty(0))
