"""Held-out scores by width: of SPLICE by the width of a space, of reduced-rank regression by rank, on equal folds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.baselines import rank_curve
from viewsplice.baselines.selection import Folds, choose_ridge
from viewsplice.estimator import SPLICE
from viewsplice.metrics import reconstruction_r2, saturation
from viewsplice.metrics.dimension import TOLERANCE
from viewsplice.views import Views

# What few rows may cost a sufficient width on new rows, at most; beyond this nothing is taken for estimation error.
_MOST_ESTIMATION = 0.05


@dataclass(frozen=True, eq=False)
class Curve:
    """Held-out scores by width.

    Attributes
    ----------
    method, score
        Whose, and what is scored.
    widths, scores
        Widths (or ranks), and the score of each fold, (folds, widths).
    varied
        Which width it is.
    trained
        The same score on the rows that were fitted to, (folds, widths), where it is known.
    """

    method: str
    score: str
    widths: Array
    scores: Array
    varied: str = "shared width"
    trained: Array | None = None

    @property
    def mean(self) -> Array:
        """Mean over folds, (widths,)."""
        mean: Array = self.scores.mean(axis=0)
        return mean

    @property
    def sem(self) -> Array:
        """Standard error of that mean, (widths,)."""
        sem: Array = self.scores.std(axis=0, ddof=1) / np.sqrt(len(self.scores))
        return sem

    @property
    def held_out_saturates_at(self) -> int:
        """The smallest width within max(one SEM, 0.01) of the best on held-out rows."""
        return saturation(self.widths.tolist(), self.mean.tolist(), self.sem.tolist())

    @property
    def saturates_at(self) -> int:
        """The smallest width that holds what the best one holds.

        The narrower a space, the harder is the map out of it, and the more rows it takes to learn: with few rows a
        width that suffices is worse on new rows than a wider one. It is as good on the rows that were fitted to; one
        that does not suffice is not. So a width counts if it is within max(one SEM, 0.01) of the best on held-out rows,
        or within this of the best on the rows fitted to and not more than 0.05 below the best on held-out ones.
        """
        chosen = self.held_out_saturates_at
        if self.trained is None:
            return chosen
        fitted = Curve(self.method, self.score, self.widths, self.trained)
        best = int(fitted.mean.argmax())
        allowed = max(float(fitted.sem[best]), TOLERANCE)
        holds = (fitted.mean >= fitted.mean[best] - allowed) & (self.mean >= self.mean.max() - _MOST_ESTIMATION)
        return int(self.widths[holds].min(initial=chosen))

    @property
    def within_one_sem(self) -> int:
        """The smallest width within one SEM of the best, however small that is."""
        best = int(self.mean.argmax())
        return int(self.widths[self.mean >= self.mean[best] - self.sem[best]].min())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, what follows from them included."""
        return {
            "method": self.method,
            "score": self.score,
            "varied": self.varied,
            "widths": self.widths,
            "scores": self.scores,
            "mean": self.mean,
            "sem": self.sem,
            "trained": self.trained,
            "held_out_saturates_at": self.held_out_saturates_at,
            "saturates_at": self.saturates_at,
            "within_one_sem": self.within_one_sem,
        }


def held_out_scores(model: SPLICE, views: Views) -> dict[str, Any]:
    """Return reconstruction R², their mean over views and each, and R² of predicting each view from each other."""
    told = {
        f"{a}->{b}": reconstruction_r2(views[b], model.predict(b, {a: views[a]}))
        for a, b in permutations(views.names, 2)
    }
    return {**rebuilt_scores(model, views), "prediction": told}


def rebuilt_scores(model: SPLICE, views: Views) -> dict[str, Any]:
    """Return reconstruction R², the mean over views and each."""
    rebuilt = model.reconstruct(views)
    each = {name: reconstruction_r2(x, rebuilt[name]) for name, x in views.arrays.items()}
    return {"reconstruction": float(np.mean(list(each.values()))), "views": each}


def rank_scores(views: Views, splits: Folds, *, ridge: float | None = 0.0) -> dict[str, Array]:
    """Return by arrow the held-out R² of reduced-rank regression of every rank, (folds, ranks).

    Parameters
    ----------
    views
        Paired rows.
    splits
        (training, test) rows of each fold.
    ridge
        Of the regression; None cross-validates it on the same folds.
    """
    arrays = {name: np.asarray(x, dtype=np.float64).reshape(len(views), -1) for name, x in views.arrays.items()}
    scores = {}
    for a, b in permutations(arrays, 2):
        x, y = arrays[a], arrays[b]
        chosen = choose_ridge(x, y, splits=splits) if ridge is None else ridge
        scores[f"{a}->{b}"] = rank_curve(x, y, ridge=chosen, splits=splits).scores
    return scores


def rank_curves(scores: dict[str, Any]) -> list[Curve]:
    """Return the curves of `rank_scores`."""
    found = {arrow: np.asarray(rows) for arrow, rows in scores.items()}
    return [
        Curve("RRR", f"R² of predicting {arrow}", np.arange(rows.shape[1]), rows, "rank")
        for arrow, rows in found.items()
    ]
