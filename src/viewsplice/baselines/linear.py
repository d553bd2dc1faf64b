"""Baselines whose every arrow is a linear map: what they do with new rows once the maps are known."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from viewsplice._random import root_seed
from viewsplice._types import Array, Latents
from viewsplice._validation import check_target, shared_widths
from viewsplice.baselines.base import Baseline, Given, check_given, mean_r2
from viewsplice.training.loop import Callback
from viewsplice.views import Views, arrow, as_views, endpoints


@dataclass(frozen=True, eq=False)
class LinearMap:
    """One arrow: shared = (x - source_mean) encoder, predicted = target_mean + shared decoder.

    Attributes
    ----------
    source_mean, target_mean
        (features,) and (targets,).
    encoder, decoder
        (features, width) and (width, targets).
    """

    source_mean: Array
    encoder: Array
    decoder: Array
    target_mean: Array

    def encode(self, x: Array) -> Array:
        """Return the shared latents of rows (n, features)."""
        result: Array = (x - self.source_mean) @ self.encoder
        return result

    def predict(self, x: Array) -> Array:
        """Return the target's rows as far as rows (n, features) of the source tell them."""
        result: Array = self.target_mean + self.encode(x) @ self.decoder
        return result


class LinearBaseline(Baseline):
    """A method that finds one linear map per arrow and has no private spaces."""

    n_shared: Any
    random_state: Any
    maps_: Mapping[str, LinearMap]

    @abstractmethod
    def _check_settings(self) -> None:
        """Raise unless the constructor's arguments make sense."""

    @abstractmethod
    def _solve(self, given: Given, widths: Mapping[str, int | None]) -> dict[str, LinearMap]:
        """Return the map of every arrow, and set what else was found; a width that is None is to be found."""

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
            Label per row that no split divides.
        validation
            Fraction of the rows (0: none), row numbers, or views that are not learned from: those that `SPLICE` leaves
            out with the same seed.
        callbacks
            Never called, as there are no epochs.
        """
        self._check_settings()
        seed = root_seed(self.random_state)
        views = as_views(X, y)
        widths = shared_widths(self.n_shared, views.feature_shapes)
        given = check_given(views, groups, validation, widths=widths, seed=seed)
        self.maps_ = self._solve(given, widths)
        self.standardizers_ = given.prepared.standardizers
        self.split_ = given.prepared.split
        return self

    @property
    def n_shared_(self) -> dict[str, int]:
        """Width of each shared space."""
        return {name: found.encoder.shape[1] for name, found in self.maps_.items()}

    @property
    def n_private_(self) -> dict[str, int]:
        """Width of each private space: 0."""
        return dict.fromkeys(self.view_names_, 0)

    def transform(self, X: Any, y: Any = None) -> Latents[Array]:
        """Return the latents that the given views determine; a lone array is the first view."""
        views = self._check(X, y)
        rows = flat_rows(views)
        sources = {name: endpoints(name)[0] for name in self.maps_}
        return Latents(
            private={name: np.zeros((len(views), 0)) for name in views.names},
            shared={name: self.maps_[name].encode(rows[view]) for name, view in sources.items() if view in rows},
        )

    def reconstruct(self, X: Any, y: Any = None) -> dict[str, Array]:
        """Return every view predicted from the others, in the user's units."""
        rows = flat_rows(self._check(X, y, complete=True))
        return {name: self._predicted(name, {other: x for other, x in rows.items() if other != name}) for name in rows}

    def predict(self, target: str, views: Any) -> Array:
        """Return view ``target`` given other views alone: the mean of what each of them predicts."""
        given = self._check(views)
        check_target(target, given, self.view_names_)
        return self._predicted(target, flat_rows(given))

    def score(self, X: Any, y: Any = None) -> float:
        """Return reconstruction R², averaged over views."""
        views = self._check(X, y, complete=True)
        return mean_r2(views, self.reconstruct(views))

    def _predicted(self, target: str, rows: Mapping[str, Array]) -> Array:
        mean = np.mean([self.maps_[arrow(source, target)].predict(x) for source, x in rows.items()], axis=0)
        user = self.standardizers_[target]
        result: Array = mean.astype(user.dtype).reshape(-1, *user.shape)
        return result


def flat_rows(views: Views) -> dict[str, Array]:
    """Return the rows of each view in double precision, (n, features)."""
    return {name: x.reshape(len(x), -1).astype(np.float64) for name, x in views.arrays.items()}
