"""A rotation by SciPy, to compare rotated data sets with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.ndimage import affine_transform

from viewsplice._types import Array


def rotate(image: Array, degrees: float) -> Array:
    """Return SciPy's rotation: output pixel p takes the value at center + M (p - center)."""
    t = np.deg2rad(degrees)
    matrix = np.array([[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]])  # axes are (row, column)
    center = (np.array(image.shape) - 1) / 2
    return affine_transform(image, matrix, offset=center - matrix @ center, order=1, mode="grid-constant")


@pytest.fixture(scope="session")
def reference_rotation() -> Callable[[Array, float], Array]:
    return rotate
