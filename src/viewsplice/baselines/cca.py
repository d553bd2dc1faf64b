"""CCA: linear canonical correlation analysis of two views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from viewsplice._random import numpy_generator
from viewsplice._types import Array
from viewsplice.baselines.axes import PrincipalAxes, centered, padded, principal_axes
from viewsplice.baselines.base import Given
from viewsplice.baselines.linear import LinearBaseline, LinearMap, flat_rows
from viewsplice.config import check_number
from viewsplice.views import Views, arrow

# Directions with less variance than this, as a fraction of the mean feature variance, are left out.
_LEAST_VARIANCE = 1e-9
_N_SHUFFLES = 100
_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Canonical:
    """Pairs of directions in two views along which these correlate most.

    Attributes
    ----------
    means
        Mean of each view's rows, (features,).
    axes
        A and B: canonical variates are (x - mean) A and (y - mean) B, (features, k).
    correlations
        Canonical correlations, largest first, (k,).
    """

    means: tuple[Array, Array]
    axes: tuple[Array, Array]
    correlations: Array


@dataclass(frozen=True, eq=False)
class ShuffleTest:
    """Correlations of pairs of canonical variates on held-out rows, against those of shuffled pairs.

    Attributes
    ----------
    correlations
        On the validation rows, (k,).
    threshold
        What 95 % of 100 shuffles stay below, (k,).
    """

    correlations: Array
    threshold: Array

    @property
    def chosen(self) -> int:
        """How many pairs, from the first one on, correlate more than shuffled ones."""
        return int(np.cumprod(self.correlations > self.threshold).sum())


def canonical_axes(x: Array, y: Array, regularization: float = 0.0) -> Canonical:
    """Return the canonical correlation analysis of paired rows (n, features) and (n, targets).

    T = S11^-1/2 S12 S22^-1/2 = U D V^T, A = S11^-1/2 U, B = S22^-1/2 V, where S_ii is a view's covariance (n - 1) plus
    ``regularization`` times its mean feature variance on the diagonal. It is computed along the principal axes of the
    views, where the roots are diagonal and nothing is as large as the features squared.
    """
    pair = principal_axes(x), principal_axes(y)
    (rows_x, shrunk_x, root_x), (rows_y, shrunk_y, root_y) = (_whitened(view, regularization) for view in pair)
    product = shrunk_x[:, None] * (rows_x.T @ rows_y) * shrunk_y
    left, correlations, right = np.linalg.svd(product, full_matrices=False)
    return Canonical(
        means=(pair[0].mean, pair[1].mean),
        axes=(root_x @ left, root_y @ right.T),
        correlations=np.minimum(correlations, 1.0),
    )


def _whitened(view: PrincipalAxes, regularization: float) -> tuple[Array, Array, Array]:
    """Return rows along principal axes at unit size, what S^-1/2 leaves of that size, and S^-1/2 as (features, r)."""
    variances = view.scales**2 / (len(view.rows) - 1)
    unit = variances.sum() / len(view.mean)
    regularized = variances + regularization * unit
    kept = regularized > _LEAST_VARIANCE * unit
    inverse_root = 1 / np.sqrt(regularized[kept])
    return view.rows[:, kept], np.sqrt(variances[kept]) * inverse_root, view.axes[:, kept] * inverse_root


def shuffle_test(u: Array, v: Array, groups: Array | None, generator: np.random.Generator) -> ShuffleTest:
    """Return how paired columns of (n, k) correlate, and how they do when rows (whole groups) are paired anew."""
    members = np.arange(len(u)) if groups is None else np.unique(groups, return_inverse=True)[1]
    u, v = _unit_columns(u), _unit_columns(v)
    # Rows of one group stay next to each other, so that what is alike within a group is so among shuffled pairs too.
    u, v = (rows[np.argsort(members, kind="stable")] for rows in (u, v))
    members = np.sort(members)
    shuffled = []
    for _ in range(_N_SHUFFLES):
        order = np.argsort(generator.permutation(members.max() + 1)[members], kind="stable")
        shuffled.append((u * v[order]).sum(axis=0))
    return ShuffleTest((u * v).sum(axis=0), np.quantile(np.array(shuffled), _LEVEL, axis=0))


def _unit_columns(x: Array) -> Array:
    """Return columns with mean 0 and sum of squares 1; constant ones become 0."""
    rows = centered(x)[1]
    size = np.linalg.norm(rows, axis=0)
    result: Array = rows / np.where(size > 0, size, 1.0)
    return result


class CCA(LinearBaseline):
    """Linear canonical correlation analysis: the directions in which two views go together most.

    ``shared["A->B"]`` are the canonical variates of A, ``shared["B->A"]`` those of B; there are no private spaces. The
    method itself rebuilds nothing: `predict` and `reconstruct` add least squares from the variates of one view to the
    other view.

    Parameters
    ----------
    n_shared
        Number of pairs: an int, ``"auto"`` for those that correlate more on the validation rows than shuffled pairs
        do (95 % of 100 shuffles), or a dict of these by arrow.
    regularization
        Added to the diagonal of each view's covariance, as a fraction of its mean feature variance: the r of the
        literature for views scaled to unit mean variance. 0 is plain CCA.
    random_state
        Seed of the split and of the shuffles.

    Attributes
    ----------
    view_names_, n_features_in_, n_shared_, n_private_
        Names in order; features by view; widths by arrow and by view.
    correlations_
        All canonical correlations of the training rows, largest first.
    shuffle_test_
        The `ShuffleTest` that found the number of pairs, or None.
    maps_, split_
        By arrow, the `LinearMap`; training and validation row numbers.

    Examples
    --------
    >>> from viewsplice.baselines import CCA
    >>> from viewsplice.datasets import linear_gaussian
    >>> data = linear_gaussian(n_samples=300, random_state=0)
    >>> model = CCA(n_shared=2, random_state=0).fit(data.views)
    >>> model.correlations_[:3].round(2)
    array([1. , 1. , 0.1])
    """

    correlations_: Array
    shuffle_test_: ShuffleTest | None

    def __init__(self, n_shared: Any = "auto", *, regularization: float = 1e-4, random_state: Any = None) -> None:
        self.n_shared = n_shared
        self.regularization = regularization
        self.random_state = random_state

    def embed(self, X: Any, y: Any = None) -> Array:
        """Return one embedding of both views, the mean of their variates, (n, width)."""
        u, v = self.transform(self._check(X, y, complete=True)).shared.values()
        width = min(u.shape[1], v.shape[1])
        result: Array = (u[:, :width] + v[:, :width]) / 2
        return result

    def objective(self, X: Any, y: Any = None) -> float:
        """Return minus the sum of correlations between paired variates of the rows given; lower is better."""
        u, v = self.transform(self._check(X, y, complete=True)).shared.values()
        width = min(u.shape[1], v.shape[1])
        return -float((_unit_columns(u[:, :width]) * _unit_columns(v[:, :width])).sum())

    def _check_settings(self) -> None:
        if self.regularization is None:
            raise TypeError("regularization is None; expected a finite number")
        check_number("regularization", self.regularization, low=0)

    def _solve(self, given: Given, widths: Mapping[str, int | None]) -> dict[str, LinearMap]:
        names = given.train.names
        if len(names) > 2:
            raise ValueError(
                f"got {len(names)} views, {list(names)}; CCA expected two: pass two of them, or use RRR or SPLICE"
            )
        x, y = flat_rows(given.train).values()
        found = canonical_axes(x, y, float(self.regularization))
        test = None
        if None in widths.values():
            test = _judged(found, given.validation, given.seed)
        known = {name: test.chosen if width is None and test else width or 0 for name, width in widths.items()}
        self.correlations_, self.shuffle_test_ = found.correlations, test
        there, back = arrow(*names), arrow(*reversed(names))
        return {
            there: _map(found, (x, y), (0, 1), known[there]),
            back: _map(found, (x, y), (1, 0), known[back]),
        }


def _judged(found: Canonical, validation: Views | None, seed: int) -> ShuffleTest:
    if validation is None:
        raise ValueError("n_shared is 'auto' and validation holds no rows; expected some to judge by, or n_shared=2")
    rows = flat_rows(validation).values()
    u, v = ((x - mean) @ axes for x, mean, axes in zip(rows, found.means, found.axes, strict=True))
    return shuffle_test(u, v, validation.groups, numpy_generator(seed, "cca", "shuffles"))


def _map(found: Canonical, rows: tuple[Array, Array], ends: tuple[int, int], width: int) -> LinearMap:
    """Return the arrow between two ends, with least squares from the variates of one to the other."""
    source, target = ends
    encoder = padded(found.axes[source], width)
    variates = (rows[source] - found.means[source]) @ encoder
    decoder = np.linalg.lstsq(variates, rows[target] - found.means[target], rcond=None)[0]
    return LinearMap(found.means[source], encoder, decoder, found.means[target])
