"""Saved models: bit-equal when read again, refused with one sentence when they are anything else."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from numpy.typing import NDArray
from safetensors import safe_open

from viewsplice import SPLICE, ConvNetworks, GeometryConfig, MLPNetworks, ResidualNetworks, TrainConfig, Views
from viewsplice.persistence import FORMAT_VERSION, settings_from_json, settings_to_json

TRAINING = TrainConfig(epochs=1, batch_size=50, restart_passes=1)
GEOMETRY = GeometryConfig(n_neighbors=12, grow_by=1, n_landmarks=10)

RNG = np.random.default_rng(3)
SHARED = RNG.uniform(-1, 1, size=(120, 1))
A, B = (np.tanh(np.hstack([SHARED, RNG.normal(size=(120, 1))]) @ RNG.normal(size=(2, w))) + 5 for w in (8, 6))


class OwnNetworks(MLPNetworks):
    """Networks of a user's own class."""


def _fit(**changes: Any) -> SPLICE:
    settings: dict[str, Any] = {"networks": MLPNetworks((8,)), "training": TRAINING, "geometry": GEOMETRY}
    settings["recipe"] = "paper"
    return SPLICE(**{"n_shared": 2, "n_private": (0, 1), "random_state": 0, **settings, **changes}).fit(
        {"lgn": A, "v1": B}
    )


@pytest.fixture(scope="module")
def model() -> SPLICE:
    """A small fit with all parts: geometry, and a view without a private space."""
    return _fit()


@pytest.fixture
def saved(model: SPLICE, tmp_path: Path) -> Path:
    """That fit in a file."""
    path = tmp_path / "model.splice"
    model.save(path)
    return path


def _assert_same(first: SPLICE, second: SPLICE, a: NDArray[Any] = A, b: NDArray[Any] = B) -> None:
    views = {"lgn": a, "v1": b}
    np.testing.assert_array_equal(first.transform(views).to_array(), second.transform(views).to_array())
    for name, x in first.reconstruct(views).items():
        np.testing.assert_array_equal(x, second.reconstruct(views)[name])
        assert x.dtype == second.reconstruct(views)[name].dtype
    np.testing.assert_array_equal(first.predict("v1", {"lgn": a}), second.predict("v1", {"lgn": a}))
    for vary in ("v1", "lgn->v1"):
        np.testing.assert_array_equal(first.project(views, vary=vary), second.project(views, vary=vary))
    assert first.score(views) == second.score(views)


def test_a_saved_model_is_the_same_bit_by_bit(model: SPLICE, saved: Path) -> None:
    loaded = SPLICE.load(saved)
    _assert_same(model, loaded)
    assert loaded.get_params() == model.get_params()
    assert loaded.fitted_.settings == model.fitted_.settings
    assert loaded.history_ == model.history_
    assert loaded.view_names_ == ("lgn", "v1")
    assert loaded.n_private_ == {"lgn": 0, "v1": 1}
    assert loaded.lambda_geo_ == model.lambda_geo_
    assert list(loaded.geometry_) == list(model.geometry_)
    for space, found in model.geometry_.items():
        for name in ("anchors", "landmarks", "geodesics", "spectrum", "curve"):
            np.testing.assert_array_equal(getattr(loaded.geometry_[space], name), getattr(found, name))
            assert getattr(loaded.geometry_[space], name).dtype == getattr(found, name).dtype
        for name in ("n_neighbors", "disagreement", "unit"):
            assert getattr(loaded.geometry_[space], name) == getattr(found, name)
    for part in ("train", "validation"):
        np.testing.assert_array_equal(loaded.split_[part], model.split_[part])


def test_the_objective_is_the_same_too(model: SPLICE, saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewsplice.training.fresh._LEAST_STEPS", 4)
    views = Views({"lgn": A, "v1": B})
    assert SPLICE.load(saved).objective(views) == model.objective(views)


def test_saving_twice_gives_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    SPLICE.load(saved).save(tmp_path / "again.splice")
    assert (tmp_path / "again.splice").read_bytes() == saved.read_bytes()


def test_a_loaded_model_can_be_fitted_again(model: SPLICE, saved: Path) -> None:
    _assert_same(SPLICE.load(saved).fit({"lgn": A, "v1": B}), model)


@pytest.mark.parametrize(
    "changes",
    [
        {"geometry": None, "n_private": {"lgn": 1, "v1": 2}, "n_shared": {"lgn->v1": 1, "v1->lgn": np.int64(2)}},
        {
            "geometry": None,
            "networks": ResidualNetworks(8, 1, n_frequencies=3),
            "random_state": np.random.default_rng(0),
        },
        {"geometry": None, "n_private": [1, 1], "training": TrainConfig(epochs=1, batch_size=50, loss_scale="mean")},
    ],
)
def test_all_kinds_of_settings_survive(changes: dict[str, Any], tmp_path: Path) -> None:
    model = _fit(**changes)
    model.save(tmp_path / "m")
    loaded = SPLICE.load(tmp_path / "m")
    _assert_same(model, loaded)
    assert loaded.n_shared_ == model.n_shared_
    assert loaded.fitted_.seed == model.fitted_.seed
    assert loaded.networks == model.networks


def test_images_and_single_precision_survive(tmp_path: Path) -> None:
    images = {"a": A.reshape(-1, 4, 2).astype(np.float32), "b": B[:, :4].reshape(-1, 2, 2)}
    networks = ConvNetworks((2,), (4,), (4,))
    model = SPLICE(1, 1, recipe="paper", networks=networks, training=TRAINING, geometry=None).fit(images)
    model.save(tmp_path / "m")
    rebuilt = SPLICE.load(tmp_path / "m").reconstruct(images)
    assert (rebuilt["a"].shape, rebuilt["a"].dtype) == ((120, 4, 2), np.float32)
    np.testing.assert_array_equal(rebuilt["a"], model.reconstruct(images)["a"])


def test_own_networks_are_asked_for_again(tmp_path: Path) -> None:
    model = _fit(networks=OwnNetworks((8,)), geometry=None)
    model.save(tmp_path / "m")
    with pytest.raises(
        ValueError, match=r"networks are of a class that viewsplice does not know \(OwnNetworks\): pass"
    ):
        SPLICE.load(tmp_path / "m")
    loaded = SPLICE.load(tmp_path / "m", networks=OwnNetworks((8,)))
    _assert_same(model, loaded)
    assert loaded.networks == OwnNetworks((8,))
    with pytest.raises(ValueError, match=r"is damaged or incomplete .*size mismatch"):
        SPLICE.load(tmp_path / "m", networks=OwnNetworks((9,)))


def test_the_global_random_state_and_the_folder_are_left_alone(model: SPLICE, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    SPLICE.load(tmp_path / "m")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_failing_save_leaves_the_previous_file(
    model: SPLICE, saved: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = saved.read_bytes()
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left on device"):
        model.save(saved)
    with pytest.raises(OSError, match="No space left on device"):
        model.save(saved.with_name("new.splice"))
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_missing_folder_is_named(model: SPLICE, tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"nowhere is not a folder; expected an existing one to save the model in"
    ):
        model.save(tmp_path / "nowhere" / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x93NUMPY" + bytes(200), bytes(64), b"\xff" * 64])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ValueError, match=r"m cannot be read as a saved model \(.*\); expected a file of SPLICE.save"):
        SPLICE.load(tmp_path / "m")


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ValueError, match=r"is not a file; expected a model written by SPLICE.save"):
            SPLICE.load(path)


def test_other_safetensors_files_are_refused(tmp_path: Path) -> None:
    for metadata in (None, {"format": "pt"}, {"viewsplice": "[1]"}, {"viewsplice": '{"format": "other"}'}):
        (tmp_path / "m").write_bytes(safetensors.torch.save({"x": torch.zeros(2)}, metadata))
        with pytest.raises(ValueError, match="is a safetensors file, but not a viewsplice model"):
            SPLICE.load(tmp_path / "m")
    (tmp_path / "m").write_bytes(safetensors.torch.save({"x": torch.zeros(2)}, {"viewsplice": "{"}))
    with pytest.raises(ValueError, match="cannot be read as a saved model"):
        SPLICE.load(tmp_path / "m")


@pytest.mark.parametrize("kept", [0.0005, 0.01, 0.3, 0.6, 0.9, 0.999])
def test_truncated_files_are_refused(saved: Path, kept: float) -> None:
    content = saved.read_bytes()
    saved.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(ValueError, match="cannot be read as a saved model"):
        SPLICE.load(saved)


def _rewrite(path: Path, change: Callable[[dict[str, Any], dict[str, torch.Tensor]], object]) -> None:
    with safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()["viewsplice"])
    tensors = safetensors.torch.load(path.read_bytes())
    change(header, tensors)
    path.write_bytes(safetensors.torch.save(tensors, {"viewsplice": json.dumps(header)}))


def test_rewriting_alone_changes_nothing(model: SPLICE, saved: Path) -> None:
    _rewrite(saved, lambda header, tensors: None)
    _assert_same(SPLICE.load(saved), model)


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 0, None, "1"])
def test_other_format_versions_are_refused(saved: Path, version: Any) -> None:
    _rewrite(saved, lambda header, tensors: header.update(format_version=version))
    message = f"has format version {version}; this viewsplice reads {FORMAT_VERSION}: update viewsplice"
    with pytest.raises(ValueError, match=message):
        SPLICE.load(saved)


@pytest.mark.parametrize(
    "name",
    ["params", "settings", "views", "n_private", "n_shared", "geometry", "seed", "networks_seed", "history"],
)
def test_incomplete_headers_are_refused(saved: Path, name: str) -> None:
    _rewrite(saved, lambda header, tensors: header.pop(name))
    with pytest.raises(ValueError, match=rf"is damaged or incomplete \('{name}' is missing.*\); expected a file"):
        SPLICE.load(saved)


@pytest.mark.parametrize(
    "name",
    [
        "networks/decoders.v1.0.weight",
        "networks/measurers.v1->lgn.2.bias",
        "mean/lgn",
        "split/train",
        "reference/v1",
        "reference/lgn",
        "anchor/lgn->v1",
        "geometry/v1/geodesics",
    ],
)
def test_renamed_tensors_are_refused(saved: Path, name: str) -> None:
    _rewrite(saved, lambda header, tensors: tensors.update({name + "x": tensors.pop(name)}))
    with pytest.raises(ValueError, match="is damaged or incomplete") as caught:
        SPLICE.load(saved)
    assert name.removeprefix("networks/") in str(caught.value)
    assert "\n" not in str(caught.value)


def _set(value: Any, *keys: str) -> Callable[[dict[str, Any], dict[str, torch.Tensor]], None]:
    def change(header: dict[str, Any], _: dict[str, torch.Tensor]) -> None:
        place = header
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


@pytest.mark.parametrize("width", [2, 10**12, 10**30, -1, 1.5, "x", None])
def test_widths_that_the_tensors_do_not_have_are_refused(saved: Path, width: Any) -> None:
    _rewrite(saved, _set(width, "n_private", "v1"))
    with pytest.raises(ValueError, match="is damaged or incomplete") as caught:
        SPLICE.load(saved)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        ([10**12], ("views", "lgn", "shape")),
        ([10**18, 10**18], ("views", "lgn", "shape")),
        (["x"], ("views", "lgn", "shape")),
        ([4, 2, 2], ("views", "lgn", "shape")),
        ("x", ("views", "lgn", "scale")),
        (0.0, ("views", "lgn", "scale")),
        (float("nan"), ("views", "lgn", "scale")),
        ("object", ("views", "lgn", "dtype")),
        ([], ("views",)),
        (5, ("geometry", "v1")),
        (5, ("history",)),
        (1, ("settings", "unknown")),
        ([10**15], ("settings", "networks", "hidden")),
        ("abc", ("settings", "networks", "hidden")),
        (1, ("settings", "networks", "unknown")),
    ],
)
def test_impossible_header_values_are_refused(saved: Path, value: Any, keys: tuple[str, ...]) -> None:
    _rewrite(saved, _set(value, *keys))
    with pytest.raises(ValueError, match="is damaged or incomplete"):
        SPLICE.load(saved)


@pytest.mark.parametrize(
    ("value", "keys", "message"),
    [
        (1, ("params", "unknown"), "unknown parameter 'unknown'; expected some of"),
        (1, ("settings", "training", "unknown"), r"unknown TrainConfig settings \['unknown'\]"),
        (0, ("settings", "training", "epochs"), "epochs is 0; expected an integer of at least 1"),
        ("Transformer", ("settings", "networks", "kind"), r"does not know \(Transformer\)"),
    ],
)
def test_settings_of_another_version_are_named(saved: Path, value: Any, keys: tuple[str, ...], message: str) -> None:
    _rewrite(saved, _set(value, *keys))
    with pytest.raises(ValueError, match=message):
        SPLICE.load(saved)


def test_settings_in_json() -> None:
    params = {
        "n_shared": {"A->B": np.int64(2)},
        "n_private": (0, 1),
        "networks": ConvNetworks((4,), (8,), (8,), channels_last=True),
        "training": TrainConfig(epochs=3, keep_best=False),
        "geometry": GeometryConfig(grow_by=0, distance=lambda points, rows: points),
        "lambda_dis": 0.5,
        "random_state": np.random.default_rng(0),
    }
    text = json.dumps(settings_to_json(params))
    with pytest.warns(UserWarning, match=r"geometry\.distance was a function of your own, which is not stored"):
        found = settings_from_json(json.loads(text))
    assert found["n_shared"] == {"A->B": 2}
    assert found["n_private"] == (0, 1)
    assert found["networks"] == params["networks"]
    assert found["training"] == params["training"]
    assert found["geometry"] == GeometryConfig(grow_by=0)
    assert found["random_state"] is None
    assert settings_from_json(settings_to_json({"networks": None, "geometry": "default", "training": None})) == {
        "networks": None,
        "geometry": "default",
        "training": None,
    }
