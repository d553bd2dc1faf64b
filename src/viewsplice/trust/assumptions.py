"""What the method takes for granted, checked: independence, and that the data sample the combinations it makes up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from viewsplice._types import Array
from viewsplice.estimator import SPLICE
from viewsplice.geometry.submanifolds import decoded_view
from viewsplice.metrics import on_manifold
from viewsplice.records import Record
from viewsplice.trust.dependence import Dependence
from viewsplice.trust.symbols import plain_symbol
from viewsplice.views import Views

_MOST_ROWS = 1000
# Made points may lie farther out than 95 % of real points do in this share of cases.
_FAR, _MOST_FAR = 0.95, 0.2
_ALPHA = 0.05
# Distance correlations below this are traces, whatever their p-value.
_TRACE = 0.01


@dataclass(frozen=True)
class Assumption(Record):
    """Something the method takes for granted.

    Attributes
    ----------
    name
        ``"independence"``, ``"coverage"``, ``"order of rows"`` or ``"held-out rows"``.
    holds
        Whether nothing speaks against it; None: it was not tested.
    sentence
        What was found.
    numbers
        Those behind it, by space or pair of spaces.
    """

    name: str
    holds: bool | None
    sentence: str
    numbers: Mapping[str, float] = field(default_factory=dict)


def check_independence(dependences: Sequence[Dependence]) -> Assumption:
    """Return whether private and shared spaces depend on each other, by distance correlation (Holm-corrected)."""
    name = "independence"
    if not dependences:
        return Assumption(name, None, "There are no two spaces to compare.")
    adjusted = holm([found.p for found in dependences])
    worst = max(dependences, key=lambda found: found.distance_correlation)
    values = {f"{found.first}, {found.second}": found.distance_correlation for found in dependences}
    # Plus zero: what rounds to zero has no sign.
    value = round(worst.distance_correlation, 3) + 0.0
    size = f"distance correlation {value:.3f} at most ({_pair(worst)})"
    caught = [
        _pair(found)
        for found, p in zip(dependences, adjusted, strict=True)
        if p <= _ALPHA and found.distance_correlation >= _TRACE
    ]
    if caught:
        return Assumption(name, False, f"Depend on each other: {'; '.join(caught)}; {size}.", values)
    if is_blind([found.smallest_p for found in dependences]):
        return Assumption(name, None, f"Dependence of spaces could not have been shown by so few rows: {size}.", values)
    return Assumption(name, True, f"No dependence between private and shared spaces was found: {size}.", values)


def _pair(found: Dependence) -> str:
    return f"{plain_symbol(found.first)} and {plain_symbol(found.second)}"


def check_coverage(model: SPLICE, views: Views, anchors: Array) -> Assumption:
    """Return whether points made by holding other spaces at an anchor lie where real points lie.

    Parameters
    ----------
    model
        The fitted model.
    views
        Real rows; at most 1,000, evenly spread, are used.
    anchors
        Rows of ``views`` at which the other spaces are held.
    """
    rows = np.unique(np.linspace(0, len(views) - 1, min(len(views), _MOST_ROWS)).round().astype(np.intp))
    real = views[rows]
    far = {}
    for space in [name for name, width in {**model.n_private_, **model.n_shared_}.items() if width]:
        made = [model.project(views, vary=space, anchor=int(anchor))[rows] for anchor in anchors]
        found = on_manifold(np.concatenate(made), real[decoded_view(space)])
        far[space] = float((found.made > np.quantile(found.real, _FAR)).mean())
    if not far:
        return Assumption("coverage", None, "There is no space to project along.")
    worst = max(far, key=lambda space: far[space])
    sentence = (
        f"Of points made along {plain_symbol(worst)}, {far[worst]:.0%} lie farther from all real points than 95 % of "
        "real points do from each other"
    )
    if far[worst] <= _MOST_FAR:
        return Assumption(
            "coverage", True, f"Combinations are covered by the data: {sentence[0].lower()}{sentence[1:]}.", far
        )
    advice = "the data do not sample these combinations, and distances along them are guesses"
    return Assumption("coverage", False, f"{sentence}: {advice}.", far)


def is_blind(smallest: Sequence[float]) -> bool:
    """Tell whether no test could have been significant, corrected for their number, given the smallest p of each."""
    return bool(smallest) and min(smallest) * len(smallest) > _ALPHA


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method, in the same order."""
    order = np.argsort(p_values)
    adjusted = np.empty(len(p_values))
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return [float(p) for p in adjusted]
