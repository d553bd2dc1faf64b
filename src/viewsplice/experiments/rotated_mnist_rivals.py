"""Baselines on rotated MNIST: what is asked of them beyond SPLICE's judge, extra private dimensions, and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator
from sklearn.manifold import TSNE

from viewsplice._types import Array
from viewsplice.baselines.neural import NeuralBaseline
from viewsplice.baselines.shared_private import SharedPrivateBaseline
from viewsplice.datasets import MultiViewData
from viewsplice.estimator import SPLICE
from viewsplice.experiments.comparison import NOT_AVAILABLE, Value, contest_tables
from viewsplice.experiments.contest import (
    FULL,
    RUNS,
    Contest,
    Judge,
    contest_results,
    contest_rounds,
    figures_part,
    with_figures,
)
from viewsplice.experiments.drawing import Space, panels, save, show_images, show_text
from viewsplice.experiments.fits import Model, Options, load_fit
from viewsplice.experiments.parts import Done, Part, read_values, write_values
from viewsplice.experiments.results import Result, Summary, Table
from viewsplice.experiments.rivals import Rival, rivals
from viewsplice.experiments.rivals_figures import Seen, draw_side_by_side, seen_of, seen_rivals
from viewsplice.experiments.rotated_mnist_figures import N_COMPOSED, WIDTHS, composed, width_name
from viewsplice.metrics import linear_svc_accuracy, variance_by_dimension
from viewsplice.plotting.canvas import PALETTE

# By name, a value for each private dimension.
Shares = Mapping[str, Sequence[float]]

NAME = "rotated-mnist"
_N_EMBEDDED = 1_000
_WIDTHS_PART = "baselines: private widths"
_SPACES = {"angle_variance": "B", "digit_accuracy": "B->A"}
_BESIDE: Mapping[str, Value] = {
    "digit accuracy from both views": lambda v: v.get("digit_accuracy_both"),
    "digit from private": lambda v: v.get("digit_from_private"),
    "digit by chance": lambda v: v["digit_by_chance"],
    "angle from s_{B->A}, R²": lambda v: v["angle_from_shared"]["B->A"],
    "longest H1 bar / second": lambda v: v.get("ring_ratio"),
    "reconstruction R² of A": lambda v: v["reconstruction_r2"].get("A"),
    "reconstruction R² of B": lambda v: v["reconstruction_r2"].get("B"),
    "spread of z_B": lambda v: v["spread"].get("B"),
}


def mnist_contest(
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
        judge=partial(judge_rival, judge),
        splice=lambda seed: f"seed {seed}: {FULL}",
        figures=_figures,
        spaces=_SPACES,
        minutes=10,
    )


def _figures(values: Mapping[str, Any]) -> dict[str, float]:
    found = {"digit_accuracy": 100 * values["digit_accuracy"]["B->A"]}
    return found | ({"angle_variance": 100 * values["angle_variance"]} if "angle_variance" in values else {})


def rival_parts(contest: Contest, fits: Sequence[Part]) -> list[Part]:
    """Return the fits of all baselines, also with more private dimensions, and their figures; ``fits`` are SPLICE's."""
    rounds = contest_rounds(contest, width_variants(contest.rivals))
    shown = [*fits, *rounds[0], *rounds[-1]]
    widths = figures_part(contest, _WIDTHS_PART, shown, partial(_draw_widths, contest))
    return [*with_figures(contest, fits, rounds, partial(_draw, contest)), widths]


def rival_summary(contest: Contest, done: Done, results: Sequence[Result]) -> Summary:
    """Return the rows of the baselines, and tables of them beside SPLICE, whose rows are ``results``."""
    found = contest_results(contest, done)
    note = "Test digits. From both views: `embed`, which sees the upright digit as well."
    tables = contest_tables(contest, done, [*results, *found], _BESIDE, note)
    widths = [_widths_table(contest, read_values(done[_WIDTHS_PART]))] if _WIDTHS_PART in done else []
    return Summary(found, [*tables, *widths])


def judge_rival(judge: Judge, model: Model, data: MultiViewData) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what SPLICE is judged by, the digit accuracy from both views together, and arrays for pictures."""
    values, arrays = judge(model, data)
    train, test = data.rows("train"), data.rows("test")
    if isinstance(model, NeuralBaseline):
        pair = model.embed(train.views), train.shared["digit"], model.embed(test.views), test.shared["digit"]
        values["digit_accuracy_both"] = linear_svc_accuracy(*pair)
    return values, {**arrays, **pictures(model, test)}


def pictures(model: Model, test: MultiViewData) -> dict[str, Array]:
    """Return the shared latents of some digits, and composed digits of a method that can compose."""
    rows = np.arange(min(len(test), _N_EMBEDDED))
    found = {
        "shared": model.transform({"B": test.views["B"][rows]}).shared["B->A"],
        "shared_digit": test.shared["digit"][rows],
    }
    if isinstance(model, SPLICE | SharedPrivateBaseline):
        found["composed"] = np.round(255 * composed(model, test)).astype(np.uint8)
    return found


def width_variants(rivals: Sequence[Rival]) -> dict[str, list[Rival]]:
    """Return by name of a rival with private spaces the same with more private dimensions than the angle needs."""
    return {
        rival.name: [rival.with_private((0, width), f", {width_name(width)}") for width in WIDTHS if width != 2]
        for rival in rivals
        if rival.has_private
    }


def _by_width(contest: Contest, done: Done) -> dict[str, dict[int, Seen]]:
    """Return by method and private width what the first seed left."""
    seed = contest.seeds[0]
    names = {width: FULL if width == 2 else width_name(width) for width in WIDTHS}
    found = {"splice": {width: seen_of(done, f"seed {seed}: {name}, judged") for width, name in names.items()}}
    variants = width_variants(contest.rivals)
    for rival in contest.rivals:
        for run in RUNS if rival.has_private else ():
            every = zip(WIDTHS, [rival, *variants[rival.name]], strict=True)
            found[f"{rival.name}-{run}"] = {
                width: seen_of(done, contest.part_name(seed, one, run)) for width, one in every
            }
    return found


def _draw_widths(contest: Contest, folder: Path, done: Done) -> None:
    """Write the figure of extra private dimensions, and the numbers in it: tables do not need the arrays again."""
    shares = {
        method: {width: _shares(one) for width, one in seen.items()}
        for method, seen in _by_width(contest, done).items()
    }
    write_values(folder, shares)
    _extra_dimensions(shares, folder / "baselines_private_widths.png", contest.options.quick)


def _shares(seen: Seen) -> Shares | None:
    """Return the share of variance of each private dimension and what of it has nothing to do with the angle."""
    if "corrected" not in seen.arrays:
        return None
    every, unrelated = variance_by_dimension(seen.arrays["private"], seen.arrays["corrected"])
    return {"shares": every.tolist(), "unrelated": unrelated.tolist()}


def _widths_table(contest: Contest, shares: Mapping[str, Mapping[str, Shares | None]]) -> Table:
    """Return how much variance lies beyond two private dimensions, and how much has nothing to do with the angle."""
    rows = []
    for method, by_width in shares.items():
        for width, one in by_width.items():
            cells = [NOT_AVAILABLE, NOT_AVAILABLE]
            if one is not None:
                cells = [f"{100 * sum(one['shares'][2:]):.2f}", f"{100 * sum(one['unrelated']):.2f}"]
            rows.append([method, width, *cells])
    heads = ["method", "private width", "variance beyond two dimensions, %", "variance unrelated to the angle, %"]
    note = f"Seed {contest.seeds[0]}, test digits. The angle needs two dimensions."
    return Table("Extra private dimensions", heads, rows, note)


def _draw(contest: Contest, folder: Path, done: Done) -> None:
    """Write all figures, from what the first seed left."""
    seed, quick = contest.seeds[0], contest.options.quick
    fit = contest.splice(seed)
    own = seen_of(done, f"{fit}, judged")
    test = contest.load(seed).rows("test")
    splice = Seen(own.values, {**own.arrays, **pictures(load_fit(done.whole(fit)), test)})
    for run in RUNS:
        seen = {"splice": splice, **seen_rivals(contest, done, [run])}
        _spaces({name: _embedded(one) for name, one in seen.items()}, folder / f"baselines_latents_{run}.png", quick)
    makers = {"splice": splice, **seen_rivals(contest, done, private=True)}
    _compositions(makers, folder / "baselines_composed.png", quick)


def _embedded(seen: Seen) -> Seen:
    """Return the same with the shared latents in a plane, by t-SNE."""
    if "shared" not in seen.arrays:
        return seen
    shared = seen.arrays["shared"]
    plane = TSNE(perplexity=min(30.0, len(shared) / 4), random_state=0).fit_transform(shared)
    return Seen(seen.values, {**seen.arrays, "plane": plane})


def _spaces(seen: Mapping[str, Seen], path: Path, quick: bool) -> None:
    def column(name: str, one: Seen) -> list[Space]:
        angle, digit = one.values.get("angle_variance"), one.values.get("digit_accuracy", {}).get("B->A")
        labels = [name if angle is None else f"{name}: {angle:.1%}", name if digit is None else f"{name}: {digit:.1%}"]
        return [
            one.space("private", "corrected", "angle (degrees)", label=labels[0], kind="circular"),
            one.space("plane", "shared_digit", "digit", label=labels[1], kind="categorical"),
        ]

    title = (
        "Top: private space, with its variance by angle. Bottom: t-SNE of s_(B->A), with the accuracy of a linear "
        "classifier. Test digits"
    )
    draw_side_by_side(seen, column, path, quick=quick, title=title)


def _extra_dimensions(shares: Mapping[str, Mapping[int, Shares | None]], path: Path, quick: bool) -> None:
    axes = panels(len(shares), len(WIDTHS), size=(2.1, 1.7))
    for row, (method, by_width) in enumerate(shares.items()):
        for column, (width, one) in enumerate(by_width.items()):
            ax = axes[row * len(WIDTHS) + column]
            if one is None:
                show_text(ax, NOT_AVAILABLE, title="")
                continue
            ax.bar(np.arange(1, width + 1), one["shares"], color=PALETTE[0], label="by the angle")
            ax.bar(np.arange(1, width + 1), one["unrelated"], color=PALETTE[1], label="unrelated to it")
            ax.set(ylim=(0, 1))
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            ax.set_title(f"{sum(one['unrelated']):.1%} unrelated", fontsize="small")
            if row == len(shares) - 1:
                ax.set_xlabel(f"dimension of {width}", fontsize="small")
        axes[row * len(WIDTHS)].set_ylabel(method, fontsize="small")
    axes[len(WIDTHS) - 1].legend(fontsize="x-small")
    title = (
        "Share of variance of each principal private dimension, and what of it is unrelated to the angle, test digits"
    )
    save(axes[0], path, quick=quick, title=title)


def _compositions(seen: Mapping[str, Seen], path: Path, quick: bool) -> None:
    axes = panels(1, len(seen), size=(3.0, 3.2))
    for ax, (name, one) in zip(axes, seen.items(), strict=True):
        if "composed" in one.arrays:
            show_images(ax, one.arrays["composed"], n_columns=N_COMPOSED + 1, title=name)
        else:
            show_text(ax, NOT_AVAILABLE, title=name)
    title = "Identity of the left column, angle of the top row, test digits"
    save(axes[0], path, quick=quick, title=title)
