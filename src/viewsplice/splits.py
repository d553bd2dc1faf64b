"""Splits of ordered rows: blocks of neighbors, with a gap on both sides of what is held out.

Neighboring rows of a time series are alike: a row between two training rows is no new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from viewsplice._types import Array
from viewsplice.config import check_number

# Gaps may cost at most this fraction of the rows; fewer and longer blocks have fewer gaps.
_MOST_LOST = 0.1


@dataclass(frozen=True)
class Blocks:
    """Validation rows in blocks of successive rows, for ``fit(..., validation=Blocks())``.

    Parameters
    ----------
    fraction
        Fraction of the rows that is held out.
    gap
        Rows left out on both sides of a block, in neither part (groups, where there are groups); None: as many as are
        alike, at most a tenth of all.
    n_blocks
        Number of blocks at most, evenly spread; fewer where their gaps would cost more than a tenth of the rows.

    Examples
    --------
    >>> from viewsplice import Blocks
    >>> train, held_out = Blocks(0.2, gap=1, n_blocks=1).rows(10, gap=1, generator=np.random.default_rng(0))
    >>> len(train), len(held_out)
    (6, 2)
    """

    fraction: float = 0.1
    gap: int | None = None
    n_blocks: int = 4

    def __post_init__(self) -> None:
        check_number("fraction", self.fraction, low=0, high=0.9, open_low=True)
        check_number("gap", self.gap, low=0, integer=True)
        check_number("n_blocks", self.n_blocks, low=1, integer=True)

    def rows(self, n_rows: int, *, gap: int, generator: np.random.Generator) -> tuple[Array, Array]:
        """Return (training, held-out) row numbers; the blocks begin at a random row.

        Parameters
        ----------
        n_rows
            Number of rows.
        gap
            Rows left out on both sides of a block.
        generator
            Source of randomness.
        """
        n_blocks = max(1, min(self.n_blocks, int(_MOST_LOST * n_rows) // max(1, 2 * gap), int(self.fraction * n_rows)))
        period = n_rows / n_blocks
        length = max(1, round(self.fraction * period))
        first = generator.uniform(0, period - length)
        starts = [round(first + period * block) for block in range(n_blocks)]
        held_out = np.unique(np.concatenate([np.arange(start, start + length) for start in starts]))
        held_out = held_out[held_out < n_rows]
        return _far_from(held_out, n_rows, gap), held_out


def blocked_folds(n_rows: int, n_folds: int, gap: int) -> Iterator[tuple[Array, Array]]:
    """Yield (training, test) row numbers: each test part is one run of rows, and the gap around it is in neither."""
    for test in np.array_split(np.arange(n_rows), n_folds):
        yield _far_from(test, n_rows, gap), test


def _far_from(held_out: Array, n_rows: int, gap: int) -> Array:
    """Return the rows that are more than ``gap`` rows away from all held-out ones."""
    train = np.flatnonzero(distances_to(held_out, n_rows) > gap)
    if len(train) < 2:
        raise ValueError(
            f"a gap of {gap} rows around held-out blocks leaves {len(train)} of {n_rows} rows to train on; expected "
            "many: add rows, or give a smaller gap"
        )
    return train


def distances_to(rows: Array, n_rows: int) -> Array:
    """Return how many rows each of ``n_rows`` rows is away from the nearest of some ``rows``, sorted, (n_rows,)."""
    every = np.arange(n_rows)
    after = np.searchsorted(rows, every)
    right = rows[np.minimum(after, len(rows) - 1)]
    left = rows[np.maximum(after - 1, 0)]
    distances: Array = np.minimum(np.abs(right - every), np.abs(every - left))
    return distances
