"""How many dimensions: held-out reconstruction by the width of every space, beside linear ranks and spectra.

A choice of widths is a tuple here: the shared width, then the private width of each view, in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from viewsplice._random import RandomState, root_seed
from viewsplice._types import Array
from viewsplice.baselines.selection import Folds, folds
from viewsplice.config import check_number
from viewsplice.estimator import SPLICE
from viewsplice.io import joint_fingerprint, json_text
from viewsplice.ordering import RowOrder, row_order
from viewsplice.persistence import settings_to_json
from viewsplice.preparation import paired_views
from viewsplice.recipes.widths import spectral_dimension
from viewsplice.splits import Blocks
from viewsplice.sweeps.choices import Widths, decodable, lines_around, widths_of, words
from viewsplice.sweeps.curves import Curve, held_out_scores, rank_curves, rank_scores, rebuilt_scores
from viewsplice.sweeps.fits import quiet_fit
from viewsplice.sweeps.sweep import Sweep
from viewsplice.sweeps.tasks import Task
from viewsplice.views import Views, as_views, is_arrow

_MOST_ROWS = 6000
# R² is a share of the variance between rows.
_FEWEST_TEST_ROWS = 2


@dataclass(frozen=True, eq=False)
class Scan:
    """What a scan of widths found.

    Attributes
    ----------
    curves
        Held-out scores by width: reconstruction by the shared width, that of each view by its private width,
        prediction by the shared width, and prediction by the rank of reduced-rank regression (RRR).
    recommended
        The shared width, then the private width of each view, in order: each the smallest that holds what the best one
        holds, within max(one SEM, 0.01) of reconstruction R² (`Curve.saturates_at`).
    reasons
        A sentence for each of these numbers, and one for RRR.
    spectra
        By space, the landmark-MDS eigenvalues of a fit to all rows.
    notes
        How it was done.
    """

    curves: Sequence[Curve]
    recommended: Widths
    reasons: Sequence[str]
    spectra: Mapping[str, Array]
    notes: Sequence[str]

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json_text({**vars(self), "curves": [curve.to_dict() for curve in self.curves]})


def dimension_scan(
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    widths: Sequence[int] | None = None,
    n_folds: int = 3,
    model: SPLICE | None = None,
    sweep: Sweep | None = None,
    random_state: RandomState = 0,
) -> Scan:
    """Return how many shared and private dimensions paired views need.

    One width is varied at a time; the others are those that a first fit to all rows finds, or those of ``model``.
    Folds hold whole groups; of rows that are like their neighbors, they are runs of rows with a gap around them.

    Parameters
    ----------
    X, y, groups
        As for ``fit``. Of more than 6,000 rows, evenly spread ones are used.
    widths
        Widths to try, for the shared spaces and for each private one; None: 0, half of the width that is held, one less
        and one more than it, and twice as many.
    n_folds
        Folds, the same for all widths and for RRR.
    model
        The estimator whose widths are varied; None: ``SPLICE()``.
    sweep
        How the fits are run; None: one after the other.
    random_state
        Seed of folds and fits.
    """
    check_number("n_folds", n_folds, low=2, integer=True)
    for width in widths or ():
        check_number("each of widths", width, low=0, integer=True)
    if widths is not None and len(set(widths)) < 2:
        raise ValueError(f"widths is {list(widths)}; expected at least two different ones to compare")
    seed = root_seed(random_state)
    views, order, notes = _used_rows(paired_views(as_views(X, y), groups))
    splits = _splits(views, order, n_folds, seed)
    template = (clone(model) if model is not None else SPLICE()).set_params(random_state=seed)
    plan = _Plan(template, splits, Blocks(gap=order.gap) if order.reach else 0.1, joint_fingerprint(views))
    sweep = sweep or Sweep()
    [center] = sweep.run([Task("all rows", plan.about, plan.fit_all)], views)
    middle = widths_of(center["widths"], views)
    lines = lines_around(middle, widths, views)
    choices = list(dict.fromkeys(choice for line in lines for choice in line))
    *scores, ranks = sweep.run([*(t for c in choices for t in plan.tasks(c)), plan.rank_task], views)
    by_choice = {choice: scores[i * len(splits) :][: len(splits)] for i, choice in enumerate(choices)}
    curves = [*_curves(lines, by_choice, views), *rank_curves(ranks)]
    spectra = {space: np.array(values) for space, values in center["spectra"].items()}
    asked = f" ({n_folds} were asked for)" if len(splits) < n_folds else ""
    notes += [
        f"{len(splits)} folds{asked}: {_kind_of_folds(order)}.",
        f"One width was varied at a time, the others held at {words(middle)}.",
    ]
    own = curves[: len(lines)]
    reasons = [_reason(curve, spectra) for curve in own] + [_rank_sentence(curves)]
    recommended, added = decodable(tuple(curve.saturates_at for curve in own), views)
    return Scan(curves, recommended, reasons + added, spectra, notes)


def _used_rows(views: Views) -> tuple[Views, RowOrder, list[str]]:
    """Return the rows to use, how they hang together, and notes about both."""
    order = row_order(views)
    notes = []
    if len(views) > _MOST_ROWS:
        kept = order.thinned(_MOST_ROWS)
        notes.append(f"{len(kept):,} of {len(views):,} rows were used, evenly spread.")
        views = views[kept]
        order = row_order(views)
    return views, order, [*notes, f"There are {order}."]


def _splits(views: Views, order: RowOrder, n_folds: int, seed: int) -> Folds:
    """Return the folds, or say, before hours of fits, that some would have nothing to be scored on."""
    found = list(order.blocked_folds(n_folds)) if order.reach else list(folds(len(views), n_folds, views.groups, seed))
    fewest = min(len(test) for _, test in found)
    if fewest < _FEWEST_TEST_ROWS:
        raise ValueError(
            f"of {len(found)} folds, some leave {fewest} row{'s' * (fewest != 1)} to judge by; expected at least "
            f"{_FEWEST_TEST_ROWS}: give fewer folds, or larger groups"
        )
    return found


def _kind_of_folds(order: RowOrder) -> str:
    unit = "groups" if order.is_grouped else "rows"
    return f"runs of successive {unit}, with gaps of {order.gap} {unit}" if order.reach else f"{unit} at random"


@dataclass(frozen=True, eq=False)
class _Plan:
    """What the fits of a scan have in common: estimator, folds, validation split, and a fingerprint of the data."""

    template: SPLICE
    splits: Folds
    validation: Any
    data: str

    @property
    def about(self) -> dict[str, Any]:
        """Everything that a fit to all rows depends on."""
        params = settings_to_json(self.template.get_params(deep=False))
        return {"sweep": "scan", "version": 2, "data": self.data, "estimator": params}

    def fit(self, views: Views, **params: Any) -> SPLICE:
        """Return a fit with some parameters changed."""
        return quiet_fit(clone(self.template).set_params(**params), views, validation=self.validation)

    def fit_all(self, views: Views) -> dict[str, Any]:
        """Return the widths and the spectra of a fit to all rows."""
        model = self.fit(views)
        spectra = {space: found.spectrum for space, found in model.geometry_.items()}
        return {"widths": {**model.n_shared_, **model.n_private_}, "spectra": spectra}

    def tasks(self, choice: Widths) -> list[Task]:
        """Return one task per fold."""
        about = {**self.about, "widths": choice, "folds": len(self.splits)}
        return [
            Task(f"widths {words(choice)}, fold {fold}", {**about, "fold": fold}, partial(self.score, choice, fold))
            for fold in range(len(self.splits))
        ]

    def score(self, choice: Widths, fold: int, views: Views) -> dict[str, Any]:
        """Return the scores of one choice of widths on one fold: held-out ones, and on the rows fitted to."""
        train, test = self.splits[fold]
        model = self.fit(views[train], n_shared=choice[0], n_private=choice[1:])
        return {
            **held_out_scores(model, views[test]),
            "trained": rebuilt_scores(model, views[train[model.split_["train"]]]),
        }

    @property
    def rank_task(self) -> Task:
        """The task of reduced-rank regression, all ranks and folds."""
        return Task("RRR", {**self.about, "ranks": "all", "folds": len(self.splits)}, self.score_ranks)

    def score_ranks(self, views: Views) -> dict[str, Any]:
        """Return the held-out scores of all ranks."""
        return rank_scores(views, self.splits, ridge=None)


def _curves(lines: list[list[Widths]], scores: Mapping[Widths, Sequence[Any]], views: Views) -> list[Curve]:
    """Return reconstruction along every line, then prediction of every arrow along the first."""

    def along(place: int, *keys: str) -> Array:
        rows = [[_item(fold, keys) for fold in scores[choice]] for choice in lines[place]]
        return np.array(rows).T  # (folds, widths)

    def rebuilt(place: int, score: str, varied: str, *keys: str) -> Curve:
        return Curve("SPLICE", score, widths[place], along(place, *keys), varied, along(place, "trained", *keys))

    widths = [np.array([choice[place] for choice in line]) for place, line in enumerate(lines)]
    found = [rebuilt(0, "reconstruction R², mean over views", "shared width", "reconstruction")]
    for place, name in enumerate(views.names, start=1):
        found.append(rebuilt(place, f"reconstruction R² of {name}", f"private width of {name}", "views", name))
    for arrow in scores[lines[0][0]][0]["prediction"]:
        found.append(Curve("SPLICE", f"R² of predicting {arrow}", widths[0], along(0, "prediction", arrow)))
    return found


def _item(values: Any, keys: Sequence[str]) -> float:
    for key in keys:
        values = values[key]
    return float(values)


def _reason(curve: Curve, spectra: Mapping[str, Array]) -> str:
    """Return why a curve's saturation is recommended, and what the spectrum says."""
    chosen = curve.saturates_at
    shown = [(int(w), m, s) for w, m, s in zip(curve.widths, curve.mean, curve.sem, strict=True)]
    near = [f"{w}: {m:.3f} ± {s:.3f}" for w, m, s in shown if w <= chosen + 2]
    view = curve.varied.removeprefix("private width of ")
    spaces = [space for space in spectra if is_arrow(space)] if view == curve.varied else [view]
    standing = {space: spectral_dimension(spectra[space]) for space in spaces if space in spectra}
    evidence = "; ".join(f"{count} eigenvalues of {space} stand out" for space, count in standing.items())
    doubt = "" if all(count == chosen for count in standing.values()) else " (weak evidence: they differ)"
    largest = "; no larger width was tried" if chosen == curve.widths.max() else ""
    return (
        f"{curve.varied} {chosen}: held-out {curve.score} by width {', '.join(near)}{largest}{_lacking(curve)}"
        + (f"; {evidence}{doubt}" if evidence else "")
        + "."
    )


def _lacking(curve: Curve) -> str:
    """Return what is said where a wider space is better on new rows only."""
    wider = curve.held_out_saturates_at
    if curve.trained is None or wider == curve.saturates_at:
        return ""
    places = [curve.widths.tolist().index(width) for width in (curve.saturates_at, wider)]
    new, fitted = (float(np.diff(scores[places])[0]) for scores in (curve.mean, curve.trained.mean(axis=0)))
    return (
        f"; {wider} gains {new:.3f} on new rows but {fitted:.3f} on those fitted to, so that rows are lacking and not "
        "dimensions"
    )


def _rank_sentence(curves: Sequence[Curve]) -> str:
    found = [curve for curve in curves if curve.method == "RRR"]
    each = ", ".join(f"{curve.within_one_sem} for {curve.score.removeprefix('R² of predicting ')}" for curve in found)
    return f"Reduced-rank regression needs {each} dimensions to come within one SEM of its best."
