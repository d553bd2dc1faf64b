"""Many rows through a network, a chunk at a time, when nothing is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

# Rows that pass through the networks at once.
CHUNK_ROWS = 512
# Rows that matrix products handle alike.
_TILE_ROWS = 64


def whole_tiles(x: Tensor) -> Tensor:
    """Return rows filled up with zeros to a multiple of 64.

    Matrix products take whole tiles of rows in one way and what is left over in another, so that the last bits of a
    row would depend on its place and on how many rows there are.
    """
    n_more = -len(x) % _TILE_ROWS
    return torch.cat([x, x.new_zeros(n_more, *x.shape[1:])]) if n_more else x


@torch.no_grad()
def in_chunks(work: Callable[[Tensor], Mapping[str, Tensor]], rows: Tensor) -> dict[str, Tensor]:
    """Return what ``work`` makes of some rows, by name, (n, ...).

    Room for all rows is made at once: many small pieces would keep the memory between them from being used again.
    """
    kept: dict[str, Tensor] = {}
    start = 0
    for chunk in rows.split(CHUNK_ROWS):
        part = work(chunk)
        kept = kept or {name: x.new_empty(len(rows), *x.shape[1:]) for name, x in part.items()}
        for name, x in part.items():
            kept[name][start : start + len(chunk)] = x
        start += len(chunk)
    return kept
