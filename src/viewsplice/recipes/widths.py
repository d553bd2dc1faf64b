"""How many dimensions each space has: the evidence, the number, and whether the evidence is weak."""

from __future__ import annotations

from collections.abc import Mapping

from viewsplice._types import Array
from viewsplice.geometry.targets import SpaceGeometry
from viewsplice.metrics import saturation
from viewsplice.recipes.problem import Choice
from viewsplice.recipes.relevance import Relevance
from viewsplice.views import arrow, endpoints, is_arrow

# A shared space exists if shuffled pairs rebuild its view as well in at most this fraction of cases, and if it carries
# at least this fraction of its view's variance; ...
_P_SHARED, _LEAST_SHARED = 0.01, 0.005
# ... a private one if it carries at least this fraction.
_LEAST_PRIVATE = 0.01
# Eigenvalues below this fraction of the first do not count as dimensions.
_LEAST_EIGENVALUE = 0.05
# How the choice of the dimensions that carry a geometry is called, where more are given.
LEADING = "leading/"
# Evidence is weak where the coordinates tell less than this of the held-out points.
_LEAST_TOLD = 0.5


def choose_widths(
    asked: Mapping[str, int | None],
    geometry: Mapping[str, SpaceGeometry],
    relevance: Mapping[str, Relevance],
) -> dict[str, Choice]:
    """Return the width of every space that was asked to be found, with its evidence in words.

    Both directions of a pair of views get the larger of their two widths: they are two estimates of one thing.
    """
    found = {
        space: _width(space, geometry[space], relevance[space]) if space in geometry else _absent(space, relevance)
        for space, width in asked.items()
        if width is None
    }
    for space in [name for name in found if is_arrow(name)]:
        source, target = endpoints(space)
        back = arrow(target, source)
        if back in found and int(found[back].value) > int(found[space].value):
            reason = f"as many as {back}, of which it is the other direction ({found[space].reason})"
            found[space] = Choice(found[back].value, reason, is_weak=True)
    return _decodable(found, asked)


def check_given(
    asked: Mapping[str, int | None], geometry: Mapping[str, SpaceGeometry], relevance: Mapping[str, Relevance]
) -> dict[str, Choice]:
    """Return a choice for every width given by hand that is not what the evidence shows.

    ``narrow/A``, weak, is for less than all evidence shows: a ring must break to lie on a line, and breaks wherever
    training began to, so that what is shown is not its shape. ``leading/A`` is for more in a private space; its value
    is how many dimensions are to carry the geometry. Distances along a ring are those of a curve that winds through all
    dimensions there are, so these must be told, and room to spare is where what is shared hides. To a shared space room
    does no harm.
    """
    found = {}
    for space, given in asked.items():
        if not given or space not in geometry:
            continue
        shown = _width(space, geometry[space], relevance[space])
        dimensions = f"{given} dimension{'s' * (given != 1)} given"
        reason = f"{dimensions}, and the geometry shows {shown.value} ({shown.reason})"
        if int(shown.value) > given and not shown.is_weak:
            found[f"narrow/{space}"] = Choice(given, reason, is_weak=True)
        elif not is_arrow(space) and 0 < (needed := _needed(shown, geometry[space])) < given:
            others = "the others are kept near 0 unless they help to rebuild the view"
            found[f"{LEADING}{space}"] = Choice(needed, f"{reason}; {needed} to carry it, {others}")
    return found


def filled(
    own: Mapping[str, int],
    asked: Mapping[str, int | None],
    geometry: Mapping[str, SpaceGeometry],
    relevance: Mapping[str, Relevance],
) -> dict[str, int]:
    """Return the widths given to spaces beyond their ``own`` in a model that seems to need all of its own."""
    return {
        space: width
        for space, width in asked.items()
        if width and space in geometry and width > own.get(space, width)
        if _needed(_width(space, geometry[space], relevance[space]), geometry[space]) >= own[space]
    }


def _needed(shown: Choice, geometry: SpaceGeometry) -> int:
    """Return how many dimensions are to carry the geometry: all that are shown, or those before the largest gap.

    The gap counts where the evidence is weak, and among eigenvalues that stand out: a curve may rise to its end because
    of what hides in dimensions of little extent.
    """
    stands_out = spectral_dimension(geometry.spectrum)
    if not shown.is_weak or not stands_out:
        return int(shown.value)
    steps = geometry.spectrum[1 : stands_out + 1] / geometry.spectrum[:stands_out]
    return min(int(shown.value), 1 + int(steps.argmin()))


def spectral_dimension(spectrum: Array) -> int:
    """Return how many eigenvalues stand out: above 5 % of the first, and above the size of the most negative one.

    Negative eigenvalues tell how far distances are from those of any flat space; positive ones of that size tell no
    more. A ring has 1, 1, 1/9, 1/9, ... and -1/4: two dimensions.
    """
    floor = max(_LEAST_EIGENVALUE * float(spectrum[0]), -float(spectrum[-1]))
    return int((spectrum > floor).sum())


def _width(space: str, geometry: SpaceGeometry, relevance: Relevance) -> Choice:
    # Distances may be there and no eigenvalue: all landmarks are one point, and only other rows lie elsewhere.
    if not _is_there(space, relevance) or not geometry.geodesics.any() or geometry.spectrum[0] <= 0:
        return _absent(space, {space: relevance})
    curve, spectrum = geometry.curve, geometry.spectrum
    width = max(1, saturation(range(len(curve)), list(curve), [0.0] * len(curve)))
    stands_out = spectral_dimension(spectrum)
    told = ", ".join(f"{w}: {curve[w]:.3f}" for w in range(1, min(len(curve), width + 3)))
    relative = ", ".join(f"{value:.3f}" for value in spectrum[: width + 2] / spectrum[0])
    doubts = []
    if stands_out != width:
        doubts.append(f"{stands_out} eigenvalues stand out")
    if width == len(curve) - 1:
        doubts.append("no larger width was examined")
    if not relevance.is_held_out:
        doubts.append("too few held-out rows to judge by, so training rows were")
    if curve[width] < _LEAST_TOLD:
        doubts.append(f"these coordinates tell only {curve[width]:.0%} of held-out points")
    reason = f"held-out R² by width {told}; spectrum {relative}; carries {_percent(relevance)} of its view's variance"
    if doubts:
        reason += "; weak evidence: " + ", ".join(doubts)
    return Choice(width, reason, is_weak=bool(doubts))


def _is_there(space: str, relevance: Relevance) -> bool:
    if is_arrow(space):
        return relevance.p_value <= _P_SHARED and relevance.share >= _LEAST_SHARED
    return relevance.share >= _LEAST_PRIVATE


def _absent(space: str, relevance: Mapping[str, Relevance]) -> Choice:
    found = relevance.get(space, Relevance(0.0, 1.0))
    if is_arrow(space):
        what = f"p = {found.p_value:.2g} against shuffled pairs, {_percent(found)} of its view's variance"
        return Choice(0, f"nothing shared found: {what}")
    return Choice(0, f"nothing private found: it would carry {_percent(found)} of its view's variance")


def _percent(relevance: Relevance) -> str:
    return f"{100 * max(0.0, relevance.share):.1f} %"


def _decodable(found: dict[str, Choice], asked: Mapping[str, int | None]) -> dict[str, Choice]:
    """Give a view that nothing would rebuild one private dimension, and say so."""
    widths = {space: int(found[space].value) if space in found else int(width or 0) for space, width in asked.items()}
    for view in [name for name in found if not is_arrow(name)]:
        incoming = [width for name, width in widths.items() if is_arrow(name) and endpoints(name)[1] == view]
        if widths[view] == 0 and not any(incoming):
            reason = f"one, since nothing else would rebuild the view ({found[view].reason})"
            found[view] = Choice(1, reason, is_weak=True)
    return found
