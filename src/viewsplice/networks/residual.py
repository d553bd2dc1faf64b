"""Residual networks with pre-LayerNorm blocks, plain or gated: quick to train, on rows alone (no batch statistics)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from viewsplice._types import Shape
from viewsplice.config import check_choice, check_number

# Fourier features of measurement networks, for latents of unit total variance.
_MEASURER_FREQUENCIES, _MEASURER_SCALE = 32, 2.0
# Gates come in multiples of this: matrix multiplications like it.
_GATES = 8


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


class GatedLayer(nn.Module):
    """Linear(silu(a) * b), (a, b) = Linear(LayerNorm(x)): units that open and close one another.

    What a view makes of one latent often depends on another, as the place of a stroke depends on the angle. A product
    says so at once; sums of bent lines need many units.
    """

    def __init__(self, n_in: int, n_gates: int, n_out: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(n_in)
        self.inner = nn.Linear(n_in, 2 * n_gates)
        self.outer = nn.Linear(n_gates, n_out)

    def forward(self, x: Tensor) -> Tensor:
        """Return (n, n_out)."""
        gates, values = self.inner(self.norm(x)).chunk(2, dim=1)
        out: Tensor = self.outer(functional.silu(gates) * values)
        return out


class GatedBlock(nn.Module):
    """x + GatedLayer(x), all of one width, with as many weights as `ResidualBlock` has."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = GatedLayer(width, _GATES * math.ceil(2 * width / 3 / _GATES), width)

    def forward(self, x: Tensor) -> Tensor:
        """Return rows changed by one block, (n, width)."""
        change: Tensor = self.body(x)
        return x + change


class FourierFeatures(nn.Module):
    """Latents, and the sine and cosine of fixed random projections of them.

    Networks learn slowly what varies fast in their inputs; with few latents everything does. The projections are
    normal with SD ``scale`` / sqrt(width), meant for spaces of about unit total variance: the more dimensions, the
    fewer points along each, and the slower the waves they support. Each looks into one latent space only, and every
    space gets an equal share: what a view adds up from its spaces then stays a sum, where projections across spaces
    would need as many frequencies as there are combinations.
    """

    frequencies: Tensor

    def __init__(self, widths: Sequence[int], n_frequencies: int, scale: float) -> None:
        super().__init__()
        occupied = [width for width in widths if width]
        blocks = [
            torch.randn(width, (n_frequencies * (i + 1)) // len(occupied) - (n_frequencies * i) // len(occupied))
            / math.sqrt(width)
            for i, width in enumerate(occupied)
        ]
        self.register_buffer("frequencies", torch.block_diag(*blocks) * scale)
        self.n_outputs = sum(widths) + 2 * n_frequencies

    def forward(self, z: Tensor) -> Tensor:
        """Return (n, width + 2 n_frequencies)."""
        with torch.autocast(z.device.type, enabled=False):  # a phase is to be known to much less than a turn
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
        Random Fourier features in front of decoders (0: none), shared out among the latent spaces, and their SD.
    gated
        Whether blocks are gated, in shared encoders and in decoders: what a view makes of one latent depends on others.
    head
        Gates in front of a decoder's outputs (0: none). Without them whatever a decoder makes lies in a flat space of
        as many dimensions as it has units, and images do not.
    """

    width: int = 256
    n_blocks: int = 3
    n_frequencies: int = 0
    frequency_scale: float = 3.0
    gated: bool = False
    head: int = 0

    def __post_init__(self) -> None:
        check_number("width", self.width, low=2, integer=True)
        check_number("n_blocks", self.n_blocks, low=1, integer=True)
        check_number("n_frequencies", self.n_frequencies, low=0, integer=True)
        check_number("frequency_scale", self.frequency_scale, low=0, open_low=True)
        check_choice("gated", self.gated, (True, False))
        check_number("head", self.head, low=0, integer=True)

    def encoder(self, shape: Shape, width: int) -> nn.Module:
        """Return a network from a view's features to ``width`` latents."""
        return nn.Sequential(*self._trunk(math.prod(shape), gated=self.gated), *self._last(width))

    def private_encoder(self, shape: Shape, width: int) -> nn.Module:
        """Return an encoder without gates: what is private to a view is to be read off in the simplest way."""
        return nn.Sequential(*self._trunk(math.prod(shape), gated=False), *self._last(width))

    def decoder(self, widths: Sequence[int], shape: Shape) -> nn.Module:
        """Return a network from latent spaces of these widths, side by side, to a view's features."""
        n_in, n_out = sum(widths), math.prod(shape)
        first: nn.Module = nn.Identity()
        if self.n_frequencies:
            first = features = FourierFeatures(widths, self.n_frequencies, self.frequency_scale)
            n_in = features.n_outputs
        last = [GatedLayer(self.width, self.head, n_out)] if self.head else self._last(n_out)
        return nn.Sequential(first, *self._trunk(n_in, gated=self.gated), *last)

    def measurer(self, width: int, shape: Shape) -> nn.Module:
        """Return a network from a private latent to the other view's features: half as wide, one block less.

        It is trained more often than any other network and predicts what should not be there. It always looks at
        Fourier features: small networks would otherwise miss what varies fast in a latent of few dimensions.
        """
        small = replace(self, width=max(2, self.width // 2), n_blocks=max(1, self.n_blocks - 1))
        features = FourierFeatures([width], _MEASURER_FREQUENCIES, _MEASURER_SCALE)
        return nn.Sequential(features, *small._trunk(features.n_outputs, gated=False), *small._last(math.prod(shape)))

    def _trunk(self, n_in: int, *, gated: bool) -> list[nn.Module]:
        block = GatedBlock if gated else ResidualBlock
        return [nn.Linear(n_in, self.width), *(block(self.width) for _ in range(self.n_blocks))]

    def _last(self, n_out: int) -> list[nn.Module]:
        return [nn.LayerNorm(self.width), nn.Linear(self.width, n_out)]
