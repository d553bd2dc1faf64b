"""What the page is about: the fitted model, the rows given, and what is known about them and about the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from viewsplice._random import numpy_generator
from viewsplice._types import Array, Latents
from viewsplice.estimator import SPLICE
from viewsplice.geometry.targets import SpaceGeometry
from viewsplice.metrics import is_collapsed
from viewsplice.plotting import ColorKind
from viewsplice.plotting.colors import coloring
from viewsplice.trust import Shares, variance_shares
from viewsplice.views import Views, as_views, endpoints, is_arrow

_TOLERANCE = 1e-6
_MOST_DRAWN = 50_000
# Held-out rows fewer than these say too little; then all rows are judged, and the page says so.
_LEAST_JUDGED = 20
_MOST_JUDGED = 2_000
# Numbers decoded to find the shares of variance: rows are fewer where they are wide.
_MOST_VALUES = 2**22


@dataclass(frozen=True)
class Run:
    """What is known about a fit besides the model.

    Attributes
    ----------
    command
        The line that made it; empty for a fit in Python.
    seconds
        How long the fit took, if known.
    notes
        Sentences about the run, such as what was done to the data.
    warnings
        What the fit warned of.
    audit
        What an audit found, as in ``audit.json`` of a run folder.
    versions
        Those of the packages that made the fit, by name, if known.
    """

    command: str = ""
    seconds: float | None = None
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    audit: Mapping[str, Any] | None = None
    versions: Mapping[str, str] | None = None


@dataclass(frozen=True, eq=False)
class Content:
    """What the sections show.

    Attributes
    ----------
    model, views, latents
        The fitted model, the rows given, and their latents.
    parts
        Numbers of those rows: "training" and "validation" if they are the fitted ones, else "given".
    colors, kinds
        Values per row by which latent spaces can be colored, and how to read them.
    feature_names
        Names of features by view, for views whose features have any.
    run
        What else is known.
    """

    model: SPLICE
    views: Views
    latents: Latents[Array]
    parts: Mapping[str, Array]
    colors: Mapping[str, Array] = field(default_factory=dict)
    kinds: Mapping[str, ColorKind] = field(default_factory=dict)
    feature_names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    run: Run = field(default_factory=Run)

    @cached_property
    def spaces(self) -> dict[str, Array]:
        """Latent spaces that have dimensions, shared ones first."""
        return {name: z for name, z in {**self.latents.shared, **self.latents.private}.items() if z.shape[1]}

    @cached_property
    def geometry(self) -> dict[str, SpaceGeometry]:
        """What is known about the geometry of each space, in the same order."""
        return {name: self.model.geometry_[name] for name in self.spaces if name in self.model.geometry_}

    @cached_property
    def collapsed(self) -> list[str]:
        """Spaces without spread, in the rows given or along their submanifold."""
        flat = [name for name, found in self.model.geometry_.items() if not found.geodesics.any()]
        return [name for name, z in self.spaces.items() if name in flat or is_collapsed(z)]

    @cached_property
    def drawn(self) -> Array:
        """Numbers of the rows that can be drawn: all, or 50,000 at random."""
        n_rows = len(self.views)
        if n_rows <= _MOST_DRAWN:
            return np.arange(n_rows)
        return np.sort(numpy_generator(0, "drawn rows").permutation(n_rows)[:_MOST_DRAWN])

    @cached_property
    def judged_part(self) -> str:
        """Which rows judge the fit: held-out ones where there are enough."""
        is_enough = len(self.parts.get("validation", ())) >= _LEAST_JUDGED
        return "validation" if is_enough else next(iter(self.parts))

    @cached_property
    def judged(self) -> Array:
        """Numbers of the rows that judge the fit, evenly spread over those there are."""
        widest = max(self.model.n_features_in_.values())
        return thinned(self.parts[self.judged_part], max(_LEAST_JUDGED, min(_MOST_JUDGED, _MOST_VALUES // widest)))

    @cached_property
    def shares(self) -> dict[str, Shares]:
        """What accounts for the variance of each view in the judged rows."""
        return variance_shares(self.model, self.views[self.judged])

    def explained_by(self, view: str) -> list[str]:
        """Return which of a view's spaces have dimensions: shared ones that rebuild it, its private one."""
        is_shared = any(endpoints(name)[1] == view for name in self.spaces if is_arrow(name))
        return ["shared"] * is_shared + ["private"] * (view in self.spaces)

    @cached_property
    def judged_words(self) -> str:
        """Which rows judge the fit, in words."""
        count = count_of(self.judged, self.parts[self.judged_part])
        if self.judged_part == "validation":
            return f"{count} held-out rows"
        few = " (there are too few held-out ones)" if self.judged_part == "training" else ""
        return f"{count} {self.judged_part} rows{few}"


def make_content(
    model: SPLICE,
    views: Any,
    *,
    colors: Mapping[str, Array] | None = None,
    kinds: Mapping[str, ColorKind] | None = None,
    feature_names: Mapping[str, Sequence[str]] | None = None,
    run: Run | None = None,
) -> Content:
    """Return what a page shows, checked: everything is of the same rows, and every name is one of the model's."""
    check_is_fitted(model)
    given = as_views(views, names=model.view_names_)
    missing = [name for name in model.view_names_ if name not in given]
    if missing or len(given) < 2:
        raise ValueError(f"got {given!r}; expected all views of the model, {list(model.view_names_)}, and several rows")
    chosen = {str(name): np.asarray(values) for name, values in (colors or {}).items()}
    for name, values in chosen.items():
        if values.shape != (len(given),):
            raise ValueError(f"color {name!r} has shape {values.shape}; expected one value per row: ({len(given)},)")
    for name, kind in (kinds or {}).items():
        if name not in chosen:
            raise ValueError(f"kinds has {name!r}; expected names of colors: {list(chosen)}")
        coloring(chosen[name], kind, len(given))
    for name, names in (feature_names or {}).items():
        n_features = model.n_features_in_.get(name, 0)
        if len(names) != n_features:
            raise ValueError(
                f"feature_names has {len(names)} for view {name!r}; expected one per feature: {n_features}"
            )
    latents = model.transform(given)
    parts = parts_of(model, given, latents)
    return Content(model, given, latents, parts, chosen, kinds or {}, feature_names or {}, run or Run())


def parts_of(model: SPLICE, views: Views, latents: Latents[Array]) -> dict[str, Array]:
    """Return training and validation rows if these are the rows of the fit, else all rows."""
    train, held_out = model.split_["train"], model.split_["validation"]
    if model.fitted_.has_rows(views, latents):
        return {"training": train, "validation": held_out[held_out < len(views)]}
    return {"given": np.arange(len(views))}


def thinned(rows: Array, most: int) -> Array:
    """Return at most so many rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)]


def count_of(used: Array, available: Array) -> str:
    """Return how many rows are used, and of how many if not all are."""
    return f"{len(used):,}" if len(used) == len(available) else f"{len(used):,} of {len(available):,}"
