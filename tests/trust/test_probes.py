"""The strongest probe: each has something that it alone reads, and choosing it does not make chance significant."""

from __future__ import annotations

import numpy as np
import pytest

from viewsplice.ordering import RowOrder
from viewsplice.trust import networks, probes
from viewsplice.trust.nulls import Exchange
from viewsplice.trust.probes import NOTHING, along_axes, strongest_reading

N = 800


def read(z: np.ndarray, y: np.ndarray, *, n_null: int = 2, n_orders: int = 99, reach: int = 0, seed: int = 0):
    half = len(z) // 2
    exchange = Exchange.of(RowOrder(np.arange(half), False, reach, 0.0))
    pair = (z[:half], z[half:]), (y[:half], y[half:])
    return strongest_reading(*pair, (exchange, exchange), n_null=n_null, n_orders=n_orders, seed=seed)


def test_lines_read_what_is_linear_in_many_dimensions() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(120, 12))
    found = read(z, z @ rng.normal(size=(12, 2)))
    assert found.probe == "linear"
    assert found.r2 > 0.95
    assert found.p == 0.01
    assert found.null_q95 < 0.3


def test_a_curve_is_read_by_others_than_lines() -> None:
    z = np.random.default_rng(1).uniform(-1, 1, size=(N, 1))
    found = read(z, np.column_stack([np.cos(9 * z[:, 0]), np.sin(9 * z[:, 0])]))
    assert found.probe != "linear"
    assert found.r2 > 0.95


def test_r2_is_of_the_whole_target_not_of_its_best_column() -> None:
    rng = np.random.default_rng(2)
    z = rng.normal(size=(N, 1))
    found = read(z, np.column_stack([z[:, 0], rng.normal(size=N)]))
    assert found.r2 == pytest.approx(0.5, abs=0.06)
    scaled = read(z, np.column_stack([0.1 * z[:, 0], rng.normal(size=N)]))
    assert scaled.r2 < 0.03


def test_nothing_to_read() -> None:
    y = np.random.default_rng(0).normal(size=(100, 1))
    for z in (np.zeros((100, 0)), np.ones((100, 2))):
        assert read(z, y) == NOTHING
    assert read(y, np.full((100, 2), 3.0)) == NOTHING


@pytest.mark.parametrize("scale", [2.0**-1000, 2.0**-40, 2.0**40, 2.0**1000])
def test_units_of_a_target_do_not_matter(scale: float) -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=(100, 3))
    for part, expected in zip(along_axes(scale * y, scale * y[:20]), along_axes(y, y[:20]), strict=True):
        assert part.shape[1] == 3
        np.testing.assert_array_equal(part, expected)


def test_spread_counts_beside_the_rounding_of_a_target() -> None:
    """Seconds since 1970 differ in their tenth digit, which single precision does not have."""
    seconds = 1.7e9 + np.linspace(0, 60, 100)[:, None]
    assert along_axes(seconds, seconds)[0].shape == (100, 1)
    assert along_axes(np.full((100, 1), 1.7e9), seconds)[0].shape == (100, 0)
    rounded = np.float32(1.7e9) + np.float32(128) * (np.arange(100, dtype=np.float32)[:, None] % 2)
    assert along_axes(rounded, rounded)[0].shape == (100, 0)
    bytes_ = np.array([[-128], [0]] * 50, dtype=np.int8)
    assert np.abs(along_axes(bytes_, bytes_)[0]).ravel() == pytest.approx(1)


@pytest.mark.parametrize("reach", [0, 5])
def test_p_values_of_the_strongest_are_right_where_nothing_is_to_be_read(monkeypatch, reach: int) -> None:
    monkeypatch.setattr(networks, "_N_ROUNDS", 2)
    p = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        z, y = rng.normal(size=(2, 160, 1))
        if reach:
            for x in (z, y):
                for row in range(1, 160):
                    x[row] += 0.7 * x[row - 1]
        p.append(read(z, y, n_null=1, n_orders=59, reach=reach, seed=seed).p)
    assert np.mean(np.array(p) <= 0.1) <= 0.23
    assert np.mean(p) == pytest.approx(0.5, abs=0.15)


def test_every_probe_predicts_every_set_of_targets(monkeypatch) -> None:
    monkeypatch.setattr(networks, "_N_ROUNDS", 3)
    rng = np.random.default_rng(3)
    z, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 3, 2))
    found = probes._predictions(z, y, z[:10], 0)
    assert set(found) == {"linear", "neighbors", "trees", "network"}
    assert {guess.shape for guess in found.values()} == {(10, 3, 2)}
    distances = np.linalg.norm(z[:10, None] - z, axis=2)
    nearest = np.argsort(distances, axis=1)[:, :10]
    assert found["neighbors"] == pytest.approx(y[nearest].mean(axis=1))


def test_a_target_without_columns_has_nothing_to_read() -> None:
    assert read(np.random.default_rng(0).normal(size=(80, 2)), np.zeros((80, 0))) == NOTHING
