"""SPLICE: the estimator users hold. It only checks, delegates, and keeps what was found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from viewsplice._attributes import FittedAttributes
from viewsplice._random import derive_seed, root_seed
from viewsplice._types import Array, Latents, Networks
from viewsplice._validation import (
    check_callbacks,
    check_decodable,
    check_known,
    check_target,
    fitted_views,
    private_widths,
    row_number,
    row_numbers,
    shared_widths,
)
from viewsplice.config import GeometryConfig, TrainConfig, check_number
from viewsplice.exceptions import warn_of_restarts
from viewsplice.fitted import Fitted
from viewsplice.metrics import reconstruction_r2
from viewsplice.persistence import load_model, problem_to_json, save_model
from viewsplice.preparation import check_enough_rows, check_size, choose_device, loss_units, prepare
from viewsplice.recipes import Problem, choose_settings, solve
from viewsplice.training.checkpoints import Checkpoints
from viewsplice.training.evaluation import objective
from viewsplice.training.fresh import fresh_terms
from viewsplice.training.loop import Callback
from viewsplice.views import Views, as_views, endpoints, is_arrow


class SPLICE(FittedAttributes, BaseEstimator):
    """Shared and private latent spaces of paired views, with their geometry preserved.

    Parameters
    ----------
    n_shared
        Width of the shared spaces: an int, ``"auto"`` to have it found, or a dict by arrow such as
        ``{"A->B": 2, "B->A": 2}``.
    n_private
        Width of the private spaces: an int, ``"auto"``, a tuple in view order, or a dict by view; 0 is allowed.
    recipe
        ``"auto"``: scout, geometry, compact, in minutes on a CPU (docs/recipe-auto.md). ``"paper"``: Algorithms 1 and 2
        of the paper with the widths given.
    networks
        `MLPNetworks`, `ResidualNetworks`, `ConvNetworks` or anything like them; None is the recipe's own.
    training
        `TrainConfig`; fields left out, or None, are the recipe's own.
    geometry
        `GeometryConfig`, ``"default"`` for the recipe's own, or None for Step 1 alone at the widths given.
    lambda_dis
        Weight of disentangling. Recipe ``"auto"`` raises 1 where noise is strong, and says so in ``choices_``.
    device
        ``"auto"``, or a torch device such as ``"cpu"`` or ``"cuda"``.
    random_state
        Seed of everything random; the same seed gives the same bits, whatever the global state.

    Attributes
    ----------
    view_names_, n_features_in_, n_shared_, n_private_
        Names in order; features by view; widths by arrow and by view.
    history_
        One dict per epoch: ``stage``, ``epoch``, ``attempt``, and loss terms such as ``rec/A``, ``pred/B->A``,
        ``dis/A->B``, ``geo/B->A``; those of the validation rows start with ``val/``.
    geometry_, lambda_geo_
        By space, the anchor, landmarks, geodesics, neighbors and spectrum (empty without geometry); the weight used.
    split_
        Training and validation row numbers.
    choices_, notes_
        What was chosen for the user, by name, each with its reason; and in plain words what to be careful about.
    batch_size_, learning_rate_, epochs_, n_neighbors_, n_landmarks_, n_anchors_, n_axes_, ...
        The single choices: see `FittedAttributes`.
    model_
        The networks, a `torch.nn.Module`.

    Examples
    --------
    >>> from viewsplice import SPLICE, MLPNetworks, TrainConfig
    >>> from viewsplice.datasets import linear_gaussian
    >>> data = linear_gaussian(n_samples=300, random_state=0)
    >>> model = SPLICE(n_shared=2, n_private=1, networks=MLPNetworks((32,)), geometry=None,
    ...                training=TrainConfig(epochs=3), random_state=0).fit(data.views)
    >>> model.transform(data.views).shared["A->B"].shape
    (300, 2)
    """

    def __init__(
        self,
        n_shared: Any = "auto",
        n_private: Any = "auto",
        *,
        recipe: str = "auto",
        networks: Networks | None = None,
        training: TrainConfig | None = None,
        geometry: GeometryConfig | str | None = "default",
        lambda_dis: float = 1.0,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_shared = n_shared
        self.n_private = n_private
        self.recipe = recipe
        self.networks = networks
        self.training = training
        self.geometry = geometry
        self.lambda_dis = lambda_dis
        self.device = device
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        validation: Any = 0.1,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | PathLike[str] | None = None,
    ) -> SPLICE:
        """Fit to paired rows.

        Parameters
        ----------
        X, y
            Two arrays (n, ...); or all views as a list, a dict by name, or `Views` in X.
        groups
            Label per row that the validation split must not divide.
        validation
            Fraction of the rows (0: none), row numbers, `Blocks` of a series, or views, on which loss terms are also
            evaluated.
        callbacks
            Functions of an `EpochEvent`, called after each epoch; returning True ends the stage.
        checkpoint
            A folder in which the fit keeps what it has done: the same fit (data, settings, versions and a given
            ``random_state``) goes on from there, with the same bits. Remove it when the model is saved.
        """
        check_number("lambda_dis", self.lambda_dis, low=0)
        told = check_callbacks(callbacks)
        seed = root_seed(self.random_state)
        views = as_views(X, y)
        n_private = private_widths(self.n_private, views.feature_shapes)
        n_shared = shared_widths(self.n_shared, views.feature_shapes)
        check_decodable(n_private, n_shared)
        widths = {**n_private, **n_shared}
        settings = choose_settings(
            self.recipe,
            self.networks,
            self.training,
            self.geometry,
            n_rows=len(views),
            widths=widths,
            n_features=max(math.prod(shape) for shape in views.feature_shapes.values()),
        )
        if settings.recipe == "paper" or settings.geometry is None:
            check_known(widths, "recipe 'paper'" if settings.recipe == "paper" else "geometry=None")
        check_size(views, settings, widths)
        prepared = prepare(
            views,
            groups,
            validation,
            device=choose_device(self.device),
            training=settings.training,
            seed=seed,
        )
        check_enough_rows(len(prepared.data.train), settings.training, settings.geometry, widths)
        problem = Problem(
            data=prepared.data,
            shapes={name: s.network_shape for name, s in prepared.standardizers.items()},
            scales=prepared.scales,
            n_private=n_private,
            n_shared=n_shared,
            settings=settings,
            lambda_dis=float(self.lambda_dis),
            seed=seed,
            callbacks=told,
        )
        if checkpoint is not None:
            problem = replace(problem, checkpoints=Checkpoints(Path(checkpoint), problem_to_json(problem)))
        solution = solve(problem)
        warn_of_restarts(solution.history)
        self.fitted_ = Fitted.from_solution(solution, prepared.standardizers, settings, seed, prepared.split, views)
        return self

    def transform(self, X: Any, y: Any = None) -> Latents[Array]:
        """Return the latents that the given views determine; a lone array is the first view."""
        views = self._check(X, y)
        return self.fitted_.encode(views)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Latents[Array]:
        """Return ``fit(X, y).transform(X, y)``."""
        return self.fit(X, y, **fit_params).transform(X, y)

    def reconstruct(self, X: Any, y: Any = None) -> dict[str, Array]:
        """Return every view rebuilt from its private latent and the other views' shared ones, in the user's units."""
        views = self._check(X, y, complete=True)
        latents = self.fitted_.encode(views)
        return {name: self.fitted_.decode_view(name, latents) for name in views.names}

    def score(self, X: Any, y: Any = None) -> float:
        """Return reconstruction R², averaged over views; not for choosing widths or lambda_dis (it rewards leaks)."""
        views = self._check(X, y, complete=True)
        rebuilt = self.reconstruct(views)
        return float(np.mean([reconstruction_r2(x, rebuilt[name]) for name, x in views.arrays.items()]))

    def objective(self, X: Any, y: Any = None) -> float:
        """Return sum of rec + lambda_dis x sum of dis on held-out rows, fresh measurement networks; lower is better."""
        views = self._check(X, y, complete=True)
        if len(views) < 4:
            raise ValueError(f"got {len(views)} rows; objective needs at least 4, two to train on and two to judge")
        fitted = self.fitted_
        tensors = {name: fitted.standardizers[name].forward(x).to(fitted.device) for name, x in views.arrays.items()}
        training = fitted.settings.training
        units = loss_units(fitted.standardizers, training.loss_scale)
        terms = fresh_terms(self.model_, tensors, units, training, derive_seed(fitted.seed, "objective"))
        return objective(terms, self.lambda_dis)

    def predict(self, target: str, views: Any) -> Array:
        """Return the expected view ``target`` given other views alone, averaged over private parts of training rows."""
        given = self._check(views)
        check_target(target, given, self.view_names_)
        return self.fitted_.predict(target, given)

    def recombine(self, X: Any, y: Any = None, *, shared: Any, private: Any) -> dict[str, Array]:
        """Return views made of the shared part of rows ``shared`` and the private part of rows ``private``."""
        views = self._check(X, y, complete=True)
        i, j = row_numbers("shared", shared, len(views)), row_numbers("private", private, len(views))
        if len(i) != len(j) and 1 not in (len(i), len(j)):
            raise ValueError(f"shared has {len(i)} rows and private {len(j)}; expected equally many, or one")
        return self.fitted_.recombine(views, *np.broadcast_arrays(i, j))

    def project(self, X: Any, y: Any = None, *, vary: str, anchor: int | None = None) -> Array:
        """Return the points of one submanifold in observation space: all spaces but ``vary`` at the anchor (Eq. 6).

        Parameters
        ----------
        X, y
            The views; without ``anchor``, the one that determines ``vary`` suffices.
        vary
            A view (private space: points in that view) or an arrow ``"A->B"`` (shared space: points in view B).
        anchor
            Row of the data passed whose other latents are held; default: the fitted anchor.
        """
        views = self._check(X, y, complete=anchor is not None)
        spaces = [*self.n_private_, *self.n_shared_]
        if vary not in spaces:
            raise ValueError(f"vary is {vary!r}; expected one of {spaces}")
        source = endpoints(vary)[0] if is_arrow(vary) else vary
        if source not in views:
            raise ValueError(f"vary={vary!r} needs view {source!r}; got {list(views.names)}")
        row = None if anchor is None else row_number("anchor", anchor, len(views))
        return self.fitted_.project(views, vary, row)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file (safetensors with JSON, no pickle)."""
        check_is_fitted(self)
        save_model(path, self.get_params(deep=False), self.fitted_)

    @classmethod
    def load(cls, path: str | PathLike[str], *, networks: Networks | None = None, device: str = "auto") -> SPLICE:
        """Return a saved model; ``networks`` must be given again if they were of a class of your own."""
        params, fitted = load_model(path, networks, choose_device(device), cls().get_params(deep=False))
        model: SPLICE = cls().set_params(**params)
        model.fitted_ = fitted
        return model

    def _check(self, X: Any, y: Any = None, *, complete: bool = False) -> Views:
        """Return new data as views that fit this model, in its order."""
        check_is_fitted(self)
        shapes = {name: standardizer.shape for name, standardizer in self.fitted_.standardizers.items()}
        return fitted_views(X, y, shapes, complete=complete)
