"""Tests of .npy and .npz files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewsplice.io import read_array
from viewsplice.io.problems import InputFileError

X = np.arange(6.0).reshape(3, 2)


def test_npy_is_memory_mapped(tmp_path: Path) -> None:
    path = tmp_path / "größe = 1 2.npy"
    np.save(path, X)
    array = read_array(str(path))
    assert isinstance(array, np.memmap)
    assert not array.flags.writeable
    np.testing.assert_array_equal(array, X)


@pytest.mark.parametrize("dtype", [">f8", "<f4", ">i2", "u1", "?", "f2", "i8"])
def test_number_types_come_in_native_byte_order(tmp_path: Path, dtype: str) -> None:
    values = (X % 2).astype(dtype)
    np.save(tmp_path / "x.npy", values)
    array = read_array(str(tmp_path / "x.npy"))
    assert array.dtype.isnative
    assert array.dtype == values.dtype.newbyteorder("=")
    np.testing.assert_array_equal(array, values)


def test_fortran_order(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    array = read_array(str(tmp_path / "x.npy"))
    assert array.flags.f_contiguous
    np.testing.assert_array_equal(array, X)


def test_npz_by_key_or_alone(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", v1=X)
    np.savez_compressed(tmp_path / "two.NPZ.npz", **{"v1": X, "shared/A->B": X + 1})
    np.testing.assert_array_equal(read_array(str(tmp_path / "one.npz")), X)
    np.testing.assert_array_equal(read_array(f"{tmp_path}/two.NPZ.npz:shared/A->B"), X + 1)
    with pytest.raises(InputFileError, match=r"more than one array.*two.NPZ.npz:v1, out of: v1, shared/A->B$"):
        read_array(str(tmp_path / "two.NPZ.npz"))
    with pytest.raises(InputFileError, match=r"one.npz has no array 'v2'; expected one of: v1$"):
        read_array(f"{tmp_path}/one.npz:v2")


def test_extension_in_capitals(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    os.rename(tmp_path / "x.npy", tmp_path / "X.NPY")
    np.testing.assert_array_equal(read_array(str(tmp_path / "X.NPY")), X)


def test_npy_has_no_keys(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(InputFileError, match=r"x.npy is a single array; expected no key, got 'v1'"):
        read_array(f"{tmp_path}/x.npy:v1")


def test_pickles_are_refused(tmp_path: Path) -> None:
    objects: Any = np.array([{"a": 1}], dtype=object)
    np.save(tmp_path / "x.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "x.npz", a=objects)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(InputFileError, match=rf"{name} holds Python objects, which are never unpickled"):
            read_array(str(tmp_path / name))


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_text_under_a_wrong_extension(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("1,2\n3,4\n")
    with pytest.raises(InputFileError, match=rf"{name} is not a .*npy|{name} is not a complete .npz"):
        read_array(str(tmp_path / name))


def test_truncated_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((100, 100)))
    np.savez(tmp_path / "x.npz", a=np.zeros((100, 100)))
    for name in ("x.npy", "x.npz"):
        with (tmp_path / name).open("r+b") as file:
            file.truncate(5000)
    with pytest.raises(InputFileError, match=r"x.npy cannot be read as a NumPy .npy file"):
        read_array(str(tmp_path / "x.npy"))
    with pytest.raises(InputFileError, match=r"x.npz is not a complete .npz file"):
        read_array(str(tmp_path / "x.npz"))


def test_damaged_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.zeros((100, 100)))
    with (tmp_path / "x.npz").open("r+b") as file:
        file.seek(1000)
        file.write(b"damage")
    with pytest.raises(InputFileError, match=r"x.npz cannot be read as a NumPy .npz file \(Bad CRC"):
        read_array(str(tmp_path / "x.npz"))


@pytest.mark.parametrize("values", [np.array(["a"]), np.array([1j]), np.zeros(2, dtype=[("a", "f8")])])
def test_only_real_numbers(tmp_path: Path, values: np.ndarray[Any, Any]) -> None:
    np.save(tmp_path / "x.npy", values)
    with pytest.raises(InputFileError, match=r"x.npy has dtype .*; expected real numbers"):
        read_array(str(tmp_path / "x.npy"))
