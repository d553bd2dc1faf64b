"""Explained variance: values by hand, invariances, window edges, and spaces that collapsed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import ortho_group

from viewsplice._types import Array
from viewsplice.metrics import (
    is_collapsed,
    latent_spread,
    reconstruction_r2,
    sd_explained_by_angle,
    sd_explained_by_label,
    variance_by_dimension,
    variance_explained_by_angle,
    variance_explained_by_label,
)

Score = Callable[..., float]
BY_ANGLE: list[Score] = [variance_explained_by_angle, sd_explained_by_angle]
ALL = [*BY_ANGLE, variance_explained_by_label, sd_explained_by_label]
SIX = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
ANGLES = np.array([0.0, 1.0, 1.9, 10.0, 10.5, 11.9])
# Squared deviations from the mean 6: 36 + 25 + 16 + 16 + 25 + 36 = 154, over 5; each window has variance 1.
TOTAL = 154 / 5


def ring(n: int = 20000, seed: int = 0) -> tuple[Array, Array]:
    angle = np.random.default_rng(seed).uniform(0, 360, n)
    return angle, np.column_stack([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))])


def test_values_by_hand() -> None:
    assert variance_explained_by_angle(SIX, ANGLES) == pytest.approx(1 - 1 / TOTAL)
    assert sd_explained_by_angle(SIX, ANGLES) == pytest.approx(1 - 1 / np.sqrt(TOTAL))
    labels = np.array(["a"] * 3 + ["b"] * 3)
    assert variance_explained_by_label(SIX, labels) == pytest.approx(1 - 1 / TOTAL)
    assert sd_explained_by_label(SIX, labels) == pytest.approx(1 - 1 / np.sqrt(TOTAL))


def test_dimensions_are_summed_before_dividing() -> None:
    latents = np.column_stack([SIX[:, 0], [0.0, 2.0, 4.0, 0.0, 2.0, 4.0]])
    # Second dimension: variance 4 in each window; squared deviations 4 + 0 + 4 twice = 16, over 5, overall.
    labels = np.repeat([0, 1], 3)
    assert variance_explained_by_label(latents, labels) == pytest.approx(1 - 5 / (TOTAL + 16 / 5))
    expected = 1 - 3 / (np.sqrt(TOTAL) + np.sqrt(16 / 5))
    assert sd_explained_by_label(latents, labels) == pytest.approx(expected)


def test_windows_count_equally_whatever_their_size() -> None:
    latents = np.array([[-1.0], [0.0], [1.0], [-3.0], [-1.0], [1.0], [3.0]])
    # Variances 1 and 20/3; overall: mean 0, squares 22, over 6.
    expected = 1 - (1 + 20 / 3) / 2 / (22 / 6)
    assert variance_explained_by_label(latents, np.repeat([5, 9], [3, 4])) == pytest.approx(expected)


def test_small_windows_are_skipped() -> None:
    latents, labels = np.vstack([SIX, [[6.0], [6.0]]]), np.array([0, 0, 0, 1, 1, 1, 2, 2])
    assert variance_explained_by_label(latents, labels) == pytest.approx(1 - 1 / (154 / 7))
    # With the window of two equal rows the mean of the windows is 2/3.
    assert variance_explained_by_label(latents, labels, min_rows=2) == pytest.approx(1 - (2 / 3) / (154 / 7))


def test_windows_are_half_open_and_have_the_width_asked_for() -> None:
    edge = np.array([0.0, 1.0, 2.0, 2.0, 3.0, 3.9])
    # 2.0 belongs to [2, 4): four rows 2, 10, 11, 12 there, two rows (skipped) in [0, 2).
    window = np.array([2.0, 10.0, 11.0, 12.0])
    assert variance_explained_by_angle(SIX, edge) == pytest.approx(1 - window.var(ddof=1) / TOTAL)
    assert variance_explained_by_angle(SIX, edge, width=4.0) == pytest.approx(0.0)


@pytest.mark.parametrize("function", BY_ANGLE)
@pytest.mark.parametrize("turn", [360.0, -360.0, 720.0])
def test_angles_wrap(function: Score, turn: float) -> None:
    moved = ANGLES + np.array([turn, 0, 0, 0, turn, 0])
    assert function(SIX, moved) == pytest.approx(function(SIX, ANGLES))


def test_zero_and_360_are_one_window_and_just_below_is_another() -> None:
    latents, angles = np.array([[0.0], [3.0], [6.0], [10.0], [11.0], [12.0]]), [0.0, 360.0, -1e-20, 358.0, -0.5, 359.9]
    # Variances 9 and 1; the mean is 7, squared deviations 49 + 16 + 1 + 9 + 16 + 25 = 116, over 5.
    assert variance_explained_by_angle(latents, angles) == pytest.approx(1 - 5 / (116 / 5))


@pytest.mark.parametrize("function", BY_ANGLE)
def test_perfect_noise_and_shuffled_codes(function: Score) -> None:
    angle, code = ring()
    generator = np.random.default_rng(1)
    assert function(code, angle) > 0.98
    assert abs(function(generator.standard_normal((20000, 2)), angle)) < 0.02
    assert abs(function(code, generator.permutation(angle))) < 0.02


@pytest.mark.parametrize("function", [variance_explained_by_label, sd_explained_by_label])
def test_a_code_that_is_constant_per_label_is_perfect(function: Score) -> None:
    labels = np.repeat(np.arange(50), 4)
    generator = np.random.default_rng(0)
    assert function(generator.standard_normal((50, 3))[labels], labels) == pytest.approx(1.0)
    assert abs(function(generator.standard_normal((20000, 3)), np.arange(20000) % 100)) < 0.02


@pytest.mark.parametrize("function", ALL)
def test_duplicated_shifted_and_scaled_codes_score_the_same(function: Score) -> None:
    angle, code = ring(3000)
    code = code + np.random.default_rng(2).standard_normal(code.shape) / 3
    windows = np.floor(angle)
    expected = function(code, windows)
    assert 0.1 < expected < 0.95
    assert function(np.hstack([code, code]), windows) == pytest.approx(expected)
    assert function(5 * code - 7, windows) == pytest.approx(expected)


def test_variance_does_not_depend_on_the_axes() -> None:
    angle, code = ring(3000)
    code = np.hstack([code, np.random.default_rng(3).standard_normal((3000, 2))])
    turned = code @ ortho_group.rvs(4, random_state=np.random.default_rng(0))
    assert variance_explained_by_angle(turned, angle) == pytest.approx(variance_explained_by_angle(code, angle))
    labels = np.floor(angle / 10)
    assert variance_explained_by_label(turned, labels) == pytest.approx(variance_explained_by_label(code, labels))


@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize("value", [0.0, 0.1])
def test_no_variance_is_an_error(function: Score, value: float) -> None:
    with pytest.raises(ValueError, match="zero total variance"):
        function(np.full((6, 2), value), ANGLES)


def test_wrong_arguments_raise() -> None:
    with pytest.raises(ValueError, match=r"shape \(5,\); expected one per row: \(6,\)"):
        variance_explained_by_angle(SIX, ANGLES[:5])
    with pytest.raises(ValueError, match="min_rows is 1"):
        variance_explained_by_angle(SIX, ANGLES, min_rows=1)
    with pytest.raises(ValueError, match="no window has 3 rows"):
        variance_explained_by_label(SIX, np.arange(6))
    with pytest.raises(ValueError, match=r"latents has shape \(6,\)"):
        variance_explained_by_label(SIX[:, 0], np.arange(6))
    with pytest.raises(ValueError, match=r"latents has shape \(6, 0\)"):
        is_collapsed(SIX[:, :0])
    with pytest.raises(ValueError, match="latents has NaN"):
        variance_explained_by_label(SIX * np.nan, np.arange(6))
    with pytest.raises(ValueError, match="angle_degrees has NaN"):
        variance_explained_by_angle(SIX, ANGLES * np.nan)
    with pytest.raises(ValueError, match="latents has 1 row"):
        latent_spread(SIX[:1])


@pytest.mark.parametrize("width", [0.0, -2.0, 7.0, 400.0])
def test_widths_that_do_not_divide_the_circle_raise(width: float) -> None:
    with pytest.raises(ValueError, match="expected degrees that divide 360"):
        variance_explained_by_angle(SIX, ANGLES, width=width)


def test_spread_is_the_total_sd() -> None:
    assert latent_spread(np.array([[0.0, 0.0], [2.0, 4.0]])) == pytest.approx(np.sqrt(2 + 8))


def test_a_collapsed_space_is_reported() -> None:
    generator = np.random.default_rng(0)
    healthy = generator.standard_normal((1000, 2))
    outliers = healthy * 1e-3
    outliers[:9] = 5.0
    assert variance_explained_by_label(outliers, np.arange(1000) > 8) > 0.99
    assert is_collapsed(outliers)
    assert is_collapsed(np.full((1000, 2), 0.1))
    assert is_collapsed(np.zeros((3, 1)))
    assert is_collapsed((3.0 + 1e-8 * healthy).astype(np.float32))


def test_a_healthy_space_is_not_reported() -> None:
    generator = np.random.default_rng(0)
    healthy = generator.standard_normal((1000, 2))
    assert not is_collapsed(healthy)
    assert not is_collapsed(healthy * 1e-9)
    assert not is_collapsed(healthy + 1000.0)
    two_clusters = healthy.copy()
    two_clusters[:50] += 100.0
    assert not is_collapsed(two_clusters)
    few = np.zeros((99, 1))
    few[0] = 1.0
    assert not is_collapsed(few)


def test_reconstruction_r2_by_hand() -> None:
    x = np.array([[0.0, 10.0], [2.0, 10.0], [4.0, 16.0]])
    # Variances (ddof 0) 8/3 and 8; errors 1 in one entry of each column: mse 1/3 + 1/3.
    x_hat = x + np.array([[1.0, 0.0], [0.0, -1.0], [0.0, 0.0]])
    assert reconstruction_r2(x, x_hat) == pytest.approx(1 - (2 / 3) / (32 / 3))
    assert reconstruction_r2(x, x) == 1.0
    assert reconstruction_r2(x, np.broadcast_to(x.mean(axis=0), x.shape)) == pytest.approx(0.0)


def test_reconstruction_r2_of_images_and_errors() -> None:
    images = np.random.default_rng(0).standard_normal((5, 3, 4, 4))
    flat = images.reshape(5, -1)
    assert reconstruction_r2(images, 0.5 * images) == pytest.approx(reconstruction_r2(flat, 0.5 * flat))
    with pytest.raises(ValueError, match="x_hat has shape"):
        reconstruction_r2(images, flat)
    with pytest.raises(ValueError, match="x is constant"):
        reconstruction_r2(np.ones((3, 2)), np.zeros((3, 2)))


def test_shares_of_principal_dimensions_add_up_to_the_scores_of_the_space() -> None:
    angle, plane = ring(4000)
    generator = np.random.default_rng(1)
    # Variances 0.5 and 0.5 of the ring, 0.25 of noise: shares 0.4, 0.4, 0.2, of which the angle explains the first two.
    latents = np.column_stack([plane, 0.5 * generator.normal(size=4000)]) @ ortho_group.rvs(3, random_state=0)
    shares, unrelated = variance_by_dimension(latents, angle)
    assert shares == pytest.approx([0.4, 0.4, 0.2], abs=0.02)
    assert unrelated == pytest.approx([0.0, 0.0, 0.2], abs=0.02)
    assert shares.sum() == pytest.approx(1)
    assert unrelated.sum() == pytest.approx(1 - variance_explained_by_angle(latents, angle))


def test_shares_of_a_collapsed_space_are_refused() -> None:
    with pytest.raises(ValueError, match="zero total variance"):
        variance_by_dimension(np.full((6, 2), 0.1), ANGLES)
