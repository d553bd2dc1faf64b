"""Everything a fit found, and what can be done with it: trained networks applied to the user's arrays.

Rows are handled block by block without gradients, results are in the user's units, and row i of a result depends on
row i of the input only, whatever its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from viewsplice._random import numpy_generator
from viewsplice._types import Array, Latents
from viewsplice.chunks import whole_tiles
from viewsplice.frontend import Standardizer
from viewsplice.geometry.submanifolds import decoded_view, with_anchor
from viewsplice.geometry.targets import SpaceGeometry
from viewsplice.model import SpliceNet
from viewsplice.recipes import Choice, Settings, Solution
from viewsplice.training.loop import History
from viewsplice.views import Views, row_blocks

_N_REFERENCE = 64
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Fitted:
    """A finished fit.

    Attributes
    ----------
    model, standardizers
        The networks, and per view the way between the user's units and theirs.
    settings, seed
        Complete settings, and the root of all seeds.
    history, geometry, split
        Loss terms by epoch; geometry by space; training and validation rows.
    choices
        What was chosen for the user, by name.
    reference
        Latents of up to 64 training rows, over which `predict` averages.
    anchor
        Latents of the row that `project` holds fixed.
    """

    model: SpliceNet
    standardizers: Mapping[str, Standardizer]
    settings: Settings
    seed: int
    history: History
    geometry: Mapping[str, SpaceGeometry]
    split: Mapping[str, Array]
    choices: Mapping[str, Choice]
    reference: Latents[Array]
    anchor: Latents[Array]

    @classmethod
    def from_solution(
        cls,
        solution: Solution,
        standardizers: Mapping[str, Standardizer],
        settings: Settings,
        seed: int,
        split: Mapping[str, Array],
        views: Views,
    ) -> Fitted:
        """Return the fit with the latents of those rows of ``views`` that later calls need."""
        model, train = solution.model.eval(), split["train"]
        n_kept = min(_N_REFERENCE, len(train))
        rows = np.sort(numpy_generator(seed, "reference").choice(train, n_kept, replace=False))
        anchors = next(iter(solution.geometry.values())).anchors if solution.geometry else rows[:1]
        return cls(
            model=model,
            standardizers=standardizers,
            settings=settings,
            seed=seed,
            history=solution.history,
            geometry=solution.geometry,
            split=split,
            choices=solution.choices,
            reference=encode(model, standardizers, views[rows]),
            anchor=encode(model, standardizers, views[anchors[:1]]),
        )

    @property
    def device(self) -> torch.device:
        """Where the networks are."""
        return next(self.model.parameters()).device

    def encode(self, views: Views) -> Latents[Array]:
        """Return the latents that the given views determine."""
        return encode(self.model, self.standardizers, views)

    @torch.inference_mode()
    def decode_view(self, view: str, latents: Latents[Array]) -> Array:
        """Return one view rebuilt from latents, in the user's units and shape."""
        standardizer = self.standardizers[view]
        out = np.empty((len(latents), *standardizer.shape), dtype=standardizer.dtype)
        for block in row_blocks(len(latents), standardizer.n_features):
            rebuilt = self.model.decode_view(view, self._tensors(latents[block]))
            out[block] = standardizer.inverse(rebuilt[: block.stop - block.start].cpu().numpy())
        return out

    def predict(self, target: str, views: Views) -> Array:
        """Return the mean of view ``target`` given other views, over the private parts of the reference rows.

        Shared parts that come from views not given are taken from the same reference rows.
        """
        known = self.encode(views).shared
        incoming = self.model.incoming(target)
        absent = [name for name in incoming if name not in known]
        is_averaged = self.model.n_private[target] > 0 or any(self.model.n_shared[name] for name in absent)
        n_draws = len(self.reference) if is_averaged else 1
        total = np.zeros((len(views), *self.standardizers[target].shape))
        for draw in range(n_draws):
            stored = self.reference[draw]
            private = {target: _repeat(stored.private[target], len(views))}
            missing = {name: _repeat(stored.shared[name], len(views)) for name in absent}
            total += self.decode_view(target, Latents(private=private, shared={**known, **missing}))
        return (total / n_draws).astype(self.standardizers[target].dtype)

    def recombine(self, views: Views, shared: Array, private: Array) -> dict[str, Array]:
        """Return views made of the shared part of some rows and the private part of others."""
        latents = self.encode(views)
        mixed = Latents(private=latents[private].private, shared=latents[shared].shared)
        return {name: self.decode_view(name, mixed) for name in self.model.view_names}

    def project(self, views: Views, vary: str, anchor: int | None) -> Array:
        """Return points of one submanifold (Eq. 6): ``anchor`` is a row of ``views``, or None for the fitted one."""
        latents = self.encode(views)
        fixed = self.anchor if anchor is None else latents[anchor]
        return self.decode_view(decoded_view(vary), with_anchor(latents.spaces()[vary], vary, fixed))

    def has_rows(self, views: Views, latents: Latents[Array]) -> bool:
        """Tell whether these are the rows of the fit, by what it keeps of them: means, and latents of the anchor."""
        train = self.split["train"]
        if train.max() >= len(views):
            return False
        for name, standardizer in self.standardizers.items():
            mean = np.zeros(standardizer.n_features)
            for block in row_blocks(len(train), standardizer.n_features):
                mean += views[name][train[block]].reshape(-1, standardizer.n_features).sum(axis=0, dtype=np.float64)
            allowed = _TOLERANCE * (standardizer.scale + np.abs(standardizer.mean))
            if (np.abs(mean / len(train) - standardizer.mean) > allowed).any():
                return False
        anchors = {space: latents.spaces()[space][found.anchors[0]] for space, found in self.geometry.items()}
        return all(np.allclose(z, self.anchor.spaces()[space], rtol=1e-3, atol=1e-5) for space, z in anchors.items())

    def _tensors(self, latents: Latents[Array]) -> Latents[Tensor]:
        return Latents(
            private={name: self._tensor(z) for name, z in latents.private.items()},
            shared={name: self._tensor(s) for name, s in latents.shared.items()},
        )

    def _tensor(self, x: Array) -> Tensor:
        # A copy, since repeated rows are read-only and torch wants to own what it holds.
        return whole_tiles(torch.from_numpy(np.array(x, dtype=np.float32, order="C"))).to(self.device)


@torch.inference_mode()
def encode(model: SpliceNet, standardizers: Mapping[str, Standardizer], views: Views) -> Latents[Array]:
    """Return the latents of the user's arrays."""
    device = next(model.parameters()).device
    widest = max(standardizers[name].n_features for name in views.names)
    parts = []
    for block in row_blocks(len(views), widest):
        batch = {name: whole_tiles(standardizers[name].forward(x[block])) for name, x in views.arrays.items()}
        encoded = model.encode({name: x.to(device) for name, x in batch.items()})
        parts.append(encoded[: block.stop - block.start])
    return Latents(
        private={name: torch.cat([p.private[name] for p in parts]).cpu().numpy() for name in parts[0].private},
        shared={name: torch.cat([p.shared[name] for p in parts]).cpu().numpy() for name in parts[0].shared},
    )


def _repeat(row: Array, n_rows: int) -> Array:
    return np.broadcast_to(row, (n_rows, row.shape[1]))
