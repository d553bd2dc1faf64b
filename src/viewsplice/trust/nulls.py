"""What chance gives: scores beside those of the same rows in other pairs, and which pairs may be exchanged at all.

Under the null hypothesis it does not matter which row of one side stands beside which row of the other. Independent
rows may be permuted, groups (trials) only as wholes, and a series only shifted against the other, around its end: so
what is smooth in time stays smooth, and two slow series that have nothing to do with each other keep looking alike as
often as they do by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from viewsplice._types import Array
from viewsplice.metrics.series import effective_rows
from viewsplice.ordering import RowOrder

# Scores that differ by rounding only are equal: a permutation may be the pairing itself.
_ROUNDING = 1e-9
# Of units of unequal size, those that must take part.
_LEAST_KEPT = 0.75


@dataclass(frozen=True)
class Against:
    """A score beside its null.

    Attributes
    ----------
    score, null_mean, null_q95
        What was found, and the mean and the 95 % quantile of what exchanged pairs give.
    p
        (1 + exchanges that score as high) / (1 + exchanges).
    """

    score: float
    null_mean: float
    null_q95: float
    p: float


def against_null(score: float, nulls: Sequence[float] | Array) -> Against:
    """Return a score beside those of exchanged pairs."""
    values = np.asarray(nulls)
    allowed = _ROUNDING * abs(score)
    # Not "at least the score": a score that is no number is beaten by all, not by none.
    p = (1 + int((~(values < score - allowed)).sum())) / (1 + len(values))
    return Against(float(score), float(values.mean()), float(np.quantile(values, 0.95)), p)


def unit_rows(unit_of_row: Array) -> Array:
    """Return the rows of units of unequal size as a table, (units, rows per unit), cut to keep the most rows.

    Longer units keep their first rows; shorter ones are left out, but at most a quarter of all.
    """
    sizes = np.bincount(unit_of_row)
    counts = {int(length): int((sizes >= length).sum()) for length in np.unique(sizes)}
    allowed = [length for length, count in counts.items() if count >= _LEAST_KEPT * len(sizes)]
    length = max(allowed, key=lambda one: one * counts[one])
    rows = np.argsort(unit_of_row, kind="stable")
    starts = np.cumsum(sizes) - sizes
    return np.stack([rows[start : start + length] for start in starts[sizes >= length]])


@dataclass(frozen=True, eq=False)
class Exchange:
    """Pairs that may take each other's place under the null hypothesis.

    Attributes
    ----------
    units
        Row numbers that move together, (units, rows per unit), in order.
    is_shifted
        Whether units only move around the circle, all by the same number of places, or freely.
    is_grouped
        Whether units are groups.
    """

    units: Array
    is_shifted: bool
    is_grouped: bool

    @classmethod
    def of(cls, order: RowOrder) -> Exchange:
        """Return what may be exchanged in rows of such an order."""
        return cls(unit_rows(order.unit_of_row), order.reach > 0, order.is_grouped)

    @property
    def rows(self) -> Array:
        """The rows that take part, unit after unit."""
        result: Array = self.units.ravel()
        return result

    @property
    def scheme(self) -> str:
        """What is done, in words."""
        unit = "groups" if self.is_grouped else "rows"
        return f"circular shifts of {unit}" if self.is_shifted else f"permutations of {unit}"

    def orders(self, n_orders: int, generator: np.random.Generator) -> Iterator[Array]:
        """Yield positions in `rows`, (rows,): whose partner each row gets; all shifts where there are not more.

        Parameters
        ----------
        n_orders
            Number of exchanges, at most.
        generator
            Source of randomness.
        """
        n_units, length = self.units.shape
        places = np.arange(n_units * length).reshape(n_units, length)
        if self.is_shifted:
            for shift in 1 + generator.permutation(n_units - 1)[:n_orders]:
                yield np.roll(places, shift, axis=0).ravel()
            return
        for _ in range(n_orders):
            yield places[generator.permutation(n_units)].ravel()

    def effective(self, first: Array, second: Array) -> float:
        """Return to how many exchangeable units these are equal, for two sides of the pairs, each (rows, ...)."""
        n_units, length = self.units.shape
        if not self.is_shifted:
            return float(n_units)
        means = (x.reshape(n_units, length, -1).mean(axis=1) for x in (first, second))
        return effective_rows(*means)

    def smallest_p(self, n_orders: int, first: Array, second: Array) -> float:
        """Return the smallest p-value that so many exchanges of these pairs can give.

        Shifts by less than a series' reach are hardly different, and its two ends do not fit together: of shifts, only
        as many count as there are effective units.
        """
        n_units = len(self.units)
        if self.is_shifted:
            return max(1 / (1 + min(n_orders, n_units - 1)), 1 / (1 + self.effective(first, second)))
        return max(1 / (1 + n_orders), 1 / math.factorial(n_units) if n_units < 20 else 0.0)
