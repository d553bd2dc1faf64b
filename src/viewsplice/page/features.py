"""Features inside the page: 8-bit coefficients of principal components, or 8-bit values of all or some rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewsplice._random import numpy_generator
from viewsplice._types import Array
from viewsplice.page.blocks import Blocks
from viewsplice.page.content import Content
from viewsplice.views import row_blocks

# Bytes for the features of all views, so that a page of 20,000 rows and 1,200 features stays below 8 MB.
_BUDGET = 3_200_000
_MOST_COMPONENTS = 128
_ENOUGH_R2 = 0.9
_LEAST_ROWS = 500
_ROWS_FOR_AXES = 2_000


def features(content: Content, blocks: Blocks) -> list[dict[str, Any]]:
    """Return what the page needs to color by any single feature of any view."""
    budget = _BUDGET // len(content.views.names)
    return [_of_view(content, view, budget, blocks) for view in content.views.names]


def _of_view(content: Content, view: str, budget: int, blocks: Blocks) -> dict[str, Any]:
    x = content.views[view]
    n_features, n_rows = content.model.n_features_in_[view], len(content.drawn)
    told = {"view": view, "n_features": n_features, "names": _names(content, view), **_shares(content, view, blocks)}
    if n_rows * n_features <= budget:
        return told | _values(x, content.drawn, None, blocks)
    n_components = min(_MOST_COMPONENTS, n_features, budget // (n_rows + n_features))
    n_kept = min(n_rows, budget // n_features)
    if n_components:
        coded = Components(x, content.drawn, n_components)
        if coded.total_r2 >= _ENOUGH_R2 or n_kept < _LEAST_ROWS:
            return told | coded.embed(blocks)
    kept = np.sort(numpy_generator(0, "rows with features").permutation(n_rows)[:n_kept])
    return told | _values(x, content.drawn, kept, blocks)


def _names(content: Content, view: str) -> list[str] | None:
    """Return what features are called: as the user says, or by their place in a picture; None for plain numbers."""
    if view in content.feature_names:
        return [str(name) for name in content.feature_names[view]]
    shape = content.views.feature_shapes[view]
    return [",".join(map(str, place)) for place in np.ndindex(*shape)] if len(shape) > 1 else None


def _shares(content: Content, view: str, blocks: Blocks) -> dict[str, Any]:
    found, parts = content.shares[view].features, content.explained_by(view)
    shares = {**{part: found[part] for part in parts}, "neither": 1 - found["rebuilt"]}
    return {"parts": parts, **{part: blocks.add(values, "f4") for part, values in shares.items()}}


def _values(x: Array, drawn: Array, kept: Array | None, blocks: Blocks) -> dict[str, Any]:
    """Return single values of all rows, or of some: 256 steps between the ends of each feature."""
    places = np.arange(len(drawn)) if kept is None else kept
    # Feature by feature, since the page asks for one feature of all rows.
    flat = x[drawn[places]].reshape(len(places), -1).T.astype(np.float64)
    low, high = flat.min(axis=1, keepdims=True), flat.max(axis=1, keepdims=True)
    span = np.where(high > low, high - low, 1.0)
    rounded = low + np.rint((flat - low) / span * 255) / 255 * span
    all_rows = f"{len(places):,} of {len(drawn):,} rows, drawn at random" if kept is not None else "all rows"
    return {
        "encoding": "values",
        "n_kept": len(places),
        "kept": None if kept is None else blocks.add(kept, "u4"),
        "lows": blocks.add(low, "f4"),
        "highs": blocks.add(high, "f4"),
        "values": blocks.add_steps(flat, low, high, "u1"),
        "r2": blocks.add(_r2(flat.var(axis=1), ((flat - rounded) ** 2).mean(axis=1)), "f4"),
        "note": f"Features are kept in 8 bits for {all_rows}.",
    }


class Components:
    """A view by its leading principal components, scores and loadings in 8 bits each."""

    def __init__(self, x: Array, rows: Array, n_components: int) -> None:
        self.mean, axes = _axes(x, rows, n_components)
        self.n_features = len(self.mean)
        scores = np.empty((len(rows), axes.shape[1]))
        for block in row_blocks(len(rows), self.n_features):
            scores[block] = _flat(x, rows[block], self.mean) @ axes
        # Each in whole steps from -127 to 127, with one factor per component.
        widest, steepest = np.abs(scores).max(axis=0), np.abs(axes).max(axis=0)
        self.scales = widest * steepest / 127**2
        self.scores = np.rint(127 * scores / np.where(widest > 0, widest, 1.0))
        self.loadings = np.rint(127 * axes / np.where(steepest > 0, steepest, 1.0))
        self.r2, self.total_r2 = self._judge(x, rows)

    def _judge(self, x: Array, rows: Array) -> tuple[Array, float]:
        """Return the R² of what the page will show, by feature and in total."""
        variance, error = np.zeros(self.n_features), np.zeros(self.n_features)
        for block in row_blocks(len(rows), self.n_features):
            truth = _flat(x, rows[block], self.mean)
            shown = (self.scores[block] * self.scales) @ self.loadings.T
            variance += (truth**2).sum(axis=0)
            error += ((truth - shown) ** 2).sum(axis=0)
        total = float(variance.sum())
        return _r2(variance, error), 1 - float(error.sum()) / total if total else 1.0

    def embed(self, blocks: Blocks) -> dict[str, Any]:
        """Return the references to everything the page needs."""
        n_components = self.scores.shape[1]
        return {
            "encoding": "components",
            "n_components": n_components,
            "means": blocks.add(self.mean, "f4"),
            "scales": blocks.add(self.scales, "f4"),
            "scores": blocks.add(self.scores.T, "i1"),
            "loadings": blocks.add(self.loadings.T, "i1"),
            "r2": blocks.add(self.r2, "f4"),
            "note": f"Features are kept as 8-bit coefficients of {n_components} principal components: "
            f"R² {self.total_r2:.3f} over all features.",
        }


def _axes(x: Array, rows: Array, n_axes: int) -> tuple[Array, Array]:
    """Return the mean of some rows and the leading principal axes, (features, axes), from at most 2,000 of them."""
    some = rows[np.linspace(0, len(rows) - 1, min(len(rows), _ROWS_FOR_AXES)).astype(int)]
    flat = x[some].reshape(len(some), -1).astype(np.float64)
    mean = flat.mean(axis=0)
    flat -= mean
    if len(flat) >= flat.shape[1]:
        return mean, np.linalg.eigh(flat.T @ flat)[1][:, ::-1][:, :n_axes]
    # Fewer rows than features: the smaller of the two products has the same axes.
    variances, left = np.linalg.eigh(flat @ flat.T)
    kept = variances[::-1][:n_axes] > 1e-12 * variances[-1]
    axes = flat.T @ left[:, ::-1][:, :n_axes][:, kept]
    return mean, axes / np.linalg.norm(axes, axis=0)


def _flat(x: Array, rows: Array, mean: Array) -> Array:
    centered: Array = x[rows].reshape(len(rows), -1).astype(np.float64) - mean
    return centered


def _r2(variance: Array, error: Array) -> Array:
    """Return 1 - error / variance; a feature without variance is kept exactly."""
    r2: Array = 1 - error / np.where(variance > 0, variance, np.where(error > 0, error, 1.0))
    return r2
