"""Distance correlation: a definition by loops, known values, and what a mean cannot show."""

from __future__ import annotations

import numpy as np
import pytest

from viewsplice.ordering import RowOrder
from viewsplice.trust.dependence import MOST_ROWS, measure_dependence
from viewsplice.trust.nulls import Exchange


def measured(x: np.ndarray, y: np.ndarray, n_orders: int = 99):
    exchange = Exchange.of(RowOrder(np.arange(len(x)), False, 0, 0.0))
    return measure_dependence(("x", "y"), (x, y), exchange, n_orders=n_orders, seed=0)


def by_definition(x: np.ndarray, y: np.ndarray) -> float:
    """Return the bias-corrected squared distance correlation, literally from Szekely and Rizzo (2014)."""
    n = len(x)

    def centered(z):
        d = np.array([[np.linalg.norm(z[i] - z[j]) for j in range(n)] for i in range(n)])
        u = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                if i != j:
                    rows = d[i].sum() / (n - 2) + d[:, j].sum() / (n - 2)
                    u[i, j] = d[i, j] - rows + d.sum() / ((n - 1) * (n - 2))
        return u

    a, b = centered(x), centered(y)
    return (a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum())


def test_it_is_the_published_estimate() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(15, 2)), rng.normal(size=(15, 3))
    assert measured(x, y).distance_correlation == pytest.approx(by_definition(x, y))


def test_equal_up_to_rotation_and_size_is_1() -> None:
    x = np.random.default_rng(1).normal(size=(80, 2))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    found = measured(x, 3 * x @ turn + 5)
    assert found.distance_correlation == pytest.approx(1.0)
    assert found.p == 0.01


def test_dependence_without_a_mean_is_found_and_independence_is_not() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 1))
    spread = np.abs(x) * rng.normal(size=(400, 1))  # the mean of y given x is 0 everywhere
    assert measured(x, spread).p == 0.01
    assert measured(x, spread).distance_correlation > measured(x, spread).null_q95
    p = [measured(*np.random.default_rng(s).normal(size=(2, 100, 1)), n_orders=39).p for s in range(60)]
    assert np.mean(np.array(p) <= 0.1) < 0.22
    assert np.mean(p) == pytest.approx(0.5, abs=0.12)


def test_spaces_without_spread_depend_on_nothing() -> None:
    found = measured(np.ones((50, 2)), np.random.default_rng(0).normal(size=(50, 1)))
    assert (found.distance_correlation, found.p, found.rows) == (0.0, 1.0, 50)


def test_too_many_rows_are_refused() -> None:
    x = np.zeros((MOST_ROWS + 1, 1))
    with pytest.raises(ValueError, match="got 1001 rows; expected at most 1000"):
        measured(x, x)
