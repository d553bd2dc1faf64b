"""What chance gives where rows come in trials: whole trials are shuffled, and what is smooth in time stays smooth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from viewsplice._types import Array
from viewsplice.metrics import knn_r2, linear_r2
from viewsplice.trust.nulls import Against, against_null, unit_rows


def shuffle_trials(trials: Array, generator: np.random.Generator) -> Array:
    """Return row numbers that give every trial the rows of another one, bin by bin, (n,).

    Parameters
    ----------
    trials
        Label per row, (n,); the rows of a trial are in the order of time, and all trials have as many.
    generator
        Source of randomness.
    """
    _, of_row, sizes = np.unique(trials, return_inverse=True, return_counts=True)
    if len(set(sizes.tolist())) > 1:
        raise ValueError(f"trials have {sizes.min()} to {sizes.max()} rows; expected as many in each")
    rows = unit_rows(of_row)
    source = np.empty(len(trials), dtype=np.intp)
    source[rows] = rows[generator.permutation(len(sizes))]
    return source


def shuffle_bins(trials: Array, generator: np.random.Generator) -> Array:
    """Return row numbers that shuffle the rows within every trial, (n,)."""
    source = np.arange(len(trials))
    for trial in np.unique(trials):
        rows = np.flatnonzero(trials == trial)
        source[rows] = generator.permutation(rows)
    return source


def pairing_null(
    score: Callable[[Array], float], trials: Array, *, n_shuffles: int, generator: np.random.Generator
) -> Against:
    """Return a score of paired rows beside what it is when one side comes from other trials.

    Parameters
    ----------
    score
        The score when one side's rows are taken in the given order, (n,).
    trials
        Label per row, (n,).
    n_shuffles, generator
        Number of shuffles, and their source.
    """
    nulls = [score(shuffle_trials(trials, generator)) for _ in range(n_shuffles)]
    return against_null(score(np.arange(len(trials))), nulls)


def decoding_null(
    latents: tuple[Array, Array],
    values: tuple[Array, Array],
    trials: tuple[Array, Array],
    *,
    n_shuffles: int,
    generator: np.random.Generator,
) -> Against:
    """Return the held-out R² with which a variable is read from latents, beside its null.

    The better of a line and of ten neighbors counts, for the null as well. A variable that is constant within every
    trial is shuffled between trials, another one within trials.

    Parameters
    ----------
    latents, values, trials
        Of training and of test rows: (n, width), (n,), (n,).
    n_shuffles, generator
        Number of shuffles, and their source.
    """
    is_of_trial = all(np.ptp(values[0][trials[0] == trial]) == 0 for trial in np.unique(trials[0]))
    shuffle = shuffle_trials if is_of_trial else shuffle_bins
    nulls = []
    for _ in range(n_shuffles):
        train, test = (y[shuffle(t, generator)] for y, t in zip(values, trials, strict=True))
        nulls.append(_best(latents, (train, test)))
    return against_null(_best(latents, values), nulls)


def _best(latents: tuple[Array, Array], values: tuple[Array, Array]) -> float:
    pair = latents[0], values[0], latents[1], values[1]
    return float(max(linear_r2(*pair)[0], knn_r2(*pair)[0]))
