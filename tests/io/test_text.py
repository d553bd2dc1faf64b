"""Tests of tables and labels as text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from viewsplice.io import read_array, read_column
from viewsplice.io.problems import InputFileError


def write(path: Path, text: str, encoding: str = "utf-8") -> str:
    path.write_text(text, encoding=encoding)
    return str(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.csv", "1,2\n3,4.5\n"),
        ("x.csv", "a,b\n1,2\n3,4.5\n"),
        ("x.csv", '"neuron 1","neuron, 2"\n1,2\n3,4.5\n'),
        ("x.csv", "a;b\n1;2\n3;4.5"),
        ("x.csv", "\n# written by hand\na, b\n\n1, 2\n3, 4.5\n\n"),
        ("x.tsv", "a\tb\r\n1\t2\r\n3\t4.5\r\n"),
        ("x.txt", "# a b\n1 2\n3   4.5\n"),
        ("x.txt", "1e0,2\n3,4.5\n"),
        ("x.TXT", "a b\n1 2\n3 4.5\n"),
    ],
)
def test_tables(tmp_path: Path, name: str, text: str) -> None:
    np.testing.assert_array_equal(read_array(write(tmp_path / name, text)), [[1, 2], [3, 4.5]])


def test_byte_order_mark(tmp_path: Path) -> None:
    np.testing.assert_array_equal(read_array(write(tmp_path / "x.csv", "1,2\n", "utf-8-sig")), [[1, 2]])
    np.testing.assert_array_equal(read_column(write(tmp_path / "x.csv", "1\n2\n", "utf-8-sig")), [1, 2])


def test_savetxt(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "x.txt", np.eye(3), header="a b c", footer="end")
    np.testing.assert_array_equal(read_array(str(tmp_path / "x.txt")), np.eye(3))


def test_one_column(tmp_path: Path) -> None:
    assert read_array(write(tmp_path / "x.csv", "firing rate\n1\n2\n")).shape == (2, 1)


def test_missing_values_stay(tmp_path: Path) -> None:
    np.testing.assert_array_equal(read_array(write(tmp_path / "x.csv", "nan,1\ninf,2\n")), [[np.nan, 1], [np.inf, 2]])


def test_a_column_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "a,b\n1,2\n3,4\n")
    np.testing.assert_array_equal(read_array(f"{path}:b"), [[2], [4]])
    with pytest.raises(InputFileError, match=r"no column 'c'; expected one of: a, b"):
        read_array(f"{path}:c")
    with pytest.raises(InputFileError, match=r"no header row; expected one that names the column 'b'"):
        read_array(write(tmp_path / "y.csv", "1,2\n") + ":b")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "a,b\n1,2\n3,x\n", "the text 'x' in row 3, column 2; expected a number"),
        ("x.csv", "# c\n\n1,2\n3,\n", "an empty cell in row 4, column 2"),
        ("x.csv", "t,1\n1,2\n", "the text 't' in row 1, column 1"),
        ("x.csv", "1,2\n1_000,2\n", "the text '1_000' in row 2, column 1"),
        ("x.csv", "1;2,5\n", "the text '2,5' in row 1, column 2; expected a number with a decimal point"),
        ("x.csv", "1,2\n3\n", "1 cells in row 2; expected 2"),
        ("x.csv", ",a\n0,1\n", "starts with an empty cell.*row names"),
        ("x.txt", "a b\n0 1 2\n1 3 4\n", "2 names in its header but 3 columns.*row names"),
        ("x.csv", "a,b\n", "holds no rows"),
        ("x.csv", "\n \n# only this\n", "holds no rows"),
    ],
)
def test_bad_tables(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(InputFileError, match=message):
        read_array(write(tmp_path / name, text))


def test_not_text(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"1,2\n\xff\xfe\x00")
    with pytest.raises(
        InputFileError, match=r"x.csv cannot be read as a table of numbers in UTF-8 text \('utf-8' codec"
    ):
        read_array(str(tmp_path / "x.csv"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1\n2\n", [1, 2]),
        ("1\n2.5\n", [1.0, 2.5]),
        ("trial\n1\n2\n", [1, 2]),
        ("left hand\nright hand\n\n", ["left hand", "right hand"]),
        ("a\n1\nb\n", ["a", "1", "b"]),
        ("1_2\n12\n1_3\n", ["1_2", "12", "1_3"]),
        ("#1\n#2\n", ["#1", "#2"]),
        ("100000000000000000001\n100000000000000000002\n", ["100000000000000000001", "100000000000000000002"]),
    ],
)
def test_labels(tmp_path: Path, text: str, expected: list[object]) -> None:
    column = read_column(write(tmp_path / "x.txt", text))
    assert column.dtype == np.array(expected).dtype
    assert column.tolist() == expected


def test_a_header_above_text_shows_in_the_number_of_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "hand\nleft\nright\n")
    assert read_column(path, 2).tolist() == ["left", "right"]
    assert read_column(path, 3).tolist() == ["hand", "left", "right"]
    assert read_column(path).tolist() == ["hand", "left", "right"]
    assert read_column(write(tmp_path / "y.csv", "0\n1\n2\n"), 2).tolist() == [0, 1, 2]


def test_a_label_column_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "donor,age\nd1,30\nd2,40\n")
    assert read_column(f"{path}:donor").tolist() == ["d1", "d2"]
    assert read_column(f"{path}:age").tolist() == [30, 40]


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ("donor,age\nd1,30\n", "", "more than one column; expected a key, as in x.csv:donor"),
        ("donor,age\nd1,30\n", ":sex", "no column 'sex'; expected one of: donor, age"),
        ("donor,age\nd1,30\n,40\n", ":donor", r"no label in row 3 of column 'donor'; .* nan where a number is missing"),
        ("donor,age\nd1\n", ":age", "no label in row 2"),
        ("a\n\nb\n", "", "no label in row 2"),
        ("donor,age\n", ":age", "holds no rows"),
        ("\n\n", "", "holds no rows"),
    ],
)
def test_bad_labels(tmp_path: Path, text: str, key: str, message: str) -> None:
    with pytest.raises(InputFileError, match=message):
        read_column(write(tmp_path / "x.csv", text) + key)
