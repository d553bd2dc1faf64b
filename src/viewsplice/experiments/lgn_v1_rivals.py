"""Baselines on simulated LGN and V1: what they are asked, and pictures of their spaces beside SPLICE's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.baselines import CCA
from viewsplice.baselines.neural import NeuralBaseline
from viewsplice.datasets import MultiViewData
from viewsplice.experiments.comparison import Value, contest_tables
from viewsplice.experiments.contest import FULL, RUNS, STEP1, Contest, contest_results, contest_rounds, with_figures
from viewsplice.experiments.drawing import Space
from viewsplice.experiments.fits import Model, Options, load_fit
from viewsplice.experiments.parts import Done, Part
from viewsplice.experiments.results import Result, Summary
from viewsplice.experiments.rivals import rivals
from viewsplice.experiments.rivals_figures import Seen, draw_side_by_side, seen_rivals
from viewsplice.experiments.truth import judge
from viewsplice.metrics import linear_r2

NAME = "lgn-v1"
# What the figures of the paper are about: by metric, "space: factor".
FACTORS = {
    "r2_x_AB": "lgn->v1: x",
    "r2_y_AB": "lgn->v1: y",
    "r2_x_BA": "v1->lgn: x",
    "r2_y_BA": "v1->lgn: y",
    "r2_private_A": "lgn: lgn/position",
    "r2_private_B": "v1: v1/position",
}
_REBUILT = {"r2_A": "lgn", "r2_B": "v1"}
_N_SHOWN = 1_500
_WIDTHS = {"n_shared": 2, "n_private": 1}


def _largest_leak(values: Mapping[str, Any]) -> float | None:
    """Return the largest leak out of spaces that have dimensions."""
    found = [leak["leak"] for key, leak in values["leaks"].items() if values["widths"][key.split(": ")[0]]]
    return max(found, default=None)


_BESIDE: Mapping[str, Value] = {
    "x from both views, R²": lambda v: v.get("both_r2", {}).get("x"),
    "y from both views, R²": lambda v: v.get("both_r2", {}).get("y"),
    "largest leak": _largest_leak,
    "lowest spread of a space": lambda v: min(v["spread"].values(), default=None),
}


def lgn_contest(
    options: Options,
    load: Callable[[int], MultiViewData],
    data_settings: Callable[[int], Mapping[str, Any]],
    n_null: int,
) -> Contest:
    """Return what baselines are to do, with the data and the judge of SPLICE, and the true widths."""
    return Contest(
        experiment=NAME,
        rivals=rivals(NAME, **_WIDTHS, quick=options.quick),
        options=options,
        load=load,
        data_settings=data_settings,
        judge=partial(judge_rival, n_null),
        splice=lambda seed: f"seed {seed}: {FULL}",
        figures=_figures,
        spaces={**{metric: key.split(": ")[0] for metric, key in FACTORS.items()}, **dict.fromkeys(_REBUILT, "")},
        minutes=6,
    )


def _figures(values: Mapping[str, Any]) -> dict[str, float]:
    found = {metric: values["linear_r2"][key] for metric, key in FACTORS.items() if key in values["linear_r2"]}
    rebuilt = values["reconstruction_r2"]
    return found | {metric: rebuilt[view] for metric, view in _REBUILT.items() if view in rebuilt}


def judge_rival(n_null: int, model: Model, data: MultiViewData) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what SPLICE is judged by, what both views tell together, and arrays for pictures."""
    values = judge(model, data, n_null=n_null)
    train, test = data.rows("train"), data.rows("test")
    if isinstance(model, CCA | NeuralBaseline):
        before, after = model.embed(train.views), model.embed(test.views)
        values["both_r2"] = {
            name: float(linear_r2(before, train.shared[name], after, test.shared[name])[0]) for name in train.shared
        }
    return values, pictures(model, test)


def pictures(model: Model, test: MultiViewData) -> dict[str, Array]:
    """Return the latents and the truth of some rows."""
    rows = np.arange(min(len(test), _N_SHOWN))
    spaces = model.transform(test.views[rows]).spaces()
    return {**spaces, **{f"true {name}": values[rows] for name, values in test.factors().items()}}


def rival_parts(contest: Contest, fits: Sequence[Part]) -> list[Part]:
    """Return the fits of all baselines and their figures; ``fits`` are SPLICE's."""
    return with_figures(contest, fits, contest_rounds(contest), partial(_draw, contest))


def rival_summary(contest: Contest, done: Done, results: Sequence[Result]) -> Summary:
    """Return the rows of the baselines, and tables of them beside SPLICE, whose rows are ``results``."""
    found = contest_results(contest, done)
    note = (
        "Test rows. From both views: `embed`. Leaks: held-out R² of a fresh probe minus its shuffled nulls, the "
        "largest over spaces and factors; of a method without private spaces it is what its shared codes tell of "
        "private factors."
    )
    return Summary(found, contest_tables(contest, done, [*results, *found], _BESIDE, note))


def _draw(contest: Contest, folder: Path, done: Done) -> None:
    seed, quick = contest.seeds[0], contest.options.quick
    test = contest.load(seed).rows("test")
    splice = {
        f"splice, {name}": Seen({}, pictures(load_fit(done.whole(f"seed {seed}: {name}")), test))
        for name in (STEP1, FULL)
    }

    def sheet(name: str, one: Seen) -> list[Space]:
        return [
            one.space("v1->lgn", f"true {factor}", f"{factor} (pixels)", label=f"{name}: v1->lgn")
            for factor in ("x", "y")
        ]

    def lines(name: str, one: Seen) -> list[Space]:
        return [
            one.space(view, f"true {view}/position", "true position", label=f"{name}: {view}") for view in ("lgn", "v1")
        ]

    for run in RUNS:
        seen = {**splice, **seen_rivals(contest, done, [run])}
        title = f"Shared spaces by the true position of the bar, baselines as {run}, test rows"
        draw_side_by_side(seen, sheet, folder / f"baselines_shared_{run}.png", quick=quick, title=title)
    seen = {**splice, **seen_rivals(contest, done, private=True)}
    title = "Private spaces against the true position, test rows"
    draw_side_by_side(seen, lines, folder / "baselines_private.png", quick=quick, title=title)
