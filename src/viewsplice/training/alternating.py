"""One epoch of Algorithm 1; of Algorithm 2 when geometry targets are given. All training goes through here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from viewsplice._random import torch_generator
from viewsplice._types import LossTerms, TensorViews
from viewsplice.chunks import in_chunks
from viewsplice.config import TrainConfig
from viewsplice.geometry.targets import GeometryTargets
from viewsplice.model import SpliceNet
from viewsplice.training.checkpoints import load_optimizer, optimizer_tensors, tensors_of
from viewsplice.training.objectives import LandmarkBatch, Units, autoencoding, disentangling, measurement
from viewsplice.training.precision import mixed_precision
from viewsplice.views import endpoints

# A warm-up starts a little above zero, so that its first step is one.
_FIRST_STEP = 1e-3


@dataclass(frozen=True, eq=False)
class TrainingData:
    """All rows as resident tensors, and which of them are for training and for validation.

    Attributes
    ----------
    views
        By view, (n, features), standardized, on the device.
    train, validation
        Row numbers; validation may be empty.
    units
        By view, what squared errors are divided by.
    """

    views: TensorViews
    train: Tensor
    validation: Tensor
    units: Units


class AlternatingEpoch:
    """Callable that trains for one epoch and returns the epoch's mean loss terms.

    Parameters
    ----------
    model, data, config
        What is trained, on what, and how (complete settings).
    lambda_dis
        Weight of disentangling.
    seed
        Of the batches and of restarted measurement networks.
    targets
        Geometry targets: with them this is Algorithm 2, and disentangling runs from the first epoch.
    """

    def __init__(
        self,
        model: SpliceNet,
        data: TrainingData,
        config: TrainConfig,
        *,
        lambda_dis: float,
        seed: int,
        targets: GeometryTargets | None = None,
    ) -> None:
        self.model = model
        self.data = data
        self.config = config
        self.lambda_dis = lambda_dis
        self.targets = targets
        self.stage = "geometry" if targets else "disentangle"
        self.steps_per_epoch = max(1, len(data.train) // config.batch_size)
        self.generator = torch_generator(seed, "batches", self.stage)
        self.first_disentangling = 0 if targets else math.floor(config.disentangle_after * config.epochs)
        self.restart_interval = max(1, round(config.restart_every * config.epochs)) if config.restart_every else 0
        self.precision = mixed_precision(config, data.train.device)
        self.autoencoder_optimizer = adamw(model.autoencoder_parameters(), config)
        self.measurement_optimizer: torch.optim.Optimizer | None = None

    def __call__(self, epoch: int) -> dict[str, float]:
        """Train for one epoch (counted from 0)."""
        means = RunningMeans()
        is_disentangling = epoch >= self.first_disentangling and len(self.model.measurers) > 0
        if is_disentangling:
            self._measure(epoch, means)
        is_joint = self.config.steps == "joint"
        for i, positions in enumerate(self._batches()):
            set_learning_rate(self.autoencoder_optimizer, self.config, epoch + i / self.steps_per_epoch)
            self._autoencode(positions, means, with_disentangling=is_disentangling and is_joint)
            if is_disentangling and not is_joint:
                self._disentangle(positions, means)
        return means.result()

    def tensors(self) -> dict[str, Tensor]:
        """Return what the next epoch depends on besides the networks."""
        found = {f"autoencoder/{name}": x for name, x in optimizer_tensors(self.autoencoder_optimizer).items()}
        if self.measurement_optimizer is not None:
            found |= {f"measurement/{name}": x for name, x in optimizer_tensors(self.measurement_optimizer).items()}
        return found | {"generator": self.generator.get_state()}

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Take up what `tensors` returned; the networks must be as they were then."""
        load_optimizer(self.autoencoder_optimizer, tensors_of(tensors, "autoencoder"))
        measured = tensors_of(tensors, "measurement")
        if measured:
            self.measurement_optimizer = adamw(self.model.measurement_parameters(), self.config)
            load_optimizer(self.measurement_optimizer, measured)
        self.generator.set_state(tensors["generator"])

    def _batches(self) -> Sequence[Tensor]:
        """Return shuffled positions in the training rows, batch by batch."""
        return shuffled_batches(self.data.train, self.config.batch_size, self.generator)

    def _measure(self, epoch: int, means: RunningMeans) -> None:
        """Train the measurement networks, from scratch when a restart is due."""
        n_passes, optimizer = self.config.n_msr, self.measurement_optimizer
        since = epoch - self.first_disentangling
        if optimizer is None or (self.restart_interval and since % self.restart_interval == 0):
            n_passes = self.config.restart_passes
            self.model.reset_measurers(f"{self.stage}/{epoch}")
            optimizer = adamw(self.model.measurement_parameters(), self.config)
        self.measurement_optimizer = optimizer
        train_measurers(self.model, self.data, optimizer, self._measured_batches, n_passes, means, self.precision)

    def _measured_batches(self) -> Sequence[Tensor]:
        """Return the batches of one measurement pass: over all rows, or over as many as the settings say."""
        batches, most = self._batches(), self.config.measured_rows
        return batches[: max(1, most // self.config.batch_size)] if most else batches

    def _autoencode(self, positions: Tensor, means: RunningMeans, *, with_disentangling: bool) -> None:
        rows, landmarks = self.data.train[positions], None
        if self.targets is not None:
            chosen = self._landmarks(self.targets)
            rows = torch.cat([rows, self.targets.landmarks[chosen]])
            d_geo, targets = self.targets.of(positions, chosen), self.targets
            landmarks = LandmarkBatch(len(chosen), d_geo, targets.lambda_geo, targets.leading)
        batch = take(self.data.views, rows)
        seen = self._noisy(batch)
        with self.precision:
            terms = autoencoding(
                self.model,
                batch,
                self.data.units,
                landmarks,
                lambda_dis=self.lambda_dis if with_disentangling else 0.0,
                seen=seen,
            )
        step(self.autoencoder_optimizer, terms, self.model.autoencoder_parameters())
        means.add(terms.parts)

    def _noisy(self, batch: TensorViews) -> TensorViews | None:
        """Return a batch with noise, as much less as the learning rate has fallen; None if there is none."""
        if self.config.input_noise == 0:
            return None
        rate = self.autoencoder_optimizer.param_groups[0]["lr"] / self.config.learning_rate
        noisy = {}
        for name, x in sorted(batch.items()):  # the same noise whatever the order of the views
            noise = torch.randn(x.shape, generator=self.generator).to(x)
            noisy[name] = noise.mul_((self.config.input_noise * rate * x.square().mean()).sqrt()).add_(x)
        return noisy

    def _landmarks(self, targets: GeometryTargets) -> Tensor:
        """Return which landmarks this batch is compared with: all, or a few at random since each must be encoded."""
        n_all, device = len(targets.landmarks), targets.landmarks.device
        if self.config.batch_landmarks == 0 or self.config.batch_landmarks >= n_all:
            return torch.arange(n_all, device=device)
        return torch.randperm(n_all, generator=self.generator)[: self.config.batch_landmarks].to(device)

    def _disentangle(self, positions: Tensor, means: RunningMeans) -> None:
        """Step the private encoders only, with the optimizer they share with reconstruction.

        A separate Adam would undo the weight lambda_dis, since Adam is blind to the scale of a loss. Decoders and
        shared encoders have no gradient here, so that they get neither a step nor weight decay.
        """
        sources = {name: self.data.views[name] for name in self.model.private_spaces}
        batch = take(sources, self.data.train[positions])
        with self.precision:
            private = self.model.encode_private(batch)
            terms = disentangling(self.model, private, self.data.units, self.lambda_dis)
        step(self.autoencoder_optimizer, terms, self.model.private_parameters())
        means.add(terms.parts)


def train_measurers(
    model: SpliceNet,
    data: TrainingData,
    optimizer: torch.optim.Optimizer,
    batches: Callable[[], Sequence[Tensor]],
    n_passes: int,
    means: RunningMeans,
    precision: torch.autocast,
) -> None:
    """Train the measurement networks for some passes; ``means`` gets the terms of the last one.

    The encoders rest meanwhile, so the private latents of the rows that are used are computed once for all passes.
    """
    parameters = model.measurement_parameters()
    targets = {name: data.views[name] for name in dict.fromkeys(endpoints(arrow)[1] for arrow in model.measurers)}
    passes = [batches() for _ in range(n_passes)]
    used, places = torch.cat([positions for one in passes for positions in one]).unique(return_inverse=True)
    private = encode_private(model, data.views, data.train[used])
    start = 0
    for number, one in enumerate(passes, start=1):
        for positions in one:
            place = places[start : start + len(positions)]
            start += len(positions)
            with precision:
                terms = measurement(model, take(private, place), take(targets, data.train[positions]), data.units)
            step(optimizer, terms, parameters)
            if number == n_passes:
                means.add(terms.parts)


def shuffled_batches(rows: Tensor, batch_size: int, generator: torch.Generator) -> Sequence[Tensor]:
    """Return positions in ``rows`` in random order, in batches of one size, at least ``batch_size``.

    What would be a short tail is spread over the batches. Where rows do not go up evenly, fewer than there are batches
    come twice: each further size would cost time and memory, since products are compiled for their size.
    """
    order = torch.randperm(len(rows), generator=generator).to(rows.device)
    n_batches = max(1, len(rows) // batch_size)
    n_more = -len(rows) % n_batches
    return torch.cat([order, order[:n_more]]).tensor_split(n_batches)


class RunningMeans:
    """Means of named loss terms over batches, read out once so that no step waits for a number."""

    def __init__(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._counts: dict[str, int] = {}

    def add(self, parts: Mapping[str, Tensor]) -> None:
        """Add one batch."""
        for name, value in parts.items():
            self._sums[name] = self._sums[name] + value.detach() if name in self._sums else value.detach()
            self._counts[name] = self._counts.get(name, 0) + 1

    def result(self) -> dict[str, float]:
        """Return the means."""
        return {name: float(total) / self._counts[name] for name, total in self._sums.items()}


def take(tensors: Mapping[str, Tensor], index: Tensor) -> dict[str, Tensor]:
    """Return the same rows of each tensor."""
    return {name: x.index_select(0, index) for name, x in tensors.items()}


def encode_private(model: SpliceNet, views: TensorViews, rows: Tensor) -> dict[str, Tensor]:
    """Return the private latents of some rows without gradients, in chunks."""
    return in_chunks(lambda chunk: model.encode_private(take(views, chunk)), rows)


def step(optimizer: torch.optim.Optimizer, terms: LossTerms, parameters: list[nn.Parameter]) -> None:
    """Take one step on exactly these parameters; all others have no gradient, before and after, and do not move."""
    terms.total.backward(inputs=parameters)
    optimizer.step()
    for parameter in parameters:
        parameter.grad = None


def adamw(parameters: list[nn.Parameter], config: TrainConfig) -> torch.optim.AdamW:
    """Return AdamW with the configured rate, decay and memories, fused where the device has it."""
    return torch.optim.AdamW(
        parameters,
        config.learning_rate,
        betas=(config.beta1, config.beta2),
        weight_decay=config.weight_decay,
        fused=parameters[0].device.type in ("cpu", "cuda"),
    )


def set_learning_rate(optimizer: torch.optim.Optimizer, config: TrainConfig, epoch: float) -> None:
    """Set the scheduled rate: after a warm-up, from ``learning_rate`` to its ``final_learning_rate`` fraction.

    ``epoch`` counts batches as parts of epochs, so that a stage of few epochs has a smooth schedule, too.
    """
    progress = epoch / config.epochs
    shape = {"constant": 1.0, "linear": 1 - progress, "cosine": (1 + math.cos(math.pi * progress)) / 2}
    fraction = config.final_learning_rate + (1 - config.final_learning_rate) * shape[config.schedule]
    rise = min(1.0, (progress + _FIRST_STEP) / config.warmup) if config.warmup else 1.0
    for group in optimizer.param_groups:
        group["lr"] = config.learning_rate * fraction * rise
