"""Between the user's units and the networks': per-view centering and one scale, with the exact inverse."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from viewsplice._types import Array, Shape
from viewsplice.views import row_blocks


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Maps one view to flat float32 rows with zero mean and unit mean feature variance, and back.

    One scale per view, not one per feature: relative sizes of features carry meaning (distances along a submanifold
    are distances in the user's space up to this one factor).

    Attributes
    ----------
    mean
        Mean of each feature over the training rows, (features,).
    scale
        sqrt(V / features), V the total variance over the training rows.
    shape, dtype
        Shape of one row and floating type in the user's data, restored by `inverse`.
    """

    mean: Array
    scale: float
    shape: Shape
    dtype: str

    @classmethod
    def fit(cls, x: Array, rows: Array, name: str) -> Standardizer:
        """Return the standardizer of view ``x`` with statistics of the given rows; ``name`` is for messages."""
        n_features = math.prod(x.shape[1:])
        mean, variance = _moments(x, rows)
        if not math.isfinite(variance):
            raise ValueError(f"view {name!r} has values too large for its variance to be computed: rescale it")
        # Less than the last place of the mean is rounding, not variation.
        rounding = (np.finfo(np.float64).eps * float(np.abs(mean).max())) ** 2 * n_features
        if variance <= 4 * rounding:
            raise ValueError(f"view {name!r} is constant: all {len(rows)} training rows are equal; expected variation")
        dtype = np.dtype(np.float32) if x.dtype == np.float32 else np.dtype(np.float64)
        return cls(mean=mean, scale=math.sqrt(variance / n_features), shape=x.shape[1:], dtype=dtype.name)

    @property
    def n_features(self) -> int:
        """Number of values in one row."""
        return len(self.mean)

    def write(self, x: Array, out: Array) -> None:
        """Write standardized rows of ``x`` into ``out``, (n, features) float32, block by block."""
        for block in row_blocks(len(x), self.n_features):
            flat = x[block].reshape(-1, self.n_features)
            with np.errstate(over="ignore"):
                out[block] = (flat.astype(np.float64) - self.mean) / self.scale
            if not np.isfinite(out[block]).all():
                raise ValueError("values are too far from the fitted data for 32-bit numbers; expected similar ones")

    def forward(self, x: Array) -> Tensor:
        """Return standardized flat rows, (n, features)."""
        out = np.empty((len(x), self.n_features), dtype=np.float32)
        self.write(x, out)
        return torch.from_numpy(out)

    def inverse(self, x: Array) -> Array:
        """Return rows in the user's units and shape."""
        values = x.astype(np.float64) * self.scale + self.mean
        return values.astype(self.dtype).reshape(-1, *self.shape)


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
