"""How many coordinates a submanifold needs: what its first w coordinates tell about its held-out points."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from viewsplice._types import Array

_N_NEIGHBORS = 5
# Points that predict, and points that are predicted.
N_POINTS = 4000


def reconstruction_by_width(points: Array, coordinates: Array) -> Array:
    """Return the held-out R² of points from their first 0, 1, 2, ... coordinates.

    Half of the points predict the other half, by the mean of the nearest five in coordinates. R² rises until the
    coordinates tell points apart, whatever the shape: one for a line, two for a sheet and for a ring, whose spectrum
    alone would show four or more. Coordinates beyond those only blur the neighborhoods.

    Parameters
    ----------
    points
        Points of a submanifold in random order, (n, features).
    coordinates
        Their coordinates, (n, max_width), most important first.
    """
    half = len(points) // 2
    seen, judged = slice(0, half), slice(half, None)
    truth = points[judged].astype(np.float64)
    total = float(((truth - truth.mean(axis=0)) ** 2).sum())
    curve = np.zeros(coordinates.shape[1] + 1)
    if half < 1 or total == 0:
        return curve
    for width in range(1, len(curve)):
        model = KNeighborsRegressor(min(_N_NEIGHBORS, half)).fit(coordinates[seen, :width], points[seen])
        curve[width] = 1 - float(((truth - model.predict(coordinates[judged, :width])) ** 2).sum()) / total
    return curve
