"""The shape of the package: imports point downward, files and functions stay small, no import order breaks."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "viewsplice"

# A name stands for a module, or for all modules of a package that have no entry of their own.
LAYERS: dict[str, int] = {
    **dict.fromkeys(
        ("_types", "_validation", "_random", "exceptions", "config", "records", "splits", "spool", "views"), 0
    ),
    **dict.fromkeys(("networks", "losses", "frontend", "chunks", "counts", "io", "metrics", "datasets", "ordering"), 1),
    **dict.fromkeys((f"geometry.{name}" for name in ("neighbors", "geodesics", "landmark_mds", "isomap")), 1),
    **dict.fromkeys((f"geometry.{name}" for name in ("walks", "diffusion")), 1),
    **dict.fromkeys(
        (f"geometry.{name}" for name in ("anchors", "bridges", "extension", "evidence", "placement", "smoothing")), 1
    ),
    **dict.fromkeys(("model", "geometry.submanifolds", "geometry.clouds", "geometry.targets"), 2),
    "training": 3,
    **dict.fromkeys(("_attributes", "estimator", "fitted", "preparation", "recipes", "baselines"), 4),
    **dict.fromkeys(("persistence", "_saved", "columns"), 4),
    **dict.fromkeys(("plotting", "trust", "sweeps"), 5),
    **dict.fromkeys(
        ("arguments", "cli", "demo", "experiments", "inputs", "page", "reporting", "resuming", "runs", "studies"), 6
    ),
    "__main__": 7,
}

# What a module or package may not import although its layer would allow it.
BANNED: dict[str, tuple[str, ...]] = {
    "geometry": ("viewsplice.model",),  # it sees the EncoderDecoder protocol
    "baselines": ("viewsplice.model", "viewsplice.estimator"),  # they are compared with SPLICE, not built on it
}

# What is left to a module or package besides the standard library and itself.
ONLY: dict[str, tuple[str, ...]] = {
    "losses": ("torch",),
    # Functions of arrays, so that they serve baselines and other packages.
    "metrics": (
        "numpy",
        "scipy",
        "sklearn",
        "ripser",
        *(f"viewsplice.{name}" for name, layer in LAYERS.items() if layer == 0),
    ),
    "datasets": (
        *("numpy", "scipy", "sklearn", "PIL", "viewsplice.io"),
        *(f"viewsplice.{name}" for name, layer in LAYERS.items() if layer == 0),
    ),
}

# The only importers of an optional dependency that must not creep into the core.
IMPORTERS: dict[str, tuple[str, ...]] = {"matplotlib": ("plotting", "experiments")}

MAX_FILE_LINES = 300
MAX_FUNCTION_LINES = 60
MAX_ARGUMENTS = 8
# The constructor of a scikit-learn estimator lists every parameter: clone and get_params read its signature.
MANY_ARGUMENTS = {f"{name}.__init__" for name in ("SPLICE", "ColumnSPLICE", "DCCAE", "Karakasis", "Lyu")}

FILES = sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    """Return the name below the package: "geometry.targets"; "geometry" for its __init__; "" for the top one."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES if path.name != "__init__.py"}
PACKAGES = {module_name(path) for path in FILES if path.name == "__init__.py"} - {""}


def belongs(name: str, parent: str) -> bool:
    return name == parent or name.startswith(parent + ".")


def entry(name: str) -> int | None:
    """Return the layer of the longest entry that covers a module, or None."""
    covering = [key for key in LAYERS if belongs(name, key)]
    return LAYERS[max(covering, key=len)] if covering else None


def layer(name: str) -> int:
    """Return the layer of a module; the facade of a package is as high as the highest module in it."""
    layers = [entry(name), *(entry(module) for module in MODULES if belongs(module, name))]
    return max((found for found in layers if found is not None), default=0)


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, full name) of every import in a file, also of those inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield node.lineno, "." * node.level + (node.module or "")
                continue
            module = str(node.module)
            for alias in node.names:
                full = f"{module}.{alias.name}"
                is_module = full.removeprefix("viewsplice.") in MODULES.keys() | PACKAGES
                yield node.lineno, full if is_module and module != "viewsplice" else module


def test_every_module_has_a_layer() -> None:
    unknown = [name for name in MODULES if entry(name) is None]
    assert not unknown, f"no layer for {unknown}: add them to LAYERS in {Path(__file__).name} and to CONTRIBUTING.md"


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_downward(name: str) -> None:
    wrong = []
    for line, target in imported(MODULES[name]):
        inner = target.removeprefix("viewsplice.")
        if target.startswith("."):
            wrong.append(f"line {line}: relative import {target}; write viewsplice.{name}-style absolute names")
        elif target == "viewsplice":
            wrong.append(f"line {line}: imports the top-level facade; import the module that defines the name")
        elif belongs(target, "viewsplice"):
            if inner in PACKAGES and belongs(name, inner):
                wrong.append(f"line {line}: imports the facade of its own package, {target}")
            elif layer(inner) > layer(name):
                wrong.append(f"line {line}: layer {layer(name)} imports {target} of layer {layer(inner)}")
    assert not wrong, f"{name}: " + "; ".join(wrong)


@pytest.mark.parametrize("name", MODULES)
def test_extra_bans(name: str) -> None:
    targets = {target for _, target in imported(MODULES[name])}
    for key, banned in BANNED.items():
        if belongs(name, key):
            assert not [target for target in targets for ban in banned if belongs(target, ban)]
    for key, allowed in ONLY.items():
        if belongs(name, key):
            allowed = (*allowed, f"viewsplice.{key}", *sys.stdlib_module_names)
            assert not {target for target in targets if not any(belongs(target, one) for one in allowed)}
    for library, importers in IMPORTERS.items():
        if any(belongs(target, library) for target in targets):
            assert any(belongs(name, importer) for importer in importers), f"{name} may not import {library}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_and_functions_are_small(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    n_lines = len(source.splitlines())
    assert n_lines <= MAX_FILE_LINES, "split the file: one noun, one file"
    for name, function in functions(ast.parse(source)):
        assert code_lines(function) <= MAX_FUNCTION_LINES, f"{name} is too long"
        if name not in MANY_ARGUMENTS:
            assert n_arguments(function) <= MAX_ARGUMENTS, f"{name} has too many arguments: group them in a dataclass"


Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield all functions with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        name = f"{prefix}{node.name}" if isinstance(node, Function | ast.ClassDef) else prefix.rstrip(".")
        if isinstance(node, Function):
            yield name, node
        yield from functions(node, f"{name}." if name else "")


def code_lines(function: Function) -> int:
    """Return the number of lines from the def to the end, without the docstring."""
    total = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function, clean=False) is None:
        return total
    docstring = function.body[0]
    return total - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)


def n_arguments(function: Function) -> int:
    """Return the number of arguments, keyword-only ones included, self and cls not."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    starred = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return len([one for one in named if one.arg not in ("self", "cls")]) + len(starred)


# A cycle shows when the wrong module of it comes first, so each comes first once. The package itself is replaced by an
# empty one with the same path: its facade would import everything in one order.
EACH_FIRST = """
import importlib, sys, types
path, *names = sys.argv[1:]
for name in names:
    for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == "viewsplice"]:
        del sys.modules[loaded]
    package = types.ModuleType("viewsplice")
    package.__path__ = [path]
    sys.modules["viewsplice"] = package
    try:
        importlib.import_module("viewsplice." + name)
    except ImportError as error:
        sys.exit(f"{name} cannot be imported first: {error}")
"""


def test_every_module_can_be_imported_first() -> None:
    command = [sys.executable, "-c", EACH_FIRST, str(PACKAGE), *MODULES]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_the_checks_themselves() -> None:
    assert entry("geometry.targets") == 2
    assert entry("geometry.unheard_of") is None
    assert entry("training.loop") == 3
    tree = ast.parse(
        'class C:\n    def f(self, a, *, b, **c):\n        """Doc\n\n        string."""\n        return a\n'
    )
    [(name, function)] = functions(tree)
    assert (name, n_arguments(function), code_lines(function)) == ("C.f", 3, 2)
