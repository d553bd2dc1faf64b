"""Tests of Zarr folders."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from viewsplice.io import read_array, read_column
from viewsplice.io.problems import InputFileError

zarr = pytest.importorskip("zarr")

X = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("version", [2, 3])
def test_one_array(tmp_path: Path, version: int) -> None:
    zarr.create_array(str(tmp_path / "x.zarr"), data=X.astype(">f4"), zarr_format=version)
    array = read_array(str(tmp_path / "x.zarr"))
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array, X)
    with pytest.raises(InputFileError, match="single array; expected no key, got 'v1'"):
        read_array(f"{tmp_path}/x.zarr:v1")


def test_a_group(tmp_path: Path) -> None:
    group = zarr.open_group(str(tmp_path / "x.zarr"), mode="w")
    group.create_array("session/v1", data=X)
    np.testing.assert_array_equal(read_array(str(tmp_path / "x.zarr")), X)
    group.create_array("lgn", data=X + 1)
    np.testing.assert_array_equal(read_array(f"{tmp_path}/x.zarr:/session/v1"), X)
    with pytest.raises(InputFileError, match=r"more than one array.*out of: lgn, session/v1$"):
        read_array(str(tmp_path / "x.zarr"))
    with pytest.raises(InputFileError, match=r"no array 'session'; expected one of: lgn, session/v1$"):
        read_array(f"{tmp_path}/x.zarr:session")


def test_text_labels(tmp_path: Path) -> None:
    labels = zarr.create_array(str(tmp_path / "x.zarr"), shape=(2,), dtype=str, zarr_format=2)
    labels[:] = np.array(["left", "ü"])
    column = read_column(str(tmp_path / "x.zarr"))
    assert column.dtype.kind == "U"
    assert column.tolist() == ["left", "ü"]


def test_not_a_zarr_folder(tmp_path: Path) -> None:
    (tmp_path / "empty.zarr").mkdir()
    (tmp_path / "file.zarr").write_text("text")
    with pytest.raises(InputFileError, match=r"empty.zarr cannot be read as a Zarr folder"):
        read_array(str(tmp_path / "empty.zarr"))
    with pytest.raises(InputFileError, match=r"file.zarr is a file; expected a folder"):
        read_array(str(tmp_path / "file.zarr"))


def test_without_zarr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zarr", None)
    (tmp_path / "x.zarr").mkdir()
    with pytest.raises(InputFileError, match=r"needs zarr, which is not installed: pip install viewsplice\[io\]"):
        read_array(str(tmp_path / "x.zarr"))
