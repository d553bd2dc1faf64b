"""Which rows an audit learns from and which it judges on: only rows that the model was not trained on count as new."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewsplice._types import Array, Latents
from viewsplice.estimator import SPLICE
from viewsplice.ordering import RowOrder, row_order
from viewsplice.splits import distances_to
from viewsplice.views import Views

_FEWEST_ROWS, _FEWEST_UNITS = 40, 4
# Held-out rows, or groups, below which permutations tell nothing.
_FEWEST_HELD_OUT = {False: 20, True: 5}


@dataclass(frozen=True, eq=False)
class AuditRows:
    """Rows of an audit.

    Attributes
    ----------
    order
        How all given rows hang together.
    held_out
        Rows that the model was not trained on, none of them between its training rows; empty: there are none.
    learn, judge
        Rows that probes and refits learn from, and rows on which both are judged.
    note
        The same in words.
    """

    order: RowOrder
    held_out: Array
    learn: Array
    judge: Array
    note: str

    def part(self, rows: Array) -> RowOrder:
        """Return how some of the rows hang together."""
        return self.order.take(rows)


def choose_rows(
    model: SPLICE, views: Views, latents: Latents[Array], *, most: int, generator: np.random.Generator
) -> AuditRows:
    """Return which rows to use, each part thinned to ``most`` rows, evenly spread.

    New rows are cut in two. Of the rows of the fit, its training rows are learned from and its validation rows judge,
    if there are enough that are farther from all training rows than rows are alike; if not, the rows are cut in two as
    well, and nothing is held out.
    """
    order = row_order(views)
    if len(views) < _FEWEST_ROWS or order.n_units < _FEWEST_UNITS:
        unit = f"{order.n_units} groups" if order.is_grouped else f"{len(views)} rows"
        raise ValueError(
            f"got {unit}; expected at least {_FEWEST_ROWS} rows, in {_FEWEST_UNITS} groups or more, to learn from some "
            "and judge on others"
        )

    def thin(rows: Array) -> Array:
        return rows[order.take(rows).thinned(most)]

    def halves() -> tuple[Array, Array]:
        learn, judge = order.split(0.5, generator)
        return thin(learn), thin(judge)

    if not model.fitted_.has_rows(views, latents):
        note = f"All {len(views):,} rows are taken to be new to the model; probes learn from half of them."
        return AuditRows(order, thin(np.arange(len(views))), *halves(), note)
    held_out = _far_validation_rows(model, order)
    n_units = len(np.unique(order.unit_of_row[held_out]))
    if n_units >= _FEWEST_HELD_OUT[order.is_grouped]:
        judge = thin(held_out)
        note = (
            f"The rows are those of the fit; {len(judge):,} of its validation rows judge, which also chose when its "
            "training stopped."
        )
        return AuditRows(order, judge, thin(model.split_["train"]), judge, note)
    learn, judge = halves()
    why = "lie between its training rows, which they are like" if order.reach else "are too few"
    note = (
        f"The rows are those of the fit, and its validation rows {why}: nothing was held out. Shared information is "
        "judged by a refit to half of the rows on the other half; all else on rows that the model knows."
    )
    return AuditRows(order, np.empty(0, dtype=np.intp), learn, judge, note)


def _far_validation_rows(model: SPLICE, order: RowOrder) -> Array:
    """Return the validation rows in units that are farther from every training unit than units are alike."""
    held_out = model.split_["validation"]
    held_out = held_out[held_out < len(order.unit_of_row)]
    trained = np.unique(order.unit_of_row[model.split_["train"]])
    is_far = distances_to(trained, order.n_units) > order.gap
    far: Array = held_out[is_far[order.unit_of_row[held_out]]]
    return far
