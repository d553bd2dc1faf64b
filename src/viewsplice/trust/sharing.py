"""Whether views share anything: what one tells of the other on held-out rows, against rows in other pairs.

The model is frozen and the rows are new to it, so that a pair of rows is nothing special unless the views share
something: every exchange of pairs that keeps what rows owe to their neighbors is as good as the true pairing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import randomized_svd

from viewsplice._random import numpy_generator
from viewsplice._types import Array
from viewsplice.estimator import SPLICE
from viewsplice.metrics import reconstruction_r2
from viewsplice.records import Record
from viewsplice.trust.nulls import Exchange, against_null
from viewsplice.views import Views, endpoints

# What a model predicts has few directions; products of rows along these are all that counts.
_MOST_AXES = 64


@dataclass(frozen=True)
class Telling(Record):
    """What one view tells of another on held-out rows.

    Attributes
    ----------
    arrow
        From which view to which.
    r2
        R² of the prediction; negative where it is worse than the mean.
    correlation
        Between the view and its prediction, over all entries.
    null_mean, null_q95
        Mean and 95 % quantile of that correlation over exchanged pairs.
    p
        How often exchanged pairs correlate as much.
    """

    arrow: str
    r2: float
    correlation: float
    null_mean: float
    null_q95: float
    p: float


@dataclass(frozen=True)
class Sharing(Record):
    """Whether views share anything.

    Attributes
    ----------
    p
        Of the mean correlation over all arrows; 1 where the model has no shared space.
    smallest_p
        The smallest that these rows could have given.
    scheme, n_exchanges
        How pairs were exchanged, and how often.
    n_rows, n_effective
        Held-out rows, and to how many exchangeable units they are equal.
    arrows
        Each arrow alone.
    """

    p: float
    smallest_p: float
    scheme: str
    n_exchanges: int
    n_rows: int
    n_effective: float
    arrows: Sequence[Telling]


def shared_information(model: SPLICE, views: Views, exchange: Exchange, *, n_orders: int, seed: int) -> Sharing:
    """Return whether a model, on rows it was not trained on, tells one view from another better than by chance.

    Parameters
    ----------
    model
        The fitted model; it stays as it is.
    views
        Held-out rows of all views.
    exchange
        Which of their pairs may be exchanged.
    n_orders
        Number of exchanges.
    seed
        Of the exchanges.
    """
    rows = exchange.rows
    names = [name for name, width in model.n_shared_.items() if width]
    if not names:
        return Sharing(1.0, 1.0, exchange.scheme, 0, len(rows), float(len(exchange.units)), ())
    used = views[rows]
    pairs, r2 = {}, {}
    for name in names:
        source, target = endpoints(name)
        guess = model.predict(target, {source: used[source]})
        r2[name] = reconstruction_r2(used[target], guess)
        pairs[name] = _unit_pair(used[target], guess)
    found = np.array([float((x * guess).sum()) for x, guess in pairs.values()])
    nulls = np.array([_exchanged(pairs, order) for order in _view_orders(model, exchange, n_orders, seed)])
    floor = max(exchange.smallest_p(n_orders, *pair) for pair in pairs.values())
    tellings = []
    for column, name in enumerate(names):
        one = against_null(found[column], nulls[:, column])
        p = max(one.p, exchange.smallest_p(n_orders, *pairs[name]))
        tellings.append(Telling(name, r2[name], one.score, one.null_mean, one.null_q95, p))
    p = max(against_null(found.mean(), nulls.mean(axis=1)).p, floor)
    effective = min(exchange.effective(*pair) for pair in pairs.values())
    return Sharing(p, floor, exchange.scheme, len(nulls), len(rows), effective, tuple(tellings))


def _unit_pair(x: Array, guess: Array) -> tuple[Array, Array]:
    """Return a view and its prediction along the prediction's axes, such that products sum to their correlation."""
    truth, predicted = (np.asarray(values, dtype=np.float32).reshape(len(values), -1) for values in (x, guess))
    truth, predicted = truth - truth.mean(axis=0), predicted - predicted.mean(axis=0)
    lengths = [float(np.linalg.norm(values)) or 1.0 for values in (truth, predicted)]
    n_axes = min(_MOST_AXES, *predicted.shape)
    axes = randomized_svd(predicted, n_axes, random_state=0)[2].T
    return (truth @ axes).astype(np.float64) / lengths[0], (predicted @ axes).astype(np.float64) / lengths[1]


def _view_orders(model: SPLICE, exchange: Exchange, n_orders: int, seed: int) -> list[dict[str, Array]]:
    """Return exchanges of all views but the first, each view in an order of its own."""
    first, *others = model.view_names_
    still = np.arange(len(exchange.rows))
    drawn = [exchange.orders(n_orders, numpy_generator(seed, "exchange", number)) for number in range(len(others))]
    return [{first: still, **dict(zip(others, orders, strict=True))} for orders in zip(*drawn, strict=True)]


def _exchanged(pairs: dict[str, tuple[Array, Array]], orders: dict[str, Array]) -> list[float]:
    """Return the correlation of each arrow when every view comes in its own order."""
    scores = []
    for name, (x, guess) in pairs.items():
        source, target = endpoints(name)
        scores.append(float((x[orders[target]] * guess[orders[source]]).sum()))
    return scores
