"""What comes with the package: few dependencies, free licences, stated versions, a quick import, no extras."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import time
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import viewsplice

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CORE = [Requirement(text) for text in PROJECT["dependencies"]]
EXTRAS = [
    Requirement(text)
    for name, texts in PROJECT["optional-dependencies"].items()
    if name not in ("all", "docs", "dev")
    for text in texts
]

# Licences under which a package may be used beside MIT code, whatever that is used for.
FREE = {
    *("MIT", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Zlib", "BSL-1.0", "CC0-1.0", "Unlicense", "PSF-2.0"),
    *("Apache-2.0", "MPL-2.0", "LLVM-exception"),
}
FREE_CLASSIFIERS = {
    f"License :: OSI Approved :: {name}"
    for name in (
        "MIT License",
        "BSD License",
        "Apache Software License",
        "Python Software Foundation License",
        "Mozilla Public License 2.0 (MPL 2.0)",
        "The Unlicense (Unlicense)",
        "ISC License (ISCL)",
    )
}


def is_free(name: str) -> bool:
    """Tell whether an installed package says that its licence is one of the above."""
    about = metadata.metadata(name)
    expression = about.get("License-Expression") or about.get("License") or ""
    if about.get("License-Expression") or len(expression) < 60:
        words = set(re.findall(r"[\w.-]+", expression)) - {"AND", "OR", "WITH"}
        if words and words <= FREE:
            return True
    classifiers = {text for text in about.get_all("Classifier") or [] if text.startswith("License ::")}
    return bool(classifiers) and classifiers <= FREE_CLASSIFIERS


def needed() -> set[str]:
    """Return what the core brings along, directly or not, on this machine."""
    found: set[str] = set()
    waiting = [requirement.name for requirement in CORE]
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        # What a GPU build of torch brings is its maker's, and chosen with the build.
        if name in found or name.startswith(("nvidia-", "cuda-")):
            continue
        found.add(name)
        for text in metadata.requires(name) or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return found


def test_dependencies_are_few() -> None:
    assert len(CORE) <= 8
    assert len(needed()) <= 25


def test_licences_are_compatible() -> None:
    assert PROJECT["license"] == "MIT"
    assert not [name for name in sorted(needed()) if not is_free(name)]


def test_versions_have_a_lower_bound_and_no_cap() -> None:
    """A cap that turns out wrong cannot be taken back; constraints.txt holds what was tested."""
    for requirement in [*CORE, *EXTRAS]:
        if requirement.name != "viewsplice":
            assert [part.operator for part in requirement.specifier] == [">="], requirement
    for requirement in CORE:
        assert requirement.specifier.contains(metadata.version(requirement.name).split("+")[0]), requirement


# A finder that does not find some packages, as if they were not installed.
HIDING = """
import sys


class Without:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.split(".")[0] in HIDDEN else self.finder.find_spec(name, path, target)


HIDDEN = set(sys.argv[1].split(","))
sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""
USE = """
import json
import numpy as np
from viewsplice import SPLICE, ColumnSPLICE, MLPNetworks, TrainConfig, Views
from viewsplice.baselines import CCA, DCCAE, RRR
from viewsplice.cli import main
from viewsplice.datasets import linear_gaussian
from viewsplice.geometry import landmark_isomap

views = linear_gaussian(n_samples=120, random_state=0).views
training = TrainConfig(epochs=1, scout_epochs=1, regression_epochs=1)
model = SPLICE(1, 1, networks=MLPNetworks((8,)), training=training, random_state=0).fit(views)
model.save("m.splice")
again = SPLICE.load("m.splice")
assert (again.transform(views).to_array() == model.transform(views).to_array()).all()
assert np.isfinite(again.score(views))
for method in (RRR(1), CCA(1), DCCAE(1, networks=MLPNetworks((8,)), training=TrainConfig(epochs=1, batch_size=50))):
    method.fit(views).transform(views)
landmark_isomap(views["A"])
for name in ("A", "B"):
    np.save(f"{name}.npy", views[name])
networks = {"kind": "MLPNetworks", "hidden": [8]}
with open("settings.json", "w") as file:
    json.dump({"networks": networks, "training": {"epochs": 1, "scout_epochs": 1, "regression_epochs": 1}}, file)
options = ["--shared", "1", "--private", "1", "--settings", "settings.json", "--quiet"]
assert main(["fit", "A.npy", "B.npy", *options, "--out", "run"]) == 0
assert main(["transform", "run", "A.npy", "--out", "latents.npz", "--quiet"]) == 0
assert main(["fit", "A.h5", "B.npy", "--out", "other"]) == 2
loaded = HIDDEN & {name.split(".")[0] for name in sys.modules}
assert not loaded, loaded
"""


def modules_of(requirements: list[Requirement]) -> set[str]:
    """Return the modules that some packages install."""
    by_module = metadata.packages_distributions()
    wanted = {requirement.name.lower().replace("_", "-") for requirement in requirements}
    return {module for module, names in by_module.items() if {name.lower() for name in names} & wanted}


def test_the_core_needs_no_extra(tmp_path: Path) -> None:
    hidden = modules_of(EXTRAS) | {"pandas"}
    assert {"matplotlib", "PIL", "h5py", "zarr", "anndata", "optuna", "ray", "dask", "ripser"} <= hidden
    (tmp_path / "A.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    command = [sys.executable, "-c", HIDING + USE, ",".join(sorted(hidden))]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "A.h5 needs h5py, which is not installed: pip install viewsplice[io]" in run.stderr


def test_names_are_imported_when_they_are_used() -> None:
    """Type checkers and users see the same names, and the import alone loads neither torch nor scikit-learn."""
    tree = ast.parse((ROOT / "src" / "viewsplice" / "__init__.py").read_text(encoding="utf-8"))
    [checked] = [node for node in tree.body if isinstance(node, ast.If)]
    listed = {
        alias.name: str(node.module).removeprefix("viewsplice.")
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert listed == viewsplice._PLACES
    assert set(viewsplice.__all__) == set(listed)
    assert set(viewsplice.__all__) <= set(dir(viewsplice))
    with pytest.raises(AttributeError, match="module 'viewsplice' has no attribute 'nothing'"):
        _ = viewsplice.nothing
    code = "import sys, viewsplice; sys.exit(bool({'torch', 'sklearn', 'scipy', 'numpy'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    code = "import viewsplice, viewsplice.cli; assert callable(viewsplice.report); viewsplice.metrics.linear_r2"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def ratio(first: str, second: str) -> float:
    """Return how much longer one program takes than another: taken in turns, the median of three."""
    ratios = []
    for _ in range(3):
        times = []
        for code in (first, second):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - start)
        ratios.append(times[0] / times[1])
    return sorted(ratios)[1]


def test_import_takes_less_than_one_and_a_half_times_that_of_torch() -> None:
    assert ratio("import viewsplice", "import torch") < 1.5


@pytest.mark.slow
def test_the_first_use_takes_little_more_than_the_libraries_it_needs() -> None:
    libraries = "import torch, sklearn.base, sklearn.neighbors, scipy.sparse.csgraph"
    assert ratio("from viewsplice import SPLICE; SPLICE()", libraries) < 1.5
