"""Baselines with networks: what they share, from the check of the data to the way back to the user's units."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch

from viewsplice._random import root_seed, torch_generator
from viewsplice._types import Array, Latents, Networks
from viewsplice._validation import (
    check_callbacks,
    check_decodable,
    check_known,
    check_target,
    private_widths,
    shared_widths,
)
from viewsplice.baselines.base import Baseline, mean_r2
from viewsplice.baselines.coders import Coders
from viewsplice.baselines.minibatches import Objective, Task, train
from viewsplice.baselines.settings import default_training
from viewsplice.chunks import whole_tiles
from viewsplice.config import TrainConfig, check_choice
from viewsplice.exceptions import warn_of_restarts
from viewsplice.preparation import Prepared, check_enough_rows, choose_device, loss_units, prepare
from viewsplice.recipes import choose_settings
from viewsplice.training.alternating import TrainingData
from viewsplice.training.loop import Callback, History, restarting
from viewsplice.views import Views, arrows, as_views, row_blocks

Widths = dict[str, int]


class NeuralBaseline(Baseline):
    """A method with one encoder per view, trained by the package's own loop.

    A view has one shared code, whatever other view it is meant for: with more than two views, all arrows that leave
    it hold the same.
    """

    n_shared: Any
    n_private: Any
    networks: Networks | None
    training: TrainConfig | None
    device: str
    random_state: Any
    net_: Coders
    history_: History
    n_shared_: Widths
    n_private_: Widths
    training_: TrainConfig
    seed_: int
    ended_: str
    validation_objective_: float | None
    _batch_size: ClassVar[int]
    _is_judged: ClassVar[bool] = True
    _printed: ClassVar[Mapping[str, Mapping[str, Any]]]

    @abstractmethod
    def _check_settings(self) -> None:
        """Raise unless the constructor's arguments make sense."""

    @abstractmethod
    def _check_problem(self, names: Sequence[str], training: TrainConfig) -> None:
        """Raise if the method cannot do with these views, or not with these batches."""

    @abstractmethod
    def _n_outputs(self, n_shared: int, n_private: int) -> int:
        """Return how many numbers the encoder of a view returns."""

    @abstractmethod
    def _n_inputs(self, n_shared: int, n_private: Widths) -> dict[str, list[int]]:
        """Return, by view that is rebuilt, the widths that its decoder sees."""

    @abstractmethod
    def _objective(self, task: Task) -> Objective:
        """Return what is minimized."""

    @abstractmethod
    def _settle(self, task: Task) -> dict[str, Any]:
        """Return further fitted attributes, from the trained networks and the training rows."""

    @abstractmethod
    def _latents(self, outputs: Mapping[str, Array]) -> Latents[Array]:
        """Return the latents in what the encoders said."""

    @abstractmethod
    def _embedded(self, outputs: Mapping[str, Array]) -> Array:
        """Return one shared embedding of all views."""

    @abstractmethod
    def _rebuilt(self, outputs: Mapping[str, Array]) -> dict[str, Array]:
        """Return every view rebuilt."""

    @abstractmethod
    def _predicted(self, target: str, outputs: Mapping[str, Array]) -> Array:
        """Return one view predicted from what the encoders of others said."""

    @abstractmethod
    def _drawn(self, generator: np.random.Generator) -> dict[str, Any]:
        """Return settings of the method's own, drawn at random: what tuning tries besides those of training."""

    @classmethod
    def printed(cls, experiment: str = "rotated-mnist", *, random_state: Any = None) -> Self:
        """Return the method with the settings printed for one of the paper's experiments, unfitted."""
        check_choice("experiment", experiment, tuple(cls._printed))
        return cls(**cls._printed[experiment], random_state=random_state)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        validation: Any = 0.1,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Fit to paired rows.

        Parameters
        ----------
        X, y
            Two arrays (n, ...); or all views as a list, a dict by name, or `Views` in X.
        groups
            Label per row that the validation split must not divide.
        validation
            Fraction of the rows (0: none), row numbers, or views, by which epochs are judged.
        callbacks
            Functions of an `EpochEvent`, called after each epoch; returning True ends the training.
        """
        self._check_settings()
        told = check_callbacks(callbacks)
        seed = root_seed(self.random_state)
        views = as_views(X, y)
        n_private, n_shared = self._widths(views)
        networks = choose_settings("paper", self.networks, self.training, None, n_rows=len(views), widths={}).networks
        own = default_training(len(views), self._batch_size, is_judged=self._is_judged)
        training = (self.training or TrainConfig()).resolve(own)
        prepared = prepare(views, groups, validation, device=choose_device(self.device), training=training, seed=seed)
        check_enough_rows(len(prepared.data.train), training, None, {**n_private, **n_shared})
        self._check_problem(views.names, training)
        found = self._solve(prepared, networks, training, (n_private, n_shared), seed, told)
        warn_of_restarts(found["history_"])
        for name, value in found.items():
            setattr(self, name, value)
        self.standardizers_, self.split_ = prepared.standardizers, prepared.split
        self.n_private_, self.n_shared_, self.training_, self.seed_ = n_private, n_shared, training, seed
        return self

    def _widths(self, views: Views) -> tuple[Widths, Widths]:
        """Return the widths of private and of shared spaces; the latter are all the same."""
        shapes, method = views.feature_shapes, type(self).__name__
        n_private, n_shared = private_widths(self.n_private, shapes), shared_widths(self.n_shared, shapes)
        if n_shared:
            check_decodable(n_private, n_shared)
        check_known({**n_private, **n_shared}, method)
        if len(set(n_shared.values())) > 1:
            raise ValueError(
                f"n_shared is {self.n_shared}; {method} has one shared code per view: expected equal widths, such as 2"
            )
        if 0 in n_shared.values():
            raise ValueError(f"n_shared is 0; {method} expected a shared space of at least one dimension")
        known = {name: int(width or 0) for name, width in {**n_private, **n_shared}.items()}
        return {name: known[name] for name in n_private}, {name: known[name] for name in n_shared}

    @torch.enable_grad()
    def _solve(
        self,
        prepared: Prepared,
        networks: Networks,
        training: TrainConfig,
        widths: tuple[Widths, Widths],
        seed: int,
        callbacks: Sequence[Callback],
    ) -> dict[str, Any]:
        """Return what was found; a fit that diverges starts over with a derived seed, up to ``max_restarts`` times."""
        history: History = []

        def attempt(seed: int) -> dict[str, Any]:
            task = self._task(prepared, networks, training, widths, seed)
            objective, judged = self._objective(task), _judged_rows(task)
            judged = judged if len(judged) >= objective.least_rows else judged[:0]
            ended = train(objective, history, judged, callbacks)
            task.net.eval()
            value = objective.total(objective.examined(judged)) if len(judged) else None
            found = {"net_": task.net, "history_": history, "ended_": ended, "validation_objective_": value}
            return {**found, **self._settle(task)}

        return restarting(attempt, history, seed=seed, max_restarts=training.max_restarts)

    def _task(
        self,
        prepared: Prepared,
        networks: Networks,
        training: TrainConfig,
        widths: tuple[Widths, Widths],
        seed: int,
    ) -> Task:
        """Return new networks and what they are trained for."""
        n_private, n_shared = widths[0], next(iter(widths[1].values()))
        net = Coders(
            {name: s.network_shape for name, s in prepared.standardizers.items()},
            {name: self._n_outputs(n_shared, width) for name, width in n_private.items()},
            self._n_inputs(n_shared, n_private),
            networks,
            seed,
        )
        some = next(iter(prepared.data.views.values()))
        n_features = {name: s.n_features for name, s in prepared.standardizers.items()}
        return Task(net.to(some), prepared.data, training, n_shared, n_private, n_features, seed)

    def transform(self, X: Any, y: Any = None) -> Latents[Array]:
        """Return the latents that the given views determine; a lone array is the first view."""
        return self._latents(self._encode(self._check(X, y)))

    def embed(self, X: Any, y: Any = None) -> Array:
        """Return one shared embedding of all views, (n, width)."""
        return self._embedded(self._encode(self._check(X, y, complete=True)))

    def reconstruct(self, X: Any, y: Any = None) -> dict[str, Array]:
        """Return every view rebuilt, in the user's units."""
        return self._rebuilt(self._encode(self._check(X, y, complete=True)))

    def predict(self, target: str, views: Any) -> Array:
        """Return the expected view ``target`` given other views alone, in the user's units."""
        given = self._check(views)
        check_target(target, given, self.view_names_)
        return self._predicted(target, self._encode(given))

    def score(self, X: Any, y: Any = None) -> float:
        """Return reconstruction R², averaged over views."""
        views = self._check(X, y, complete=True)
        return mean_r2(views, self.reconstruct(views))

    def objective(self, X: Any, y: Any = None) -> float:
        """Return the method's own objective on the rows given; lower is better. Tuning compares settings by it."""
        views = self._check(X, y, complete=True)
        device = next(self.net_.parameters()).device
        rows = torch.arange(len(views), device=device)
        data = TrainingData(
            views={name: self.standardizers_[name].forward(x).to(device) for name, x in views.arrays.items()},
            train=rows,
            validation=rows,
            units=loss_units(self.standardizers_, self.training_.loss_scale),
        )
        width = self.n_shared_[arrows(self.view_names_)[0]]
        task = Task(self.net_, data, self.training_, width, self.n_private_, self.n_features_in_, self.seed_)
        objective = self._objective(task)
        if len(views) < objective.least_rows:
            raise ValueError(f"got {len(views)} rows; objective needs at least {objective.least_rows} for this width")
        with torch.enable_grad():
            return objective.total(objective.examined(rows))

    @torch.inference_mode()
    def _encode(self, views: Views) -> dict[str, Array]:
        """Return what the encoders say of the user's arrays, block by block."""
        device, found = next(self.net_.parameters()).device, {}
        for name, x in views.arrays.items():
            view = self.standardizers_[name]
            outputs = []
            for rows in row_blocks(len(x), view.n_features):
                block = view.forward(x[rows]).to(device)
                outputs.append(self.net_.encoders[name](whole_tiles(block))[: len(block)])
            found[name] = torch.cat(outputs).cpu().numpy()
        return found

    @torch.inference_mode()
    def _decode(self, view: str, *latents: Array) -> Array:
        """Return one view rebuilt from latents side by side, in the user's units and shape."""
        user, like = self.standardizers_[view], next(self.net_.parameters())
        out = np.empty((len(latents[0]), *user.shape), dtype=user.dtype)
        for block in row_blocks(len(out), user.n_features):
            rows = [whole_tiles(torch.from_numpy(np.array(z[block], dtype=np.float32))).to(like) for z in latents]
            rebuilt = self.net_.decode(view, *rows)[: block.stop - block.start]
            out[block] = user.inverse(rebuilt.cpu().numpy())
        return out


def _judged_rows(task: Task) -> torch.Tensor:
    """Return the validation rows by which epochs are judged: all, or as many as the settings say."""
    rows = task.data.validation
    order = torch.randperm(len(rows), generator=torch_generator(task.seed, "judged"))
    return rows[order[: task.config.judged_rows or None].sort().values.to(rows.device)]
