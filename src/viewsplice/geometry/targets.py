"""What Step 2 trains towards: geodesic distances of every latent space, estimated once and then read-only."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from viewsplice._random import numpy_generator
from viewsplice._types import Array, EncoderDecoder, Latents, TensorViews
from viewsplice.chunks import in_chunks
from viewsplice.config import GeometryConfig, LossScale
from viewsplice.exceptions import GeometryWarning
from viewsplice.geometry.anchors import choose_anchors
from viewsplice.geometry.clouds import Submanifold, measure
from viewsplice.geometry.evidence import N_POINTS, reconstruction_by_width
from viewsplice.geometry.geodesics import choose_landmarks
from viewsplice.geometry.landmark_mds import landmark_mds
from viewsplice.geometry.placement import place_rows
from viewsplice.geometry.submanifolds import decoded_view
from viewsplice.spool import give_back
from viewsplice.views import is_arrow

# Widths for which evidence is collected.
_MOST_WIDTHS = 16


@dataclass(frozen=True, eq=False)
class SpaceGeometry:
    """The estimated geometry of one latent space.

    Attributes
    ----------
    anchors
        Rows (of the data given to fit) whose latents were held fixed.
    landmarks
        Rows from which distances were computed.
    geodesics
        Distances (n_landmarks, n_train) from landmarks to training rows, in the user's units of the decoded view,
        the median over anchors.
    n_neighbors
        Neighbors per point in the connected graph, the largest over anchors; None with another distance than graph
        geodesics.
    spectrum
        Landmark-MDS eigenvalues, largest first: variances along the space's own axes, in squared user's units.
    curve
        Held-out R² of the submanifold's points from their first 0, 1, 2, ... landmark-MDS coordinates.
    disagreement
        RMS difference of the distances between landmarks from their median over anchors, in units of the mean
        distance; 0 for one anchor.
    unit
        Length of one unit of the latent space in the user's units.
    bridging
        How far ways lead across sparse points (`viewsplice.geometry.bridges`): 1 to 1.5 where nothing bridges.
    """

    anchors: Array
    landmarks: Array
    geodesics: Array
    n_neighbors: int | None
    spectrum: Array
    curve: Array
    disagreement: float
    unit: float
    bridging: float = 1.0


@dataclass(frozen=True, eq=False)
class GeometryTargets:
    """Targets of the geodesic loss, as tensors on the training device.

    Attributes
    ----------
    landmarks
        Rows (of the fitted tensors) of the landmarks.
    distances
        By space, (n_train, n_landmarks), in the user's units; row i belongs to the i-th training row.
    lambda_geo
        Weight of the geodesic losses.
    units
        By space, the length of one latent unit in the user's units. Distances are the largest thing that a fit keeps,
        so they exist once, and only what a batch needs is divided.
    leading
        By space, how many leading dimensions distances are measured in, where these are not all.
    """

    landmarks: Tensor
    distances: Mapping[str, Tensor]
    lambda_geo: float
    units: Mapping[str, float]
    leading: Mapping[str, int] = field(default_factory=dict)

    def of(self, positions: Tensor, chosen: Tensor) -> dict[str, Tensor]:
        """Return distances (positions, chosen landmarks) of some training rows by space, in latent units."""
        return {
            space: d.index_select(0, positions)[:, chosen] / self.units[space] for space, d in self.distances.items()
        }


@torch.no_grad()
def estimate_geometry(
    model: EncoderDecoder,
    views: TensorViews,
    rows: Tensor,
    config: GeometryConfig,
    *,
    spaces: Sequence[str],
    scales: Mapping[str, float],
    loss_scale: LossScale,
    seed: int,
) -> dict[str, SpaceGeometry]:
    """Return the geometry of every latent space along its submanifold (Algorithm 2, first three lines).

    Parameters
    ----------
    model, views, rows
        The trained networks, all rows, and which of them to use (the training rows).
    config
        Complete settings.
    spaces
        Names of the spaces that have dimensions.
    scales
        User's units per network unit, by view.
    loss_scale
        ``"fraction"``: the mean geodesic distance is the unit of the latent space. ``"mean"``: the user's unit is.
    seed
        Of anchor and landmarks.
    """
    generator = numpy_generator(seed, "geometry")
    row_numbers = rows.cpu().numpy()
    latents = encode_rows(model, views, rows)
    spaces_seen = {space: z.cpu().numpy() for space, z in latents.spaces().items() if space in spaces}
    anchors = choose_anchors(spaces_seen, config.n_anchors, generator)
    n_points = min(config.max_points or len(rows), len(rows))
    points = np.sort(generator.choice(len(rows), n_points, replace=False))
    landmarks = points[choose_landmarks(n_points, config.n_landmarks, generator)]
    judged = generator.permutation(points)[:N_POINTS]
    geometry = {}
    for space in spaces:
        view = decoded_view(space)
        clouds = [
            Submanifold(space, model, latents.spaces()[space], latents[int(anchor)], views[view].shape[1])
            for anchor in (anchors if _has_others(space, latents) else anchors[:1])
        ]
        found = measure(clouds, points, landmarks, config)
        give_back()
        mds = landmark_mds(found.distances[:, landmarks], min(_MOST_WIDTHS, latents.spaces()[space].shape[1]))
        judged_points = clouds[0].points(judged)
        curve = reconstruction_by_width(judged_points, mds.transform(found.distances[:, judged]))
        geodesics = np.multiply(found.distances, np.float32(scales[view]), out=found.distances)
        geometry[space] = SpaceGeometry(
            anchors=row_numbers[anchors],
            landmarks=row_numbers[landmarks],
            geodesics=geodesics,
            n_neighbors=found.n_neighbors,
            spectrum=mds.spectrum * scales[view] ** 2,
            curve=curve,
            disagreement=found.disagreement,
            unit=_unit(space, geodesics, loss_scale),
            bridging=found.bridging,
        )
        give_back()
    return geometry


def _has_others(space: str, latents: Latents[Tensor]) -> bool:
    """Tell whether a space's view is rebuilt from other spaces, too; if not, all anchors show the same points."""
    view = decoded_view(space)
    return any(z.shape[1] for name, z in latents.spaces().items() if name != space and decoded_view(name) == view)


def _unit(space: str, geodesics: Array, loss_scale: LossScale) -> float:
    """Return the length of one latent unit: the mean geodesic distance, or 1 in the user's units."""
    mean = float(geodesics.mean(dtype=np.float64))
    if not mean > 0:
        warnings.warn(
            f"latent space {space} has collapsed to a point: its projections do not differ, "
            "so it has no geometry to preserve",
            GeometryWarning,
            stacklevel=3,
        )
    return mean if loss_scale == "fraction" and mean > 0 else 1.0


def encode_rows(model: EncoderDecoder, views: TensorViews, rows: Tensor) -> Latents[Tensor]:
    """Return the latents of some rows, encoded in chunks without gradients."""
    found = in_chunks(lambda chunk: model.encode({name: x[chunk] for name, x in views.items()}).spaces(), rows)
    return Latents(
        private={name: z for name, z in found.items() if not is_arrow(name)},
        shared={name: z for name, z in found.items() if is_arrow(name)},
    )


def as_targets(
    geometry: Mapping[str, SpaceGeometry], lambda_geo: float, like: Tensor, leading: Mapping[str, int] | None = None
) -> GeometryTargets:
    """Return the training targets of a geometry, one row per training row, on the device of ``like``.

    Collapsed spaces have no target. ``leading`` is as in `GeometryTargets`.
    """
    kept = {space: found for space, found in geometry.items() if found.geodesics.any()}
    return GeometryTargets(
        landmarks=torch.as_tensor(next(iter(geometry.values())).landmarks, device=like.device),
        distances={
            space: torch.as_tensor(found.geodesics.T, dtype=like.dtype, device=like.device).contiguous()
            for space, found in kept.items()
        },
        lambda_geo=lambda_geo,
        units={space: found.unit for space, found in kept.items()},
        leading={space: width for space, width in (leading or {}).items() if space in kept},
    )


def as_coordinates(
    geometry: Mapping[str, SpaceGeometry],
    widths: Mapping[str, int],
    rows: Array,
    latents: Mapping[str, Tensor],
    leading: Mapping[str, int] | None = None,
) -> dict[str, Tensor]:
    """Return coordinates (n_train, width) of every space, in latent units: landmark MDS, then what else is known.

    Spaces without extent are at the origin.

    Parameters
    ----------
    geometry, widths
        By space, distances and the number of coordinates.
    rows
        Row numbers of the training rows, in order.
    latents
        By space, what the model that the distances come from makes of these rows, (n_train, any width).
    leading
        By space, how many dimensions are used, where these are not all; the others are 0.
    """
    coordinates = {}
    for space, found in geometry.items():
        width = widths[space]
        n_used = (leading or {}).get(space, width)
        known = latents[space].cpu().numpy()
        placed = place_rows(found.geodesics, np.searchsorted(rows, found.landmarks), found.unit, n_used, known)
        coordinates[space] = pad(torch.as_tensor(placed).to(latents[space]), (0, width - n_used))
    return coordinates
