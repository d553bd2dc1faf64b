"""Lyu: shared codes that agree, private codes that an adversary finds nothing shared in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from torch import nn

from viewsplice._types import Array, Networks
from viewsplice.baselines.adversary import AdversaryConfig
from viewsplice.baselines.lyu_objective import LyuObjective
from viewsplice.baselines.minibatches import Task
from viewsplice.baselines.settings import PlainNetworks, printed_training
from viewsplice.baselines.shared_private import SharedPrivateBaseline
from viewsplice.config import TrainConfig, check_number
from viewsplice.networks import ConvNetworks, MLPNetworks

_AS_PRINTED: dict[str, Any] = {"lambda_rec": 1.0, "lambda_dis": 100.0}


class Lyu(SharedPrivateBaseline):
    """Multiview latent correlation maximization with private codes (Lyu et al. 2021).

    Every view has a shared code s, matched to common targets, and a private code z; the view is rebuilt from both. An
    adversary per view looks for functions of s and of z that correlate, and the encoders are trained to leave it none.

    Parameters
    ----------
    n_shared, n_private
        Width of the shared code; of the private codes: an int, a tuple in view order, or a dict by view; 0 is allowed.
    lambda_rec, lambda_dis
        Weights of reconstruction and of what the adversaries find. With ``loss_scale="fraction"`` (the default)
        matching and reconstruction count as fractions of variance; with ``"mean"`` as sums over features in the
        user's units, which is what the printed weights fit.
    adversary
        `AdversaryConfig`; None is its default.
    refresh_every
        Epochs between updates of the common targets.
    networks, training, device, random_state
        As for `SPLICE`; None, and fields left out, are this method's own.

    Attributes
    ----------
    view_names_, n_features_in_, n_shared_, n_private_
        Names in order; features by view; widths by arrow and by view.
    history_
        One dict per epoch: ``match/A``, ``rec/A``, ``dis/A`` (what the adversary finds) and now and then ``fresh/A``
        (what a fresh one finds after the epoch; if that is much more, the adversary is dead and nothing was
        disentangled); the validation rows' terms start with ``val/``.
    validation_objective_, ended_
        The objective on the validation rows with fresh adversaries, lower is better (None without such rows); and
        what ended the training: ``"epochs"``, ``"convergence"`` or ``"callback"``.
    adversary_
        By view with a private space: the correlation that its ``"adversary"`` finds in the end, and what a
        ``"fresh"`` one finds, on the validation rows (training rows without such).
    net_, reference_, training_, split_
        Networks; private codes over which `predict` averages; complete settings; training and validation row numbers.
    """

    adversary_: dict[str, dict[str, float]]
    _batch_size: ClassVar[int] = 100
    # An epoch in which the adversary has lost track looks good, whatever it hides: the last one is kept.
    _is_judged: ClassVar[bool] = False
    _printed: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "rotated-mnist": {
            **_AS_PRINTED,
            "n_shared": 30,
            "n_private": (0, 2),
            "refresh_every": 3,
            "adversary": AdversaryConfig((64, 64), learning_rate=1.0, weight_decay=0.1, rows=1_000, n_steps=1),
            "networks": ConvNetworks(),
            "training": replace(printed_training(150, 100, 1e-3, 1e-4), loss_scale="mean", keep_best=False),
        },
        "lgn-v1": {
            **_AS_PRINTED,
            "n_shared": 2,
            "n_private": 1,
            "refresh_every": 10,
            "adversary": AdversaryConfig((64, 64), learning_rate=1.0, weight_decay=0.1, rows=1_000, n_steps=1),
            "networks": PlainNetworks((200,) * 6, nn.ReLU),
            "training": replace(printed_training(2_000, 1_000, 1e-3, 1e-4), loss_scale="mean", keep_best=False),
        },
        "sprites": {
            **_AS_PRINTED,
            "n_shared": 500,
            "n_private": 2,
            "refresh_every": 3,
            "adversary": AdversaryConfig((64, 64, 64), learning_rate=1.0, weight_decay=0.1, rows=1_000, n_steps=1),
            "networks": MLPNetworks.paper("sprites"),
            "training": replace(
                printed_training(5_000, 1_000, 1e-4, 1e-3), loss_scale="mean", keep_best=False, retained_variance=0.995
            ),
        },
    }

    def __init__(
        self,
        n_shared: Any = 2,
        n_private: Any = 1,
        *,
        lambda_rec: float = 1.0,
        lambda_dis: float = 0.3,
        adversary: AdversaryConfig | None = None,
        refresh_every: int = 1,
        networks: Networks | None = None,
        training: TrainConfig | None = None,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_shared = n_shared
        self.n_private = n_private
        self.lambda_rec = lambda_rec
        self.lambda_dis = lambda_dis
        self.adversary = adversary
        self.refresh_every = refresh_every
        self.networks = networks
        self.training = training
        self.device = device
        self.random_state = random_state

    def _check_settings(self) -> None:
        for name in ("lambda_rec", "lambda_dis", "refresh_every"):
            if getattr(self, name) is None:
                raise TypeError(f"{name} is None; expected a number")
        check_number("lambda_rec", self.lambda_rec, low=0)
        check_number("lambda_dis", self.lambda_dis, low=0)
        check_number("refresh_every", self.refresh_every, low=1, integer=True)
        if self.adversary is not None and not isinstance(self.adversary, AdversaryConfig):
            raise TypeError(f"adversary is {self.adversary!r}; expected an AdversaryConfig or None")

    def _check_problem(self, names: Sequence[str], training: TrainConfig) -> None:
        """Any number of views and any batch will do."""

    def _n_outputs(self, n_shared: int, n_private: int) -> int:
        return n_shared + n_private

    def _objective(self, task: Task) -> LyuObjective:
        return LyuObjective(
            task,
            lambda_rec=float(self.lambda_rec),
            lambda_dis=float(self.lambda_dis),
            adversary=self.adversary or AdversaryConfig(),
            refresh_every=self.refresh_every,
        )

    def _settle(self, task: Task) -> dict[str, Any]:
        """Return also whether the adversaries are alive: a fit may end long before that would be logged again."""
        rows = task.data.validation if len(task.data.validation) else task.data.train
        return {**super()._settle(task), "adversary_": self._objective(task).adversaries(rows)}

    def _drawn(self, generator: np.random.Generator) -> dict[str, Any]:
        own = self.adversary or AdversaryConfig()
        rate, n_steps = 10 ** generator.uniform(-4, -2), int(generator.choice([1, 5]))
        return {"adversary": replace(own, learning_rate=rate, n_steps=n_steps)}

    def _codes(self, outputs: Mapping[str, Array]) -> dict[str, Array]:
        return {name: self._shared(output) for name, output in outputs.items()}

    def _embedded(self, outputs: Mapping[str, Array]) -> Array:
        mean: Array = np.mean([self._shared(output) for output in outputs.values()], axis=0)
        return mean
