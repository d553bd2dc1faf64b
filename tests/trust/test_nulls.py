"""Exchanges: what moves, what stays together, and p-values that are right where nothing is to be found."""

from __future__ import annotations

import numpy as np
import pytest

from viewsplice.ordering import RowOrder, row_order
from viewsplice.trust.nulls import Exchange, against_null, unit_rows
from viewsplice.views import Views


def exchange(n_rows: int, reach: int = 0) -> Exchange:
    return Exchange.of(RowOrder(np.arange(n_rows), False, reach, 0.0))


def test_a_p_value_counts_the_score_itself_and_equals_up_to_rounding() -> None:
    found = against_null(0.5, [0.1, 0.5 - 1e-12, 0.2])
    assert found.p == (1 + 1) / (1 + 3)
    assert found.null_mean == pytest.approx(0.8 / 3)
    assert found.null_q95 == pytest.approx(0.47)


def test_a_score_that_is_no_number_is_not_significant() -> None:
    assert against_null(float("nan"), [0.1, 0.2, 0.3]).p == 1
    assert against_null(1.0, [0.1, float("nan"), 0.3]).p == 0.5


def test_rows_are_permuted() -> None:
    orders = list(exchange(30).orders(5, np.random.default_rng(0)))
    assert len(orders) == 5
    assert all(np.array_equal(np.sort(order), np.arange(30)) for order in orders)
    assert len({tuple(order) for order in orders}) == 5
    assert exchange(30).scheme == "permutations of rows"


def test_a_series_is_shifted_by_every_lag_once() -> None:
    orders = np.array(list(exchange(12, reach=3).orders(99, np.random.default_rng(0))))
    assert len(orders) == 11
    assert {tuple(order) for order in orders} == {tuple(np.roll(np.arange(12), shift)) for shift in range(1, 12)}
    assert len(list(exchange(12, reach=3).orders(4, np.random.default_rng(0)))) == 4
    assert exchange(12, reach=3).scheme == "circular shifts of rows"


def test_groups_move_as_wholes_and_keep_the_order_of_their_rows() -> None:
    order = RowOrder(np.repeat(np.arange(6), 4), True, 0, 0.0)
    for reach, scheme in ((0, "permutations of groups"), (2, "circular shifts of groups")):
        found = Exchange.of(RowOrder(order.unit_of_row, True, reach, 0.5))
        assert found.scheme == scheme
        for places in found.orders(10, np.random.default_rng(0)):
            blocks = places.reshape(6, 4)
            assert (np.diff(blocks, axis=1) == 1).all()
            assert set(blocks[:, 0]) == {0, 4, 8, 12, 16, 20}


def test_unequal_groups_are_cut_to_keep_the_most_rows() -> None:
    units = np.repeat(np.arange(4), [5, 3, 4, 1])
    assert unit_rows(units).tolist() == [[0, 1, 2], [5, 6, 7], [8, 9, 10]]
    assert unit_rows(np.arange(3)).tolist() == [[0], [1], [2]]


def test_the_smallest_p_value() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 2))
    assert exchange(200).smallest_p(99, noise, noise) == 0.01
    assert exchange(4).smallest_p(999, noise[:4], noise[:4]) == 1 / 24
    walk = rng.normal(size=(200, 1)).cumsum(axis=0)
    shifted = exchange(200, reach=50)
    assert shifted.smallest_p(999, noise, noise) == pytest.approx(1 / 200, rel=0.01)
    # A walk turns around a few times in 200 rows: few shifts are really different.
    assert shifted.smallest_p(999, walk, walk) > 0.03
    assert shifted.effective(walk, walk) < 30


def slow(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    x = rng.normal(size=(n_rows, 1))
    for row in range(1, n_rows):
        x[row] += 0.9 * x[row - 1]
    return x


@pytest.mark.parametrize("kind", ["rows", "series", "trials"])
def test_p_values_are_uniform_where_nothing_is_shared(kind: str) -> None:
    p = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        if kind == "rows":
            views = Views([rng.normal(size=(150, 1)), rng.normal(size=(150, 1))])
        elif kind == "series":
            views = Views([slow(rng, 400), slow(rng, 400)])
        else:
            trials = np.repeat(np.arange(25), 8)
            both = [np.repeat(rng.normal(size=(25, 1)), 8, axis=0) + 0.1 * rng.normal(size=(200, 1)) for _ in "AB"]
            views = Views(both, groups=trials)
        found = Exchange.of(row_order(views))
        assert found.is_shifted == (kind == "series")
        a, b = (x[:, 0] - x.mean() for x in (views["A"], views["B"]))
        nulls = [float(a @ b[order]) for order in found.orders(199, rng)]
        p.append(max(against_null(float(a @ b), nulls).p, found.smallest_p(199, views["A"], views["B"])))
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.085
    assert np.mean(np.array(p) <= 0.5) == pytest.approx(0.5, abs=0.09)


def test_permuted_rows_of_a_series_would_be_called_significant() -> None:
    """The reason for shifts: without them, independent slow series look related most of the time."""
    p = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        a, b = slow(rng, 400)[:, 0], slow(rng, 400)[:, 0]
        nulls = [float(a @ b[order]) for order in exchange(400).orders(99, rng)]
        p.append(against_null(float(a @ b), nulls).p)
    assert np.mean(np.array(p) <= 0.05) > 0.2
