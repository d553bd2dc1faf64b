"""The three objectives of Algorithms 1 and 2: measurement, autoencoding (with geometry), disentangling.

Each returns its total and its named parts. Which parameters an objective trains is decided where it is
differentiated (`alternating`), not by freezing anything here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from viewsplice._types import LossTerms, TensorViews
from viewsplice.losses import geodesic_loss, latent_distances, predictability, squared_error
from viewsplice.model import SpliceNet
from viewsplice.views import endpoints

Units = Mapping[str, float]


@dataclass(frozen=True)
class LandmarkBatch:
    """Landmark rows, and the geodesic distances of one batch to them.

    Attributes
    ----------
    n_landmarks
        How many rows at the end of the batch are landmarks.
    distances
        By space, (batch, n_landmarks).
    lambda_geo
        Weight of the geodesic losses.
    """

    n_landmarks: int
    distances: Mapping[str, Tensor]
    lambda_geo: float


def measurement(model: SpliceNet, private: Mapping[str, Tensor], views: TensorViews, units: Units) -> LossTerms:
    """Return sum of ``pred/B->A``: how badly the measurement networks predict each view (Eq. 5)."""
    parts = {
        f"pred/{name}": squared_error(views[target], x_pred, units[target])
        for name, x_pred, target in _predictions(model, private)
    }
    return _summed(parts)


def disentangling(model: SpliceNet, private: Mapping[str, Tensor], units: Units, lambda_dis: float) -> LossTerms:
    """Return lambda_dis x sum of ``dis/B->A``: the variance of what private latents let one predict (Eq. 3)."""
    parts = {
        f"dis/{name}": predictability(x_pred, units[target]) for name, x_pred, target in _predictions(model, private)
    }
    terms = _summed(parts)
    return LossTerms(lambda_dis * terms.total, parts)


def autoencoding(
    model: SpliceNet, views: TensorViews, units: Units, landmarks: LandmarkBatch | None = None
) -> LossTerms:
    """Return sum of ``rec/A``, plus lambda_geo x sum of ``geo/...`` when the batch ends with landmark rows (Eq. 7)."""
    latents = model.encode(views)
    if landmarks is None:
        rebuilt = model.decode(latents)
        return _summed(
            {f"rec/{name}": squared_error(views[name], x_hat, units[name]) for name, x_hat in rebuilt.items()}
        )
    n_rows = len(latents) - landmarks.n_landmarks
    rebuilt = model.decode(latents[:n_rows])
    reconstruction = {
        f"rec/{name}": squared_error(views[name][:n_rows], x_hat, units[name]) for name, x_hat in rebuilt.items()
    }
    spaces = latents.spaces()
    geometry = {
        f"geo/{space}": geodesic_loss(latent_distances(spaces[space][:n_rows], spaces[space][n_rows:]), d_geo)
        for space, d_geo in landmarks.distances.items()
    }
    total = _summed(reconstruction).total
    if geometry:
        total = total + landmarks.lambda_geo * _summed(geometry).total
    return LossTerms(total, {**reconstruction, **geometry})


def _predictions(model: SpliceNet, private: Mapping[str, Tensor]) -> list[tuple[str, Tensor, str]]:
    return [(name, x_pred, endpoints(name)[1]) for name, x_pred in model.measure(private).items()]


def _summed(parts: dict[str, Tensor]) -> LossTerms:
    values = list(parts.values())
    total = values[0]
    for value in values[1:]:
        total = total + value
    return LossTerms(total, parts)
