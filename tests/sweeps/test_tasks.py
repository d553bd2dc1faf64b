"""Tasks: done once, found again, in any number of processes, whatever happens to these."""

from __future__ import annotations

import json
import os
import signal
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from viewsplice.io import joint_fingerprint, settings_hash
from viewsplice.sweeps import Sweep, Task, TaskEvent, run_tasks
from viewsplice.sweeps.progress import task_progress
from viewsplice.sweeps.tasks import alone
from viewsplice.views import Views


def square(number: int, data: np.ndarray) -> dict:
    return {"square": number**2, "total": data.sum(), "none": np.float64("nan")}


def tasks(numbers: range, work=square) -> list[Task]:
    return [Task(f"Number {n}", {"n": n}, partial(work, n)) for n in numbers]


def never(number: int, data: object) -> dict:
    raise AssertionError("done again")


def test_results_come_in_order_as_plain_values() -> None:
    found = run_tasks(tasks(range(3)), data=np.ones(4))
    assert found == [{"square": n**2, "total": 4.0, "none": None} for n in range(3)]
    assert run_tasks([]) == []


def test_finished_tasks_are_found_again_and_changed_ones_are_done(tmp_path: Path) -> None:
    run_tasks(tasks(range(2)), data=np.ones(4), folder=tmp_path)
    kept = json.loads((tmp_path / f"number-1-{settings_hash({'n': 1})}.json").read_text())
    assert kept["result"]["square"] == 1
    assert kept["settings"] == {"n": 1}
    assert kept["seconds"] >= 0
    seen: list[TaskEvent] = []
    mixed = [*tasks(range(2), never), *tasks(range(2, 4))]
    assert [r["square"] for r in run_tasks(mixed, data=np.ones(4), folder=tmp_path, on_done=seen.append)] == [
        0,
        1,
        4,
        9,
    ]
    assert seen == [TaskEvent("Number 2", 3, 4), TaskEvent("Number 3", 4, 4)]


@pytest.mark.parametrize("damage", [b"", b'{"task": "Nu', b"[]", b'{"task": 1}', b'{"result": 3}', b"\xff\xfe"])
def test_a_damaged_file_is_done_again(tmp_path: Path, damage: bytes) -> None:
    expected = run_tasks(tasks(range(2)), data=np.ones(4), folder=tmp_path)
    kept = tmp_path / tasks(range(2))[1].file
    whole = json.loads(kept.read_text())
    kept.write_bytes(damage)
    assert run_tasks([*tasks(range(1), never), *tasks(range(1, 2))], data=np.ones(4), folder=tmp_path) == expected
    assert json.loads(kept.read_text())["result"] == whole["result"]


def test_a_sweep_that_fails_at_once_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="done again"):
        run_tasks(tasks(range(1), never), folder=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_an_error_keeps_what_was_finished(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="done again"):
        run_tasks([*tasks(range(2)), *tasks(range(2, 3), never)], data=np.ones(1), folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(("arguments", "message"), [({"n_jobs": 0}, "n_jobs is 0"), ({"backend": "mpi"}, "'mpi'")])
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run_tasks(tasks(range(1)), **arguments)
    with pytest.raises(ValueError, match=message):
        Sweep(**arguments)


@pytest.mark.parametrize("backend", ["ray", "dask"])
def test_a_backend_that_is_not_installed_says_how_to_get_it(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, {"ray": "ray", "dask": "distributed"}[backend], None)
    with pytest.raises(ValueError, match=rf"pip install 'viewsplice\[{backend}\]'"):
        run_tasks(tasks(range(1)), backend=backend)


def dies_once(flag: str, number: int, data: object) -> dict:
    if number == 1 and not Path(flag).exists():
        Path(flag).touch()
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    return {"number": number, "threads": torch.get_num_threads(), "pid": os.getpid()}


def test_two_processes_with_one_thread_each_survive_the_death_of_one(tmp_path: Path) -> None:
    work = partial(dies_once, str(tmp_path / "flag"))
    found = run_tasks(tasks(range(6), work), n_jobs=2, folder=tmp_path / "kept")
    assert [r["number"] for r in found] == list(range(6))
    assert {r["threads"] for r in found} == {1}
    assert os.getpid() not in {r["pid"] for r in found}
    assert len(list((tmp_path / "kept").iterdir())) == 6


def dies(number: int, data: object) -> dict:
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


@pytest.mark.slow
def test_a_task_that_always_kills_its_process_ends_the_sweep() -> None:
    with pytest.raises(RuntimeError, match="terminated"):
        run_tasks(tasks(range(2), dies), n_jobs=2)


def test_workers_take_one_thread() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        number, result, seconds = alone(3, lambda data: {"threads": torch.get_num_threads(), "data": data}, "d")
    finally:
        torch.set_num_threads(before)
    assert (number, result) == (3, {"threads": 1, "data": "d"})
    assert seconds >= 0


def test_the_hash_changes_with_any_setting_and_not_with_their_order() -> None:
    assert settings_hash({"a": 1, "b": [1, 2]}) == settings_hash({"b": [1, 2], "a": 1})
    assert len({settings_hash({"a": 1}), settings_hash({"a": 2}), settings_hash({"b": 1}), settings_hash({})}) == 4


def test_fingerprints_change_with_every_part_of_the_views() -> None:
    x, y = np.arange(6.0).reshape(3, 2), np.ones((3, 1))
    variants = [
        Views([x, y]),
        Views([x, y + 1]),
        Views({"A": x, "C": y}),
        Views([x, y], groups=[0, 0, 1]),
        Views([x, y], groups=["a", "a", "b"]),
        Views([x.astype(np.float32), y]),
        Views([x[::-1], y]),
    ]
    assert len({joint_fingerprint(views) for views in variants}) == len(variants)
    assert joint_fingerprint(variants[0]) == joint_fingerprint(Views([x.copy(), y.copy()]))
    labels = np.array(["a", "bb", "c"], dtype=object)
    assert joint_fingerprint(Views([x, y], groups=labels)) != joint_fingerprint(Views([x, y], groups=labels[::-1]))


class Stream:
    def __init__(self, is_terminal: bool) -> None:
        self.is_terminal, self.text = is_terminal, ""

    def isatty(self) -> bool:
        return self.is_terminal

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def test_progress_is_lines_in_a_pipe_and_a_bar_on_a_terminal() -> None:
    pipe, terminal = Stream(False), Stream(True)
    for stream in (pipe, terminal):
        show = task_progress(stream)
        for n_tasks in (2, 1):
            for n_done in range(1, n_tasks + 1):
                show(TaskEvent(f"fold {n_done}", n_done, n_tasks))
    assert [line.split(" (")[0] for line in pipe.text.splitlines()] == ["1/2 fold 1", "2/2 fold 2", "1/1 fold 1"]
    assert "2/2" in terminal.text
    assert "1/1" in terminal.text
    assert "\r" in terminal.text
