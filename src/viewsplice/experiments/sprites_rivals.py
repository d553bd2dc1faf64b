"""Baselines on rotated Sprites: what they are asked, and pictures of their private spaces beside SPLICE's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from viewsplice.datasets import MultiViewData
from viewsplice.experiments.comparison import Value, contest_tables
from viewsplice.experiments.contest import FULL, STEP1, Contest, Judge, contest_results, contest_rounds, with_figures
from viewsplice.experiments.drawing import Space
from viewsplice.experiments.fits import Options
from viewsplice.experiments.parts import Done, Part
from viewsplice.experiments.results import Result, Summary
from viewsplice.experiments.rivals import rivals
from viewsplice.experiments.rivals_figures import Seen, draw_side_by_side, seen_of, seen_rivals

NAME = "sprites"
_SHARED = {"A": "A->B", "B": "B->A"}
_SPACES = {
    **{f"r2_{view}": "" for view in _SHARED},
    **{f"{metric}_{view}": view for metric in ("angle_variance", "angle_sd") for view in _SHARED},
    **{f"{metric}_{view}": space for metric in ("id_variance", "id_sd") for view, space in _SHARED.items()},
}
_BESIDE: Mapping[str, Value] = {
    "longest H1 bar / second, z_A": lambda v: v["ring_ratio"].get("A"),
    "longest H1 bar / second, z_B": lambda v: v["ring_ratio"].get("B"),
    "spread of z_A": lambda v: v["spread"].get("A"),
    "spread of z_B": lambda v: v["spread"].get("B"),
}


def sprites_contest(
    options: Options,
    load: Callable[[int], MultiViewData],
    data_settings: Callable[[int], Mapping[str, Any]],
    judge: Judge,
    params: Mapping[str, Any],
) -> Contest:
    """Return what baselines are to do, with the data, the judge and the widths of SPLICE."""
    return Contest(
        experiment=NAME,
        rivals=rivals(NAME, n_shared=params["n_shared"], n_private=params["n_private"], quick=options.quick),
        options=options,
        load=load,
        data_settings=data_settings,
        judge=judge,
        splice=lambda seed: f"seed {seed}: {FULL}",
        figures=_figures,
        spaces=_SPACES,
        minutes=90,
    )


def _figures(values: Mapping[str, Any]) -> dict[str, float]:
    found = {f"r2_{view}": value for view, value in values["reconstruction_r2"].items()}
    for metric in ("angle_variance", "angle_sd", "id_variance", "id_sd"):
        found |= {f"{metric}_{view}": 100 * value for view, value in values[metric].items()}
    return found


def rival_parts(contest: Contest, fits: Sequence[Part]) -> list[Part]:
    """Return the fits of all baselines and their figure; ``fits`` are SPLICE's."""
    return with_figures(contest, fits, contest_rounds(contest), partial(_draw, contest))


def rival_summary(contest: Contest, done: Done, results: Sequence[Result]) -> Summary:
    """Return the rows of the baselines, and tables of them beside SPLICE, whose rows are ``results``."""
    found = contest_results(contest, done)
    note = "Pairs of characters that training never saw; the same principal axes in front of all methods."
    return Summary(found, contest_tables(contest, done, [*results, *found], _BESIDE, note))


def _draw(contest: Contest, folder: Path, done: Done) -> None:
    seed = contest.seeds[0]
    splice = {f"splice, {name}": seen_of(done, f"seed {seed}: {name}, judged") for name in (STEP1, FULL)}

    def column(name: str, one: Seen) -> list[Space]:
        shares = one.values.get("angle_variance", {})
        labels = {view: f"{name}, z_{view}" + (f": {shares[view]:.1%}" if view in shares else "") for view in _SHARED}
        return [
            one.space(view, f"{view}/angle", "angle (degrees)", label=label, kind="circular")
            for view, label in labels.items()
        ]

    draw_side_by_side(
        {**splice, **seen_rivals(contest, done)},
        column,
        folder / "baselines_private.png",
        quick=contest.options.quick,
        title="Private spaces, with their variance by angle, test pairs",
    )
