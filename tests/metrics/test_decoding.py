"""Held-out decoding, and the sign of the angle correction."""

from __future__ import annotations

import numpy as np
import pytest

from viewsplice._types import Array
from viewsplice.metrics import align_angles, angle_shifts, circular_columns, knn_r2, linear_r2


def linear_problem(n: int = 400, noise: float = 0.0) -> tuple[Array, Array]:
    generator = np.random.default_rng(0)
    z = generator.standard_normal((n, 3))
    factors = np.column_stack([2 * z[:, 0] - z[:, 1] + 5, generator.standard_normal(n)])
    return z, factors + noise * generator.standard_normal(factors.shape)


def test_linear_r2_of_a_linear_and_of_an_unrelated_factor() -> None:
    z, factors = linear_problem()
    r2 = linear_r2(z[:200], factors[:200], z[200:], factors[200:])
    assert r2.shape == (2,)
    assert r2[0] == pytest.approx(1.0)
    assert abs(r2[1]) < 0.05


def test_linear_r2_by_hand() -> None:
    # Fitted on two points: factor = latent. On test, errors (0, 1, 0) around a mean of 2: 1 - 1 / 14.
    train = np.array([[0.0], [1.0]])
    r2 = linear_r2(train, train[:, 0], np.array([[0.0], [0.0], [5.0]]), np.array([0.0, 1.0, 5.0]))
    assert r2 == pytest.approx(1 - 1 / 14)


def test_linear_r2_does_not_change_under_rotation_scale_and_shift() -> None:
    z, factors = linear_problem(noise=0.5)
    moved = z @ np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0] * 3 + 1
    expected = linear_r2(z[:200], factors[:200], z[200:], factors[200:])
    np.testing.assert_allclose(linear_r2(moved[:200], factors[:200], moved[200:], factors[200:]), expected, atol=1e-9)


def test_knn_r2_by_hand() -> None:
    train, factors = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0.0, 2.0, 4.0, 8.0])
    # Two neighbors: predictions 1 and 6; truth 0 and 6, mean 3: 1 - 1 / 18.
    r2 = knn_r2(train, factors, np.array([[0.4], [10.6]]), np.array([0.0, 6.0]), n_neighbors=2)
    assert r2 == pytest.approx(1 - 1 / 18)


def test_knn_reads_a_circle_that_linear_regression_cannot() -> None:
    angle = np.random.default_rng(0).uniform(0, 360, 2000)
    code = circular_columns(angle)
    double = circular_columns(2 * angle)
    assert (knn_r2(code[:1000], double[:1000], code[1000:], double[1000:]) > 0.98).all()
    assert (linear_r2(code[:1000], double[:1000], code[1000:], double[1000:]) < 0.05).all()


def test_noise_decodes_to_nothing() -> None:
    generator = np.random.default_rng(0)
    z, f = generator.standard_normal((2, 1000, 2))
    assert (knn_r2(z[:500], f[:500], z[500:], f[500:]) < 0.02).all()


def test_decoding_errors() -> None:
    z, f = linear_problem(20)
    with pytest.raises(ValueError, match="test has 20 latents and 19 factors"):
        linear_r2(z, f, z, f[1:])
    with pytest.raises(ValueError, match="different numbers of columns"):
        linear_r2(z, f, z[:, :2], f)
    with pytest.raises(ValueError, match="constant on the test rows"):
        linear_r2(z, f, z, np.ones((20, 2)))
    with pytest.raises(ValueError, match="n_neighbors is 21"):
        knn_r2(z, f, z, f, n_neighbors=21)


def test_circular_columns() -> None:
    np.testing.assert_allclose(
        circular_columns(np.array([0.0, 90.0, 180.0, 450.0])), [[1, 0], [0, 1], [-1, 0], [0, 1]], atol=1e-12
    )


GRID = np.arange(0, 360, 3)


def curve(angle: Array | float) -> Array:
    """Return a latent curve without any rotational symmetry, and with an offset."""
    t = np.deg2rad(angle)
    return np.column_stack([np.cos(t) + 0.3 * np.cos(2 * t), np.sin(t), 4 + 0 * t])


def test_shifts_are_where_an_item_lies_ahead_of_the_first() -> None:
    true = np.array([0.0, 30.0, 357.0, 180.0])
    curves = np.stack([curve(GRID - shift) for shift in true])
    np.testing.assert_allclose(angle_shifts(curves), true)
    # Item 1 at 70 degrees has the latent of item 0 at 40 degrees.
    np.testing.assert_allclose(curve(70.0 - 30.0), curve(np.array([40.0])))
    np.testing.assert_allclose(align_angles(np.array([70.0, 10.0]), np.array([30.0, 30.0])), [40.0, 340.0])


def test_shifts_equal_the_definition() -> None:
    curves = np.random.default_rng(0).standard_normal((6, 24, 2))
    centered = curves - curves.mean(axis=1, keepdims=True)
    products = [[(c * np.roll(centered[0], lag, axis=0)).sum() for lag in range(24)] for c in centered]
    np.testing.assert_allclose(angle_shifts(curves), np.argmax(products, axis=1) * 15.0)
    assert len(set(angle_shifts(curves))) > 3


def test_shifts_ignore_offset_and_scale_and_ties_take_the_smallest() -> None:
    curves = np.stack([curve(GRID), 2 * curve(GRID - 60.0) + 100.0])
    np.testing.assert_allclose(angle_shifts(curves), [0.0, 60.0])
    true = np.arange(0, 180, 3)
    twice = np.stack([circular_columns(2 * (GRID - shift)) for shift in true])
    np.testing.assert_allclose(angle_shifts(twice), true)


def test_shift_errors() -> None:
    with pytest.raises(ValueError, match=r"curves has shape \(3, 4\)"):
        angle_shifts(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="first item's curve is constant"):
        angle_shifts(np.full((2, 10, 2), 0.1))
