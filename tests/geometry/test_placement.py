"""Coordinates from distances: as many as are faithful, then what else is known, at the scale that fits."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from viewsplice.geometry.placement import place_rows


def make(n_known, *, noise=0.0, n=600, seed=0):
    """Return a cloud, its distances from 60 landmarks, the landmarks, and its first axes, turned, as what is known."""
    rng = np.random.default_rng(seed)
    cloud = rng.normal(size=(n, 23)) * np.array([3.0, 2.0, 1.0] + 20 * [0.6])
    landmarks = np.sort(rng.choice(n, 60, replace=False))
    distances = cdist(cloud[landmarks], cloud) + noise * rng.normal(size=(60, n))
    distances[np.arange(60), landmarks] = 0.0
    turn = np.linalg.qr(rng.normal(size=(n_known, n_known)))[0]
    return cloud, landmarks, np.abs(distances).astype(np.float32), 7.0 * cloud[:, :n_known] @ turn


def test_exact_distances_need_nothing_else():
    cloud, landmarks, distances, known = make(23)
    placed = place_rows(distances, landmarks, 2.0, 23, 100 * known)
    assert placed.dtype == np.float32
    assert cdist(placed[:50], placed) == pytest.approx(cdist(cloud[:50], cloud) / 2, abs=1e-3)


def test_what_is_known_besides_follows_at_the_scale_of_the_distances():
    cloud, landmarks, distances, known = make(23, noise=1.0)
    placed, without = (place_rows(distances, landmarks, 2.0, 30, other) for other in (known, 0 * known))
    n_used = int((without.std(axis=0) > 0).sum())
    assert n_used < 15
    np.testing.assert_array_equal(placed[:, :n_used], without[:, :n_used])
    truth = cdist(cloud[:100], cloud) / 2
    errors = [np.abs(cdist(z[:100], z) - truth).mean() for z in (placed, without)]
    assert errors[0] < 0.96 * errors[1]
    assert 0 < placed[:, n_used:].std() < 0.1 * known.std()


def test_nothing_is_added_where_distances_are_explained():
    rng = np.random.default_rng(0)
    line = np.sort(rng.uniform(size=500))
    landmarks = np.arange(0, 500, 10)
    distances = np.abs(line[landmarks, None] - line).astype(np.float32)
    bent = np.column_stack([np.sin(9 * line), np.cos(9 * line), rng.normal(size=500)])
    placed = place_rows(distances, landmarks, 1.0, 4, bent)
    assert placed[:, 1:].std() < 0.02 * placed[:, 0].std()


def test_few_known_axes_and_landmarks_only():
    _, landmarks, distances, known = make(2, noise=0.5)
    assert place_rows(distances, landmarks, 1.0, 20, known).shape == (600, 20)
    everything = np.arange(60)
    assert np.isfinite(place_rows(distances[:, landmarks], everything, 1.0, 4, known[landmarks])).all()
