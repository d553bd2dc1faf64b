"""Tests of the writers of a run folder."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewsplice.io import remove_leftovers, write_atomic, write_csv, write_json
from viewsplice.io.write import atomic_file, held


def test_a_file_is_replaced(tmp_path: Path) -> None:
    write_atomic(tmp_path / "x", b"old content")
    write_atomic(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["x"]


def test_content_is_on_disk_before_it_replaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (calls.append("sync"), sync(file)))
    monkeypatch.setattr(os, "replace", lambda *paths: (calls.append("replace"), replace(*paths)))
    write_atomic(tmp_path / "x", b"new")
    assert calls == ["sync", "replace"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failure_keeps_the_previous_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    def fail(*_: Any) -> None:
        raise error

    write_atomic(tmp_path / "x", b"old")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        write_atomic(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


def test_a_failure_inside_the_block(tmp_path: Path) -> None:
    def write_half() -> None:
        with atomic_file(tmp_path / "x") as file:
            file.write(b"half")
            raise ValueError("bad row")

    with pytest.raises(ValueError, match="bad row"):
        write_half()
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write_atomic(tmp_path / "x", b"new")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_json(tmp_path: Path) -> None:
    content = {
        "nan": float("nan"),
        "nested": [(np.inf, 1.5), {"x": np.float32(-np.inf)}],
        "array": np.array([[1.0, np.nan]]),
        "numbers": [np.int64(3), True, None, np.bool_(False)],
        "path": Path("data/ü.npy"),
        2: "two",
    }
    write_json(tmp_path / "x.json", content)
    text = (tmp_path / "x.json").read_text(encoding="utf-8")
    assert text.startswith('{\n  "nan": null,\n')
    assert text.endswith("}\n")
    assert "data/ü.npy" in text
    assert json.loads(text) == {
        "nan": None,
        "nested": [[None, 1.5], {"x": None}],
        "array": [[1.0, None]],
        "numbers": [3, True, None, False],
        "path": "data/ü.npy",
        "2": "two",
    }


def test_json_of_something_else_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_json(tmp_path / "x.json", {"x": object()})
    assert os.listdir(tmp_path) == []


def test_csv(tmp_path: Path) -> None:
    rows = [{"stage": "scout", "epoch": 0, "rec/A": 0.1}, {"stage": "a,b", "pred/B->A": np.float64(2.5), "rec/A": None}]
    write_csv(tmp_path / "x.csv", rows)
    expected = b'stage,epoch,rec/A,pred/B->A\nscout,0,0.1,\n"a,b",,,2.5\n'
    assert (tmp_path / "x.csv").read_bytes() == expected


def test_csv_without_rows(tmp_path: Path) -> None:
    write_csv(tmp_path / "x.csv", [])
    assert (tmp_path / "x.csv").read_bytes() == b""


def test_files_of_killed_writers_are_removed_and_no_others(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "model") as file:
        left = Path(file.name)
    left.write_bytes(b"half")  # as if the writer had been killed
    others = [tmp_path / name for name in (".mine.tmp", "a.tmp", ".hidden", "model")]
    for path in others:
        path.write_bytes(b"")
    remove_leftovers(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(others)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_is_told_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match=r"No space left on device: '.*model'") as caught:
        write_atomic(tmp_path / "model", b"new")
    assert caught.value.errno == errno.ENOSPC


def test_where_nothing_can_be_written_the_file_is_named_not_its_temporary(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"'.*nowhere/model'"):
        write_atomic(tmp_path / "nowhere" / "model", b"new")


@pytest.mark.skipif(os.name == "nt", reason="locks of folders")
def test_a_folder_is_held_by_one_process_and_freed_when_that_is_killed(tmp_path: Path) -> None:
    code = f"from viewsplice.io import held\nwith held({str(tmp_path)!r}):\n print(flush=True)\n input()"
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout is not None
    other.stdout.readline()
    with pytest.raises(ValueError, match=f"{tmp_path} is in use: another viewsplice is writing there"), held(tmp_path):
        pass
    other.kill()
    other.communicate()
    with held(tmp_path):
        assert os.listdir(tmp_path) == []


def test_a_file_system_without_locks_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fail)
    with held(tmp_path), held(tmp_path):
        pass
