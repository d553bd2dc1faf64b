"""What surrounds the code: metadata, citation, README, dependencies, file sizes, and the built wheel."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
import tomllib
import types
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

import viewsplice

ROOT = Path(__file__).parents[1]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = ("matplotlib", "h5py", "zarr", "anndata", "mudata", "pynwb", "pandas", "optuna", "ray", "dask", "distributed")
MAX_BYTES = 500_000


def files_in_git() -> list[Path]:
    """Return the files that git tracks or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("git is not installed")
    if run.returncode != 0:
        pytest.skip("not a git checkout")
    return [path for name in run.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def requirement_names(requirements: list[str]) -> set[str]:
    """Return the bare, normalized distribution names of requirement strings."""
    return {re.split(r"[^\w.-]", one)[0].lower().replace("_", "-") for one in requirements}


def test_version_is_stated_once() -> None:
    assert viewsplice.__version__ == metadata.version("viewsplice") == PROJECT["version"]


def test_citation_names_software_and_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["title"] == PROJECT["name"]
    assert [author["name"] for author in citation["authors"]] == ["The viewsplice developers"]
    assert citation["message"]
    paper = citation["preferred-citation"]
    assert paper["type"] == "conference-paper"
    assert paper["title"] == "Unsupervised discovery of the shared and private geometry in multi-view data"
    names = [author["family-names"] for author in paper["authors"]]
    assert names == ["Koukuntla", "Julian", "Kaminsky", "Schottdorf", "Tank", "Brody", "Charles"]


def test_changelog_keeps_its_format() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", heading) for heading in headings[1:])


def test_files_are_small() -> None:
    large = {str(path.relative_to(ROOT)): path.stat().st_size for path in files_in_git()}
    assert not {name: size for name, size in large.items() if size > MAX_BYTES}


def test_files_hold_no_machine_paths() -> None:
    pattern = re.compile(rb"(?<![\w.])/(?:home|root|work|Users)/\w[^\s'\"`]*|\b[A-Z]:\\Users\\\w+")
    found = {str(path.relative_to(ROOT)): pattern.findall(path.read_bytes()) for path in files_in_git()}
    assert not {name: paths for name, paths in found.items() if paths}


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")], ids=lambda page: page.name)
def test_relative_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert not [link for link in local if not (page.parent / link).exists()]


def test_constraints_cover_every_dependency() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins), "exact versions without a local suffix"
    listed = [*PROJECT["dependencies"], *(one for extra in PROJECT["optional-dependencies"].values() for one in extra)]
    assert not requirement_names(listed) - requirement_names(pins) - {"viewsplice"}


def test_imports_are_declared() -> None:
    imported = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).split(".")[0])
    known = {"sklearn": "scikit-learn", "PIL": "pillow"}
    needed = {known.get(name, name) for name in imported - sys.stdlib_module_names - {"viewsplice"}}
    core = requirement_names(PROJECT["dependencies"])
    # pandas only turns latents into a table, for users who have it.
    optional = {"pandas"}.union(*map(requirement_names, PROJECT["optional-dependencies"].values()))
    assert core <= needed, "a dependency that nothing imports"
    assert needed <= core | optional, "an import that nothing declares"


@pytest.mark.parametrize("name", viewsplice.__all__)
def test_public_names_are_documented(name: str) -> None:
    public = getattr(viewsplice, name)
    if inspect.isclass(public) or inspect.isroutine(public):
        assert inspect.getdoc(public), f"viewsplice.{name} has no docstring"


def test_public_modules_are_in_the_api_page() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    documented = re.findall(r"automodule:: (\S+)", page)
    for name in documented:
        importlib.import_module(name)
    packages = {f"viewsplice.{path.parent.name}" for path in (ROOT / "src" / "viewsplice").glob("*/__init__.py")}
    not_public = {"viewsplice.training", "viewsplice.io", "viewsplice.page"}
    assert packages - not_public <= set(documented)


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_code_in_pages_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"(<!-- skip -->\s*)?^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    codes = [code for skip, code in blocks if not skip]
    assert codes, f"{page} has no Python block to run"
    monkeypatch.chdir(tmp_path)
    # A real module, since dataclasses look their own module up by name.
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    for code in codes:
        exec(compile(code, page, "exec"), module.__dict__)


# Stands in for an environment without the extras: their import fails as if they were not installed.
WITHOUT_EXTRAS = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
import viewsplice
print(viewsplice.__file__)
from viewsplice.cli import main
sys.exit(main(["--help"]))
"""


def test_wheel_is_complete_and_needs_no_extras(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    [wheel] = tmp_path.glob("*.whl")
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
        names = set(archive.namelist())
    info = f"viewsplice-{PROJECT['version']}.dist-info"
    assert {"viewsplice/py.typed", f"{info}/licenses/LICENSE", f"{info}/entry_points.txt"} <= names
    sources = [path for path in (ROOT / "src").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {path.relative_to(ROOT / "src").as_posix() for path in sources} <= names
    assert all(name.startswith(("viewsplice/", info)) for name in names)

    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    command = [sys.executable, "-c", WITHOUT_EXTRAS, ",".join(EXTRAS)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    first, *rest = run.stdout.splitlines()
    assert Path(first).is_relative_to(unpacked)
    assert rest[0].startswith("usage: viewsplice")
