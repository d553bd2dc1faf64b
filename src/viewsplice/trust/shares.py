"""How much of every view its shared and its private latents account for, on rows that the fit has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from viewsplice._random import RandomState, numpy_generator, root_seed
from viewsplice._types import Array, Latents
from viewsplice._validation import fitted_views
from viewsplice.estimator import SPLICE
from viewsplice.fitted import Fitted
from viewsplice.views import Views

_N_DRAWS = 32
_N_RESAMPLES = 1000
_LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number, and the interval that holds 95 % of its resampled values."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Shares:
    """What accounts for the variance of one view.

    ``shared`` is the R² of the mean of the view given its shared latents, over the private latents of stored training
    rows; ``private`` that of the mean given its private latents; ``rebuilt`` that of the reconstruction from both.
    What the two reach only together, such as a product of a shared and a private variable, is ``together``.

    Attributes
    ----------
    features
        By ``"shared"``, ``"private"`` and ``"rebuilt"``, R² of each feature, (features,); NaN where it is constant.
    total
        By ``"shared"``, ``"private"``, ``"together"`` and ``"neither"``, the share of the view's variance, with an
        interval over resampled rows, or groups where there are any.
    n_rows, n_units
        How many rows, and how many units that were resampled.
    """

    features: Mapping[str, Array]
    total: Mapping[str, Estimate]
    n_rows: int
    n_units: int

    @property
    def together(self) -> Array:
        """Share of each feature's variance that takes shared and private latents at once, (features,)."""
        both: Array = self.features["rebuilt"] - self.features["shared"] - self.features["private"]
        return both

    def to_json(self) -> dict[str, Any]:
        """Return plain values; NaN of constant features becomes None."""
        features = {
            part: [float(r2) if np.isfinite(r2) else None for r2 in values] for part, values in self.features.items()
        }
        total = {part: asdict(estimate) for part, estimate in self.total.items()}
        return {"features": features, "total": total, "n_rows": self.n_rows, "n_units": self.n_units}


def variance_shares(model: SPLICE, views: Views, *, random_state: RandomState = 0) -> dict[str, Shares]:
    """Return by view what its shared and its private latents account for.

    Parameters
    ----------
    model
        A fitted model.
    views
        All its views; give rows that it was not trained on. Groups, if there are any, are resampled as a whole.
    random_state
        Seed of the resampling.
    """
    shapes = {name: standardizer.shape for name, standardizer in model.fitted_.standardizers.items()}
    given = fitted_views(views, None, shapes, complete=True)
    latents = model.fitted_.encode(given)
    units = np.arange(len(views)) if views.groups is None else np.unique(views.groups, return_inverse=True)[1]
    seed = root_seed(random_state)
    return {name: _of_view(model.fitted_, name, given[name], latents, units, seed) for name in given.names}


def _of_view(fitted: Fitted, view: str, x: Array, latents: Latents[Array], units: Array, seed: int) -> Shares:
    truth = x.reshape(len(x), -1).astype(np.float64)
    guesses = {
        "shared": _mean_over(fitted, view, latents, keep_shared=True),
        "private": _mean_over(fitted, view, latents, keep_shared=False),
        "rebuilt": fitted.decode_view(view, latents),
    }
    # Differences to the first row, so that equal rows have variance 0 exactly.
    shifted = truth - truth[0]
    squares = (shifted - shifted.mean(axis=0)) ** 2
    # By part, squared errors of every row and of every feature; the matrices in between are not kept.
    of_features, of_units = {}, {}
    variance, unit_variance = squares.sum(axis=0), np.bincount(units, squares.sum(axis=1))
    for part, guess in guesses.items():
        errors = (truth - guess.reshape(truth.shape)) ** 2
        with np.errstate(invalid="ignore", divide="ignore"):
            of_features[part] = np.where(variance > 0, 1 - errors.sum(axis=0) / variance, np.nan)
        of_units[part] = np.bincount(units, errors.sum(axis=1))
    return Shares(of_features, _estimates(of_units, unit_variance, seed), len(x), len(unit_variance))


def _mean_over(fitted: Fitted, view: str, latents: Latents[Array], *, keep_shared: bool) -> Array:
    """Return the mean of a view given its shared or its private latents, the others being those of stored rows."""
    stored = fitted.reference
    draws = np.unique(np.linspace(0, len(stored) - 1, min(_N_DRAWS, len(stored))).astype(int))
    total = np.zeros((len(latents), *fitted.standardizers[view].shape))
    for draw in draws:
        other = stored[[draw] * len(latents)]
        mixed = Latents(
            private=other.private if keep_shared else latents.private,
            shared=latents.shared if keep_shared else other.shared,
        )
        total += fitted.decode_view(view, mixed)
    mean: Array = total / len(draws)
    return mean


def _estimates(errors: Mapping[str, Array], variance: Array, seed: int) -> dict[str, Estimate]:
    """Return the shares of all units, and the range of what resampled units give."""
    n_units = len(variance)
    generator = numpy_generator(seed, "resamples")
    weights = generator.multinomial(n_units, np.full(n_units, 1 / n_units), size=_N_RESAMPLES)
    weights = np.vstack([np.ones(n_units), weights])  # the first is the sample itself
    total = weights @ variance
    with np.errstate(invalid="ignore", divide="ignore"):
        r2 = {part: np.where(total > 0, 1 - weights @ sums / total, 0.0) for part, sums in errors.items()}
    shares = {
        "shared": r2["shared"],
        "private": r2["private"],
        "together": r2["rebuilt"] - r2["shared"] - r2["private"],
        "neither": 1 - r2["rebuilt"],
    }
    ends = ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2)
    return {
        part: Estimate(float(found[0]), *(float(np.quantile(found[1:], end)) for end in ends))
        for part, found in shares.items()
    }
