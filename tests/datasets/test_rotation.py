"""Rotations are true rotations, however many images are turned at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from viewsplice._types import Array
from viewsplice.datasets import mnist, rotate_images

Rotation = Callable[[Array, float], Array]


@pytest.mark.parametrize("turns", range(-4, 6))
@pytest.mark.parametrize("side", [28, 5])
def test_quarter_turns_are_exact_and_counter_clockwise(turns: int, side: int) -> None:
    images = np.random.default_rng(0).uniform(size=(3, side, side)).astype(np.float32)
    expected = np.rot90(images, turns, axes=(1, 2))
    np.testing.assert_array_equal(rotate_images(images, 90.0 * turns), expected)
    np.testing.assert_array_equal(rotate_images(images, np.full(3, 90.0 * turns)), expected)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-12)])
@pytest.mark.parametrize("shape", [(150, 28, 28), (150, 7, 12), (30, 64, 64), (2, 300, 200)], ids=str)
def test_rotations_equal_scipy(
    shape: tuple[int, int, int], dtype: Any, tolerance: float, reference_rotation: Rotation
) -> None:
    rng = np.random.default_rng(1)
    images, degrees = rng.normal(size=shape).astype(dtype), rng.uniform(-400, 800, shape[0])
    rotated = rotate_images(images, degrees)
    assert rotated.dtype == dtype
    expected = [reference_rotation(image, angle) for image, angle in zip(images, degrees, strict=True)]
    np.testing.assert_allclose(rotated, np.stack(expected), atol=tolerance * max(1, max(shape[1:]) / 28))


@pytest.mark.parametrize("n", [1, 64, 696, 697, 1400])  # 696 of these images are turned at once
def test_one_angle_for_all_equals_the_same_angle_for_each(n: int) -> None:
    images = np.random.default_rng(2).normal(size=(n, 9, 8, 3))
    np.testing.assert_allclose(rotate_images(images, 33.0), rotate_images(images, np.full(n, 33.0)), rtol=1e-12)


@pytest.mark.parametrize("degrees", [71.0, np.array([10.0, 200.0])], ids=["one", "each"])
def test_channels_rotate_alike(degrees: Any) -> None:
    images = np.random.default_rng(3).normal(size=(2, 6, 9, 3))
    rotated = rotate_images(images, degrees)
    for channel in range(3):
        np.testing.assert_allclose(rotated[..., channel], rotate_images(images[..., channel], degrees), rtol=1e-12)


def test_what_leaves_the_image_is_lost_and_zeros_come_in() -> None:
    rotated = rotate_images(np.ones((1, 28, 28)), 45)[0]
    corners = rotated[[0, 0, -1, -1], [0, -1, 0, -1]]
    np.testing.assert_array_equal(corners, 0)
    np.testing.assert_allclose(rotated[9:19, 9:19], 1, rtol=1e-12)


def test_integers_become_float32_and_the_input_stays() -> None:
    images = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
    before = images.copy()
    rotated = rotate_images(images, [0, 180])
    assert rotated.dtype == np.float32
    np.testing.assert_array_equal(rotated, [before[0], before[1, ::-1, ::-1]])
    np.testing.assert_array_equal(images, before)
    assert rotate_images(images[:0], []).shape == (0, 3, 3)


@pytest.mark.parametrize(
    ("shape", "degrees", "message"),
    [
        ((28, 28), 0.0, r"images have shape \(28, 28\); expected \(n, height, width\)"),
        ((2, 4, 4), [1.0, 2.0, 3.0], r"degrees have shape \(3,\); expected one angle, or one per image: \(2,\)"),
        ((2, 4, 4), [[1.0], [2.0]], r"degrees have shape \(2, 1\)"),
        ((2, 4, 4), [1.0, np.nan], "NaN or infinity"),
        ((2, 4, 4), np.inf, "NaN or infinity"),
    ],
)
def test_bad_images_and_angles_raise(shape: tuple[int, ...], degrees: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rotate_images(np.zeros(shape), degrees)


def test_there_is_one_rotation() -> None:
    assert mnist.rotate_images is rotate_images


def test_no_images() -> None:
    assert rotate_images(np.zeros((0, 4, 4)), []).shape == (0, 4, 4)
