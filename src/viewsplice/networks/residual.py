"""Residual networks with pre-LayerNorm blocks: quick to train at any depth, on rows alone (no batch statistics)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from viewsplice._types import Shape
from viewsplice.config import check_number


class ResidualBlock(nn.Module):
    """x + Linear(ReLU(Linear(LayerNorm(x)))), all of one width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU(inplace=True), nn.Linear(width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return rows changed by one block, (n, width)."""
        change: Tensor = self.body(x)
        return x + change


class FourierFeatures(nn.Module):
    """Latents, and the sine and cosine of fixed random projections of them.

    Networks learn slowly what varies fast in their inputs; with few latents everything does. The projections are
    normal with SD ``scale``, meant for latents of about unit variance.
    """

    frequencies: Tensor

    def __init__(self, width: int, n_frequencies: int, scale: float) -> None:
        super().__init__()
        self.register_buffer("frequencies", torch.randn(width, n_frequencies) * scale)
        self.n_outputs = width + 2 * n_frequencies

    def forward(self, z: Tensor) -> Tensor:
        """Return (n, width + 2 n_frequencies)."""
        phase = z @ self.frequencies  # (n, n_frequencies)
        return torch.cat([z, phase.sin(), phase.cos()], dim=1)


@dataclass(frozen=True)
class ResidualNetworks:
    """Residual networks: Linear, blocks, LayerNorm, Linear; the same in both directions.

    Parameters
    ----------
    width, n_blocks
        Units per layer, and number of residual blocks.
    n_frequencies, frequency_scale
        Random Fourier features in front of decoders and measurement networks (0: none), and their SD.
    """

    width: int = 256
    n_blocks: int = 3
    n_frequencies: int = 0
    frequency_scale: float = 3.0

    def __post_init__(self) -> None:
        check_number("width", self.width, low=2, integer=True)
        check_number("n_blocks", self.n_blocks, low=1, integer=True)
        check_number("n_frequencies", self.n_frequencies, low=0, integer=True)
        check_number("frequency_scale", self.frequency_scale, low=0, open_low=True)

    def encoder(self, shape: Shape, width: int) -> nn.Module:
        """Return a network from a view's features to ``width`` latents."""
        return nn.Sequential(*self._layers(math.prod(shape), width))

    def decoder(self, width: int, shape: Shape) -> nn.Module:
        """Return a network from ``width`` latents to a view's features."""
        if self.n_frequencies == 0:
            return nn.Sequential(*self._layers(width, math.prod(shape)))
        features = FourierFeatures(width, self.n_frequencies, self.frequency_scale)
        return nn.Sequential(features, *self._layers(features.n_outputs, math.prod(shape)))

    def measurer(self, width: int, shape: Shape) -> nn.Module:
        """Return a network from a private latent to the other view's features."""
        return self.decoder(width, shape)

    def _layers(self, n_in: int, n_out: int) -> list[nn.Module]:
        blocks = [ResidualBlock(self.width) for _ in range(self.n_blocks)]
        return [nn.Linear(n_in, self.width), *blocks, nn.LayerNorm(self.width), nn.Linear(self.width, n_out)]
