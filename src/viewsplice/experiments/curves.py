"""How many shared dimensions are needed: held-out scores of SPLICE by width and of RRR by rank, on the same folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from viewsplice._types import Array
from viewsplice.baselines import rank_curve
from viewsplice.baselines.selection import choose_ridge, folds
from viewsplice.datasets import MultiViewData
from viewsplice.estimator import SPLICE
from viewsplice.experiments.drawing import panels
from viewsplice.experiments.fits import QUICK, Options, fit_settings
from viewsplice.experiments.parts import Done, Part, read_values, write_values
from viewsplice.experiments.results import Table
from viewsplice.metrics import reconstruction_r2, saturation
from viewsplice.plotting.canvas import PALETTE
from viewsplice.views import Views

N_FOLDS = 3
_FEW = 12


@dataclass(frozen=True, eq=False)
class Curve:
    """Held-out scores by width.

    Attributes
    ----------
    method, score
        Whose, and what is scored.
    widths, scores
        Widths (or ranks), and the score of each fold, (folds, widths).
    """

    method: str
    score: str
    widths: Array
    scores: Array

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
    def saturates_at(self) -> int:
        """The smallest width within max(one SEM, 0.01) of the best."""
        return saturation(self.widths.tolist(), self.mean.tolist(), self.sem.tolist())

    @property
    def within_one_sem(self) -> int:
        """The smallest width within one SEM of the best, however small that is."""
        best = int(self.mean.argmax())
        return int(self.widths[self.mean >= self.mean[best] - self.sem[best]].min())


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

    def ranks(folder: Path, _: Done) -> None:
        write_values(folder, _rank_scores(load(), ridge))

    settings = {"scan": 1, "folds": N_FOLDS, "ridge": ridge, **data_settings}
    return [*found, Part(f"{prefix}scan: RRR", settings, ranks, 0.2)]


def _fold_work(
    load: Callable[[], MultiViewData], params: Mapping[str, Any], fold: int, options: Options
) -> Callable[[Path, Done], None]:
    def work(folder: Path, _: Done) -> None:
        views, groups = _rows(load())
        train, test = list(folds(len(views), N_FOLDS, groups, 0))[fold]
        model = SPLICE(**params).fit(views[train], callbacks=options.callbacks)
        held_out = views[test]
        told = {
            f"{a}->{b}": reconstruction_r2(held_out[b], model.predict(b, {a: held_out[a]}))
            for a, b in permutations(views.names, 2)
        }
        write_values(folder, {"reconstruction": model.score(held_out), "prediction": told})

    return work


def _rows(data: MultiViewData) -> tuple[Views, Array | None]:
    """Return all rows but those kept for testing, and their groups."""
    rows = np.sort(np.concatenate([data.split["train"], data.split["validation"]]))
    views = data.views[rows]
    return views, views.groups


def _rank_scores(data: MultiViewData, ridge: float | None) -> dict[str, Any]:
    views, groups = _rows(data)
    arrays = {name: np.asarray(x, dtype=np.float64).reshape(len(views), -1) for name, x in views.arrays.items()}
    folding: dict[str, Any] = {"n_folds": N_FOLDS, "groups": groups, "random_state": 0}
    scores = {}
    for a, b in permutations(arrays, 2):
        x, y = arrays[a], arrays[b]
        chosen = choose_ridge(x, y, **folding) if ridge is None else ridge
        scores[f"{a}->{b}"] = rank_curve(x, y, ridge=chosen, **folding).scores
    return scores


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
    for arrow, rows in read_values(done[f"{prefix}scan: RRR"]).items():
        scores = np.array(rows)
        found.append(Curve("RRR", f"R² of predicting {arrow}", np.arange(scores.shape[1]), scores))
    return found


def curves_table(curves: Sequence[Curve], title: str = "Shared dimensions needed") -> Table:
    """Return at which width each curve saturates."""
    rows = [
        [c.method, c.score, c.saturates_at, c.within_one_sem, f"{c.mean.max():.4f}", f"{c.sem[c.mean.argmax()]:.4f}"]
        for c in curves
    ]
    note = f"{N_FOLDS} folds, the same for both methods; test rows are left out."
    heads = ["method", "score", "smallest within max(SEM, 0.01)", "smallest within one SEM", "best score", "its SEM"]
    return Table(title, heads, rows, note)


def draw_curves(curves: Sequence[Curve]) -> Axes:
    """Draw every curve in a panel of its own, with one SEM and the saturation marked; return the first axes."""
    axes = panels(1, len(curves), size=(3.1, 2.8))
    for ax, curve in zip(axes, curves, strict=True):
        low, high = curve.mean - curve.sem, curve.mean + curve.sem
        ax.fill_between(curve.widths, low, high, color=PALETTE[0], alpha=0.3, linewidth=0)
        marker = "o" if len(curve.widths) <= _FEW else None
        ax.plot(curve.widths, curve.mean, color=PALETTE[0], marker=marker, markersize=4)
        ax.axvline(curve.saturates_at, color=PALETTE[1], linestyle="--", label=f"saturates at {curve.saturates_at}")
        ax.set_title(f"{curve.method}\n{curve.score}", fontsize="x-small")
        ax.set_xlabel("rank" if curve.method == "RRR" else "shared width")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(fontsize="small", loc="lower right")
    return axes[0]
