"""Linear baselines on real recordings: what they tell of one area from the other, beside SPLICE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import permutations
from typing import Any, Protocol

import numpy as np

from viewsplice._types import Array
from viewsplice.datasets import MultiViewData
from viewsplice.experiments.comparison import comparison_table
from viewsplice.experiments.contest import Contest, contest_results, entries
from viewsplice.experiments.fits import Model, Options, stand_beside
from viewsplice.experiments.nulls import pairing_null
from viewsplice.experiments.parts import Done
from viewsplice.experiments.results import Result, Summary, Table, spread
from viewsplice.experiments.rivals import rivals
from viewsplice.metrics import reconstruction_r2

NAME = "neural"
METRIC = "prediction_r2"


class Predictor(Protocol):
    """Anything that predicts a view from others."""

    def predict(self, target: str, views: Any) -> Array:
        """Return the expected view ``target`` given other views alone."""
        ...


def told(
    model: Predictor, test: MultiViewData, n_shuffles: int, generator: np.random.Generator
) -> dict[str, dict[str, float]]:
    """Return by arrow the R² of prediction on test trials, beside its null of other trials."""
    found = {}
    for a, b in permutations(test.views.names, 2):
        guess, truth = model.predict(b, {a: test.views[a]}), test.views[b]
        score = partial(_prediction_r2, truth, guess)
        against = pairing_null(score, trials_of(test), n_shuffles=n_shuffles, generator=generator)
        found[f"{a}->{b}"] = asdict(against)
    return found


def _prediction_r2(truth: Array, guess: Array, order: Array) -> float:
    return reconstruction_r2(truth, guess[order])


def trials_of(data: MultiViewData) -> Array:
    """Return the trial of each row."""
    assert data.groups is not None
    return data.groups


def recording_contest(
    recording: str,
    options: Options,
    load: Callable[[int], MultiViewData],
    data_settings: Callable[[int], Mapping[str, Any]],
    n_shuffles: int,
) -> Contest:
    """Return what RRR and CCA are to do with a recording: ranks and numbers of pairs are found, as widths of SPLICE."""

    def judge(model: Model, data: MultiViewData) -> tuple[dict[str, Any], dict[str, Array]]:
        test = data.rows("test")
        generator = np.random.default_rng(0)
        found = told(model, test, n_shuffles, generator)  # type: ignore[arg-type]  # both predict
        return {"prediction": found, **stand_beside(model, test, model.transform(test.views).spaces())}, {}

    return Contest(
        experiment=NAME,
        rivals=rivals(NAME, n_shared="auto", n_private=0, quick=options.quick),
        options=options,
        load=load,
        data_settings=lambda seed: {**data_settings(seed), "shuffles": n_shuffles},
        judge=judge,
        splice=lambda seed: f"{recording}: seed {seed}",
        figures=lambda values: {
            f"{METRIC} {recording} {arrow}": v["score"] for arrow, v in values["prediction"].items()
        },
        spaces={},
        minutes=0.2,
        prefix=f"{recording}: ",
    )


def rival_summary(contests: Mapping[str, Contest], done: Done, results: Sequence[Result]) -> Summary:
    """Return the rows of RRR and CCA, and tables beside SPLICE, whose rows are ``results``; contests by recording."""
    found: list[Result] = []
    rows = []
    for recording, contest in contests.items():
        fits = {method: values for method, values in entries(contest, done).items() if values}
        arrows = next(iter(fits.values()))[0]["prediction"] if fits else {}
        whole = replace(contest, spaces={f"{METRIC} {recording} {arrow}": arrow for arrow in arrows})
        found += contest_results(whole, done)
        rows += [[recording, *row] for row in _rows(fits, list(arrows))]
    heads = ["recording", "arrow", "method", "R² of prediction", "null", "largest p", "rank or pairs", "ridge or r"]
    note = "Test trials; the null pairs each trial of one area with another trial of the other."
    methods = list(dict.fromkeys(result.method for result in found))
    metrics = list(dict.fromkeys(result.metric for result in found))
    compared = comparison_table(NAME, [*results, *found], dict.fromkeys(methods, "closed form"), metrics, {})
    return Summary(found, [Table("Linear baselines", heads, rows, note), compared])


def _rows(fits: Mapping[str, Sequence[Mapping[str, Any]]], arrows: Sequence[str]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for arrow in arrows:
        for method, values in fits.items():
            seen = [v["prediction"][arrow] for v in values]
            rows.append(
                [
                    arrow,
                    method,
                    spread([one["score"] for one in seen], 3),
                    spread([one["null_mean"] for one in seen], 3),
                    f"{max(one['p'] for one in seen):.3g}",
                    ", ".join(str(v["widths"][arrow]) for v in values),
                    ", ".join(_weight(v["fit"]["settings"]["parameters"]) for v in values),
                ]
            )
    return rows


def _weight(parameters: Mapping[str, Any]) -> str:
    """Return the ridge of RRR, or the regularization of CCA."""
    value = parameters.get("ridge", parameters.get("regularization"))
    return value if isinstance(value, str) else f"{value:g}"
