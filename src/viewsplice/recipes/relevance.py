"""What each latent space adds to its view on rows that were not trained on, and whether that could be chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from viewsplice._random import torch_generator
from viewsplice._types import Latents
from viewsplice.geometry.submanifolds import decoded_view
from viewsplice.geometry.targets import encode_rows
from viewsplice.losses import squared_error
from viewsplice.model import SpliceNet
from viewsplice.training.alternating import TrainingData, take
from viewsplice.views import is_arrow

# Shuffles that make the null of a shared space, and those that show what a private space carries.
N_SHUFFLES, _N_PRIVATE = 199, 20
_MOST_ROWS = 500
# Fewer held-out rows than this tell nothing: shuffles of a handful are often the pairing itself.
_FEWEST_ROWS = 20


@dataclass(frozen=True)
class Relevance:
    """What one space adds to the view it helps to rebuild.

    Attributes
    ----------
    share
        Fraction of the view's variance that the space carries: half of what the error rises by when the rows of this
        space, and of no other, are shuffled.
    p_value
        How often shuffled rows rebuild the view as well as the paired ones do, counting the pairing itself.
    is_held_out
        Whether this was judged on rows that were not trained on.
    """

    share: float
    p_value: float
    is_held_out: bool = True


@torch.no_grad()
def relevances(model: SpliceNet, data: TrainingData, seed: int) -> dict[str, Relevance]:
    """Return the relevance of every space that has dimensions.

    For a shared space the shuffles are the null hypothesis itself: if view B knew nothing of view A, s_{B->A} of one
    row would rebuild A as well as that of another. For a private space the share is what counts.
    """
    is_held_out = len(data.validation) >= _FEWEST_ROWS
    rows = data.validation if is_held_out else data.train
    generator = torch_generator(seed, "relevance")
    rows = rows[torch.randperm(len(rows), generator=generator)[:_MOST_ROWS].to(rows.device)]
    latents, views = encode_rows(model, data.views, rows), take(data.views, rows)
    found = {}
    for space in model.spaces:
        view = decoded_view(space)
        x, unit = views[view], data.units[view]
        paired = float(squared_error(x, model.decode_view(view, latents), unit))
        n_shuffles, shuffled = N_SHUFFLES if is_arrow(space) else _N_PRIVATE, []
        for _ in range(n_shuffles):
            order = torch.randperm(len(rows), generator=generator).to(rows.device)
            mixed = model.decode_view(view, _shuffled(latents, space, order))
            shuffled.append(float(squared_error(x, mixed, unit)))
        n_as_good = sum(error <= paired for error in shuffled)
        share = (sum(shuffled) / n_shuffles - paired) / 2
        found[space] = Relevance(share, (1 + n_as_good) / (1 + n_shuffles), is_held_out)
    return found


def _shuffled(latents: Latents[Tensor], space: str, order: Tensor) -> Latents[Tensor]:
    def mix(spaces: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: z[order] if name == space else z for name, z in spaces.items()}

    if is_arrow(space):
        return Latents(private=latents.private, shared=mix(latents.shared))
    return Latents(private=mix(latents.private), shared=latents.shared)
