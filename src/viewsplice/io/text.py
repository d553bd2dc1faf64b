"""Tables as text: numbers for views (.csv, .tsv, .txt), and one column of numbers or labels."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from viewsplice._types import Array
from viewsplice.io.problems import InputFileError, choose

_ENCODING = "utf-8-sig"
_COMMENT = "#"


@dataclass(frozen=True)
class _Layout:
    """How a table is written: None as delimiter means blanks; ``n_skipped`` lines come before the numbers."""

    delimiter: str | None
    header: tuple[str, ...]
    n_skipped: int


def read_table(path: Path, key: str | None) -> Array:
    """Return the numbers of a table, (rows, columns); ``key`` is one column of the header row, (rows, 1).

    The first row is a header when none of its cells is a number. Lines that start with ``#`` are comments.
    """
    layout = _layout(path)
    if key is not None and not layout.header:
        raise InputFileError(f"{path} has no header row; expected one that names the column {key!r}")
    column = None if key is None else layout.header.index(choose(path, key, layout.header, "column"))
    try:
        table = np.loadtxt(
            path,
            delimiter=layout.delimiter,
            skiprows=layout.n_skipped,
            usecols=column,
            quotechar='"',
            comments=_COMMENT,
            encoding=_ENCODING,
            ndmin=2,
        )
    except ValueError as error:
        raise _located(path, layout, error) from error
    if layout.header and column is None and table.shape[1] != len(layout.header):
        raise InputFileError(
            f"{path} has {len(layout.header)} names in its header but {table.shape[1]} columns; expected one name per "
            "column: if the first column holds row names, write the file without them"
        )
    return table


def read_labels(path: Path, key: str | None, n_rows: int | None = None, *, may_lack: bool = False) -> Array:
    """Return one column as numbers or, when a cell is not a number, as text, (rows,).

    Parameters
    ----------
    path
        A table with a single column, or with a header row.
    key
        The column, named by the header row. Without it the first row is a header if it is the only text above
        numbers, or the one row too many.
    n_rows
        How many rows are expected, if known.
    may_lack
        Whether cells may be empty: NaN among numbers, an empty text among labels.
    """
    with path.open(encoding=_ENCODING, newline="") as file:
        delimiter = _delimiter(file.readline()) or ","
        file.seek(0)
        rows = [[cell.strip() for cell in row] for row in csv.reader(file, delimiter=delimiter)]
    while rows and not any(rows[-1]):
        rows.pop()
    if not rows:
        raise _no_rows(path)
    name = choose(path, key, rows[0], "column") if key is not None or len(rows[0]) > 1 else None
    place = 0 if name is None else rows[0].index(name)
    cells = [_label(path, rows, line, place, may_lack=may_lack) for line in range(1, len(rows) + 1)]
    # What is missing is no label either: it decides nothing.
    is_number = [not cell or _is_number(cell) for cell in cells]
    only_first_is_text = len(cells) > 1 and not is_number[0] and all(is_number[1:])
    n_header = int(name is not None or only_first_is_text or (len(cells) - 1 == n_rows and not is_number[0]))
    if len(cells) == n_header:
        raise _no_rows(path)
    return _as_column(cells[n_header:]) if all(is_number[n_header:]) else np.array(cells[n_header:])


def _label(path: Path, rows: Sequence[Sequence[str]], line: int, place: int, *, may_lack: bool) -> str:
    """Return a cell of a line counted from 1; the only one of a column alone may be missing as an empty line."""
    row = rows[line - 1]
    is_there = place < len(row) or len(rows[0]) == 1
    if is_there and (may_lack or any(row[place : place + 1])):
        return row[place] if place < len(row) else ""
    column = f" of column {rows[0][place]!r}" if len(rows[0]) > 1 else ""
    raise InputFileError(
        f"{path} has no label in row {line}{column}; expected one in every row: nan where a number is missing"
    )


def column_names(path: Path) -> list[str]:
    """Return the names in the header row of a table; none without a header, or where blanks part the columns."""
    layout = _layout(path)
    return [] if layout.delimiter is None else list(layout.header)


def _as_column(cells: Sequence[str]) -> Array:
    """Return numbers as integers if all of them are; very long ones stay text, so that no two become equal."""
    try:
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    except ValueError:
        return np.array([float(cell or "nan") for cell in cells])
    except OverflowError:
        return np.array(cells)


def _layout(path: Path) -> _Layout:
    lines = _lines(path)
    n_before, first = next(lines, (0, ""))
    if not first:
        raise _no_rows(path)
    delimiter = _delimiter(first) or (None if path.suffix.lower() == ".txt" else ",")
    cells = _cells(first, delimiter)
    if len(cells) > 1 and not cells[0]:
        raise InputFileError(
            f"{path} starts with an empty cell; expected numbers, or a header that names every column: "
            "if the first column holds row names, write the file without them"
        )
    if any(_is_number(cell) for cell in cells):
        return _Layout(delimiter, (), n_before)
    if next(lines, None) is None:
        raise _no_rows(path)
    return _Layout(delimiter, tuple(cells), n_before + 1)


def _no_rows(path: Path) -> InputFileError:
    return InputFileError(f"{path} holds no rows; expected at least one, below an optional header row")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (lines before it, text) of each line that is neither blank nor a comment."""
    with path.open(encoding=_ENCODING) as file:
        for n_before, line in enumerate(file):
            if line.strip() and not line.startswith(_COMMENT):
                yield n_before, line.rstrip("\n")


def _delimiter(line: str) -> str | None:
    return next((sign for sign in ("\t", ";", ",") if sign in line), None)


def _cells(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _located(path: Path, layout: _Layout, error: ValueError) -> InputFileError:
    """Return an error that names the first cell that is not a number, or the first row of another length."""
    width = None
    for n_before, line in _lines(path):
        if n_before < layout.n_skipped:
            continue
        cells = _cells(line, layout.delimiter)
        width = len(cells) if width is None else width
        if len(cells) != width:
            return InputFileError(
                f"{path} has {len(cells)} cells in row {n_before + 1}; expected {width}, as before it"
            )
        for column, cell in enumerate(cells, start=1):
            if not _is_number(cell):
                got = f"the text {cell!r}" if cell else "an empty cell"
                return InputFileError(
                    f"{path} has {got} in row {n_before + 1}, column {column}; expected a number with a decimal point, "
                    "or at the top one header row of names: correct the cell or remove its row or column"
                )
    return InputFileError(f"{path} is not a table of numbers ({' '.join(str(error).split())}); expected plain numbers")
