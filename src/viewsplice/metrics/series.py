"""Whether the order of rows tells something: likeness of neighbors, how far it reaches, and what is left of n rows."""

from __future__ import annotations

import math

import numpy as np

from viewsplice._types import Array

# Sums of squares over features are kept by so many random directions, whatever the number of features.
_N_DIRECTIONS = 32
_BLOCK_ROWS = 2048
# Standard errors by which block means must vary more than those of exchangeable rows.
_EVIDENT = 4.0
_FEWEST_BLOCKS = 8
_UNLIKE = 0.05


def sketch(x: Array) -> Array:
    """Return rows (n, ...) as centered ones with at most 32 columns that keep ratios of products of rows, on average.

    In units of a power of two near the largest value, so that squares neither overflow nor vanish; all zeros where
    values are too large even for that.
    """
    rows = np.asarray(x).reshape(len(x), -1)
    n_features = rows.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        if n_features <= _N_DIRECTIONS:
            small = rows.astype(np.float64)
        else:
            directions = np.random.default_rng(0).standard_normal((n_features, _N_DIRECTIONS))
            small = np.empty((len(rows), _N_DIRECTIONS))
            for start in range(0, len(rows), _BLOCK_ROWS):
                block = rows[start : start + _BLOCK_ROWS]
                # Relative to some row, so that an offset does not use up the digits.
                small[start : start + _BLOCK_ROWS] = (block - rows[0].astype(np.float64)) @ directions
        centered: Array = small - small.mean(axis=0)
        largest = float(np.abs(centered).max())
    if not math.isfinite(largest) or largest == 0:
        return np.zeros_like(centered)
    return np.ldexp(centered, -math.frexp(largest)[1])


def lag_correlations(x: Array) -> Array:
    """Return r_k = sum_t <x_t, x_{t+k}> / sum_t |x_t|^2 of centered rows, for lags 0 to n - 1, (n,).

    Parameters
    ----------
    x
        Rows in their order, (n, ...).
    """
    rows = sketch(x)
    spectrum = np.fft.rfft(rows, n=2 * len(rows), axis=0)
    power = (np.abs(spectrum) ** 2).sum(axis=1)
    products = np.fft.irfft(power)[: len(rows)]
    if products[0] <= 0:
        return np.concatenate([[1.0], np.zeros(len(rows) - 1)])
    correlations: Array = products / products[0]
    return correlations


def is_series(x: Array) -> bool:
    """Tell whether neighboring rows are more alike than rows in any order would be.

    Means over blocks of 2, 4, 8, ... rows vary b times less than rows do if rows can be exchanged; here they vary more
    by at least four standard errors, for some b.
    """
    rows = sketch(x)
    total = (rows**2).sum()
    if len(rows) < 2 * _FEWEST_BLOCKS or total <= 0:
        return False
    covariance = rows.T @ rows
    concentration = float((covariance**2).sum() / total**2)  # 1 / number of directions that matter
    length = 2
    while len(rows) // length >= _FEWEST_BLOCKS:
        n_blocks = len(rows) // length
        means = rows[: n_blocks * length].reshape(n_blocks, length, -1).mean(axis=1)
        ratio = length * (means**2).sum() / n_blocks / (total / len(rows))
        if (ratio - 1) / math.sqrt(2 * concentration / n_blocks) > _EVIDENT:
            return True
        length *= 2
    return False


def correlation_length(x: Array) -> int:
    """Return after how many rows likeness has faded: the first lag with r_k below 0.05, or lost in noise."""
    correlations = lag_correlations(x)
    faded = np.flatnonzero(correlations < max(_UNLIKE, 2 / math.sqrt(len(correlations))))
    return int(faded[0]) if len(faded) else len(correlations)


def effective_rows(first: Array, second: Array) -> float:
    """Return to how many exchangeable rows n rows of two series are equal, where one is correlated with the other.

    n / (1 + 2 sum_k r_k r'_k), the sum up to the lag where one of the two has faded.
    """
    reach = min(correlation_length(first), correlation_length(second))
    products = (lag_correlations(first) * lag_correlations(second))[1:reach]
    return float(len(first) / (1 + 2 * max(0.0, float(products.sum()))))
