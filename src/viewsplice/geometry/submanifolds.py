"""Projection of rows on one submanifold: every latent space but one held at an anchor's value (Eq. 6)."""

from __future__ import annotations

from torch import Tensor

from viewsplice._types import EncoderDecoder, Latents, T
from viewsplice.views import endpoints, is_arrow


def decoded_view(space: str) -> str:
    """Return the view in which a space's submanifold lies: A for z_A, B for s_{A->B}."""
    return endpoints(space)[1] if is_arrow(space) else space


def with_anchor(latents: T, space: str, anchor: Latents[T]) -> Latents[T]:
    """Return latents that vary in ``space`` only; all other spaces repeat the anchor's single row."""
    repeated = anchor[[0] * len(latents)]
    private = {name: latents if name == space else z for name, z in repeated.private.items()}
    shared = {name: latents if name == space else s for name, s in repeated.shared.items()}
    return Latents(private=private, shared=shared)


def project(model: EncoderDecoder, latents: Tensor, space: str, anchor: Latents[Tensor]) -> Tensor:
    """Return the points (n, features) of one submanifold in observation space.

    Parameters
    ----------
    model
        Decodes.
    latents
        Rows of the space that varies, (n, width).
    space
        Its name: a view (private) or an arrow (shared).
    anchor
        Latents of one row, the paper's z^fix and s^fix.
    """
    return model.decode_view(decoded_view(space), with_anchor(latents, space, anchor))
