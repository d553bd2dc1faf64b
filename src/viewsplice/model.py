"""SpliceNet: the networks of Figure 1b, keyed by view and by arrow, for any number of views."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from viewsplice._random import forked_rng
from viewsplice._types import Latents, Networks, Shape, TensorViews
from viewsplice.views import arrow, arrows, endpoints

# Added before a division, so that a collapsed space stays one: latents are of order 1.
_TINY_VARIANCE = 1e-12


class SpliceNet(nn.Module):
    """Private encoders F_A, shared encoders F_{A->B}, crossed decoders G_A and measurement networks M_{A->B}.

    A space of width 0 has no encoder, takes part in no list of spaces, and appears as a tensor of width 0. Where
    networks are trained on rounded numbers, what they return is float32 all the same.

    Parameters
    ----------
    shapes
        Shape of one row of each view, in view order. Tensors are flat all the same: (n, features).
    n_private, n_shared
        Width of each private space (by view) and of each shared space (by arrow).
    networks
        Makes the single networks.
    seed
        Each network is initialized from (seed, its kind, its name): adding or reordering views changes no other.
    scale_free
        Whether measurement networks see private latents centered and divided by their total SD over the batch. An
        encoder cannot hide from those by shrinking what its decoder then amplifies.
    """

    def __init__(
        self,
        shapes: Mapping[str, Shape],
        n_private: Mapping[str, int],
        n_shared: Mapping[str, int],
        networks: Networks,
        seed: int,
        *,
        scale_free: bool = False,
    ) -> None:
        super().__init__()
        self.view_names = tuple(shapes)
        self.shapes = dict(shapes)
        self.n_private = {name: n_private[name] for name in self.view_names}
        self.n_shared = {name: n_shared[name] for name in arrows(self.view_names)}
        self.private_spaces = tuple(name for name, width in self.n_private.items() if width)
        self.shared_spaces = tuple(name for name, width in self.n_shared.items() if width)
        self._networks = networks
        self._seed = seed
        self.scale_free = scale_free
        self.private_encoders = nn.ModuleDict(
            {name: self._make("private", name, self._private_encoder) for name in self.private_spaces}
        )
        self.shared_encoders = nn.ModuleDict(
            {name: self._make("shared", name, self._shared_encoder) for name in self.shared_spaces}
        )
        self.decoders = nn.ModuleDict({name: self._make("decoder", name, self._decoder) for name in self.view_names})
        self.measurers = nn.ModuleDict(self._fresh_measurers("0"))

    def _make(self, kind: str, name: str, make: Callable[[str], nn.Module]) -> nn.Module:
        with forked_rng(self._seed, kind, name):
            return make(name)

    def _private_encoder(self, view: str) -> nn.Module:
        make = getattr(self._networks, "private_encoder", self._networks.encoder)
        network: nn.Module = make(self.shapes[view], self.n_private[view])
        return network

    def _shared_encoder(self, space: str) -> nn.Module:
        return self._networks.encoder(self.shapes[endpoints(space)[0]], self.n_shared[space])

    def _decoder(self, view: str) -> nn.Module:
        widths = [*(self.n_shared[space] for space in self.incoming(view)), self.n_private[view]]
        return self._networks.decoder(widths, self.shapes[view])

    def _measurer(self, name: str) -> nn.Module:
        source, target = endpoints(name)
        return self._networks.measurer(self.n_private[source], self.shapes[target])

    def _fresh_measurers(self, tag: str) -> dict[str, nn.Module]:
        pairs = [arrow(source, target) for source in self.private_spaces for target in self.view_names]
        names = [name for name in pairs if name in self.n_shared]
        return {name: self._make(f"measurer/{tag}", name, self._measurer) for name in names}

    def reset_measurers(self, tag: str) -> None:
        """Replace the measurement networks by untrained ones, seeded by ``tag``."""
        self.measurers = nn.ModuleDict(self._fresh_measurers(tag)).to(next(self.parameters()))

    @property
    def spaces(self) -> tuple[str, ...]:
        """Names of all latent spaces that have dimensions: private (views), then shared (arrows)."""
        return self.private_spaces + self.shared_spaces

    def incoming(self, view: str) -> tuple[str, ...]:
        """Return the arrows that end in ``view``, in view order."""
        return tuple(arrow(source, view) for source in self.view_names if source != view)

    def encode_private(self, views: TensorViews) -> dict[str, Tensor]:
        """Return z_A = F_A(x_A) of every given view that has a private space."""
        return {name: _full(self.private_encoders[name](views[name])) for name in self.private_spaces if name in views}

    def encode(self, views: TensorViews) -> Latents[Tensor]:
        """Return the latents that the given views determine, width-0 spaces included (Eq. 1)."""
        present = [name for name in self.view_names if name in views]
        private = self.encode_private(views)
        shared = {
            name: _full(self.shared_encoders[name](views[endpoints(name)[0]]))
            for name in self.shared_spaces
            if endpoints(name)[0] in views
        }
        outgoing = [name for name in self.n_shared if endpoints(name)[0] in views]
        return Latents(
            private={name: private[name] if name in private else _no_latents(views[name]) for name in present},
            shared={
                name: shared[name] if name in shared else _no_latents(views[endpoints(name)[0]]) for name in outgoing
            },
        )

    def decode_view(self, view: str, latents: Latents[Tensor]) -> Tensor:
        """Return x_hat_A = G_A(s_{B->A}, z_A): the private latent and all incoming arrows, in view order (Eq. 2)."""
        incoming = [latents.shared[name] for name in self.incoming(view)]
        return _full(self.decoders[view](torch.cat([*incoming, latents.private[view]], dim=1)))

    def decode(self, latents: Latents[Tensor]) -> dict[str, Tensor]:
        """Return all views, rebuilt."""
        return {name: self.decode_view(name, latents) for name in self.view_names}

    def measure(self, private: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return M_{A->B}(z_A) for every measurement network: predictions of each view from other private latents."""
        seen = self.measured(private)
        return {name: _full(network(seen[endpoints(name)[0]])) for name, network in self.measurers.items()}

    def measured(self, private: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return private latents as measurement networks see them; the rows given together set center and scale."""
        return {name: _unit_variance(z) if self.scale_free else z for name, z in private.items()}

    def start_from(self, other: SpliceNet) -> None:
        """Take over every weight of a model of the same views whose name and shape are the same here.

        Networks that differ in their latent widths only differ in the layer next to the latents; what a wider model
        has learnt about the views stays.
        """
        own = self.state_dict()
        learnt = {
            name: value
            for name, value in other.state_dict().items()
            if name in own and own[name].shape == value.shape and not name.startswith("measurers.")
        }
        self.load_state_dict({**own, **learnt})

    def scale_latents(self, space: str, factor: float) -> None:
        """Multiply the latents of one space, where its encoder ends in a linear layer; others stay as they are."""
        encoders = self.shared_encoders if space in self.shared_spaces else self.private_encoders
        last = list(encoders[space].modules())[-1]
        if isinstance(last, nn.Linear):
            with torch.no_grad():
                for parameter in last.parameters():
                    parameter.mul_(factor)

    def private_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of the private encoders: what disentangling trains."""
        return list(self.private_encoders.parameters())

    def autoencoder_parameters(self) -> list[nn.Parameter]:
        """Return theta_ae: encoders and decoders."""
        modules = (self.private_encoders, self.shared_encoders, self.decoders)
        return [parameter for module in modules for parameter in module.parameters()]

    def measurement_parameters(self) -> list[nn.Parameter]:
        """Return theta_pred: the measurement networks."""
        return list(self.measurers.parameters())


def _full(x: Tensor) -> Tensor:
    return x.float() if x.dtype == torch.bfloat16 else x


def _unit_variance(z: Tensor) -> Tensor:
    centered = z - z.mean(dim=0)
    total = centered.square().sum(dim=1).mean()
    return centered * (total + _TINY_VARIANCE).rsqrt()


def _no_latents(x: Tensor) -> Tensor:
    return x.new_zeros((len(x), 0))
