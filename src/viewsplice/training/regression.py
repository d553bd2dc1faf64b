"""One epoch of regression: networks learn given latent coordinates before they are trained on the views alone."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from viewsplice._random import torch_generator
from viewsplice._types import Latents, LossTerms
from viewsplice.config import TrainConfig
from viewsplice.model import SpliceNet
from viewsplice.training.alternating import (
    RunningMeans,
    TrainingData,
    adamw,
    set_learning_rate,
    shuffled_batches,
    step,
    take,
)
from viewsplice.training.checkpoints import load_optimizer, optimizer_tensors, tensors_of
from viewsplice.training.objectives import reconstruction, regression
from viewsplice.training.precision import mixed_precision
from viewsplice.views import is_arrow


class RegressionEpoch:
    """Callable that trains for one epoch: encoders towards coordinates, decoders from the same coordinates.

    Both halves of an autoencoder learn at once and in the open: neither waits for what the other makes of a latent
    space, which is what tears and folds narrow ones.

    Parameters
    ----------
    model, data, config
        What is trained, on what, and how (complete settings).
    coordinates
        By space, (n_train, width): row i belongs to the i-th training row.
    seed
        Of the batches.
    """

    def __init__(
        self,
        model: SpliceNet,
        data: TrainingData,
        config: TrainConfig,
        *,
        coordinates: Mapping[str, Tensor],
        seed: int,
    ) -> None:
        self.model = model
        self.data = data
        self.config = config
        self.coordinates = coordinates
        self.generator = torch_generator(seed, "batches", "regression")
        self.precision = mixed_precision(config, data.train.device)
        self.parameters = model.autoencoder_parameters()
        self.optimizer = adamw(self.parameters, config)

    def __call__(self, epoch: int) -> dict[str, float]:
        """Train for one epoch (counted from 0)."""
        means = RunningMeans()
        batches = shuffled_batches(self.data.train, self.config.batch_size, self.generator)
        for i, positions in enumerate(batches):
            set_learning_rate(self.optimizer, self.config, epoch + i / len(batches))
            batch, targets = take(self.data.views, self.data.train[positions]), take(self.coordinates, positions)
            with self.precision:
                encoders = regression(self.model.encode(batch), targets)
                decoders = reconstruction(self.model, self._latents(targets), batch, self.data.units)
            terms = LossTerms(encoders.total + decoders.total, {**encoders.parts, **decoders.parts})
            step(self.optimizer, terms, self.parameters)
            means.add(terms.parts)
        return means.result()

    def tensors(self) -> dict[str, Tensor]:
        """Return what the next epoch depends on besides the networks."""
        found = {f"optimizer/{name}": x for name, x in optimizer_tensors(self.optimizer).items()}
        return found | {"generator": self.generator.get_state()}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take up what `tensors` returned; the networks must be as they were then."""
        load_optimizer(self.optimizer, tensors_of(tensors, "optimizer"))
        self.generator.set_state(tensors["generator"])

    def _latents(self, coordinates: Mapping[str, Tensor]) -> Latents[Tensor]:
        """Return coordinates as latents, with the empty spaces that have none."""
        some = next(iter(coordinates.values()))
        empty = torch.zeros((len(some), 0), dtype=some.dtype, device=some.device)
        spaces = {name: coordinates.get(name, empty) for name in (*self.model.n_private, *self.model.n_shared)}
        return Latents(
            private={name: z for name, z in spaces.items() if not is_arrow(name)},
            shared={name: s for name, s in spaces.items() if is_arrow(name)},
        )
