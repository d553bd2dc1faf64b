"""Input files that are damaged or made to do harm: always one line that says so, or numbers; no code is run."""

from __future__ import annotations

import ast
import json
import os
import pickle
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from scipy import sparse

from tests.hostile import check_refusal, cut, flip, limits, start_clock
from viewsplice.io import read_array, read_column, read_columns, read_latents
from viewsplice.io.problems import InputFileError

X = np.random.default_rng(0).normal(size=(20, 5))
FEW = sparse.csc_array(X * (X > 1))


def write_h5(path: Path, **options: Any) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=X, **options)


WRITERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "npy": ("x.npy", lambda path: np.save(path, X)),
    "npz": ("x.npz", lambda path: np.savez(path, x=X)),
    "compressed npz": ("x.npz", lambda path: np.savez_compressed(path, x=X)),
    "mat": ("x.mat", lambda path: scipy.io.savemat(path, {"x": X})),
    "compressed mat": ("x.mat", lambda path: scipy.io.savemat(path, {"y": FEW, "x": X}, do_compression=True)),
    "sparse mat": ("x.mat", lambda path: scipy.io.savemat(path, {"x": FEW})),
    "csv": ("x.csv", lambda path: np.savetxt(path, X, delimiter=",")),
    "h5": ("x.h5", write_h5),
    "compressed h5": ("x.h5", lambda path: write_h5(path, chunks=(5, 5), compression="gzip")),
}


def fuzz(form: str, folder: Path, n_files: int, seed: int) -> set[str]:
    """Return what became of so many changed files of one form."""
    name, write = WRITERS[form]
    path, rng, outcomes = folder / name, np.random.default_rng(seed), set()
    write(path)
    content = path.read_bytes()
    key = ":x" if path.suffix == ".mat" else ""
    with limits(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(n_files):
            kind = number % 3
            path.write_bytes(cut(content, rng) if kind == 0 else flip(content, rng, None if kind == 1 else 300))
            start_clock()
            try:
                found = read_array(f"{path}{key}")
            except InputFileError as error:
                check_refusal(error, path, may_lack_memory=path.suffix == ".mat")
                outcomes.add("refused")
            else:
                assert np.asarray(found).dtype.kind in "fiub"
                outcomes.add("read")
    return outcomes


@pytest.mark.parametrize("form", WRITERS)
def test_damaged_files_are_refused_or_read(tmp_path: Path, form: str) -> None:
    assert fuzz(form, tmp_path, 150, seed=0) == {"refused", "read"}


@pytest.mark.slow
@pytest.mark.parametrize("form", WRITERS)
def test_many_damaged_files_are_refused_or_read(tmp_path: Path, form: str) -> None:
    assert fuzz(form, tmp_path, 3000, seed=1) == {"refused", "read"}


class Harm:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_no_reader_unpickles(tmp_path: Path) -> None:
    harm: Any = np.array([[Harm(tmp_path / "done")]], dtype=object)
    np.save(tmp_path / "x.npy", harm, allow_pickle=True)
    np.savez(tmp_path / "x.npz", **{"x": harm, "private/A": harm})
    (tmp_path / "plain.npy").write_bytes(pickle.dumps(harm))
    (tmp_path / "plain.npz").write_bytes(pickle.dumps(harm))
    (tmp_path / "plain.mat").write_bytes(pickle.dumps(harm))
    for name in ("x.npy", "x.npz:x", "plain.npy", "plain.npz", "plain.mat"):
        for read in (read_array, read_column, read_columns):
            with pytest.raises(InputFileError):
                read(f"{tmp_path}/{name}")
    with pytest.raises(InputFileError):
        read_latents(tmp_path / "x.npz")
    assert not (tmp_path / "done").exists()


@pytest.mark.parametrize("filters", [[{"id": "pickle"}], [{"id": "vlen-utf8"}, {"id": "pickle"}]])
def test_zarr_does_not_unpickle_either(
    tmp_path: Path, filters: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("zarr")
    folder = tmp_path / "x.zarr"
    folder.mkdir()
    about = {"zarr_format": 2, "shape": [1, 1], "chunks": [1, 1], "dtype": "|O", "compressor": None, "order": "C"}
    (folder / ".zarray").write_text(json.dumps({**about, "fill_value": "", "filters": filters}))
    (folder / "0.0").write_bytes(pickle.dumps(Harm(tmp_path / "done")))
    # As numcodecs was before it learned to refuse.
    monkeypatch.setattr("numcodecs.pickles.ALLOW_PICKLE_DECODE", True, raising=False)
    for read in (read_array, read_column):
        with pytest.raises(InputFileError):
            read(str(folder))
    assert not (tmp_path / "done").exists()


def test_the_package_has_no_pickle() -> None:
    """Not in what it writes or reads; worker processes and scikit-learn have their own."""
    found = []
    for path in (Path(__file__).parents[2] / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            if {"pickle", "dill", "cloudpickle", "shelve", "marshal"} & {name.split(".")[0] for name in names}:
                found.append(f"{path.name}:{node.lineno}")
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                arguments = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                is_pickle = called in ("torch.load", "torch.save", "joblib.load", "joblib.dump", "eval", "exec")
                if is_pickle or arguments.get("allow_pickle") == "True":
                    found.append(f"{path.name}:{node.lineno}")
                if called == "np.load":
                    assert arguments.get("allow_pickle") == "False", f"{path.name}:{node.lineno}"
    assert not found


def element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def mat_file(kind: int = 9, count: int = 4, shape: tuple[int, ...] = (2, 2), flags: int = 6) -> bytes:
    """Return a MATLAB 5 file of one variable, ``x``, which may claim what cannot be."""
    inner = element(6, struct.pack("<II", flags, 0)) + element(5, struct.pack(f"<{len(shape)}i", *shape))
    inner += element(1, b"x") + element(kind, np.arange(float(count)).tobytes())
    return b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + element(14, inner)


def test_a_matlab_file_by_hand(tmp_path: Path) -> None:
    (tmp_path / "x.mat").write_bytes(mat_file())
    np.testing.assert_array_equal(read_array(f"{tmp_path}/x.mat"), [[0, 2], [1, 3]])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": 200}, "numbers of type 200, which MATLAB does not know"),
        ({"kind": 2**31}, "bytes in a tag; expected at most 4"),
        ({"shape": (2**30, 2)}, r"4 numbers for the shape \(1073741824, 2\)"),
        ({"shape": (-2, -2)}, "expected an array of numbers|negative"),
        ({"shape": (4,)}, "expected an array of numbers"),
        ({"flags": 6 | 0x0800}, "complex numbers in 'x'; expected real ones"),
    ],
)
def test_matlab_elements_that_cannot_be(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    (tmp_path / "x.mat").write_bytes(mat_file(**changes))
    with pytest.raises(InputFileError, match=rf"x.mat cannot be read as a MATLAB file \(.*({reason})"):
        read_array(f"{tmp_path}/x.mat")


def test_a_sparse_matrix_whose_indices_point_elsewhere(tmp_path: Path) -> None:
    wrong = sparse.csc_array(X)
    scipy.io.savemat(tmp_path / "x.mat", {"x": wrong})
    content = (tmp_path / "x.mat").read_bytes()
    rows = np.arange(20, dtype="<i4").tobytes()
    assert rows in content
    (tmp_path / "x.mat").write_bytes(content.replace(rows, np.full(20, 10**9, dtype="<i4").tobytes(), 1))
    with pytest.raises(InputFileError, match=r"cannot be read as a MATLAB file \(.*ind"):
        read_array(f"{tmp_path}/x.mat")


def test_names_in_a_file_do_not_reach_the_terminal_as_they_are(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", **{"\x1b[31mred\n\r": X, "long" * 1000: X})
    with pytest.raises(InputFileError, match=r"out of: .\[31mred, longlong.*\.\.\.$") as caught:
        read_array(f"{tmp_path}/x.npz")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
