"""Rotations of images, many at once: each is a sparse linear map of pixels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import cosdg, sindg

from viewsplice._types import Array

# Pixels rotated at once: their operator, four entries per pixel, takes 1.6 MB and stays in the cache.
_CHUNK_PIXELS = 64 * 28 * 28


def rotate_images(images: Array, degrees: Any) -> Array:
    """Rotate images counter-clockwise about their centers, with bilinear interpolation and zeros outside.

    Output pixel (r, c) takes the value at the point that the rotation carries to it: row y + dx sin t + dy cos t,
    column x + dx cos t - dy sin t, where (y, x) is the center ((height - 1) / 2, (width - 1) / 2), dx = c - x and
    dy = r - y. Rotations of square images by multiples of 90 degrees are exact.

    Parameters
    ----------
    images
        (n, height, width) or (n, height, width, channels).
    degrees
        One angle per image, (n,), or one for all, which is many times faster.

    Returns
    -------
    ndarray
        Rotated images of the same shape, float64 where the input is, else float32.
    """
    images, degrees = np.asarray(images), np.asarray(degrees, dtype=np.float64)
    if images.ndim not in (3, 4):
        raise ValueError(
            f"images have shape {images.shape}; expected (n, height, width) or (n, height, width, channels)"
        )
    if degrees.shape not in ((), images.shape[:1]):
        raise ValueError(f"degrees have shape {degrees.shape}; expected one angle, or one per image: ({len(images)},)")
    if not np.isfinite(degrees).all():
        raise ValueError("degrees hold NaN or infinity; expected finite angles")
    dtype = np.dtype(np.float64 if images.dtype == np.float64 else np.float32)
    height, width = images.shape[1:3]
    n_pixels, n_channels = height * width, math.prod(images.shape[3:])
    rotated = np.empty((len(images), n_pixels, n_channels), dtype)
    one_for_all = None if degrees.ndim else _rotations(degrees[None], height, width, dtype)
    n_chunk = max(1, _CHUNK_PIXELS // max(1, n_pixels))
    for chunk in (slice(i, i + n_chunk) for i in range(0, len(images), n_chunk)):
        pixels = images[chunk].astype(dtype, copy=False).reshape(-1, n_pixels, n_channels)
        if one_for_all is None:
            turn = _rotations(degrees[chunk], height, width, dtype)
            rotated[chunk] = (turn @ pixels.reshape(-1, n_channels)).reshape(pixels.shape)
        else:
            by_pixel = pixels.transpose(1, 0, 2)
            turned = (one_for_all @ by_pixel.reshape(n_pixels, -1)).reshape(by_pixel.shape)
            rotated[chunk] = turned.transpose(1, 0, 2)
    return rotated.reshape(images.shape)


def _rotations(degrees: Array, height: int, width: int, dtype: np.dtype[Any]) -> Any:
    """Return the linear map that rotates the i-th of m images by the i-th angle, (m pixels, m pixels), sparse."""
    # cosdg and sindg are exact at multiples of 90 degrees, where cos and sin of radians are not.
    cos, sin = (f(degrees).astype(dtype)[:, None, None] for f in (cosdg, sindg))
    dy = (np.arange(height, dtype=dtype) - dtype.type((height - 1) / 2))[:, None]
    dx = np.arange(width, dtype=dtype) - dtype.type((width - 1) / 2)
    rows, row_weights = _neighbors(dx * sin + dy * cos + dtype.type((height - 1) / 2), height)
    columns, column_weights = _neighbors(dx * cos - dy * sin + dtype.type((width - 1) / 2), width)
    shape = (len(degrees), height, width, 4)
    indices, weights = np.empty(shape, np.int32), np.empty(shape, dtype)
    first_pixel = (np.arange(len(degrees), dtype=np.int32) * (height * width))[:, None, None]
    for corner in range(4):
        i, j = divmod(corner, 2)
        np.add(rows[i] * np.int32(width) + first_pixel, columns[j], out=indices[..., corner])
        np.multiply(row_weights[i], column_weights[j], out=weights[..., corner])
    n = len(degrees) * height * width
    return csr_array((weights.ravel(), indices.ravel(), np.arange(0, 4 * n + 1, 4, dtype=np.int32)), shape=(n, n))


def _neighbors(position: Array, size: int) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return the two pixels around each position along one axis, and their weights: 0 for one that does not exist."""
    floor = np.floor(position)
    upper = position - floor
    low = floor.astype(np.int32)
    high = low + np.int32(1)
    weights = ((1 - upper) * ((low >= 0) & (low < size)), upper * ((high >= 0) & (high < size)))
    return (np.clip(low, 0, size - 1), np.clip(high, 0, size - 1)), weights
