"""Baselines as parts: done once, in time, by the judge of SPLICE; what fails or is missing is told, not hidden."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewsplice import MLPNetworks, TrainConfig, TrainingDivergedError
from viewsplice.baselines import CCA, DMVAE, RRR, AdversaryConfig, DeepCCA, Lyu
from viewsplice.datasets import MultiViewData, two_rings
from viewsplice.experiments.comparison import absent_figures, beside_table, comparison_table, runs_table
from viewsplice.experiments.contest import Contest, contest_results, contest_rounds, entries, with_figures
from viewsplice.experiments.fits import Options, stand_beside
from viewsplice.experiments.parts import Done, Part, read_values, run_parts
from viewsplice.experiments.rivals import Rival

SHORT: dict[str, Any] = {"networks": MLPNetworks((8,)), "training": TrainConfig(epochs=2, batch_size=40)}
QUICK = AdversaryConfig((8,), rows=0, n_steps=1, fresh_steps=2)
SPACES = {"shared": "A->B", "private": "A", "r2": ""}


def judge(model: Any, data: MultiViewData) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the spread of two spaces in place of a score, and what stands beside."""
    test = data.rows("test")
    return stand_beside(model, test, model.transform(test.views).spaces()), {"a": np.zeros(2)}


def figures(values: Mapping[str, Any]) -> dict[str, float]:
    own = {name: values["spread"][space] for name, space in SPACES.items() if space in values["spread"]}
    rebuilt = values["reconstruction_r2"]
    return own | ({"r2": rebuilt["A"]} if rebuilt else {})


def rival(method: Any, **changes: Any) -> Rival:
    is_linear = method in (CCA, RRR)
    settings = {} if is_linear else {**SHORT, **({"adversary": QUICK} if method is Lyu else {}), **changes}
    return Rival(method.__name__.lower(), method(2, **settings), [method(2, **settings)] * (1 if is_linear else 2))


def contest(*rivals: Rival, seeds: tuple[int, ...] = (0,), **changes: Any) -> Contest:
    def load(seed: int) -> MultiViewData:
        return two_rings(n_samples=240, random_state=seed)

    given = Contest(
        experiment="toy",
        rivals=rivals,
        options=Options(seeds, quick=True),
        load=load,
        data_settings=lambda seed: {"data": "rings", "seed": seed},
        judge=judge,
        splice=lambda seed: f"seed {seed}: splice",
        figures=figures,
        spaces=SPACES,
        minutes=1.0,
    )
    return replace(given, **changes)


def splice_part(seed: int, seconds: float = 60.0) -> Part:
    """Return what stands for a fit of SPLICE that took so long."""

    def work(folder: Path, _: Done) -> None:
        del folder

    part = Part(f"seed {seed}: splice", {"seed": seed, "seconds": seconds}, work)
    return part


def parts_of(given: Contest, variants: Any = None) -> list[Part]:
    return [part for one in contest_rounds(given, variants) for part in one]


def run(given: Contest, folder: Path, *, seconds: float = 60.0, said: list[str] | None = None) -> Done:
    before = [splice_part(seed, seconds) for seed in given.options.seeds]
    done = run_parts(before, folder, lambda _: None)
    for path in done.values():
        time = json.loads((path / "time.json").read_text())
        # On the wall a thousand times as long: the machine was busy with other things.
        told = {**time, "seconds": 1000 * seconds, "processor_seconds": seconds}
        (path / "time.json").write_text(json.dumps(told))
    return run_parts([*before, *parts_of(given)], folder, (said if said is not None else []).append)


def test_every_rival_runs_as_printed_and_with_settings_found(tmp_path: Path) -> None:
    given = contest(rival(Lyu), rival(DeepCCA), rival(CCA), seeds=(0, 1))
    done = run(given, tmp_path)
    found = entries(given, done)
    assert list(found) == [f"{name}-{run}" for name in ("lyu", "deepcca", "cca") for run in ("printed", "tuned")]
    results = contest_results(given, done)
    methods = {(result.method, result.metric, result.seed) for result in results}
    assert {("lyu-tuned", metric, seed) for metric in SPACES for seed in (0, 1)} <= methods
    # Codes alone: no private space and no decoder, and a zero would be a lie.
    assert {metric for method, metric, _ in methods if method.startswith(("deepcca", "cca"))} == {"shared"}
    assert len({result.settings_hash for result in results}) == 12
    assert found["cca-printed"][0]["fit"]["ended"] == "closed form"
    assert found["lyu-printed"][0]["fit"]["ended"] == "epochs"
    assert found["lyu-printed"][0]["fit"]["epochs"] == 2
    assert found["lyu-printed"][0]["fit"]["allowed"] == 180
    absent = absent_figures(given, done)
    assert absent["deepcca-tuned", "private"] == "no private space"
    assert absent["cca-printed", "r2"] == "no decoder"
    assert ("lyu-tuned", "r2") not in absent


def test_a_second_run_finds_everything_done(tmp_path: Path) -> None:
    given = contest(rival(DMVAE))
    run(given, tmp_path)
    said: list[str] = []
    run(given, tmp_path, said=said)
    assert said == []


def test_settings_decide_what_is_done_again_and_seconds_do_not(tmp_path: Path) -> None:
    first = {part.name: part.folder for part in parts_of(contest(rival(DMVAE)))}
    other = {part.name: part.folder for part in parts_of(contest(rival(DMVAE, lambda_rec=3.0)))}
    assert first.keys() == other.keys()
    assert not {name for name in first if first[name] == other[name]}
    run(contest(rival(DMVAE)), tmp_path, seconds=60.0)
    said: list[str] = []
    run(contest(rival(DMVAE)), tmp_path, seconds=90.0, said=said)
    assert not [text for text in said if "dmvae" in text]


def test_time_ends_a_fit_and_is_told(tmp_path: Path) -> None:
    slow = {**SHORT, "training": TrainConfig(epochs=500, batch_size=40, patience=0)}
    given = contest(rival(DMVAE, **slow))
    done = run(given, tmp_path, seconds=0.1)
    for method, [values] in entries(given, done).items():
        assert values["fit"]["ended"] == "time", method
        assert 1 <= values["fit"]["epochs"] < 500
    [printed, tuned] = runs_table(given, done).rows
    assert printed[1] == tuned[1] == "time"
    assert printed[4] == "as printed"
    assert "MLPNetworks" in tuned[4]
    assert tuned[4].endswith("best of 2")


def test_tuned_fits_have_the_settings_that_were_found(tmp_path: Path) -> None:
    start = rival(Lyu)
    given = contest(start, options=Options((0, 1), quick=False))
    done = run(given, tmp_path)
    search = read_values(done["lyu: search"])
    assert len(search["trials"]) == 8
    assert {trial["start"] for trial in search["trials"]} == {0, 1}
    best = min(search["trials"], key=lambda trial: trial["objective"])
    assert search["chosen"] == {"start": best["start"], "settings": best["settings"]}
    for seed, values in enumerate(entries(given, done)["lyu-tuned"]):
        parameters = values["fit"]["settings"]["parameters"]
        assert parameters["random_state"] == seed
        for name in ("learning_rate", "weight_decay"):
            if name in best["settings"]:
                assert parameters["training"][name] == best["settings"][name]
        if "adversary" in best["settings"]:
            assert parameters["adversary"]["n_steps"] == best["settings"]["adversary"]["n_steps"]


def test_the_ridge_of_rrr_is_found_as_well(tmp_path: Path) -> None:
    given = contest(rival(RRR))
    done = run(given, tmp_path)
    search = read_values(done["rrr: search"])
    assert [trial["settings"] for trial in search["trials"]] == [{"ridge": 0.0}, {"ridge": "auto"}]
    chosen = min(search["trials"], key=lambda trial: trial["objective"])["settings"]
    [printed], [tuned] = entries(given, done).values()
    assert printed["fit"]["settings"]["parameters"]["ridge"] == 0.0
    assert tuned["fit"]["settings"]["parameters"]["ridge"] == chosen["ridge"]
    assert runs_table(given, done).rows[1][4] in ("ridge 0; best of 2", "ridge auto; best of 2")


def test_all_rivals_run_with_one_seed_after_the_other_and_variants_come_last() -> None:
    given = contest(rival(CCA), rival(DMVAE), seeds=(3, 4))
    parts = parts_of(given, {"dmvae": [given.rivals[1].with_private(2, ", private width 2")]})
    assert [part.name for part in parts] == [
        "seed 3: cca-printed",
        "cca: search",
        "seed 3: cca-tuned",
        "seed 3: dmvae-printed",
        "dmvae: search",
        "seed 3: dmvae-tuned",
        "seed 4: cca-printed",
        "seed 4: cca-tuned",
        "seed 4: dmvae-printed",
        "seed 4: dmvae-tuned",
        "seed 3: dmvae-printed, private width 2",
        "seed 3: dmvae-tuned, private width 2",
    ]
    assert len({part.folder for part in parts}) == len(parts)


def test_three_seeds_suffice() -> None:
    given = contest(rival(CCA), seeds=(0, 1, 2, 3, 4))
    assert list(given.seeds) == [0, 1, 2]
    assert not [part for part in parts_of(given) if "seed 3" in part.name]


def test_figures_follow_the_first_seed_and_know_its_fits_and_those_of_splice() -> None:
    given = contest(rival(CCA), seeds=(0, 1))
    rounds = contest_rounds(given)
    parts = with_figures(given, [splice_part(0)], rounds, lambda folder, done: None)
    assert [part.name for part in parts] == [
        *(part.name for part in rounds[0]),
        "baselines: figures",
        *(part.name for part in rounds[1]),
    ]
    drawn = parts[3]
    other = with_figures(given, [splice_part(0, 1.0)], rounds, lambda folder, done: None)[3]
    assert drawn.folder != other.folder
    assert set(drawn.settings["fits"]) == {"seed 0: splice", *(part.name for part in rounds[0])}


def test_what_has_not_been_run_hides_nothing_of_what_has(tmp_path: Path) -> None:
    given = contest(rival(CCA), rival(DeepCCA), seeds=(0, 1))
    whole = run(given, tmp_path)
    done = Done(tmp_path, lambda _: None)
    before = [splice_part(seed) for seed in given.seeds]
    left_out = {"seed 1: cca-printed", "seed 0: deepcca-tuned", "seed 1: deepcca-tuned", "deepcca: search"}
    for part in [*before, *parts_of(given)]:
        if part.name not in left_out:
            done.add(part)
    assert len(done) == len(whole) - 4
    assert {method: len(fits) for method, fits in entries(given, done).items()} == {
        "cca-printed": 1,
        "cca-tuned": 2,
        "deepcca-printed": 2,
        "deepcca-tuned": 0,
    }
    kept = [one for one in contest_results(given, whole) if one.method != "deepcca-tuned"]
    assert contest_results(given, done) == [one for one in kept if (one.method, one.seed) != ("cca-printed", 1)]
    absent = absent_figures(given, done)
    assert absent["cca-printed", "shared"] == "not run yet with 1 of 2 seeds"
    assert absent["cca-printed", "r2"] == "no decoder with 1 of 2 seeds; not run yet with 1 of 2 seeds"
    assert absent["deepcca-tuned", "shared"] == "not run yet"
    assert ("cca-tuned", "shared") not in absent
    rows = {row[0]: row for row in runs_table(given, done).rows}
    assert (rows["deepcca-tuned"][1], rows["deepcca-tuned"][4]) == ("not run yet", "not run yet")
    assert rows["cca-tuned"][4].endswith("best of 7")
    table = beside_table(entries(given, done), {"x": lambda values: values["spread"].get("A->B")}, "")
    assert {row[0]: row[1] == "not available" for row in table.rows} == {name: name == "deepcca-tuned" for name in rows}
    told = comparison_table("toy", contest_results(given, done), dict.fromkeys(rows, ""), list(SPACES), absent)
    assert "No baseline that has run so far is better than SPLICE" in told.note
    assert "deepcca-tuned" in [row[1] for row in told.rows if row[4] == "not available: not run yet"]


def test_a_fit_that_diverges_is_told_and_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(self: Any, *args: Any, **options: Any) -> None:
        raise TrainingDivergedError("train", 3, "cca")

    monkeypatch.setattr(DeepCCA, "fit", diverge)
    given = contest(rival(DeepCCA), rival(CCA))
    done = run(given, tmp_path)
    assert [values[0]["fit"]["ended"] for values in entries(given, done).values()] == [
        "divergence",
        "divergence",
        "closed form",
        "closed form",
    ]
    assert {result.method for result in contest_results(given, done)} == {"cca-printed", "cca-tuned"}
    assert absent_figures(given, done)["deepcca-tuned", "shared"] == "the fit diverged"
    rows = runs_table(given, done).rows
    assert rows[0][1] == "divergence"
    assert rows[1][4] == "none: every trial diverged"
    table = beside_table(entries(given, done), {"x": lambda values: values["spread"].get("A->B")}, "")
    assert table.rows[0][1] == "not available"
    assert float(table.rows[2][1]) > 0


def test_a_collapsed_space_has_no_figures_and_a_lost_adversary_is_told(tmp_path: Path) -> None:
    def judged(model: Any, data: MultiViewData) -> tuple[dict[str, Any], dict[str, Any]]:
        values, arrays = judge(model, data)
        return {**values, "collapsed": ["A"]}, arrays

    given = contest(rival(Lyu), judge=judged)
    done = run(given, tmp_path)
    assert {result.metric for result in contest_results(given, done)} == {"shared", "r2"}
    assert absent_figures(given, done)["lyu-printed", "private"] == "collapsed"
    folder = done["seed 0: lyu-printed"]
    values = read_values(folder)
    values["fit"]["adversary"] = {"A": {"adversary": 0.03, "fresh": 0.99}, "B": {"adversary": 0.5, "fresh": 0.6}}
    (folder / "values.json").write_text(json.dumps(values))
    remark = runs_table(given, done).rows[0][5]
    assert remark == ("A collapsed with 1 of 1 seeds; the adversary of A lost track: it finds 0.03, a fresh one 0.99")
