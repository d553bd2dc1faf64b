"""Convolutional encoders and decoders for image-shaped views: the paper's variant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from viewsplice._types import Shape
from viewsplice.networks.mlp import check_hidden, perceptron

# Up to here a transposed convolution is quickest as a matrix product.
_FEW_CHANNELS = 4
_BLOCK_ROWS = 128


class _ChannelsFirst(nn.Module):
    """(n, height, width, channels) -> (n, channels, height, width), or back."""

    def __init__(self, *, inverse: bool) -> None:
        super().__init__()
        self.order = (0, 2, 3, 1) if inverse else (0, 3, 1, 2)

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(self.order)


class _InBlocks(nn.Sequential):
    """Layers through which rows pass in blocks: what many images become on their way fits into no cache."""

    def forward(self, x: Tensor) -> Tensor:
        made = [self._pass(block) for block in x.tensor_split(max(1, -(-len(x) // _BLOCK_ROWS)))]
        return made[0] if len(made) == 1 else torch.cat(made)

    def _pass(self, x: Tensor) -> Tensor:
        for layer in self:
            x = layer(x)
        return x


class _Upsampling(nn.ConvTranspose2d):
    """A transposed convolution, 4 x 4 with stride 2, computed in the order that a CPU is quickest with."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__(n_in, n_out, kernel_size=4, stride=2, padding=1)

    def forward(self, x: Tensor, output_size: list[int] | None = None) -> Tensor:
        if self.out_channels > _FEW_CHANNELS:
            # Pixel by pixel with all channels together: forward twice as quick as channel by channel.
            format_ = torch.channels_last
            x, weight = x.contiguous(memory_format=format_), self.weight.contiguous(memory_format=format_)
            return functional.conv_transpose2d(x, weight, self.bias, stride=2, padding=1)
        # To few channels: one matrix product gives what each pixel adds to its 4 x 4 surroundings.
        n_rows, n_in, height, width = x.shape
        patches = x.permute(0, 2, 3, 1).reshape(n_rows, height * width, n_in) @ self.weight.reshape(n_in, -1)
        size = (2 * height, 2 * width)
        y = functional.fold(patches.transpose(1, 2), size, kernel_size=4, padding=1, stride=2)
        return y if self.bias is None else y + self.bias[:, None, None]


@dataclass(frozen=True)
class ConvNetworks:
    """Strided convolutions, then fully connected layers; decoders are the mirror image.

    Views are (n, height, width), (n, channels, height, width), or with ``channels_last`` (n, height, width, channels).
    Measurement networks are fully connected, as in the paper.

    Parameters
    ----------
    channels
        Kernels (4 x 4, stride 2) of each convolution; each halves height and width.
    hidden
        Fully connected layers after the convolutions.
    measurer_hidden
        Hidden layers of the measurement networks, written like an encoder's: the widest first.
    channels_last
        Whether color images have their channels in the last axis.
    """

    channels: tuple[int, ...] = (64, 32)
    hidden: tuple[int, ...] = (256,)
    measurer_hidden: tuple[int, ...] = (256, 128, 64, 32)
    channels_last: bool = False

    def __post_init__(self) -> None:
        for name in ("channels", "hidden", "measurer_hidden"):
            object.__setattr__(self, name, check_hidden(name, getattr(self, name)))
        if not self.channels:
            raise ValueError("channels is empty; expected at least one convolution, such as (64, 32)")

    def encoder(self, shape: Shape, width: int) -> nn.Module:
        """Return a network from a view's (flat) pixels to ``width`` latents."""
        n_channels, height, width_px = self._image(shape)
        layers: list[nn.Module] = [nn.Unflatten(1, self._unflat(shape))]
        layers += [_ChannelsFirst(inverse=False)] if self.channels_last and len(shape) == 3 else []
        for n_in, n_out in zip((n_channels, *self.channels), self.channels, strict=False):
            layers += [nn.Conv2d(n_in, n_out, kernel_size=4, stride=2, padding=1), nn.ReLU(inplace=True)]
        n_flat = self.channels[-1] * (height >> len(self.channels)) * (width_px >> len(self.channels))
        return _InBlocks(*layers, nn.Flatten(), perceptron([n_flat, *self.hidden, width], nn.ReLU))

    def decoder(self, widths: Sequence[int], shape: Shape) -> nn.Module:
        """Return a network from latent spaces of these widths, side by side, to a view's (flat) pixels."""
        n_channels, height, width_px = self._image(shape)
        small = (self.channels[-1], height >> len(self.channels), width_px >> len(self.channels))
        layers: list[nn.Module] = [perceptron([sum(widths), *reversed(self.hidden), math.prod(small)], nn.ReLU)]
        layers += [nn.ReLU()]
        layers += [nn.Unflatten(1, small)]
        outputs = (*reversed(self.channels[:-1]), n_channels)
        for n_in, n_out in zip(reversed(self.channels), outputs, strict=True):
            layers += [_Upsampling(n_in, n_out), nn.ReLU(inplace=True)]
        layers.pop()
        layers += [_ChannelsFirst(inverse=True)] if self.channels_last and len(shape) == 3 else []
        return _InBlocks(*layers, nn.Flatten())

    def measurer(self, width: int, shape: Shape) -> nn.Module:
        """Return a fully connected network from a private latent to the other view's pixels."""
        return perceptron([width, *reversed(self.measurer_hidden), math.prod(shape)])

    def _unflat(self, shape: Shape) -> Shape:
        return shape if len(shape) == 3 else (1, *shape)

    def _image(self, shape: Shape) -> tuple[int, int, int]:
        """Return (channels, height, width) of a view, or say why it is no image these layers can halve."""
        if len(shape) not in (2, 3):
            raise ValueError(
                f"ConvNetworks got a view with rows of shape {shape}; expected images, (height, width) or with "
                "channels: reshape the view to (n, height, width)"
            )
        n_channels, height, width = self._unflat(shape)
        if self.channels_last and len(shape) == 3:
            height, width, n_channels = shape
        step = 2 ** len(self.channels)
        if height % step or width % step:
            raise ValueError(
                f"ConvNetworks got images of {height} x {width} pixels; expected multiples of {step} for "
                f"{len(self.channels)} halvings: pad the images or use fewer convolutions"
            )
        return n_channels, height, width
