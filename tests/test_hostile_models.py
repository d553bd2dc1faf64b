"""Saved models: those of every format version are loaded; a changed file is refused in words, or a whole model."""

from __future__ import annotations

import copy
import json
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fixtures.make_models import EXAMPLES, MODELS, results, write_missing
from tests.hostile import check_refusal, cut, flip, limits, start_clock
from viewsplice import SPLICE
from viewsplice.persistence import FORMAT_VERSION

FILES = sorted(MODELS.rglob("*.splice"))
HOSTILE: list[Any] = [
    *(0, -1, 1, 2, 3, 10**6, 10**9, 2**31, 2**53 + 1, 2**63, 2**64, 10**30, 10**400, -(10**18)),
    *(0.5, -0.5, 1e-300, 1e300, float("nan"), float("inf"), -float("inf")),
    *(
        "",
        "x",
        "auto",
        "paper",
        "1",
        "A->B",
        "../../etc/passwd",
        "a\nb\r\nc",
        "\x00",
        "\ud800",
        "🜁" * 5000,
        "f" * 100_000,
    ),
    *(
        None,
        True,
        False,
        [],
        {},
        [[]],
        [0],
        [-1, -1],
        [1] * 40,
        [2**62, 2**62],
        [1.5],
        ["a"],
        [None],
        list(range(20_000)),
    ),
    *({"kind": "MLPNetworks", "hidden": [1] * 50_000}, {"kind": "ResidualNetworks", "width": 2, "n_blocks": 10**9}),
    *({"kind": "ConvNetworks", "channels": [10**9]}, {"kind": "custom", "type": "x"}, {"kind": "DiffusionDistance"}),
    *({"kind": ["a"]}, {"kind": "DiffusionDistance", "n_neighbors": 10**30}, {"": ""}, {"A": {"A": {"A": {}}}}),
]


def hostile(rng: np.random.Generator) -> Any:
    return copy.deepcopy(HOSTILE[int(rng.integers(len(HOSTILE)))])


def nested(depth: int) -> Any:
    """Return a list in a list in a list."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def unpacked(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header of a safetensors file and what follows it."""
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def packed(header: dict[str, Any] | str, data: bytes) -> bytes:
    """Return a file with any header, be it possible or not."""
    text = (header if isinstance(header, str) else json.dumps(header)).encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(text)) + text + data


def flip_some(content: bytes, rng: np.random.Generator) -> bytes:
    # As often in the header as anywhere.
    return flip(content, rng, None if rng.random() < 0.5 else 8 + struct.unpack("<Q", content[:8])[0])


def lengthen(content: bytes, rng: np.random.Generator) -> bytes:
    (length,) = struct.unpack("<Q", content[:8])
    claimed = [0, 1, 7, length - 1, length + 1, len(content), 2**31, 2**63 - 1, 2**64 - 1, int(rng.integers(2**62))]
    return struct.pack("<Q", claimed[int(rng.integers(len(claimed)))]) + content[8:]


def places_in(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return every (container, key) below a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found.append((value, key))
        places_in(inner, found)
    return found


def replace_value(content: bytes, rng: np.random.Generator) -> bytes:
    """Put hostile values into the JSON of the model, take some away, or give them other names."""
    outer, data = unpacked(content)
    header = json.loads(outer["__metadata__"]["viewsplice"])
    for _ in range(int(rng.integers(1, 4))):
        # Parts as a whole as often as what is deep in the history.
        places = [place for part in [header, *header.values()] for place in places_in(part, [])]
        groups = [[(header, key) for key in header], places]
        choice = groups[int(rng.integers(2))]
        container, key = choice[int(rng.integers(len(choice)))]
        kind = rng.integers(4)
        if kind == 0 and isinstance(container, dict):
            value = container.pop(key)
            if rng.random() < 0.5:
                container[str(hostile(rng))[:50]] = value
        elif kind == 1 and isinstance(container[key], dict | list):
            value = hostile(rng)
            container[key] = (
                [value, *container[key]] if isinstance(container[key], list) else {**container[key], "x": value}
            )
        else:
            container[key] = hostile(rng)
    outer["__metadata__"]["viewsplice"] = json.dumps(header)
    if rng.random() < 0.02:
        outer["__metadata__"]["viewsplice"] = "[" * int(rng.integers(10, 200_000))
    if rng.random() < 0.02:
        outer["__metadata__"]["viewsplice"] = json.dumps({**header, "choices": nested(int(rng.integers(5, 400)))})
    if rng.random() < 0.02:
        outer["__metadata__"]["viewsplice"] = json.dumps(header)[:-1] + ', "seed": ' + "9" * 5000 + "}"
    return packed(outer, data)


def replace_tensor(content: bytes, rng: np.random.Generator) -> bytes:
    """Claim another type, shape, place or name for a tensor, or give it other values."""
    outer, data = unpacked(content)
    name = [key for key in outer if key != "__metadata__"][int(rng.integers(len(outer) - 1))]
    entry, kind = outer[name], rng.integers(6)
    start, end = entry["data_offsets"]
    if kind == 0:
        entry["dtype"] = ["F64", "F16", "BF16", "I64", "I32", "U8", "BOOL", "F8_E4M3", "C64", "object"][
            int(rng.integers(10))
        ]
    elif kind == 1:
        shapes = [entry["shape"][::-1], [], [0, 10**18], [-1], [10**9, 10**9], [1, *entry["shape"]], [end - start]]
        entry["shape"] = shapes[int(rng.integers(len(shapes)))]
    elif kind == 2:
        entry["data_offsets"] = [[start, 2**63], [end, start], [0, end], [-1, 5], [start, start]][int(rng.integers(5))]
    elif kind == 3:
        outer[["x", "networks/x", "mean/../A", "axes/A", "split/train", ""][int(rng.integers(6))]] = outer.pop(name)
    elif kind == 4:
        twice = json.dumps({name: entry})[1:-1]
        return packed(json.dumps(outer)[:-1] + f", {twice}}}", data)
    else:
        value = [np.nan, np.inf, -1.0, 3e38, 0.0][int(rng.integers(5))]
        dtype = {"F64": "<f8", "F32": "<f4", "I64": "<i8"}[entry["dtype"]]
        values = np.frombuffer(data[start:end], dtype=dtype).copy()
        if values.size:
            values[int(rng.integers(values.size))] = value if dtype != "<i8" else int(rng.choice([-1, 2**62, 60, 0]))
        data = data[:start] + values.tobytes() + data[end:]
    return packed(outer, data)


MUTATIONS: list[Callable[[bytes, np.random.Generator], bytes]] = [
    *(flip_some, cut, lengthen),
    *(replace_value, replace_value, replace_value),
    *(replace_tensor, replace_tensor),
]


def use(model: SPLICE, folder: Path) -> None:
    """Do with a model what can be done with it."""
    shapes = {name: s.shape for name, s in model.fitted_.standardizers.items()}
    views = {
        name: np.zeros((3, *shape)) + model.fitted_.standardizers[name].mean.reshape(shape)
        for name, shape in shapes.items()
    }
    for name, x in results(model, views).items():
        assert x.shape[0] == 3, name
    assert isinstance(repr(model), str)
    assert isinstance(model.notes_, list)
    assert model.n_neighbors_.keys() == model.geometry_.keys()
    model.save(folder / "again")


def outcome(path: Path) -> str:
    """Return what became of a file: refused in words, or a model that can be used."""
    start_clock()
    try:
        model = SPLICE.load(path)
    except ValueError as error:
        check_refusal(error, path)
        return "refused"
    use(model, path.parent)
    return "loaded"


def fuzz(seed: int, n_files: int, folder: Path) -> dict[str, int]:
    """Return how many of so many changed files were refused and how many loaded."""
    rng = np.random.default_rng(seed)
    contents = [path.read_bytes() for path in FILES]
    counts = {"refused": 0, "loaded": 0}
    with limits(), warnings.catch_warnings():
        # Weights of 1e38 overflow, as they must.
        warnings.simplefilter("ignore")
        for number in range(n_files):
            mutation = MUTATIONS[int(rng.integers(len(MUTATIONS)))]
            path = folder / "m.splice"
            path.write_bytes(mutation(contents[int(rng.integers(len(contents)))], rng))
            try:
                counts[outcome(path)] += 1
            except BaseException as error:
                raise AssertionError(f"file {number} of seed {seed}, by {mutation.__name__}: {error!r}") from error
    return counts


def test_changed_files_are_refused_or_whole(tmp_path: Path) -> None:
    counts = fuzz(0, 300, tmp_path)
    # Both happen: some changes make another model, and most make none.
    assert counts["refused"] > 150
    assert counts["loaded"] > 15


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_many_changed_files_are_refused_or_whole(tmp_path: Path, seed: int) -> None:
    assert sum(fuzz(seed, 1000, tmp_path).values()) == 1000


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_models_of_every_format_version_are_loaded(path: Path) -> None:
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as archive:
        stored = dict(archive)
    views = {name.removeprefix("views/"): stored.pop(name) for name in list(stored) if name.startswith("views/")}
    found = results(SPLICE.load(path), views)
    assert found.keys() == stored.keys()
    for name, x in stored.items():
        assert found[name].dtype == x.dtype
        # Another machine may round otherwise.
        np.testing.assert_allclose(found[name], x, rtol=1e-4, atol=1e-5, err_msg=name)


def test_every_kind_of_model_is_kept() -> None:
    """A new format version, network or recipe needs models of its own: run tests.fixtures.make_models."""
    present = {path.stem for path in FILES if path.parent.name == f"format-{FORMAT_VERSION}"}
    assert present == set(EXAMPLES)
    assert {path.parent.name for path in FILES} == {f"format-{n}" for n in range(1, FORMAT_VERSION + 1)}


def test_models_are_made_once(tmp_path: Path) -> None:
    (tmp_path / "mlp-auto.splice").write_bytes(b"as it was")
    made = write_missing(tmp_path)
    assert {path.stem for path in made} == set(EXAMPLES) - {"mlp-auto"}
    assert (tmp_path / "mlp-auto.splice").read_bytes() == b"as it was"
    for path in made:
        assert (
            SPLICE.load(path).get_params() == SPLICE.load(MODELS / f"format-{FORMAT_VERSION}" / path.name).get_params()
        )
