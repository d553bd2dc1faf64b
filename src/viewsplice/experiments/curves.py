"""How many shared dimensions are needed: held-out scores of SPLICE by width and of RRR by rank, on the same folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from viewsplice._types import Array
from viewsplice.baselines.selection import folds
from viewsplice.datasets import MultiViewData
from viewsplice.estimator import SPLICE
from viewsplice.experiments.drawing import panels
from viewsplice.experiments.fits import QUICK, Options, fit_settings
from viewsplice.experiments.parts import Done, Part, read_values, write_values
from viewsplice.experiments.results import Table
from viewsplice.plotting import curve_plot
from viewsplice.sweeps.curves import Curve, held_out_scores, rank_curves, rank_scores
from viewsplice.views import Views

N_FOLDS = 3
# Of RRR as a baseline, which is run twice as all others are; None: cross-validated.
RIDGES: Mapping[str, float | None] = {"rrr-printed": 0.0, "rrr-tuned": None}


def curve_parts(
    load: Callable[[], MultiViewData],
    data_settings: Mapping[str, Any],
    options: Options,
    *,
    widths: Sequence[int],
    params: Mapping[str, Any],
    minutes: float,
    prefix: str = "",
    ridge: float | None = 0.0,
) -> list[Part]:
    """Return one part per width and fold of SPLICE, and one for all ranks of RRR.

    Parameters
    ----------
    load, data_settings
        Returns the data, of which test rows are left out; and everything they depend on.
    options
        The user's choices.
    widths
        Shared widths tried.
    params
        Of the estimator, but for ``n_shared``.
    minutes
        Of one fit.
    prefix
        Of the names of the parts.
    ridge
        Of RRR; None cross-validates it.
    """
    found = []
    for width in widths:
        chosen = {**params, "n_shared": width, **({"training": QUICK} if options.quick else {})}
        settings = {"scan": 1, "folds": N_FOLDS, **fit_settings(data_settings, chosen)}
        for fold in range(N_FOLDS):
            work = _fold_work(load, chosen, fold, options)
            found.append(Part(f"{prefix}scan: width {width}, fold {fold}", {**settings, "fold": fold}, work, minutes))
    return [*found, _ranks_part(load, data_settings, f"{prefix}scan: RRR", ridge)]


def ridge_parts(load: Callable[[], MultiViewData], data_settings: Mapping[str, Any], prefix: str = "") -> list[Part]:
    """Return RRR of all ranks on the same folds as printed, without ridge, and with a cross-validated one."""
    return [_ranks_part(load, data_settings, f"{prefix}scan: {name}", ridge) for name, ridge in RIDGES.items()]


def _ranks_part(
    load: Callable[[], MultiViewData], data_settings: Mapping[str, Any], name: str, ridge: float | None
) -> Part:
    def work(folder: Path, _: Done) -> None:
        views, groups = _rows(load())
        write_values(folder, rank_scores(views, list(folds(len(views), N_FOLDS, groups, 0)), ridge=ridge))

    return Part(name, {"scan": 1, "folds": N_FOLDS, "ridge": ridge, **data_settings}, work, 0.2)


def _fold_work(
    load: Callable[[], MultiViewData], params: Mapping[str, Any], fold: int, options: Options
) -> Callable[[Path, Done], None]:
    def work(folder: Path, _: Done) -> None:
        views, groups = _rows(load())
        train, test = list(folds(len(views), N_FOLDS, groups, 0))[fold]
        model = SPLICE(**params).fit(views[train], callbacks=options.callbacks)
        write_values(folder, held_out_scores(model, views[test]))

    return work


def _rows(data: MultiViewData) -> tuple[Views, Array | None]:
    """Return all rows but those kept for testing, and their groups."""
    rows = np.sort(np.concatenate([data.split["train"], data.split["validation"]]))
    views = data.views[rows]
    return views, views.groups


def read_curves(done: Done, widths: Sequence[int], prefix: str = "") -> list[Curve]:
    """Return the curves of a finished scan: reconstruction by SPLICE, then prediction by RRR for each arrow."""
    values = [[read_values(done[f"{prefix}scan: width {w}, fold {f}"]) for w in widths] for f in range(N_FOLDS)]
    found = [
        Curve(
            "SPLICE",
            "reconstruction R², mean over views",
            np.array(widths),
            np.array([[value["reconstruction"] for value in row] for row in values]),
        )
    ]
    for arrow in values[0][0]["prediction"]:
        scores = np.array([[value["prediction"][arrow] for value in row] for row in values])
        found.append(Curve("SPLICE", f"R² of predicting {arrow}", np.array(widths), scores))
    return [*found, *rank_curves(read_values(done[f"{prefix}scan: RRR"]))]


def curves_table(curves: Sequence[Curve], title: str = "Shared dimensions needed") -> Table:
    """Return at which width each curve saturates."""
    rows = [
        [c.method, c.score, c.saturates_at, c.within_one_sem, f"{c.mean.max():.4f}", f"{c.sem[c.mean.argmax()]:.4f}"]
        for c in curves
    ]
    note = f"{N_FOLDS} folds, the same for both methods; test rows are left out."
    heads = ["method", "score", "smallest within max(SEM, 0.01)", "smallest within one SEM", "best score", "its SEM"]
    return Table(title, heads, rows, note)


def ridges_table(done: Done, prefix: str = "") -> Table:
    """Return the same of RRR without ridge and with one, as far as they are done."""
    curves = [
        replace(curve, method=name)
        for name in RIDGES
        if f"{prefix}scan: {name}" in done
        for curve in rank_curves(read_values(done[f"{prefix}scan: {name}"]))
    ]
    title = f"{prefix}ranks needed by RRR, without ridge and with a cross-validated one"
    return curves_table(curves, title[0].upper() + title[1:])


def draw_curves(curves: Sequence[Curve]) -> Axes:
    """Draw every curve in a panel of its own, with one SEM and the saturation marked; return the first axes."""
    axes = panels(1, len(curves), size=(3.1, 2.8))
    for ax, curve in zip(axes, curves, strict=True):
        curve_plot(curve, ax=ax)
    return axes[0]
