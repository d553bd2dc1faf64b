"""The command line, called in-process, and twice as a real program."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import viewsplice.cli
import viewsplice.demo
from viewsplice import SPLICE, GeometryWarning, MLPNetworks, TrainConfig
from viewsplice.arguments import make_parser
from viewsplice.cli import main
from viewsplice.counts import smooth, square_root
from viewsplice.datasets import sheet_and_lines
from viewsplice.trust import AuditSettings
from viewsplice.views import Views

RNG = np.random.default_rng(5)
SHARED = RNG.uniform(-1, 1, size=(120, 1))
A, B = (np.tanh(np.hstack([SHARED, RNG.normal(size=(120, 1))]) @ RNG.normal(size=(2, w))) for w in (8, 6))
ESTIMATOR: dict[str, Any] = {
    "n_shared": 1,
    "n_private": 1,
    "recipe": "paper",
    "networks": {"kind": "MLPNetworks", "hidden": [8]},
    "training": {"epochs": 2, "batch_size": 50, "restart_passes": 1},
    "geometry": None,
    "random_state": 7,
}
FIND_SPEC = importlib.util.find_spec
RUN_FILES = {"command.json", "settings.json", "model.splice", "latents.npz", "history.csv", "metrics.json"}


@pytest.fixture(autouse=True)
def _folder_without_figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Work in a folder with data, as where matplotlib is not installed."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", A)
    np.save("b.npy", B)
    Path("tiny.json").write_text(json.dumps(ESTIMATOR))
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "matplotlib" else FIND_SPEC(name, *rest)
    )


def _fit(*arguments: str, out: str = "run") -> int:
    views = () if arguments and not arguments[0].startswith("-") else ("a.npy", "b.npy")
    return main(["fit", *views, *arguments, "--settings", "tiny.json", "--out", out, "--quiet"])


def _arrays(path: str | Path) -> dict[str, Any]:
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


def _complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line on standard error, when there is nothing else."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("viewsplice")
    assert err.endswith("\n")
    assert err.count("\n") == 1, err
    return err


def test_fit_writes_a_run_folder() -> None:
    assert _fit() == 0
    assert {path.name for path in Path("run").iterdir()} == RUN_FILES
    training = TrainConfig(**ESTIMATOR["training"])
    expected = SPLICE(
        1, 1, recipe="paper", networks=MLPNetworks((8,)), training=training, geometry=None, random_state=7
    ).fit(A, B)
    found = _arrays("run/latents.npz")
    assert set(found) == {"private/A", "private/B", "shared/A->B", "shared/B->A", "split"}
    np.testing.assert_array_equal(found["shared/A->B"], expected.transform(A, B).shared["A->B"])
    assert sorted(set(found["split"])) == ["train", "validation"]
    settings = json.loads(Path("run/settings.json").read_text())
    data = {"views": ["a.npy", "b.npy"], "groups": None, "color": []}
    assert settings["inputs"] == {**data, "sqrt": False, "smooth": None, "time": False}
    assert settings["estimator"]["training"] == ESTIMATOR["training"]
    assert set(json.loads(Path("run/metrics.json").read_text())["reconstruction_r2"]) == {"train", "validation"}


def test_settings_of_a_run_give_the_same_run() -> None:
    assert _fit() == 0
    assert main(["fit", "a.npy", "b.npy", "--settings", "run/settings.json", "--out", "again", "--quiet"]) == 0
    assert Path("again/model.splice").read_bytes() == Path("run/model.splice").read_bytes()
    assert Path("again/latents.npz").read_bytes() == Path("run/latents.npz").read_bytes()


def test_options_override_settings() -> None:
    assert _fit("--shared", "2", "--private", "0", "1", "--seed", "5", "--recipe", "paper") == 0
    model = SPLICE.load("run/model.splice")
    assert (model.n_shared, model.n_private, model.random_state) == (2, (0, 1), 5)
    assert model.n_private_ == {"A": 0, "B": 1}
    assert _fit("--private", "2", out="other") == 0
    assert SPLICE.load("other/model.splice").n_private == 2


def test_the_seed_is_0_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[SPLICE] = []
    monkeypatch.setattr(viewsplice.cli, "_train", lambda model, *rest, **options: seen.append(model) or ([], 0.0))
    monkeypatch.setattr(viewsplice.cli, "finish_run", lambda *rest, **options: [Path("report.html")])
    assert main(["fit", "a.npy", "b.npy", "--shared", "auto", "--out", "run", "--quiet"]) == 0
    assert seen[0].get_params() == SPLICE(random_state=0).get_params()


def test_settings_without_a_seed_are_repeatable_too() -> None:
    Path("tiny.json").write_text(json.dumps({name: x for name, x in ESTIMATOR.items() if name != "random_state"}))
    assert _fit() == 0
    assert SPLICE.load("run/model.splice").random_state == 0


def test_warnings_of_a_fit_are_told_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fit = SPLICE.fit

    def warn_twice(self: SPLICE, *arguments: Any, **options: Any) -> SPLICE:
        for _ in range(2):
            warnings.warn("the space is strange", GeometryWarning, stacklevel=1)
        return fit(self, *arguments, **options)

    monkeypatch.setattr(SPLICE, "fit", warn_twice)
    assert main(["fit", "a.npy", "b.npy", "--settings", "tiny.json", "--out", "run"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "Warning: the space is strange"
    assert _fit(out="quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_all_file_forms_hold_the_same_views() -> None:
    np.savetxt("a.csv", A, delimiter=",", fmt="%.17g")
    np.savez("both.npz", lgn=A, v1=B)
    assert _fit() == 0
    expected = _arrays("run/latents.npz")
    assert _fit("a.csv", "both.npz:v1", out="mixed") == 0
    for name, value in _arrays("mixed/latents.npz").items():
        np.testing.assert_array_equal(value, expected[name])
    assert _fit("lgn=both.npz:lgn", "v1=b.npy", out="named") == 0
    assert set(_arrays("named/latents.npz")) == {
        "private/lgn",
        "private/v1",
        "shared/lgn->v1",
        "shared/v1->lgn",
        "split",
    }


def test_three_files_are_three_views() -> None:
    np.save("c.npy", B[:, :4] ** 2)
    assert _fit("a.npy", "b.npy", "c.npy", "--private", "1", "0", "2") == 0
    assert SPLICE.load("run/model.splice").n_private_ == {"A": 1, "B": 0, "C": 2}


def test_groups_are_kept_together() -> None:
    labels = np.repeat([f"trial {i}" for i in range(8)], 15)
    Path("trials.csv").write_text("trial\n" + "\n".join(labels) + "\n")
    np.save("trials.npy", np.repeat(np.arange(8), 15))
    for out, file in (("text", "trials.csv"), ("numbers", "trials.npy")):
        assert _fit("--groups", file, out=out) == 0
        split = _arrays(f"{out}/latents.npz")["split"]
        assert not set(labels[split == "train"]) & set(labels[split == "validation"])


def test_colors_reach_the_report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(importlib.util, "find_spec", FIND_SPEC)
    np.save("position.npy", SHARED[:, 0])
    arguments = ["a.npy", "b.npy", "--settings", "tiny.json", "--color", "position.npy"]
    assert main(["fit", *arguments, "--out", "run"]) == 0
    assert "position" in Path("run/report.html").read_text(encoding="utf-8")
    assert capsys.readouterr().out.endswith(f"wrote {Path('run/report.html')}\n")


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert _fit() == 0
    assert main(["transform", "run", "a.npy", "--out", "l.npz", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_pipe_gets_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "a.npy", "b.npy", "--settings", "tiny.json", "--out", "run"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        f"wrote {Path('run/metrics.json')}",
        "no page was written: it needs pip install 'viewsplice[plot]'",
    ]
    lines = err.splitlines()
    assert [line.split()[:2] for line in lines] == [["disentangle", "1/2"], ["disentangle", "2/2"]]
    assert all("rec " in line and "\r" not in line for line in lines)


def test_transform_gives_the_latents_of_the_run() -> None:
    assert _fit() == 0
    expected = _arrays("run/latents.npz")
    assert main(["transform", "run", "a.npy", "b.npy", "--out", "new/deep/l.npz", "--quiet"]) == 0
    found = _arrays("new/deep/l.npz")
    assert set(found) == set(expected) - {"split"}
    for name, value in found.items():
        np.testing.assert_array_equal(value, expected[name])
    np.save("rows.npy", B[:7])
    assert main(["transform", "run", "B=rows.npy", "--out", "one.npz", "--quiet"]) == 0
    assert {name: x.shape for name, x in _arrays("one.npz").items()} == {"private/B": (7, 1), "shared/B->A": (7, 1)}


def test_unnamed_files_take_the_fitted_names_in_order() -> None:
    assert _fit("lgn=a.npy", "v1=b.npy") == 0
    assert main(["transform", "run", "a.npy", "b.npy", "--out", "l.npz", "--quiet"]) == 0
    np.testing.assert_array_equal(_arrays("l.npz")["private/v1"], _arrays("run/latents.npz")["private/v1"])
    assert main(["transform", "run", "v1=b.npy", "lgn=a.npy", "--out", "swapped.npz", "--quiet"]) == 0
    np.testing.assert_array_equal(_arrays("swapped.npz")["private/v1"], _arrays("l.npz")["private/v1"])


def _spoiled(row: int, value: float) -> Any:
    x = B.copy()
    x[row, 2] = value
    return x


def _write_bad_files() -> None:
    np.save("short.npy", B[:100])
    np.save("nan.npy", _spoiled(11, np.nan))
    np.save("constant.npy", np.full((120, 3), 0.1))
    np.save("flat.npy", B[:, 0])
    np.save("text.npy", np.full((120, 2), "x"))
    np.save("few.npy", B[:30])
    np.savez("both.npz", lgn=A, v1=B)
    Path("b.xyz").write_text("1 2 3")
    Path("words.csv").write_text("1,2\n3,four\n")
    Path("fake.npy").write_text("not numpy")
    Path("empty.npy").write_bytes(b"")
    Path("wrong.json").write_text('{"n_shred": 1}')
    Path("custom.json").write_text('{"networks": {"kind": "custom", "type": "Mine"}}')
    Path("labels.csv").write_text("\n".join("ab" * 30))
    Path("a folder.npy").mkdir()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.npy", "missing.npy"], "missing.npy does not exist: expected the path of a data file"),
        (["a.npy", "short.npy"], "views have different numbers of rows ('A': 120, 'B': 100)"),
        (["a.npy", "nan.npy"], "view 'B' has 1 non-finite value (NaN or infinity), the first at row 11, feature 2"),
        (["a.npy", "constant.npy"], "view 'B' is constant"),
        (["a.npy", "flat.npy"], "view 'B' has shape (120,); expected (rows, features)"),
        (["a.npy", "text.npy"], "text.npy has dtype <U1; expected real numbers"),
        (["a.npy", "b.xyz"], "b.xyz has no known extension; expected one of: .npy"),
        (["a.npy", "words.csv"], "words.csv has the text 'four' in row 2, column 2"),
        (["a.npy", "fake.npy"], "fake.npy is not a NumPy .npy file"),
        (["a.npy", "empty.npy"], "empty.npy is empty (0 bytes)"),
        (["a.npy", "a folder.npy"], "a folder.npy is a folder; expected a file"),
        (["a.npy", "both.npz"], "both.npz holds more than one array; expected a key"),
        (["a.npy", "both.npz:x"], "both.npz has no array 'x'; expected one of: lgn, v1"),
        (["x=a.npy", "x=b.npy"], "got more than one view named 'x'"),
        (["B=a.npy", "b.npy"], "got more than one view named 'B'"),
        (["keys=a.npy", "b.npy"], "view name 'keys' is reserved"),
        (["a.npy"], "got one view, 'A'; expected two or more paired views"),
        (["few.npy", "few.npy"], "got 27 training rows; batch_size=50 needs at least 50"),
        (["a.npy", "b.npy", "--shared", "two"], "got 'two' as a width; expected an integer"),
        (["a.npy", "b.npy", "--shared", "1.5"], "got '1.5' as a width"),
        (["a.npy", "b.npy", "--shared", "-1"], "n_shared is -1 for A->B; expected a width of at least 0"),
        (["a.npy", "b.npy", "--shared", "7"], "n_shared is 7 for A->B; expected at most 6"),
        (["a.npy", "b.npy", "--private", "9"], "n_private is 9 for view 'A'; expected at most its 8 features"),
        (["a.npy", "b.npy", "--private", "-3"], "n_private is -3 for A; expected a width of at least 0"),
        (["a.npy", "b.npy", "--private", "1", "1", "1"], "n_private has 3 widths; expected one per view"),
        (["a.npy", "b.npy", "--shared", "auto"], "n_shared is 'auto'; recipe 'paper' expects widths"),
        (["a.npy", "b.npy", "--seed", "-1"], "random_state is -1; expected an integer of at least 0"),
        (["a.npy", "b.npy", "--groups", "missing.csv"], "missing.csv does not exist"),
        (["a.npy", "b.npy", "--groups", "labels.csv"], "--groups has shape (60,); expected one value per row: (120,)"),
        (["a.npy", "b.npy", "--groups", "constant.npy"], "constant.npy has shape (120, 3); expected a single column"),
        (["a.npy", "b.npy", "--color", "labels.csv"], "labels.csv has shape (60,); expected one value per row: (120,)"),
        (["a.npy", "b.npy", "--settings", "missing.json"], "missing.json cannot be read as settings"),
        (["a.npy", "b.npy", "--settings", "wrong.json"], "wrong.json has unknown settings ['n_shred']"),
        (
            ["a.npy", "b.npy", "--settings", "custom.json"],
            "networks are of a class that viewsplice does not know (Mine)",
        ),
        (["a.npy", "b.npy", "--settings", "a.npy"], "a.npy cannot be read as settings"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_bad_files()
    settings = [] if "--settings" in arguments else ["--settings", "tiny.json"]
    assert main(["fit", *arguments, *settings, "--out", "run"]) == 2
    assert message in _complaint(capsys)
    assert not Path("run").exists()


def test_bad_input_leaves_other_files_of_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    Path("run").mkdir()
    Path("run/notes.txt").write_text("mine")
    assert _fit("a.npy", "missing.npy") == 2
    assert "missing.npy does not exist" in _complaint(capsys)
    assert [path.name for path in Path("run").iterdir()] == ["notes.txt"]


def test_an_existing_model_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert _fit() == 0
    before = {path.name: path.read_bytes() for path in Path("run").iterdir()}
    assert _fit("--seed", "1") == 2
    assert "run already holds a fitted model: choose another --out" in _complaint(capsys)
    assert {path.name: path.read_bytes() for path in Path("run").iterdir()} == before


def test_a_file_in_place_of_the_folder_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert _fit(out="a.npy") == 2
    assert "a.npy is a file; expected a folder for the results" in _complaint(capsys)
    np.testing.assert_array_equal(np.load("a.npy"), A)


def test_a_trained_model_survives_trouble_afterwards(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("no table today")

    monkeypatch.setattr("viewsplice.runs.write_csv", fail)
    assert _fit() == 2
    assert "no table today" in _complaint(capsys)
    assert {"settings.json", "model.splice"} <= {path.name for path in Path("run").iterdir()}


def test_interruption(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SPLICE, "fit", interrupt)
    assert _fit() == 130
    assert _complaint(capsys) == "viewsplice: interrupted: viewsplice resume run goes on\n"
    assert {path.name for path in Path("run").iterdir()} == {"command.json", "settings.json"}


def test_divergence_keeps_the_history(capsys: pytest.CaptureFixture[str]) -> None:
    training = {**ESTIMATOR["training"], "learning_rate": 1e30, "max_restarts": 1}
    Path("tiny.json").write_text(json.dumps({**ESTIMATOR, "training": training}))
    assert _fit() == 1
    assert "became non-finite in epoch 0 of stage 'disentangle'" in _complaint(capsys)
    assert {path.name for path in Path("run").iterdir()} == {
        "checkpoint",
        "command.json",
        "settings.json",
        "history.csv",
    }
    with Path("run/history.csv").open(newline="") as file:
        assert [row["attempt"] for row in csv.DictReader(file)] == ["0", "1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["fly"], "invalid choice: 'fly'"),
        (["fit", "a.npy", "b.npy"], "the following arguments are required: --out"),
        (["fit", "--out", "run"], "the following arguments are required: VIEW"),
        (["fit", "a.npy", "b.npy", "--out", "run", "--seed", "x"], "argument --seed: invalid int value: 'x'"),
        (["fit", "a.npy", "b.npy", "--out", "run", "--recipe", "fast"], "argument --recipe: invalid choice: 'fast'"),
        (["fit", "a.npy", "b.npy", "--out", "run", "--verbose"], "unrecognized arguments: --verbose"),
        (["transform", "run", "--out", "l.npz"], "the following arguments are required: VIEW"),
    ],
)
def test_usage_errors_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in _complaint(capsys)
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["audit", "D", "--groups", "G", "A", "B"], {"folder": Path("D"), "views": ["A", "B"], "groups": "G"}),
        (["audit", "--refits", "1", "D", "A", "--seed", "2", "B"], {"folder": Path("D"), "views": ["A", "B"]}),
        (["fit", "A", "--out", "X", "B", "--seed", "1"], {"views": ["A", "B"], "out": Path("X"), "seed": 1}),
        (["report", "D", "--out", "P"], {"folder": Path("D"), "views": [], "out": Path("P")}),
    ],
)
def test_files_and_options_come_in_any_order(arguments: list[str], expected: dict[str, Any]) -> None:
    found = vars(make_parser(viewsplice.cli._COMMANDS).parse_args(arguments))
    assert {name: found[name] for name in expected} == expected


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"viewsplice {viewsplice.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "a.npy"], "nowhere has no model.splice; expected the folder of a finished `viewsplice fit`"),
        (["run", "missing.npy"], "missing.npy does not exist"),
        (["run", "b.npy"], "view 'A' has rows of shape (6,); expected (8,), as in fit"),
        (["run", "x=a.npy"], "unknown view 'x'; expected some of ['A', 'B']"),
        (["run", "a.npy", "nan.npy"], "view 'B' has 1 non-finite value"),
        (["run", "a.npy", "short.npy"], "views have different numbers of rows"),
        (["run", "a.npy", "A=a.npy"], "got more than one view named 'A'"),
        (["damaged", "a.npy"], "cannot be read as a saved model"),
    ],
)
def test_transform_of_bad_input(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], model_file: bytes
) -> None:
    _write_bad_files()
    for folder, content in (("run", model_file), ("damaged", model_file[:-50])):
        Path(folder).mkdir()
        Path(folder, "model.splice").write_bytes(content)
    assert main(["transform", *arguments, "--out", "l.npz"]) == 2
    assert message in _complaint(capsys)
    assert not list(Path().glob("*l.npz*"))


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a fitted model of the two views."""
    path = tmp_path_factory.mktemp("fitted") / "model.splice"
    training = TrainConfig(epochs=1, batch_size=50, restart_passes=1)
    model = SPLICE(1, 1, recipe="paper", networks=MLPNetworks((8,)), training=training, geometry=None, random_state=0)
    model.fit(A, B).save(path)
    return path.read_bytes()


def test_transform_into_a_folder_fails_in_one_line(model_file: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    Path("run").mkdir()
    Path("run/model.splice").write_bytes(model_file)
    Path("taken").mkdir()
    assert main(["transform", "run", "a.npy", "--out", "taken"]) == 2
    assert "taken is a folder; expected the file to write" in _complaint(capsys)
    assert not list(Path("taken").iterdir())


def test_demo(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    training = TrainConfig(epochs=1, batch_size=50, restart_passes=1)
    model = SPLICE(2, 1, recipe="paper", networks=MLPNetworks((8,)), training=training, geometry=None, random_state=0)
    monkeypatch.setattr(viewsplice.demo, "_JOBS", 1)
    monkeypatch.setattr(viewsplice.demo, "_AUDIT", AuditSettings(n_permutations=19, n_null=1, n_refits=0, most_rows=40))
    monkeypatch.setattr(viewsplice.demo, "demo_data", lambda quick: sheet_and_lines(n_samples=200, random_state=0))
    monkeypatch.setattr(viewsplice.demo, "demo_model", lambda: model)
    for _ in range(2):
        assert main(["demo", "--quick", "--out", "show"]) == 0
        assert {path.name for path in Path("show").iterdir()} == {*RUN_FILES, "audit.json"}
        out, err = capsys.readouterr()
        assert "Quick demonstration" in out
        assert "what is decoded linearly" in out
        assert f"Audit: {json.loads(Path('show/audit.json').read_text())['findings'][0]['sentence']}" in out
        assert "disentangle 1/1" in err
        assert "16/16 B->A about view B" in err
    assert json.loads(Path("show/settings.json").read_text())["inputs"] == {"quick": True}


def test_the_demo_does_not_take_the_place_of_a_fit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(viewsplice.demo, "demo_data", lambda quick: sheet_and_lines(n_samples=200, random_state=0))
    assert _fit() == 0
    before = {path.name: path.read_bytes() for path in Path("run").iterdir()}
    assert main(["demo", "--quick", "--out", "run"]) == 2
    assert "run already holds a fitted model: choose another --out" in _complaint(capsys)
    assert {path.name: path.read_bytes() for path in Path("run").iterdir()} == before
    assert main(["demo", "--quick", "--out", "a.npy"]) == 2
    assert "a.npy is a file; expected a folder for the results" in _complaint(capsys)


def test_the_demo_chooses_nothing_by_hand() -> None:
    assert viewsplice.demo.demo_model().get_params() == SPLICE(random_state=0).get_params()
    assert len(viewsplice.demo.demo_data(quick=True).views) < len(viewsplice.demo.demo_data(quick=False).views)


def test_the_installed_program_reports_to_a_pipe() -> None:
    program = Path(sys.executable).with_name("viewsplice")
    arguments = ["fit", "a.npy", "b.npy", "--settings", "tiny.json", "--out", "run"]
    found = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    assert [line.split()[0] for line in found.stderr.splitlines()] == ["disentangle", "disentangle"]
    assert found.stdout.splitlines()[-1].startswith("wrote ")
    assert {path.name for path in Path("run").iterdir()} >= RUN_FILES


def test_the_module_runs_as_the_program_does() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "viewsplice", "--version"], capture_output=True, text=True, timeout=120
    )
    assert (found.returncode, found.stdout) == (0, f"viewsplice {viewsplice.__version__}\n"), found.stderr


def test_counts_are_changed_when_asked_and_never_silently(capsys: pytest.CaptureFixture[str]) -> None:
    counts = np.random.default_rng(0).poisson(4, size=(120, 6))
    np.save("c.npy", counts)
    np.save("d.npy", counts[:, ::-1] + 1)
    np.save("trial.npy", np.repeat(np.arange(24), 5))
    arguments = ["c.npy", "d.npy", "--settings", "tiny.json", "--sqrt", "--smooth", "1.5", "--groups", "trial.npy"]
    assert main(["fit", *arguments, "--out", "run"]) == 0
    assert json.loads(Path("run/settings.json").read_text())["inputs"]["smooth"] == 1.5
    capsys.readouterr()
    plain = smooth(square_root(Views({"A": counts, "B": counts[:, ::-1] + 1}, groups=np.load("trial.npy"))), 1.5)
    latents = SPLICE.load("run/model.splice").transform(plain)
    np.testing.assert_allclose(_arrays("run/latents.npz")["shared/A->B"], latents.shared["A->B"], rtol=1e-5)
    assert main(["transform", "run", "c.npy", "d.npy", "--out", "new.npz"]) == 0
    said = capsys.readouterr().out
    assert "The square root of all values was taken (--sqrt)." in said
    assert "smoothed over rows, over all rows as one sequence, with an SD of 1.5 rows" in said
    assert main(["transform", "run", "c.npy", "d.npy", "--groups", "trial.npy", "--out", "same.npz", "--quiet"]) == 0
    np.testing.assert_allclose(_arrays("same.npz")["private/A"], latents.private["A"], rtol=1e-5)
    together = smooth(square_root(Views({"A": counts, "B": counts[:, ::-1] + 1})), 1.5)
    again = SPLICE.load("run/model.splice").transform(together)
    np.testing.assert_allclose(_arrays("new.npz")["private/A"], again.private["A"], rtol=1e-5)


def test_negative_values_have_no_square_root(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("n.npy", -np.ones((120, 3)))
    assert main(["fit", "a.npy", "n.npy", "--settings", "tiny.json", "--sqrt", "--out", "run"]) == 2
    assert "has negative values; expected counts or rates" in _complaint(capsys)


def test_a_name_that_is_no_text_is_told_before_anything_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", os.fsdecode(b"a\xff.npy"), "b.npy", "--out", "out"]) == 2
    assert "holds bytes that are not UTF-8" in capsys.readouterr().err
    assert not Path("out").exists()
