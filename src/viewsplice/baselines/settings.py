"""How baselines are trained unless told otherwise, and the networks of their own papers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from viewsplice._types import Shape
from viewsplice.config import TrainConfig
from viewsplice.networks.mlp import check_hidden, perceptron

# As many steps as settle small problems; the more rows, the fewer passes over them.
_STEPS, _FEWEST_EPOCHS, _MOST_EPOCHS = 4_000, 20, 300


@dataclass(frozen=True)
class PlainNetworks:
    """Fully connected networks with another activation than SPLICE's; decoders mirror encoders.

    Parameters
    ----------
    hidden
        Widths of the encoders' hidden layers, input side first.
    activation
        Class of the activation: a sigmoid keeps outputs from growing without end, which correlation does not mind.
    """

    hidden: tuple[int, ...] = (200, 200, 200)
    activation: type[nn.Module] = nn.Sigmoid

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", check_hidden("hidden", self.hidden))

    def encoder(self, shape: Shape, width: int) -> nn.Module:
        """Return a network from a view's features to ``width`` latents."""
        return perceptron([math.prod(shape), *self.hidden, width], self.activation)

    def decoder(self, widths: Sequence[int], shape: Shape) -> nn.Module:
        """Return a network from latent spaces of these widths, side by side, to a view's features."""
        return perceptron([sum(widths), *reversed(self.hidden), math.prod(shape)], self.activation)

    def measurer(self, width: int, shape: Shape) -> nn.Module:
        """Return a network from a private latent to another view's features; no baseline asks for one."""
        return self.decoder([width], shape)


def default_training(n_rows: int, batch_size: int, *, is_judged: bool) -> TrainConfig:
    """Return complete training settings for so many rows, with batches of ``batch_size`` where the rows suffice.

    Unless ``is_judged`` the validation objective neither ends the training nor chooses the epoch.
    """
    batch_size = min(batch_size, max(1, n_rows // 2))
    epochs = min(max(round(_STEPS * batch_size / n_rows), _FEWEST_EPOCHS), _MOST_EPOCHS)
    own = TrainConfig(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=1e-3,
        weight_decay=1e-3,
        patience=max(10, epochs // 4) if is_judged else 0,
        keep_best=is_judged,
        max_restarts=2,
    )
    return own.resolve(TrainConfig.paper())


def printed_training(epochs: int, batch_size: int, learning_rate: float, weight_decay: float) -> TrainConfig:
    """Return printed training settings: a constant rate, and the best epoch by the validation rows.

    Note: nothing is printed about when to stop. It is where the held-out objective has not improved for a tenth of
    the epochs.
    """
    return TrainConfig(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        schedule="constant",
        patience=max(10, epochs // 10),
        keep_best=True,
    )
