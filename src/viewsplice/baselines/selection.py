"""Cross-validated choice of rank and ridge: the simplest regression that does as well as the best one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from viewsplice._random import RandomState, numpy_generator, root_seed
from viewsplice._types import Array
from viewsplice.baselines.axes import centered, principal_axes
from viewsplice.baselines.reduced_rank import reduced_rank

Folds = Sequence[tuple[Array, Array]]

# lambda = d_max (1 - s) / s shrinks the largest principal axis to the fraction s; 1 is no ridge.
SHRINKAGES = np.arange(50, 101) / 100


@dataclass(frozen=True, eq=False)
class RankCurve:
    """Held-out performance of reduced-rank regression as a function of its rank.

    Attributes
    ----------
    ranks
        0, 1, ..., min(features, targets); rank 0 predicts the mean.
    scores
        1 - NSE on each held-out fold, (folds, ranks). NSE is the sum of squared errors over that of the fold's rows
        around their own mean, so that rank 0 lies a little below 0.
    """

    ranks: Array
    scores: Array

    @property
    def mean(self) -> Array:
        """Mean score over folds, (ranks,)."""
        result: Array = self.scores.mean(axis=0)
        return result

    @property
    def sem(self) -> Array:
        """Standard error of that mean, (ranks,)."""
        return standard_error(self.scores)

    @property
    def chosen(self) -> int:
        """The smallest rank whose mean score is within one standard error of the best."""
        return int(self.ranks[simplest(self.scores)])


def rank_curve(
    x: Array,
    y: Array,
    *,
    ridge: float = 0.0,
    n_folds: int = 10,
    groups: Array | None = None,
    random_state: RandomState = 0,
    splits: Folds | None = None,
) -> RankCurve:
    """Return the cross-validated performance of all ranks of the regression of y on x, one decomposition per fold.

    Parameters
    ----------
    x, y
        Paired rows, (n, features) and (n, targets).
    ridge
        As in `reduced_rank`.
    n_folds
        Folds, fewer where there are not two rows, or not one group, for each.
    groups
        Label per row; a fold holds whole groups.
    random_state
        Seed of the folds.
    splits
        (training, test) rows of each fold, in place of folds drawn here.
    """
    scores = []
    for train, test in splits or folds(len(x), n_folds, groups, random_state):
        model = reduced_rank(x[train], y[train], ridge)
        targets = y[test] - model.target_mean
        found = (x[test] - model.source_mean) @ model.coordinates
        wanted = targets @ model.axes.T
        # Orthonormal axes: each one takes 2 <found, wanted> - <found, found> off the error, whatever the others do.
        gains = np.einsum("ij,ij->j", 2 * wanted - found, found)
        errors = np.sum(targets**2) - np.concatenate([[0.0], np.cumsum(gains)])
        scores.append(1 - errors / _total(y[test], n_folds))
    return RankCurve(ranks=np.arange(len(scores[0])), scores=np.array(scores))


def choose_ridge(
    x: Array,
    y: Array,
    *,
    n_folds: int = 10,
    groups: Array | None = None,
    random_state: RandomState = 0,
    splits: Folds | None = None,
) -> float:
    """Return the largest ridge whose cross-validated mean score is within one standard error of the best.

    The candidates are d_max (1 - s) / s for s = 0.50, 0.51, ..., 1, d_max being the largest eigenvalue of X^T X.
    Arguments are as for `rank_curve`.
    """
    ridges = principal_axes(x).scales[0] ** 2 * (1 - SHRINKAGES) / SHRINKAGES
    scores = []
    for train, test in splits or folds(len(x), n_folds, groups, random_state):
        source = principal_axes(x[train])
        target_mean, targets = centered(y[train])
        weights = source.rows.T @ targets
        held_out, found = y[test] - target_mean, (x[test] - source.mean) @ source.axes
        shrunk = source.scales / (source.scales**2 + ridges[:, None])
        # The error of all ridges from one decomposition: it is quadratic in the factors they put on each axis.
        linear = np.einsum("ij,ij->i", found.T @ held_out, weights)
        quadratic = (found.T @ found) * (weights @ weights.T)
        errors = np.sum(held_out**2) - 2 * shrunk @ linear + np.einsum("ri,ij,rj->r", shrunk, quadratic, shrunk)
        scores.append(1 - errors / _total(y[test], n_folds))
    return float(ridges[simplest(np.array(scores))])


def simplest(scores: Array) -> int:
    """Return the first candidate, of (folds, candidates) from simple to complex, within one SEM of the best."""
    mean = scores.mean(axis=0)
    best = int(mean.argmax())
    return int(np.argmax(mean >= mean[best] - standard_error(scores)[best]))


def standard_error(scores: Array) -> Array:
    """Return the standard error of the mean over folds, (candidates,)."""
    result: Array = scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
    return result


def folds(n_rows: int, n_folds: int, groups: Array | None, random_state: RandomState) -> Iterator[tuple[Array, Array]]:
    """Yield (training, test) row numbers of folds of nearly equal size; groups are never divided."""
    generator = numpy_generator(root_seed(random_state), "folds")
    labels = None if groups is None else np.unique(groups, return_inverse=True)[1]
    most = n_rows // 2 if labels is None else int(labels.max()) + 1
    n_used = min(n_folds, most)
    if n_used < 2:
        got = f"{n_rows} rows" if labels is None else "a single group of rows"
        raise ValueError(f"got {got} to cross-validate on; expected at least two folds: add data, or give n_shared")
    fold_of = generator.permutation(np.arange(n_rows) % n_used)
    if labels is not None:
        fold_of = _fold_of_group(np.bincount(labels), n_used, generator)[labels]
    for fold in range(n_used):
        yield np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)


def _fold_of_group(sizes: Array, n_folds: int, generator: np.random.Generator) -> Array:
    """Return the fold of each group: from the largest to the smallest, ties at random, each to the emptiest fold."""
    order = generator.permutation(len(sizes))
    fold_of, filled = np.zeros(len(sizes), dtype=np.intp), np.zeros(n_folds, dtype=np.intp)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    return fold_of


def _total(y: Array, n_folds: int) -> float:
    """Return the sum of squares around the mean."""
    total = float(np.sum(centered(y)[1] ** 2))
    if total == 0:
        raise ValueError(
            f"a target is constant over the {len(y)} rows of one of {n_folds} folds, so that its score has no "
            "meaning; expected rows that differ: lower n_folds"
        )
    return total
