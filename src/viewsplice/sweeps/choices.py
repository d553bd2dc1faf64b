"""Choices of widths: which ones a scan tries, which can be fitted, and how they are written.

A choice is a tuple: the shared width, then the private width of each view, in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from viewsplice.views import Views, is_arrow

Widths = tuple[int, ...]


def widths_of(found: Mapping[str, int], views: Views) -> Widths:
    """Return a fit's widths as a tuple; a view that nothing else would rebuild keeps at least one shared dimension."""
    shared = max(width for space, width in found.items() if is_arrow(space))
    private = tuple(found[name] for name in views.names)
    return (max(shared, int(0 in private)), *private)


def lines_around(middle: Widths, widths: Sequence[int] | None, views: Views) -> list[list[Widths]]:
    """Return for each place of the tuple the choices that differ there only, by width; views must stay decodable."""
    features = [int(np.prod(shape)) for shape in views.feature_shapes.values()]
    limits = [min(features), *features]
    lines = []
    for place, limit in enumerate(limits):
        own = middle[place]
        around = (0, own // 2, max(0, own - 1), own, own + 1, max(2, 2 * own))
        tried = sorted({min(width, limit) for width in (around if widths is None else widths)})
        line = [(*middle[:place], width, *middle[place + 1 :]) for width in tried]
        lines.append([choice for choice in line if choice[0] or 0 not in choice[1:]])
    return lines


def decodable(chosen: Widths, views: Views) -> tuple[Widths, list[str]]:
    """Return widths that a fit accepts, each being chosen alone, and a sentence for every one that was raised.

    Where neither the shared nor a private space adds to the other, the private one stays: no claim is made that
    something is shared.
    """
    shared, *private = chosen
    if shared:
        return chosen, []
    empty = [name for name, width in zip(views.names, private, strict=True) if not width]
    told = [
        f"Private width of {name} is 1 and not 0: with nothing shared, nothing else would rebuild it." for name in empty
    ]
    return (0, *(max(1, width) for width in private)), told


def words(choice: Widths) -> str:
    """Return a choice as it is written in sentences."""
    return f"{choice[0]} shared; {', '.join(map(str, choice[1:]))} private"
