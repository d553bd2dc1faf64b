"""Whether another seed, or another anchor, would have given the same spaces."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from viewsplice._random import derive_seed
from viewsplice._types import Array
from viewsplice.estimator import SPLICE
from viewsplice.exceptions import GeometryWarning, TrainingDivergedError
from viewsplice.geometry import landmark_isomap
from viewsplice.io import joint_fingerprint
from viewsplice.persistence import settings_to_json
from viewsplice.splits import Blocks
from viewsplice.sweeps.fits import quiet_fit
from viewsplice.sweeps.tasks import Task
from viewsplice.trust.agreement import Agreement, agreement
from viewsplice.trust.nulls import Exchange
from viewsplice.trust.sharing import shared_information
from viewsplice.views import Views

_MOST_POINTS = 2000
_MOST_COORDINATES = 10


@dataclass(frozen=True, eq=False)
class Halves:
    """Rows to refit to, rows to compare on, and which pairs of the latter may be exchanged."""

    learn: Views
    judge: Views
    exchange: Exchange
    gap: int


def refit_tasks(model: SPLICE, halves: Halves, *, n_refits: int, n_orders: int, seed: int) -> list[Task]:
    """Return tasks of ``halves``: refits with other seeds, to other rows, and what they find on the rows that judge.

    That is ``spaces``, latents by space, and ``sharing``, as `Sharing`; or ``failure``, a sentence. The settings are
    those of the model, the widths those that it has.

    Parameters
    ----------
    model
        The model that is audited.
    halves
        The rows.
    n_refits, n_orders
        Number of refits, and of exchanges that tell whether each finds shared information.
    seed
        Root of their seeds.
    """
    params = {**model.get_params(deep=False), "n_shared": model.n_shared_, "n_private": model.n_private_}
    if model.training is not None and model.training.batch_size is not None:
        fitting = min(model.training.batch_size, max(1, len(halves.learn) // 2))
        params["training"] = replace(model.training, batch_size=fitting)
    data = {"learn": joint_fingerprint(halves.learn), "judge": joint_fingerprint(halves.judge), "gap": halves.gap}
    data |= {"units": joint_fingerprint({halves.exchange.scheme: halves.exchange.units})}
    tasks = []
    for number in range(n_refits):
        chosen = {**params, "random_state": derive_seed(seed, "refit", number) % 2**31}
        about = {"sweep": "refit", "version": 1, **data, "orders": n_orders, "estimator": settings_to_json(chosen)}
        tasks.append(Task(f"refit {number + 1}", about, partial(_refit, chosen, n_orders)))
    return tasks


def _refit(params: Mapping[str, Any], n_orders: int, halves: Halves) -> dict[str, Any]:
    validation = Blocks(gap=halves.gap) if halves.gap else 0.1
    try:
        model = quiet_fit(SPLICE(**params), halves.learn, validation=validation)
    except (TrainingDivergedError, ValueError) as error:
        return {"failure": " ".join(str(error).split())}
    found = shared_information(model, halves.judge, halves.exchange, n_orders=n_orders, seed=model.random_state)
    return {"spaces": model.transform(halves.judge).spaces(), "sharing": found}


def compare_refits(spaces: Mapping[str, Array], found: Sequence[Mapping[str, Any]]) -> list[Agreement]:
    """Return how much every space of the model agrees with that of each refit, and the first refit with the others."""
    versions = {"model": dict(spaces)}
    versions |= {f"refit {i + 1}": refit["spaces"] for i, refit in enumerate(found) if "spaces" in refit}
    names = list(versions)
    pairs = [(a, b) for i, a in enumerate(names[:2]) for b in names[i + 1 :]]
    return [
        agreement(space, f"{a}, {b}", np.asarray(versions[a][space]), np.asarray(versions[b][space]))
        for a, b in pairs
        for space, z in spaces.items()
        if z.shape[1]
    ]


def compare_anchors(model: SPLICE, views: Views, anchors: Array, *, seed: int) -> list[Agreement]:
    """Return how much the submanifold of every space agrees between anchors, unrolled by landmark Isomap.

    Parameters
    ----------
    model
        The fitted model.
    views
        Rows whose latents are decoded; at most 2,000 are: sparse points make shortcuts.
    anchors
        Rows of ``views`` at which the other spaces are held.
    seed
        Of landmarks.
    """
    rows = np.unique(np.linspace(0, len(views) - 1, min(len(views), _MOST_POINTS)).round().astype(np.intp))
    widths = {space: width for space, width in {**model.n_private_, **model.n_shared_}.items() if width}
    found = []
    for space, width in widths.items():
        sheets = [
            _unrolled(model.project(views, vary=space, anchor=int(anchor))[rows], min(width, _MOST_COORDINATES), seed)
            for anchor in anchors
        ]
        found += [
            agreement(space, f"anchor 1, anchor {number}", sheets[0], sheet)
            for number, sheet in enumerate(sheets[1:], start=2)
        ]
    return found


def _unrolled(points: Array, width: int, seed: int) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeometryWarning)
        return landmark_isomap(points.reshape(len(points), -1), width, random_state=seed).embedding_
