"""The losses of SPLICE as pure functions of tensors.

All squared errors and variances are divided by a *unit*, one number per view. With ``unit`` = the view's total
variance V (sum over features, training rows) every term is a fraction of variance: 1 means "explains nothing",
whatever the number of features and their scale.

======================  ===========================================================  ==================
term                    formula                                                      trains
======================  ===========================================================  ==================
``rec/A``               mean_n ||x_A - x_hat_A||^2 / unit_A            (Eq. 4)       all autoencoders
``pred/B->A``           mean_n ||x_A - M_{B->A}(z_B)||^2 / unit_A      (Eq. 5)       measurers only
``dis/B->A``            sum_f Var_batch[M_{B->A}(z_B)]_f / unit_A      (Eq. 3, 4)    private encoders only
``geo/A``, ``geo/B->A`` RMS over (row, landmark) of D_geo - D_latent   (Eq. 7)       encoders
``rest/A``              RMS over rows of ||z_A|| in dimensions that    (no Eq.)      encoders
                        the geometry of the space does not have
======================  ===========================================================  ==================

A measurement network that can find nothing predicts a constant, and a constant has no variance: that is why
``dis`` and not ``pred`` trains the private encoders. Maximizing ``pred`` instead would reward wild predictions.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional


def squared_error(x: Tensor, x_hat: Tensor, unit: float) -> Tensor:
    """Return mean_n ||x - x_hat||^2 / unit: the reconstruction and the prediction loss; x is (n, features)."""
    return functional.mse_loss(x_hat, x) * (x.shape[1] / unit)


def predictability(x_pred: Tensor, unit: float) -> Tensor:
    """Return sum_f Var_n[x_pred]_f / unit over the batch (n, features); 0 for a constant predictor.

    The variance divides by n, as the total variance in ``unit`` does, so that a perfect predictor scores 1.
    """
    # Several times faster than Tensor.var over the first dimension.
    return (x_pred - x_pred.mean(dim=0)).square().sum() / (len(x_pred) * unit)


def latent_distances(z: Tensor, z_landmarks: Tensor) -> Tensor:
    """Return Euclidean distances (n, n_landmarks) in a latent space.

    Computed from differences: the faster route through inner products loses the small distances, and its gradient
    is unusable where a row is itself a landmark.
    """
    return torch.cdist(z, z_landmarks, compute_mode="donot_use_mm_for_euclid_dist")


def geodesic_loss(d_latent: Tensor, d_geo: Tensor) -> Tensor:
    """Return sqrt(mean (D_geo - D_latent)^2) over rows and landmarks, both (n, n_landmarks).

    Note: Eq. 7 prints the Frobenius norm, which grows with the batch; the root mean square does not.
    """
    error: Tensor = torch.linalg.vector_norm(d_latent - d_geo)
    return error / math.sqrt(d_geo.numel())


def extent(z: Tensor) -> Tensor:
    """Return sqrt(mean_n ||z||^2), the distance from the origin, of dimensions (n, width) that are to be empty.

    Not squared: however small the extent is, making it smaller still pays, so that it ends at 0 and not near it.
    """
    size: Tensor = torch.linalg.vector_norm(z)
    return size / math.sqrt(len(z))
