"""Linear baselines on recordings: both run twice, told beside SPLICE, also when some of it has not been run."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from viewsplice import Views
from viewsplice.datasets import MultiViewData, linear_gaussian
from viewsplice.experiments.contest import contest_rounds
from viewsplice.experiments.fits import Options
from viewsplice.experiments.neural_rivals import recording_contest, rival_summary
from viewsplice.experiments.parts import Done, Part, run_parts
from viewsplice.experiments.results import Result

METHODS = ["rrr-printed", "rrr-tuned", "cca-printed", "cca-tuned"]


def load(seed: int) -> MultiViewData:
    """Return trials of ten rows each, split by trial."""
    data = linear_gaussian(600, noise=0.2, random_state=seed)
    trial = np.arange(600) // 10
    split = {"train": np.arange(400), "validation": np.arange(400, 500), "test": np.arange(500, 600)}
    return replace(data, views=Views(data.views, groups=trial), groups=trial, split=split)


def busy(folder: Path, done: Done) -> None:
    """Take the processor for a moment, as a fit of SPLICE does."""
    started = time.process_time()
    while time.process_time() < started + 0.05:
        pass


def test_linear_baselines_are_told_by_recording_and_as_far_as_they_have_run(tmp_path: Path) -> None:
    given = recording_contest("toy", Options((0, 1), quick=True), load, lambda seed: {"seed": seed}, 19)
    fits = [Part(given.splice(seed), {"seed": seed}, busy) for seed in given.seeds]
    parts = [*fits, *(part for one in contest_rounds(given) for part in one)]
    done = run_parts(parts, tmp_path, lambda _: None)
    metrics = [f"prediction_r2 toy {arrow}" for arrow in ("A->B", "B->A")]
    own = [Result("neural", "splice", metric, 0.1, seed, 100, "x") for metric in metrics for seed in (0, 1)]
    summary = rival_summary({"toy": given}, done, own)
    assert [result.method for result in summary.results[::4]] == METHODS
    assert {result.metric for result in summary.results} == set(metrics)
    # Half of the signal of each view is shared, and linear; the rest of the variance is private, or noise.
    values = [result.value for result in summary.results]
    assert all(0.3 < value < 0.6 for value in values), values
    linear, compared = summary.tables
    assert [row[1:3] for row in linear.rows] == [[arrow, method] for arrow in ("A->B", "B->A") for method in METHODS]
    assert linear.rows[0][-2:] == ["2, 2", "0, 0"]
    search = json.loads((done["toy: rrr: search"] / "values.json").read_text())
    ridge = str(search["chosen"]["settings"]["ridge"]).removesuffix(".0")
    assert linear.rows[1][-1] == f"{ridge}, {ridge}"
    assert [row[1] for row in compared.rows] == METHODS * 2
    assert "better than SPLICE" in compared.rows[0][-1]

    some = Done(tmp_path, lambda _: None)
    for part in parts[:4]:  # RRR as printed and the search for its ridge, with the first seed
        some.add(part)
    part_way = rival_summary({"toy": given}, some, own)
    assert part_way.results == [r for r in summary.results if (r.method, r.seed) == ("rrr-printed", 0)]
    assert [row[2] for row in part_way.tables[0].rows] == ["rrr-printed"] * 2
    nothing = rival_summary({"toy": given}, Done(tmp_path, lambda _: None), own)
    assert not nothing.results
    assert not nothing.tables[0].rows
