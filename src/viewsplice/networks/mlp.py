"""Plain multi-layer perceptrons, as in the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from viewsplice._types import Shape
from viewsplice.config import check_number

_HIDDEN_SETS = {
    "rotated-mnist": (256, 128, 64, 32),
    "lgn-v1": (200,) * 6,
    "sprites": (1024, 512, 512, 2048, 1024, 512),
}

# Without dimensions, so that it takes the device and type of what it is added to.
_SHIFT = torch.tensor(-2.0 * math.log(2.0))


class CenteredSoftplus(nn.Module):
    """The activation 2 (softplus(x) - ln 2): smooth, zero at zero, slope one there."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the activation of every unit."""
        # One operation after softplus, not two: with small batches the number of operations is what takes time.
        return torch.add(_SHIFT, functional.softplus(x), alpha=2.0)


def perceptron(widths: Sequence[int], activation: type[nn.Module] = CenteredSoftplus) -> nn.Sequential:
    """Return Linear layers of the given widths with activations between them and a linear output."""
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(widths[:-1]):
        layers += [nn.Linear(n_in, n_out), activation()]
    return nn.Sequential(*layers, nn.Linear(widths[-2], widths[-1]))


def check_hidden(name: str, hidden: Sequence[int]) -> tuple[int, ...]:
    """Return layer widths as a tuple of positive integers (JSON gives lists)."""
    if isinstance(hidden, int | str):
        raise TypeError(f"{name} is {hidden!r}; expected a sequence of layer widths, such as (256, 128)")
    for width in hidden:
        check_number(f"each width in {name}", width, low=1, integer=True)
    return tuple(hidden)


@dataclass(frozen=True)
class MLPNetworks:
    """Fully connected networks; decoders mirror encoders, measurement networks are like decoders.

    Parameters
    ----------
    hidden
        Widths of the encoders' hidden layers, input side first.
    """

    hidden: tuple[int, ...] = _HIDDEN_SETS["rotated-mnist"]

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", check_hidden("hidden", self.hidden))

    @classmethod
    def paper(cls, experiment: str = "rotated-mnist") -> MLPNetworks:
        """Return the layers printed in the paper for one experiment."""
        if experiment not in _HIDDEN_SETS:
            raise ValueError(f"experiment is {experiment!r}; expected one of {list(_HIDDEN_SETS)}")
        return cls(_HIDDEN_SETS[experiment])

    def encoder(self, shape: Shape, width: int) -> nn.Module:
        """Return a network from a view's features to ``width`` latents."""
        return perceptron([math.prod(shape), *self.hidden, width])

    def decoder(self, widths: Sequence[int], shape: Shape) -> nn.Module:
        """Return a network from latent spaces of these widths, side by side, to a view's features."""
        return perceptron([sum(widths), *reversed(self.hidden), math.prod(shape)])

    def measurer(self, width: int, shape: Shape) -> nn.Module:
        """Return a network from a private latent to the other view's features."""
        return self.decoder([width], shape)
