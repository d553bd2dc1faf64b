"""The three objectives of Algorithms 1 and 2: measurement, autoencoding (with geometry), disentangling.

Each returns its total and its named parts. Which parameters an objective trains is decided where it is
differentiated (`alternating`), not by freezing anything here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from viewsplice._types import Latents, LossTerms, TensorViews
from viewsplice.losses import extent, geodesic_loss, latent_distances, predictability, squared_error
from viewsplice.model import SpliceNet
from viewsplice.views import endpoints

Units = Mapping[str, float]

# Added before a division: coordinates of a space without extent are all 0, and so is their error.
_TINY_VARIANCE = 1e-12


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
    leading
        By space, how many leading dimensions distances are measured in, where these are not all: the others rest.
    """

    n_landmarks: int
    distances: Mapping[str, Tensor]
    lambda_geo: float
    leading: Mapping[str, int] = field(default_factory=dict)


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
    model: SpliceNet,
    views: TensorViews,
    units: Units,
    landmarks: LandmarkBatch | None = None,
    *,
    lambda_dis: float = 0.0,
    seen: TensorViews | None = None,
) -> LossTerms:
    """Return sum of ``rec/A``, plus lambda_geo x sum of ``geo/...`` when the batch ends with landmark rows (Eq. 7).

    Spaces with more dimensions than their geometry has add lambda_geo x ``rest/...``. With ``lambda_dis``, plus what
    `disentangling` returns: the same private latents serve both. ``seen`` is what the encoders see in place of the
    views that are to be rebuilt.
    """
    latents = model.encode(views if seen is None else seen)
    n_rows = len(latents) - (landmarks.n_landmarks if landmarks else 0)
    trained = latents[:n_rows] if landmarks else latents
    terms = reconstruction(model, trained, views, units)
    if landmarks:
        terms = _added(terms, _geometry(latents, landmarks))
    if lambda_dis:
        private = {name: trained.private[name] for name in model.private_spaces}
        terms = _added(terms, disentangling(model, private, units, lambda_dis))
    return terms


def reconstruction(model: SpliceNet, latents: Latents[Tensor], views: TensorViews, units: Units) -> LossTerms:
    """Return sum of ``rec/A``: how badly latents rebuild the views' leading rows (Eq. 4)."""
    return _summed(
        {
            f"rec/{name}": squared_error(views[name][: len(latents)], x_hat, units[name])
            for name, x_hat in model.decode(latents).items()
        }
    )


def regression(latents: Latents[Tensor], coordinates: Mapping[str, Tensor]) -> LossTerms:
    """Return sum of ``coordinates/...``: squared distance to target coordinates, in fractions of their variance."""
    spaces = latents.spaces()
    return _summed(
        {
            f"coordinates/{space}": squared_error(target, spaces[space], 1.0) / (_variance(target) + _TINY_VARIANCE)
            for space, target in coordinates.items()
        }
    )


def _geometry(latents: Latents[Tensor], landmarks: LandmarkBatch) -> LossTerms:
    n_rows, spaces = len(latents) - landmarks.n_landmarks, latents.spaces()
    parts = {}
    for space, d_geo in landmarks.distances.items():
        z = spaces[space][:, : landmarks.leading.get(space)]
        parts[f"geo/{space}"] = geodesic_loss(latent_distances(z[:n_rows], z[n_rows:]), d_geo)
    parts |= {f"rest/{space}": extent(spaces[space][:n_rows, width:]) for space, width in landmarks.leading.items()}
    terms = _summed(parts)
    return LossTerms(landmarks.lambda_geo * terms.total, terms.parts)


def _predictions(model: SpliceNet, private: Mapping[str, Tensor]) -> list[tuple[str, Tensor, str]]:
    return [(name, x_pred, endpoints(name)[1]) for name, x_pred in model.measure(private).items()]


def _summed(parts: dict[str, Tensor]) -> LossTerms:
    values = list(parts.values())
    total = values[0] if values else torch.zeros(())
    for value in values[1:]:
        total = total + value
    return LossTerms(total, parts)


def _added(first: LossTerms, second: LossTerms) -> LossTerms:
    return LossTerms(first.total + second.total, {**first.parts, **second.parts})


def _variance(x: Tensor) -> Tensor:
    return (x - x.mean(dim=0)).square().sum(dim=1).mean()
