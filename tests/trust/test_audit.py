"""The audit as a whole: which rows it uses, what it asks, and that its words say no more than its numbers."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import viewsplice
from benchmarks.leaks import DIRECTIONS, latents, p_of_leak
from benchmarks.significance import independent_views
from viewsplice import SPLICE, Blocks, MLPNetworks, TrainConfig
from viewsplice._types import Latents
from viewsplice.ordering import row_order
from viewsplice.sweeps import Sweep
from viewsplice.trust import Agreement, Assumption, AuditSettings, Dependence, Sharing, Telling, Told, audit, networks
from viewsplice.trust.assumptions import check_coverage, check_independence, holm
from viewsplice.trust.auditing import _dependences
from viewsplice.trust.covariates import as_columns, covariate_columns
from viewsplice.trust.readings import LEAKS, questions
from viewsplice.trust.rows import choose_rows
from viewsplice.trust.verdict import found_leaks, p_words, write_findings
from viewsplice.views import Views

QUICK = AuditSettings(n_permutations=39, n_null=1, n_refits=1, most_rows=200)


def estimator(**params) -> SPLICE:
    adam = {"learning_rate": 5e-3, "beta1": 0.9, "weight_decay": 0.01}  # twelve epochs suffice with these
    training = TrainConfig(epochs=12, batch_size=40, restart_passes=4, **adam)
    return SPLICE(1, 1, networks=MLPNetworks((24,)), training=training, geometry=None, random_state=0, **params)


def sharing_views(n_rows: int, seed: int = 0) -> tuple[Views, np.ndarray]:
    """Return two views with one shared factor, which is also returned, and one private factor each."""
    rng, mixing = np.random.default_rng(seed), np.random.default_rng(99)
    shared = rng.uniform(-1, 1, size=(n_rows, 1))
    arrays = [np.hstack([shared, rng.uniform(-1, 1, size=(n_rows, 1))]) @ mixing.normal(size=(2, w)) for w in (6, 5)]
    return Views(arrays), shared[:, 0]


def shorten(patch: pytest.MonkeyPatch) -> None:
    """Train probes of networks for a few steps only."""
    patch.setattr(networks, "_N_ROUNDS", 4)
    patch.setattr(networks, "_LEAST_STEPS_PER_ROUND", 6)


@pytest.fixture(autouse=True)
def _short_networks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("slow") is None:
        shorten(monkeypatch)


@pytest.fixture(scope="module")
def model() -> SPLICE:
    return estimator().fit(sharing_views(300)[0], validation=0.2)


@pytest.fixture(scope="module")
def audited(model: SPLICE) -> viewsplice.trust.Audit:
    views, shared = sharing_views(300, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        covariates = {"s": shared, "sign": np.where(shared > 0, "up", "down")}
        return viewsplice.audit(model, views, covariates=covariates, random_state=0, settings=QUICK)


def test_every_direction_is_asked_about(audited) -> None:
    asked = {(row.source, row.target): row.kind for row in audited.leaks if row.is_leak}
    assert asked == {
        ("A", "B->A"): "shared into private",
        ("B", "A->B"): "shared into private",
        ("A", "B"): "private into private",
        ("B", "A"): "private into private",
        ("A->B", "A"): "own private into shared",
        ("B->A", "B"): "own private into shared",
        ("A->B", "B"): "private into shared",
        ("B->A", "A"): "private into shared",
    }
    others = {(row.source, row.target) for row in audited.leaks if not row.is_leak}
    assert others == {(z, y) for z in ("A", "B", "A->B", "B->A") for y in ("view A", "view B", "s", "sign")}


def test_rows_read_as_dicts_and_as_objects(audited) -> None:
    row = audited.leaks[0]
    columns = {"source", "target", "kind", "probe", "r2", "null_mean", "null_q95", "p", "smallest_p"}
    assert set(row) == columns
    assert row["r2"] == row.r2
    assert dict(row)["p"] == row.p
    with pytest.raises(KeyError, match="no 'leek'; there are source"):
        row["leek"]


def test_what_is_shared_is_found(audited) -> None:
    assert audited.p_shared == audited.shared.p == 1 / 40
    told = {(row.source, row.target): row for row in audited.leaks}
    for space in ("A->B", "B->A"):
        assert told[space, "s"].r2 > 0.8
        assert told[space, "s"].p == told[space, "s"].smallest_p == 1 / 320, "40 for each of eight directions of leaks"
        assert told[space, "sign"].r2 > 0.4
    assert told["A", "view A"].r2 > told["A", "view B"].r2 + 0.2


def test_the_result_is_json_and_a_table(audited) -> None:
    content = json.loads(audited.to_json())
    assert set(content) == {
        "p_shared",
        "leaks",
        "dependence",
        "stability",
        "assumptions",
        "findings",
        "verdict",
        "shared",
    }
    assert content["leaks"][0]["source"] == "A"
    assert content["shared"]["arrows"][0]["arrow"] == "A->B"
    lines = audited.table().splitlines()
    assert lines[0].split() == ["space", "about", "kind", "probe", "R²", "null", "null", "95", "%", "p"]
    assert len(lines) == 1 + len(audited.leaks)


def test_refits_and_anchors_are_compared(audited) -> None:
    compared = {(row.space, row.compared) for row in audited.stability}
    spaces = ("A", "B", "A->B", "B->A")
    assert compared == {
        (space, words) for space in spaces for words in ("model, refit 1", "anchor 1, anchor 2", "anchor 1, anchor 3")
    }
    assert all(0 <= row.procrustes <= 1 for row in audited.stability)


def test_assumptions_are_sentences(audited) -> None:
    found = {row.name: row for row in audited.assumptions}
    assert list(found) == ["independence", "coverage", "order of rows", "held-out rows"]
    assert found["held-out rows"].holds
    assert "All 300 rows are taken to be new" in found["held-out rows"].sentence
    assert {(row.first, row.second) for row in audited.dependence} == {
        ("A", "B"),
        ("A", "A->B"),
        ("A", "B->A"),
        ("B", "A->B"),
        ("B", "B->A"),
    }
    assert audited.verdict.endswith(found["held-out rows"].sentence)


def rows_of(model: SPLICE, views: Views, most: int = 1000):
    return choose_rows(model, views, model.transform(views), most=most, generator=np.random.default_rng(0))


def test_of_the_rows_of_the_fit_validation_rows_judge(model) -> None:
    rows = rows_of(model, sharing_views(300)[0])
    np.testing.assert_array_equal(rows.judge, model.split_["validation"])
    np.testing.assert_array_equal(rows.held_out, model.split_["validation"])
    np.testing.assert_array_equal(rows.learn, model.split_["train"])
    assert "60 of its validation rows judge" in rows.note
    assert len(rows_of(model, sharing_views(300)[0], most=40).learn) == 40


def test_new_rows_are_cut_in_two(model) -> None:
    rows = rows_of(model, sharing_views(300, seed=1)[0])
    assert len(rows.held_out) == 300
    assert np.array_equal(np.sort(np.concatenate([rows.learn, rows.judge])), np.arange(300))


def test_validation_rows_between_training_rows_of_a_series_are_not_held_out() -> None:
    views = independent_views(0, 400, 0.95)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        random = estimator().fit(views)
    rows = rows_of(random, views)
    assert len(rows.held_out) == 0
    assert "lie between its training rows" in rows.note
    blocked = estimator().fit(views, validation=Blocks(0.3, n_blocks=1))
    rows = rows_of(blocked, views)
    assert len(rows.held_out) > 50
    train = blocked.split_["train"]
    assert np.abs(rows.held_out[:, None] - train).min() > rows.order.gap
    found = audit(random, views, random_state=0, settings=QUICK)
    assert found.shared.scheme == "circular shifts of rows"
    assert not {row.name: row.holds for row in found.assumptions}["held-out rows"]
    assert found.p_shared > 0.05


def test_groups_divided_by_the_fit_are_not_held_out(model) -> None:
    views, _ = sharing_views(300)
    grouped = Views(views, groups=np.repeat(np.arange(30), 10))
    assert len(rows_of(model, grouped).held_out) == 0
    fitted = estimator().fit(grouped, validation=0.3)
    rows = rows_of(fitted, grouped)
    np.testing.assert_array_equal(rows.held_out, fitted.split_["validation"])
    found = audit(fitted, grouped, random_state=0, settings=QUICK)
    assert found.shared.scheme == "permutations of groups"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"X": sharing_views(30)[0]}, ValueError, "got 30 rows; expected at least 40 rows"),
        ({"X": sharing_views(60)[0], "groups": np.repeat([0, 1], 30)}, ValueError, "got 2 groups; expected"),
        ({"X": sharing_views(60)[0]["A"]}, ValueError, "view 'B' is missing"),
        ({"X": [sharing_views(60)[0]["A"], np.ones((60, 5))]}, ValueError, "view 'B' is constant: all 60 rows"),
        ({"X": sharing_views(60)[0], "covariates": {"A": np.arange(60)}}, ValueError, "has the name of a space"),
        ({"X": sharing_views(60)[0], "covariates": {"c": np.arange(59)}}, ValueError, r"shape \(59,\); expected one"),
        ({"X": sharing_views(60)[0], "covariates": {"c": np.full(60, np.nan)}}, ValueError, "has NaN or infinite"),
        (
            {"X": sharing_views(60)[0], "covariates": {"c": np.full((60, 2), "x")}},
            TypeError,
            "expected real numbers, or labels",
        ),
    ],
)
def test_bad_input(model, arguments, error, message) -> None:
    with pytest.raises(error, match=message):
        audit(model, **arguments, settings=QUICK)


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="n_permutations is 5; expected an integer of at least 19"):
        AuditSettings(n_permutations=5)


def test_labels_become_columns() -> None:
    assert as_columns("c", ["b", "a", "b"], 3).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert as_columns("c", np.array([True, False]), 2).tolist() == [[0, 1], [1, 0]]
    assert as_columns("c", np.array([True, "a"], dtype=object), 2).tolist() == [[1, 0], [0, 1]]
    assert as_columns("c", [1, 2, 3], 3).tolist() == [[1], [2], [3]]


def test_numbers_as_objects_are_numbers() -> None:
    numbers = np.array([1, 2.5, Fraction(1, 2)], dtype=object)
    assert as_columns("c", numbers, 3).tolist() == [[1], [2.5], [0.5]]
    assert as_columns("c", np.stack([numbers, numbers], axis=1), 3).tolist() == [[1, 1], [2.5, 2.5], [0.5, 0.5]]


class NotAvailable:
    """What tables have for a missing value: compared with anything it is neither true nor false."""

    __hash__ = None

    def __ne__(self, other: object) -> NotAvailable:
        return self

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


def test_identifiers_take_no_more_room_than_labels() -> None:
    columns = as_columns("c", np.array([f"row {row}" for row in range(50_000)] + ["many"] * 9), 50_009)
    assert columns.shape == (50_009, 256)
    assert columns.sum() == 255 + 9
    assert columns[-9:].any(axis=1).all()


@pytest.mark.parametrize("values", [np.zeros((20, 2)), [np.zeros(20)]])
def test_covariates_have_names(values) -> None:
    with pytest.raises(TypeError, match="expected values by name"):
        covariate_columns(values, 20)
    assert covariate_columns(None, 20) == {}


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (np.ma.masked_array([1.0, 2.0], mask=[True, False]), TypeError, "is a masked array"),
        (np.array([1j, 2]), TypeError, "dtype complex128 and 1 axes; expected real numbers, or labels"),
        (np.array(["2020", "2021"], dtype="datetime64[Y]"), TypeError, "expected real numbers, or labels"),
        (np.array([None, "a"], dtype=object), ValueError, "lacks 1 labels"),
        (np.array([float("nan"), "a"], dtype=object), ValueError, "lacks 1 labels"),
        (np.array([float("nan"), 1], dtype=object), ValueError, "has NaN or infinite entries"),
        (np.zeros((2, 0)), ValueError, r"shape \(2, 0\)"),
        (np.array([NotAvailable(), "a"], dtype=object), ValueError, "covariate 'c' lacks 1 labels"),
        ([[1.0, 2.0], [3.0]], ValueError, "covariate 'c' is ragged"),
        (np.array([np.longdouble("1e400"), 1]), ValueError, "covariate 'c' has NaN or infinite entries"),
    ],
)
def test_covariates_that_are_neither_numbers_nor_labels(values, error, message) -> None:
    with pytest.raises(error, match=message):
        as_columns("c", values, 2)


def test_names_of_covariates_are_texts() -> None:
    with pytest.raises(TypeError, match="covariate name 3 is a int; expected a string"):
        as_columns(3, [1.0], 1)


def test_dependence_between_many_spaces_can_be_significant() -> None:
    """With as many exchanges as for two views, Holm's correction for 21 pairs would leave no p-value below 0.05."""
    rng = np.random.default_rng(0)
    names = ["A", "B", "C", "A->B", "A->C", "B->A", "B->C", "C->A", "C->B"]
    z = rng.normal(size=(60, 1))
    views = Views([rng.normal(size=(60, 2)) for _ in range(2)])
    found = _dependences({name: z + 0.3 * rng.normal(size=(60, 1)) for name in names}, row_order(views), seed=0)
    assert len(found) == 21
    assert not check_independence(found).holds


def test_a_failed_refit_is_said_and_does_not_end_the_audit(model, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_, **__):
        raise ValueError("no luck")

    views, _ = sharing_views(300, seed=1)
    monkeypatch.setattr(SPLICE, "fit", fail)
    found = audit(model, views, random_state=0, settings=QUICK)
    assert "A refit failed: no luck." in found.verdict
    assert not [row for row in found.stability if "refit" in row.compared]


def test_the_same_seed_gives_the_same_audit_and_tasks_are_kept(model, audited, tmp_path) -> None:
    views, shared = sharing_views(300, seed=1)
    covariates = {"s": shared, "sign": np.where(shared > 0, "up", "down")}
    seen = []
    for n_done in (len(audited.leaks) + 1, 0):
        sweep = Sweep(folder=tmp_path, on_done=seen.append)
        again = audit(model, views["A"], views["B"], covariates=covariates, random_state=0, settings=QUICK, sweep=sweep)
        assert again.to_json() == audited.to_json()
        assert len(seen) == n_done
        seen.clear()


def test_questions_leave_out_spaces_without_dimensions() -> None:
    spaces = latents(10, 0) | {"B": np.zeros((10, 0))}
    views = Views([np.zeros((10, 2)), np.zeros((10, 2))])
    asked = questions(Latents({"A": spaces["A"], "B": spaces["B"]}, {}).spaces() | spaces, views, {})
    assert not [one for one in asked if "B" in one[:2]]
    assert ("A", "B->A", "shared into private") in asked


def telling(p: float, n_effective: float = 100.0) -> Sharing:
    arrows = (Telling("A->B", 0.3, 0.5, 0.0, 0.1, p),)
    return Sharing(p, 0.001, "permutations of rows", 999, 100, n_effective, arrows)


def told(leak: float, p: float, source: str = "A", kind: str = LEAKS[0]) -> Told:
    return Told(source, "B->A", kind, "network", leak, 0.0, 0.01, p)


def write_verdict(*found: Any) -> str:
    return " ".join(finding.sentence for finding in write_findings(*found))


def test_findings_speak_for_or_against() -> None:
    unstable = [Agreement("A", "model, refit 1", 0.5, 0.7)]
    kinds = {
        found.sentence.split()[0]: found.is_fine
        for found in write_findings(telling(0.002), [], unstable, [Assumption("x", None, "Unknown.")], ["bad luck"])
    }
    assert kinds == {"No": False, "Held-out": None, "Refits": False, "A": False, "Unknown.": None}


def test_verdicts_by_hand() -> None:
    clean = [told(0.002, 0.4), told(-0.1, 1.0, "B")]
    words = write_verdict(telling(0.002), clean, [], [])
    assert words.startswith("No leak found, p < 0.01 for shared information.")
    assert "The largest of 2 directions is 0.2% of variance (z A about s B→A)." in words
    leaky = [told(0.05, 0.001), told(0.004, 0.001, "B"), told(0.9, 0.001, "A", "view")]
    words = write_verdict(telling(0.2), leaky, [], [])
    assert words.startswith("1 leak found, p = 0.2 for shared information.")
    assert "z A tells 5.0% of s B→A (shared into private; network, p < 0.01)." in words
    assert "Traces below 1 % of variance: z B about s B→A." in words
    few = write_findings(telling(0.04, 12.0), [replace(row, smallest_p=0.04) for row in clean], [], [])
    assert few[0].sentence == "No leak could be shown, p = 0.04 for shared information."
    assert few[0].is_fine is False, "what could not be seen does not speak for the fit"
    words = " ".join(found.sentence for found in few)
    assert "equal to about 12 independent ones" in words
    assert "So few independent rows that judge could not have shown a leak." in words
    unreadable = [replace(row, probe="none", p=1.0, smallest_p=1.0) for row in clean]
    assert write_verdict(telling(0.002), unreadable, [], []).startswith("No leak found")
    wild = write_verdict(telling(0.5), [told(26.9, 0.4)], [], [])
    assert "The largest of 1 directions is 100.0% of variance" in wild, "an R² far below 0 by chance is no size"
    stable = [Agreement("A", "model, refit 1", 0.95, 0.99), Agreement("B", "anchor 1, anchor 2", 0.5, 0.7)]
    words = write_verdict(telling(0.001), clean, stable, [Assumption("x", True, "All is well.")])
    assert "Refits with other seeds and rows agree: Procrustes R² 0.95 at the lowest (z A), canonical" in words
    assert "Other anchors do not agree: Procrustes R² 0.50" in words
    assert words.endswith("All is well.")
    nothing = Sharing(1.0, 1.0, "permutations of rows", 0, 100, 100.0, ())
    assert "no shared space" in write_verdict(nothing, [], [], [])
    assert write_verdict(nothing, [], [], []).startswith("No leak could be tested, p = 1 for shared")


def test_one_in_twenty_of_many_directions_is_not_a_leak() -> None:
    rows = [told(0.05, 0.04), *(told(0.0, 0.5) for _ in range(7))]
    assert found_leaks(rows) == ([], [])
    assert p_words(0.0004) == "p < 0.001"
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def test_independence_by_hand() -> None:
    strong, weak = Dependence("A", "B", 0.2, 0.05, 0.005, 100), Dependence("A", "A->B", 0.001, 0.05, 0.6, 100)
    assert check_independence([strong, weak]).holds is False
    assert "z A and z B" in check_independence([strong, weak]).sentence
    assert check_independence([weak]).holds is True
    assert "correlation 0.000 at most" in check_independence([replace(weak, distance_correlation=-0.0002)]).sentence
    assert check_independence([]).holds is None
    blind = check_independence([replace(strong, p=0.04, smallest_p=0.04), replace(weak, smallest_p=0.04)])
    assert blind.holds is None, "what could not be seen does not speak for the fit"
    assert blind.sentence.startswith("Dependence of spaces could not have been shown by so few rows: distance")


def test_few_groups_that_judge_cannot_show_a_leak(model) -> None:
    views, _ = sharing_views(100, seed=1)
    settings = replace(QUICK, n_permutations=999)
    found = audit(model, views, groups=np.repeat(np.arange(10), 10), random_state=0, settings=settings)
    assert found.shared.smallest_p < 0.05 / 8, "all groups together tell whether anything is shared"
    assert found.leaks[0].smallest_p == pytest.approx(1 / 120), "but five judge what probes read"
    assert found.findings[0].sentence.startswith("No leak could be shown")


def test_leaks_in_many_directions_can_be_significant(audited) -> None:
    asked = [row for row in audited.leaks if row.is_leak]
    assert len(asked) * QUICK.n_permutations < 40 * len(asked), "so few would not do"
    assert all(row.smallest_p * len(asked) <= 0.05 for row in asked)


def test_combinations_that_the_data_lack_are_told(model) -> None:
    views, _ = sharing_views(300, seed=1)
    assert check_coverage(model, views, np.array([0, 1])).holds
    # The shared factor of both views is also their private one: no two rows differ in one of them alone.
    rng = np.random.default_rng(3)
    factor, mixing = rng.uniform(-1, 1, size=(300, 1)), np.random.default_rng(99)
    tied = Views([np.hstack([factor, factor]) @ mixing.normal(size=(2, w)) for w in (6, 5)])
    found = check_coverage(model, tied, np.array([int(factor.argmax()), int(factor.argmin())]))
    assert found.holds is False
    assert "do not sample these combinations" in found.sentence


@pytest.mark.slow
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_planted_leak_is_found_in_every_direction(direction) -> None:
    assert p_of_leak(0, 2000, direction, 0.05) < 0.05
    assert p_of_leak(0, 2000, direction, 0.0) > 0.05
