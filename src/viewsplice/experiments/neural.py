"""Real recordings of two areas: what one tells of the other on new trials, in how many dimensions, and what it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.baselines import RRR
from viewsplice.counts import square_root
from viewsplice.datasets import MultiViewData, steinmetz, v1_v2
from viewsplice.estimator import SPLICE
from viewsplice.experiments.contest import Contest, contest_rounds, entries
from viewsplice.experiments.curves import curve_parts, curves_table, draw_curves, read_curves, ridge_parts, ridges_table
from viewsplice.experiments.drawing import save
from viewsplice.experiments.fits import Options, fit_part, load_fit, stand_beside
from viewsplice.experiments.neural_figures import draw_latents, draw_prediction
from viewsplice.experiments.neural_rivals import METRIC, recording_contest, rival_summary, told, trials_of
from viewsplice.experiments.nulls import decoding_null
from viewsplice.experiments.pages import Shown
from viewsplice.experiments.parts import ARRAYS, Done, Part, hash_of, read_arrays, read_values, write_values
from viewsplice.experiments.results import Result, Summary, Table, spread

NAME = "neural"
SEEDS = (0, 1, 2)
_WIDTHS, _WIDTHS_QUICK = (1, 2, 3, 4, 6), (1, 2)
_N_SHUFFLES, _N_SHUFFLES_QUICK = 200, 19
_N_TRIALS_QUICK = 60


@dataclass(frozen=True)
class Recording:
    """A recording: its name, what it is, how it is loaded, and what is decoded from the latents."""

    name: str
    about: str
    loader: str
    covariates: tuple[str, ...]
    is_scanned: bool = True


RECORDINGS = (
    Recording(
        "hippocampus-prefrontal",
        "Steinmetz et al. 2019, 50 ms bins, square root of counts",
        "steinmetz",
        ("contrast_difference", "contrast_left", "contrast_right", "feedback", "time"),
    ),
    Recording("V1-V2, mDLAG sample", "Gokcen et al. 2023, 100 ms bins, residuals", "mdlag v2", ("bin",)),
    Recording("V1-V2, Semedo sample", "Semedo et al. 2019, residuals", "semedo v2", ("bin",)),
    Recording("V1-V1, Semedo sample", "the same, two groups of V1 neurons", "semedo v1", ("bin",), is_scanned=False),
)


def parts(options: Options) -> list[Part]:
    """Return fits of every recording and seed, each judged; scans of the first seed; figures."""
    found: list[Part] = []
    for recording in RECORDINGS:
        for seed in options.seeds:
            found += _pair(recording, seed, options)
        if recording.is_scanned:
            first = options.seeds[0]
            found += curve_parts(
                partial(_data, recording.loader, options.data, options.quick, first),
                _settings(recording, first, options),
                options,
                widths=_widths(options),
                params={"random_state": first},
                minutes=0.6,
                prefix=f"{recording.name}: ",
                ridge=None,
            )
    shown = {"figures": 1, "quick": options.quick, "fits": {part.name: part.folder for part in found}}
    figures = Part("figures", shown, partial(_draw, options), 0.5)
    return [*found, figures, *(_rival_parts(options, found) if options.baselines else [])]


def _contests(options: Options) -> dict[str, Contest]:
    """Return what linear baselines are to do, by recording."""
    return {
        recording.name: recording_contest(
            recording.name,
            options,
            partial(_data, recording.loader, options.data, options.quick),
            partial(_settings, recording, options=options),
            _n_shuffles(options),
        )
        for recording in RECORDINGS
    }


def _rival_parts(options: Options, fits: Sequence[Part]) -> list[Part]:
    contests = _contests(options)
    found = [part for contest in contests.values() for one in contest_rounds(contest) for part in one]
    for recording in _scanned():
        load = partial(_data, recording.loader, options.data, options.quick, options.seeds[0])
        found += ridge_parts(load, _settings(recording, options.seeds[0], options), f"{recording.name}: ")
    shown = {"figures": 1, "quick": options.quick, "fits": {part.name: part.folder for part in (*fits, *found)}}
    return [*found, Part("baselines: figures", shown, partial(_draw_rivals, options), 0.5)]


def _scanned() -> list[Recording]:
    return [recording for recording in RECORDINGS if recording.is_scanned]


def _n_shuffles(options: Options) -> int:
    return _N_SHUFFLES_QUICK if options.quick else _N_SHUFFLES


def shown(options: Options) -> list[Shown]:
    """Return the fits that get a page: the first seed of every recording."""
    first = options.seeds[0]
    return [
        Shown(
            f"{recording.name}: seed {first}",
            partial(_data, recording.loader, options.data, options.quick, first),
            recording.name,
        )
        for recording in RECORDINGS
    ]


def _widths(options: Options) -> tuple[int, ...]:
    return _WIDTHS_QUICK if options.quick else _WIDTHS


def _settings(recording: Recording, seed: int, options: Options) -> dict[str, Any]:
    return {"data": recording.loader, "seed": seed, "n_trials": _N_TRIALS_QUICK if options.quick else "all"}


@lru_cache(maxsize=1)
def _data(loader: str, data: Path | None, quick: bool, seed: int) -> MultiViewData:
    if loader == "steinmetz":
        found = steinmetz(data, random_state=seed)
        found = replace(found, views=square_root(found.views))
    else:
        sample, target = loader.split()
        found = v1_v2(data, sample=sample, target=target, random_state=seed)
    return _first_trials(found, _N_TRIALS_QUICK) if quick else found


def _first_trials(data: MultiViewData, n_trials: int) -> MultiViewData:
    """Return the rows of a few trials of every part."""
    trial = trials_of(data)
    kept = []
    for part, share in (("train", 0.6), ("validation", 0.2), ("test", 0.2)):
        trials = np.unique(trial[data.split[part]])[: max(2, round(share * n_trials))]
        kept.append(data.split[part][np.isin(trial[data.split[part]], trials)])
    rows = np.sort(np.concatenate(kept))
    return data.take(rows, {part: np.searchsorted(rows, own) for part, own in zip(data.split, kept, strict=True)})


def _pair(recording: Recording, seed: int, options: Options) -> list[Part]:
    """Return the part that fits, all widths found, and the part that judges the fit and RRR."""
    load = partial(_data, recording.loader, options.data, options.quick, seed)
    name = f"{recording.name}: seed {seed}"
    params = {"random_state": seed}
    fit = fit_part(name, load, _settings(recording, seed, options), params, options, minutes=0.6)
    n_shuffles = _n_shuffles(options)

    def work(folder: Path, done: Done) -> None:
        write_values(folder, *judge(load_fit(done.whole(fit.name)), load(), recording.covariates, n_shuffles, seed))

    settings = {"judge": 1, "fit": fit.settings, "shuffles": n_shuffles}
    return [fit, Part(f"{name}, judged", settings, work, 0.4, heavy=(ARRAYS,))]


def judge(
    model: SPLICE, data: MultiViewData, covariates: Sequence[str], n_shuffles: int, seed: int
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what the areas tell of each other and what the latents tell of covariates, on test trials."""
    train, test = data.rows("train"), data.rows("test")
    trials = trials_of(train), trials_of(test)
    generator = np.random.default_rng(seed)
    views, validation = data.training()
    linear = RRR(ridge="auto", random_state=seed).fit(views, validation=validation)
    prediction: dict[str, Any] = {}
    for method, fitted in (("SPLICE", model), ("RRR", linear)):
        seen = told(fitted, test, n_shuffles, generator)
        prediction |= {f"{method}: {arrow}": found for arrow, found in seen.items()}
    before, after = model.transform(train.views).spaces(), model.transform(test.views).spaces()
    decoded = {}
    for space, z in before.items():
        for name in covariates if z.shape[1] else ():
            y = (train.covariates[name].astype(np.float64), test.covariates[name].astype(np.float64))
            pair = (z, after[space])
            found = decoding_null(pair, y, trials, n_shuffles=n_shuffles, generator=generator)
            decoded[f"{space}: {name}"] = asdict(found)
    values = {"prediction": prediction, "decoding": decoded, "ranks": linear.n_shared_, "notes": model.notes_}
    arrays = {f"space/{space}": z for space, z in after.items() if z.shape[1]}
    arrays |= {f"covariate/{name}": test.covariates[name] for name in covariates}
    return {**values, **stand_beside(model, test, after)}, arrays


def _draw(options: Options, folder: Path, done: Done) -> None:
    first = options.seeds[0]
    for recording in RECORDINGS:
        slug = recording.loader.replace(" ", "_")
        judged = [done[f"{recording.name}: seed {seed}, judged"] for seed in options.seeds]
        ax = draw_prediction([read_values(part)["prediction"] for part in judged])
        save(ax, folder / f"{slug}_prediction.png", quick=options.quick, title=f"{recording.name}: test trials")
        shown = done.whole(f"{recording.name}: seed {first}, judged")
        ax = draw_latents(read_arrays(shown))
        save(ax, folder / f"{slug}_latents.png", quick=options.quick, title=f"{recording.name}: test trials")
        if recording.is_scanned:
            curves = read_curves(done, _widths(options), f"{recording.name}: ")
            title = f"{recording.name}: held-out folds of trials"
            save(draw_curves(curves), folder / f"{slug}_dimensions.png", quick=options.quick, title=title)


def _draw_rivals(options: Options, folder: Path, done: Done) -> None:
    for recording, contest in zip(RECORDINGS, _contests(options).values(), strict=True):
        fits = entries(contest, done)
        merged = []
        for number, seed in enumerate(contest.seeds):
            known = read_values(done[f"{recording.name}: seed {seed}, judged"])["prediction"]
            seen = {key: value for key, value in known.items() if key.startswith("SPLICE")}
            for method, values in fits.items():
                seen |= {f"{method}: {arrow}": v for arrow, v in values[number]["prediction"].items()}
            merged.append(seen)
        path = folder / f"baselines_{recording.loader.replace(' ', '_')}_prediction.png"
        save(draw_prediction(merged), path, quick=options.quick, title=f"{recording.name}: test trials")


def summarize(done: Done, options: Options) -> Summary:
    """Return prediction R² as rows, and tables that answer the questions, negative answers too."""
    results: list[Result] = []
    tables = [_prediction_table(done, options.seeds)]
    for recording in RECORDINGS:
        for seed in options.seeds:
            results += _results(done, recording, seed)
        if recording.is_scanned:
            curves = read_curves(done, _widths(options), f"{recording.name}: ")
            tables.append(curves_table(curves, f"{recording.name}: shared dimensions needed"))
        tables.append(_decoding_table(done, recording, options.seeds))
    others = rival_summary(_contests(options), done, results) if options.baselines else Summary([])
    ranks = [ridges_table(done, f"{recording.name}: ") for recording in _scanned() if options.baselines]
    return Summary([*results, *others.results], [*tables, *others.tables, *ranks])


def _results(done: Done, recording: Recording, seed: int) -> list[Result]:
    fit = f"{recording.name}: seed {seed}"
    values = read_values(done[f"{fit}, judged"])
    code = hash_of(done[fit])
    rows = []
    for key, found in values["prediction"].items():
        method, arrow = key.split(": ")
        metric = f"{METRIC} {recording.name} {arrow}"
        rows.append(Result(NAME, method.lower(), metric, found["score"], seed, values["rows"], code))
    return rows


def _prediction_table(done: Done, seeds: Sequence[int]) -> Table:
    rows = []
    for recording in RECORDINGS:
        values = [read_values(done[f"{recording.name}: seed {seed}, judged"]) for seed in seeds]
        for key in values[0]["prediction"]:
            method, arrow = key.split(": ")
            found = [v["prediction"][key] for v in values]
            widths = [(v["widths"] if method == "SPLICE" else v["ranks"])[arrow] for v in values]
            rows.append(
                [
                    f"{recording.name} ({recording.about})",
                    arrow,
                    method,
                    spread([f["score"] for f in found], 3),
                    spread([f["null_mean"] for f in found], 3),
                    f"{max(f['p'] for f in found):.3g}",
                    ", ".join(map(str, widths)),
                ]
            )
    heads = ["recording", "arrow", "method", "R² of prediction", "null", "largest p", "dimensions found"]
    note = (
        f"Test trials, mean ± SD over seeds {', '.join(map(str, seeds))}; a seed draws its own split where the source "
        "has none. The null pairs each trial of one area with another trial of the other."
    )
    return Table("How much of each area the other explains", heads, rows, note)


def _decoding_table(done: Done, recording: Recording, seeds: Sequence[int]) -> Table:
    values = [read_values(done[f"{recording.name}: seed {seed}, judged"])["decoding"] for seed in seeds]
    rows = []
    for key in dict.fromkeys(key for found in values for key in found):
        found = [v[key] for v in values if key in v]
        largest = max(f["p"] for f in found)
        smallest = min(f["p"] for f in found)
        verdict = "more than chance" if largest <= 0.05 else "not more than chance" if smallest > 0.05 else "unsure"
        cells = [spread([f[name] for f in found], 3) for name in ("score", "null_mean")]
        rows.append([*key.split(": "), *cells, f"{largest:.3g}", f"{len(found)} of {len(seeds)}", verdict])
    heads = ["space", "variable", "R²", "null", "largest p", "seeds with this space", "verdict"]
    note = "Test trials. The better of a line and of ten neighbors; the null shuffles trials (bins, for the time)."
    return Table(f"{recording.name}: what the latents tell", heads, rows, note)
