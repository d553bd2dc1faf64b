"""The commands `audit`, `scan` and `tune`: what they say and write, what they take, and how they complain."""

from __future__ import annotations

import csv
import importlib.util
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewsplice import SPLICE
from viewsplice.cli import main
from viewsplice.sweeps import scan as scanning
from viewsplice.training import fresh
from viewsplice.trust import AuditSettings, networks

RNG = np.random.default_rng(5)
SHARED = RNG.uniform(-1, 1, size=(120, 1))
A, B = (np.tanh(np.hstack([SHARED, RNG.normal(size=(120, 1))]) @ RNG.normal(size=(2, w))) for w in (5, 4))
ESTIMATOR: dict[str, Any] = {
    "n_shared": 1,
    "n_private": 1,
    "recipe": "paper",
    "networks": {"kind": "MLPNetworks", "hidden": [8]},
    "training": {"epochs": 3, "batch_size": 20, "restart_passes": 1},
    "geometry": None,
    "random_state": 7,
}
FILES = ["a.npy", "b.npy"]


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", A)
    np.save("b.npy", B)
    np.save("shared.npy", SHARED[:, 0])
    np.save("trials.npy", np.repeat(np.arange(24), 5))
    Path("tiny.json").write_text(json.dumps(ESTIMATOR))
    monkeypatch.setattr(networks, "_N_ROUNDS", 2)
    monkeypatch.setattr(networks, "_LEAST_STEPS_PER_ROUND", 3)
    monkeypatch.setattr(fresh, "_LEAST_STEPS", 5)
    monkeypatch.setattr("viewsplice.cli.AuditSettings", partial(AuditSettings, n_null=1, n_permutations=19))


def fitted(*options: str) -> None:
    assert main(["fit", *FILES, "--settings", "tiny.json", "--out", "run", "--quiet", *options]) == 0


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_audit_writes_into_the_run_folder(capsys: pytest.CaptureFixture[str]) -> None:
    fitted()
    capsys.readouterr()
    arguments = ["audit", "run", *FILES, "--covariate", "shared.npy", "--refits", "1", "--jobs", "1"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    content = json.loads(Path("run/audit.json").read_text())
    assert {"p_shared", "leaks", "dependence", "stability", "assumptions", "verdict"} <= set(content)
    assert content["verdict"] in out
    assert out.splitlines()[0].startswith("space")
    assert out.endswith(f"wrote {Path('run/audit.json')}\nviewsplice report run shows it on the page\n")
    assert {row["target"] for row in content["leaks"]} >= {"view A", "shared", "B->A"}
    assert [line.split(" (")[0] for line in err.splitlines()[:2]] == ["1/21 refit 1", "2/21 A about B"]
    assert main([*arguments, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert json.loads(Path("run/audit.json").read_text()) == content


def test_audit_finds_rows_and_covariates_of_the_fit(capsys: pytest.CaptureFixture[str]) -> None:
    few = np.load("shared.npy").ravel().astype(float)
    np.save("whole.npy", few)
    few[3] = np.nan
    np.save("few.npy", few)
    np.save("side.npy", np.where(np.isnan(few), "", "left"))
    fitted("--color", "whole.npy", "--color", "few.npy", "--color", "side.npy")
    capsys.readouterr()
    assert main(["audit", "run", "--refits", "0", "--jobs", "1"]) == 0
    out, _ = capsys.readouterr()
    assert "few is left out: it lacks values" in out
    assert "side is left out: it lacks values" in out
    targets = {row["target"] for row in json.loads(Path("run/audit.json").read_text())["leaks"]}
    assert "whole" in targets
    assert "few" not in targets


def test_audit_takes_the_groups_of_the_fit(capsys: pytest.CaptureFixture[str]) -> None:
    fitted("--groups", "trials.npy")
    capsys.readouterr()
    assert main(["audit", "run", *FILES, "--refits", "0", "--jobs", "1"]) == 0
    assert capsys.readouterr().out.startswith("groups: trials.npy\n")
    shared = json.loads(Path("run/audit.json").read_text())["shared"]
    assert shared["scheme"] == "permutations of groups"
    np.save("a.npy", A[:60])
    np.save("b.npy", B[:60])
    assert main(["audit", "run", *FILES, "--refits", "0", "--jobs", "1"]) == 0
    assert "groups:" not in capsys.readouterr().out, "labels of other rows are not taken"


def test_scan_writes_curves_a_figure_and_settings(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    arguments = ["scan", *FILES, "--settings", "tiny.json", "--widths", "1,2", "--folds", "2", "--jobs", "1"]
    assert main([*arguments, "--out", "scan"]) == 0
    out, err = capsys.readouterr()
    content = json.loads(Path("scan/scan.json").read_text())
    shared, *private = content["recommended"]
    assert f"recommended: {shared} shared; {private[0]}, {private[1]} private" in out
    assert [line.split()[0] for line in err.splitlines()[:3]] == ["1/1", "1/9", "2/9"]
    assert Path("scan/scan.png").read_bytes().startswith(b"\x89PNG")
    assert main(["fit", *FILES, "--settings", "scan/settings.json", "--out", "run", "--quiet"]) == 0
    model = SPLICE.load("run/model.splice")
    assert model.n_shared_["A->B"] == shared
    assert list(model.n_private_.values()) == private
    assert main([*arguments, "--out", "scan", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_tune_writes_trials_a_figure_and_settings(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("matplotlib")
    arguments = ["tune", *FILES, "--settings", "tiny.json", "--trials", "2", "--jobs", "1", "--out", "tuned"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    content = json.loads(Path("tuned/tuning.json").read_text())
    assert len(content["trials"]) == 2
    assert "is the best of 2" in out
    assert err.splitlines()[-1].startswith("2/2 trial")
    with Path("tuned/trials.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert set(rows[0]) == {
        *("number", "value", "state", "budget", "seconds"),
        *("learning_rate", "weight_decay", "batch_size", "width", "depth"),
    }
    assert Path("tuned/trials.png").read_bytes().startswith(b"\x89PNG")
    assert main(["fit", *FILES, "--settings", "tuned/settings.json", "--out", "run", "--quiet"]) == 0
    chosen = json.loads(Path("tuned/settings.json").read_text())["estimator"]
    assert chosen == content["best"]
    model = SPLICE.load("run/model.splice")
    assert list(model.networks.hidden) == chosen["networks"]["hidden"]


def test_without_matplotlib_there_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *r: None if name == "matplotlib" else found(name, *r))
    arguments = ["scan", *FILES, "--settings", "tiny.json", "--widths", "1,2", "--folds", "2", "--jobs", "1"]
    assert main([*arguments, "--out", "scan", "--quiet"]) == 0
    assert {path.name for path in Path("scan").iterdir()} == {"command.json", "scan.json", "settings.json", "tasks"}


def test_a_time_series_is_validated_in_blocks() -> None:
    fitted("--time")
    with np.load("run/latents.npz") as archive:
        split = archive["split"]
    held_out = np.flatnonzero(split == "validation")
    assert (np.diff(held_out) > 1).sum() < 4
    assert json.loads(Path("run/settings.json").read_text())["inputs"]["time"] is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "nowhere", *FILES], "nowhere has no model.splice"),
        (["audit", "run", "a.npy"], "view 'B' is missing"),
        (["audit", "run", *FILES, "--covariate", "few.npy"], "few.npy has shape (9,)"),
        (["audit", "run", *FILES, "--jobs", "0"], "n_jobs is 0; expected a number of processes"),
        (["audit", "run", *FILES, "--refits", "-1"], "n_refits is -1"),
        (["scan", "a.npy", "missing.npy", "--out", "scan"], "missing.npy does not exist"),
        (["scan", *FILES, "--out", "a.npy"], "a.npy is a file; expected a folder"),
        (["scan", *FILES, "--out", "scan", "--widths", "1;2"], "--widths is '1;2'; expected whole numbers"),
        (["scan", *FILES, "--out", "scan", "--widths", "2"], "expected at least two different ones"),
        (["tune", "a.npy", "--out", "tuned"], "got one view, 'A'; expected two or more paired views"),
        (["tune", *FILES, "--out", "tuned", "--trials", "0"], "n_trials is 0; expected an integer of at least 1"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("few.npy", np.arange(9))
    if "run" in arguments:
        fitted()
    capsys.readouterr()
    assert main(arguments) == 2
    assert message in complaint(capsys)
    assert not Path("scan").exists()
    assert not Path("tuned").exists()


@pytest.mark.parametrize("backend", ["ray", "dask"])
@pytest.mark.parametrize("command", ["scan", "tune"])
def test_a_backend_that_is_not_there_leaves_nothing_behind(
    command: str, backend: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna")
    monkeypatch.setitem(sys.modules, {"ray": "ray", "dask": "distributed"}[backend], None)
    assert main([command, *FILES, "--settings", "tiny.json", "--backend", backend, "--out", "new"]) == 2
    assert f"pip install 'viewsplice[{backend}]'" in complaint(capsys)
    assert not Path("new").exists()


def test_what_fails_half_way_is_kept_and_can_be_resumed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As when a cluster goes away in the midst of a sweep."""
    arguments = ["scan", *FILES, "--settings", "tiny.json", "--widths", "1,2", "--folds", "2", "--jobs", "1"]
    assert main([*arguments, "--out", "whole", "--quiet"]) == 0
    kept = scanning.held_out_scores

    def fail_later(*given: Any) -> Any:
        if len(list(Path("scan/tasks").glob("*.json"))) > 3:
            raise ValueError("the cluster is gone")
        return kept(*given)

    with monkeypatch.context() as patch:
        patch.setattr(scanning, "held_out_scores", fail_later)
        assert main([*arguments, "--out", "scan", "--quiet"]) == 2
    assert complaint(capsys) == "viewsplice: the cluster is gone\n"
    first = {path.name: path.stat().st_mtime_ns for path in Path("scan/tasks").iterdir()}
    assert main(["resume", "scan"]) == 0
    assert Path("scan/scan.json").read_bytes() == Path("whole/scan.json").read_bytes()
    after = {path.name: path.stat().st_mtime_ns for path in Path("scan/tasks").iterdir()}
    assert first == {name: after[name] for name in first}


@pytest.mark.parametrize("command", ["audit", "scan", "tune"])
def test_an_interruption_can_be_taken_up_again(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    name = {"audit": "audit", "scan": "dimension_scan", "tune": "tune"}[command]
    fitted()
    capsys.readouterr()
    monkeypatch.setattr(f"viewsplice.cli.{name}", interrupt)
    arguments = [command, "run", *FILES] if command == "audit" else [command, *FILES, "--out", "new"]
    assert main(arguments) == 130
    how = "give the same command again to go on" if command == "audit" else "viewsplice resume new goes on"
    assert complaint(capsys) == f"viewsplice: interrupted: {how}\n"
