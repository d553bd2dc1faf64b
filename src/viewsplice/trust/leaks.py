"""Leaks: what fresh probes, trained on frozen latents, read out of a space that should know nothing about a target.

The networks that measure leaks during training may lag behind; these probes never saw the encoders being trained.
A leak is the held-out R² of the better of two probes, minus what they reach when rows are paired at random.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from viewsplice._random import RandomState, numpy_generator, root_seed
from viewsplice._types import Array
from viewsplice.trust.networks import network_predictions
from viewsplice.trust.nulls import against_null
from viewsplice.trust.probes import noisy_spaces, tree_predictions


@dataclass(frozen=True)
class Leak:
    """What a latent space tells about one target on held-out rows.

    Attributes
    ----------
    r2
        Held-out R² of the better probe.
    null_mean, null_q95
        Mean and 95 % quantile of the same R² when latents and targets are paired at random.
    p
        (1 + number of nulls of at least r2) / (1 + number of nulls).
    probe
        The better probe: ``"trees"`` or ``"network"``; ``"none"`` for a space in which there is nothing to read.
    """

    r2: float
    null_mean: float
    null_q95: float
    p: float
    probe: str

    @property
    def leak(self) -> float:
        """R² above chance, ``r2 - null_mean``."""
        return self.r2 - self.null_mean


def probe_leaks(
    train: Array,
    train_targets: Mapping[str, Array],
    test: Array,
    test_targets: Mapping[str, Array],
    *,
    n_null: int = 20,
    random_state: RandomState = 0,
) -> dict[str, Leak]:
    """Return by target how much of it can be read out of a latent space, next to shuffled nulls.

    The space is divided by its total SD on the training rows, never per dimension, and Gaussian noise with an SD of
    0.01 is added to every dimension: what hides below 1 % of the space's spread does not count. Probes are
    gradient-boosted trees and a network with two hidden layers of 64 units. Of more than 4,000 training rows the
    trees see 4,000 drawn at random, with shuffled targets as with true ones; the network sees all. A null shuffles
    the targets against the latents, in training and in test rows, and again takes the better probe.

    Parameters
    ----------
    train, test
        Latents of training and of held-out rows, (n, dimensions). A space of width 0 or without spread has no leak.
    train_targets, test_targets
        By name, numbers of the same rows, (n,). Give an angle as its cosine and its sine.
    n_null
        Number of shuffled nulls.
    random_state
        Seed of noise, shuffles and probes.
    """
    if isinstance(n_null, bool) or not isinstance(n_null, int | np.integer) or n_null < 1:
        raise ValueError(f"n_null is {n_null!r}; expected an integer of at least 1")
    y_train = _checked_targets(train_targets, len(train), "train")
    y_test = _checked_targets(test_targets, len(test), "test")
    if y_train.keys() != y_test.keys():
        raise ValueError(f"test_targets has {sorted(y_test)}; expected the targets of train: {sorted(y_train)}")
    seed = root_seed(random_state)
    spaces = noisy_spaces(train, test, seed)
    if spaces is None or not y_train:
        return {name: Leak(r2=0.0, null_mean=0.0, null_q95=0.0, p=1.0, probe="none") for name in y_train}
    z_train, z_test = spaces
    leaks = {}
    for name, y in y_train.items():
        # The networks of one target and its nulls fit into the cache; those of all targets would train slower.
        pairs = z_train, _shuffled(y, n_null, seed, "train"), z_test, _shuffled(y_test[name], n_null, seed, "test")
        leaks[name] = _leak(trees_r2(*pairs, seed), networks_r2(*pairs, seed))
    return leaks


def trees_r2(z_train: Array, y_train: Array, z_test: Array, y_test: Array, seed: int) -> Array:
    """Return the held-out R² of gradient-boosted trees for each column of y, (columns,)."""
    return _r2(y_test, tree_predictions(z_train, y_train, z_test, seed))


def networks_r2(z_train: Array, y_train: Array, z_test: Array, y_test: Array, seed: int) -> Array:
    """Return the held-out R² of one network for each column of y, (columns,); all are trained at once."""
    return _r2(y_test, network_predictions(z_train, y_train[:, :, None], z_test, seed)[:, :, 0])


def _checked_targets(targets: Mapping[str, Array], n_rows: int, part: str) -> dict[str, Array]:
    """Return targets as finite floats, (n,), or say which one is none."""
    checked = {}
    for name, values in targets.items():
        y = np.asarray(values)
        if y.dtype.kind not in "iuf":
            raise TypeError(f"{part} target {name!r} has dtype {y.dtype}; expected numbers: categories have no R²")
        if y.shape != (n_rows,):
            raise ValueError(f"{part} target {name!r} has shape {y.shape}; expected one number per row: ({n_rows},)")
        if not np.isfinite(y).all():
            raise ValueError(f"{part} target {name!r} has NaN or infinite entries; expected finite numbers")
        if n_rows and np.ptp(y) == 0:
            raise ValueError(f"{part} target {name!r} is constant; expected rows that differ, as R² has no meaning")
        checked[name] = y.astype(np.float64)
    return checked


def _shuffled(y: Array, n_null: int, seed: int, part: str) -> Array:
    """Return the target and its shuffles as columns, (n, 1 + n_null); every target is shuffled in the same way."""
    generators = (numpy_generator(seed, "shuffle", part, null) for null in range(n_null))
    return np.column_stack([y, *(y[generator.permutation(len(y))] for generator in generators)])


def _r2(y: Array, predicted: Array) -> Array:
    r2: Array = 1 - ((y - predicted) ** 2).sum(axis=0) / ((y - y.mean(axis=0)) ** 2).sum(axis=0)
    return r2


def _leak(trees: Array, networks: Array) -> Leak:
    """Return the leak from the R² of both probes, for the true pairs first and then for the nulls."""
    r2, *nulls = np.maximum(trees, networks)
    found = against_null(float(r2), nulls)
    probe = "trees" if trees[0] >= networks[0] else "network"
    return Leak(r2=found.score, null_mean=found.null_mean, null_q95=found.null_q95, p=found.p, probe=probe)
