"""Between the user's units and the networks': per-view centering, one scale and, if asked, principal axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from viewsplice._random import numpy_generator
from viewsplice._types import Array, Shape
from viewsplice.views import row_blocks

# Up to this many features the axes are exact; beyond, a randomized search finds at most _MOST_AXES leading ones.
_EXACT_FEATURES = 2048
_MOST_AXES = 1536
_ROWS_PER_AXIS = 4


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Maps one view to flat float32 rows with zero mean and unit mean feature variance, and back.

    One scale per view, not one per feature: relative sizes of features carry meaning (distances along a submanifold
    are distances in the user's space up to this one factor). Principal axes turn and cut, but do not stretch: all
    distances among what they keep stay as they are.

    Attributes
    ----------
    mean
        Mean of each feature over the training rows, (features,).
    scale
        sqrt(V / features), V the total variance over the training rows.
    shape, dtype
        Shape of one row and floating type in the user's data, restored by `inverse`.
    axes
        Orthonormal axes (features, outputs) that rows are turned to, or None.
    retained
        Fraction of the training rows' variance along the axes.
    """

    mean: Array
    scale: float
    shape: Shape
    dtype: str
    axes: Array | None = None
    retained: float = 1.0

    @classmethod
    def fit(cls, x: Array, rows: Array, name: str, *, retained_variance: float = 1.0, seed: int = 0) -> Standardizer:
        """Return the standardizer of view ``x`` with statistics of the given rows; ``name`` is for messages.

        Principal axes keep at least ``retained_variance`` of the variance (1: there are none), where that is fewer
        axes than features.
        """
        n_features = math.prod(x.shape[1:])
        mean, variance = _moments(x, rows)
        if not math.isfinite(variance):
            raise ValueError(f"view {name!r} has values too large for its variance to be computed: rescale it")
        # Less than the last place of the mean is rounding, not variation.
        rounding = (np.finfo(np.float64).eps * float(np.abs(mean).max())) ** 2 * n_features
        if variance < np.finfo(np.float64).tiny and (x[rows] != x[rows[:1]]).any():
            raise ValueError(f"view {name!r} has values too small for its variance to be computed: rescale it")
        if variance <= 4 * rounding:
            raise ValueError(f"view {name!r} is constant: all {len(rows)} training rows are equal; expected variation")
        dtype = np.dtype(np.float32) if x.dtype == np.float32 else np.dtype(np.float64)
        plain = cls(mean=mean, scale=math.sqrt(variance / n_features), shape=x.shape[1:], dtype=dtype.name)
        return plain if retained_variance >= 1 else plain._turned(x, rows, retained_variance, seed)

    def _turned(self, x: Array, rows: Array, retained_variance: float, seed: int) -> Standardizer:
        """Return this standardizer with the fewest principal axes that keep so much of the variance."""
        find = _exact_axes if self.n_features <= _EXACT_FEATURES else _randomized_axes
        axes, variances = find(self, x, rows, seed)
        kept = np.cumsum(variances) / self.n_features
        n_axes = min(int(np.searchsorted(kept, retained_variance)) + 1, axes.shape[1])
        if n_axes >= self.n_features:
            return self
        leading = np.ascontiguousarray(axes[:, :n_axes], dtype=np.float32)
        return Standardizer(self.mean, self.scale, self.shape, self.dtype, leading, float(min(1.0, kept[n_axes - 1])))

    @property
    def n_features(self) -> int:
        """Number of values in one row of the user's view."""
        return len(self.mean)

    @property
    def n_outputs(self) -> int:
        """Number of values in one row that the networks see."""
        return self.n_features if self.axes is None else int(self.axes.shape[1])

    @property
    def network_shape(self) -> Shape:
        """Shape of one row as the networks see it: the user's, or flat along principal axes."""
        return self.shape if self.axes is None else (self.n_outputs,)

    def write(self, x: Array, out: Array) -> None:
        """Write standardized rows of ``x`` into ``out``, (n, outputs) float32, block by block."""
        for block in row_blocks(len(x), self.n_features):
            rows = self._centered(x[block])
            out[block] = rows if self.axes is None else rows @ self.axes
            if not np.isfinite(out[block]).all():
                raise ValueError("values are too far from the fitted data for 32-bit numbers; expected similar ones")

    def _centered(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            flat = (x.reshape(-1, self.n_features).astype(np.float64) - self.mean) / self.scale
            return flat.astype(np.float32)

    def forward(self, x: Array) -> Tensor:
        """Return standardized flat rows, (n, outputs)."""
        out = np.empty((len(x), self.n_outputs), dtype=np.float32)
        self.write(x, out)
        return torch.from_numpy(out)

    def inverse(self, x: Array) -> Array:
        """Return rows in the user's units and shape."""
        flat = x if self.axes is None else x @ self.axes.T
        values = flat.astype(np.float64) * self.scale + self.mean
        return values.astype(self.dtype).reshape(-1, *self.shape)


def most_outputs(n_features: int, retained_variance: float) -> int:
    """Return how many values one row can have for the networks, at most, before any data are read."""
    is_searched = retained_variance < 1 and n_features > _EXACT_FEATURES
    return _MOST_AXES if is_searched else n_features


def _exact_axes(plain: Standardizer, x: Array, rows: Array, seed: int) -> tuple[Array, Array]:
    """Return all principal axes as columns, and the variance along each, largest first."""
    covariance = np.zeros((plain.n_features, plain.n_features))
    for block in row_blocks(len(rows), plain.n_features):
        centered = plain._centered(x[rows[block]]).astype(np.float64)
        covariance += centered.T @ centered / len(rows)
    variances, axes = np.linalg.eigh(covariance)
    return axes[:, ::-1], np.maximum(variances[::-1], 0.0)


def _randomized_axes(plain: Standardizer, x: Array, rows: Array, seed: int) -> tuple[Array, Array]:
    """Return leading principal axes of a wide view, by one power iteration on random directions.

    The covariance of 12,288 features would take 1.2 GB, and minutes to decompose; this takes passes over the rows: two
    over some of them, which find the directions, and one over all, which measures the variance along each.
    """
    generator = numpy_generator(seed, "axes")
    n_axes = min(_MOST_AXES, len(rows) - 1, plain.n_features)
    directions = generator.normal(size=(plain.n_features, n_axes)).astype(np.float32)
    some = np.sort(generator.permutation(rows)[: _ROWS_PER_AXIS * n_axes])
    for _ in range(2):
        directions = np.linalg.qr(_covariance_times(plain, x, some, directions))[0]
    small = directions.T @ _covariance_times(plain, x, rows, directions)
    variances, turn = np.linalg.eigh((small + small.T).astype(np.float64) / 2)
    return directions @ turn[:, ::-1].astype(np.float32), np.maximum(variances[::-1], 0.0)


def _covariance_times(plain: Standardizer, x: Array, rows: Array, directions: Array) -> Array:
    product = np.zeros_like(directions)
    for block in row_blocks(len(rows), plain.n_features):
        centered = plain._centered(x[rows[block]])
        product += centered.T @ (centered @ directions) / np.float32(len(rows))
    return product


def _moments(x: Array, rows: Array) -> tuple[Array, float]:
    """Return the mean of each feature and the total variance over some rows.

    Sums are of differences to the first row, so that equal rows have variance 0 exactly, whatever their value.
    """
    n_features = math.prod(x.shape[1:])
    origin = x[rows[0]].reshape(n_features).astype(np.float64)
    shift, variance = np.zeros(n_features), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for block in row_blocks(len(rows), n_features):
            shift += (x[rows[block]].reshape(-1, n_features) - origin).sum(axis=0) / len(rows)
        for block in row_blocks(len(rows), n_features):
            deviation = x[rows[block]].reshape(-1, n_features) - origin - shift
            variance += float(np.einsum("ij,ij->", deviation, deviation)) / len(rows)
    return origin + shift, variance
