"""Rotated Sprites: the character is shared, each view has an angle of its own; test characters are new."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.config import TrainConfig
from viewsplice.datasets import MultiViewData, rotated_sprites
from viewsplice.estimator import SPLICE
from viewsplice.experiments.contest import FULL, STEP1, Contest
from viewsplice.experiments.drawing import panels, save, show_images
from viewsplice.experiments.fits import Model, Options, fit_part, load_fit, stand_beside
from viewsplice.experiments.pages import Shown
from viewsplice.experiments.parts import ARRAYS, Done, Part, hash_of, read_arrays, read_values, write_values
from viewsplice.experiments.results import Result, Summary, Table, spread
from viewsplice.experiments.sprites_rivals import rival_parts, rival_summary, sprites_contest
from viewsplice.metrics import (
    ring_ratio,
    sd_explained_by_angle,
    sd_explained_by_label,
    variance_explained_by_angle,
    variance_explained_by_label,
)
from viewsplice.plotting import latent_scatter, reconstruction_plot

NAME = "sprites"
SEEDS = (0, 1, 2)
_N_FEATURES = 64 * 64 * 3
_SIZES = {"n_train": 20_000, "n_validation": 5_000, "n_test": 5_000}
_SIZES_QUICK = {"n_train": 400, "n_validation": 100, "n_test": 200}
# The paper has 500 shared dimensions: characters need far fewer (by the recipe's own rule, 5), and what is left of 500
# differs within a character. Step 1 alone has no geometry to lay out a narrow space with, and gets more. Without scout
# and regression its 60 passes are still fewer than the 90 of both steps; it begins slowly, since a ring that two
# dimensions learn at a high rate from the start tears.
_PARAMS: dict[str, Any] = {"n_shared": 6, "n_private": 2}
_SLOWLY = TrainConfig(epochs=60, learning_rate=1e-3, warmup=0.3)
_STEP1: dict[str, Any] = {"n_shared": 16, "n_private": 2, "geometry": None, "training": _SLOWLY}
_SPACES = {"A": "A->B", "B": "B->A"}
_PERCENT = {
    "angle_variance": "variance by angle, %",
    "angle_sd": "SD by angle, %",
    "id_variance": "variance by identity, %",
    "id_sd": "SD by identity, %",
}


def parts(options: Options) -> list[Part]:
    """Return both fits of every seed, each judged; then the figures of the first seed."""
    found: list[Part] = []
    for seed in options.seeds:
        found += _pair(seed, FULL, _PARAMS, options, minutes=30)
        found += _pair(seed, STEP1, _STEP1, options, minutes=12)
    drawn = {part.name: part.folder for part in found[: len(found) // len(options.seeds)]}  # of the first seed
    shown = {"figures": 1, "quick": options.quick, "fits": drawn}
    others = rival_parts(_contest(options), found) if options.baselines else []
    return [*found, Part("figures", shown, partial(_draw, options), 1), *others]


def _contest(options: Options) -> Contest:
    return sprites_contest(
        options, partial(_data, options.quick, options.data), partial(_settings, options), judge, _PARAMS
    )


def shown(options: Options) -> list[Shown]:
    """Return the fit that gets a page."""
    first = options.seeds[0]
    return [Shown(f"seed {first}: {FULL}", partial(_data, options.quick, options.data, first), "Rotated Sprites")]


@lru_cache(maxsize=1)
def _data(quick: bool, data: Path | None, seed: int) -> MultiViewData:
    return rotated_sprites(*(_SIZES_QUICK if quick else _SIZES).values(), data=data, random_state=seed)


def _settings(options: Options, seed: int) -> dict[str, Any]:
    sizes = _SIZES_QUICK if options.quick else _SIZES
    return {"data": "rotated_sprites", "seed": seed, "n_features": _N_FEATURES, **sizes}


def _pair(seed: int, name: str, params: dict[str, Any], options: Options, *, minutes: float) -> list[Part]:
    """Return the part that fits and the part that judges the fit."""
    settings, load = _settings(options, seed), partial(_data, options.quick, options.data, seed)
    fit = fit_part(f"seed {seed}: {name}", load, settings, {**params, "random_state": seed}, options, minutes=minutes)

    def work(folder: Path, done: Done) -> None:
        write_values(folder, *judge(load_fit(done.whole(fit.name)), load()))

    return [fit, Part(f"{fit.name}, judged", {"judge": 1, "fit": fit.settings}, work, 1, heavy=(ARRAYS,))]


def judge(model: Model, data: MultiViewData) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the figures of a fit on pairs of new characters, and arrays for pictures.

    Figures of a space that has collapsed are left out.
    """
    test = data.rows("test")
    latents = model.transform(test.views).spaces()
    identity = test.shared["character"]
    beside = stand_beside(model, test, latents)
    values: dict[str, Any] = {name: {} for name in (*_PERCENT, "ring_ratio")}
    for view, shared in _SPACES.items():
        angle = test.private[view]["angle"]
        if view not in beside["collapsed"]:
            values["angle_variance"][view] = variance_explained_by_angle(latents[view], angle)
            values["angle_sd"][view] = sd_explained_by_angle(latents[view], angle)
            values["ring_ratio"][view] = ring_ratio(latents[view])
        if shared not in beside["collapsed"]:
            values["id_variance"][view] = variance_explained_by_label(latents[shared], identity)
            values["id_sd"][view] = sd_explained_by_label(latents[shared], identity)
    arrays = {view: latents[view] for view in _SPACES} | {f"{v}/angle": test.private[v]["angle"] for v in _SPACES}
    return {**values, **beside}, arrays


def _draw(options: Options, folder: Path, done: Done) -> None:
    seed = options.seeds[0]
    test = _data(options.quick, options.data, seed).rows("test")
    model = load_fit(done.whole(f"seed {seed}: {FULL}"))
    _examples(model, test, folder, options.quick)
    axes = panels(2, 2, size=(3.8, 3.2))
    for row, name in enumerate((STEP1, FULL)):
        judged = done.whole(f"seed {seed}: {name}, judged")
        arrays, values = read_arrays(judged), read_values(judged)
        for column, view in enumerate(_SPACES):
            latent_scatter(
                arrays[view],
                color=arrays[f"{view}/angle"],
                kind="circular",
                label=f"{name}, z_{view}: {values['angle_variance'][view]:.2%} by angle",
                color_label="angle (degrees)",
                ax=axes[2 * row + column],
            )
    save(
        axes[0],
        folder / "private.png",
        quick=options.quick,
        title="Private spaces before and after geometry, test pairs",
    )


def _examples(model: SPLICE, test: MultiViewData, folder: Path, quick: bool) -> None:
    views = test.views[np.arange(min(len(test), 64))]
    rebuilt = model.reconstruct(views)
    axes = panels(2, 1, size=(7.5, 2.1))
    for ax, view in zip(axes, views.names, strict=True):
        reconstruction_plot(views[view], rebuilt[view], label=f"view {view}", ax=ax)
    save(
        axes[0], folder / "reconstructions.png", quick=quick, title="Pairs of new characters and their reconstructions"
    )
    rows = np.arange(8)
    made = model.recombine(views, shared=np.repeat(rows, len(rows)), private=np.tile(rows, len(rows)))["A"]
    grid = [np.zeros(views["A"].shape[1:]), *views["A"][rows]]
    for row in rows:
        grid += [test.details["upright"][test.shared["character"][row]], *made[8 * row : 8 * row + 8]]
    axes = panels(1, 1, size=(6.4, 6.6))
    show_images(axes[0], np.clip(grid, 0, 1), n_columns=len(rows) + 1)
    title = "Character of the left column (never seen in training), angle of the top row"
    save(axes[0], folder / "composed.png", quick=quick, title=title)


def summarize(done: Done, options: Options) -> Summary:
    """Return the paper's figures for both methods, and a table."""
    results = []
    for seed in options.seeds:
        for method, name in (("splice", FULL), ("splice-step1", STEP1)):
            results += _results(done, seed, name, method)
    others = rival_summary(_contest(options), done, results) if options.baselines else Summary([])
    return Summary([*results, *others.results], [_table(done, options), *others.tables])


def _judged(done: Done, seed: int, name: str) -> dict[str, Any]:
    values = read_values(done[f"seed {seed}: {name}, judged"])
    if values["collapsed"]:
        raise ValueError(f"seed {seed}, {name}: spaces {values['collapsed']} of SPLICE have collapsed; expected rings")
    return values


def _results(done: Done, seed: int, name: str, method: str) -> list[Result]:
    values = _judged(done, seed, name)
    code = hash_of(done[f"seed {seed}: {name}"])
    numbers = {f"r2_{view}": values["reconstruction_r2"][view] for view in _SPACES}
    numbers |= {f"{metric}_{view}": 100 * values[metric][view] for metric in _PERCENT for view in _SPACES}
    return [Result(NAME, method, metric, value, seed, values["rows"], code) for metric, value in numbers.items()]


def _table(done: Done, options: Options) -> Table:
    rows, seeds = [], options.seeds
    for name in (STEP1, FULL):
        values = [_judged(done, seed, name) for seed in seeds]
        cells = [
            " / ".join(spread([v["reconstruction_r2"][view] for v in values]) for view in _SPACES),
            *(
                " / ".join(spread([100 * v[metric][view] for v in values], 2) for view in _SPACES)
                for metric in _PERCENT
            ),
            " / ".join(spread([v["ring_ratio"][view] for v in values], 1) for view in _SPACES),
            " / ".join(spread([v["spread"][view] for v in values], 2) for view in _SPACES),
        ]
        rows.append([name, *cells])
    note = (
        f"Pairs of characters that training never saw, views A / B, mean ± SD over seeds {', '.join(map(str, seeds))}. "
        "A perfect ring has 99.99 % variance and 99.09 % SD by angle: windows are 2 degrees wide. Shared spaces have "
        f"{_PARAMS['n_shared']} dimensions, for Step 1 alone {_STEP1['n_shared']}; in the paper 500."
    )
    if not options.quick:
        note += (
            f" Step 1 alone makes {_SLOWLY.epochs} passes at a rate of {_SLOWLY.learning_rate:g}, reached in the first "
            f"{_SLOWLY.warmup:.0%} of them."
        )
    heads = ["fit", "reconstruction R²", *_PERCENT.values(), "longest H1 bar / second", "spread of z"]
    return Table("Reconstruction, angle and identity", heads, rows, note)
