"""Landmark Isomap: from points on a curved sheet to coordinates that unroll it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from viewsplice._random import RandomState, numpy_generator, root_seed
from viewsplice._types import Array
from viewsplice.geometry.geodesics import choose_landmarks, landmark_geodesics
from viewsplice.geometry.landmark_mds import landmark_mds

_DTYPES = [np.float64, np.float32]


class LandmarkIsomap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Geodesic distances to random landmarks, turned into coordinates by landmark MDS.

    Time and memory grow with points x landmarks, never with the square of the number of points.

    Parameters
    ----------
    n_components
        Number of coordinates.
    n_neighbors
        Smallest number of neighbors in the graph.
    grow_by
        Step by which that number grows until the graph is connected; 0 forbids growth.
    n_landmarks
        Number of landmarks; a smaller data set uses all its rows.
    random_state
        Decides which rows become landmarks.

    Attributes
    ----------
    embedding_
        Coordinates of the training rows, (n, n_components).
    spectrum_
        Eigenvalues of landmark MDS, largest first: as many stand out as the sheet has dimensions.
    landmarks_
        Row indices of the landmarks, sorted.
    geodesics_
        Distances from the landmarks to all training rows, (n_landmarks, n).
    n_neighbors_
        The number of neighbors that was used.
    n_features_in_
        Number of features seen during `fit`.

    References
    ----------
    de Silva, V. and Tenenbaum, J. B. Sparse multidimensional scaling using landmark points. Stanford, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from viewsplice.geometry import LandmarkIsomap
    >>> angle = np.linspace(0, 3, 200)
    >>> arc = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> line = LandmarkIsomap(n_components=1, n_neighbors=2, random_state=0).fit_transform(arc)
    >>> round(float(np.ptp(line)), 2)
    3.0
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 12,
        grow_by: int = 1,
        n_landmarks: int = 100,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.grow_by = grow_by
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> LandmarkIsomap:
        """Embed the rows of ``X`` (n, features); ``y`` is ignored."""
        points = validate_data(self, X, dtype=_DTYPES, ensure_min_samples=2)
        generator = numpy_generator(root_seed(self.random_state), "landmarks")
        self.landmarks_ = choose_landmarks(len(points), min(self.n_landmarks, len(points)), generator)
        geodesics = landmark_geodesics(
            points, self.landmarks_, n_neighbors=self.n_neighbors, grow_by=self.grow_by, name="X"
        )
        self.geodesics_ = geodesics.distances
        self.n_neighbors_ = geodesics.n_neighbors
        self._mds = landmark_mds(self.geodesics_[:, self.landmarks_], self.n_components)
        self.spectrum_ = self._mds.spectrum
        self.embedding_ = self._mds.transform(self.geodesics_)
        self._offset = points.mean(axis=0)
        self._search = NearestNeighbors(n_neighbors=self.n_neighbors_).fit(points - self._offset)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Return the coordinates of the training rows, (n, n_components)."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any) -> Array:
        """Return the coordinates of new rows, (n, n_components).

        A new point reaches a landmark through its nearest training points: D(l, x) = min_i (||x - x_i|| + D(l, x_i)).
        """
        check_is_fitted(self)
        points = validate_data(self, X, dtype=_DTYPES, reset=False)
        edges, neighbors = self._search.kneighbors(points - self._offset)
        distances = np.full((len(self.landmarks_), len(points)), np.inf)
        for lengths, rows in zip(edges.T, neighbors.T, strict=True):
            np.minimum(distances, self.geodesics_[:, rows] + lengths, out=distances)
        return self._mds.transform(distances)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


def landmark_isomap(
    X: Any,
    n_components: int = 2,
    *,
    n_neighbors: int = 12,
    grow_by: int = 1,
    n_landmarks: int = 100,
    random_state: RandomState = None,
) -> LandmarkIsomap:
    """Return a `LandmarkIsomap` fitted to the rows of ``X``; its coordinates are in ``embedding_``."""
    isomap = LandmarkIsomap(
        n_components, n_neighbors=n_neighbors, grow_by=grow_by, n_landmarks=n_landmarks, random_state=random_state
    )
    return isomap.fit(X)
