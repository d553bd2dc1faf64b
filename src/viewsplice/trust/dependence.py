"""Dependence of any kind: distance correlation between two spaces, which is 0 for independent ones only.

A probe that reads nothing shows that the mean does not depend on a latent; its spread or its shape still may.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist, squareform

from viewsplice._random import numpy_generator
from viewsplice._types import Array
from viewsplice.records import Record
from viewsplice.trust.nulls import Exchange, against_null

# Distances between all pairs of rows are held at once, so there is a fixed limit to the rows.
MOST_ROWS = 1000


@dataclass(frozen=True)
class Dependence(Record):
    """How much two latent spaces that should be independent depend on each other.

    Attributes
    ----------
    first, second
        The spaces.
    distance_correlation
        Squared and bias-corrected: 0 on average for independent spaces, so that it may be slightly negative; 1 for
        spaces that are equal up to rotation and size.
    null_q95, p
        Its 95 % quantile over exchanged pairs, and how often these reach it.
    rows
        Number of rows compared.
    smallest_p
        The smallest p-value that these rows could have given; 0: not known.
    """

    first: str
    second: str
    distance_correlation: float
    null_q95: float
    p: float
    rows: int
    smallest_p: float = 0.0


def measure_dependence(
    names: tuple[str, str], spaces: tuple[Array, Array], exchange: Exchange, *, n_orders: int, seed: int
) -> Dependence:
    """Return the distance correlation of two spaces beside that of exchanged pairs.

    Parameters
    ----------
    names, spaces
        Of the same rows, each (n, dimensions); at most 1,000 rows.
    exchange
        Which pairs may be exchanged.
    n_orders
        Number of exchanges.
    seed
        Of the exchanges.
    """
    rows = exchange.rows
    if len(rows) > MOST_ROWS:
        raise ValueError(f"got {len(rows)} rows; expected at most {MOST_ROWS}, as all their distances are held at once")
    first, second = (_centered_distances(space[rows]) for space in spaces)
    size = float(np.sqrt((first**2).sum() * (second**2).sum()))
    if len(rows) < 4 or size == 0:
        return Dependence(*names, 0.0, 0.0, 1.0, len(rows), 1.0)
    orders = exchange.orders(n_orders, numpy_generator(seed, "dependence", *names))
    nulls = [float((first * second[np.ix_(order, order)]).sum()) / size for order in orders]
    found = against_null(float((first * second).sum()) / size, nulls)
    floor = exchange.smallest_p(n_orders, *(space[rows] for space in spaces))
    return Dependence(*names, found.score, found.null_q95, max(found.p, floor), len(rows), floor)


def _centered_distances(x: Array) -> Array:
    """Return the U-centered distances of Szekely and Rizzo, (n, n): products of two of them have no bias."""
    distances = squareform(pdist(np.asarray(x, dtype=np.float64)))
    n_rows = len(distances)
    if n_rows < 4:
        return np.zeros_like(distances)
    means = distances.sum(axis=0) / (n_rows - 2)
    total = distances.sum() / ((n_rows - 1) * (n_rows - 2))
    centered: Array = distances - means - means[:, None] + total
    np.fill_diagonal(centered, 0.0)
    return centered
