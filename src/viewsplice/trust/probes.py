"""Fresh probes that read frozen latents: lines, neighbors, boosted trees and a small network; the strongest counts.

What hides below 1 % of a space's spread does not count: noise of that size is added before anything is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import randomized_svd

from viewsplice._random import derive_seed, numpy_generator
from viewsplice._types import Array
from viewsplice.metrics.variance import as_rows, latent_spread
from viewsplice.trust.networks import network_predictions
from viewsplice.trust.nulls import Exchange, against_null

_NOISE = 0.01
_NO_SPREAD = 8 * float(np.finfo(np.float32).eps)
_LEAST_ROWS = 20
_TREE_ROWS = 4000
_N_NEIGHBORS = 10
# Targets with more dimensions are read along so many principal axes.
_MOST_AXES = 8


def noisy_spaces(train: Array, test: Array, seed: int) -> tuple[Array, Array] | None:
    """Return both spaces centered, in units of the total SD on training rows, with noise; None if there is no SD."""
    for name, z in (("train", train), ("test", test)):
        if np.ndim(z) != 2 or np.shape(z)[1] != np.shape(train)[1]:
            raise ValueError(f"{name} has shape {np.shape(z)}; expected (rows, dimensions), as many as train")
    if len(train) < _LEAST_ROWS or len(test) < 2:
        raise ValueError(
            f"train has {len(train)} rows and test {len(test)}; expected at least {_LEAST_ROWS} and 2 to train and "
            "judge a probe"
        )
    if np.shape(train)[1] == 0:
        return None
    z_train, z_test = as_rows(train, "train"), as_rows(test, "test")
    spread = latent_spread(z_train)
    if spread <= _NO_SPREAD * np.sqrt((z_train**2).sum(axis=1).mean()):
        return None
    center = z_train.mean(axis=0)
    noise = (numpy_generator(seed, "noise", part) for part in ("train", "test"))
    noisy = [(z - center) / spread + _NOISE * next(noise).standard_normal(z.shape) for z in (z_train, z_test)]
    return noisy[0], noisy[1]


def tree_predictions(z_train: Array, y_train: Array, z_test: Array, seed: int) -> Array:
    """Return what gradient-boosted trees, fitted to each column of y, predict of new rows, (n, columns)."""
    rows = numpy_generator(seed, "tree rows").permutation(len(z_train))[:_TREE_ROWS]
    predicted = np.empty((len(z_test), y_train.shape[1]))
    for column in range(y_train.shape[1]):
        model = HistGradientBoostingRegressor(early_stopping=True, random_state=derive_seed(seed, "trees") % 2**32)
        predicted[:, column] = model.fit(z_train[rows], y_train[rows, column]).predict(z_test)
    return predicted


@dataclass(frozen=True)
class Reading:
    """What the strongest probe reads on held-out rows.

    Attributes
    ----------
    probe
        ``"linear"``, ``"neighbors"``, ``"trees"`` or ``"network"``; ``"none"`` where there is nothing to read.
    r2
        Its R², over all dimensions of the target.
    null_mean, null_q95
        Mean and 95 % quantile of what the strongest of fresh probes reaches, trained and judged on exchanged pairs.
    p
        How often exchanged held-out pairs agree as well with what some probe predicts, counting the pairs themselves.
    smallest_p
        The smallest that these rows and exchanges could have given.
    """

    probe: str
    r2: float
    null_mean: float
    null_q95: float
    p: float
    smallest_p: float


NOTHING = Reading("none", 0.0, 0.0, 0.0, 1.0, 1.0)


def strongest_reading(
    z: tuple[Array, Array],
    y: tuple[Array, Array],
    exchanges: tuple[Exchange, Exchange],
    *,
    n_null: int,
    n_orders: int,
    seed: int,
) -> Reading:
    """Return what can be read about a target of one or more dimensions from a latent space, beside its null.

    Parameters
    ----------
    z, y
        Latents, (n, dimensions), and target, (n, columns), of rows to learn from and of rows to judge on.
    exchanges
        Which pairs of either may be exchanged.
    n_null
        Exchanges on which all probes are trained afresh.
    n_orders
        Exchanges of held-out pairs, for the p-value; the probes stay as they are.
    seed
        Of noise, exchanges and probes.
    """
    (z_train, z_test), (y_train, y_test) = (
        tuple(part[exchange.rows] for part, exchange in zip(pair, exchanges, strict=True)) for pair in (z, y)
    )
    spaces, targets = noisy_spaces(z_train, z_test, seed), along_axes(y_train, y_test)
    if spaces is None or any((target == target[:1]).all() for target in targets):
        return NOTHING
    orders = [
        list(exchange.orders(n_null, numpy_generator(seed, "null", part)))
        for part, exchange in zip(("train", "test"), exchanges, strict=True)
    ]
    n_null = min(map(len, orders))
    learned, judged = (
        np.stack([target, *(target[order] for order in found[:n_null])], axis=1)  # (n, 1 + nulls, axes)
        for target, found in zip(targets, orders, strict=True)
    )
    predicted = _predictions(spaces[0], learned, spaces[1], seed)
    r2 = np.stack([_total_r2(judged, guess) for guess in predicted.values()])  # (probes, 1 + nulls)
    best = int(r2[:, 0].argmax())
    found = against_null(r2[best, 0], r2[:, 1:].max(axis=0))
    true = np.stack([guess[:, 0] for guess in predicted.values()])  # (probes, n, axes)
    p = _exchange_p(targets[1], true, exchanges[1], n_orders, numpy_generator(seed, "pairs"))
    floor = exchanges[1].smallest_p(n_orders, targets[1], true[best])
    return Reading(list(predicted)[best], found.score, found.null_mean, found.null_q95, max(p, floor), floor)


def along_axes(y_train: Array, y_test: Array) -> tuple[Array, Array]:
    """Return a target along its first principal axes with at least 1 % of its spread, in units of this spread.

    A target without spread, but for the rounding of its values, has no axes, and both results no columns. Its units do
    not matter: amperes are far below 1.
    """
    rounding = 8 * float(np.finfo(y_train.dtype if y_train.dtype.kind == "f" else np.float64).eps)
    train, test = (np.asarray(y, dtype=np.float64) for y in (y_train, y_test))
    # In units of a power of two, so that squares neither overflow nor vanish.
    exponent = -math.frexp(float(np.abs(train).max(initial=0.0)))[1]
    train, test = np.ldexp(train, exponent), np.ldexp(test, exponent)
    no_spread = rounding * float(np.linalg.norm(train))
    center = train.mean(axis=0)
    train, test = train - center, test - center
    total = float(np.linalg.norm(train))
    if total <= no_spread:
        return train[:, :0], test[:, :0]
    _, sizes, axes = randomized_svd(train, min(_MOST_AXES, *train.shape), random_state=0)
    kept = axes[sizes > _NOISE * total].T * (np.sqrt(len(train)) / total)
    return train @ kept, test @ kept


def _predictions(z_train: Array, y_train: Array, z_test: Array, seed: int) -> dict[str, Array]:
    """Return by probe what it predicts of new rows, (n, sets of targets, axes)."""
    shape = (len(z_test), *y_train.shape[1:])
    columns = y_train.reshape(len(y_train), -1)
    ones = np.ones((len(z_train), 1)), np.ones((len(z_test), 1))
    weights = np.linalg.lstsq(np.hstack([ones[0], z_train]), columns, rcond=None)[0]
    search = NearestNeighbors(n_neighbors=min(_N_NEIGHBORS, len(z_train))).fit(z_train)
    nearest = search.kneighbors(z_test, return_distance=False)
    return {
        "linear": (np.hstack([ones[1], z_test]) @ weights).reshape(shape),
        "neighbors": y_train[nearest].mean(axis=1),
        "trees": tree_predictions(z_train, columns, z_test, seed).reshape(shape),
        "network": network_predictions(z_train, y_train, z_test, seed),
    }


def _total_r2(y: Array, predicted: Array) -> Array:
    """Return 1 - squared errors / squared deviations over rows and axes, for each set of targets."""
    errors = ((y - predicted) ** 2).sum(axis=(0, 2))
    r2: Array = 1 - errors / ((y - y.mean(axis=0)) ** 2).sum(axis=(0, 2))
    return r2


def _exchange_p(y: Array, predicted: Array, exchange: Exchange, n_orders: int, generator: np.random.Generator) -> float:
    """Return the p-value of the highest correlation between a target and what some probe predicts.

    The highest over all probes is taken for exchanged pairs as well: choosing the strongest costs nothing.
    """
    target = y - y.mean(axis=0)
    guesses = (predicted - predicted.mean(axis=1, keepdims=True)).reshape(len(predicted), -1)
    lengths = np.linalg.norm(guesses, axis=1, keepdims=True)
    guesses = guesses / np.where(lengths > 0, lengths, 1.0)
    score = float((guesses @ target.ravel()).max())
    nulls = [float((guesses @ target[order].ravel()).max()) for order in exchange.orders(n_orders, generator)]
    return against_null(score, nulls).p
