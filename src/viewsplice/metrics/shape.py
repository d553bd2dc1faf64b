"""Whether a latent space is a ring, a line, a sheet or clusters: a name only where the evidence bears it."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist
from sklearn.neighbors import NearestNeighbors

from viewsplice._types import Array
from viewsplice.metrics.dimension import covariance_spectrum
from viewsplice.metrics.variance import as_rows, is_collapsed

N_POINTS = 500
# A loop is a ring, and a gap parts clusters, when it is this much longer than what chance leaves.
_RING = 3.0
_GAP = 3.0
# Even points of a sheet leave loops of similar length: one that outlasts them by this may be a ring with points inside.
_PLAIN = 1.5
_LEAST_CLUSTER = 0.05
_LEAST_ROWS = 50
_THRESHOLD = 0.05
# Neighbors tell the dimension up to about this factor.
_WITHIN = 0.6
_TRUSTED = 0.9


@dataclass(frozen=True, eq=False)
class Shape:
    """The shape of a latent space.

    Attributes
    ----------
    name
        ``"ring"``, ``"line"``, ``"sheet"`` or ``"clusters"``; None where the evidence is for none of them.
    reason
        The evidence in a sentence.
    spectrum
        Variances along the principal axes, relative to the first.
    neighbor_dimension
        The dimension that distances to the two nearest rows suggest; NaN where it cannot be told.
    loops
        Birth and death of every loop, longest first, (loops, 2); None without ripser.
    n_clusters
        How many parts are separated by wide gaps; 1 if there are none.
    """

    name: str | None
    reason: str
    spectrum: Array = field(default_factory=lambda: np.zeros(0))
    neighbor_dimension: float = float("nan")
    loops: Array | None = None
    n_clusters: int = 1

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "name": self.name,
            "reason": self.reason,
            "spectrum": self.spectrum.tolist(),
            "neighbor_dimension": self.neighbor_dimension,
            "loops": None if self.loops is None else self.loops.tolist(),
            "n_clusters": self.n_clusters,
        }


def shape_of(latents: Array, *, n_points: int = N_POINTS, random_state: int = 0) -> Shape:
    """Name the shape of a latent space, if the evidence is clear.

    Clusters: gaps of single linkage at least 3 times as wide as 95 % of the steps within. Ring: the longest loop of
    the first persistent homology lasts at least 3 times as long as the second (needs ripser, the extra ``topology``).
    Line and sheet: one or two principal axes above 5 % of the first, and a dimension by nearest neighbors that
    agrees; a sheet also needs to be without a ring, and without a loop of 1.5 times the second that may be one, so that
    it has no name where ripser is not installed.

    Parameters
    ----------
    latents
        One latent space, (n, dimensions).
    n_points
        Rows that are compared, drawn at random.
    random_state
        Seed of the draw.
    """
    rows = as_rows(latents, "latents")
    if len(rows) < _LEAST_ROWS:
        return Shape(None, f"there are {len(rows)} rows, too few to tell")
    if is_collapsed(rows):
        return Shape(None, "the space has collapsed")
    chosen = _drawn(rows, n_points, random_state)
    spectrum = covariance_spectrum(rows)
    relative = spectrum / spectrum[0]
    dimension, n_clusters = neighbor_dimension(chosen), count_clusters(chosen)
    loops = _loops(chosen) if rows.shape[1] > 1 and importlib.util.find_spec("ripser") else None
    name, reason = _named(relative, dimension, loops, n_clusters, is_flat=rows.shape[1] == 1)
    return Shape(name, reason, relative, dimension, loops, n_clusters)


def _named(
    spectrum: Array, dimension: float, loops: Array | None, n_clusters: int, *, is_flat: bool
) -> tuple[str | None, str]:
    """Return the name that the evidence bears, and the evidence."""
    n_axes = int((spectrum > _THRESHOLD).sum())
    axes = f"{n_axes} principal {'axis' if n_axes == 1 else 'axes'} above 5 % of the first"
    near = f"neighbors suggest {dimension:.1f} dimensions"
    if n_clusters > 1:
        return "clusters", f"{n_clusters} parts with gaps between them at least {_GAP:g} times as wide as within"
    ratio = None if loops is None else loop_ratio(loops)
    loop = "" if ratio is None else f"; the longest loop lasts {_times(ratio)} as long as the second"
    loop = "; there is no loop" if loops is not None and not len(loops) else loop
    if ratio is not None and ratio >= _RING:
        return (
            "ring",
            f"the longest loop lasts {_times(ratio)} as long as the second (a ring: at least {_RING:g}); {axes}",
        )
    if n_axes == 1 and (is_flat or dimension < 1 + _WITHIN):
        return "line", f"{axes}; {near}{loop}"
    is_looked_for = "" if loops is not None else "; loops were not looked for: pip install 'viewsplice[topology]'"
    if n_axes == 2 and abs(dimension - 2) < _WITHIN and ratio is not None:
        if ratio < _PLAIN:
            return "sheet", f"{axes}; {near}{loop}"
        return None, f"{axes}; {near}{loop}, too little for a ring and too much for a sheet"
    return None, f"{axes}; {near}{loop}{is_looked_for}"


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if np.isfinite(ratio) else "infinitely many times"


def loop_bars(latents: Array, *, n_points: int = N_POINTS, random_state: int = 0) -> Array:
    """Return birth and death of every loop of the first persistent homology, longest first, (loops, 2).

    Parameters
    ----------
    latents
        One latent space, (n, dimensions).
    n_points
        Rows that are compared, drawn at random.
    random_state
        Seed of the draw.
    """
    return _loops(_drawn(as_rows(latents, "latents"), n_points, random_state))


def _drawn(rows: Array, n_points: int, random_state: int) -> Array:
    """Return some rows, drawn at random."""
    chosen: Array = rows[np.random.default_rng(random_state).permutation(len(rows))[:n_points]]
    return chosen


def _loops(points: Array) -> Array:
    try:
        from ripser import ripser
    except ImportError as error:
        raise ImportError("persistent homology needs ripser: pip install 'viewsplice[topology]'") from error
    bars = np.asarray(ripser(points, maxdim=1)["dgms"][1], dtype=np.float64).reshape(-1, 2)
    longest_first: Array = bars[np.argsort(bars[:, 0] - bars[:, 1], kind="stable")]
    return longest_first


def loop_ratio(bars: Array) -> float:
    """Return the length of the longest of these loops over that of the second; 0 without any."""
    first, second, *_ = [*(bars[:, 1] - bars[:, 0])[:2], 0.0, 0.0]
    return float(first / second) if second > 0 else float("inf") if first > 0 else 0.0


def neighbor_dimension(points: Array) -> float:
    """Return the dimension by the ratio mu of the distances to the second and the first neighbor.

    On a d-dimensional manifold, -log(1 - F(mu)) = d log(mu) (Facco et al. 2017). The slope is fitted through the
    origin, without the largest tenth of the ratios, which depend most on where the density changes.
    """
    distances = NearestNeighbors(n_neighbors=2).fit(points).kneighbors()[0]
    apart = distances[:, 0] > 0
    ratios = np.sort(distances[apart, 1] / distances[apart, 0])
    kept = int(_TRUSTED * len(ratios))
    if kept < 2 or ratios[kept - 1] <= 1:
        return float("nan")
    x, y = np.log(ratios[:kept]), -np.log1p(-np.arange(1, kept + 1) / len(ratios))
    return float((x @ y) / (x @ x))


def count_clusters(points: Array) -> int:
    """Return how many parts of at least 5 % of the points are separated by gaps wider than chance leaves."""
    tree = linkage(pdist(points), "single")
    sizes = np.concatenate([np.ones(len(points)), tree[:, 3]])
    smaller = np.minimum(sizes[tree[:, 0].astype(int)], sizes[tree[:, 1].astype(int)])
    parts = smaller >= _LEAST_CLUSTER * len(points)
    if not parts.any() or parts.all():
        return 1
    return 1 + int((tree[parts, 2] > _GAP * np.quantile(tree[~parts, 2], 0.95)).sum())
