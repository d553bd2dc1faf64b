"""Landmark MDS: coordinates in closed form from the distances to a few landmarks (de Silva & Tenenbaum 2004)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from viewsplice._types import Array


@dataclass(frozen=True, eq=False)
class LandmarkMDS:
    """Classical MDS of m landmarks, which places any point from its distances to them.

    Attributes
    ----------
    components
        Pseudo-inverse of the landmark coordinates, (n_components, m): row i is v_i / sqrt(l_i) with eigenvalue l_i
        and unit eigenvector v_i; zero where l_i is not positive.
    mean_squared
        Mean squared distance of each landmark to all landmarks, (m,).
    spectrum
        All m eigenvalues, divided by m, largest first. For Euclidean distances they are the variances of the landmarks
        along their principal axes; negative ones tell how far the distances are from Euclidean.
    """

    components: Array
    mean_squared: Array
    spectrum: Array

    def transform(self, distances: Array) -> Array:
        """Return the coordinates (n, n_components) of points at ``distances`` (m, n) from the landmarks.

        y = components (mean_squared - d²) / 2, one column d per point: exact for Euclidean distances, and equal to
        classical MDS at the landmarks.
        """
        if distances.ndim != 2 or len(distances) != len(self.mean_squared):
            raise ValueError(
                f"distances have shape {distances.shape}; expected one row per landmark: ({len(self.mean_squared)}, n)"
            )
        return np.asarray(self.components @ (self.mean_squared[:, None] - distances**2) / 2).T

    def limited(self, n_coordinates: int) -> LandmarkMDS:
        """Return the same placement with all but the first so many coordinates 0."""
        components = self.components.copy()
        components[n_coordinates:] = 0
        return replace(self, components=components)


def landmark_mds(landmark_distances: Array, n_components: int) -> LandmarkMDS:
    """Fit classical MDS to the distances between landmarks.

    B = -J D² J / 2 with J = I - 1/m has the eigenvalues l_i and eigenvectors v_i; sqrt(l_i) v_i are the coordinates.
    The entry of v_i with the largest magnitude is made positive.

    Parameters
    ----------
    landmark_distances
        D, (m, m), symmetric up to rounding.
    n_components
        Number of coordinates. Those beyond the positive eigenvalues are 0.
    """
    squared = np.asarray(landmark_distances, dtype=np.float64) ** 2
    if squared.ndim != 2 or len(squared) != squared.shape[1]:
        raise ValueError(f"landmark_distances have shape {squared.shape}; expected a square matrix")
    if n_components < 1:
        raise ValueError(f"n_components is {n_components}; expected at least 1")
    squared = (squared + squared.T) / 2
    mean_squared = squared.mean(axis=0)
    centered = -(squared - mean_squared - mean_squared[:, None] + mean_squared.mean()) / 2
    ascending, vectors = np.linalg.eigh(centered)
    eigenvalues, vectors = ascending[::-1], vectors[:, ::-1].T  # (m,), (m, m): one eigenvector per row
    rounding = len(squared) * np.finfo(np.float64).eps * np.abs(eigenvalues).max()
    n_positive = min(n_components, int((eigenvalues > rounding).sum()))
    leading = vectors[:n_positive]
    largest = np.take_along_axis(leading, np.abs(leading).argmax(axis=1, keepdims=True), axis=1)
    components = np.zeros((n_components, len(squared)))
    components[:n_positive] = np.sign(largest) * leading / np.sqrt(eigenvalues[:n_positive, None])
    return LandmarkMDS(components, mean_squared, eigenvalues / len(squared))


def faithful_width(mds: LandmarkMDS, landmark_distances: Array, distances: Array) -> int:
    """Return with how many leading coordinates points lie at their given distances from the landmarks, most nearly.

    A coordinate is a sum over landmarks divided by the square root of its eigenvalue: along axes on which the landmarks
    hardly differ, other points are thrown far off by the least error in their distances. Landmarks themselves do not
    show it, so ``distances`` should be those of other points.

    Parameters
    ----------
    mds
        The placement.
    landmark_distances, distances
        Between landmarks (m, m), and from landmarks to other points (m, n).
    """
    landmarks, points = mds.transform(landmark_distances), mds.transform(distances)
    squared, errors = np.zeros_like(distances), []
    for at_landmarks, at_points in zip(landmarks.T, points.T, strict=True):
        squared += (at_landmarks[:, None] - at_points) ** 2
        errors.append(np.square(np.sqrt(squared) - distances).mean())
    return 1 + int(np.argmin(errors))


def effective_dimension(spectrum: Array, threshold: float = 0.05) -> int:
    """Return how many eigenvalues exceed ``threshold`` times the first; 0 for a cloud without extent."""
    return int((spectrum > threshold * spectrum.max()).sum())
