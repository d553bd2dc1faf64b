"""Run folders: what is written, in which order, and what is read again."""

from __future__ import annotations

import csv
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewsplice import SPLICE, GeometryConfig, MLPNetworks, ResidualNetworks, TrainConfig, Views
from viewsplice.inputs import RunData, check_rows
from viewsplice.io import fingerprint, read_latents
from viewsplice.metrics import reconstruction_r2
from viewsplice.resuming import begun
from viewsplice.runs import finish_run, load_run, read_settings, run_metrics, run_record, start_run

RNG = np.random.default_rng(5)
SHARED = RNG.uniform(-1, 1, size=(120, 1))
A, B = (np.tanh(np.hstack([SHARED, RNG.normal(size=(120, 1))]) @ RNG.normal(size=(2, w))) for w in (8, 6))
VIEWS = Views({"lgn": A, "größe": B})


def _splice(**changes: Any) -> SPLICE:
    settings: dict[str, Any] = {
        "recipe": "paper",
        "networks": MLPNetworks((8,)),
        "training": TrainConfig(epochs=2, batch_size=50, restart_passes=1),
        "geometry": GeometryConfig(n_neighbors=12, grow_by=1, n_landmarks=10),
    }
    return SPLICE(2, n_private={"lgn": 0, "größe": 1}, **{**settings, "random_state": 0, **changes})


@pytest.fixture(scope="module")
def model() -> SPLICE:
    """A small fit."""
    return _splice().fit(VIEWS)


@pytest.fixture(autouse=True)
def _no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where matplotlib is not installed; the report has its own tests."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "matplotlib" else find(name, *rest)
    )


def test_settings_are_written_first_and_read_again(tmp_path: Path) -> None:
    model = _splice(networks=ResidualNetworks(8, 1), lambda_dis=0.5)
    start_run(tmp_path / "deep" / "run", "fit", {"views": ["a.npy"], "groups": None}, model)
    path = tmp_path / "deep" / "run" / "settings.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    assert (content["command"], content["inputs"]) == ("fit", {"views": ["a.npy"], "groups": None})
    assert SPLICE(**read_settings(path)).get_params() == model.get_params()
    path.write_text(json.dumps(content["estimator"]), encoding="utf-8")
    assert SPLICE(**read_settings(path)).get_params() == model.get_params()


def test_a_folder_with_a_model_is_not_touched(model: SPLICE, tmp_path: Path) -> None:
    model.save(tmp_path / "model.splice")
    before = (tmp_path / "model.splice").read_bytes()
    with pytest.raises(
        ValueError, match=r"already holds a fitted model: choose another --out, or remove .*model.splice"
    ):
        start_run(tmp_path, "fit", {}, model)
    assert [path.name for path in tmp_path.iterdir()] == ["model.splice"]
    assert (tmp_path / "model.splice").read_bytes() == before


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    with (
        pytest.raises(ValueError, match="run is a file; expected a folder for the results"),
        begun(tmp_path / "run", "viewsplice fit"),
    ):
        pass
    assert (tmp_path / "run").read_text() == "mine"


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        ("", ValueError, r"s.json cannot be read as settings \(.*\); expected a settings.json"),
        ("{'epochs': 1}", ValueError, "cannot be read as settings"),
        ("[1, 2]", ValueError, "holds no settings; expected a settings.json, a JSON object"),
        ("5", ValueError, "holds no settings"),
        ('{"estimator": 5}', ValueError, "holds no settings"),
        ('{"estimator": null}', ValueError, "holds no settings"),
        ('{"n_shred": 1, "epochs": 2}', ValueError, r"has unknown settings \['epochs', 'n_shred'\]; expected some of"),
        ('{"training": {"lr": 1}}', ValueError, r"unknown TrainConfig settings \['lr'\]"),
        ('{"training": {"epochs": 0}}', ValueError, "epochs is 0; expected an integer of at least 1"),
        ('{"training": {"epochs": "many"}}', TypeError, "epochs is 'many'; expected an integer"),
        ('{"geometry": {"k": 1}}', ValueError, r"unknown GeometryConfig settings \['k'\]"),
        ('{"networks": {"kind": "custom", "type": "Mine"}}', ValueError, r"does not know \(Mine\)"),
    ],
)
def test_settings_that_cannot_be_read(tmp_path: Path, content: str, kind: type[Exception], message: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(content)
    with pytest.raises(kind, match=message):
        read_settings(path)


def test_settings_that_are_not_there(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.json"):
        with pytest.raises(ValueError, match="cannot be read as settings"):
            read_settings(path)
    (tmp_path / "latin.json").write_bytes('{"n_shared": "é"}'.encode("latin-1"))
    with pytest.raises(ValueError, match="cannot be read as settings"):
        read_settings(tmp_path / "latin.json")


def test_a_finished_run_holds_everything(model: SPLICE, tmp_path: Path) -> None:
    files = finish_run(tmp_path, model, RunData(VIEWS), seconds=1.234, notes=["One."], warnings=["Two."])
    assert [path.name for path in files] == ["model.splice", "latents.npz", "history.csv", "metrics.json"]
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in files}
    latents = model.transform(VIEWS)
    np.testing.assert_array_equal(read_latents(tmp_path / "latents.npz").to_array(), latents.to_array())
    with np.load(tmp_path / "latents.npz") as archive:
        assert (archive["split"] == "validation").nonzero()[0].tolist() == model.split_["validation"].tolist()
        assert archive["private/lgn"].shape == (120, 0)
    np.testing.assert_array_equal(load_run(tmp_path).transform(VIEWS).to_array(), latents.to_array())
    with (tmp_path / "history.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["stage"] for row in rows] == ["disentangle", "disentangle", "geometry", "geometry"]
    assert float(rows[3]["rec/lgn"]) == model.history_[3]["rec/lgn"]
    assert rows[0]["geo/größe"] == ""
    metrics = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    assert (metrics["notes"], metrics["warnings"]) == (["One."], ["Two."])
    assert metrics["fingerprints"] == {name: fingerprint(x) for name, x in VIEWS.arrays.items()}
    assert {"viewsplice", "torch", "Python"} <= set(metrics["versions"])
    assert run_record(tmp_path).versions == metrics["versions"]


def test_metrics_are_of_each_part(model: SPLICE) -> None:
    latents, rebuilt = model.transform(VIEWS), model.reconstruct(VIEWS)
    metrics = run_metrics(model, VIEWS, latents, 1.234)
    for part in ("train", "validation"):
        rows = model.split_[part]
        expected = reconstruction_r2(A[rows], rebuilt["lgn"][rows])
        assert metrics["reconstruction_r2"][part]["lgn"] == pytest.approx(expected)
    assert metrics["rows"] == {"train": 108, "validation": 12}
    assert (metrics["epochs"], metrics["seconds"], metrics["seed"]) == (4, 1.23, 0)
    assert list(metrics["latent_spaces"]) == ["größe", "lgn->größe", "größe->lgn"]
    assert metrics["latent_spaces"]["größe->lgn"]["width"] == 2
    assert metrics["latent_spaces"]["größe"]["n_neighbors"] >= 12
    json.dumps(metrics, allow_nan=False)


def test_equal_validation_rows_do_not_fail_a_run(tmp_path: Path) -> None:
    b = B.copy()
    b[:12] = 1.0
    model = _splice(geometry=None).fit({"lgn": A, "größe": b}, validation=np.arange(12))
    finish_run(tmp_path, model, RunData(Views({"lgn": A, "größe": b})), seconds=0)
    metrics = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["reconstruction_r2"]["validation"]["größe"] is None
    assert metrics["reconstruction_r2"]["validation"]["lgn"] is not None
    assert metrics["latent_spaces"]["größe"]["n_neighbors"] is None


def test_no_validation_rows_no_validation_metrics(tmp_path: Path) -> None:
    model = _splice(geometry=None).fit(VIEWS, validation=0)
    finish_run(tmp_path, model, RunData(VIEWS), seconds=0)
    metrics = json.loads((tmp_path / "metrics.json").read_text(encoding="utf-8"))
    assert list(metrics["reconstruction_r2"]) == ["train"]
    assert metrics["rows"] == {"train": 120, "validation": 0}


def test_a_folder_without_a_model_is_no_run(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(
            ValueError, match=r"has no model.splice; expected the folder of a finished `viewsplice fit`"
        ):
            load_run(folder)


def test_one_value_per_row() -> None:
    values = np.arange(3)
    assert check_rows("--color", values, 3) is values
    with pytest.raises(ValueError, match=r"--color has shape \(3,\); expected one value per row: \(4,\)"):
        check_rows("--color", values, 4)
