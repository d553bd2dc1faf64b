"""How rows hang together: units, their splits, and what is kept when rows are thinned."""

from __future__ import annotations

import numpy as np
import pytest

from viewsplice.ordering import RowOrder, row_order
from viewsplice.views import Views

RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(300, 4))
WALK = RNG.normal(size=(300, 3)).cumsum(axis=0)


def test_rows_in_any_order_are_units_of_their_own() -> None:
    order = row_order(Views([NOISE, NOISE[::-1]]))
    assert (order.n_units, order.is_grouped, order.reach, order.gap) == (300, False, 0, 0)
    assert str(order) == "rows in an order that tells nothing"
    train, held_out = order.split(0.2, np.random.default_rng(0))
    assert len(held_out) == 60
    assert np.array_equal(np.sort(np.concatenate([train, held_out])), np.arange(300))
    assert (np.diff(held_out) > 1).mean() > 0.5


def test_one_series_makes_the_rows_a_series() -> None:
    order = row_order(Views([NOISE, WALK]))
    assert order.reach > 5
    assert order.likeness > 0.9
    assert order.gap == min(order.reach, 30)
    assert str(order).startswith(f"rows that are alike over {order.reach} rows (neighbors correlate with 0.9")
    train, held_out = order.split(0.3, np.random.default_rng(0))
    assert (np.diff(held_out) == 1).all()
    assert np.abs(train[:, None] - held_out).min() == order.gap + 1
    folds = list(order.blocked_folds(3))
    assert [len(test) for _, test in folds] == [100, 100, 100]


def test_groups_are_units_in_the_order_of_their_first_row() -> None:
    labels = np.repeat(["c", "a", "b"], [100, 150, 50])
    order = row_order(Views([NOISE, NOISE], groups=labels))
    assert order.unit_of_row.tolist() == [0] * 100 + [1] * 150 + [2] * 50
    assert order.is_grouped
    train, held_out = order.split(0.3, np.random.default_rng(0))
    assert len(np.unique(labels[held_out])) == 1
    assert not set(labels[held_out]) & set(labels[train])


def test_walks_within_trials_do_not_order_trials_but_drifts_across_do() -> None:
    trials = np.repeat(np.arange(60), 5)
    within = np.concatenate([RNG.normal(size=(5, 3)).cumsum(axis=0) for _ in range(60)])
    assert row_order(Views([within, NOISE])).reach > 0
    assert row_order(Views([within, NOISE], groups=trials)).reach == 0
    drift = np.repeat(np.sin(np.linspace(0, 9, 60)), 5)[:, None] + 0.3 * NOISE
    assert row_order(Views([drift, NOISE], groups=trials)).reach > 2
    assert "groups that are alike" in str(row_order(Views([drift, NOISE], groups=trials)))


def test_thinned_rows_are_spread_evenly_and_groups_stay_whole() -> None:
    order = RowOrder(np.arange(1000), False, 0, 0.0)
    kept = order.thinned(100)
    assert len(kept) == 100
    assert np.diff(kept).max() <= 11
    assert np.array_equal(order.thinned(1000), np.arange(1000))
    grouped = RowOrder(np.repeat(np.arange(50), 20), True, 0, 0.0)
    rows = grouped.thinned(100)
    assert len(rows) == 100
    assert len(np.unique(grouped.unit_of_row[rows])) == 5


def test_a_part_has_its_own_units() -> None:
    order = RowOrder(np.repeat(np.arange(4), 2), True, 3, 0.5)
    part = order.take(np.array([2, 3, 6, 7]))
    assert part.unit_of_row.tolist() == [0, 0, 1, 1]
    assert (part.reach, part.likeness) == (3, 0.5)


def test_one_group_cannot_be_split() -> None:
    with pytest.raises(ValueError, match="a single group of rows; expected at least two groups"):
        RowOrder(np.zeros(10, dtype=int), True, 0, 0.0).split(0.2, np.random.default_rng(0))
