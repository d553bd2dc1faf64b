"""The function and the command that write the page: from a model, from the folder of a run, with other colors."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import viewsplice
import viewsplice.demo
from viewsplice import SPLICE, MLPNetworks, TrainConfig, report
from viewsplice.cli import main
from viewsplice.datasets import sheet_and_lines
from viewsplice.page import belief, leaks, look, summary
from viewsplice.trust import AuditSettings
from viewsplice.trust.verdict import Finding

RNG = np.random.default_rng(5)
SHARED = RNG.uniform(-1, 1, size=(120, 1))
A, B = (np.tanh(np.hstack([SHARED, RNG.normal(size=(120, 1))]) @ RNG.normal(size=(2, w))) for w in (8, 6))
TRAINING = TrainConfig(epochs=2, batch_size=50, restart_passes=1)
ESTIMATOR: dict[str, Any] = {
    "n_shared": 1,
    "n_private": 1,
    "recipe": "paper",
    "networks": {"kind": "MLPNetworks", "hidden": [8]},
    "training": {"epochs": 2, "batch_size": 50, "restart_passes": 1},
    "geometry": None,
    "random_state": 7,
}


@pytest.fixture(autouse=True)
def _light_pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Work in a folder with data, and leave out what takes long: probes and figures have their own tests."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", A)
    np.save("b.npy", B)
    np.save("phase.npy", np.linspace(0, 2 * np.pi, 120))
    Path("known.csv").write_text("speed,side\n" + "".join(f"{i},{'lr'[i % 2]}\n" for i in range(120)))
    Path("tiny.json").write_text(json.dumps(ESTIMATOR))
    monkeypatch.setattr(belief, "measured_leaks", lambda content: [])
    for module in (belief, leaks, look, summary):
        monkeypatch.setattr(module, "to_svg", lambda ax: "<svg ></svg>")


def _data(path: Path | str = "run/report.html") -> dict[str, Any]:
    """Return the words that a page carries."""
    text = Path(path).read_text(encoding="utf-8").split('id="page-data">')[1].split("</script>")[0]
    found: dict[str, Any] = json.loads(text)
    return found


def _kinds(path: Path | str = "run/report.html") -> dict[str, str]:
    return {one["name"]: one["kind"] for one in _data(path)["covariates"]}


def _fit(*arguments: str) -> int:
    return main(["fit", "a.npy", "b.npy", *arguments, "--settings", "tiny.json", "--out", "run", "--quiet"])


def _model() -> SPLICE:
    model = SPLICE(1, 1, recipe="paper", networks=MLPNetworks((8,)), training=TRAINING, geometry=None, random_state=7)
    return model.fit(A, B)


def test_a_model_and_its_views_make_a_page() -> None:
    model = _model()
    path = report(model, (A, B), out="deep/page.html", colors={"speed": np.arange(120)}, notes=["One."])
    assert path == Path("deep/page.html")
    html = path.read_text(encoding="utf-8")
    assert "<h1>What A and B share</h1>" in html
    assert "One." in html
    assert "fitted in Python" in html
    assert _kinds(path) == {"part of the split": "categorical", "speed": "continuous"}
    assert viewsplice.report is report


def test_what_a_model_needs_is_said() -> None:
    with pytest.raises(NotFittedError):
        report(SPLICE(), (A, B), out="p.html")
    model = _model()
    with pytest.raises(ValueError, match="got a model; expected its views, and the file to write"):
        report(model, (A, B))
    with pytest.raises(ValueError, match="got a model; expected its views"):
        report(model, out="p.html")
    Path("folder").mkdir()
    with pytest.raises(ValueError, match=r"out is the folder folder; expected the file to write, such as .*html"):
        report(model, (A, B), out="folder")


def test_fit_writes_the_page_of_its_run() -> None:
    assert _fit("--color", "phase.npy", "--color", "known.csv", "--kind", "speed=categorical") == 0
    html = Path("run/report.html").read_text(encoding="utf-8")
    assert "<code>viewsplice fit a.npy b.npy --color phase.npy" in html
    assert _kinds() == {
        "part of the split": "categorical",
        "phase": "circular",
        "speed": "categorical",
        "side": "categorical",
    }


def test_report_writes_the_page_again() -> None:
    assert _fit("--color", "phase.npy") == 0
    before = Path("run/report.html").read_bytes()
    assert main(["report", "run", "--quiet"]) == 0
    assert Path("run/report.html").read_bytes() == before
    assert report("run") == Path("run/report.html")
    assert Path("run/report.html").read_bytes() == before


def test_report_adds_colors(capsys: pytest.CaptureFixture[str]) -> None:
    assert _fit("--color", "phase.npy") == 0
    assert main(["report", "run", "--color", "side=known.csv:side", "--kind", "phase=continuous"]) == 0
    assert capsys.readouterr().out == f"wrote {Path('run/report.html')}\n"
    assert _kinds() == {"part of the split": "categorical", "side": "categorical", "phase": "continuous"}
    assert main(["report", "run", "--out", "other.html", "--quiet"]) == 0
    assert list(_kinds("other.html")) == ["part of the split", "phase"]
    report("run", colors={"mine": np.arange(120)}, out="mine.html")
    assert list(_kinds("mine.html")) == ["part of the split", "mine"]


def test_report_finds_the_data_from_another_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert _fit() == 0
    before = _data()
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert main(["report", str(tmp_path / "run"), "--quiet"]) == 0
    assert _data(tmp_path / "run" / "report.html") == before
    assert Path.cwd() == tmp_path / "elsewhere"


def test_report_of_other_rows() -> None:
    assert _fit("--color", "phase.npy") == 0
    np.save("a2.npy", A[:50])
    np.save("b2.npy", B[:50])
    np.save("t.npy", np.arange(50) // 5)
    assert main(["report", "run", "a2.npy", "b2.npy", "--groups", "t.npy", "--out", "new.html", "--quiet"]) == 0
    assert _kinds("new.html") == {"group": "categorical"}
    assert _data("new.html")["n_rows"] == 50
    assert report("run", (A[:40], B[:40]), out="few.html").is_file()
    assert _kinds("few.html") == {}


def test_counts_are_treated_as_in_the_fit() -> None:
    rng = np.random.default_rng(0)
    np.save("a.npy", rng.poisson(3, size=(120, 5)))
    np.save("b.npy", rng.poisson(3, size=(120, 4)))
    assert _fit("--sqrt") == 0
    assert "The square root of all values was taken (--sqrt)." in Path("run/report.html").read_text(encoding="utf-8")
    before = Path("run/report.html").read_bytes()
    assert main(["report", "run", "--quiet"]) == 0
    assert Path("run/report.html").read_bytes() == before


def test_features_have_the_names_of_a_header() -> None:
    header = ",".join(f"n{i}" for i in range(6))
    np.savetxt("b.csv", B, delimiter=",", header=header, comments="")
    arguments = ["fit", "a.npy", "v=b.csv", "--settings", "tiny.json", "--out", "run", "--quiet"]
    assert main(arguments) == 0
    assert [view["names"] for view in _data()["features"]] == [None, [f"n{i}" for i in range(6)]]


def test_the_audit_of_a_folder_is_shown() -> None:
    assert _fit() == 0
    row = {"source": "A", "target": "B", "probe": "trees", "r2": 0.5, "null_mean": 0.0, "null_q95": 0.1, "p": 0.01}
    Path("run/audit.json").write_text(json.dumps({"leaks": [row], "verdict": "A leaks"}))
    assert main(["report", "run", "--quiet"]) == 0
    html = Path("run/report.html").read_text(encoding="utf-8")
    assert '<p class="note warn"><b>Careful.</b> A leaks</p>' in html
    assert "<td>0.500</td>" in html


def test_the_page_of_a_demonstration_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SPLICE(2, 1, recipe="paper", networks=MLPNetworks((8,)), training=TRAINING, geometry=None, random_state=0)
    monkeypatch.setattr(viewsplice.demo, "_JOBS", 1)
    monkeypatch.setattr(viewsplice.demo, "_AUDIT", AuditSettings(n_permutations=19, n_null=1, n_refits=0, most_rows=40))
    monkeypatch.setattr(viewsplice.demo, "demo_data", lambda quick: sheet_and_lines(n_samples=200, random_state=0))
    monkeypatch.setattr(viewsplice.demo, "demo_model", lambda: model)
    assert main(["demo", "--quick", "--out", "show", "--quiet"]) == 0
    before = Path("show/report.html").read_bytes()
    assert "what is decoded linearly" in before.decode()
    assert main(["report", "show", "--quiet"]) == 0
    assert Path("show/report.html").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ("", ["nowhere"], "nowhere has no model.splice"),
        ("moved", ["run"], "(run was fitted to these files: give the views if they have moved)"),
        ("changed", ["run"], "view 'A' is not what run was fitted to: the file has changed"),
        ("settings", ["run"], "run does not tell which data it was fitted to; expected the views"),
        ("", ["run", "a.npy"], "expected all views of the model"),
        ("", ["run", "--color", "missing.npy"], "missing.npy does not exist"),
        ("", ["run", "--color", "short.npy"], "short.npy has shape (3,); expected one value per row: (120,)"),
        ("", ["run", "--kind", "x=circular"], "--kind is 'x=circular'; expected NAME=continuous|circular|categorical"),
        ("", ["run", "--color", "phase.npy", "--kind", "phase=round"], "--kind is 'phase=round'"),
    ],
)
def test_bad_input_is_one_line(
    change: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _fit() == 0
    np.save("short.npy", np.arange(3))
    if change == "moved":
        Path("a.npy").unlink()
    elif change == "changed":
        np.save("a.npy", A + 1)
    elif change == "settings":
        Path("run/settings.json").unlink()
    before = Path("run/report.html").read_bytes()
    assert main(["report", *arguments]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert (out, err.count("\n")) == ("", 1)
    assert Path("run/report.html").read_bytes() == before


def test_without_matplotlib_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec
    hide = lambda name, *rest: None if name == "matplotlib" else find(name, *rest)  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", hide)
        assert _fit() == 0
    assert not Path("run/report.html").exists()
    for name in [name for name in sys.modules if name.startswith(("viewsplice.page", "viewsplice.plotting"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["report", "run"]) == 2
    assert "pip install 'viewsplice[plot]'" in capsys.readouterr().err


def test_a_demonstration_tells_first_what_speaks_against_it() -> None:
    findings = [Finding("No leak found.", True), Finding("Rows: 9.", None), Finding("Refits do not agree.", False)]
    assert viewsplice.demo.audit_sentences(findings) == ["Audit: No leak found.", "Audit: Refits do not agree."]
