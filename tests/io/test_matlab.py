"""Tests of MATLAB files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from scipy import sparse

from viewsplice.io import problems, read_array, read_column
from viewsplice.io.problems import InputFileError

X = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("version", ["4", "5"])
def test_one_variable(tmp_path: Path, version: str) -> None:
    scipy.io.savemat(tmp_path / "x.mat", {"v1": X}, format=version)
    np.testing.assert_array_equal(read_array(str(tmp_path / "x.mat")), X)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_number_types(tmp_path: Path, dtype: str) -> None:
    scipy.io.savemat(tmp_path / "x.mat", {"v1": X.astype(dtype)})
    array = read_array(str(tmp_path / "x.mat"))
    assert array.dtype == dtype
    np.testing.assert_array_equal(array, X)


def test_variables_by_name(tmp_path: Path) -> None:
    cell: Any = np.array([X, X], dtype=object)
    content = {"v1": X, "count": np.arange(3), "note": "text", "cell": cell, "info": {"rate": 30}}
    scipy.io.savemat(tmp_path / "x.mat", content, do_compression=True)
    np.testing.assert_array_equal(read_array(f"{tmp_path}/x.mat:v1"), X)
    np.testing.assert_array_equal(read_column(f"{tmp_path}/x.mat:count"), [0, 1, 2])
    with pytest.raises(InputFileError, match=r"more than one numeric array.*out of: v1, count$"):
        read_array(str(tmp_path / "x.mat"))
    with pytest.raises(InputFileError, match=r"no numeric array 'cell'; expected one of: v1, count$"):
        read_array(f"{tmp_path}/x.mat:cell")


def test_sparse_within_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scipy.io.savemat(tmp_path / "x.mat", {"v1": sparse.csc_array(X)})
    np.testing.assert_array_equal(read_array(str(tmp_path / "x.mat")), X)
    monkeypatch.setattr(problems, "MAX_DENSE_BYTES", X.nbytes)
    assert read_array(str(tmp_path / "x.mat")).shape == (3, 2)
    monkeypatch.setattr(problems, "MAX_DENSE_BYTES", X.nbytes - 1)
    with pytest.raises(InputFileError, match=r"x.mat holds a sparse matrix of shape \(3, 2\)"):
        read_array(str(tmp_path / "x.mat"))


def test_a_sparse_matrix_of_many_gibibytes() -> None:
    with pytest.raises(InputFileError, match=r"needs 74505806.0 GiB when dense; expected at most 4 GiB"):
        problems.densify(sparse.csr_array((10**8, 10**8)), Path("x.mat"))


@pytest.mark.parametrize("content", [b"text", b"text" * 1000])
def test_not_matlab(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.mat").write_bytes(content)
    with pytest.raises(InputFileError, match=r"x.mat cannot be read as a MATLAB file"):
        read_array(str(tmp_path / "x.mat"))


def test_truncated(tmp_path: Path) -> None:
    scipy.io.savemat(tmp_path / "x.mat", {"v1": np.zeros((100, 100))})
    with (tmp_path / "x.mat").open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(InputFileError, match=r"x.mat cannot be read as a MATLAB file"):
        read_array(str(tmp_path / "x.mat"))


@pytest.fixture
def new_mat(tmp_path: Path) -> str:
    """Write what MATLAB's ``save -v7.3`` writes: reversed axes, and a class for each variable."""
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "x.mat"
    cube = np.arange(24.0).reshape(2, 3, 4)
    values = {
        "v1": (X.T, b"double"),
        "cube": (cube.T, b"single"),
        "mask": (np.array([[1, 0]], dtype="u1"), b"logical"),
        "note": (np.array([[116], [104]], dtype="u2"), b"char"),
        "none": (np.array([0, 0], dtype="u8"), b"double"),
    }
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, (stored, kind) in values.items():
            file.create_dataset(name, data=stored, chunks=stored.shape, compression="gzip")
            file[name].attrs["MATLAB_class"] = np.bytes_(kind)
        file["none"].attrs["MATLAB_empty"] = np.uint8(1)
        file.create_group("struct")["x"] = X
        columns = sparse.csc_array(X)
        group = file.create_group("sparse")
        group.attrs["MATLAB_sparse"], group.attrs["MATLAB_class"] = np.uint64(3), np.bytes_(b"double")
        group["data"], group["ir"], group["jc"] = columns.data, columns.indices, columns.indptr
        nothing = file.create_group("zeros")
        nothing.attrs["MATLAB_sparse"], nothing["jc"] = np.uint64(3), np.zeros(3, dtype="u8")
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")
    return str(path)


def test_version_7_3(new_mat: str) -> None:
    np.testing.assert_array_equal(read_array(f"{new_mat}:v1"), X)
    np.testing.assert_array_equal(read_array(f"{new_mat}:cube"), np.arange(24).reshape(2, 3, 4))
    np.testing.assert_array_equal(read_array(f"{new_mat}:sparse"), X)
    np.testing.assert_array_equal(read_array(f"{new_mat}:zeros"), np.zeros((3, 2)))
    mask = read_array(f"{new_mat}:mask")
    assert mask.dtype == bool
    assert mask.tolist() == [[True], [False]]


def test_version_7_3_lists_numbers_only(new_mat: str) -> None:
    with pytest.raises(InputFileError, match=r"more than one numeric array.*: cube, mask, sparse, v1, zeros$"):
        read_array(new_mat)
    for name in ("note", "none", "struct"):
        with pytest.raises(InputFileError, match=rf"no numeric array '{name}'"):
            read_array(f"{new_mat}:{name}")
