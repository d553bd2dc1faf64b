"""Tutorials: all their code and all their commands run, at small size."""

from __future__ import annotations

import json
import re
import shlex
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewsplice import SPLICE, GeometryConfig, MLPNetworks, TrainConfig
from viewsplice.cli import main
from viewsplice.page import belief, leaks, look, summary

DOCS = Path(__file__).parents[1] / "docs"
ESTIMATOR: dict[str, Any] = {
    "n_shared": 2,
    "n_private": 1,
    "recipe": "paper",
    "networks": {"kind": "MLPNetworks", "hidden": [16]},
    "training": {"epochs": 2, "batch_size": 50, "restart_passes": 1},
    "geometry": None,
}
SMALL_MODEL = "SPLICE(2, 1, recipe='paper', networks=NETWORKS, training=TRAINING, geometry=None, random_state=0)"
# What is replaced to make a page small; each text stands on the page.
SMALL = {
    "tutorial.md": {"n_rows = 2000": "n_rows = 200"},
    "tutorial-neural.md": {"n_trials, seconds, step = 120": "n_trials, seconds, step = 12"},
    "tutorial-omics.md": {"n_cells = 2000": "n_cells = 200"},
    "reading-the-page.md": {"lgn_v1(4000": "lgn_v1(250"},
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.filterwarnings("ignore:From 0.4 .update:FutureWarning")  # mudata announces another default
def test_tutorials_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    for full, small in {"SPLICE(random_state=0)": SMALL_MODEL, **SMALL[name]}.items():
        assert full in text, f"{name} has no {full!r} to make small"
        text = text.replace(full, small)
    monkeypatch.chdir(tmp_path)
    # Probes and figures take most of the time of a page, and have their own tests.
    monkeypatch.setattr(belief, "measured_leaks", lambda content: [])
    for section in (belief, leaks, look, summary):
        monkeypatch.setattr(section, "to_svg", lambda ax: "<svg ></svg>")
    Path("small.json").write_text(json.dumps(ESTIMATOR))
    module = types.ModuleType("tutorial")
    monkeypatch.setitem(sys.modules, "tutorial", module)
    module.__dict__["NETWORKS"] = MLPNetworks((16,))
    module.__dict__["TRAINING"] = TrainConfig(**ESTIMATOR["training"])
    for language, code in re.findall(r"^```(python|console)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        if language == "python":
            exec(compile(code, name, "exec"), module.__dict__)
        else:
            run_commands(code)
    pages = [*Path().glob("*.html"), *Path().glob("*/report.html")]
    assert len(pages) == len(re.findall(r"\breport\($|\breport\((?=model)|^viewsplice fit", text, flags=re.MULTILINE))


def run_commands(code: str) -> None:
    for line in code.splitlines():
        program, command, *arguments = shlex.split(line)
        assert program == "viewsplice"
        small = ["--settings", "small.json"] if command == "fit" else []
        assert main([command, *arguments, *small, "--quiet"]) == 0, line


def test_the_networks_and_the_distance_of_the_architecture_page_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("architecture")
    monkeypatch.setitem(sys.modules, "architecture", module)
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    for code in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        exec(compile(code, "architecture.md", "exec"), module.__dict__)
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(2, 60, 5))
    settings = {
        "networks": module.__dict__["LinearNetworks"](),
        "training": TrainConfig(**ESTIMATOR["training"]),
        "geometry": GeometryConfig(distance=module.__dict__["straight"], n_landmarks=10),
    }
    model = SPLICE(2, 1, recipe="paper", random_state=0, **settings).fit(x, y, validation=0)
    assert [row["stage"] for row in model.history_] == ["disentangle"] * 2 + ["geometry"] * 2


def test_every_page_is_in_the_contents() -> None:
    pages = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert pages <= set(index.split("```{toctree}")[1].split())
    assert all(f"{{doc}}`{page}`" in index for page in pages)
