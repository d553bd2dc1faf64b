"""Tables of baselines beside SPLICE: every figure with its p-values, how each fit went, and what stands beside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

from viewsplice.experiments.contest import (
    FULL,
    N_SEEDS,
    RUNS,
    STEP1,
    TIMES,
    Contest,
    entries,
    shown_figures,
    why_absent,
)
from viewsplice.experiments.parts import Done, read_values
from viewsplice.experiments.results import Result, Table, paper_figure, spread, welch

NOT_AVAILABLE, NOT_RUN = "not available", "not run yet"
Value = Callable[[Mapping[str, Any]], float | None]
# The two columns of SPLICE: how they are called in rows, and in words.
_COLUMNS = {"splice-step1": STEP1, "splice": FULL}
_SIGNIFICANT = 0.05
# An adversary that finds less than this part of what a fresh one finds has lost track.
_ALIVE = 0.5


def contest_tables(
    contest: Contest,
    done: Done,
    results: Sequence[Result],
    beside: Mapping[str, Value],
    note: str,
) -> list[Table]:
    """Return all tables of a contest.

    Parameters
    ----------
    contest, done
        What there was to do, and what was done.
    results
        Rows of SPLICE and of the baselines.
    beside, note
        As in `beside_table`.
    """
    found = entries(contest, done)
    ends = {method: _ends(fits) for method, fits in found.items()}
    judged = {
        method: [read_values(done[f"{contest.prefix}seed {seed}: {name}, judged"]) for seed in contest.seeds]
        for method, name in _COLUMNS.items()
    }
    return [
        comparison_table(contest.experiment, results, ends, list(contest.spaces), absent_figures(contest, done)),
        beside_table({**judged, **found}, beside, note),
        runs_table(contest, done),
    ]


def absent_figures(contest: Contest, done: Done) -> dict[tuple[str, str], str]:
    """Return by (method, metric) why figures are missing, in words, with the number of seeds if it is not all."""
    found = {}
    n_seeds = len(contest.seeds)
    for method, fits in entries(contest, done).items():
        for metric in contest.spaces:
            reasons = [
                why_absent(contest, values, metric) for values in fits if metric not in shown_figures(contest, values)
            ]
            counts = Counter([*reasons, *[NOT_RUN] * (n_seeds - len(fits))])
            if counts:
                found[method, metric] = "; ".join(_of_seeds(reason, n, n_seeds) for reason, n in counts.items())
    return found


def _of_seeds(reason: str, n: int, n_seeds: int) -> str:
    return reason if n == n_seeds else f"{reason} with {n} of {n_seeds} seeds"


def comparison_table(
    experiment: str,
    results: Sequence[Result],
    ends: Mapping[str, str],
    metrics: Sequence[str],
    absent: Mapping[tuple[str, str], str],
) -> Table:
    """Return every figure of every baseline beside the paper's and both columns of SPLICE, with p-values.

    Parameters
    ----------
    experiment
        Its name.
    results
        Rows of SPLICE and of the baselines.
    ends
        By baseline, in the order in which they are shown, what ended its fits.
    metrics
        Figures, in the order in which they are shown.
    absent
        By (method, metric), why there are no values, or not of all seeds.
    """
    values: dict[tuple[str, str], list[float]] = {}
    for result in results:
        values.setdefault((result.method, result.metric), []).append(result.value)
    columns = {key: name for key, name in _COLUMNS.items() if any(method == key for method, _ in values)}
    rows: list[list[Any]] = []
    beaten: dict[str, dict[str, list[str]]] = {}
    for metric in metrics:
        splice = {key: values.get((key, metric), []) for key in columns}
        missing: dict[str, list[str]] = {}
        for method, end in ends.items():
            own, reason = values.get((method, metric), []), absent.get((method, metric), "")
            if not own:
                missing.setdefault(reason, []).append(method)
                continue
            words = _words(own, splice)
            paper = paper_figure(experiment, method, metric)
            cells = [metric, method, end, "" if paper is None else paper, _cell(own, reason)]
            for other in splice.values():
                cells += [_cell(other, ""), _p(own, other)]
            rows.append([*cells, words])
            if words.startswith("better"):
                beaten.setdefault(words.split(",")[0], {}).setdefault(metric, []).append(method)
        blank = [""] * (2 * len(columns) + 1)
        rows += [[metric, ", ".join(who), "", "", _cell([], reason), *blank] for reason, who in missing.items()]
    heads = ["figure", "method", "ended by", "paper", "viewsplice"]
    for name in columns.values():
        heads += [f"SPLICE, {name}", "p"]
    return Table("Baselines beside SPLICE", [*heads, "in words"], rows, _comparison_note(beaten, absent.values()))


def _comparison_note(beaten: Mapping[str, Mapping[str, Sequence[str]]], reasons: Iterable[str]) -> str:
    """Return what to know; ``beaten`` has, by what is said of them and by figure, the methods that are better."""
    is_open = any(NOT_RUN in reason for reason in reasons)
    told = f"No baseline {'that has run so far ' if is_open else ''}is better than SPLICE in any of these figures."
    if beaten:
        texts = [
            f"{words[0].upper()}{words[1:]} in the mean over seeds: "
            + "; ".join(f"{', '.join(methods)} in {metric}" for metric, methods in found.items())
            for words, found in sorted(beaten.items(), key=lambda one: len(one[0]))
        ]
        told = f"{'. '.join(texts)}. The last column says how sure that is."
    return (
        f"Test rows, mean ± SD over the first seeds, {N_SEEDS} at most (SPLICE: all); p of Welch's test, two-sided. "
        "`-printed`: the settings printed in the paper, or in the method's own; `-tuned`: settings found by the "
        f"method's own objective on validation rows. {told}"
    )


def _cell(values: Sequence[float], reason: str) -> str:
    if not values:
        return f"{NOT_AVAILABLE}: {reason}" if reason else NOT_AVAILABLE
    text = spread(values, 2 if max(map(abs, values)) > 2 else 4)
    return f"{text} ({reason})" if reason else text


def _p(own: Sequence[float], other: Sequence[float]) -> str:
    if not own or not other:
        return ""
    p = welch(own, other)
    return "too few seeds" if p is None else f"{p:.2g}"


def _words(own: Sequence[float], splice: Mapping[str, Sequence[float]]) -> str:
    """Return who is better, and whether that is sure."""
    others = {key: values for key, values in splice.items() if values}
    if not own or not others:
        return ""
    if all(mean(own) == mean(values) for values in others.values()):
        return "equal"
    lower = [key for key, values in others.items() if mean(own) > mean(values)]
    who = "SPLICE is better"
    if lower:
        who = "better than SPLICE" if len(lower) == len(others) else f"better than SPLICE's {_COLUMNS[lower[0]]}"
    compared = [welch(own, others[key]) for key in lower or list(others)[-1:]]
    sure = [p for p in compared if p is not None]
    if len(sure) < len(compared):
        return f"{who}, too few seeds to be sure"
    return who if max(sure) < _SIGNIFICANT else f"{who}, not significant"


def runs_table(contest: Contest, done: Done) -> Table:
    """Return how every fit went: what ended it, how long it took and was allowed to, and with which settings."""
    rows = []
    for method, fits in entries(contest, done).items():
        found = [values["fit"] for values in fits]
        rows.append(
            [
                method,
                _ends(fits),
                ", ".join(str(fit["epochs"]) for fit in found),
                ", ".join(f"{fit['seconds']:.0f} of {fit['allowed']:.0f}" for fit in found),
                _tuning(contest, method, done),
                "; ".join(_remarks(fits)) or "none",
            ]
        )
    note = (
        "By seed. A fit ends at convergence (its objective on validation rows no longer improves), after the printed "
        f"number of epochs, or when {TIMES} times the seconds of SPLICE on the same data are over. A search has that "
        "time once more. Seconds are those of the processor: what else the machine does makes no difference."
    )
    heads = ["method", "ended by", "epochs", "seconds, of those allowed", "settings found", "to be careful about"]
    return Table("How the baselines were run", heads, rows, note)


def _ends(fits: Sequence[Mapping[str, Any]]) -> str:
    """Return what ended the fits of all seeds."""
    ends = Counter(values["fit"]["ended"] for values in fits)
    return ", ".join(end if n == len(fits) else f"{end} ({n} of {len(fits)})" for end, n in ends.items()) or NOT_RUN


def _tuning(contest: Contest, method: str, done: Done) -> str:
    """Return the settings that a search found, and how many it tried."""
    name, run = method.rsplit("-", 1)
    if run == RUNS[0]:
        return "as printed"
    search = f"{contest.prefix}{name}: search"
    if search not in done:
        return NOT_RUN
    found = read_values(done[search])
    if found["chosen"] is None:
        return "none: every trial diverged"
    [rival] = [one for one in contest.rivals if one.name == name]
    networks = rival.starts[found["chosen"]["start"]].get_params().get("networks")
    texts = [] if networks is None else [type(networks).__name__]
    texts += [f"{key} {_short(value)}" for key, value in found["chosen"]["settings"].items()]
    return f"{', '.join(texts)}; best of {len(found['trials'])}"


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"with rate {value['learning_rate']:.2g} and {value['n_steps']} steps"
    return value if isinstance(value, str) else f"{value:.2g}"


def _remarks(fits: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what makes figures doubtful: spaces that collapsed, adversaries that lost track."""
    collapsed = Counter(space for values in fits for space in values.get("collapsed", ()))
    found = [f"{space} collapsed with {n} of {len(fits)} seeds" for space, n in collapsed.items()]
    adversaries = [values["fit"]["adversary"] for values in fits if values["fit"].get("adversary")]
    for view in adversaries[0] if adversaries else ():
        own, fresh = ([one[view][key] for one in adversaries] for key in ("adversary", "fresh"))
        if any(seen < _ALIVE * other for seen, other in zip(own, fresh, strict=True)):
            texts = (", ".join(f"{value:.2f}" for value in values) for values in (own, fresh))
            found.append("the adversary of {} lost track: it finds {}, a fresh one {}".format(view, *texts))
    return found


def beside_table(fits: Mapping[str, Sequence[Mapping[str, Any]]], columns: Mapping[str, Value], note: str) -> Table:
    """Return what stands beside the scores, for SPLICE and the baselines alike.

    Parameters
    ----------
    fits
        By method, the judged values of each seed.
    columns
        By title, a function from judged values to a number, or to None where a method has none.
    note
        What to know when reading it.
    """
    rows = []
    for method, found in fits.items():
        judged = [values for values in found if "rows" in values]
        cells = [[number for values in judged if (number := column(values)) is not None] for column in columns.values()]
        rows.append([method, *(spread(numbers, 3) if numbers else NOT_AVAILABLE for numbers in cells)])
    return Table("What stands beside these figures", ["method", *columns], rows, note)
