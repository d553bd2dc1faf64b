"""Pictures of baselines beside SPLICE: what the first seed left, method by method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.experiments.contest import DIVERGED, RUNS, Contest
from viewsplice.experiments.drawing import Space, save, show_spaces
from viewsplice.experiments.parts import Done, read_arrays, read_values

_NOTHING = np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Seen:
    """What a fit left for pictures.

    Attributes
    ----------
    values, arrays
        As judged; of a fit that diverged there are no arrays.
    """

    values: Mapping[str, Any]
    arrays: Mapping[str, Array]

    def space(self, name: str, color: str, color_label: str, *, label: str, kind: Any = None) -> Space:
        """Return one of the arrays as a space, colored by another; where it is missing, the reason.

        Parameters
        ----------
        name, color
            Of the arrays.
        color_label, label, kind
            As in `Space`.
        """
        latents = self.arrays.get(name, _NOTHING)
        if latents.shape[1] and color in self.arrays:
            return Space(latents, self.arrays[color], color_label, label, kind)
        is_diverged = self.values.get("fit", {}).get("ended") == DIVERGED
        absent = "the fit diverged" if is_diverged else "collapsed" if self.values.get("collapsed") else "no such space"
        return Space(_NOTHING, _NOTHING, color_label, label, kind, absent)


def seen_of(done: Done, name: str) -> Seen:
    """Return what a judged fit left for pictures."""
    values = read_values(done[name])
    return Seen(values, {} if values.get("fit", {}).get("ended") == DIVERGED else read_arrays(done.whole(name)))


def seen_rivals(contest: Contest, done: Done, runs: Sequence[str] = RUNS, *, private: bool = False) -> dict[str, Seen]:
    """Return by method, such as ``"dmvae-tuned"``, what the first seed left; ``private``: of those with such spaces."""
    return {
        f"{rival.name}-{run}": seen_of(done, contest.part_name(contest.seeds[0], rival, run))
        for rival in contest.rivals
        if rival.has_private or not private
        for run in runs
    }


def draw_side_by_side(
    seen: Mapping[str, Seen],
    column: Callable[[str, Seen], Sequence[Space]],
    path: Path,
    *,
    quick: bool,
    title: str,
) -> None:
    """Draw the spaces of each method in a column.

    Parameters
    ----------
    seen
        By name of the method, what there is to draw.
    column
        Returns its spaces, top to bottom.
    path, quick, title
        As in `save`.
    """
    ax = show_spaces([column(name, one) for name, one in seen.items()], size=(2.9, 2.6))
    save(ax, path, quick=quick, title=title)
