"""Leaks: what fresh probes, trained on frozen latents, read out of a space that should know nothing about a target.

The networks that measure leaks during training may lag behind; these probes never saw the encoders being trained.
A leak is the held-out R² of the better of two probes, minus what they reach when rows are paired at random.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingRegressor
from torch import Tensor

from viewsplice._random import RandomState, derive_seed, numpy_generator, root_seed, torch_generator
from viewsplice._types import Array
from viewsplice.metrics.variance import as_rows, latent_spread

_NOISE = 0.01
_NO_SPREAD = 8 * float(np.finfo(np.float32).eps)
_LEAST_ROWS = 20
_TREE_ROWS = 4000

_HIDDEN = 64
_BATCH_SIZE = 256
_LEARNING_RATE = 1e-2
# Slow first rounds, so that networks with few rows show a weak leak before they memorize rows.
_SLOWEST = 1 / 64
_N_ROUNDS = 40
# Few rows must not mean few steps: a round is one pass over the rows, or several if that is less than this.
_LEAST_STEPS_PER_ROUND = 38
_PATIENCE = 8
_CHUNK = 1024


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
    spaces = _noisy(train, test, seed)
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
    rows = numpy_generator(seed, "tree rows").permutation(len(z_train))[:_TREE_ROWS]
    predicted = np.empty_like(y_test)
    for column in range(y_train.shape[1]):
        model = HistGradientBoostingRegressor(early_stopping=True, random_state=derive_seed(seed, "trees") % 2**32)
        predicted[:, column] = model.fit(z_train[rows], y_train[rows, column]).predict(z_test)
    return _r2(y_test, predicted)


def networks_r2(z_train: Array, y_train: Array, z_test: Array, y_test: Array, seed: int) -> Array:
    """Return the held-out R² of one network for each column of y, (columns,); all are trained at once.

    Each network is kept as it was when it predicted a tenth of the training rows best, at first their mean, and leaves
    the batch when it has not improved for long: most nulls leave early.
    """
    mean, sd = y_train.mean(axis=0), y_train.std(axis=0)
    order = numpy_generator(seed, "inner rows").permutation(len(z_train))
    n_inner = len(order) // 10
    # One factor for the whole space: wide ones would otherwise enter the first layer with tiny numbers.
    scale = math.sqrt(z_train.shape[1])
    x, x_test = (torch.as_tensor(scale * z, dtype=torch.float32) for z in (z_train[order], z_test))
    y = torch.as_tensor(((y_train - mean) / sd)[order].T, dtype=torch.float32)  # (networks, n)
    weights = _train_networks(x[n_inner:], y[:, n_inner:], x[:n_inner], y[:, :n_inner], seed)
    return _r2(y_test, _predict(weights, x_test).numpy().T * sd + mean)


def _train_networks(x: Tensor, y: Tensor, x_inner: Tensor, y_inner: Tensor, seed: int) -> list[Tensor]:
    """Return the weights of all networks, stacked along the first axis, each at its best round on the inner rows."""
    batch_size = min(_BATCH_SIZE, len(x))
    n_steps = max(_LEAST_STEPS_PER_ROUND, math.ceil(len(x) / batch_size))
    batches = _batches(len(x), batch_size, torch_generator(seed, "batches"))
    best = _initial_weights(x.shape[1], len(y), torch_generator(seed, "weights"))
    lowest, waited, active = _errors(best, x_inner, y_inner), torch.zeros(len(y)), torch.arange(len(y))
    weights = [weight.clone().requires_grad_() for weight in best]
    optimizer = torch.optim.Adam(weights, lr=_LEARNING_RATE, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _pace)
    for _ in range(_N_ROUNDS):
        for _ in range(n_steps):
            rows = next(batches)
            optimizer.zero_grad()
            # Summed over networks, so that each has the gradient it would have alone.
            (_forward(weights, x[rows]) - y[:, rows]).square().mean(dim=1).sum().backward()
            optimizer.step()
        schedule.step()
        errors = _errors(weights, x_inner, y_inner)
        improved = errors < lowest
        lowest = torch.where(improved, errors, lowest)
        waited = torch.where(improved, 0, waited + 1)
        for kept, weight in zip(best, weights, strict=True):
            kept[active[improved]] = weight.detach()[improved]
        going = waited < _PATIENCE
        if not going.any():
            break
        if not going.all():
            _keep(optimizer, going)
            y, y_inner = y[going], y_inner[going]
            lowest, waited, active = lowest[going], waited[going], active[going]
    return best


def _pace(n_rounds: int) -> float:
    """Return the learning rate after some rounds, as a fraction of the highest: a warm-up, then half a cosine."""
    warm_up = min(1.0, _SLOWEST * 2.0**n_rounds)
    return warm_up * (1 + math.cos(math.pi * n_rounds / _N_ROUNDS)) / 2


def _initial_weights(n_inputs: int, n_networks: int, generator: torch.Generator) -> list[Tensor]:
    """Return weights and biases of three layers; the last is zero, so that training starts from the mean."""
    weights = []
    for n_in in (n_inputs, _HIDDEN):
        bound = 1 / math.sqrt(n_in)
        for shape in ((n_networks, n_in, _HIDDEN), (n_networks, 1, _HIDDEN)):
            weights.append(bound * (2 * torch.rand(shape, generator=generator) - 1))
    return [*weights, torch.zeros(n_networks, _HIDDEN, 1), torch.zeros(n_networks, 1, 1)]


def _forward(weights: list[Tensor], x: Tensor) -> Tensor:
    """Return the predictions of all networks for the same rows, (networks, n)."""
    w1, b1, w2, b2, w3, b3 = weights
    hidden = torch.baddbmm(b1, x.expand(len(w1), -1, -1), w1).relu_()
    hidden = torch.baddbmm(b2, hidden, w2).relu_()
    return torch.baddbmm(b3, hidden, w3).squeeze(2)


def _predict(weights: list[Tensor], x: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.cat([_forward(weights, chunk) for chunk in x.split(_CHUNK)], dim=1)


def _errors(weights: list[Tensor], x: Tensor, y: Tensor) -> Tensor:
    return (_predict(weights, x) - y).square().mean(dim=1)


def _keep(optimizer: torch.optim.Optimizer, going: Tensor) -> None:
    """Drop networks from the stacked weights and from what Adam remembers of them."""
    for weight in optimizer.param_groups[0]["params"]:
        weight.data, weight.grad = weight.data[going], None
        state = optimizer.state[weight]
        state["exp_avg"], state["exp_avg_sq"] = state["exp_avg"][going], state["exp_avg_sq"][going]


def _batches(n_rows: int, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield shuffled batches without end; every pass leaves out the rows that do not fill one."""
    while True:
        order = torch.randperm(n_rows, generator=generator)
        yield from order[: n_rows - n_rows % batch_size].split(batch_size)


def _noisy(train: Array, test: Array, seed: int) -> tuple[Array, Array] | None:
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
    return Leak(
        r2=float(r2),
        null_mean=float(np.mean(nulls)),
        null_q95=float(np.quantile(nulls, 0.95)),
        p=(1 + int(np.sum(np.asarray(nulls) >= r2))) / (1 + len(nulls)),
        probe="trees" if trees[0] >= networks[0] else "network",
    )
