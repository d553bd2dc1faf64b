"""Likeness of neighbors: closed forms, and no alarm where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from viewsplice.metrics.series import correlation_length, effective_rows, is_series, lag_correlations, sketch


def autoregressive(memory: float, n_rows: int, n_features: int, seed: int) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(n_rows, n_features)) * np.sqrt(1 - memory**2)
    for row in range(1, n_rows):
        x[row] += memory * x[row - 1]
    return x


def test_lag_correlations_by_hand() -> None:
    # Centered: -1, 1, -1, 1; products at lags 0, 1, 2, 3: 4, -3, 2, -1.
    assert lag_correlations(np.array([[0.0], [2.0], [0.0], [2.0]])) == pytest.approx([1, -0.75, 0.5, -0.25])
    assert lag_correlations(np.ones((3, 2))).tolist() == [1, 0, 0]


def test_lag_correlations_of_many_features_are_those_of_the_sketch() -> None:
    x = autoregressive(0.8, 3000, 200, 0) + 1e5
    assert sketch(x).shape == (3000, 32)
    assert lag_correlations(x)[[1, 3]] == pytest.approx([0.8, 0.8**3], abs=0.03)


@pytest.mark.parametrize("n_features", [1, 6, 100])
def test_rows_in_any_order_are_no_series(n_features) -> None:
    rng = np.random.default_rng(1)
    assert sum(is_series(rng.normal(size=(300, n_features))) for _ in range(100)) <= 1
    assert sum(is_series(rng.standard_t(3, size=(300, n_features))) for _ in range(100)) <= 2
    assert not is_series(np.zeros((50, n_features)))
    assert not is_series(rng.normal(size=(12, n_features)).cumsum(axis=0))  # too few to tell


@pytest.mark.parametrize("memory", [0.5, 0.9, 0.99])
def test_series_are_recognized(memory) -> None:
    assert all(is_series(autoregressive(memory, 400, 3, seed)) for seed in range(10))


def test_a_slow_drift_under_noise_is_recognized() -> None:
    rng = np.random.default_rng(2)
    drift = np.sin(np.linspace(0, 6, 2000))[:, None]
    x = 0.4 * drift + rng.normal(size=(2000, 1))
    assert lag_correlations(x)[1] < 0.15
    assert is_series(x)


def test_the_length_of_likeness() -> None:
    lengths = [correlation_length(autoregressive(0.9, 20_000, 4, seed)) for seed in range(5)]
    assert np.mean(lengths) == pytest.approx(np.log(0.05) / np.log(0.9), rel=0.15)  # 28 rows
    assert correlation_length(np.random.default_rng(0).normal(size=(500, 3))) == 1
    assert correlation_length(np.linspace(0, 1, 100)[:, None]) > 20


def test_effective_rows_of_an_autoregressive_pair() -> None:
    found = [
        effective_rows(autoregressive(0.9, 20_000, 1, seed), autoregressive(0.8, 20_000, 1, seed + 50))
        for seed in range(5)
    ]
    product = 0.9 * 0.8
    assert np.mean(found) == pytest.approx(20_000 * (1 - product) / (1 + product), rel=0.1)
    rng = np.random.default_rng(0)
    assert effective_rows(rng.normal(size=(500, 1)), autoregressive(0.9, 500, 1, 0)) == 500
