from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from viewsplice import views as views_module
from viewsplice._validation import (
    check_callbacks,
    check_decodable,
    check_finite,
    check_known,
    private_widths,
    row_number,
    row_numbers,
    shared_widths,
    split_rows,
)
from viewsplice.views import Views

SHAPES = {"A": (12,), "B": (3, 3)}


@pytest.mark.parametrize("block_rows", [2, 3, 100])
def test_non_finite_values_are_counted_and_located(monkeypatch: pytest.MonkeyPatch, block_rows: int) -> None:
    monkeypatch.setattr(views_module, "_BLOCK_ROWS", block_rows)
    x = np.zeros((7, 2, 3))
    x[4, 1, 0] = np.nan
    x[4, 1, 2] = -np.inf
    x[6, 0, 0] = np.inf
    message = r"'B' has 3 non-finite values \(NaN or infinity\), the first at row 4, feature 3; expected finite numbers"
    with pytest.raises(ValueError, match=message):
        check_finite(Views([np.zeros((7, 1)), x]))


def test_one_non_finite_value_is_singular() -> None:
    with pytest.raises(
        ValueError, match=r"'A' has 1 non-finite value \(NaN or infinity\), the first at row 0, feature 1"
    ):
        check_finite(Views([[[0.0, np.nan], [0.0, 0.0]]]))


def test_missing_entries_of_an_object_array_are_non_finite() -> None:
    with pytest.raises(ValueError, match="has 1 non-finite value"):
        check_finite(Views([np.array([[1, None], [2, 3]], dtype=object)]))


def test_finite_values_pass_whatever_their_type() -> None:
    check_finite(Views([np.ones((2, 2), dtype=kind) for kind in ("f2", "f4", "f8", "i4", "?")]))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (2, {"A": 2, "B": 2}),
        (np.int64(2), {"A": 2, "B": 2}),
        (0, {"A": 0, "B": 0}),
        ((0, 9), {"A": 0, "B": 9}),
        ([12, 1], {"A": 12, "B": 1}),
        ({"B": 1, "A": 3}, {"A": 3, "B": 1}),
        ("auto", {"A": None, "B": None}),
        (("auto", np.int64(1)), {"A": None, "B": 1}),
        ({"B": "auto", "A": 0}, {"A": 0, "B": None}),
    ],
)
def test_private_widths(given: Any, expected: dict[str, int | None]) -> None:
    found = private_widths(given, SHAPES)
    assert found == expected
    assert list(found) == ["A", "B"]
    assert {type(width) for width in found.values()} <= {int, type(None)}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (9, {"A->B": 9, "B->A": 9}),
        ({"B->A": 0, "A->B": 2}, {"A->B": 2, "B->A": 0}),
        ("auto", {"A->B": None, "B->A": None}),
        ({"B->A": "auto", "A->B": 2}, {"A->B": 2, "B->A": None}),
    ],
)
def test_shared_widths(given: Any, expected: dict[str, int | None]) -> None:
    assert shared_widths(given, SHAPES) == expected


def test_three_views_have_six_shared_widths() -> None:
    assert len(shared_widths(1, {"A": (4,), "B": (4,), "C": (4,)})) == 6


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (-1, ValueError, "n_private is -1 for A; expected a width of at least 0"),
        (10, ValueError, "n_private is 10 for view 'B'; expected at most its 9 features"),
        ((1, 2, 3), ValueError, r"n_private has 3 widths; expected one per view: \['A', 'B'\]"),
        ({"A": 1}, ValueError, r"n_private has no width for \['B'\]; expected one width per view"),
        ({"A": 1, "B": 1, "x": 1, 2: 1}, ValueError, r"n_private has unknown views \['x', 2\]; expected one width per"),
        (1.0, TypeError, "n_private is 1.0 for A; expected an integer width"),
        (True, TypeError, "n_private is True for A"),
        ("2", TypeError, "n_private is '2' for A"),
        (None, TypeError, "n_private is None for A"),
        (("Auto", 1), TypeError, "n_private is 'Auto' for A; expected an integer width, or 'auto'"),
    ],
)
def test_private_widths_that_cannot_be(given: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        private_widths(given, SHAPES)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (-2, ValueError, "n_shared is -2 for A->B; expected a width of at least 0"),
        (10, ValueError, "n_shared is 10 for A->B; expected at most 9, the features of the smaller view"),
        ({"A->B": 1, "A": 1}, ValueError, r"n_shared has unknown arrows \['A'\]; expected one width per arrow"),
        ({"A->B": 1}, ValueError, r"n_shared has no width for \['B->A'\]"),
        ((1, 1), TypeError, r"n_shared is \(1, 1\) for A->B; expected an integer width"),
    ],
)
def test_shared_widths_that_cannot_be(given: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        shared_widths(given, SHAPES)


def test_every_view_needs_something_to_be_rebuilt_from() -> None:
    check_decodable({"A": 0, "B": 1}, {"A->B": 0, "B->A": 1})
    with pytest.raises(ValueError, match="view 'A' has private width 0 and no incoming shared dimensions"):
        check_decodable({"A": 0, "B": 1}, {"A->B": 1, "B->A": 0})


def test_a_width_that_will_be_found_may_rebuild_a_view() -> None:
    check_decodable({"A": None, "B": 0}, {"A->B": None, "B->A": 0})
    with pytest.raises(ValueError, match="view 'B' has private width 0 and no incoming shared dimensions"):
        check_decodable({"A": None, "B": 0}, {"A->B": 0, "B->A": None})


def test_open_widths_are_refused_where_nothing_finds_them() -> None:
    check_known({"A": 0, "A->B": 2}, "recipe 'paper'")
    with pytest.raises(ValueError, match="n_private is 'auto'; recipe 'paper' expects widths, such as n_private=2"):
        check_known({"A": 1, "B": None, "A->B": None}, "recipe 'paper'")
    with pytest.raises(ValueError, match="n_shared is 'auto'; geometry=None expects widths, such as n_shared=2"):
        check_known({"A": 1, "A->B": None}, "geometry=None")


def test_row_numbers() -> None:
    assert row_numbers("i", 3, 4).tolist() == [3]
    assert row_numbers("i", [0, -1, 2], 4).tolist() == [0, -1, 2]
    assert row_number("i", np.array(2), 4) == 2
    for wrong in (4, -5, 0.0, "0", True, [[0]], [True, False], []):
        with pytest.raises(ValueError, match=r"i is .*; expected row numbers from 0 to 3"):
            row_numbers("i", wrong, 4)
    for wrong in (4, 0.5, True, "0"):
        with pytest.raises(ValueError, match=r"i is .*; expected row numbers from 0 to 3"):
            row_number("i", wrong, 4)
    with pytest.raises(ValueError, match=r"i is \[0, 1\]; expected one row number"):
        row_number("i", [0, 1], 4)


def _split(n_rows: int, validation: Any, groups: Any = None, seed: int = 0) -> tuple[list[int], list[int]]:
    labels = None if groups is None else np.asarray(groups)
    train, held_out = split_rows(n_rows, validation, labels, np.random.default_rng(seed))
    return train.tolist(), held_out.tolist()


@pytest.mark.parametrize(
    ("n_rows", "fraction", "n_held_out"),
    [(10, 0.1, 1), (10, 0.25, 2), (10, 0.99, 9), (3, 0.01, 1), (10, 0, 0), (1, 0.5, 0)],
)
def test_a_fraction_of_the_rows_is_held_out(n_rows: int, fraction: float, n_held_out: int) -> None:
    train, held_out = _split(n_rows, fraction)
    assert len(held_out) == n_held_out
    assert sorted(train + held_out) == list(range(n_rows))
    assert (train, held_out) == (sorted(train), sorted(held_out))


def test_the_split_is_the_generators() -> None:
    assert _split(100, 0.3) == _split(100, 0.3)
    assert _split(100, 0.3) != _split(100, 0.3, seed=1)


@pytest.mark.parametrize("rows", [[7, 2, 2], (2, 7), np.array([2, 7], dtype=np.uint8), np.isin(np.arange(10), [2, 7])])
def test_rows_may_be_named(rows: Any) -> None:
    assert _split(10, rows) == ([0, 1, 3, 4, 5, 6, 8, 9], [2, 7])


@pytest.mark.parametrize("seed", range(20))
def test_groups_are_never_divided(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = np.array([f"g{g}" for g in rng.integers(0, 2 + seed, size=60)])
    if len(set(groups)) < 2:
        groups[0] = "other"
    fraction = float(rng.uniform(0.01, 0.99))
    train, held_out = _split(60, fraction, groups, seed)
    assert train
    assert held_out
    assert sorted(train + held_out) == list(range(60))
    assert not set(groups[train]) & set(groups[held_out])


def test_one_large_group_leaves_something_to_train_on() -> None:
    for seed in range(10):
        train, held_out = _split(50, 0.9, [0] * 49 + [1], seed)
        assert {len(train), len(held_out)} == {1, 49}


@pytest.mark.parametrize(
    ("validation", "groups", "kind", "message"),
    [
        (1.0, None, ValueError, "validation is 1.0; expected a fraction of at least 0 and below 1"),
        (-0.1, None, ValueError, "validation is -0.1"),
        (float("nan"), None, ValueError, "validation is nan"),
        (3, None, ValueError, "validation is 3.0"),
        (None, None, TypeError, "validation is None; expected a fraction, row numbers, Blocks, or views"),
        (True, None, TypeError, "validation is True"),
        ("half", None, TypeError, "validation is 'half'"),
        ([0.5, 1.0], None, TypeError, r"validation has dtype float64 and shape \(2,\); expected integer row numbers"),
        ([True, False], None, TypeError, "validation has dtype bool"),
        ([0, 10], None, ValueError, "validation names rows 0 to 10; expected 0 to 9"),
        ([-1], None, ValueError, "validation names rows -1 to -1"),
        (list(range(10)), None, ValueError, "validation holds every row; expected some rows left for training"),
        ([0, 5], [0] * 5 + [1] * 5, ValueError, "validation divides group 0; expected whole groups"),
        (0.1, [0] * 10, ValueError, "groups holds a single group; expected at least two, or validation=0"),
    ],
)
def test_splits_that_cannot_be(validation: Any, groups: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        _split(10, validation, groups)


def test_no_validation_needs_no_second_group() -> None:
    assert _split(4, 0, [1, 1, 1, 1]) == ([0, 1, 2, 3], [])
    assert _split(4, [0, 1], [5, 5, 6, 6]) == ([2, 3], [0, 1])


@pytest.mark.parametrize("callbacks", [None, 5, print, [print, 5], "progress"])
def test_callbacks_that_cannot_be_called(callbacks: Any) -> None:
    with pytest.raises(TypeError, match=r"callbacks is .*; expected a list of functions, such as \[progress\(\)\]"):
        check_callbacks(callbacks)


def test_callbacks_are_kept_in_order() -> None:
    assert check_callbacks(iter([print, repr])) == (print, repr)
