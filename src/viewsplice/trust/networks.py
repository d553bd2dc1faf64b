"""Many small networks trained at once on the same rows, each for targets of its own: two hidden layers of 64 units."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from viewsplice._random import numpy_generator, torch_generator
from viewsplice._types import Array

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


def network_predictions(z_train: Array, y_train: Array, z_test: Array, seed: int) -> Array:
    """Return what one network for each set of targets predicts of new rows, (n, networks, outputs).

    Each network is kept as it was when it predicted a tenth of the training rows best, at first their mean, and leaves
    the batch when it has not improved for long: most nulls leave early.

    Parameters
    ----------
    z_train, z_test
        Inputs, (n, dimensions), of unit total variance.
    y_train
        Targets of the training rows, (n, networks, outputs).
    seed
        Root of weights, batches and inner rows.
    """
    mean = y_train.mean(axis=0)
    sd = y_train.var(axis=0).mean(axis=1, keepdims=True) ** 0.5
    order = numpy_generator(seed, "inner rows").permutation(len(z_train))
    n_inner = len(order) // 10
    # One factor for the whole space: wide ones would otherwise enter the first layer with tiny numbers.
    scale = math.sqrt(z_train.shape[1])
    x, x_test = (torch.as_tensor(scale * z, dtype=torch.float32) for z in (z_train[order], z_test))
    targets = ((y_train - mean) / sd)[order].transpose(1, 0, 2)
    y = torch.as_tensor(targets, dtype=torch.float32)  # (networks, n, outputs)
    weights = _train_networks(x[n_inner:], y[:, n_inner:], x[:n_inner], y[:, :n_inner], seed)
    predicted: Array = _predict(weights, x_test).numpy().transpose(1, 0, 2) * sd + mean
    return predicted


def _train_networks(x: Tensor, y: Tensor, x_inner: Tensor, y_inner: Tensor, seed: int) -> list[Tensor]:
    """Return the weights of all networks, stacked along the first axis, each at its best round on the inner rows."""
    batch_size = min(_BATCH_SIZE, len(x))
    n_steps = max(_LEAST_STEPS_PER_ROUND, math.ceil(len(x) / batch_size))
    batches = _batches(len(x), batch_size, torch_generator(seed, "batches"))
    best = _initial_weights(x.shape[1], len(y), y.shape[2], torch_generator(seed, "weights"))
    lowest, waited, active = _errors(best, x_inner, y_inner), torch.zeros(len(y)), torch.arange(len(y))
    weights = [weight.clone().requires_grad_() for weight in best]
    optimizer = torch.optim.Adam(weights, lr=_LEARNING_RATE, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _pace)
    for _ in range(_N_ROUNDS):
        for _ in range(n_steps):
            rows = next(batches)
            optimizer.zero_grad()
            # Summed over networks, so that each has the gradient it would have alone.
            (_forward(weights, x[rows]) - y[:, rows]).square().mean(dim=(1, 2)).sum().backward()
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


def _initial_weights(n_inputs: int, n_networks: int, n_outputs: int, generator: torch.Generator) -> list[Tensor]:
    """Return weights and biases of three layers; the last is zero, so that training starts from the mean."""
    weights = []
    for n_in in (n_inputs, _HIDDEN):
        bound = 1 / math.sqrt(n_in)
        for shape in ((n_networks, n_in, _HIDDEN), (n_networks, 1, _HIDDEN)):
            weights.append(bound * (2 * torch.rand(shape, generator=generator) - 1))
    return [*weights, torch.zeros(n_networks, _HIDDEN, n_outputs), torch.zeros(n_networks, 1, n_outputs)]


def _forward(weights: list[Tensor], x: Tensor) -> Tensor:
    """Return the predictions of all networks for the same rows, (networks, n, outputs)."""
    w1, b1, w2, b2, w3, b3 = weights
    hidden = torch.baddbmm(b1, x.expand(len(w1), -1, -1), w1).relu_()
    hidden = torch.baddbmm(b2, hidden, w2).relu_()
    return torch.baddbmm(b3, hidden, w3)


def _predict(weights: list[Tensor], x: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.cat([_forward(weights, chunk) for chunk in x.split(_CHUNK)], dim=1)


def _errors(weights: list[Tensor], x: Tensor, y: Tensor) -> Tensor:
    return (_predict(weights, x) - y).square().mean(dim=(1, 2))


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
