"""What Step 2 trains towards: geodesic distances of every latent space, estimated once and then read-only."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from viewsplice._random import numpy_generator
from viewsplice._types import Array, EncoderDecoder, Latents, TensorViews
from viewsplice.config import GeometryConfig, LossScale
from viewsplice.exceptions import GeometryWarning
from viewsplice.geometry.geodesics import choose_landmarks, graph_geodesics
from viewsplice.geometry.landmark_mds import landmark_mds
from viewsplice.geometry.neighbors import find_neighbors, without_empty_axes
from viewsplice.geometry.submanifolds import decoded_view, project
from viewsplice.views import CHUNK_ROWS


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
        Distances (n_landmarks, n_train) from landmarks to training rows, in the user's units of the decoded view.
    n_neighbors
        Neighbors per point in the connected graph; None with another distance than graph geodesics.
    spectrum
        Landmark-MDS eigenvalues, largest first: variances along the space's own axes, in squared user's units.
    unit
        Length of one unit of the latent space in the user's units.
    """

    anchors: Array
    landmarks: Array
    geodesics: Array
    n_neighbors: int | None
    spectrum: Array
    unit: float


@dataclass(frozen=True, eq=False)
class GeometryTargets:
    """Targets of the geodesic loss, as tensors on the training device.

    Attributes
    ----------
    landmarks
        Rows (of the fitted tensors) of the landmarks.
    distances
        By space, (n_train, n_landmarks), in latent units; row i belongs to the i-th training row.
    lambda_geo
        Weight of the geodesic losses.
    """

    landmarks: Tensor
    distances: Mapping[str, Tensor]
    lambda_geo: float


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
    anchor = int(generator.choice(row_numbers))
    landmarks = choose_landmarks(len(rows), config.n_landmarks, generator)
    fixed = model.encode({name: x[anchor : anchor + 1] for name, x in views.items()})
    latents = encode_rows(model, views, rows).spaces()
    geometry = {}
    for space in spaces:
        view = decoded_view(space)
        submanifold = _Submanifold(space, model, latents[space], fixed, views[view].shape[1])
        distances, n_neighbors = _distances(submanifold, landmarks, config)
        geodesics = (distances * scales[view]).astype(np.float32)
        geometry[space] = SpaceGeometry(
            anchors=np.array([anchor]),
            landmarks=row_numbers[landmarks],
            geodesics=geodesics,
            n_neighbors=n_neighbors,
            spectrum=landmark_mds(distances[:, landmarks] * scales[view], 1).spectrum,
            unit=_unit(space, geodesics, loss_scale),
        )
        del distances
    return geometry


@dataclass(frozen=True, eq=False)
class _Submanifold:
    """The projections of all rows on one submanifold, made block by block: as a whole they are as large as a view."""

    space: str
    model: EncoderDecoder
    latents: Tensor
    anchor: Latents[Tensor]
    n_features: int

    @torch.no_grad()
    def blocks(self) -> Iterator[Array]:
        """Yield the points, (rows, n_features) at a time."""
        for chunk in self.latents.split(CHUNK_ROWS):
            yield project(self.model, chunk, self.space, self.anchor).cpu().numpy()


def _distances(submanifold: _Submanifold, landmarks: Array, config: GeometryConfig) -> tuple[Array, int | None]:
    """Return distances (n_landmarks, n) by the configured technique, and the neighbors used if it was geodesics."""
    n_points, name = len(submanifold.latents), f"latent space {submanifold.space}"
    if config.distance is None:
        # Points, lists and graph are each let go as soon as the next is there.
        graph = find_neighbors(
            without_empty_axes(submanifold.blocks, n_points, submanifold.n_features),
            n_neighbors=config.n_neighbors,
            grow_by=config.grow_by,
            name=name,
        ).join()
        return graph_geodesics(graph, landmarks, name=name).distances, graph.n_neighbors
    distances = np.asarray(config.distance(np.concatenate(list(submanifold.blocks())), landmarks), dtype=np.float64)
    expected = (len(landmarks), n_points)
    if distances.shape != expected or not np.isfinite(distances).all():
        raise ValueError(
            f"distance returned shape {distances.shape}, {np.sum(~np.isfinite(distances))} values non-finite, for "
            f"{name}; expected {expected}, landmarks x points, all finite"
        )
    return distances, None


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
    with torch.no_grad():
        parts = [model.encode({name: x[chunk] for name, x in views.items()}) for chunk in rows.split(CHUNK_ROWS)]
    return Latents(
        private={name: torch.cat([part.private[name] for part in parts]) for name in parts[0].private},
        shared={name: torch.cat([part.shared[name] for part in parts]) for name in parts[0].shared},
    )


def as_targets(geometry: Mapping[str, SpaceGeometry], lambda_geo: float, like: Tensor) -> GeometryTargets:
    """Return the training targets of a geometry: latent units, one row per training row, on the device of ``like``.

    Collapsed spaces have no target.
    """
    landmarks = next(iter(geometry.values())).landmarks
    distances = {
        space: torch.as_tensor(
            np.ascontiguousarray(found.geodesics.T / found.unit), dtype=like.dtype, device=like.device
        )
        for space, found in geometry.items()
        if found.geodesics.any()
    }
    return GeometryTargets(torch.as_tensor(landmarks, device=like.device), distances, lambda_geo)
