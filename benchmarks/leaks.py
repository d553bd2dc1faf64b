"""Whether the audit finds a leak that was put there, in every direction, and how often it finds one that was not."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rows import Row
from viewsplice._types import Array
from viewsplice.ordering import RowOrder
from viewsplice.sweeps import Sweep
from viewsplice.trust.nulls import Exchange
from viewsplice.trust.readings import Parts, read_all

ALPHA = 0.05
# (space that leaks, what leaks into it, what is read from it, kind): a view can leak only what it determines itself.
DIRECTIONS = (
    ("A", "A->B", "B->A", "shared into private"),
    ("B", "B->A", "A->B", "shared into private"),
    ("A->B", "A", "A", "own private into shared"),
    ("B->A", "B", "B", "own private into shared"),
)


def latents(n_rows: int, seed: int) -> dict[str, Array]:
    """Return independent spaces: two shared dimensions that both views see with a little noise, one private each."""
    rng = np.random.default_rng(seed)
    shared = rng.uniform(-1, 1, size=(n_rows, 2))
    spaces = {name: rng.uniform(-1, 1, size=(n_rows, 1)) for name in ("A", "B")}
    return spaces | {name: shared + 0.02 * rng.standard_normal((n_rows, 2)) for name in ("A->B", "B->A")}


def with_leak(spaces: dict[str, Array], space: str, leaking: str, fraction: float) -> dict[str, Array]:
    """Return the spaces, one of which owes a fraction of its total variance to the first dimension of another."""
    z, other = spaces[space], spaces[leaking][:, 0]
    size = np.sqrt(z.var(axis=0).sum())
    mixed = np.sqrt(1 - fraction) * z
    mixed[:, 0] += np.sqrt(fraction) * size * (other - other.mean()) / other.std()
    return {**spaces, space: mixed}


def p_of_leak(seed: int, n_rows: int, direction: tuple[str, str, str, str], fraction: float) -> float:
    """Return the p-value that the audit gives to one direction: half of the rows are learned from, half judge."""
    source, leaking, target, kind = direction
    spaces = with_leak(latents(n_rows, seed), source, leaking, fraction) if fraction else latents(n_rows, seed)
    half = n_rows // 2
    both = tuple({name: z[part] for name, z in spaces.items()} for part in (slice(half), slice(half, None)))
    exchange = Exchange.of(RowOrder(np.arange(half), False, 0, 0.0))
    parts = Parts(spaces=both, targets=both, exchanges=(exchange, exchange))
    [found] = read_all([(source, target, kind)], parts, n_null=20, n_orders=999, sweep=Sweep(), seed=seed)
    return found.p


def measure_leaks(n_rows: int, n_seeds: int) -> list[Row]:
    """Return the rate at which a leak of 5 % of variance is found, in the worst direction, and that of false alarms."""
    rates: dict[float, dict[str, Any]] = {}
    for fraction in (0.05, 0.0):
        rates[fraction] = {}
        for direction in DIRECTIONS:
            p = [p_of_leak(seed, n_rows, direction, fraction) for seed in range(n_seeds)]
            rates[fraction][f"{direction[0]} about {direction[2]}"] = {
                "rate": float(np.mean(np.array(p) < ALPHA)),
                "p": p,
            }
    found = min(one["rate"] for one in rates[0.05].values())
    false = float(np.mean([one["rate"] for one in rates[0.0].values()]))
    size = {"rows": n_rows, "seeds": n_seeds}
    return [
        Row(
            "leak of 5 % of variance: rate of p < 0.05, lowest direction",
            found,
            at_least=0.95,
            detail={**size, "directions": rates[0.05]},
        ),
        Row("no leak: rate of p < 0.05, mean over directions", false, detail={**size, "directions": rates[0.0]}),
    ]
