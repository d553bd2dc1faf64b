"""Rotated MNIST: the digit is shared, the angle private; is the private space the ring of angles and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.config import GeometryConfig
from viewsplice.datasets import MultiViewData, rotated_mnist
from viewsplice.datasets.rotation import rotate_images
from viewsplice.experiments.contest import FULL, STEP1, Contest
from viewsplice.experiments.fits import Model, Options, fit_part, load_fit, stand_beside
from viewsplice.experiments.pages import Shown
from viewsplice.experiments.parts import ARRAYS, Done, Part, hash_of, read_values, write_values
from viewsplice.experiments.results import Result, Summary, Table, p_values, spread
from viewsplice.experiments.rotated_mnist_figures import FACTORS, WIDTHS, draw, factor_name, width_name
from viewsplice.experiments.rotated_mnist_rivals import mnist_contest, rival_parts, rival_summary
from viewsplice.metrics import (
    align_angles,
    angle_shifts,
    chance_accuracy,
    circular_columns,
    covariance_spectrum,
    knn_accuracy,
    knn_r2,
    linear_svc_accuracy,
    on_manifold,
    ring_ratio,
    variance_explained_by_angle,
)
from viewsplice.networks import ConvNetworks
from viewsplice.recipes.settings import auto_geometry

NAME = "rotated-mnist"
SEEDS = (0, 1, 2, 3, 4)
CONV = "convolutional"
GRID = np.arange(0, 360, 3)
_N_QUICK = 840
_N_ANCHORS, _N_PROJECTED, _N_REAL = 10, 500, 5_000
_LAMBDA = auto_geometry(50_000, {}).lambda_geo
_PARAMS: dict[str, Any] = {"n_shared": 30, "n_private": (0, 2)}


def parts(options: Options) -> list[Part]:
    """Return both fits of every seed, each judged; for the first seed also the sweeps, projections and figures."""
    found: list[Part] = []
    for seed in options.seeds:
        found += _pair(seed, FULL, _PARAMS, options, minutes=4.5)
        found += _pair(seed, STEP1, {**_PARAMS, "geometry": None}, options, minutes=2)
    first = options.seeds[0]
    for factor in FACTORS:
        if factor != 1:
            geometry = GeometryConfig(lambda_geo=factor * _LAMBDA)
            found += _pair(first, factor_name(factor), {**_PARAMS, "geometry": geometry}, options, minutes=4.5)
    for width in WIDTHS:
        if width != 2:
            found += _pair(first, width_name(width), {**_PARAMS, "n_private": (0, width)}, options, minutes=4.5)
    found += _pair(first, CONV, {**_PARAMS, "networks": ConvNetworks()}, options, minutes=45)
    fits = {part.name: part.folder for part in found}
    found.append(Part("projections", {"projections": 1, "fits": fits}, partial(_project, options), 1, heavy=(ARRAYS,)))
    shown = {"figures": 1, "quick": options.quick, "fits": fits}
    others = rival_parts(_contest(options), found) if options.baselines else []
    return [*found, Part("figures", shown, partial(_draw, options), 1.5), *others]


def _contest(options: Options) -> Contest:
    return mnist_contest(options, partial(_load, options), partial(_settings, options), judge, _PARAMS)


def shown(options: Options) -> list[Shown]:
    """Return the fit that gets a page."""
    first = options.seeds[0]
    return [Shown(f"seed {first}: {FULL}", partial(_load, options, first), "Rotated MNIST")]


@lru_cache(maxsize=1)
def _data(n_samples: int | None, data: Path | None, seed: int) -> MultiViewData:
    return rotated_mnist(n_samples, data=data, random_state=seed)


def _settings(options: Options, seed: int) -> dict[str, Any]:
    return {"data": "rotated_mnist", "n_samples": _N_QUICK if options.quick else 70_000, "seed": seed}


def _load(options: Options, seed: int) -> MultiViewData:
    return _data(_N_QUICK if options.quick else None, options.data, seed)


def _pair(seed: int, name: str, params: dict[str, Any], options: Options, *, minutes: float) -> list[Part]:
    """Return the part that fits and the part that judges the fit."""
    settings, load = _settings(options, seed), partial(_load, options, seed)
    fit = fit_part(f"seed {seed}: {name}", load, settings, {**params, "random_state": seed}, options, minutes=minutes)

    def work(folder: Path, done: Done) -> None:
        write_values(folder, *judge(load_fit(done.whole(fit.name)), load()))

    return [fit, Part(f"{fit.name}, judged", {"judge": 1, "fit": fit.settings}, work, 0.8, heavy=(ARRAYS,))]


def judge(model: Model, data: MultiViewData) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the figures of a fit on test digits, and arrays for pictures: probes learn from training digits.

    Figures of the private space are left out where there is none, or where it has collapsed.
    """
    train, test = data.rows("train"), data.rows("test")
    before, after = model.transform(train.views).spaces(), model.transform(test.views).spaces()
    digits, truth = train.shared["digit"], test.shared["digit"]
    angles = [circular_columns(part.private["B"]["angle"]) for part in (train, test)]
    values = {
        "digit_accuracy": {
            space: linear_svc_accuracy(before[space], digits, after[space], truth) for space in ("B->A", "A->B")
        },
        "digit_by_chance": chance_accuracy(digits, truth),
        "angle_from_shared": {
            space: float(knn_r2(before[space], angles[0], after[space], angles[1]).mean()) for space in ("B->A", "A->B")
        },
        **stand_beside(model, test, after),
    }
    arrays = {"private": after["B"], "angle": test.private["B"]["angle"], "digit": truth}
    if not after["B"].shape[1] or "B" in values["collapsed"]:
        return values, arrays
    values["digit_from_private"] = knn_accuracy(before["B"], digits, after["B"], truth)
    more = _judge_angle(model, test, after["B"])
    return {**values, **more[0]}, {**arrays, **more[1]}


def _judge_angle(model: Model, test: MultiViewData, z: Array) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the figures and arrays of a private space that has dimensions."""
    turned = [model.transform({"B": rotate_images(test.views["A"], float(angle))}).private["B"] for angle in GRID]
    curves = np.stack(turned, axis=1)  # (digits, angles, dimensions)
    shifts = angle_shifts(curves)
    corrected = align_angles(test.private["B"]["angle"], shifts)
    values = {
        "angle_variance": variance_explained_by_angle(z, corrected),
        "ring_ratio": ring_ratio(z),
        "private_spectrum": covariance_spectrum(z),
    }
    return values, {"corrected": corrected, "curves": curves[:40], "shifts": shifts[:40]}


def _project(options: Options, folder: Path, done: Done) -> None:
    """Compare projections, the other spaces held at a few test digits, with the test digits themselves."""
    seed = options.seeds[0]
    model, test = load_fit(done.whole(f"seed {seed}: {FULL}")), _load(options, seed).rows("test")
    rows = np.random.default_rng(0).permutation(len(test))
    points, real = test.views[np.sort(rows[:_N_PROJECTED])], rows[:_N_REAL]
    n_anchors = min(_N_ANCHORS, len(points))
    values: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    for space, view in (("B", "B"), ("A->B", "B"), ("B->A", "A")):
        made = np.concatenate([model.project(points, vary=space, anchor=anchor) for anchor in range(n_anchors)])
        found = on_manifold(made, test.views[view][real], test.shared["digit"][real])
        values[space] = {
            "closer_than_within_class": found.closer,
            "within_class": found.within_class,
            "made": float(np.median(found.made)),
            "real": float(np.median(found.real)),
        }
        arrays |= {f"{space}/made": found.made, f"{space}/real": found.real}
    write_values(folder, values, arrays)


def _draw(options: Options, folder: Path, done: Done) -> None:
    seed = options.seeds[0]
    names = [FULL, STEP1, *(factor_name(f) for f in FACTORS if f != 1)]
    judged = {name: done.whole(f"seed {seed}: {name}, judged") for name in names}
    # Of the other widths values are drawn, no arrays.
    judged |= {width_name(w): done[f"seed {seed}: {width_name(w)}, judged"] for w in WIDTHS if w != 2}
    draw(
        folder,
        load_fit(done.whole(f"seed {seed}: {FULL}")),
        _load(options, seed).rows("test"),
        judged,
        done.whole("projections"),
        quick=options.quick,
    )


def summarize(done: Done, options: Options) -> Summary:
    """Return the paper's figures, and tables of seeds, sweeps, what leaks, and projections."""
    first, results = options.seeds[0], []
    for seed in options.seeds:
        results += _results(done, seed, FULL, "splice", ["angle_variance", "digit_accuracy"])
        results += _results(done, seed, STEP1, "splice-step1", ["angle_variance", "digit_accuracy"])
    for factor in FACTORS:
        name = FULL if factor == 1 else factor_name(factor)
        results += _results(done, first, name, "splice", ["angle_variance"], suffix=f"_lambda_{factor:g}x")
    results += _results(done, first, CONV, "splice", ["angle_variance"], suffix="_conv")
    tables = [
        _seeds_table(done, options.seeds),
        _sweep_table(done, first),
        _widths_table(done, first),
        _projections_table(done),
    ]
    others = rival_summary(_contest(options), done, results) if options.baselines else Summary([])
    return Summary([*results, *others.results], [*tables, *others.tables])


def _judged(done: Done, seed: int, name: str) -> dict[str, Any]:
    values = read_values(done[f"seed {seed}: {name}, judged"])
    if "angle_variance" not in values:
        raise ValueError(f"seed {seed}, {name}: the private space of SPLICE has collapsed; expected the ring of angles")
    return values


def _results(done: Done, seed: int, name: str, method: str, metrics: Sequence[str], suffix: str = "") -> list[Result]:
    values = _judged(done, seed, name)
    numbers = {"angle_variance": values["angle_variance"], "digit_accuracy": values["digit_accuracy"]["B->A"]}
    code = hash_of(done[f"seed {seed}: {name}"])
    return [Result(NAME, method, f"{m}{suffix}", 100 * numbers[m], seed, values["rows"], code) for m in metrics]


def _seeds_table(done: Done, seeds: Sequence[int]) -> Table:
    rows = []
    found = {name: [_judged(done, seed, name) for seed in seeds] for name in (STEP1, FULL)}
    for name, values in found.items():
        rows.append(
            [
                name,
                spread([100 * v["angle_variance"] for v in values], 2),
                spread([100 * v["digit_accuracy"]["B->A"] for v in values], 2),
                spread([v["ring_ratio"] for v in values], 1),
                spread([100 * v["digit_from_private"] for v in values], 1),
                spread([v["angle_from_shared"]["B->A"] for v in values], 3),
                spread([v["reconstruction_r2"]["A"] for v in values], 3),
                spread([v["reconstruction_r2"]["B"] for v in values], 3),
            ]
        )
    chance = 100 * found[FULL][0]["digit_by_chance"]
    p = p_values(*([v["angle_variance"] for v in found[name]] for name in (STEP1, FULL)))
    note = (
        f"Test digits, mean ± SD over seeds {', '.join(map(str, seeds))}. Variance by angle, Step 1 against both "
        f"steps: {p}. Digit from private: majority of 20 neighbors; chance is {chance:.1f} %. Angle from shared: R² of "
        "its cosine and sine by 10 neighbors."
    )
    heads = ["fit", "variance by angle, %", "digit accuracy, %", "longest H1 bar / second", "digit from private, %"]
    return Table("Seeds", [*heads, "angle from s_{B->A}, R²", "R² A", "R² B"], rows, note)


def _sweep_table(done: Done, seed: int) -> Table:
    rows = []
    for factor in FACTORS:
        v = _judged(done, seed, FULL if factor == 1 else factor_name(factor))
        rows.append([f"{factor:g} x", f"{100 * v['angle_variance']:.2f}", f"{100 * v['digit_accuracy']['B->A']:.2f}"])
    v = _judged(done, seed, CONV)
    rows.append(["1 x, convolutional", f"{100 * v['angle_variance']:.2f}", f"{100 * v['digit_accuracy']['B->A']:.2f}"])
    heads = ["lambda_geo", "variance by angle, %", "digit accuracy, %"]
    return Table("Weight of geometry, and convolutions", heads, rows, f"Seed {seed}, test digits.")


def _widths_table(done: Done, seed: int) -> Table:
    rows = []
    for width in WIDTHS:
        v = _judged(done, seed, FULL if width == 2 else width_name(width))
        shares = np.array(v["private_spectrum"]) / np.sum(v["private_spectrum"])
        rows.append([width, f"{100 * shares[:2].sum():.2f}", " ".join(f"{100 * s:.2f}" for s in shares)])
    heads = ["private width", "variance in two dimensions, %", "variance of each principal dimension, %"]
    return Table("Private width", heads, rows, f"Seed {seed}, test digits. The angle needs two dimensions.")


def _projections_table(done: Done) -> Table:
    rows = [
        [
            space,
            f"{v['made']:.2f}",
            f"{v['real']:.2f}",
            f"{v['within_class']:.2f}",
            f"{100 * v['closer_than_within_class']:.1f}",
        ]
        for space, v in read_values(done["projections"]).items()
    ]
    heads = ["space varied", "projection to nearest digit", "digit to nearest digit", "mean within a class"]
    note = "Distances between images, medians, test digits only."
    return Table("Projections lie on the manifold", [*heads, "closer than within a class, %"], rows, note)
