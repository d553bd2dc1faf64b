"""DMVAE: variational autoencoders of all views with private codes and one shared code, a product of experts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from viewsplice._random import torch_generator
from viewsplice._types import Array, LossTerms, Networks, TensorViews
from viewsplice.baselines.gaussians import Densities, Gaussian, decomposed_divergence, divergence, product_of_experts
from viewsplice.baselines.minibatches import Objective, Task
from viewsplice.baselines.settings import PlainNetworks, printed_training
from viewsplice.baselines.shared_private import SharedPrivateBaseline
from viewsplice.config import TrainConfig, check_number
from viewsplice.losses import squared_error
from viewsplice.networks import ConvNetworks, MLPNetworks
from viewsplice.training.alternating import take

Beta = tuple[float, float, float]


class DMVAEObjective(Objective):
    """Minus the evidence bounds of every view with every source of the shared code: each view, and their product.

    For view v and source s: lambda_rec ||x_v - G_v(s, z_v)||^2 + KL_beta(q(z_v, s) || N(0, I)), one sample each, the
    same z_v for all sources. ``rec/A`` and ``kl/A`` are means over the sources.

    Parameters
    ----------
    task
        What is trained on what.
    lambda_rec
        Weight of the squared error, summed over features.
    beta
        Weights of information, total correlation and dimension-wise divergence. If they are equal the three parts
        add up to the plain divergence, which is then computed in closed form: the same in the mean, with less noise.
    """

    def __init__(self, task: Task, *, lambda_rec: float, beta: Beta) -> None:
        self.task = task
        self.lambda_rec = lambda_rec
        self.beta = beta
        self.generator = torch_generator(task.seed, "samples")

    @property
    def least_rows(self) -> int:
        """A density among others takes two rows."""
        return 2

    def begin(self, epoch: int) -> None:
        """Need nothing."""

    def terms(self, positions: Tensor) -> LossTerms:
        """Return the loss of one batch."""
        parts = self._parts(self.task.training_batch(positions), self.generator)
        return LossTerms(self._weighted(parts), parts)

    def end(self, epoch: int) -> dict[str, float]:
        """Log nothing more."""
        return {}

    @torch.no_grad()
    def held_out(self, rows: Tensor) -> dict[str, float]:
        """Return the terms of other rows, in batches as large as those of training, with the same noise every time."""
        generator = torch_generator(self.task.seed, "held-out samples")
        sums: dict[str, float] = {}
        for chunk in rows.tensor_split(max(1, len(rows) // self.task.config.batch_size)):
            for name, value in self._parts(take(self.task.data.views, chunk), generator).items():
                sums[name] = sums.get(name, 0.0) + float(value) * len(chunk) / len(rows)
        return sums

    def examined(self, rows: Tensor) -> dict[str, float]:
        """Return what `held_out` does."""
        return self.held_out(rows)

    def total(self, terms: Mapping[str, float]) -> float:
        """Return minus the sum of all evidence bounds."""
        return float(self._weighted(terms))

    def optimizers(self) -> list[torch.optim.Optimizer]:
        """Return none: nothing is trained against the encoders."""
        return []

    def _parts(self, batch: TensorViews, generator: torch.Generator) -> dict[str, Tensor]:
        net, units, n_shared = self.task.net, self.task.data.units, self.task.n_shared
        shared, private = {}, {}
        for name, output in net.encode(batch).items():
            shared[name], private[name] = posteriors(output, n_shared)
        order = sorted(batch)  # the same noise whatever the order of the views
        sources = [*(shared[name] for name in order), product_of_experts([shared[name] for name in order])]
        codes = [source.sample(_noise(source, generator)) for source in sources]
        samples = {name: private[name].sample(_noise(private[name], generator)) for name in order}
        parts = {}
        for name in order:
            # All sources at once: a decoder is quicker with one large batch than with several small ones.
            rebuilt = net.decode(name, torch.cat(codes), samples[name].repeat(len(codes), 1))
            parts[f"rec/{name}"] = squared_error(batch[name].repeat(len(codes), 1), rebuilt, units[name])
        pairs = list(zip(codes, sources, strict=True))
        return {**parts, **self._divergences(pairs, {name: (samples[name], private[name]) for name in order})}

    def _divergences(
        self, sources: Sequence[tuple[Tensor, Gaussian]], private: Mapping[str, tuple[Tensor, Gaussian]]
    ) -> dict[str, Tensor]:
        """Return ``kl/A`` from samples and posteriors of the shared code by source, and of the private ones by view."""
        if len(set(self.beta)) == 1:
            shared = torch.stack([divergence(posterior) for _, posterior in sources]).mean()
            return {f"kl/{name}": self.beta[0] * (shared + divergence(q)) for name, (_, q) in private.items()}
        n_rows = max(len(self.task.data.train), len(sources[0][0]))
        of_sources = [Densities.of(code, posterior, n_rows) for code, posterior in sources]
        found = {}
        for name, (z, posterior) in private.items():
            own = Densities.of(z, posterior, n_rows)
            each = [torch.stack(decomposed_divergence([source, own], n_rows)) for source in of_sources]
            found[f"kl/{name}"] = torch.stack(each).mean(dim=0) @ torch.tensor(self.beta).to(z)
        return found

    def _weighted(self, terms: Mapping[str, Any]) -> Any:
        total: Any = 0.0
        for name, n_features in self.task.n_features.items():
            total = total + self.lambda_rec * n_features * terms[f"rec/{name}"] + terms[f"kl/{name}"]
        return total * (len(self.task.n_features) + 1)


def posteriors(output: Tensor, n_shared: int) -> tuple[Gaussian, Gaussian]:
    """Return the posteriors of the shared and of the private code from an encoder's output: means, log-variances."""
    means, log_variances = output.tensor_split(2, dim=1)
    return (
        Gaussian.from_outputs(means[:, :n_shared], log_variances[:, :n_shared]),
        Gaussian.from_outputs(means[:, n_shared:], log_variances[:, n_shared:]),
    )


def _noise(posterior: Gaussian, generator: torch.Generator) -> Tensor:
    return torch.randn(posterior.mean.shape, generator=generator).to(posterior.mean)


class DMVAE(SharedPrivateBaseline):
    """Private-shared disentangled multimodal VAE (Lee and Pavlovic 2021).

    Every encoder describes normal posteriors of a private code and of a shared one. Each view is rebuilt from its
    private code and the shared code of itself, of each other view, and of all together (a product of experts).
    Latents are posterior means: ``shared["A->B"]`` is what A alone says, `embed` the product of all views.

    Parameters
    ----------
    n_shared, n_private
        Width of the shared code; of the private codes: an int, a tuple in view order, or a dict by view; 0 is allowed.
    lambda_rec
        Weight of the squared error, summed over features: of standardized rows (mean variance 1), or with
        ``loss_scale="mean"`` of rows in the user's units.
    beta
        Weights of the three parts of the divergence: information about the row, total correlation, and distance of
        each dimension from N(0, 1). (1, 1, 1) is the plain divergence, without extra pressure on total correlation.
    networks, training, device, random_state
        As for `SPLICE`; None, and fields left out, are this method's own.

    Attributes
    ----------
    view_names_, n_features_in_, n_shared_, n_private_
        Names in order; features by view; widths by arrow and by view.
    history_
        One dict per epoch: ``rec/A`` and ``kl/A``, means over the sources of the shared code, and the same of the
        validation rows after ``val/``.
    validation_objective_, ended_
        Minus the evidence bounds on the validation rows, lower is better (None without such rows); and what ended the
        training: ``"epochs"``, ``"convergence"`` or ``"callback"``.
    net_, reference_, training_, split_
        Networks; private codes over which `predict` averages; complete settings; training and validation row numbers.
    """

    _batch_size: ClassVar[int] = 100
    _printed: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "rotated-mnist": {
            "n_shared": 30,
            "n_private": (0, 2),
            "lambda_rec": 10.0,
            "networks": ConvNetworks(),
            "training": replace(printed_training(50, 100, 1e-3, 1e-3), loss_scale="mean"),
        },
        "lgn-v1": {
            "n_shared": 2,
            "n_private": 1,
            "lambda_rec": 10.0,
            "networks": PlainNetworks((200,) * 6, nn.ReLU),
            "training": replace(printed_training(3_000, 1_000, 1e-3, 1e-3), loss_scale="mean"),
        },
        "sprites": {
            "n_shared": 500,
            "n_private": 2,
            "lambda_rec": 10.0,
            "networks": MLPNetworks.paper("sprites"),
            "training": replace(printed_training(5_000, 1_000, 1e-4, 1e-3), loss_scale="mean", retained_variance=0.995),
        },
    }

    def __init__(
        self,
        n_shared: Any = 2,
        n_private: Any = 1,
        *,
        lambda_rec: float = 10.0,
        beta: Beta = (1.0, 1.0, 1.0),
        networks: Networks | None = None,
        training: TrainConfig | None = None,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_shared = n_shared
        self.n_private = n_private
        self.lambda_rec = lambda_rec
        self.beta = beta
        self.networks = networks
        self.training = training
        self.device = device
        self.random_state = random_state

    def _check_settings(self) -> None:
        if self.lambda_rec is None:
            raise TypeError("lambda_rec is None; expected a number")
        check_number("lambda_rec", self.lambda_rec, low=0)
        if not isinstance(self.beta, tuple | list) or len(self.beta) != 3 or None in self.beta:
            raise TypeError(f"beta is {self.beta!r}; expected three weights, such as (1, 1, 1)")
        for weight in self.beta:
            check_number("each weight in beta", weight, low=0)

    def _check_problem(self, names: Sequence[str], training: TrainConfig) -> None:
        if len(set(self.beta)) > 1 and training.batch_size < 2:
            raise ValueError("batch_size is 1; expected at least 2, as densities are means over a batch")

    def _n_outputs(self, n_shared: int, n_private: int) -> int:
        return 2 * (n_shared + n_private)

    def _objective(self, task: Task) -> DMVAEObjective:
        information, correlation, dimensions = (float(weight) for weight in self.beta)
        return DMVAEObjective(task, lambda_rec=float(self.lambda_rec), beta=(information, correlation, dimensions))

    def _drawn(self, generator: np.random.Generator) -> dict[str, Any]:
        return {}

    def _codes(self, outputs: Mapping[str, Array]) -> dict[str, Array]:
        return dict.fromkeys(outputs, self._embedded(outputs))

    def _embedded(self, outputs: Mapping[str, Array]) -> Array:
        """Return the product of the given views' posteriors; one view alone speaks for itself."""
        if len(outputs) == 1:
            return self._shared(*outputs.values())
        width = next(iter(self.n_shared_.values()))
        experts = [posteriors(torch.from_numpy(output), width)[0] for output in outputs.values()]
        mean: Array = product_of_experts(experts).mean.numpy()
        return mean
