"""Parts: done once, found again, never half there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from viewsplice.experiments.parts import (
    Done,
    Part,
    read_arrays,
    read_values,
    run_parts,
    seconds_of,
    write_values,
)


def writes(name: str, calls: list[str]) -> Callable[[Path, Done], None]:
    def work(folder: Path, done: Done) -> None:
        calls.append(name)
        write_values(folder, {"name": name, "before": sorted(done)})

    return work


def part(name: str, calls: list[str], **settings: object) -> Part:
    return Part(name, settings, writes(name, calls))


def test_parts_run_in_order_and_see_what_was_done_before(tmp_path: Path) -> None:
    calls: list[str] = []
    done = run_parts([part("one", calls), part("two", calls)], tmp_path, lambda _: None)
    assert calls == ["one", "two"]
    assert read_values(done["two"])["before"] == ["one"]
    assert seconds_of(done["one"]) >= 0


def test_finished_parts_are_not_done_again_but_changed_ones_are(tmp_path: Path) -> None:
    calls: list[str] = []
    run_parts([part("one", calls, n=1), part("two", calls, n=1)], tmp_path, lambda _: None)
    run_parts([part("one", calls, n=1), part("two", calls, n=2)], tmp_path, lambda _: None)
    assert calls == ["one", "two", "two"]


def test_an_interruption_keeps_finished_parts_and_leaves_no_trace_of_the_open_one(tmp_path: Path) -> None:
    calls: list[str] = []

    def breaks(folder: Path, _: Done) -> None:
        (folder / "half.json").write_text("{")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_parts([part("one", calls), Part("two", {}, breaks)], tmp_path, lambda _: None)
    assert [path.name.split("-")[0] for path in tmp_path.iterdir()] == ["one"]
    done = run_parts([part("one", calls), part("two", calls)], tmp_path, lambda _: None)
    assert calls == ["one", "two"]
    assert set(done) == {"one", "two"}


def test_a_part_that_another_process_finished_first_is_kept(tmp_path: Path) -> None:
    one = Part("one", {}, lambda folder, _: None)

    def slow(folder: Path, _: Done) -> None:
        write_values(folder, {"by": "this"})
        other = tmp_path / one.folder
        other.mkdir()
        write_values(other, {"by": "the other"})

    done = run_parts([Part("one", {}, slow)], tmp_path, lambda _: None)
    assert read_values(done["one"]) == {"by": "the other"}
    assert len(list(tmp_path.iterdir())) == 1


def test_a_heavy_file_that_was_not_kept_is_made_again_only_for_who_needs_it(tmp_path: Path) -> None:
    calls: list[str] = []

    def fit(folder: Path, _: Done) -> None:
        calls.append("fit")
        (folder / "model").write_text("large")
        write_values(folder, {"call": len(calls)})

    def judge(folder: Path, done: Done) -> None:
        calls.append("judge")
        write_values(folder, {"model": (done.whole("fit") / "model").read_text()})

    def parts(n_judges: int) -> list[Part]:
        judges = [Part(f"judge {i}", {}, judge) for i in range(n_judges)]
        return [Part("fit", {}, fit, heavy=("model",)), *judges]

    said: list[str] = []
    done = run_parts(parts(1), tmp_path, said.append)
    (done["fit"] / "model").unlink()
    run_parts(parts(1), tmp_path, said.append)
    assert calls == ["fit", "judge"]
    again = run_parts(parts(2), tmp_path, said.append)
    assert calls == ["fit", "judge", "judge", "fit"]
    assert said[-1] == "again: fit, for model"
    assert read_values(again["judge 1"]) == {"model": "large"}
    assert read_values(again["fit"]) == {"call": 1}  # what was found at first stays
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert list(again) == ["fit", "judge 0", "judge 1"]
    assert len(again) == 3


def test_names_must_differ(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one"):
        run_parts([part("one", []), part("one", [])], tmp_path, lambda _: None)


def test_what_is_said_counts_the_parts_and_the_time_left(tmp_path: Path) -> None:
    said: list[str] = []
    calls: list[str] = []
    parts = [Part(name, {}, writes(name, calls), minutes) for name, minutes in (("a", 30.0), ("b", 90.0))]
    run_parts(parts, tmp_path, said.append)
    assert said[0] == "part 1 of 2: a (about 120 min left)"
    assert said[1] == "part 2 of 2: b (less than a minute left)"  # the first one was much faster than thought


def test_values_and_arrays_come_back(tmp_path: Path) -> None:
    arrays = {"A->B/made": np.arange(3.0), "plain": np.ones((2, 2), dtype=np.int64)}
    write_values(tmp_path, {"a": np.float32(0.5), "nested": {"b": [1, None]}}, arrays)
    assert read_values(tmp_path) == {"a": 0.5, "nested": {"b": [1, None]}}
    found = read_arrays(tmp_path)
    assert set(found) == set(arrays)
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)


def test_settings_are_kept_beside_the_content(tmp_path: Path) -> None:
    done = run_parts([part("one", [], n=3)], tmp_path, lambda _: None)
    assert json.loads((done["one"] / "time.json").read_text())["settings"] == {"n": 3}
