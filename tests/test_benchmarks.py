"""Benchmarks: the reference is the paper's algorithm, and the README tells what was measured."""

import json
from pathlib import Path

import pytest
import torch

from benchmarks.baselines import measure_baselines
from benchmarks.reference import Reference, by_data_loader, by_index, epoch
from benchmarks.rows import Row
from benchmarks.table import BEGIN, END, ablation, accuracy, dimensions, markdown, statistics, update

ROOT = Path(__file__).parents[1]


def test_the_readme_shows_the_committed_results():
    results = json.loads((ROOT / "results" / "bench.json").read_text())
    text = (ROOT / "README.md").read_text()
    assert text.split(BEGIN)[1].split(END)[0].strip() == markdown(results["rows"])
    assert not results["quick"]
    assert [row["name"] for row in results["rows"] if not row["met"]] == []


@pytest.mark.parametrize(
    ("page", "mark", "source", "table"),
    [
        ("README.md", "accuracy", "auto.json", accuracy),
        ("docs/recipe-auto.md", "accuracy", "auto.json", accuracy),
        ("docs/recipe-auto.md", "dimensions", "auto.json", dimensions),
        ("docs/recipe-auto.md", "ablation", "ablation.json", ablation),
    ],
)
def test_pages_show_the_committed_results(page, mark, source, table):
    text = (ROOT / page).read_text().split(f"<!-- {mark}: begin -->")[1].split(f"<!-- {mark}: end -->")[0]
    assert text.strip() == table(json.loads((ROOT / "results" / source).read_text()))


def test_the_page_on_statistics_shows_the_committed_rates():
    rows = json.loads((ROOT / "results" / "bench.json").read_text())["rows"]
    text = (ROOT / "docs" / "statistics.md").read_text()
    shown = text.split("<!-- statistics: begin -->")[1].split("<!-- statistics: end -->")[0].strip()
    assert shown == statistics(rows)
    assert statistics([]) == "Not yet measured."


def test_update_replaces_only_the_table(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"a\n{BEGIN}\nold\n{END}\nb\n")
    rows = [Row("x / y", 0.12345), Row("x / z", 0.7, at_most=0.5)]
    update(readme, [row.to_dict() for row in rows])
    table = "| ratio, measured within one run | value | limit |\n|---|---|---|\n| x / y | 0.123 |  |"
    table += "\n| x / z | 0.7 | 0.5, **missed** |"
    assert readme.read_text() == f"a\n{BEGIN}\n{table}\n{END}\nb\n"


def test_a_row_knows_whether_its_limit_is_met():
    assert Row("r", 0.5, at_most=0.5).is_met
    assert not Row("r", 0.51, at_most=0.5).is_met
    assert Row("r", 9.0).is_met
    assert str(Row("r", 0.51, at_most=0.5)).endswith("MISSED")
    assert Row("r", 0.05, at_most=0.08, at_least=0.02).is_met
    assert not Row("r", 0.01, at_most=0.08, at_least=0.02).is_met
    assert not Row("r", 0.8, at_least=0.9).is_met
    assert "limit 0.02 to 0.08: met" in str(Row("r", 0.05, at_most=0.08, at_least=0.02))
    assert "limit at least 0.9: MISSED" in str(Row("r", 0.8, at_least=0.9))


def test_every_baseline_with_networks_is_compared_on_two_kinds_of_networks():
    rows = measure_baselines(300, repeats=1)
    assert [row.name.split(",")[0] for row in rows] == ["DeepCCA", "DCCAE", "Karakasis", "Lyu", "DMVAE"]
    for row in rows:
        assert row.at_most == 1
        assert row.value == max(row.detail["by_networks"].values())
        assert set(row.detail["by_networks"]) == {"MLPNetworks", "ConvNetworks"}
        assert all(value > 0 for value in row.detail["of_step1"].values())


@pytest.mark.parametrize("batches", [by_index, by_data_loader])
@pytest.mark.parametrize("n_private", [(2, 1), (0, 2)])
def test_the_reference_learns(batches, n_private):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        shared = torch.randn(64, 2)
        a, b = shared @ torch.randn(2, 6), shared @ torch.randn(2, 5)
        nets = Reference((6, 5), 2, n_private, (16,), learning_rate=1e-2)
        losses = [epoch(nets, batches(a, b, 16), (6.0, 5.0), n_msr=2) for _ in range(8)]
        marks = torch.arange(0, 64, 8)
        d_geo = {"A->B": torch.ones(64, 8), "B->A": torch.ones(64, 8)}
        after = epoch(nets, batches(a, b, 16), (6.0, 5.0), 2, (a[marks], b[marks], d_geo, 0.1))
    assert losses[-1] < losses[0] / 2
    assert after < losses[0]
