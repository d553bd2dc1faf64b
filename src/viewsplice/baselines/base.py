"""What every baseline shares with `SPLICE`: the data it accepts, those it refuses, and the rows it may learn from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from viewsplice._types import Array, Latents
from viewsplice._validation import fitted_views
from viewsplice.config import TrainConfig
from viewsplice.frontend import Standardizer
from viewsplice.metrics import reconstruction_r2
from viewsplice.preparation import Prepared, check_enough_rows, choose_device, prepare
from viewsplice.training.loop import Callback
from viewsplice.views import Views, as_views

# For methods without networks: nothing is cut, and one row is enough for a step.
PLAIN = TrainConfig(batch_size=1, retained_variance=1.0, loss_scale="fraction")


@dataclass(frozen=True, eq=False)
class Given:
    """The checked data of one fit.

    Attributes
    ----------
    train, validation
        Rows to learn from and rows to judge by (None: there are none), in the user's units, with their groups.
    prepared
        The same rows as standardized tensors, their split, and the way back to the user's units.
    seed
        Root of all seeds.
    """

    train: Views
    validation: Views | None
    prepared: Prepared
    seed: int


def check_given(
    views: Views,
    groups: Any,
    validation: Any,
    *,
    widths: Mapping[str, int | None],
    seed: int,
    training: TrainConfig = PLAIN,
    device: str = "cpu",
) -> Given:
    """Return the data of a fit, checked and split as `SPLICE` does it: same errors, and same rows for a same seed."""
    prepared = prepare(views, groups, validation, device=choose_device(device), training=training, seed=seed)
    views = Views(views, groups=groups)
    train, held_out = (prepared.split[part] for part in ("train", "validation"))
    check_enough_rows(len(train), training, None, widths)
    judged: Views | None = None
    if len(held_out):
        # Numbers beyond the rows stand for validation data that came as views of their own.
        judged = views[held_out] if held_out[-1] < len(views) else as_views(validation, names=views.names)
    return Given(views[train], judged, prepared, seed)


class Baseline(BaseEstimator, ABC):
    """An estimator with the input forms and the errors of `SPLICE`.

    Attributes
    ----------
    standardizers_
        By view, the statistics of the training rows, and shape and type of the user's data.
    split_
        Training and validation row numbers.
    """

    standardizers_: Mapping[str, Standardizer]
    split_: Mapping[str, Array]

    @abstractmethod
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        validation: Any = 0.1,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Fit to paired rows."""

    @abstractmethod
    def transform(self, X: Any, y: Any = None) -> Latents[Array]:
        """Return the latents that the given views determine; a lone array is the first view."""

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Latents[Array]:
        """Return ``fit(X, y).transform(X, y)``."""
        return self.fit(X, y, **fit_params).transform(X, y)

    @property
    def view_names_(self) -> tuple[str, ...]:
        """Names of the fitted views, in order."""
        return tuple(self.standardizers_)

    @property
    def n_features_in_(self) -> dict[str, int]:
        """Number of features of each view."""
        return {name: standardizer.n_features for name, standardizer in self.standardizers_.items()}

    def _check(self, X: Any, y: Any = None, *, complete: bool = False) -> Views:
        """Return new data as views that fit this model, in its order."""
        check_is_fitted(self)
        shapes = {name: standardizer.shape for name, standardizer in self.standardizers_.items()}
        return fitted_views(X, y, shapes, complete=complete)


def mean_r2(views: Views, rebuilt: Mapping[str, Array]) -> float:
    """Return reconstruction R², averaged over views."""
    return float(np.mean([reconstruction_r2(x, rebuilt[name]) for name, x in views.arrays.items()]))
