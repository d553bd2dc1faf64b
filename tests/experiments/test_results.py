"""Rows beside the paper's figures, and tables for people."""

from __future__ import annotations

import pytest

from viewsplice.experiments.results import PAPER, Result, Table, missing_rows, p_values, paper_table, spread


def row(metric: str, value: float, seed: int = 0, method: str = "splice", experiment: str = "rotated-mnist") -> Result:
    return Result(experiment, method, metric, value, seed, 10_000, "abc")


def test_a_row_has_the_fields_that_scripts_rely_on() -> None:
    assert row("angle_variance", 98.7).to_dict() == {
        "experiment": "rotated-mnist",
        "method": "splice",
        "metric": "angle_variance",
        "value": 98.7,
        "seed": 0,
        "paper": 97.12,
        "rows": 10_000,
        "settings_hash": "abc",
    }


@pytest.mark.parametrize(
    ("experiment", "method", "metric", "paper"),
    [
        ("rotated-mnist", "splice", "digit_accuracy", 90.8),
        ("rotated-mnist", "splice", "angle_variance_lambda_0.1x", 98.28),
        ("rotated-mnist", "splice", "angle_variance_conv", None),
        ("rotated-mnist", "splice-step1", "angle_variance", 94.83),
        ("sprites", "splice", "id_sd_B", 98.44),
        ("sprites", "splice-step1", "id_variance_A", 99.79),
        ("lgn-v1", "splice", "r2_private_B", 0.99),
        ("lgn-v1", "splice-step1", "r2_x_AB", None),
    ],
)
def test_the_papers_figures(experiment: str, method: str, metric: str, paper: float | None) -> None:
    assert row(metric, 1.0, method=method, experiment=experiment).paper == paper


def test_missing_rows_are_named() -> None:
    some = [row(metric, 1.0) for metric in PAPER["rotated-mnist", "splice"] if metric != "digit_accuracy"]
    assert missing_rows("rotated-mnist", some) == ["splice digit_accuracy", "splice-step1 angle_variance"]
    assert missing_rows("neural", []) == []


def test_the_table_has_means_over_seeds_beside_the_paper() -> None:
    rows = [row("angle_variance", value, seed).to_dict() for seed, value in enumerate((98.0, 99.0))]
    table = paper_table("rotated-mnist", rows)
    assert table.rows == [["splice", "angle_variance", 97.12, "98.50 ± 0.71", "0, 1"]]
    assert "| splice | angle_variance | 97.12 | 98.50 ± 0.71 | 0, 1 |" in table.markdown()


def test_spread_of_one_value_has_none() -> None:
    assert spread([0.5]) == "0.5000"
    assert spread([1.0, 3.0], 1) == "2.0 ± 1.4"


def test_spread_of_infinities_that_json_has_as_null() -> None:
    """The one loop of a ring without a second lasts infinitely many times as long."""
    assert spread([1.0, None, 3.0], 1) == "2.0 ± 1.4 (infinite in 1 of 3)"
    assert spread([1.0, None], 1) == "1.0 (infinite in 1 of 2)"
    assert spread([None, None]) == "infinite"


def test_markup_in_cells_does_not_break_the_table() -> None:
    text = Table("t", ["a", "b"], [["x|y", 0.123456]]).markdown()
    assert text.splitlines()[-1] == r"| x\|y | 0.1235 |"


def test_p_values_agree_with_a_plain_t_test_and_need_seeds() -> None:
    assert "too few" in p_values([1.0, 2.0], [2.0, 3.0])
    # Differences 1, 1.1, 0.9: t = 1 / (0.1 / sqrt(3)) = 17.3 on two degrees of freedom, p = 0.0033.
    assert "p = 0.0033 (paired by seed)" in p_values([1.0, 2.0, 3.0], [2.0, 3.1, 3.9])


@pytest.mark.parametrize(
    ("experiment", "method", "metric", "paper"),
    [
        ("rotated-mnist", "dmvae-printed", "angle_variance", 84.64),
        ("rotated-mnist", "deepcca-tuned", "digit_accuracy", 90.7),
        ("sprites", "lyu-tuned", "id_sd_B", 3.95),
        ("lgn-v1", "dccae-printed", "r2_y_BA", 0.26),
        ("lgn-v1", "dmvae-tuned", "r2_private_B", 0.27),
        ("lgn-v1", "cca-printed", "r2_x_AB", None),
        ("neural", "cca-tuned", "prediction_r2", None),
    ],
)
def test_the_papers_figures_of_baselines(experiment: str, method: str, metric: str, paper: float | None) -> None:
    assert row(metric, 1.0, method=method, experiment=experiment).paper == paper


def test_figures_of_baselines_are_never_missing() -> None:
    some = [
        row(metric, 1.0, method=method)
        for method in ("splice", "splice-step1")
        for metric in PAPER["rotated-mnist", method]
    ]
    assert missing_rows("rotated-mnist", some) == []
