"""Baselines with a shared and a private code per view: what they do with new rows once they are trained."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from viewsplice._random import numpy_generator
from viewsplice._types import Array, Latents
from viewsplice._validation import row_numbers
from viewsplice.baselines.coders import encode_rows
from viewsplice.baselines.minibatches import Task
from viewsplice.baselines.neural import NeuralBaseline, Widths
from viewsplice.views import arrows, endpoints

_N_REFERENCE = 64


class SharedPrivateBaseline(NeuralBaseline):
    """A method whose encoders return a shared code, then a private one; decoders see both.

    Attributes
    ----------
    reference_
        By view, the private codes of up to 64 training rows, over which `predict` averages.
    """

    reference_: Mapping[str, Array]

    @abstractmethod
    def _codes(self, outputs: Mapping[str, Array]) -> dict[str, Array]:
        """Return, by view, the shared code that it is rebuilt from when all views are given."""

    def _n_inputs(self, n_shared: int, n_private: Widths) -> dict[str, list[int]]:
        return {name: [n_shared, width] for name, width in n_private.items()}

    def _settle(self, task: Task) -> dict[str, Any]:
        n_rows = len(task.data.train)
        chosen = numpy_generator(task.seed, "reference").choice(n_rows, min(_N_REFERENCE, n_rows), replace=False)
        outputs = encode_rows(task.net, task.data.views, task.data.train[np.sort(chosen)])
        return {
            "reference_": {
                name: outputs[name][:, task.n_shared : task.n_shared + width].cpu().numpy()
                for name, width in task.n_private.items()
            }
        }

    def _latents(self, outputs: Mapping[str, Array]) -> Latents[Array]:
        return Latents(
            private={name: self._private(name, output) for name, output in outputs.items()},
            shared={
                name: self._shared(outputs[endpoints(name)[0]])
                for name in arrows(self.view_names_)
                if endpoints(name)[0] in outputs
            },
        )

    def _shared(self, output: Array) -> Array:
        return output[:, : next(iter(self.n_shared_.values()))]

    def _private(self, view: str, output: Array) -> Array:
        start = next(iter(self.n_shared_.values()))
        return output[:, start : start + self.n_private_[view]]

    def _rebuilt(self, outputs: Mapping[str, Array]) -> dict[str, Array]:
        codes = self._codes(outputs)
        return {name: self._decode(name, codes[name], self._private(name, outputs[name])) for name in outputs}

    def _predicted(self, target: str, outputs: Mapping[str, Array]) -> Array:
        """Return the mean of the decoder over the private codes of the stored rows, with the given shared code."""
        code, stored = self._embedded(outputs), self.reference_[target]
        n_draws = len(stored) if self.n_private_[target] else 1
        total = np.zeros((len(code), *self.standardizers_[target].shape))
        for draw in range(n_draws):
            total += self._decode(target, code, np.broadcast_to(stored[draw], (len(code), stored.shape[1])))
        mean: Array = (total / n_draws).astype(self.standardizers_[target].dtype)
        return mean

    def recombine(self, X: Any, y: Any = None, *, shared: Any, private: Any) -> dict[str, Array]:
        """Return views made of the shared part of rows ``shared`` and the private part of rows ``private``."""
        views = self._check(X, y, complete=True)
        i, j = row_numbers("shared", shared, len(views)), row_numbers("private", private, len(views))
        if len(i) != len(j) and 1 not in (len(i), len(j)):
            raise ValueError(f"shared has {len(i)} rows and private {len(j)}; expected equally many, or one")
        i, j = np.broadcast_arrays(i, j)
        outputs = self._encode(views)
        codes = self._codes(outputs)
        return {name: self._decode(name, codes[name][i], self._private(name, outputs[name])[j]) for name in outputs}
