"""Parts: done once, found again, never half there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from viewsplice.experiments.parts import (
    Done,
    Part,
    processor_seconds_of,
    read_arrays,
    read_values,
    run_parts,
    seconds_of,
    write_values,
)
from viewsplice.experiments.stopwatch import Stopwatch


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
    assert processor_seconds_of(done["one"]) >= 0


def test_those_told_learn_of_every_new_part_and_of_all_that_are_done(tmp_path: Path) -> None:
    calls: list[str] = []
    names = ("one", "two", "three")
    run_parts([part("three", calls)], tmp_path, lambda _: None)
    told: list[list[str]] = []
    run_parts([part(name, calls) for name in names], tmp_path, lambda _: None, lambda done: told.append(list(done)))
    assert told == [["one", "three"], ["one", "two", "three"]]
    run_parts([part(name, calls) for name in names], tmp_path, lambda _: None, lambda done: told.append(list(done)))
    assert len(told) == 2


def test_the_time_of_an_interrupted_part_is_that_of_all_its_runs(tmp_path: Path) -> None:
    n_runs = 0

    def fit(folder: Path, _: Done) -> None:
        nonlocal n_runs
        n_runs += 1
        Stopwatch(folder.with_name(fitted.checkpoint)).note()
        if n_runs == 1:
            raise KeyboardInterrupt

    fitted = Part("fit", {}, fit)
    with pytest.raises(KeyboardInterrupt):
        run_parts([fitted], tmp_path, lambda _: None)
    spent = tmp_path / fitted.checkpoint / "spent.json"
    assert set(json.loads(spent.read_text())) == {"seconds", "processor_seconds"}
    spent.write_text(json.dumps({"seconds": 500, "processor_seconds": 400}))
    done = run_parts([fitted], tmp_path, lambda _: None)
    assert seconds_of(done["fit"]) == pytest.approx(500, abs=1)
    assert processor_seconds_of(done["fit"]) == pytest.approx(400, abs=1)
    assert [path.name for path in tmp_path.iterdir()] == [fitted.folder]  # nothing is left to be gone on from


def test_parts_that_know_the_time_on_the_wall_alone_are_taken_at_that(tmp_path: Path) -> None:
    (tmp_path / "time.json").write_text(json.dumps({"seconds": 7.5}))
    assert processor_seconds_of(tmp_path) == 7.5
    (tmp_path / "time.json").write_text(json.dumps({"seconds": 7.5, "processor_seconds": 3.5}))
    assert (seconds_of(tmp_path), processor_seconds_of(tmp_path)) == (7.5, 3.5)


def test_seconds_of_the_processor_do_not_run_while_nothing_is_done(tmp_path: Path) -> None:
    watch = Stopwatch(tmp_path)
    time.sleep(0.3)
    spent = watch.spent()
    assert spent["seconds"] >= 0.3
    assert spent["processor_seconds"] < 0.2


def test_notes_of_time_are_rare_and_never_in_the_way(tmp_path: Path) -> None:
    watch = Stopwatch(tmp_path / "kept")
    watch.note()
    (tmp_path / "kept" / "spent.json").unlink()
    watch.note()
    assert not (tmp_path / "kept" / "spent.json").exists()  # a moment ago it was there
    (tmp_path / "file").write_text("")
    Stopwatch(tmp_path / "file").note()  # there cannot be such a folder


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
        folder.with_name(fitted.checkpoint).mkdir(exist_ok=True)
        (folder / "model").write_text("large")
        write_values(folder, {"call": len(calls)})

    def judge(folder: Path, done: Done) -> None:
        calls.append("judge")
        write_values(folder, {"model": (done.whole("fit") / "model").read_text()})

    def parts(n_judges: int) -> list[Part]:
        judges = [Part(f"judge {i}", {}, judge) for i in range(n_judges)]
        return [fitted, *judges]

    fitted = Part("fit", {}, fit, heavy=("model",))
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
