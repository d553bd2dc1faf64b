"""Whether points made by a model lie where real points lie, and whether a latent space is a ring, or torn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from viewsplice._types import Array
from viewsplice.metrics.shape import loop_bars, loop_ratio
from viewsplice.metrics.variance import as_rows

# Points are near if they are closer than so much of the distance between two points drawn at random. Where a ring was
# forced into one dimension, a gap of 0.44 was left between its ends; in whole spaces, rows as far apart as any are at
# 1.03 at least (one fit).
_NEAR = 0.5


@dataclass(frozen=True, eq=False)
class OnManifold:
    """Distances of made points to real ones, beside those of real points to each other.

    Attributes
    ----------
    made, real
        Distance of each made point to the nearest real one, and of each real point to the nearest other.
    within_class
        Mean distance between real points of one class; of all real points where there are no classes.
    """

    made: Array
    real: Array
    within_class: float

    @property
    def closer(self) -> float:
        """Share of made points that are nearer to a real point than the mean distance within a class."""
        return float((self.made < self.within_class).mean())


def on_manifold(points: Array, real: Array, labels: Array | None = None) -> OnManifold:
    """Compare made points with real ones of the same space.

    Parameters
    ----------
    points, real
        Made and real points, (n, ...) and (m, ...), of equal trailing shape.
    labels
        Class of each real point, (m,); the mean distance within a class weighs every pair of its points equally.
    """
    made, truth = as_rows(points, "points"), as_rows(real, "real")
    if made.shape[1] != truth.shape[1] or len(truth) < 2:
        raise ValueError(
            f"points has shape {made.shape} and real {truth.shape}; expected the same features, 2 real rows"
        )
    classes = np.zeros(len(truth)) if labels is None else np.asarray(labels)
    if classes.shape != (len(truth),):
        raise ValueError(f"labels has shape {classes.shape}; expected one per real row: ({len(truth)},)")
    search = NearestNeighbors().fit(truth)
    return OnManifold(
        made=search.kneighbors(made, 1)[0][:, 0],
        real=search.kneighbors(n_neighbors=1)[0][:, 0],
        within_class=_within(truth, classes),
    )


def torn_rows(points: Array, latents: Array, *, least: int = 1) -> Array:
    """Return which rows have near ones on a manifold that are as far away in a latent space as any row, (n,).

    A line through a ring has two ends that meet, and a sheet may be torn: there, a small step along the manifold is a
    jump in the latent space. Near is less than half of the distance between two points drawn at random, far more
    than the distance between two latents drawn at random (root mean squares). All pairs are compared: for some
    thousand rows at most.

    Parameters
    ----------
    points, latents
        Points of a submanifold, (n, features), and the latents they are made of, (n, dimensions).
    least
        Such near ones that a row must have: with more than one, an outlier that strays back does not tear others.
    """
    cloud, z = as_rows(points, "points"), as_rows(latents, "latents")
    if len(cloud) != len(z):
        raise ValueError(f"got {len(cloud)} points and {len(z)} latents; expected equally many")
    is_near = cdist(cloud, cloud) < _NEAR * _typical_distance(cloud)
    is_far = cdist(z, z) > _typical_distance(z)
    return np.asarray((is_near & is_far).sum(axis=1) >= least)


def _typical_distance(rows: Array) -> float:
    """Return the root mean square of the distance between two rows."""
    return float(np.sqrt(2 * rows.var(axis=0).sum()))


def _within(points: Array, labels: Array) -> float:
    """Return the mean distance between two different points of one class."""
    total, n_pairs = 0.0, 0
    for label in np.unique(labels):
        members = points[labels == label]
        squares = (members**2).sum(axis=1)
        for start in range(0, len(members), 1024):
            block = members[start : start + 1024]
            between = squares[start : start + 1024, None] + squares - 2 * block @ members.T
            total += float(np.sqrt(np.maximum(between, 0.0)).sum())
        n_pairs += len(members) * (len(members) - 1)
    if not n_pairs:
        raise ValueError("no class has two points; expected labels that repeat")
    return total / n_pairs


def ring_ratio(latents: Array, *, n_points: int = 500, random_state: int = 0) -> float:
    """Return the longest bar of the first persistent homology over the second: a ring has at least 3.

    Parameters
    ----------
    latents
        One latent space, (n, dimensions).
    n_points
        Rows that are compared, drawn at random.
    random_state
        Seed of the draw.
    """
    return loop_ratio(loop_bars(latents, n_points=n_points, random_state=random_state))
