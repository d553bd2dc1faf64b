"""How rows hang together: in groups, in the order of time, or not at all. This decides how they are split and shuffled.

A *unit* is what may be moved as a whole: a row, or a group of rows such as a trial.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from viewsplice._types import Array
from viewsplice.metrics.series import correlation_length, is_series, lag_correlations, sketch
from viewsplice.splits import Blocks, blocked_folds
from viewsplice.views import Views


@dataclass(frozen=True, eq=False)
class RowOrder:
    """What was found about the order of rows.

    Attributes
    ----------
    unit_of_row
        Number of the unit each row belongs to, units in the order of their first row, (n,).
    is_grouped
        Whether units are groups that the user gave.
    reach
        Number of units over which neighbors are alike; 0: units can be exchanged.
    likeness
        Correlation of neighboring units.
    """

    unit_of_row: Array
    is_grouped: bool
    reach: int
    likeness: float

    @property
    def n_units(self) -> int:
        """Number of rows, or of groups."""
        return int(self.unit_of_row.max()) + 1

    def __str__(self) -> str:
        unit = "groups" if self.is_grouped else "rows"
        if not self.reach:
            return f"{unit} in an order that tells nothing"
        return f"{unit} that are alike over {self.reach} {unit} (neighbors correlate with {self.likeness:.2f})"

    def rows(self, units: Array) -> Array:
        """Return the rows of some units, sorted."""
        return np.flatnonzero(np.isin(self.unit_of_row, units))

    def take(self, rows: Array) -> RowOrder:
        """Return the order of some rows of these, sorted."""
        units = np.unique(self.unit_of_row[rows], return_inverse=True)[1]
        return RowOrder(units, self.is_grouped, self.reach, self.likeness)

    def thinned(self, most: int) -> Array:
        """Return at most so many rows, whole units evenly spread over the order (two units at least)."""
        n_rows, n_units = len(self.unit_of_row), self.n_units
        if n_rows <= most:
            return np.arange(n_rows)
        kept = min(n_units, max(2, int(most * n_units / n_rows)))
        return self.rows(np.unique(np.linspace(0, n_units - 1, kept).round()))

    def split(self, fraction: float, generator: np.random.Generator) -> tuple[Array, Array]:
        """Return (other, held-out) rows: whole units, at random, or in one block with a gap where neighbors are alike.

        Parameters
        ----------
        fraction
            Of the units that is held out; at least one is, and at least one is not.
        generator
            Source of randomness.
        """
        n_units = self.n_units
        if n_units < 2:
            raise ValueError("got a single group of rows; expected at least two groups to hold one out")
        if self.reach:
            train, held_out = Blocks(fraction, n_blocks=1).rows(n_units, gap=self.gap, generator=generator)
            return self.rows(train), self.rows(held_out)
        order = generator.permutation(n_units)
        n_held_out = min(max(1, round(fraction * n_units)), n_units - 1)
        return self.rows(order[n_held_out:]), self.rows(order[:n_held_out])

    def blocked_folds(self, n_folds: int) -> Iterator[tuple[Array, Array]]:
        """Yield (training, test) rows of folds that are runs of units, with a gap around each."""
        for train, test in blocked_folds(self.n_units, n_folds, self.gap):
            yield self.rows(train), self.rows(test)

    @property
    def gap(self) -> int:
        """Units between what is trained on and what is held out: at most a tenth of all, as something must be left."""
        return min(self.reach, self.n_units // 10)


def row_order(views: Views) -> RowOrder:
    """Return how the rows of views (with their groups, if any) hang together.

    Units count as ordered if neighbors are evidently alike in any view; of groups, their means are compared.
    """
    small = [sketch(x) for x in views.arrays.values()]
    units = np.arange(len(views))
    if views.groups is not None:
        labels, first, members = np.unique(views.groups, return_index=True, return_inverse=True)
        rank = np.empty(len(labels), dtype=np.intp)
        rank[np.argsort(first)] = np.arange(len(labels))
        units = rank[members]
        small = [_unit_means(x, units) for x in small]
    ordered = [x for x in small if is_series(x)]
    reach = max((correlation_length(x) for x in ordered), default=0)
    likeness = max((float(lag_correlations(x)[1]) for x in ordered), default=0.0)
    return RowOrder(units, views.groups is not None, reach, likeness)


def _unit_means(x: Array, units: Array) -> Array:
    means = np.zeros((int(units.max()) + 1, x.shape[1]))
    np.add.at(means, units, x)
    result: Array = means / np.bincount(units)[:, None]
    return result
