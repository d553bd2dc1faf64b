"""Nulls of trials: pairs break, time within a trial stays, and p-values are calibrated where nothing is to be found."""

from __future__ import annotations

import numpy as np
import pytest

from viewsplice.experiments.nulls import decoding_null, pairing_null, shuffle_bins, shuffle_trials

TRIALS = np.repeat(np.arange(12), 5)
BINS = np.tile(np.arange(5), 12)


def test_shuffled_trials_move_as_wholes_and_keep_their_bins() -> None:
    order = shuffle_trials(TRIALS, np.random.default_rng(0))
    assert np.array_equal(np.sort(order), np.arange(60))
    assert np.array_equal(BINS[order], BINS)
    sources = TRIALS[order].reshape(12, 5)
    assert (sources == sources[:, :1]).all()
    assert (sources[:, 0] != np.arange(12)).any()


def test_rows_of_trials_need_not_be_neighbors() -> None:
    mixed = np.random.default_rng(1).permutation(60)
    order = shuffle_trials(TRIALS[mixed], np.random.default_rng(0))
    for trial in range(12):
        assert len(np.unique(TRIALS[mixed][order][TRIALS[mixed] == trial])) == 1


def test_unequal_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="1 to 2 rows"):
        shuffle_trials(np.array([0, 0, 1]), np.random.default_rng(0))


def test_shuffled_bins_stay_within_their_trial() -> None:
    order = shuffle_bins(TRIALS, np.random.default_rng(0))
    assert np.array_equal(TRIALS[order], TRIALS)
    assert not np.array_equal(BINS[order], BINS)


def test_pairing_finds_what_belongs_together() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = x + 0.1 * rng.normal(size=60)
    found = pairing_null(lambda order: float(np.corrcoef(x, y[order])[0, 1]), TRIALS, n_shuffles=99, generator=rng)
    assert found.p == 0.01
    assert found.score > 0.9


def noise(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return latents that drift slowly within trials, and a variable of trials that has nothing to do with them."""
    z = np.repeat(rng.normal(size=(12, 1)), 5, axis=0) + 0.1 * rng.normal(size=(60, 1))
    return z, np.repeat(rng.normal(size=12), 5)


def test_decoding_finds_what_is_there_and_only_that() -> None:
    rng = np.random.default_rng(0)
    (z, y), (z_test, y_test) = noise(rng), noise(rng)
    real = decoding_null((z, z_test), (z[:, 0], z_test[:, 0]), (TRIALS, TRIALS), n_shuffles=49, generator=rng)
    assert real.p == 0.02
    p = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        (z, y), (z_test, y_test) = noise(rng), noise(rng)
        p.append(decoding_null((z, z_test), (y, y_test), (TRIALS, TRIALS), n_shuffles=19, generator=rng).p)
    # Rows of a trial repeat each other: shuffled one by one, they would be called significant most of the time.
    assert np.mean(np.array(p) <= 0.05) <= 0.15
