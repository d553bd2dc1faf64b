"""The command `reproduce`, on reduced data: every row, table and figure, resumable, and marked as quick."""

from __future__ import annotations

import io
import json
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from viewsplice.cli import main
from viewsplice.exceptions import GeometryWarning
from viewsplice.experiments import EXPERIMENTS, contest, pages
from viewsplice.experiments.fits import Options
from viewsplice.experiments.pages import Shown, write_pages
from viewsplice.experiments.results import PAPER, missing_rows
from viewsplice.experiments.rivals import METHODS
from viewsplice.page import belief
from viewsplice.trust.leaks import Leak

REAL = Path(os.environ.get("VIEWSPLICE_DATA") or Path(__file__).parents[3] / "shared" / "data")
FIGURES = {"receptive_fields", "sheet", "tiling", "private", "leaks", "reconstructions", "dimensions"}


@pytest.fixture(scope="module", autouse=True)
def _no_probes() -> Iterator[None]:
    """Leave out the probes of the page, which take as long as a quick experiment and have their own tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(belief, "measured_leaks", lambda content: [])
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("reproduce")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeometryWarning)  # four epochs on 320 rows may leave a space in pieces
        assert main(["reproduce", "lgn-v1", "--quick", "--seeds", "3", "--quiet", "--out", str(out)]) == 0
    return out


def test_the_first_full_fit_gets_a_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "<h1>Simulated LGN and V1</h1>" in html
    assert "Quick run: reduced data and training." in html
    assert "viewsplice reproduce lgn-v1" in html
    words = json.loads(html.split('id="page-data">')[1].split("</script>")[0])
    assert [one["name"] for one in words["covariates"]] == [
        "part of the split",
        "x",
        "y",
        "lgn/position",
        "v1/position",
    ]
    assert words["n_rows"] == 400
    assert main(["reproduce", "lgn-v1", "--quick", "--seeds", "3", "--out", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [f"wrote {folder / name}" for name in ("tables.md", "report.html")]


def test_every_figure_of_the_paper_has_a_row(folder: Path) -> None:
    rows = json.loads((folder / "metrics.json").read_text())
    assert {row["metric"] for row in rows if row["method"] == "splice"} >= set(PAPER["lgn-v1", "splice"])
    for row in rows:
        assert set(row) == {"experiment", "method", "metric", "value", "seed", "paper", "rows", "settings_hash"}
        assert row["seed"] == 3
        assert row["rows"] == 100
        assert np.isfinite(row["value"])


def test_tables_and_figures_are_there_and_say_that_the_run_was_quick(folder: Path) -> None:
    tables = (folder / "tables.md").read_text()
    assert "Quick run" in tables
    assert {"Linear R² of the true factors", "Leaks", "Shared dimensions needed"} <= {
        line.removeprefix("### ") for line in tables.splitlines()
    }
    pictures = {path.stem: path.read_bytes() for path in (folder / "figures").iterdir()}
    assert set(pictures) == FIGURES
    for png in pictures.values():
        assert len(png) <= 200_000
        assert np.asarray(Image.open(io.BytesIO(png)).convert("L")).std() > 5  # not blank


def test_the_record_has_command_versions_seeds_and_times(folder: Path) -> None:
    record = json.loads((folder / "run.json").read_text())
    assert record["command"].startswith("viewsplice reproduce lgn-v1")
    assert record["seeds"] == [3]
    assert record["quick"] is True
    assert {"viewsplice", "torch", "numpy"} <= set(record["versions"])
    assert record["seconds"]["seed 3: both steps"] > 0


def test_a_second_run_finds_everything_done(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "metrics.json").read_bytes()
    assert main(["reproduce", "lgn-v1", "--quick", "--seeds", "3", "--out", str(folder)]) == 0
    said = capsys.readouterr()
    assert "part " not in said.out + said.err
    assert (folder / "metrics.json").read_bytes() == before


def test_a_lost_part_alone_is_done_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lost = next((folder / "parts").glob("scan-rrr-*"))
    for path in lost.iterdir():
        path.unlink()
    lost.rmdir()
    assert main(["reproduce", "lgn-v1", "--quick", "--seeds", "3", "--out", str(folder)]) == 0
    parts = [line for line in capsys.readouterr().out.splitlines() if line.startswith("part ")]
    assert len(parts) == 1
    assert "scan: RRR" in parts[0]


@pytest.fixture(scope="module")
def with_baselines(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with baselines that finds what SPLICE has done; probes of leaks are left out, as they take long."""
    out = tmp_path_factory.mktemp("baselines")
    shutil.copytree(folder / "parts", out / "parts")

    def none(train: Any, targets: Mapping[str, Any], *_: Any, **__: Any) -> dict[str, Leak]:
        return dict.fromkeys(targets, Leak(0.0, 0.0, 0.0, 1.0, "none"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("viewsplice.experiments.truth.probe_leaks", none)
        assert (
            main(["reproduce", "lgn-v1", "--quick", "--baselines", "--seeds", "3", "--quiet", "--out", str(out)]) == 0
        )
    return out


def test_baselines_have_rows_of_both_runs(folder: Path, with_baselines: Path) -> None:
    rows = json.loads((with_baselines / "metrics.json").read_text())
    own = [row for row in rows if row["method"].startswith("splice")]
    assert own == json.loads((folder / "metrics.json").read_text())
    others = {row["method"] for row in rows} - {"splice", "splice-step1"}
    assert others == {f"{m.__name__.lower()}-{run}" for m in METHODS["lgn-v1"] for run in ("printed", "tuned")}
    found = {(row["method"], row["metric"]): row for row in rows}
    assert found["dccae-printed", "r2_y_AB"]["paper"] == 0.26
    assert found["cca-tuned", "r2_x_AB"]["paper"] is None
    # What a method lacks has no row: a 0 would be a lie.
    assert {metric for method, metric in found if method.startswith(("cca", "deepcca"))} == {
        f"r2_{factor}_{arrow}" for factor in "xy" for arrow in ("AB", "BA")
    }
    assert {"r2_private_A", "r2_private_B", "r2_A"} <= {metric for method, metric in found if method == "lyu-tuned"}
    assert all(np.isfinite(row["value"]) for row in rows)


def test_baselines_have_tables_and_figures(folder: Path, with_baselines: Path) -> None:
    tables = (with_baselines / "tables.md").read_text()
    titles = {line.removeprefix("### ") for line in tables.splitlines()}
    assert {"Baselines beside SPLICE", "What stands beside these figures", "How the baselines were run"} <= titles
    assert "not available: no private space" in tables
    assert "too few seeds" in tables
    for method in ("rrr-printed", "rrr-tuned"):  # dimensions against RRR, which is run twice as well
        assert f"| {method} | R² of predicting lgn->v1 |" in tables
    assert "Baselines beside SPLICE" not in (folder / "tables.md").read_text()
    pictures = {path.stem: path.read_bytes() for path in (with_baselines / "figures").iterdir()}
    assert set(pictures) == FIGURES | {"baselines_shared_printed", "baselines_shared_tuned", "baselines_private"}
    assert all(len(png) <= 200_000 for png in pictures.values())
    record = json.loads((with_baselines / "run.json").read_text())
    assert record["baselines"] is True
    assert "--baselines" in record["command"]


def test_baselines_that_are_done_are_found_again(with_baselines: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "lgn-v1", "--quick", "--baselines", "--seeds", "3", "--out", str(with_baselines)]) == 0
    assert "part " not in capsys.readouterr().out


def test_tables_have_what_is_done_when_a_run_of_baselines_is_interrupted(
    folder: Path, with_baselines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(with_baselines / "parts", tmp_path / "parts")
    left_out = {"deepcca-search", "seed-3-deepcca-tuned", "seed-3-lyu-printed", "baselines-figures"}
    for path in (tmp_path / "parts").iterdir():
        if path.name.rsplit("-", 1)[0] in left_out:
            shutil.rmtree(path)
    searched = contest._search
    n_searches = 0

    def once(*given: Any) -> dict[str, Any]:
        nonlocal n_searches
        n_searches += 1
        return searched(*given)

    def interrupt(*given: Any) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contest, "_search", once)
        patch.setattr(contest, "_compete", interrupt)
        arguments = ["reproduce", "lgn-v1", "--quick", "--baselines", "--seeds", "3", "--quiet", "--out", str(tmp_path)]
        assert main(arguments) == 130
    assert n_searches == 1
    tables = (tmp_path / "tables.md").read_text()
    n_parts = len(EXPERIMENTS["lgn-v1"].parts(Options((3,), quick=True, baselines=True)))
    assert f"**Not finished: 3 of {n_parts} parts are still to be done.**" in tables
    assert "not available: not run yet" in tables
    rows = json.loads((tmp_path / "metrics.json").read_text())
    whole = json.loads((with_baselines / "metrics.json").read_text())
    assert rows == [row for row in whole if row["method"] not in ("deepcca-tuned", "lyu-printed")]
    assert set(json.loads((tmp_path / "run.json").read_text())["seconds"]) >= {"cca: search", "deepcca: search"}
    assert not (tmp_path / "report.html").exists()
    assert "Not finished" not in (with_baselines / "tables.md").read_text()


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="no data are here: set VIEWSPLICE_DATA to their folder")
@pytest.mark.parametrize(
    ("name", "metric", "pictures"),
    [
        ("rotated-mnist", "digit_accuracy", {"latents_printed", "latents_tuned", "private_widths", "composed"}),
        ("sprites", "id_variance_A", {"private"}),
        ("neural", "prediction_r2 V1-V2, Semedo sample v1->v2", {"steinmetz_prediction", "semedo_v2_prediction"}),
    ],
)
def test_quick_baselines_of_other_experiments(name: str, metric: str, pictures: set[str], tmp_path: Path) -> None:
    arguments = ["reproduce", name, "--quick", "--baselines", "--quiet", "--data", str(REAL), "--out", str(tmp_path)]
    assert main(arguments) == 0
    rows = json.loads((tmp_path / "metrics.json").read_text())
    found = {row["method"] for row in rows if row["metric"] == metric}
    assert {f"{m.__name__.lower()}-{run}" for m in METHODS[name] for run in ("printed", "tuned")} <= found
    assert "Baselines beside SPLICE" in (tmp_path / "tables.md").read_text()
    assert {f"baselines_{picture}" for picture in pictures} <= {path.stem for path in (tmp_path / "figures").iterdir()}
    assert all(path.stat().st_size <= 200_000 for path in (tmp_path / "figures").iterdir())


def test_an_interruption_says_how_to_go_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("viewsplice.experiments.run_parts", interrupt)
    assert main(["reproduce", "lgn-v1", "--quick", "--out", str(folder)]) == 130
    assert capsys.readouterr().err == f"viewsplice: interrupted: viewsplice resume {folder} goes on\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mnist"], "expected one of lgn-v1, rotated-mnist, sprites, neural, or all"),
        (["lgn-v1", "--seeds", "0,x"], "such as 0,1,2"),
        (["sprites", "--quick", "--data", "nowhere"], "nowhere"),
        (["lgn-v1", "--quick", "--out", __file__], "is a file; expected a folder"),
    ],
)
def test_bad_usage_is_one_clear_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", "--out", str(tmp_path / "out"), "--quiet", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_parts_have_their_own_names_and_folders(name: str) -> None:
    options = Options(seeds=(0, 1))
    parts = EXPERIMENTS[name].parts(options)
    assert len({part.name for part in parts}) == len(parts)
    assert len({part.folder for part in parts}) == len(parts)
    again = EXPERIMENTS[name].parts(options)
    assert [part.folder for part in parts] == [part.folder for part in again]
    quick = {part.folder for part in EXPERIMENTS[name].parts(Options(seeds=(0, 1), quick=True))}
    assert not quick & {part.folder for part in parts if part.name != "figures"}
    # Baselines come after everything else and change nothing of it.
    more = EXPERIMENTS[name].parts(Options(seeds=(0, 1), baselines=True))
    assert [part.folder for part in more[: len(parts)]] == [part.folder for part in parts]
    assert len(more) > len(parts)
    assert len({part.folder for part in more}) == len({part.name for part in more}) == len(more)


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_pages_are_of_fits_that_are_made(name: str) -> None:
    options = Options(seeds=(1, 0))
    shown = EXPERIMENTS[name].shown(options)
    assert shown
    assert {one.fit for one in shown} <= {part.name for part in EXPERIMENTS[name].parts(options)}
    assert all("seed 1" in one.fit for one in shown)


def test_pages_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    written = []
    monkeypatch.setattr(pages, "_write", lambda one, done, path, *rest: written.append(path.name))
    fits = [Shown("fit", dict, title) for title in ("First", "V1-V2, Semedo sample")]
    write_pages(fits, {}, tmp_path, command="", notes=[])
    assert written == ["report.html", "report-v1-v2-semedo-sample.html"]


def test_experiments_without_figures_in_the_paper_miss_none() -> None:
    assert missing_rows("neural", []) == []
    assert {name for name, _ in PAPER} <= set(EXPERIMENTS)
