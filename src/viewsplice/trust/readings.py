"""What each latent space tells about other spaces, about the views and about covariates: the table of an audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from viewsplice._random import derive_seed
from viewsplice._types import Array
from viewsplice.io import joint_fingerprint
from viewsplice.records import Record
from viewsplice.sweeps.tasks import Task
from viewsplice.trust.nulls import Exchange
from viewsplice.trust.probes import strongest_reading
from viewsplice.views import Views, endpoints, is_arrow

LEAKS = ("shared into private", "private into shared", "own private into shared", "private into private")


@dataclass(frozen=True)
class Told(Record):
    """What a latent space tells about one target on held-out rows.

    Attributes
    ----------
    source, target
        The space that is read, and what is asked about: a space, ``"view A"``, or the name of a covariate.
    kind
        Leaks, which should not be: ``"shared into private"``, ``"private into shared"``, ``"own private into shared"``
        (view B's private space found in s_{B->A}, which is computed from B), ``"private into private"``. Or ``"view"``
        and ``"covariate"``, which may be.
    probe
        The strongest: ``"linear"``, ``"neighbors"``, ``"trees"``, ``"network"``; ``"none"`` if there is nothing to
        read.
    r2
        Its held-out R², over all dimensions of the target.
    null_mean, null_q95
        Mean and 95 % quantile of the same with probes trained and judged on exchanged pairs.
    p
        How often exchanged held-out pairs agree as well with what the strongest probe predicts.
    smallest_p
        The smallest that these rows could have given; 0: not known.
    """

    source: str
    target: str
    kind: str
    probe: str
    r2: float
    null_mean: float
    null_q95: float
    p: float
    smallest_p: float = 0.0

    @property
    def leak(self) -> float:
        """R² above chance, ``r2 - null_mean``."""
        return self.r2 - self.null_mean

    @property
    def is_leak(self) -> bool:
        """Whether there should be nothing to read."""
        return self.kind in LEAKS


@dataclass(frozen=True, eq=False)
class Parts:
    """Latents and targets, by name, of rows to learn from and of rows to judge on, and what may be exchanged."""

    spaces: tuple[Mapping[str, Array], Mapping[str, Array]]
    targets: tuple[Mapping[str, Array], Mapping[str, Array]]
    exchanges: tuple[Exchange, Exchange]

    @property
    def fingerprint(self) -> str:
        """A text that changes with any of these numbers."""
        named = {"units": [exchange.units for exchange in self.exchanges]}
        named |= {"shifted": [np.array([exchange.is_shifted]) for exchange in self.exchanges]}
        named |= {f"space {name}": [part[name] for part in self.spaces] for name in self.spaces[0]}
        named |= {f"target {name}": [part[name] for part in self.targets] for name in self.targets[0]}
        return joint_fingerprint({f"{i} {name}": x for name, pair in named.items() for i, x in enumerate(pair)})


def questions(spaces: Mapping[str, Array], views: Views, covariates: Mapping[str, Array]) -> list[tuple[str, str, str]]:
    """Return (source, target, kind) of everything that is asked; spaces without dimensions ask and tell nothing."""
    used = [name for name, z in spaces.items() if z.shape[1]]
    asked = []
    for source in used:
        for target in used:
            kind = _kind(source, target)
            if kind:
                asked.append((source, target, kind))
    asked += [(source, f"view {name}", "view") for source in used for name in views.names]
    return asked + [(source, name, "covariate") for source in used for name in covariates]


def _kind(source: str, target: str) -> str:
    """Return which leak it would be if ``source`` told about ``target``; "" if that would be none."""
    if source == target or (is_arrow(source) and is_arrow(target)):
        return ""
    if not is_arrow(source):
        if not is_arrow(target):
            return "private into private"
        # What the other views say: what the same view says is as noisy as the private space, with the same noise.
        return "shared into private" if endpoints(target)[1] == source else ""
    if endpoints(source)[0] == target:
        return "own private into shared"
    return "private into shared" if endpoints(source)[1] == target else ""


def reading_tasks(
    asked: Sequence[tuple[str, str, str]], parts: Parts, *, n_null: int, n_orders: int, seed: int
) -> list[Task]:
    """Return one task of ``parts`` for every question: what the strongest probe reads, as `Reading`.

    Parameters
    ----------
    asked
        (source, target, kind) of each question.
    parts
        Latents and targets.
    n_null, n_orders
        As in `strongest_reading`.
    seed
        Root of the seeds of probes.
    """
    about = {"sweep": "reading", "version": 3, "data": parts.fingerprint, "null": n_null, "orders": n_orders}
    tasks = []
    for source, target, _ in asked:
        own = derive_seed(seed, "reading", source, target)
        work = partial(_read, source, target, n_null, n_orders, own)
        tasks.append(Task(f"{source} about {target}", {**about, "pair": [source, target], "seed": own}, work))
    return tasks


def _read(source: str, target: str, n_null: int, n_orders: int, seed: int, parts: Parts) -> dict[str, Any]:
    z, y = (parts.spaces[0][source], parts.spaces[1][source]), (parts.targets[0][target], parts.targets[1][target])
    return asdict(strongest_reading(z, y, parts.exchanges, n_null=n_null, n_orders=n_orders, seed=seed))
