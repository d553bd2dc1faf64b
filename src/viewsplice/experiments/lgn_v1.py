"""Simulated LGN and V1: does a line read the truth from the latents, and how many dimensions are there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from viewsplice.datasets import MultiViewData, lgn_v1
from viewsplice.experiments.contest import Contest
from viewsplice.experiments.curves import curve_parts, curves_table, draw_curves, read_curves, ridge_parts, ridges_table
from viewsplice.experiments.drawing import save
from viewsplice.experiments.fits import Options, fit_part, load_fit
from viewsplice.experiments.lgn_v1_figures import draw
from viewsplice.experiments.lgn_v1_rivals import FACTORS, lgn_contest, rival_parts, rival_summary
from viewsplice.experiments.pages import Shown
from viewsplice.experiments.parts import Done, Part, hash_of, read_values, write_values
from viewsplice.experiments.results import Result, Summary, Table, spread
from viewsplice.experiments.truth import judge

NAME = "lgn-v1"
SEEDS = (0, 1, 2)
# Variance of the noise over that of the signal; the paper's hardest case has its own ratio of private to shared.
NOISES: tuple[tuple[float, float], ...] = ((0.1, 6.0), (0.2, 6.0), (0.4, 6.0), (0.4, 6.58))
_N_TRIALS, _N_QUICK, _N_SCAN = 18_900, 500, 6_000
_N_NULL, _N_NULL_QUICK = 20, 1
_WIDTHS, _WIDTHS_QUICK = (1, 2, 3, 4, 6), (1, 2)
_STEP1 = {"n_shared": 2, "n_private": 1, "geometry": None}


def parts(options: Options) -> list[Part]:
    """Return the fits of every seed, without and with noise, each judged; then the scan and the figures."""
    found: list[Part] = []
    for seed in options.seeds:
        found += _pair(seed, "both steps", options)
        found += _pair(seed, "Step 1 only", options, params=_STEP1)
        for noise, ratio in NOISES:
            found += _pair(seed, noise_name(noise, ratio), options, noise=noise, ratio=ratio)
    first = options.seeds[0]
    load = partial(_data, _trials(options, scan=True), 0.0, 6.0, first)
    settings = {"data": "lgn_v1", "n_trials": _trials(options, scan=True), "seed": first}
    found += curve_parts(
        load,
        settings,
        options,
        widths=_widths(options),
        params={"n_private": 1, "random_state": first},
        minutes=0.7,
    )
    shown = {"figures": 1, "seed": first, "quick": options.quick, "fits": {p.name: p.folder for p in found}}
    others = [*ridge_parts(load, settings), *rival_parts(_contest(options), found)] if options.baselines else []
    return [*found, Part("figures", shown, partial(_draw, options), 1.0), *others]


def _contest(options: Options) -> Contest:
    return lgn_contest(
        options, partial(_data, _trials(options), 0.0, 6.0), partial(_settings, options), _n_null(options)
    )


def shown(options: Options) -> list[Shown]:
    """Return the fit that gets a page."""
    first = options.seeds[0]
    return [
        Shown(f"seed {first}: both steps", partial(_data, _trials(options), 0.0, 6.0, first), "Simulated LGN and V1")
    ]


def noise_name(noise: float, ratio: float) -> str:
    """Return how a noise level is called: by its variance and, unless it is 6, the ratio of private to shared."""
    return f"noise {noise:g}" + ("" if ratio == 6 else f", private {ratio:g} x shared")


def _draw(options: Options, folder: Path, done: Done) -> None:
    seed = options.seeds[0]
    clean, noisy = (_data(_trials(options), noise, 6.0, seed) for noise in (0.0, 0.4))
    names = {"full": "both steps", "step1": "Step 1 only", "noisy": noise_name(0.4, 6.0)}
    models = {key: load_fit(done.whole(f"seed {seed}: {name}")) for key, name in names.items()}
    draw(folder, models, clean, noisy, quick=options.quick)
    title = "Shared dimensions needed, held-out folds"
    save(draw_curves(read_curves(done, _widths(options))), folder / "dimensions.png", quick=options.quick, title=title)


def _trials(options: Options, *, scan: bool = False) -> int:
    return _N_QUICK if options.quick else _N_SCAN if scan else _N_TRIALS


def _widths(options: Options) -> tuple[int, ...]:
    return _WIDTHS_QUICK if options.quick else _WIDTHS


@lru_cache(maxsize=1)
def _data(n_trials: int, noise: float, ratio: float, seed: int) -> MultiViewData:
    return lgn_v1(n_trials, noise=noise, private_to_shared=ratio, random_state=seed)


def _settings(options: Options, seed: int, noise: float = 0.0, ratio: float = 6.0) -> dict[str, Any]:
    return {"data": "lgn_v1", "n_trials": _trials(options), "noise": noise, "ratio": ratio, "seed": seed}


def _n_null(options: Options) -> int:
    return _N_NULL_QUICK if options.quick else _N_NULL


def _pair(
    seed: int,
    name: str,
    options: Options,
    *,
    noise: float = 0.0,
    ratio: float = 6.0,
    params: dict[str, Any] | None = None,
) -> list[Part]:
    """Return the part that fits and the part that judges the fit. Widths are found unless ``params`` gives them."""
    load = partial(_data, _trials(options), noise, ratio, seed)
    settings = _settings(options, seed, noise, ratio)
    found = {"n_shared": 2, "n_private": 1} if options.quick else {}  # a few hundred trials do not show them
    chosen = {"random_state": seed, **found, **(params or {})}
    fit = fit_part(f"seed {seed}: {name}", load, settings, chosen, options, minutes=2.5 if params is None else 1.2)

    def work(folder: Path, done: Done) -> None:
        write_values(folder, judge(load_fit(done.whole(fit.name)), load(), n_null=_n_null(options)))

    return [fit, Part(f"{fit.name}, judged", {"judge": 1, "fit": fit.settings}, work, 0.7)]


def summarize(done: Done, options: Options) -> Summary:
    """Return the paper's figures for both methods, and tables of noise, leaks and dimensions."""
    results = []
    for seed in options.seeds:
        for method, name in (("splice", "both steps"), ("splice-step1", "Step 1 only")):
            results += _results(done, f"seed {seed}: {name}", method, seed)
    tables = [
        _factors_table(done, options.seeds),
        _leaks_table(done, options.seeds),
        _widths_table(done, options.seeds),
    ]
    tables.append(curves_table(read_curves(done, _widths(options))))
    others = rival_summary(_contest(options), done, results) if options.baselines else Summary([])
    ranks = [ridges_table(done)] if options.baselines else []
    return Summary([*results, *others.results], [*tables, *others.tables, *ranks])


def _results(done: Done, fit: str, method: str, seed: int) -> list[Result]:
    values = read_values(done[f"{fit}, judged"])
    named = {metric: values["linear_r2"].get(key, 0.0) for metric, key in FACTORS.items()}
    named |= {f"r2_{view}": values["reconstruction_r2"][name] for view, name in (("A", "lgn"), ("B", "v1"))}
    code = hash_of(done[fit])
    return [Result(NAME, method, metric, value, seed, values["rows"], code) for metric, value in named.items()]


def _names() -> list[str]:
    return ["both steps", "Step 1 only", *(noise_name(*pair) for pair in NOISES)]


def _factors_table(done: Done, seeds: Sequence[int]) -> Table:
    rows = []
    for name in _names():
        values = [read_values(done[f"seed {seed}: {name}, judged"]) for seed in seeds]
        cells = [spread([v["linear_r2"].get(key, 0.0) for v in values]) for key in FACTORS.values()]
        rebuilt = spread([min(v["reconstruction_r2"].values()) for v in values])
        rows.append([name, *cells, rebuilt])
    note = (
        f"Test rows, mean ± SD over seeds {', '.join(map(str, seeds))}. Widths are found; Step 1 only is given 2; 1, 1."
    )
    heads = ["fit", *(key.replace("/", " ") for key in FACTORS.values()), "lowest reconstruction R²"]
    return Table("Linear R² of the true factors", heads, rows, note)


def _leaks_table(done: Done, seeds: Sequence[int]) -> Table:
    rows = []
    for name in _names():
        values = [read_values(done[f"seed {seed}: {name}, judged"])["leaks"] for seed in seeds]
        worst = max((leak["leak"], key, leak["null_mean"]) for found in values for key, leak in found.items())
        rows.append([name, f"{worst[0]:.4f}", worst[1], f"{worst[2]:.4f}"])
    note = (
        "Held-out R² of a fresh probe minus the mean of 20 shuffled nulls: the largest over spaces, factors and seeds."
    )
    return Table("Leaks", ["fit", "largest leak", "where (space: factor)", "its null"], rows, note)


def _widths_table(done: Done, seeds: Sequence[int]) -> Table:
    rows = []
    for name in _names():
        for seed in seeds:
            values = read_values(done[f"seed {seed}: {name}, judged"])
            texts = (", ".join(f"{k} {v}" for k, v in values[key].items()) for key in ("widths", "effective_dimension"))
            rows.append([name, seed, *texts, ", ".join(values["collapsed"]) or "none"])
    return Table("Dimensions of every space", ["fit", "seed", "widths", "effective dimensions", "collapsed"], rows)
