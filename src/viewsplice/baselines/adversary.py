"""Networks that look for what a shared and a private code have in common, and are trained against the encoders."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from viewsplice._random import forked_rng, torch_generator
from viewsplice.config import check_number
from viewsplice.networks.mlp import check_hidden, perceptron

# Added to variances: an output that has become constant correlates with nothing, instead of being 0 / 0.
_LEAST_VARIANCE = 1e-6
# Fresh adversaries see so many rows, are judged by as many others, and learn at this rate.
_FRESH_ROWS, _FRESH_RATE = 1_000, 1e-2


@dataclass(frozen=True)
class AdversaryConfig:
    """How `Lyu`'s adversaries are made and trained.

    Parameters
    ----------
    hidden
        Hidden layers of each network (ReLU).
    learning_rate, weight_decay
        Of their Adam; the decay is the classical one, added to the gradient.
    rows
        Rows over which a correlation is taken: those of the batch and, if these are fewer, others drawn at random.
    n_steps
        Ascent steps per step of the encoders.
    fresh_steps
        Steps of the fresh adversaries that measure, now and then, what there is left to find.
    """

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    rows: int = 250
    n_steps: int = 5
    fresh_steps: int = 100

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", check_hidden("hidden", self.hidden))
        check_number("learning_rate", self.learning_rate, low=0, open_low=True)
        check_number("weight_decay", self.weight_decay, low=0)
        check_number("rows", self.rows, low=0, integer=True)
        check_number("n_steps", self.n_steps, low=1, integer=True)
        check_number("fresh_steps", self.fresh_steps, low=1, integer=True)


def reversed_gradient(x: Tensor) -> Tensor:
    """Return x; what comes back through it has the other sign: one loss trains two sides against each other."""
    return 2 * x.detach() - x


def absolute_correlation(a: Tensor, b: Tensor) -> Tensor:
    """Return |corr(a, b)| of two columns (n,); 0 if one of them is constant."""
    a, b = a - a.mean(), b - b.mean()
    scale = (a.square().mean() + _LEAST_VARIANCE).sqrt() * (b.square().mean() + _LEAST_VARIANCE).sqrt()
    return (a * b).mean().abs() / scale


class Adversary(nn.Module):
    """The pair phi, tau: |corr(phi(shared), tau(private))|, which training makes as large as it can."""

    def __init__(self, n_shared: int, n_private: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.phi = perceptron([n_shared, *hidden, 1], nn.ReLU)
        self.tau = perceptron([n_private, *hidden, 1], nn.ReLU)

    def forward(self, shared: Tensor, private: Tensor) -> Tensor:
        """Return the correlation over the rows."""
        return absolute_correlation(self.phi(shared)[:, 0], self.tau(private)[:, 0])


def new_adversary(n_shared: int, n_private: int, hidden: tuple[int, ...], seed: int, name: str) -> Adversary:
    """Return an untrained adversary, seeded by its name."""
    with forked_rng(seed, "adversary", name):
        return Adversary(n_shared, n_private, hidden)


def adam(parameters: Iterable[nn.Parameter], learning_rate: float, weight_decay: float = 0.0) -> torch.optim.Adam:
    """Return Adam with the classical decay, fused where the device has it."""
    trained = list(parameters)
    is_fused = trained[0].device.type in ("cpu", "cuda")
    return torch.optim.Adam(trained, learning_rate, weight_decay=weight_decay, fused=is_fused)


def fresh_correlation(shared: Tensor, private: Tensor, config: AdversaryConfig, seed: int) -> float:
    """Return the correlation that a new adversary finds in codes (n, width), on rows that it was not trained on.

    The codes rest; it sees them at unit variance. This tells whether the adversary that the encoders were trained
    against is alive: one that finds much less than a fresh one is not.
    """
    order = torch.randperm(len(shared), generator=torch_generator(seed, "fresh rows"))[: 2 * _FRESH_ROWS]
    halves = order.to(shared.device).tensor_split(2)
    codes = [(x - x.mean(dim=0)) / (x.std(dim=0) + _LEAST_VARIANCE) for x in (shared.detach(), private.detach())]
    adversary = new_adversary(shared.shape[1], private.shape[1], config.hidden, seed, "fresh").to(shared)
    optimizer = adam(adversary.parameters(), _FRESH_RATE)
    with torch.enable_grad():
        for _ in range(config.fresh_steps):
            optimizer.zero_grad()
            (-adversary(*(x[halves[0]] for x in codes))).backward()
            optimizer.step()
    with torch.no_grad():
        return float(adversary(*(x[halves[1]] for x in codes)))
