"""Three toys that fit in seconds: two rings, a sheet with lines, and a linear-Gaussian one.

The responses to the shared and to the private factors are added, so that the geometry of each submanifold is exactly
that of its own part.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from viewsplice._random import RandomState, numpy_generator, root_seed
from viewsplice._types import Array
from viewsplice.datasets.base import MultiViewData, mix_parts, random_split
from viewsplice.views import Views

_NAMES = ("A", "B")
_HARMONICS = (1.0, 0.5, 0.25)
_SHEET = (1.5, 1.0)
_SHEET_WIDTH = 0.3
_LINE_WIDTH = 0.15
# Multiples of these fill the unit square evenly (the two-dimensional golden ratio), for any number of points.
_EVEN_STEPS = (0.7548776662466927, 0.5698402909980532)


def two_rings(
    n_samples: int = 2000,
    n_features: int = 30,
    noise: float = 0.0,
    random_state: RandomState = 0,
    *,
    private_to_shared: float = 1.0,
) -> MultiViewData:
    """Return two views of one shared angle, each with a private angle of its own.

    Each angle t is embedded as (cos t, sin t, cos(2t)/2, sin(2t)/2, cos(3t)/4, sin(3t)/4), which moves at constant
    speed, and turned into the view by orthonormal loadings: geodesics along a submanifold are arcs of a true ring.

    Parameters
    ----------
    n_samples, n_features
        Rows, and features of each view (at least 12).
    noise
        Noise variance as a fraction of the mean signal variance.
    random_state
        Seed of factors, loadings, noise and split.
    private_to_shared
        Ratio of the variances of the two parts, averaged over features.

    Returns
    -------
    MultiViewData
        Shared factor "angle" and one private "angle" per view, in degrees from 0 to 360.
    """
    seed = root_seed(random_state)
    shared = numpy_generator(seed, "two_rings", "shared").uniform(0, 360, n_samples)
    private = {name: numpy_generator(seed, "two_rings", name).uniform(0, 360, n_samples) for name in _NAMES}
    width = 2 * len(_HARMONICS)
    parts = {}
    for name in _NAMES:
        loadings = _orthonormal(2 * width, n_features, numpy_generator(seed, "two_rings", name, "loadings"))
        parts[name] = (_ring(shared) @ loadings[:width], _ring(private[name]) @ loadings[width:])
    return MultiViewData(
        views=_views(parts, private_to_shared, noise, seed),
        shared={"angle": shared},
        private={name: {"angle": angle} for name, angle in private.items()},
        groups=None,
        split=random_split(n_samples, generator=numpy_generator(seed, "split")),
    )


def sheet_and_lines(
    n_samples: int = 2000,
    n_features: int = 40,
    noise: float = 0.0,
    random_state: RandomState = 0,
    *,
    private_to_shared: float = 1.0,
) -> MultiViewData:
    """Return two populations that see a point on a shared sheet, each with a private position on a line.

    A neuron responds with a Gaussian bump of the point (x, y) plus one of the position p, as in a small LGN-V1
    simulation. Bumps are as wide as they are apart, and their centers reach beyond the border by one width: the
    geodesic geometry of the sheet is nearly that of the rectangle.

    Parameters
    ----------
    n_samples, n_features
        Rows, and neurons of each view (below about 30 the sheet gets visibly uneven).
    noise
        Noise variance as a fraction of the mean signal variance.
    random_state
        Seed of factors, bumps, noise and split.
    private_to_shared
        Ratio of the variances of the two parts, averaged over features.

    Returns
    -------
    MultiViewData
        Shared factors "x" on [0, 1.5] and "y" on [0, 1], one private "position" on [0, 1] per view.
    """
    seed = root_seed(random_state)
    point = numpy_generator(seed, "sheet_and_lines", "shared").uniform(size=(n_samples, 2)) * _SHEET
    private = {name: numpy_generator(seed, "sheet_and_lines", name).uniform(size=n_samples) for name in _NAMES}
    parts = {}
    for name in _NAMES:
        generator = numpy_generator(seed, "sheet_and_lines", name, "bumps")
        sheet_centers = _even_points(n_features, generator) * (np.array(_SHEET) + 2 * _SHEET_WIDTH) - _SHEET_WIDTH
        line_centers = generator.permutation(np.linspace(-_LINE_WIDTH, 1 + _LINE_WIDTH, n_features))[:, None]
        parts[name] = (
            _bumps(point, sheet_centers, _SHEET_WIDTH),
            _bumps(private[name][:, None], line_centers, _LINE_WIDTH),
        )
    return MultiViewData(
        views=_views(parts, private_to_shared, noise, seed),
        shared={"x": point[:, 0], "y": point[:, 1]},
        private={name: {"position": position} for name, position in private.items()},
        groups=None,
        split=random_split(n_samples, generator=numpy_generator(seed, "split")),
    )


def linear_gaussian(
    n_samples: int = 1000,
    n_features: int = 20,
    noise: float = 0.0,
    random_state: RandomState = 0,
    *,
    n_shared: int = 2,
    n_private: tuple[int, int] = (1, 1),
    private_to_shared: float = 1.0,
) -> MultiViewData:
    """Return two linear views x_v = S_v s + Z_v z_v + noise of independent standard normal factors.

    Parameters
    ----------
    n_samples, n_features
        Rows, and features of each view (at least the number of its factors).
    noise
        Noise variance as a fraction of the mean signal variance.
    random_state
        Seed of factors, loadings, noise and split.
    n_shared, n_private
        Number of shared factors, and of private factors of A and of B; 0 is allowed.
    private_to_shared
        Ratio of the variances of the two parts, averaged over features.

    Returns
    -------
    MultiViewData
        Shared factors "s0", "s1", ..., private factors "z0", "z1", ...; ``details`` has the orthonormal loadings
        "A_loadings" and "B_loadings", (factors, n_features), rows of S_v before those of Z_v.
    """
    seed = root_seed(random_state)
    s = numpy_generator(seed, "linear_gaussian", "shared").standard_normal((n_samples, n_shared))
    widths = dict(zip(_NAMES, n_private, strict=True))
    parts, private, loadings = {}, {}, {}
    for name, width in widths.items():
        z = numpy_generator(seed, "linear_gaussian", name).standard_normal((n_samples, width))
        frame = _orthonormal(n_shared + width, n_features, numpy_generator(seed, "linear_gaussian", name, "loadings"))
        parts[name] = (s @ frame[:n_shared], z @ frame[n_shared:])
        private[name] = {f"z{i}": z[:, i] for i in range(width)}
        loadings[f"{name}_loadings"] = frame
    return MultiViewData(
        views=_views(parts, private_to_shared, noise, seed),
        shared={f"s{i}": s[:, i] for i in range(n_shared)},
        private=private,
        groups=None,
        split=random_split(n_samples, generator=numpy_generator(seed, "split")),
        details=loadings,
    )


def _views(parts: Mapping[str, tuple[Array, Array]], private_to_shared: float, noise: float, seed: int) -> Views:
    """Return the views mixed from their shared and private parts."""
    return Views(
        {
            name: mix_parts(
                shared,
                private,
                private_to_shared=private_to_shared,
                noise=noise,
                generator=numpy_generator(seed, name, "noise"),
            )
            for name, (shared, private) in parts.items()
        }
    )


def _ring(angle_degrees: Array) -> Array:
    """Return the harmonics of an angle, (n, 2 per harmonic)."""
    angle = np.deg2rad(angle_degrees)
    columns = [
        amplitude * wave(order * angle)
        for order, amplitude in enumerate(_HARMONICS, start=1)
        for wave in (np.cos, np.sin)
    ]
    return np.column_stack(columns)


def _orthonormal(n_rows: int, n_columns: int, generator: np.random.Generator) -> Array:
    """Return random orthonormal rows, (n_rows, n_columns)."""
    if n_rows > n_columns:
        raise ValueError(f"n_features is {n_columns}; expected at least {n_rows}, one per loading")
    result: Array = np.linalg.qr(generator.standard_normal((n_columns, n_rows)))[0].T
    return result


def _even_points(n: int, generator: np.random.Generator) -> Array:
    """Return evenly spread points of the unit square with a random shift, (n, 2)."""
    points: Array = (generator.uniform(size=2) + np.arange(n)[:, None] * np.array(_EVEN_STEPS)) % 1
    return points


def _bumps(points: Array, centers: Array, width: float) -> Array:
    """Return exp(-||p - c||² / (2 width²)), (n, centers)."""
    squared = ((points[:, None] - centers) ** 2).sum(axis=-1)
    result: Array = np.exp(-squared / (2 * width**2))
    return result
