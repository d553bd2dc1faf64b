"""What Lyu et al. minimize: shared codes that agree, views rebuilt, and nothing that an adversary finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from viewsplice._random import derive_seed, torch_generator
from viewsplice._types import LossTerms, TensorViews
from viewsplice.baselines.adversary import AdversaryConfig, adam, fresh_correlation, new_adversary, reversed_gradient
from viewsplice.baselines.coders import encode_rows
from viewsplice.baselines.correlation import common_targets
from viewsplice.baselines.minibatches import Objective, Task
from viewsplice.chunks import CHUNK_ROWS
from viewsplice.losses import squared_error
from viewsplice.training.alternating import take

# Shared and private code of the same rows.
Codes = tuple[Tensor, Tensor]

# Fresh adversaries measure what is left this often in a fit.
_N_MEASURED = 5


class LyuObjective(Objective):
    """Sum over views of matching + lambda_rec x reconstruction + lambda_dis x what an adversary finds.

    ``match/A`` is the mean square of (s_A - U), U being the common targets of all rows; ``rec/A`` the error of A
    rebuilt from its own s_A and z_A; ``dis/A`` the largest |corr(phi(s_A), tau(z_A))| that the adversary of A has
    found so far, over the rows of the batch and others. Now and then ``fresh/A`` is logged: what a fresh adversary
    finds.

    Parameters
    ----------
    task
        What is trained on what.
    lambda_rec, lambda_dis
        The weights.
    adversary
        Settings of the adversaries.
    refresh_every
        Epochs between updates of U.
    """

    def __init__(
        self, task: Task, *, lambda_rec: float, lambda_dis: float, adversary: AdversaryConfig, refresh_every: int
    ) -> None:
        self.task = task
        self.lambda_rec = lambda_rec
        self.lambda_dis = lambda_dis
        self.adversary = adversary
        self.refresh_every = refresh_every
        self.targets = torch.empty(0)
        self.generator = torch_generator(task.seed, "adversary rows")
        self.order = task.data.train[:0]
        self.is_in_batch = torch.zeros_like(task.data.train, dtype=torch.bool)
        some = next(task.net.parameters())
        for name, width in task.n_private.items():
            if width and name not in task.net.adversaries:
                made = new_adversary(task.n_shared, width, adversary.hidden, task.seed, name)
                task.net.adversaries[name] = made.to(some)
        self._optimizers: list[torch.optim.Optimizer] = []
        if task.net.adversaries:
            own = task.net.adversaries.parameters()
            self._optimizers = [adam(own, adversary.learning_rate, adversary.weight_decay)]

    @property
    def least_rows(self) -> int:
        """Twice as many as any codes can be matched to."""
        return 2 * (self.task.n_shared + 1)

    def begin(self, epoch: int) -> None:
        """Find the targets anew, when it is time."""
        if epoch % self.refresh_every == 0:
            self.targets = self._targets(encode_rows(self.task.net, self.task.data.views, self.task.data.train))

    def terms(self, positions: Tensor) -> LossTerms:
        """Return the loss of one batch; adversaries climb it, all else descends."""
        batch = self.task.training_batch(positions)
        outputs, codes = self._encoded(batch, positions)
        parts = {**self._matching(outputs, self.targets[positions]), **self._errors(outputs, batch)}
        total = self._weighted(parts)
        found = self._found(codes)
        # Through the reversal the encoders see lambda_dis x correlation, and the adversaries minus that.
        for value in found.values():
            total = total - self.lambda_dis * value
        return LossTerms(total, {**parts, **found})

    def end(self, epoch: int) -> dict[str, float]:
        """Return ``fresh/A``, five times in a fit and after its last epoch."""
        interval = max(1, self.task.config.epochs // _N_MEASURED)
        if (epoch + 1) % interval and epoch + 1 < self.task.config.epochs:
            return {}
        return self._fresh(self.task.data.train, epoch)

    @torch.no_grad()
    def held_out(self, rows: Tensor) -> dict[str, float]:
        """Return the terms of other rows, with targets for these rows, and the adversaries as they are."""
        outputs = encode_rows(self.task.net, self.task.data.views, rows)
        terms = self._agreement(outputs, rows)
        for name, adversary in self.task.net.adversaries.items():
            terms[f"dis/{name}"] = float(adversary(*self._split(outputs[name])))
        return terms

    def examined(self, rows: Tensor) -> dict[str, float]:
        """Return the terms of other rows with fresh adversaries: dead ones would make settings look good."""
        with torch.no_grad():
            terms = self._agreement(encode_rows(self.task.net, self.task.data.views, rows), rows)
        found = self._fresh(rows, self.task.config.epochs)
        return {**terms, **{name.replace("fresh/", "dis/"): value for name, value in found.items()}}

    def total(self, terms: Mapping[str, float]) -> float:
        """Return the weighted sum, in which lower correlations are better."""
        found = [value for name, value in terms.items() if name.startswith("dis/")]
        return float(self._weighted(terms)) + self.lambda_dis * sum(found)

    def optimizers(self) -> list[torch.optim.Optimizer]:
        """Return that of the adversaries, if there are private spaces."""
        return self._optimizers

    def adversaries(self, rows: Tensor) -> dict[str, dict[str, float]]:
        """Return by view what its adversary finds in some rows, and what a fresh one does."""
        outputs, fresh = encode_rows(self.task.net, self.task.data.views, rows), self._fresh(rows, -1)
        with torch.no_grad():
            own = {name: net(*self._split(outputs[name])) for name, net in self.task.net.adversaries.items()}
        return {name: {"adversary": float(value), "fresh": fresh[f"fresh/{name}"]} for name, value in own.items()}

    def _encoded(self, batch: TensorViews, positions: Tensor) -> tuple[dict[str, Tensor], dict[str, Codes]]:
        """Return what the encoders say of a batch, and the codes over which the adversaries correlate.

        These are those of the batch and of further rows. Every view passes through its encoder once.
        """
        net, n_rows, seen = self.task.net, len(positions), dict(batch)
        others = self.task.data.train[self._others(positions)]
        for name in net.adversaries if len(others) else ():
            seen[name] = torch.cat([batch[name], self.task.data.views[name].index_select(0, others)])
        outputs = net.encode(seen)
        codes = {name: self._split(outputs[name]) for name in net.adversaries}
        return {name: output[:n_rows] for name, output in outputs.items()}, codes

    def _others(self, positions: Tensor) -> Tensor:
        """Return positions of rows that, with those of the batch, make as many as a correlation is to be taken over.

        They come from a random order of all rows, which is drawn anew when it is used up.
        """
        n_more = max(0, self.adversary.rows - len(positions))
        n_asked = min(n_more + len(positions), len(self.is_in_batch))
        if len(self.order) < n_asked:
            order = torch.randperm(len(self.is_in_batch), generator=self.generator)
            self.order = order.to(positions.device)
        asked, self.order = self.order[:n_asked], self.order[n_asked:]
        self.is_in_batch[positions] = True
        others = asked[~self.is_in_batch[asked]][:n_more]
        self.is_in_batch[positions] = False
        return others

    def _found(self, codes: Mapping[str, Codes]) -> dict[str, Tensor]:
        """Return the correlations that the adversaries find, after their extra steps."""
        for _ in range(self.adversary.n_steps - 1):
            self._climb({name: (shared.detach(), private.detach()) for name, (shared, private) in codes.items()})
        return {
            f"dis/{name}": self.task.net.adversaries[name](*(reversed_gradient(code) for code in pair))
            for name, pair in codes.items()
        }

    def _climb(self, codes: Mapping[str, Codes]) -> None:
        """Take one step of the adversaries alone."""
        for optimizer in self._optimizers:
            found = [self.task.net.adversaries[name](*pair) for name, pair in codes.items()]
            (-self.lambda_dis * torch.stack(found).sum()).backward()
            optimizer.step()
            optimizer.zero_grad()

    def _fresh(self, rows: Tensor, epoch: int) -> dict[str, float]:
        outputs = encode_rows(self.task.net, self.task.data.views, rows)
        return {
            f"fresh/{name}": fresh_correlation(
                *self._split(outputs[name]), self.adversary, derive_seed(self.task.seed, "fresh", name, epoch)
            )
            for name in self.task.net.adversaries
        }

    def _agreement(self, outputs: Mapping[str, Tensor], rows: Tensor) -> dict[str, float]:
        terms = {name: float(value) for name, value in self._matching(outputs, self._targets(outputs)).items()}
        for chunk in torch.arange(len(rows), device=rows.device).split(CHUNK_ROWS):
            batch = take(self.task.data.views, rows[chunk])
            for name, value in self._errors(take(outputs, chunk), batch).items():
                terms[name] = terms.get(name, 0.0) + float(value) * len(chunk) / len(rows)
        return terms

    def _targets(self, outputs: Mapping[str, Tensor]) -> Tensor:
        return common_targets([self._split(outputs[name])[0] for name in sorted(outputs)])

    def _split(self, output: Tensor) -> Codes:
        return output[:, : self.task.n_shared], output[:, self.task.n_shared :]

    def _matching(self, outputs: Mapping[str, Tensor], targets: Tensor) -> dict[str, Tensor]:
        width = self.task.n_shared
        return {f"match/{name}": squared_error(targets, self._split(x)[0], width) for name, x in outputs.items()}

    def _errors(self, outputs: Mapping[str, Tensor], batch: TensorViews) -> dict[str, Tensor]:
        net, units = self.task.net, self.task.data.units
        return {
            f"rec/{name}": squared_error(batch[name], net.decode(name, *self._split(x)), units[name])
            for name, x in outputs.items()
        }

    def _weighted(self, terms: Mapping[str, Any]) -> Any:
        """Return matching and reconstruction, weighted; sums over features where losses are in the user's units."""
        is_sum, task = self.task.config.loss_scale == "mean", self.task
        total: Any = 0.0
        for name, n_features in task.n_features.items():
            total = total + terms[f"match/{name}"] * (task.n_shared if is_sum else 1)
            total = total + self.lambda_rec * terms[f"rec/{name}"] * (n_features if is_sum else 1)
        return total
