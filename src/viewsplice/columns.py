"""SPLICE on one matrix: its columns are split into views, and all latents come back as one matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from viewsplice._types import Array, Networks
from viewsplice.config import GeometryConfig, TrainConfig
from viewsplice.estimator import SPLICE
from viewsplice.training.loop import Callback
from viewsplice.views import Views, default_names

_TYPES = [np.float64, np.float32]


class ColumnSPLICE(TransformerMixin, BaseEstimator):
    """`SPLICE` for tools that hand on one matrix, such as scikit-learn's pipelines and searches.

    Parameters
    ----------
    columns
        Columns of each view: a list of lists of column numbers (or names, if the matrix is a table), or a dict by view.
        Columns in no view are left out. None: the first half of the columns is view A, the rest is view B.
    n_shared, n_private, recipe, networks, training, geometry, lambda_dis, device, random_state
        As in `SPLICE`.

    Attributes
    ----------
    splice_
        The fitted `SPLICE`.
    columns_
        Column numbers by view.
    n_features_in_, feature_names_in_
        Number of columns of the matrix, and their names if it was a table.

    Examples
    --------
    >>> import numpy as np
    >>> from viewsplice import ColumnSPLICE, MLPNetworks, TrainConfig
    >>> from viewsplice.datasets import linear_gaussian
    >>> views = linear_gaussian(n_samples=300, random_state=0).views
    >>> X = np.hstack([views["A"], views["B"]])
    >>> n = views["A"].shape[1]
    >>> model = ColumnSPLICE([range(n), range(n, X.shape[1])], n_shared=2, n_private=1, networks=MLPNetworks((32,)),
    ...                      geometry=None, training=TrainConfig(epochs=3), random_state=0)
    >>> model.fit_transform(X).shape
    (300, 6)
    >>> model.get_feature_names_out()[:3].tolist()
    ['A[0]', 'B[0]', 'A->B[0]']
    """

    def __init__(
        self,
        columns: Any = None,
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
        self.columns = columns
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
    ) -> ColumnSPLICE:
        """Fit to the rows of one matrix; ``y`` is ignored, the rest is as in `SPLICE.fit`."""
        X = validate_data(self, X, dtype=_TYPES, ensure_min_samples=2, ensure_min_features=2)
        columns = split_columns(self.columns, X.shape[1], getattr(self, "feature_names_in_", None))
        settings = {name: value for name, value in self.get_params(deep=False).items() if name != "columns"}
        views = {name: X[:, rows] for name, rows in columns.items()}
        self.splice_ = SPLICE(**settings).fit(views, groups=groups, validation=validation, callbacks=callbacks)
        self.columns_ = columns
        return self

    def transform(self, X: Any) -> Array:
        """Return private latents, then shared ones, side by side: (n, sum of widths) in single precision."""
        return self.splice_.transform(self._views(X)).to_array()

    def score(self, X: Any, y: Any = None) -> float:
        """Return reconstruction R², averaged over views; ``y`` is ignored."""
        return self.splice_.score(self._views(X))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return a name for each latent dimension, such as ``"A->B[0]"``."""
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            given = list(input_features)
            if len(given) != self.n_features_in_:
                raise ValueError("input_features should have length equal to number of features in fit")
            if known is not None and given != list(known):
                raise ValueError("input_features is not equal to feature_names_in_")
        widths = {**self.splice_.n_private_, **self.splice_.n_shared_}
        return np.array([f"{name}[{i}]" for name, width in widths.items() for i in range(width)], dtype=object)

    def _views(self, X: Any) -> Views:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=_TYPES, reset=False)
        return Views({name: X[:, columns] for name, columns in self.columns_.items()})

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def split_columns(columns: Any, n_columns: int, names: Array | None) -> dict[str, Array]:
    """Return the column numbers of each view, or say why the columns cannot be split like this.

    Parameters
    ----------
    columns
        As in `ColumnSPLICE`.
    n_columns, names
        How many columns there are, and their names, if any.
    """
    if columns is None:
        half = (n_columns + 1) // 2
        columns = [range(half), range(half, n_columns)]
    if isinstance(columns, str) or not isinstance(columns, Mapping | Sequence):
        raise TypeError(f"columns is {columns!r}; expected one list of columns per view, or a dict by view")
    named = columns if isinstance(columns, Mapping) else dict(zip(default_names(len(columns)), columns, strict=True))
    if len(named) < 2:
        raise ValueError(f"columns has {len(named)} views; expected two or more")
    found = {name: _numbers(name, given, n_columns, names) for name, given in named.items()}
    everything = np.concatenate(list(found.values()))
    twice = np.flatnonzero(np.bincount(everything, minlength=n_columns) > 1)
    if len(twice):
        raise ValueError(f"columns names column {twice[0]} more than once; expected every column in one view at most")
    return found


def _numbers(view: str, given: Any, n_columns: int, names: Array | None) -> Array:
    """Return the columns of one view as numbers."""
    wanted: list[Any] = [given] if isinstance(given, str | int | np.integer) else list(given)
    if names is not None and all(isinstance(one, str) for one in wanted):
        unknown = [one for one in wanted if one not in names]
        if unknown:
            raise ValueError(f"columns of view {view!r} has {unknown[0]!r}, which is no column of the table")
        wanted = [int(np.flatnonzero(names == one)[0]) for one in wanted]
    if not wanted or any(isinstance(one, bool) or not isinstance(one, int | np.integer) for one in wanted):
        raise TypeError(
            f"columns of view {view!r} is {given!r}; expected column numbers, or names of a table's columns"
        )
    if min(wanted) < 0 or max(wanted) >= n_columns:
        raise ValueError(f"columns of view {view!r} has {min(wanted)} to {max(wanted)}; expected 0 to {n_columns - 1}")
    return np.array(wanted, dtype=np.int64)
