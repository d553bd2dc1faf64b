"""Whether private latents can be told from other views: disentangling sees only what tells another view's mean.

The cosine of twice an angle says nothing of the mean of its cosine and sine, so a private space may keep it although
the other view knows it. Asked the other way round, it is told at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from sklearn.neighbors import KNeighborsRegressor
from torch import Tensor

from viewsplice._types import Array
from viewsplice.geometry.targets import encode_rows
from viewsplice.model import SpliceNet
from viewsplice.recipes.problem import Choice
from viewsplice.training.alternating import TrainingData
from viewsplice.views import endpoints, is_arrow

# Rows to learn from, rows to judge, fewer of these than tell anything, and neighbors that predict.
_MOST_ROWS, _MOST_JUDGED, _FEWEST_ROWS, _N_NEIGHBORS = 5_000, 1_000, 50, 10
# Neighbors that tell nothing have an R² of -1 / 10.
_LEAST_TOLD = 0.1


def check_independence(model: SpliceNet, data: TrainingData) -> dict[str, Choice]:
    """Return ``told/A``, a choice that is weak, for every private space A that another view's latents tell.

    Its value is the part of the variance of z_A that neighbors in one space of another view predict on held-out rows.
    """
    if min(len(data.train), len(data.validation)) < _FEWEST_ROWS:
        return {}
    seen, judged = _latents(model, data, data.train, _MOST_ROWS), _latents(model, data, data.validation, _MOST_JUDGED)
    found = {}
    for space in model.private_spaces:
        told = {other: _told(seen, judged, other, space) for other in model.spaces if _view(other) != space}
        best = max(told, key=lambda other: told[other], default=space)
        if told.get(best, 0.0) > _LEAST_TOLD:
            reason = (
                f"{best}, which view {_view(best)} alone determines, tells {told[best]:.0%} of its variance on "
                "held-out rows; disentangling removes only what tells the mean of view "
                f"{_view(best)}: count this part as shared"
            )
            found[f"told/{space}"] = Choice(told[best], reason, is_weak=True)
    return found


def _latents(model: SpliceNet, data: TrainingData, rows: Tensor, most: int) -> dict[str, Array]:
    """Return the latents of some of these rows, at most so many, by space."""
    latents = encode_rows(model, data.views, rows[:: -(-len(rows) // most)]).spaces()
    return {space: latents[space].cpu().double().numpy() for space in model.spaces}


def _told(seen: Mapping[str, Array], judged: Mapping[str, Array], source: str, target: str) -> float:
    """Return the held-out R² of one space, all its dimensions together, by the nearest neighbors in another one."""
    truth = judged[target]
    total = float(((truth - truth.mean(axis=0)) ** 2).sum())
    if total == 0:
        return 0.0
    guess = KNeighborsRegressor(_N_NEIGHBORS).fit(seen[source], seen[target]).predict(judged[source])
    return 1 - float(((truth - guess) ** 2).sum()) / total


def _view(space: str) -> str:
    """Return the view that a space is encoded from."""
    return endpoints(space)[0] if is_arrow(space) else space
