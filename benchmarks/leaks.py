"""Whether the audit finds a leak that was put there, in every direction, and how often it finds one that was not."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.rows import Row
from benchmarks.trials import p_values
from viewsplice._types import Array
from viewsplice.ordering import RowOrder
from viewsplice.trust.nulls import Exchange
from viewsplice.trust.probes import strongest_reading

ALPHA = 0.05
# (space that leaks, what leaks into it, what is read from it): a view can leak only what it determines itself.
DIRECTIONS = (("A", "A->B", "B->A"), ("B", "B->A", "A->B"), ("A->B", "A", "A"), ("B->A", "B", "B"))


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


def p_of_leak(seed: int, n_rows: int, direction: tuple[str, str, str], fraction: float) -> float:
    """Return the p-value that the audit gives to one direction: half of the rows are learned from, half judge."""
    source, leaking, target = direction
    spaces = with_leak(latents(n_rows, seed), source, leaking, fraction) if fraction else latents(n_rows, seed)
    half = n_rows // 2
    z, y = ((spaces[name][:half], spaces[name][half:]) for name in (source, target))
    exchange = Exchange.of(RowOrder(np.arange(half), False, 0, 0.0))
    return strongest_reading(z, y, (exchange, exchange), n_null=20, n_orders=999, seed=seed).p


def measure_leaks(n_rows: int, n_seeds: int) -> list[Row]:
    """Return the rate at which a leak of 5 % of variance is found, in the worst direction, and that of false alarms."""
    rates: dict[float, dict[str, Any]] = {}
    for fraction in (0.05, 0.0):
        rates[fraction] = {}
        for direction in DIRECTIONS:
            name = f"{direction[0]} about {direction[2]}"
            p = p_values(name, [partial(p_of_leak, seed, n_rows, direction, fraction) for seed in range(n_seeds)])
            rates[fraction][name] = {
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
