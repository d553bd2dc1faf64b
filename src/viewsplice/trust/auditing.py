"""The audit: on held-out rows, what each latent space knows, whether views share anything, and what was assumed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

from sklearn.utils.validation import check_is_fitted

from viewsplice._random import RandomState, derive_seed, numpy_generator, root_seed
from viewsplice._types import Array
from viewsplice.config import check_number
from viewsplice.estimator import SPLICE
from viewsplice.geometry.anchors import choose_anchors
from viewsplice.ordering import RowOrder
from viewsplice.sweeps.sweep import Sweep
from viewsplice.sweeps.tasks import Task
from viewsplice.trust.assumptions import Assumption, check_coverage, check_independence
from viewsplice.trust.covariates import covariate_columns
from viewsplice.trust.dependence import MOST_ROWS, Dependence, measure_dependence
from viewsplice.trust.nulls import Exchange
from viewsplice.trust.probes import along_axes
from viewsplice.trust.readings import LEAKS, Parts, Told, questions, reading_tasks
from viewsplice.trust.rows import AuditRows, choose_rows
from viewsplice.trust.sharing import Sharing, Telling, shared_information
from viewsplice.trust.stability import Halves, compare_anchors, compare_refits, refit_tasks
from viewsplice.trust.verdict import Audit, write_findings
from viewsplice.views import Views, as_views, is_arrow, row_blocks

_N_ANCHORS = 3
# Exchanges per test, at least: p-values are multiplied by the number of tests, and must be able to stay below 0.05.
_N_PER_TEST = 40


@dataclass(frozen=True)
class AuditSettings:
    """How thorough an audit is.

    Parameters
    ----------
    n_permutations
        Exchanges of held-out pairs behind each p-value; more where many directions of leaks are asked about.
    n_null
        Exchanges on which all probes are trained afresh (the definition of a leak has 20).
    n_refits
        Refits with other seeds; 0: none.
    most_rows
        Rows that probes and refits learn from, and rows that judge, at most.
    """

    n_permutations: int = 999
    n_null: int = 20
    n_refits: int = 2
    most_rows: int = 4000

    def __post_init__(self) -> None:
        for name, low in (("n_permutations", 19), ("n_null", 1), ("n_refits", 0), ("most_rows", 40)):
            check_number(name, getattr(self, name), low=low, integer=True)


def audit(
    model: SPLICE,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    covariates: Mapping[str, Any] | None = None,
    random_state: RandomState = None,
    settings: AuditSettings | None = None,
    sweep: Sweep | None = None,
) -> Audit:
    """Return whether a fitted model can be believed.

    Rows that the model was not fitted to make the strictest audit; of the rows of its fit, the validation rows judge.
    Rows in groups are exchanged as whole groups, and rows that are like their neighbors only shifted.

    Parameters
    ----------
    model
        The fitted model; it stays as it is.
    X, y
        All its views, as for ``fit``.
    groups
        Label per row, such as the trial: rows of one group are not independent.
    covariates
        By name, what else is known of the rows: numbers (n,), columns (n, k), or labels (n,), of which the 256 most
        frequent count. Give an angle as its cosine and its sine.
    random_state
        Seed of everything random.
    settings
        How thorough the audit is.
    sweep
        How probes and refits are run.
    """
    settings, sweep, seed = settings or AuditSettings(), sweep or Sweep(), root_seed(random_state)
    views = _checked(model, X, y, groups)
    known = covariate_columns(covariates, len(views))
    latents = model.transform(views)
    rows = choose_rows(model, views, latents, most=settings.most_rows, generator=numpy_generator(seed, "audit rows"))
    spaces, n_orders = latents.spaces(), settings.n_permutations
    parts = _parts(rows, spaces, views, known)
    asked = questions(spaces, views, known)
    judge = views[rows.judge]
    halves = Halves(views[rows.learn], judge, parts.exchanges[1], rows.order.gap)
    # Where nothing was held out, a refit tells whether anything is shared.
    n_refits = max(settings.n_refits, 0 if len(rows.held_out) else 1)
    refitting = refit_tasks(model, halves, n_refits=n_refits, n_orders=n_orders, seed=seed)
    n_read = max(n_orders, _N_PER_TEST * sum(kind in LEAKS for *_, kind in asked) - 1)
    reading = reading_tasks(asked, parts, n_null=settings.n_null, n_orders=n_read, seed=seed)
    # In one sweep, so that no worker waits; what takes longest comes first.
    done = sweep.run([*_of("refits", refitting), *_of("readings", reading)], {"refits": halves, "readings": parts})
    found, read = done[:n_refits], done[n_refits:]
    leaks = [Told(*one, **told) for one, told in zip(asked, read, strict=True)]
    shared = _sharing(model, views, rows, found, n_orders, seed)
    generator = numpy_generator(seed, "anchors")
    # Any row may be combined with any other; but other anchors are drawn as the recipe draws its own.
    anchors = generator.choice(len(judge), _N_ANCHORS, replace=False)
    others = choose_anchors(parts.spaces[1], _N_ANCHORS, generator)
    stability = compare_refits(parts.spaces[1], found) + compare_anchors(model, judge, others, seed=seed)
    dependence = _dependences(parts.spaces[1], rows.part(rows.judge), seed)
    assumptions = [
        check_independence(dependence),
        check_coverage(model, judge, anchors),
        Assumption("order of rows", None, f"There are {rows.order}; p-values come from {shared.scheme}."),
        Assumption("held-out rows", bool(len(rows.held_out)), rows.note),
    ]
    failures = [refit["failure"] for refit in found if "failure" in refit]
    findings = write_findings(shared, leaks, stability, assumptions, failures)
    return Audit(shared.p, leaks, dependence, stability, assumptions, findings, shared)


def _of(name: str, tasks: Sequence[Task]) -> list[Task]:
    """Return tasks that work on one of several data, by name."""
    return [replace(task, work=partial(_on, name, task.work)) for task in tasks]


def _on(name: str, work: Callable[[Any], Mapping[str, Any]], data: Mapping[str, Any]) -> Mapping[str, Any]:
    return work(data[name])


def _checked(model: SPLICE, X: Any, y: Any, groups: Any) -> Views:
    """Return all views of the model, in its order, with their groups."""
    check_is_fitted(model)
    given = as_views(X, y, names=model.view_names_)
    views = Views(model._check(given, complete=True), groups=given.groups if groups is None else groups)
    for name, x in views.arrays.items():
        if all((x[block] == x[:1]).all() for block in row_blocks(len(x), math.prod(x.shape[1:]))):
            raise ValueError(f"view {name!r} is constant: all {len(x)} rows are equal; expected rows that differ")
    return views


def _parts(rows: AuditRows, spaces: Mapping[str, Array], views: Views, known: Mapping[str, Array]) -> Parts:
    """Return latents and targets of rows to learn from and of rows to judge on."""
    named = {f"view {name}": x for name, x in views.arrays.items()}
    clash = set(known) & {*spaces, *named}
    if clash:
        raise ValueError(f"covariate {min(clash)!r} has the name of a space or a view; expected another name")

    def both(arrays: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        learn, judge = ({name: x[part] for name, x in arrays.items()} for part in (rows.learn, rows.judge))
        return learn, judge

    learned, judged = both({**spaces, **known})
    for name, x in named.items():
        # Once for all spaces: views may be wide.
        learned[name], judged[name] = along_axes(*(x[part].reshape(len(part), -1) for part in (rows.learn, rows.judge)))
    learn, judge = (Exchange.of(rows.part(part)) for part in (rows.learn, rows.judge))
    return Parts(spaces=both(spaces), targets=(learned, judged), exchanges=(learn, judge))


def _sharing(
    model: SPLICE, views: Views, rows: AuditRows, found: list[dict[str, Any]], n_orders: int, seed: int
) -> Sharing:
    """Return whether views share anything, by the model itself on held-out rows, or else by the first refit."""
    if len(rows.held_out):
        exchange = Exchange.of(rows.part(rows.held_out))
        return shared_information(model, views[rows.held_out], exchange, n_orders=n_orders, seed=seed)
    told = next((refit["sharing"] for refit in found if "sharing" in refit), None)
    if told is None:
        raise ValueError(
            f"nothing was held out from the fit, and a refit failed ({found[0]['failure']}); expected rows that are "
            "new to the model"
        )
    return Sharing(**{**told, "arrows": tuple(Telling(**arrow) for arrow in told["arrows"])})


def _dependences(spaces: Mapping[str, Array], order: RowOrder, seed: int) -> list[Dependence]:
    """Return the dependence of all pairs of spaces that should have none: a private one and any other."""
    kept = order.thinned(MOST_ROWS)
    exchange = Exchange.of(order.take(kept))
    used = {name: z[kept] for name, z in spaces.items() if z.shape[1]}
    pairs = [(a, b) for a, b in combinations(used, 2) if not (is_arrow(a) and is_arrow(b))]
    n_orders = _N_PER_TEST * max(5, len(pairs)) - 1
    return [
        measure_dependence(
            pair, (used[pair[0]], used[pair[1]]), exchange, n_orders=n_orders, seed=derive_seed(seed, *pair)
        )
        for pair in pairs
    ]
