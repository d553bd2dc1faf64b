"""Spectrum, effective dimension, and the width at which a curve saturates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ortho_group

from viewsplice.metrics import covariance_spectrum, effective_dimension_of, saturation

CROSS = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


def test_spectrum_by_hand() -> None:
    np.testing.assert_allclose(covariance_spectrum(CROSS + 5), [18 / 3, 2 / 3])


def test_spectrum_does_not_depend_on_the_axes() -> None:
    z = np.random.default_rng(0).standard_normal((200, 3)) * [3, 2, 0.1]
    turned = z @ ortho_group.rvs(3, random_state=np.random.default_rng(1))
    np.testing.assert_allclose(covariance_spectrum(turned), covariance_spectrum(z))


def test_effective_dimension_counts_eigenvalues_above_the_threshold() -> None:
    assert effective_dimension_of(CROSS) == 2
    assert effective_dimension_of(CROSS, threshold=0.12) == 1
    assert effective_dimension_of(CROSS * [1.0, 0.6]) == 1
    assert effective_dimension_of(np.hstack([CROSS, CROSS])) == 2
    assert effective_dimension_of(np.zeros((4, 2))) == 0


def test_saturation_within_one_hundredth() -> None:
    widths, zero = [1, 2, 3, 4], [0.0] * 4
    assert saturation(widths, [0.5, 0.94, 0.949, 0.95], zero) == 2
    assert saturation(widths, [0.5, 0.93, 0.949, 0.95], zero) == 3
    assert saturation(widths, [0.2, 0.4, 0.6, 0.8], zero) == 4
    # 0.1 - 0.01 is a little above 0.09 in floating point.
    assert saturation([1, 2], [0.09, 0.1], [0.0, 0.0]) == 1


def test_saturation_within_one_sem_of_the_best() -> None:
    scores = [0.5, 0.9, 0.93, 0.95]
    assert saturation([1, 2, 3, 4], scores, [0.0, 0.0, 0.0, 0.06]) == 2
    assert saturation([1, 2, 3, 4], scores, [0.5, 0.5, 0.5, 0.0]) == 4


def test_saturation_takes_widths_in_any_order() -> None:
    assert saturation([8, 2, 4], [0.9, 0.895, 0.899], [0.0] * 3) == 2


def test_dimension_errors() -> None:
    with pytest.raises(ValueError, match="latents has 1 row"):
        covariance_spectrum(CROSS[:1])
    with pytest.raises(ValueError, match="expected equally many"):
        saturation([1, 2], [0.1], [0.0])
    with pytest.raises(ValueError, match="expected equally many"):
        saturation([], [], [])
    with pytest.raises(ValueError, match="pass an SEM of 0"):
        saturation([1, 2], [0.1, 0.2], [0.0, np.nan])
