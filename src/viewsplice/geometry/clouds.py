"""Distances along one submanifold, from landmarks to all rows: medians over anchors, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from viewsplice._types import Array, EncoderDecoder, Latents
from viewsplice.chunks import CHUNK_ROWS
from viewsplice.config import GeometryConfig
from viewsplice.geometry.bridges import bridging
from viewsplice.geometry.extension import extend_distances
from viewsplice.geometry.geodesics import graph_geodesics
from viewsplice.geometry.neighbors import find_neighbors, without_empty_axes
from viewsplice.geometry.smoothing import nearest_points, smooth_points, torn_edges
from viewsplice.geometry.submanifolds import project
from viewsplice.spool import give_back, room

# Bridges are looked for in clouds of at most so many points: finding dense ways takes longer than finding paths.
_MOST_POINTS = 10_000


@dataclass(frozen=True, eq=False)
class Submanifold:
    """The projections of all rows on one submanifold, made block by block: as a whole they are as large as a view."""

    space: str
    model: EncoderDecoder
    latents: Tensor
    anchor: Latents[Tensor]
    n_features: int

    @torch.no_grad()
    def blocks(self, rows: Array) -> Iterator[Array]:
        """Yield the points of some rows, (rows, n_features) at a time."""
        chosen = torch.from_numpy(rows).to(self.latents.device)
        for chunk in chosen.split(CHUNK_ROWS):
            yield project(self.model, self.latents[chunk], self.space, self.anchor).cpu().numpy()

    def points(self, rows: Array) -> Array:
        """Return the points of some rows, (n, n_features): for few of them."""
        out, start = np.empty((len(rows), self.n_features), dtype=np.float32), 0
        for block in self.blocks(rows):
            out[start : start + len(block)] = block
            start += len(block)
        return out


@dataclass(frozen=True, eq=False)
class Measured:
    """Distances along a submanifold, at one anchor or as the median over several.

    Attributes
    ----------
    distances
        (n_landmarks, n): from landmarks to some rows, or to all training rows.
    n_neighbors
        Of the graph, the largest over anchors; None with another technique than graph geodesics.
    disagreement
        RMS difference of anchors from their median between landmarks, in units of the mean distance.
    bridging
        How far ways lead across sparse points (`viewsplice.geometry.bridges.bridging`), the median over anchors.
    """

    distances: Array
    n_neighbors: int | None
    disagreement: float = 0.0
    bridging: float = 1.0


def measure(clouds: Sequence[Submanifold], points: Array, landmarks: Array, config: GeometryConfig) -> Measured:
    """Return distances (n_landmarks, n_train), medians over anchors; rows beyond ``points`` through their neighbors.

    The neighbors of those rows are looked up at the first anchor only: they hardly depend on it.
    """
    middle = _middle(clouds, points, np.searchsorted(points, landmarks), config)
    give_back()
    others = np.setdiff1d(np.arange(len(clouds[0].latents)), points)
    # One training row after the other in memory, as batches take them, and never twice: this is the largest array.
    distances = room((len(clouds[0].latents), len(landmarks)))
    distances[points] = middle.distances.T
    if len(others):
        known, start = clouds[0].points(points), 0
        further = clouds[0].blocks(others)
        for part in extend_distances(middle.distances, known, further, add_links=config.distance is None):
            distances[others[start : start + len(part)]] = part
            start += len(part)
    return replace(middle, distances=distances.T)


def _middle(clouds: Sequence[Submanifold], points: Array, places: Array, config: GeometryConfig) -> Measured:
    """Return medians over anchors of the distances (n_landmarks, n_points)."""
    found = [_distances(cloud, points, places, config) for cloud in clouds]
    # The median, so that one anchor at which a submanifold is badly decoded does not spoil the others.
    from_landmark = zip(*(one.distances for one in found), strict=True)
    middle = np.stack([np.median(distances, axis=0) for distances in from_landmark])
    used = [one.n_neighbors for one in found if one.n_neighbors is not None]
    between = np.array([one.distances[:, places] for one in found])
    disagreement = float(np.sqrt(((between - np.median(between, axis=0)) ** 2).mean()) / (between.mean() or 1.0))
    return Measured(
        middle, max(used) if used else None, disagreement, float(np.median([one.bridging for one in found]))
    )


def _distances(cloud: Submanifold, points: Array, landmarks: Array, config: GeometryConfig) -> Measured:
    """Return distances (n_landmarks, n_points) by the configured technique.

    float32, as decoded points are: the distances to all rows are the largest thing that a fit keeps.
    """
    name = f"latent space {cloud.space}"
    if config.distance is None:
        found = without_empty_axes(lambda: cloud.blocks(points), len(points), cloud.n_features)
        nearest = nearest_points(found, max(config.smoothing, config.n_neighbors) if config.smoothing else 0)
        found = smooth_points(found, nearest[:, : config.smoothing + 1])
        graph = find_neighbors(found, n_neighbors=config.n_neighbors, grow_by=config.grow_by, name=name).join()
        distances = graph_geodesics(graph, landmarks, name=name).distances
        seam = torn_edges(found, nearest, distances)
        if seam is not None:
            graph = replace(graph, weights=graph.weights + seam)
            distances = graph_geodesics(graph, landmarks, name=name).distances
        excess = bridging(graph, landmarks, distances) if len(points) <= _MOST_POINTS else 1.0
        return Measured(distances.astype(np.float32), graph.n_neighbors, bridging=excess)
    distances = np.asarray(config.distance(cloud.points(points), landmarks), dtype=np.float32)
    expected = (len(landmarks), len(points))
    if distances.shape != expected or not np.isfinite(distances).all():
        raise ValueError(
            f"distance returned shape {distances.shape}, {np.sum(~np.isfinite(distances))} values non-finite, for "
            f"{name}; expected {expected}, landmarks x points, all finite"
        )
    return Measured(distances, None)
