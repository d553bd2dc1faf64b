"""Scores of latents against known factors, labels and views: pure functions of arrays."""

from __future__ import annotations

from viewsplice.metrics.decoding import align_angles, angle_shifts, circular_columns, knn_r2, linear_r2
from viewsplice.metrics.dimension import covariance_spectrum, effective_dimension_of, saturation
from viewsplice.metrics.labels import chance_accuracy, knn_accuracy, linear_svc_accuracy
from viewsplice.metrics.manifold import OnManifold, on_manifold, ring_ratio, torn_rows
from viewsplice.metrics.shape import Shape, loop_bars, shape_of
from viewsplice.metrics.variance import (
    is_collapsed,
    latent_spread,
    reconstruction_r2,
    sd_explained_by_angle,
    sd_explained_by_label,
    variance_by_dimension,
    variance_explained_by_angle,
    variance_explained_by_label,
)

__all__ = [
    "OnManifold",
    "Shape",
    "align_angles",
    "angle_shifts",
    "chance_accuracy",
    "circular_columns",
    "covariance_spectrum",
    "effective_dimension_of",
    "is_collapsed",
    "knn_accuracy",
    "knn_r2",
    "latent_spread",
    "linear_r2",
    "linear_svc_accuracy",
    "loop_bars",
    "on_manifold",
    "reconstruction_r2",
    "ring_ratio",
    "saturation",
    "sd_explained_by_angle",
    "sd_explained_by_label",
    "shape_of",
    "torn_rows",
    "variance_by_dimension",
    "variance_explained_by_angle",
    "variance_explained_by_label",
]
