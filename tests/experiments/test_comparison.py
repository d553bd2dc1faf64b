"""Baselines beside SPLICE: p-values of Welch, who is better in words, what is not available and why."""

from __future__ import annotations

import pytest
from scipy.stats import ttest_ind

from viewsplice.experiments.comparison import comparison_table
from viewsplice.experiments.results import Result, welch

STEP1, FULL = [90.0, 91.0, 92.0], [95.0, 96.0, 97.0]


def rows(method: str, values: list[float], metric: str = "angle_variance") -> list[Result]:
    return [Result("rotated-mnist", method, metric, value, seed, 100, "x") for seed, value in enumerate(values)]


def table(values: list[float], absent: str = "", splice: list[Result] | None = None) -> list[str]:
    known = [*rows("splice-step1", STEP1), *rows("splice", FULL)] if splice is None else splice
    reasons = {("dmvae-tuned", "angle_variance"): absent} if absent else {}
    results = [*known, *rows("dmvae-tuned", values)]
    found = comparison_table("rotated-mnist", results, {"dmvae-tuned": "time"}, ["angle_variance"], reasons)
    assert len(found.columns) == len(found.rows[0])
    return [*found.rows[0], found.note]


def test_every_figure_stands_beside_the_papers_and_both_columns_of_splice() -> None:
    own = [84.0, 85.0, 86.0]
    cells = table(own)
    assert cells[:5] == ["angle_variance", "dmvae-tuned", "time", 84.64, "85.00 ± 1.00"]
    assert cells[5] == "91.00 ± 1.00"
    assert cells[6] == f"{ttest_ind(own, STEP1, equal_var=False).pvalue:.2g}"
    assert cells[7:9] == ["96.00 ± 1.00", f"{ttest_ind(own, FULL, equal_var=False).pvalue:.2g}"]
    assert cells[9] == "SPLICE is better"
    assert cells[10].endswith("No baseline is better than SPLICE in any of these figures.")


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ([99.0, 99.1, 99.2], "better than SPLICE"),
        ([97.0, 98.9, 95.1], "better than SPLICE, not significant"),
        ([93.9, 94.0, 94.1], "better than SPLICE's Step 1 only"),
        ([90.5, 91.0, 92.5], "better than SPLICE's Step 1 only, not significant"),
        ([99.0], "better than SPLICE, too few seeds to be sure"),
        ([80.0, 81.0], "SPLICE is better, too few seeds to be sure"),
        ([60.0, 95.0, 99.0], "SPLICE is better, not significant"),
        ([90.0, 91.0, 92.0], "SPLICE is better"),
    ],
)
def test_who_is_better_in_words(own: list[float], words: str) -> None:
    cells = table(own)
    assert cells[9] == words
    told = f"B{words.split(',')[0][1:]} in the mean over seeds: dmvae-tuned in angle_variance. The last column"
    assert (told in cells[10]) == words.startswith("better")


def test_those_that_are_better_are_told_by_figure() -> None:
    results = [*rows("splice", FULL), *rows("splice-step1", STEP1)]
    results += [*rows("splice", FULL, "digit_accuracy"), *rows("splice-step1", STEP1, "digit_accuracy")]
    for method in ("lyu-tuned", "dmvae-tuned"):
        results += [*rows(method, [99.0, 99.1, 99.2]), *rows(method, [93.9, 94.0, 94.1], "digit_accuracy")]
    metrics = ["angle_variance", "digit_accuracy"]
    found = comparison_table("rotated-mnist", results, {"lyu-tuned": "", "dmvae-tuned": ""}, metrics, {})
    assert found.note.endswith(
        "Better than SPLICE in the mean over seeds: lyu-tuned, dmvae-tuned in angle_variance. Better than SPLICE's "
        "Step 1 only in the mean over seeds: lyu-tuned, dmvae-tuned in digit_accuracy. The last column says how sure "
        "that is."
    )


def test_equal_means_are_called_so() -> None:
    assert table(FULL, splice=rows("splice", FULL))[7] == "equal"


def test_what_is_missing_says_why() -> None:
    cells = table([], "no private space")
    assert cells[4] == "not available: no private space"
    assert cells[5:10] == [""] * 5
    assert table([84.0, 85.0], "collapsed with 1 of 3 seeds")[4] == "84.50 ± 0.71 (collapsed with 1 of 3 seeds)"


def test_methods_that_lack_a_figure_for_the_same_reason_share_a_row() -> None:
    reasons = {(method, "angle_variance"): "no private space" for method in ("cca-printed", "cca-tuned")}
    reasons |= {("lyu-tuned", "angle_variance"): "collapsed"}
    ends = dict.fromkeys(["cca-printed", "cca-tuned", "lyu-tuned"], "")
    found = comparison_table("rotated-mnist", rows("splice", FULL), ends, ["angle_variance"], reasons)
    assert [row[1] for row in found.rows] == ["cca-printed, cca-tuned", "lyu-tuned"]


def test_a_column_that_splice_does_not_have_is_left_out() -> None:
    cells = table([99.0, 99.1, 99.2], splice=rows("splice", FULL))
    assert len(cells) == 9
    assert cells[7] == "better than SPLICE"


def test_welch_needs_three_seeds_and_copes_without_spread() -> None:
    assert welch([1.0, 2.0], [1.0, 2.0, 3.0]) is None
    assert welch([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]) == 0
    assert welch([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]) == 1
    # Means 2 and 5.625, variances 1 and 1.8958: t = 3.625 / sqrt(0.8073) = 4.034 on 5.0 degrees of freedom.
    assert welch([1.0, 2.0, 3.0], [4.0, 5.0, 6.5, 7.0]) == pytest.approx(0.0100, abs=1e-4)
