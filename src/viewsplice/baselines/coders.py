"""The networks of a baseline: encoders by view, decoders where views are rebuilt, adversaries where there are any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from viewsplice._random import forked_rng
from viewsplice._types import Networks, Shape, TensorViews
from viewsplice.chunks import in_chunks
from viewsplice.training.alternating import take


class Coders(nn.Module):
    """Encoders and decoders by view.

    Parameters
    ----------
    shapes
        Shape of one row of each view, in view order. Tensors are flat all the same: (n, features).
    n_outputs
        By view, how many numbers its encoder returns; what they mean is the method's affair.
    n_inputs
        By view that is rebuilt, the widths of the latent spaces that its decoder sees side by side.
    networks
        Makes the single networks.
    seed
        Each network is initialized from (seed, its kind, its view): the order of views changes none.
    """

    def __init__(
        self,
        shapes: Mapping[str, Shape],
        n_outputs: Mapping[str, int],
        n_inputs: Mapping[str, Sequence[int]],
        networks: Networks,
        seed: int,
    ) -> None:
        super().__init__()
        self.encoders = nn.ModuleDict()
        self.decoders = nn.ModuleDict()
        self.adversaries = nn.ModuleDict()
        for name, width in n_outputs.items():
            with forked_rng(seed, "encoder", name):
                self.encoders[name] = networks.encoder(shapes[name], width)
        for name, widths in n_inputs.items():
            with forked_rng(seed, "decoder", name):
                self.decoders[name] = networks.decoder(widths, shapes[name])

    def encode(self, views: TensorViews) -> dict[str, Tensor]:
        """Return what the encoder of each given view says, (n, outputs)."""
        return {name: self.encoders[name](x) for name, x in views.items()}

    def decode(self, view: str, *latents: Tensor) -> Tensor:
        """Return one view rebuilt from latents side by side."""
        x_hat: Tensor = self.decoders[view](torch.cat(latents, dim=1))
        return x_hat

    def coder_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of encoders and decoders."""
        return [*self.encoders.parameters(), *self.decoders.parameters()]


def encode_rows(net: Coders, views: TensorViews, rows: Tensor) -> dict[str, Tensor]:
    """Return what the encoders say of some rows, without gradients, in chunks."""
    return in_chunks(lambda chunk: net.encode(take(views, chunk)), rows)
