"""Baselines against SPLICE as parts of an experiment: each run as printed, and once more with settings found for it.

The same splits, widths, metrics and judges as for SPLICE. A fit ends where its validation objective has converged, or
after three times the seconds that SPLICE took for the same data in the same folder; what ended it is kept. Seconds are
those of the processor, so that it does not matter what else the machine does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

from sklearn.base import clone

from viewsplice._types import Array
from viewsplice.baselines import CCA, RRR, AdversaryConfig, TunedBaseline, time_limit, tune_cca, tune_rrr
from viewsplice.baselines.base import Baseline
from viewsplice.baselines.neural import NeuralBaseline
from viewsplice.baselines.tuning import Budget, tune_within, with_settings
from viewsplice.datasets import MultiViewData
from viewsplice.exceptions import TrainingDivergedError
from viewsplice.experiments.fits import Model, Options
from viewsplice.experiments.parts import ARRAYS, Done, Part, hash_of, processor_seconds_of, read_values, write_values
from viewsplice.experiments.results import Result
from viewsplice.experiments.rivals import Rival, settings_of
from viewsplice.training.loop import Callback

Judge = Callable[[Model, MultiViewData], tuple[dict[str, Any], dict[str, Array]]]

# How the two fits of SPLICE are called in the names of parts.
FULL, STEP1 = "both steps", "Step 1 only"
RUNS = ("printed", "tuned")
DIVERGED = "divergence"
# Times the seconds of SPLICE, for a fit and for a whole search.
TIMES = 3
# As many seeds as a p-value takes.
N_SEEDS = 3
_N_TRIALS, _N_TRIALS_QUICK = 8, 2
_ENDS = {"callback": "time"}


@dataclass(frozen=True, eq=False)
class Contest:
    """What baselines are to do in an experiment.

    Attributes
    ----------
    experiment, rivals, options
        Where, who, and the user's choices.
    load, data_settings
        By seed, the data and everything they depend on.
    judge
        Returns the values and the arrays of a fit: what SPLICE is judged by.
    splice
        By seed, the name of the part that fits SPLICE.
    figures
        Returns the figures by metric that judged values hold; those that a method lacks are left out.
    spaces
        By metric, the latent space that it is about; "" where it is about what a decoder rebuilds.
    minutes
        Of one fit, about.
    prefix
        Of the names of the parts.
    """

    experiment: str
    rivals: Sequence[Rival]
    options: Options
    load: Callable[[int], MultiViewData]
    data_settings: Callable[[int], Mapping[str, Any]]
    judge: Judge
    splice: Callable[[int], str]
    figures: Callable[[Mapping[str, Any]], Mapping[str, float]]
    spaces: Mapping[str, str]
    minutes: float
    prefix: str = ""

    @property
    def seeds(self) -> Sequence[int]:
        """The seeds that baselines run with."""
        return self.options.seeds[:N_SEEDS]

    def allowed(self, seed: int, done: Done) -> float:
        """Return how many seconds of the processor a fit, or a whole search, may take."""
        return TIMES * processor_seconds_of(done[self.splice(seed)])

    def part_name(self, seed: int, rival: Rival, run: str) -> str:
        """Return the name of the part that fits and judges a rival."""
        return f"{self.prefix}seed {seed}: {rival.name}-{run}{rival.label}"


def contest_rounds(contest: Contest, variants: Mapping[str, Sequence[Rival]] | None = None) -> list[list[Part]]:
    """Return what there is to do in the order in which it tells most: all rivals with one seed after the other.

    The last round is that of the variants. Every rival runs as printed, then with the settings found for it, which are
    looked for in the first round.

    Parameters
    ----------
    contest
        What there is to do.
    variants
        By name of a rival, others that run with the first seed only and with the settings found for it.
    """
    searches = {rival.name: _search_part(contest, rival) for rival in contest.rivals}
    rounds: list[list[Part]] = []
    for seed in contest.seeds:
        rounds.append([])
        for rival in contest.rivals:
            search = searches[rival.name]
            rounds[-1] += [_printed_part(contest, rival, seed), *([search] if len(rounds) == 1 else [])]
            rounds[-1].append(_tuned_part(contest, rival, seed, search))
    first, more = contest.seeds[0], [(name, own) for name, found in (variants or {}).items() for own in found]
    last = [
        [_printed_part(contest, own, first), _tuned_part(contest, own, first, searches[name])] for name, own in more
    ]
    return [*rounds, [part for pair in last for part in pair]]


def with_figures(
    contest: Contest, fits: Sequence[Part], rounds: Sequence[Sequence[Part]], draw: Callable[[Path, Done], None]
) -> list[Part]:
    """Return all rounds and, after the first one, the part that draws it; ``fits`` are those of SPLICE."""
    first, *others = rounds
    figures = figures_part(contest, "baselines: figures", [*fits, *first], draw)
    return [*first, figures, *(part for one in others for part in one)]


def figures_part(contest: Contest, name: str, fits: Sequence[Part], draw: Callable[[Path, Done], None]) -> Part:
    """Return a part that draws some fits, those of SPLICE among them."""
    shown = {"figures": 2, "quick": contest.options.quick, "fits": {part.name: part.folder for part in fits}}
    return Part(f"{contest.prefix}{name}", shown, draw, 2)


def _printed_part(contest: Contest, rival: Rival, seed: int) -> Part:
    model = clone(rival.printed).set_params(random_state=seed)
    settings = {"rival": settings_of(model), **_common_settings(contest, seed)}

    def work(folder: Path, done: Done) -> None:
        _compete(contest, clone(model), seed, folder, done)

    return Part(contest.part_name(seed, rival, "printed"), settings, work, contest.minutes, heavy=(ARRAYS,))


def _tuned_part(contest: Contest, rival: Rival, seed: int, search: Part) -> Part:
    starts = [clone(start).set_params(random_state=seed) for start in rival.starts]
    settings = {"starts": [settings_of(start) for start in starts], "search": search.settings}

    def work(folder: Path, done: Done) -> None:
        chosen = read_values(done[search.name])["chosen"]
        model = None if chosen is None else with_settings(starts[chosen["start"]], _settings(chosen["settings"]))
        _compete(contest, model, seed, folder, done)

    settings |= _common_settings(contest, seed)
    return Part(contest.part_name(seed, rival, "tuned"), settings, work, contest.minutes, heavy=(ARRAYS,))


def _common_settings(contest: Contest, seed: int) -> dict[str, Any]:
    return {"contest": 1, "data": dict(contest.data_settings(seed)), "times": TIMES}


def _search_part(contest: Contest, rival: Rival) -> Part:
    """Return the part that looks for better settings, on the data of the first seed."""
    seed = contest.seeds[0]
    starts = [clone(start).set_params(random_state=seed) for start in rival.starts]
    n_trials = _N_TRIALS_QUICK if contest.options.quick else _N_TRIALS
    settings = {"starts": [settings_of(start) for start in starts], "n_trials": n_trials}

    def work(folder: Path, done: Done) -> None:
        budget = Budget(n_trials, contest.allowed(seed, done), time.process_time)
        write_values(folder, _search(starts, contest.load(seed), budget, contest.options.callbacks))

    settings |= _common_settings(contest, seed)
    return Part(f"{contest.prefix}{rival.name}: search", settings, work, contest.minutes)


def _search(
    starts: Sequence[Baseline], data: MultiViewData, budget: Budget, callbacks: Sequence[Callback]
) -> dict[str, Any]:
    """Return what was tried, and start and settings with the lowest objective on the validation rows (or None)."""
    views, validation = data.training()
    share = replace(budget, n_trials=budget.n_trials // len(starts), seconds=budget.seconds / len(starts))
    chosen, lowest, trials = None, float("inf"), []
    for number, start in enumerate(starts):
        try:
            found: TunedBaseline[Any]
            if isinstance(start, NeuralBaseline):
                found = tune_within(start, views, share, validation=validation, callbacks=callbacks)
            else:
                assert isinstance(start, RRR | CCA)
                found = (tune_rrr if isinstance(start, RRR) else tune_cca)(start, views, validation=validation)
        except TrainingDivergedError:
            continue
        for trial in found.trials:
            plain = {**trial, "settings": _plain(trial["settings"]), "start": number}
            trials.append(plain)
            if plain["objective"] < lowest:
                chosen, lowest = {"start": number, "settings": plain["settings"]}, plain["objective"]
    return {"chosen": chosen, "trials": trials, "allowed": budget.seconds}


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: asdict(value) if is_dataclass(value) else value for name, value in settings.items()}  # type: ignore[arg-type]


def _settings(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a trial from their JSON form."""
    return {name: AdversaryConfig(**value) if name == "adversary" else value for name, value in plain.items()}


def _compete(contest: Contest, model: Baseline | None, seed: int, folder: Path, done: Done) -> None:
    """Fit and judge; a fit that diverges, or a search that found nothing, leaves that to be told."""
    data, seconds = contest.load(seed), contest.allowed(seed, done)
    fit: dict[str, Any] = {"ended": DIVERGED, "epochs": 0, "seconds": 0.0, "allowed": seconds}
    values: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    if model is not None:
        fit |= _fit(model, data, seconds, contest.options.callbacks)
        if fit["ended"] != DIVERGED:
            values, arrays = contest.judge(model, data)
    write_values(folder, {"fit": fit, **values}, arrays)


def _fit(model: Baseline, data: MultiViewData, seconds: float, callbacks: Sequence[Callback]) -> dict[str, Any]:
    """Fit in place and in time; return what is to be told of it."""
    views, validation = data.training()
    clock = time.process_time
    started = clock()
    try:
        model.fit(views, validation=validation, callbacks=[*callbacks, time_limit(seconds, clock)])
    except TrainingDivergedError as error:
        return {"ended": DIVERGED, "epochs": len(error.history), "seconds": clock() - started}
    ended = getattr(model, "ended_", "closed form")
    return {
        "ended": _ENDS.get(ended, ended),
        "epochs": len(getattr(model, "history_", ())),
        "seconds": clock() - started,
        "settings": settings_of(model),
        "adversary": getattr(model, "adversary_", {}),
    }


def entries(contest: Contest, done: Done) -> dict[str, list[dict[str, Any]]]:
    """Return by method, such as ``"dmvae-tuned"``, what was found with each seed that has been run."""
    return {
        f"{rival.name}-{run}": [read_values(done[name]) for name in _finished(contest, done, rival, run).values()]
        for rival in contest.rivals
        for run in RUNS
    }


def _finished(contest: Contest, done: Done, rival: Rival, run: str) -> dict[int, str]:
    """Return by seed the names of a rival's finished parts."""
    names = {seed: contest.part_name(seed, rival, run) for seed in contest.seeds}
    return {seed: name for seed, name in names.items() if name in done}


def contest_results(contest: Contest, done: Done) -> list[Result]:
    """Return the figures of all rivals as rows; what a method lacks, or has not been run, is left out."""
    found = []
    for rival in contest.rivals:
        for run in RUNS:
            for seed, name in _finished(contest, done, rival, run).items():
                values, code = read_values(done[name]), hash_of(done[name])
                method = f"{rival.name}-{run}"
                found += [
                    Result(contest.experiment, method, metric, value, seed, values["rows"], code)
                    for metric, value in shown_figures(contest, values).items()
                ]
    return found


def shown_figures(contest: Contest, values: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a judged fit, without those of spaces that collapsed: they would look perfect."""
    if values["fit"]["ended"] == DIVERGED:
        return {}
    found = contest.figures(values)
    return {name: value for name, value in found.items() if contest.spaces[name] not in values["collapsed"]}


def why_absent(contest: Contest, values: Mapping[str, Any], metric: str) -> str:
    """Return why a fit has no such figure, in words."""
    if values["fit"]["ended"] == DIVERGED:
        return "the fit diverged"
    space = contest.spaces[metric]
    if not space:
        return "no decoder"
    return "collapsed" if space in values["collapsed"] else "no private space"
