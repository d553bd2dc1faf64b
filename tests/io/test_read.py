"""Tests of the way from file names to views and columns."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewsplice.io import EXTENSIONS, Source, read, read_array, read_column, read_columns, read_names, read_views
from viewsplice.io.problems import InputFileError

X = np.arange(6.0).reshape(3, 2)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with two files."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", X)
    np.savez("b.npz", v1=X + 1, short=X[:2], flat=X[:, 0])
    return tmp_path


def test_names_by_position(folder: Path) -> None:
    views = read_views(["a.npy", "v1=b.npz:v1", "a.npy"])
    assert views.names == ("A", "v1", "C")
    np.testing.assert_array_equal(views["v1"], X + 1)
    np.testing.assert_array_equal(views["C"], X)


def test_views_stay_memory_mapped(folder: Path) -> None:
    assert isinstance(read_views(["a.npy"])["A"].base, np.memmap)


@pytest.mark.parametrize("sources", [["x=a.npy", "x=b.npz:v1"], ["B=a.npy", "b.npz:v1"]])
def test_equal_names(folder: Path, sources: list[str]) -> None:
    with pytest.raises(ValueError, match=r"more than one view named '[xB]' \(a.npy, b.npz:v1\)"):
        read_views(sources)


def test_equal_names_are_found_before_reading() -> None:
    with pytest.raises(ValueError, match="more than one view"):
        read_views(["x=missing.npy", "x=missing too.npy"])


def test_what_views_refuse_names_the_files(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"'A': 3, 'v': 2\).*\(files: 'A': a.npy, 'v': b.npz:short\)"):
        read_views(["a.npy", "v=b.npz:short"])
    with pytest.raises(ValueError, match=r"view 'B' has shape \(3,\).*\(files: 'A': a.npy, 'B': b.npz:flat\)"):
        read_views(["a.npy", "b.npz:flat"])
    with pytest.raises(ValueError, match="got no views"):
        read_views([])


def test_a_source_in_place_of_a_text(folder: Path) -> None:
    np.testing.assert_array_equal(read_array(Source(None, Path("b.npz"), "flat")), [0, 2, 4])


@pytest.mark.parametrize("call", [read_array, read_column])
def test_files_that_are_not_there(tmp_path: Path, call: Any) -> None:
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "empty.npy").touch()
    (tmp_path / "x.xlsx").write_text("text")
    for name, message in {
        "missing.npy": "missing.npy does not exist",
        "missing.xlsx": "missing.xlsx does not exist",
        "folder.npy": "folder.npy is a folder; expected a file",
        "empty.npy": "empty.npy is empty",
        "x.xlsx": r"x.xlsx has no known extension; expected one of: .npy, .npz, .csv, .tsv, .txt, .mat, .h5, .hdf5, "
        r".zarr, .h5ad, .h5mu, .nwb$",
    }.items():
        with pytest.raises(InputFileError, match=message):
            call(str(tmp_path / name))
    assert len(EXTENSIONS) == 12


def test_without_permission(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK)
    with pytest.raises(InputFileError, match=r"a.npy is not readable"):
        read_array("a.npy")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "a.npy does not fit in memory"),
        (KeyError("x"), r"a.npy cannot be read as a NumPy .npy file \('x'\)"),
        (RuntimeError("two\n  lines"), r"\(two lines\)"),
        (AssertionError(), r"\(AssertionError\)"),
    ],
)
def test_errors_of_other_libraries(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def fail(path: Path, key: str | None) -> Any:
        raise error

    monkeypatch.setitem(read._READERS, ".npy", (fail, "a NumPy .npy file"))
    with pytest.raises(InputFileError, match=message) as caught:
        read_array("a.npy")
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([1, 2], dtype=">i4"), [1, 2]),
        (np.array([[0.5], [1.5]]), [0.5, 1.5]),
        (np.array([[True, False]]), [True, False]),
        (np.array(["left", "rechts ü"]), ["left", "rechts ü"]),
        (np.array([b"a", "ü".encode()]), ["a", "ü"]),
    ],
)
def test_columns(tmp_path: Path, values: np.ndarray[Any, Any], expected: list[object]) -> None:
    np.save(tmp_path / "x.npy", values)
    column = read_column(str(tmp_path / "x.npy"))
    assert column.dtype.isnative
    assert column.tolist() == expected


@pytest.mark.parametrize("shape", [(3, 2), ()])
def test_not_a_column(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "x.npy", np.zeros(shape))
    with pytest.raises(InputFileError, match=r"x.npy has shape .*; expected a single column"):
        read_column(str(tmp_path / "x.npy"))


def test_a_column_of_complex_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([1j]))
    with pytest.raises(InputFileError, match="expected numbers or text labels"):
        read_column(str(tmp_path / "x.npy"))


def test_labels_of_another_encoding(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([b"\xfcber"]))
    with pytest.raises(InputFileError, match=r"x.npy cannot be read as labels in UTF-8"):
        read_column(str(tmp_path / "x.npy"))


def test_a_table_or_an_archive_may_hold_several_columns(tmp_path: Path) -> None:
    table = tmp_path / "known.csv"
    table.write_text("speed,side\n1.5,left\n2.5,right\n")
    found = read_columns(str(table), 2)
    assert list(found) == ["speed", "side"]
    np.testing.assert_array_equal(found["speed"], [1.5, 2.5])
    assert found["side"].tolist() == ["left", "right"]
    assert list(read_columns(f"{table}:side", 2)) == ["side"]
    assert list(read_columns(f"where={table}:side", 2)) == ["where"]
    archive = tmp_path / "known.npz"
    np.savez(archive, x=np.arange(3), y=np.arange(3.0))
    assert {name: len(values) for name, values in read_columns(str(archive)).items()} == {"x": 3, "y": 3}


def test_dates_are_labels_and_those_that_are_missing_are_empty(tmp_path: Path) -> None:
    np.save(tmp_path / "day.npy", np.array(["2024-03-01", "NaT"], dtype="datetime64[D]"))
    assert read_column(str(tmp_path / "day.npy")).tolist() == ["2024-03-01", ""]


def test_covariates_of_a_table_may_lack_values_and_groups_may_not(tmp_path: Path) -> None:
    table = tmp_path / "known.csv"
    table.write_text("speed,side,trial\n1.5,left,1\n,,2\n2,right,\n")
    found = read_columns(str(table), 3)
    np.testing.assert_array_equal(found["speed"], [1.5, np.nan, 2])
    assert found["side"].tolist() == ["left", "", "right"]
    np.testing.assert_array_equal(found["trial"], [1, 2, np.nan])
    with pytest.raises(InputFileError, match="no label in row 4 of column 'trial'"):
        read_column(f"{table}:trial")
    (tmp_path / "alone.csv").write_text("left\n\nright\n")
    assert read_columns(str(tmp_path / "alone.csv"), 3)["alone"].tolist() == ["left", "", "right"]
    table.write_text("speed,side\n1.5,left\n2.5\n")
    with pytest.raises(InputFileError, match="no label in row 3 of column 'side'"):
        read_columns(str(table), 2)


def test_a_single_column_is_called_by_its_file(tmp_path: Path) -> None:
    np.save(tmp_path / "speed.npy", np.arange(3))
    assert list(read_columns(str(tmp_path / "speed.npy"))) == ["speed"]
    (tmp_path / "side.csv").write_text("left\nright\nleft\n")
    assert read_columns(str(tmp_path / "side.csv"), 3)["side"].tolist() == ["left", "right", "left"]
    (tmp_path / "blank.txt").write_text("1\n2\n")
    assert read_columns(str(tmp_path / "blank.txt"))["blank"].tolist() == [1, 2]
    with pytest.raises(InputFileError, match="does not exist"):
        read_columns(str(tmp_path / "missing.npy"))


def test_names_of_features_come_from_a_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n1,n2\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("1,2\n3,4\n")
    np.save(tmp_path / "c.npy", np.zeros((2, 2)))
    assert read_names(str(tmp_path / "a.csv")) == ["n1", "n2"]
    assert read_names(str(tmp_path / "b.csv")) is None
    assert read_names(str(tmp_path / "c.npy")) is None
    assert read_names(f"{tmp_path / 'a.csv'}:n1") is None
