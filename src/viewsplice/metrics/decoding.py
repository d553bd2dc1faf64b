"""How well true factors can be read out of latents on held-out rows; alignment of angles between items."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor

from viewsplice._types import Array
from viewsplice.metrics.variance import as_rows


def linear_r2(latents_train: Array, factors_train: Array, latents_test: Array, factors_test: Array) -> Array:
    """Return the held-out R² of each factor under linear regression with intercept, (factors,).

    Parameters
    ----------
    latents_train, latents_test
        One latent space, (n, dimensions).
    factors_train, factors_test
        True factors, (n,) or (n, factors). Give an angle as its `circular_columns`.
    """
    return _held_out_r2(LinearRegression(), latents_train, factors_train, latents_test, factors_test)


def knn_r2(
    latents_train: Array, factors_train: Array, latents_test: Array, factors_test: Array, *, n_neighbors: int = 10
) -> Array:
    """Return the held-out R² of each factor under the mean of the nearest training rows, (factors,).

    Parameters
    ----------
    latents_train, latents_test
        One latent space, (n, dimensions), in its own units: distances are not rescaled.
    factors_train, factors_test
        True factors, (n,) or (n, factors). Give an angle as its `circular_columns`.
    n_neighbors
        Number of training rows averaged.
    """
    if not 1 <= n_neighbors <= len(latents_train):
        raise ValueError(f"n_neighbors is {n_neighbors}; expected 1 to the {len(latents_train)} training rows")
    model = KNeighborsRegressor(n_neighbors)
    return _held_out_r2(model, latents_train, factors_train, latents_test, factors_test)


def circular_columns(angle_degrees: Array) -> Array:
    """Return the cosine and sine of angles, (n, 2): a form of the angle that does not jump at 360."""
    angle = np.deg2rad(np.asarray(angle_degrees, dtype=np.float64))
    return np.column_stack([np.cos(angle), np.sin(angle)])


def angle_shifts(curves: Array) -> Array:
    """Return by how many degrees each item is rotated against the first one, (items,), from 0 to below 360.

    c_i(t) is the latent of item i rotated by t, minus its mean over t. The shift of item i is the circular lag
    that maximizes sum_t <c_i(t), c_0(t - lag)>; of equal maxima the smallest lag. Hence c_i(t) is like
    c_0(t - shift_i), and t - shift_i is the angle comparable between items (see `align_angles`).

    Parameters
    ----------
    curves
        Latents of each item on a regular grid of rotations over the full circle, (items, rotations, dimensions).
    """
    curves = np.asarray(curves, dtype=np.float64)
    if curves.ndim != 3 or 0 in curves.shape:
        raise ValueError(f"curves has shape {curves.shape}; expected (items, rotations, dimensions)")
    centered = curves - curves.mean(axis=1, keepdims=True)
    if np.ptp(curves[0], axis=0).max() == 0:
        raise ValueError("the first item's curve is constant; expected latents that change with rotation")
    n_angles = curves.shape[1]
    spectra = np.fft.rfft(centered, axis=1)
    products = (spectra * spectra[0].conj()).sum(axis=2)
    correlation = np.fft.irfft(products, n=n_angles, axis=1)  # (items, lags)
    best = correlation.max(axis=1, keepdims=True)
    # Rounding in the transform must not decide between lags that are equally good.
    lags = np.argmax(correlation >= best - 1e-9 * np.abs(best), axis=1)
    shifts: Array = lags * (360 / n_angles)
    return shifts


def align_angles(angle_degrees: Array, shifts: Array) -> Array:
    """Return (angle - shift) mod 360, the corrected angle of each row given its item's shift from `angle_shifts`."""
    aligned: Array = np.mod(np.asarray(angle_degrees, dtype=np.float64) - shifts, 360)
    return aligned


def _held_out_r2(
    model: LinearRegression | KNeighborsRegressor,
    latents_train: Array,
    factors_train: Array,
    latents_test: Array,
    factors_test: Array,
) -> Array:
    z_train, z_test = as_rows(latents_train, "latents_train"), as_rows(latents_test, "latents_test")
    f_train, f_test = _as_factors(factors_train, "factors_train"), _as_factors(factors_test, "factors_test")
    for z, f, part in ((z_train, f_train, "train"), (z_test, f_test, "test")):
        if len(z) != len(f):
            raise ValueError(f"{part} has {len(z)} latents and {len(f)} factors; expected one row of each per sample")
    if z_train.shape[1] != z_test.shape[1] or f_train.shape[1] != f_test.shape[1]:
        raise ValueError("train and test have different numbers of columns; expected the same latents and factors")
    if np.any(np.ptp(f_test, axis=0) == 0):
        raise ValueError("a factor is constant on the test rows; expected rows that differ, as R² has no meaning")
    r2: Array = r2_score(f_test, model.fit(z_train, f_train).predict(z_test), multioutput="raw_values")
    return r2


def _as_factors(factors: Array, name: str) -> Array:
    array = np.asarray(factors)
    return as_rows(array[:, None] if array.ndim == 1 else array, name)
