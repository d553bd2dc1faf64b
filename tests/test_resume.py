"""Commands that are stopped at any moment go on and end with the same files."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewsplice import MLPNetworks, ResidualNetworks, TrainConfig
from viewsplice.cli import main
from viewsplice.io import held
from viewsplice.persistence import settings_to_json

# Seconds of training, so that a kill has something to hit.
SETTINGS = {
    "networks": ResidualNetworks(width=64, n_blocks=1, n_frequencies=8),
    "training": TrainConfig(epochs=12, scout_epochs=12, regression_epochs=6, batch_size=60, restart_passes=2),
}
FIT = ["fit", "a.npy", "b.npy", "--shared", "1", "--private", "1", "--settings", "few.json"]
SAME = ("model.splice", "history.csv", "latents.npz", "settings.json")


@pytest.fixture
def folder(two_views: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, x in zip("ab", two_views, strict=True):
        np.save(tmp_path / f"{name}.npy", x)
    (tmp_path / "few.json").write_text(json.dumps(settings_to_json(SETTINGS)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def start(arguments: list[str]) -> subprocess.Popen[str]:
    """Return a running command."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    line = [sys.executable, "-c", "from viewsplice.cli import main; raise SystemExit(main())", *arguments]
    pipes: dict[str, Any] = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(line, env=environment, preexec_fn=_hear_interrupts, **pipes)


def _hear_interrupts() -> None:
    """Undo what a shell does to commands in the background: they are deaf to Ctrl-C, and so are their children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def is_training(run: Path) -> bool:
    return (run / "checkpoint").is_dir()


def wait_until(condition: Any, process: subprocess.Popen[str]) -> None:
    while not condition() and process.poll() is None:
        time.sleep(0.01)


def kills(folder: Path, moments: list[float], seconds: float) -> None:
    """Start a fit, kill it after each fraction of the seconds it would train, go on, and compare with a whole one."""
    commands = [[*FIT, "--out", "run"]] + [["resume", "run"]] * len(moments)
    for command, moment in zip(commands, moments, strict=False):
        process = start(command)
        wait_until(lambda: is_training(folder / "run"), process)
        time.sleep(moment * seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert main([*commands[-1], "--quiet"]) == 0
    for name in SAME:
        assert (folder / "run" / name).read_bytes() == (folder / "whole" / name).read_bytes(), name
    assert not is_training(folder / "run")
    assert not list((folder / "run").glob(".*"))


def whole_fit(folder: Path) -> float:
    """Fit without interruption in a process of its own; return the seconds from the first checkpoint to the end."""
    process = start([*FIT, "--out", "whole"])
    wait_until(lambda: is_training(folder / "whole"), process)
    started = time.monotonic()
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    return time.monotonic() - started


def test_killed_three_times_a_fit_ends_with_the_same_bits(folder: Path) -> None:
    seconds = whole_fit(folder)
    generator = random.Random(0)
    moments = sorted(generator.random() for _ in range(3))
    kills(folder, moments, seconds)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_killed_at_fifty_moments(folder: Path, seed: int) -> None:
    seconds = whole_fit(folder)
    kills(folder, [random.Random(5 * seed + i).random() for i in range(5)], seconds)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["scan", "tune"])
def test_a_killed_sweep_ends_as_if_it_had_not_been(folder: Path, command: str) -> None:
    pytest.importorskip("optuna")
    few = {
        "networks": MLPNetworks((8,)),
        "training": TrainConfig(epochs=9, batch_size=40, restart_passes=1),
        "geometry": None,
    }
    (folder / "few.json").write_text(json.dumps(settings_to_json(few)))
    options = {"scan": ["--widths", "1,2", "--folds", "2"], "tune": ["--trials", "2"]}[command]
    line = [command, *FIT[1:], *options, "--jobs", "1", "--quiet", "--out"]
    assert main([*line, "whole"]) == 0

    def n_done() -> int:
        return len(list((folder / "run" / "tasks").glob("*.json")))

    commands = [[*line, "run"]] + [["resume", "run"]] * 3
    for given, least in zip(commands, (1, 2, 3), strict=False):
        process = start(given)
        wait_until(lambda least=least: n_done() >= least, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert main(["resume", "run", "--quiet"]) == 0
    found, expected = (_results(folder / name, command) for name in ("run", "whole"))
    assert found == expected


def _results(run: Path, command: str) -> Any:
    """Return what a sweep has found, without the time it took."""
    content = json.loads((run / {"scan": "scan.json", "tune": "tuning.json"}[command]).read_text())
    for trial in content.get("trials", ()):
        del trial["seconds"]
    return content


def test_ctrl_c_stops_saves_and_says_how_to_go_on(folder: Path) -> None:
    long = {**SETTINGS, "training": TrainConfig(epochs=9999, scout_epochs=9999, batch_size=60, patience=0)}
    (folder / "few.json").write_text(json.dumps(settings_to_json(long)))
    process = start([*FIT, "--out", "run"])
    wait_until(lambda: any((folder / "run").glob("checkpoint/*.safetensors")), process)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    # A second, and what a loaded machine adds.
    assert time.monotonic() - started < 20
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "viewsplice: interrupted: viewsplice resume run goes on"
    assert any((folder / "run" / "checkpoint").glob("*.safetensors"))
    assert not any((folder / "run" / "checkpoint").glob(".*"))


def test_resume_finds_files_from_anywhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {**SETTINGS, "training": TrainConfig(epochs=1, scout_epochs=1, regression_epochs=1, batch_size=60)}
    (folder / "few.json").write_text(json.dumps(settings_to_json(few)))
    with monkeypatch.context() as patch:
        patch.setattr("viewsplice.runs.write_latents", _fail)
        assert main([*FIT, "--out", "run", "--quiet"]) == 2
    assert (folder / "run" / "model.splice").exists()
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert main(["resume", "../run"]) == 0
    assert (folder / "run" / "report.html").exists()
    assert not is_training(folder / "run")
    capsys.readouterr()
    before = (folder / "run" / "model.splice").stat().st_mtime_ns
    assert main(["resume", "../run"]) == 0
    assert capsys.readouterr().out == "../run is finished: there is nothing to resume\n"
    assert (folder / "run" / "model.splice").stat().st_mtime_ns == before


def _fail(*_: Any) -> None:
    raise OSError("the disk is full")


def test_a_full_disk_is_told_with_what_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {**SETTINGS, "training": TrainConfig(epochs=1, scout_epochs=1, regression_epochs=1, batch_size=60)}
    (folder / "few.json").write_text(json.dumps(settings_to_json(few)))
    monkeypatch.setattr("viewsplice.runs.write_latents", _fail)
    assert main([*FIT, "--out", "run", "--quiet"]) == 2
    assert capsys.readouterr().err == "viewsplice: the disk is full: viewsplice resume run goes on\n"
    monkeypatch.setattr("viewsplice.cli.write_latents", _fail)
    assert main(["transform", "run", "a.npy", "--out", "run/more.npz"]) == 2
    assert capsys.readouterr().err == "viewsplice: the disk is full\n"


@pytest.mark.skipif(os.name == "nt", reason="locks of folders")
def test_a_second_command_in_a_folder_takes_nothing_from_the_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A resume given too soon would remove the model of a fit that is writing its report."""
    for name in ("run", "run/checkpoint"):
        (folder / name).mkdir()
    line = " ".join(["viewsplice", *FIT, "--out", "run"])
    (folder / "run" / "command.json").write_text(json.dumps({"line": line, "folder": str(folder)}))
    (folder / "run" / "model.splice").touch()
    before = (folder / "run" / "command.json").read_bytes()
    with held("run"):
        for command in (["resume", "run"], [*FIT, "--out", "run"]):
            assert main(command) == 2
            assert "run is in use: another viewsplice is writing there" in capsys.readouterr().err
    assert (folder / "run" / "model.splice").exists()
    assert (folder / "run" / "command.json").read_bytes() == before


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "does not tell what ran here"),
        ("{", "does not tell what ran here"),
        ("[]", "does not tell what ran here"),
        ('{"line": "rm -r x", "folder": "."}', "expected a command of viewsplice"),
        ('{"line": "viewsplice resume run", "folder": "."}', "expected a command of viewsplice"),
        ('{"line": "viewsplice \\"fit", "folder": "."}', "does not tell what ran here"),
    ],
)
def test_a_folder_without_a_command_is_told(
    content: str | None, expected: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "run").mkdir()
    if content is not None:
        (folder / "run" / "command.json").write_text(content)
    assert main(["resume", "run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert expected in line


def test_a_command_writes_nowhere_but_into_its_folder(folder: Path) -> None:
    few = {**SETTINGS, "training": TrainConfig(epochs=1, scout_epochs=1, regression_epochs=1, batch_size=60)}
    (folder / "few.json").write_text(json.dumps(settings_to_json(few)))
    (folder / "run").mkdir()
    line = " ".join(["viewsplice", *FIT, "--out", "other", "--quiet"])
    (folder / "run" / "command.json").write_text(json.dumps({"line": line, "folder": str(folder)}))
    assert main(["resume", "run"]) == 0
    assert (folder / "run" / "model.splice").exists()
    assert not (folder / "other").exists()


@pytest.mark.parametrize("command", ["scan", "tune", "reproduce"])
def test_sweeps_are_given_again(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What they have finished is kept as their own tests show; here, that the command is remembered and given."""
    names = {"scan": "dimension_scan", "tune": "tune"}
    target = f"viewsplice.cli.{names[command]}" if command in names else "viewsplice.experiments.run_experiments"
    calls: list[Any] = []

    def stop(*args: Any, **kwargs: Any) -> None:
        calls.append((args, kwargs))
        raise KeyboardInterrupt

    monkeypatch.setattr(target, stop)
    inputs = ["lgn-v1", "--quick"] if command == "reproduce" else ["a.npy", "b.npy"]
    for line in ([command, *inputs, "--out", "out"], ["resume", "out"]):
        assert main(line) == 130
        assert capsys.readouterr().err.endswith("viewsplice: interrupted: viewsplice resume out goes on\n")
    assert len(calls) == 2
