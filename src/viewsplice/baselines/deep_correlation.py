"""Deep correlation methods: two encoders whose outputs go together, with decoders or without."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from viewsplice._types import Array, Latents, LossTerms, TensorViews
from viewsplice.baselines.axes import padded
from viewsplice.baselines.cca import canonical_axes
from viewsplice.baselines.coders import encode_rows
from viewsplice.baselines.correlation import common_targets, total_correlation
from viewsplice.baselines.linear import LinearMap
from viewsplice.baselines.minibatches import Objective, Task
from viewsplice.baselines.neural import NeuralBaseline, Widths
from viewsplice.chunks import CHUNK_ROWS
from viewsplice.config import TrainConfig, check_choice, check_number
from viewsplice.losses import squared_error
from viewsplice.training.alternating import take
from viewsplice.views import arrow

Form = Literal["trace", "maxvar"]

# Of the linear CCA of the outputs, as a fraction of their variance.
_FINAL_REGULARIZATION = 1e-6


class CorrelationObjective(Objective):
    """(1 - lambda_rec) x disagreement of the codes + lambda_rec x mean over views of ``rec/A``.

    The disagreement is ``cca``, 1 - the mean canonical correlation of a batch, or the mean over views of ``match/A``,
    the mean square of (code - G) with targets G from all rows. On held-out rows it is the same formula, with targets
    found for these rows: codes that collapse do not look good.

    Parameters
    ----------
    task
        What is trained on what.
    form
        ``"trace"`` or ``"maxvar"``.
    regularization
        Of the covariances (``"trace"`` only).
    lambda_rec
        Weight of reconstruction, from 0 to 1.
    reads
        By view that is rebuilt, the view from whose code it is.
    """

    def __init__(
        self, task: Task, *, form: Form, regularization: float, lambda_rec: float, reads: Mapping[str, str]
    ) -> None:
        self.task = task
        self.form = form
        self.regularization = regularization
        self.lambda_rec = lambda_rec
        self.reads = reads
        self.targets = torch.empty(0)

    @property
    def least_rows(self) -> int:
        """Twice as many as make any outputs correlate perfectly."""
        return 2 * (self.task.n_shared + 1)

    def begin(self, epoch: int) -> None:
        """Find the targets of the epoch."""
        if self.form == "maxvar":
            self.targets = self._targets(encode_rows(self.task.net, self.task.data.views, self.task.data.train))

    def terms(self, positions: Tensor) -> LossTerms:
        """Return the loss of one batch."""
        batch = self.task.training_batch(positions)
        codes = self.task.net.encode(batch)
        targets = self.targets[positions] if self.form == "maxvar" else self.targets
        parts = {**self._disagreement(codes, targets), **self._errors(codes, batch)}
        return LossTerms(self._weighted(parts), parts)

    def end(self, epoch: int) -> dict[str, float]:
        """Log nothing more."""
        return {}

    @torch.no_grad()
    def held_out(self, rows: Tensor) -> dict[str, float]:
        """Return the same terms of other rows; the disagreement is that of all of them, not of batches."""
        codes = encode_rows(self.task.net, self.task.data.views, rows)
        targets = self._targets(codes) if self.form == "maxvar" else self.targets
        sums = {name: float(value) for name, value in self._disagreement(codes, targets).items()}
        for chunk in torch.arange(len(rows), device=rows.device).split(CHUNK_ROWS):
            batch = take(self.task.data.views, rows[chunk])
            for name, value in self._errors(take(codes, chunk), batch).items():
                sums[name] = sums.get(name, 0.0) + float(value) * len(chunk) / len(rows)
        return sums

    def examined(self, rows: Tensor) -> dict[str, float]:
        """Return what `held_out` does."""
        return self.held_out(rows)

    def total(self, terms: Mapping[str, float]) -> float:
        """Return the weighted sum."""
        return float(self._weighted(terms))

    def optimizers(self) -> list[torch.optim.Optimizer]:
        """Return none: nothing is trained against the encoders."""
        return []

    def _targets(self, codes: Mapping[str, Tensor]) -> Tensor:
        return common_targets([codes[name] for name in sorted(codes)])

    def _disagreement(self, codes: Mapping[str, Tensor], targets: Tensor) -> dict[str, Tensor]:
        if self.form == "maxvar":
            return {f"match/{name}": squared_error(targets, code, code.shape[1]) for name, code in codes.items()}
        first, second = codes.values()
        return {"cca": 1 - total_correlation(first, second, self.regularization) / first.shape[1]}

    def _errors(self, codes: Mapping[str, Tensor], batch: TensorViews) -> dict[str, Tensor]:
        units = self.task.data.units
        return {
            f"rec/{name}": squared_error(batch[name], self.task.net.decode(name, codes[source]), units[name])
            for name, source in self.reads.items()
        }

    def _weighted(self, terms: Mapping[str, Any]) -> Any:
        errors = [value for name, value in terms.items() if name.startswith("rec/")]
        others = [value for name, value in terms.items() if not name.startswith("rec/")]
        disagreement = sum(others) / len(others)
        if not errors:
            return disagreement
        return (1 - self.lambda_rec) * disagreement + self.lambda_rec * sum(errors) / len(errors)


class CorrelationBaseline(NeuralBaseline):
    """Two encoders whose outputs are to go together; subclasses say which decoder reads which code.

    The outputs are only defined up to a linear map (``form="trace"``) or a rotation (``"maxvar"``). With ``final_cca``
    a linear CCA of the training rows' outputs makes latents of them that are paired dimension by dimension; without,
    latents are the centered outputs. Decoders see the outputs themselves.
    """

    form: Form
    regularization: float
    lambda_rec: float
    final_cca: bool
    n_private = 0
    maps_: Mapping[str, LinearMap]
    correlations_: Array
    _batch_size: ClassVar[int] = 500

    @abstractmethod
    def _reads(self, names: Sequence[str]) -> dict[str, str]:
        """Return, by view that is rebuilt, the view whose code its decoder sees."""

    def _check_settings(self) -> None:
        check_choice("form", self.form, ("trace", "maxvar"))
        check_choice("final_cca", self.final_cca, (True, False))
        for name in ("form", "regularization", "lambda_rec", "final_cca"):
            if getattr(self, name) is None:
                raise TypeError(f"{name} is None; expected a value")
        check_number("regularization", self.regularization, low=0, open_low=True)
        check_number("lambda_rec", self.lambda_rec, low=0, high=1)

    def _check_problem(self, names: Sequence[str], training: TrainConfig) -> None:
        method = type(self).__name__
        if len(names) > 2:
            raise ValueError(
                f"got {len(names)} views, {list(names)}; {method} expected two: pass two of them, or use Lyu, DMVAE "
                "or SPLICE"
            )
        width = max(self.n_shared.values()) if isinstance(self.n_shared, Mapping) else self.n_shared
        if self.form == "trace" and training.batch_size < 2 * (width + 1):
            raise ValueError(
                f"batch_size is {training.batch_size}, in which any {width} outputs correlate; expected at least "
                f"{2 * (width + 1)} for n_shared={width}, better ten times as many: raise training.batch_size, lower "
                "n_shared, or use form='maxvar'"
            )

    def _n_outputs(self, n_shared: int, n_private: int) -> int:
        return n_shared

    def _n_inputs(self, n_shared: int, n_private: Widths) -> dict[str, list[int]]:
        return {name: [n_shared] for name in self._reads(list(n_private))}

    def _objective(self, task: Task) -> CorrelationObjective:
        return CorrelationObjective(
            task,
            form=self.form,
            regularization=float(self.regularization),
            lambda_rec=float(self.lambda_rec),
            reads=self._reads(list(task.n_private)),
        )

    def _drawn(self, generator: np.random.Generator) -> dict[str, Any]:
        return {}

    def _settle(self, task: Task) -> dict[str, Any]:
        """Return the linear CCA of the outputs, with least squares from each view's code to what it is to predict."""
        names, data = list(task.n_private), task.data
        outputs = encode_rows(task.net, data.views, data.train)
        codes = {name: code.double().cpu().numpy() for name, code in outputs.items()}
        found = canonical_axes(codes[names[0]], codes[names[1]], _FINAL_REGULARIZATION)
        maps = {}
        for source, target, axes in zip(names, reversed(names), found.axes, strict=True):
            mean = codes[source].mean(axis=0)
            encoder = padded(axes, task.n_shared) if self.final_cca else np.eye(task.n_shared)
            inverse = np.linalg.pinv((codes[source] - mean) @ encoder)
            goal = outputs[target] if self._reads(names) else data.views[target][data.train]
            decoder = torch.from_numpy(inverse).to(goal) @ (goal - goal.mean(dim=0))
            maps[arrow(source, target)] = LinearMap(
                source_mean=mean,
                encoder=encoder,
                decoder=decoder.cpu().numpy(),
                target_mean=goal.mean(dim=0).cpu().numpy(),
            )
        return {"maps_": maps, "correlations_": found.correlations}

    def _latents(self, outputs: Mapping[str, Array]) -> Latents[Array]:
        return Latents(
            private={name: np.zeros((len(code), 0), dtype=code.dtype) for name, code in outputs.items()},
            shared={
                self._leaving(name): self.maps_[self._leaving(name)].encode(code).astype(code.dtype)
                for name, code in outputs.items()
            },
        )

    def _embedded(self, outputs: Mapping[str, Array]) -> Array:
        mean: Array = np.mean(list(self._latents(outputs).shared.values()), axis=0)
        return mean

    def _rebuilt(self, outputs: Mapping[str, Array]) -> dict[str, Array]:
        reads = self._reads(self.view_names_)
        others = {name: {other: z for other, z in outputs.items() if other != name} for name in outputs}
        return {
            name: self._decode(name, outputs[reads[name]]) if reads else self._predicted(name, others[name])
            for name in outputs
        }

    def _predicted(self, target: str, outputs: Mapping[str, Array]) -> Array:
        [(source, code)] = outputs.items()
        reads = self._reads(self.view_names_)
        if reads.get(target) == source:
            return self._decode(target, code)
        expected = self.maps_[arrow(source, target)].predict(code)
        return self._decode(target, expected) if reads else self.standardizers_[target].inverse(expected)

    def _leaving(self, view: str) -> str:
        [other] = [name for name in self.view_names_ if name != view]
        return arrow(view, other)
