from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from viewsplice import views as module
from viewsplice.views import (
    Views,
    arrow,
    arrows,
    as_array,
    as_views,
    check_name,
    default_names,
    endpoints,
    is_arrow,
    row_blocks,
)

A = np.arange(12.0).reshape(4, 3)
B = np.arange(8.0).reshape(4, 2)


def test_arrows_are_all_ordered_pairs_in_view_order() -> None:
    assert arrows(("A", "B")) == ("A->B", "B->A")
    assert arrows("ABC") == ("A->B", "A->C", "B->A", "B->C", "C->A", "C->B")
    assert arrows(("A",)) == ()


@pytest.mark.parametrize(("source", "target"), [("A", "B"), ("a-", ">b"), (">", "-"), ("view 1", "ü:[0]")])
def test_endpoints_undo_arrow(source: str, target: str) -> None:
    assert endpoints(arrow(source, target)) == (source, target)
    assert is_arrow(arrow(source, target))
    assert not is_arrow(source)


def test_default_names_go_on_after_z() -> None:
    assert default_names(3) == ("A", "B", "C")
    assert default_names(28)[25:] == ("Z", "AA", "AB")
    assert len(set(default_names(702))) == 702
    with pytest.raises(ValueError, match=r"got 703 views; expected at most 702"):
        default_names(703)


@pytest.mark.parametrize("name", ["", "a.b", "a->b", "a/b", "a=b"])
def test_names_that_clash_with_file_or_module_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not allowed: expected a non-empty text without"):
        check_name(name)


@pytest.mark.parametrize("name", ["keys", "type", "forward", "training", "_modules"])
def test_names_that_torch_reserves_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name!r} is reserved by torch.nn.ModuleDict: choose another"):
        check_name(name)


def test_a_name_must_be_text() -> None:
    with pytest.raises(TypeError, match="view name 1 is a int; expected a string"):
        Views({1: A})  # type: ignore[dict-item]


def _memmap(folder: Path) -> np.ndarray[Any, Any]:
    np.save(folder / "a.npy", A)
    return np.load(folder / "a.npy", mmap_mode="r")  # type: ignore[no-any-return]


def test_every_numeric_container_holds_the_same_values(tmp_path: Path) -> None:
    forms: list[Any] = [A.astype(kind) for kind in ("f2", "f4", "f8", "i1", "u2", "i8", ">f8", "O")]
    forms += [np.asfortranarray(A), A.tolist(), pd.DataFrame(A), _memmap(tmp_path), torch.tensor(A)]
    forms += [torch.tensor(A, requires_grad=True), torch.tensor(A, dtype=torch.bfloat16)]
    for form in forms:
        np.testing.assert_array_equal(as_array(form, "x"), A)
    assert as_array(A > 3, "x").dtype == bool


def test_plain_arrays_and_memory_maps_are_not_copied(tmp_path: Path) -> None:
    mapped = _memmap(tmp_path)
    assert np.shares_memory(as_array(A, "x"), A)
    assert np.shares_memory(as_array(mapped, "x"), mapped)


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([["a", "b"]], TypeError, "view 'x' has dtype <U1; expected numeric data"),
        (np.array([["a", 1.0]], dtype=object), TypeError, "holds objects that are not numbers .*; expected numeric"),
        (pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}), TypeError, "holds objects that are not numbers"),
        (A + 1j, TypeError, "is complex; expected real numbers"),
        (A.astype("M8[s]"), TypeError, "has dtype datetime64"),
        (torch.tensor(A).to_sparse(), TypeError, "is a sparse tensor; expected a dense one: pass .to_dense()"),
        (torch.tensor(A, device="meta"), TypeError, "is a tensor of torch.float64 on meta, which NumPy cannot hold"),
        (torch.tensor(A).to(torch.float8_e4m3fn), TypeError, "is a tensor of torch.float8_e4m3fn on cpu, which NumPy"),
        (list(np.ma.masked_array(A, A > 3)), TypeError, "is a masked array; expected complete data"),
        (np.array([[10**400, 1]], dtype=object), TypeError, "holds objects that are not numbers"),
        (scipy.sparse.csr_array(A), TypeError, "is a sparse matrix; expected a dense array: pass .toarray()"),
        (np.ma.masked_array(A, A > 3), TypeError, "is a masked array; expected complete data"),
        ([[1, 2], [3]], ValueError, "view 'x' is ragged: expected rows of equal length"),
        (A[:, 0], ValueError, r"has shape \(4,\); expected \(rows, features\): reshape a single feature to \(n, 1\)"),
        (None, ValueError, r"has shape \(\)"),
        (A[:0], ValueError, r"is empty: shape \(0, 3\)"),
        (A[:, :0], ValueError, r"is empty: shape \(4, 0\)"),
    ],
)
def test_what_is_no_view_says_so(values: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        as_array(values, "x")


def test_views_are_named_and_ordered() -> None:
    named = Views({"v1": B, "lgn": A})
    assert named.names == ("v1", "lgn")
    assert named.shape == (4,)
    assert len(named) == 4
    assert named.feature_shapes == {"v1": (2,), "lgn": (3,)}
    assert "v1" in named
    assert "A" not in named
    np.testing.assert_array_equal(named["lgn"], A)
    assert Views([A, B]).names == ("A", "B")
    assert repr(Views([A, B], groups=[1, 1, 2, 2])) == "Views(A: (4, 3), B: (4, 2), with groups)"
    with pytest.raises(KeyError, match="no view 'x'; there are"):
        named["x"]


@pytest.mark.parametrize(
    ("key", "rows"),
    [
        (2, [2]),
        (np.int64(-1), [3]),
        (slice(1, 3), [1, 2]),
        ([3, 0], [3, 0]),
        (np.array([True, False, False, True]), [0, 3]),
        (([1, 2], Ellipsis), [1, 2]),
    ],
)
def test_row_indexing_takes_the_same_rows_everywhere(key: Any, rows: list[int]) -> None:
    taken = Views({"a": A, "b": B}, groups=["w", "x", "y", "z"])[key]
    np.testing.assert_array_equal(taken["a"], A[rows])
    np.testing.assert_array_equal(taken["b"], B[rows])
    assert taken.groups.tolist() == [["w", "x", "y", "z"][row] for row in rows]


def test_views_of_views_keep_groups_unless_given_others() -> None:
    grouped = Views([A, B], groups=[0, 0, 1, 1])
    assert Views(grouped).groups.tolist() == [0, 0, 1, 1]  # type: ignore[union-attr]
    assert Views(grouped, groups=[5, 6, 7, 8]).groups.tolist() == [5, 6, 7, 8]  # type: ignore[union-attr]
    copy = pickle.loads(pickle.dumps(grouped))
    np.testing.assert_array_equal(copy["B"], B)
    assert copy.groups.tolist() == [0, 0, 1, 1]


def test_views_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match=r"different numbers of rows \('A': 4, 'B': 3\); expected paired rows"):
        Views([A, B[:3]])
    with pytest.raises(ValueError, match="got no views; expected at least one"):
        Views([])
    with pytest.raises(ValueError, match=r"groups has shape \(3,\); expected one label per row: \(4,\)"):
        Views([A, B], groups=[1, 2, 3])
    for missing in ([1.0, np.nan, np.nan, 2.0], np.array(["2020", "NaT", "NaT", "2021"], dtype="datetime64[Y]")):
        with pytest.raises(ValueError, match=r"groups lacks 2 labels \(NaN\); expected one for every row"):
            Views([A, B], groups=missing)
    with pytest.raises(TypeError, match="groups is a masked array; expected a label for every row"):
        Views([A, B], groups=np.ma.masked_array([1, 2, 3, 4], mask=[True, False, False, False]))
    with pytest.raises(ValueError, match=r"groups has shape \(4, 1\)"):
        Views([A, B], groups=[[1], [1], [2], [2]])
    with pytest.raises(TypeError, match=r"groups mixes labels of types \['NoneType', 'int', 'str'\]; expected"):
        Views([A, B], groups=np.array([1, "a", None, 2], dtype=object))


def test_all_input_forms_become_the_same_views() -> None:
    made = Views([A, B])
    assert as_views(made) is made
    forms = [as_views(A, B), as_views([A, B]), as_views((A, B)), as_views({"A": A, "B": B}), as_views(A, B.tolist())]
    for form in forms:
        assert form.names == ("A", "B")
        np.testing.assert_array_equal(form["B"], B)


def test_known_names_are_given_in_order() -> None:
    assert as_views(A, names=("lgn", "v1")).names == ("lgn",)
    assert as_views(A, B, names=("lgn", "v1")).names == ("lgn", "v1")
    assert as_views({"v1": B}, names=("lgn", "v1")).names == ("v1",)
    with pytest.raises(ValueError, match=r"got 3 views; expected at most 2: \['lgn', 'v1'\]"):
        as_views([A, B, B], names=("lgn", "v1"))


def test_y_is_ignored_beside_a_container() -> None:
    labels = np.zeros(4)
    for form in (Views([A, B]), [A, B], {"A": A, "B": B}):
        assert as_views(form, labels).names == ("A", "B")


@pytest.mark.parametrize("labels", [np.zeros(4), torch.zeros(4), pd.Series([1, 2, 3, 4]), np.array(list("abcd"))])
def test_labels_as_y_are_refused(labels: Any) -> None:
    message = r"y has shape \(4,\); expected the second view, \(rows, features\): a single feature must be \(n, 1\)"
    with pytest.raises(ValueError, match=message):
        as_views(A, labels)


@pytest.mark.parametrize(("second", "message"), [([0, 1, 0, 1], r"'B' has shape \(4,\)"), ([[1], [1, 2]], "is ragged")])
def test_lists_as_y_are_checked_too(second: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_views(A, second)


@pytest.mark.parametrize(("n_rows", "sizes"), [(1, [1]), (4, [4]), (5, [4, 1]), (8, [4, 4]), (9, [4, 4, 1])])
def test_row_blocks_cover_every_row_once(monkeypatch: pytest.MonkeyPatch, n_rows: int, sizes: list[int]) -> None:
    monkeypatch.setattr(module, "_BLOCK_ROWS", 4)
    blocks = list(row_blocks(n_rows, 3))
    assert [block.stop - block.start for block in blocks] == sizes
    assert np.concatenate([np.arange(n_rows)[block] for block in blocks]).tolist() == list(range(n_rows))


def test_wide_rows_come_in_smaller_blocks() -> None:
    assert next(row_blocks(10**6, 2**18)) == slice(0, 2)
    assert next(row_blocks(10**6, 2**40)) == slice(0, 1)
    assert list(row_blocks(0, 3)) == []
