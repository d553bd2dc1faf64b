"""How often the test for shared information is wrong where nothing is shared, and right where something is."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.stats import kstest

from benchmarks.rows import Row
from benchmarks.trials import p_values
from viewsplice import SPLICE, Blocks, MLPNetworks, TrainConfig
from viewsplice.datasets import lgn_v1
from viewsplice.ordering import row_order
from viewsplice.trust.nulls import Exchange
from viewsplice.trust.sharing import shared_information
from viewsplice.views import Views

ALPHA = 0.05
_N_FEATURES, _N_ORDERS = (12, 9), 999
# Rows to train on and rows to judge on; the memory of an autocorrelated factor from row to row.
_ROWS, _MEMORY = {"independent": 300, "autocorrelated": 800}, 0.9


def independent_views(seed: int, n_rows: int, memory: float) -> Views:
    """Return two views that share nothing: each is a curved function of two factors of its own, with noise."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, width in zip(("A", "B"), _N_FEATURES, strict=True):
        steps = rng.standard_normal((n_rows, 2))
        factors = np.empty_like(steps)
        factors[0] = steps[0]
        for row in range(1, n_rows):
            factors[row] = memory * factors[row - 1] + np.sqrt(1 - memory**2) * steps[row]
        mixed = np.tanh(factors @ rng.standard_normal((2, width)) + rng.standard_normal(width))
        arrays[name] = mixed + 0.1 * rng.standard_normal(mixed.shape)
    return Views(arrays)


def small_model(seed: int) -> SPLICE:
    """Return an estimator that fits a few hundred rows in a second or two."""
    training = TrainConfig(epochs=12, batch_size=50, learning_rate=5e-3, restart_passes=4)
    return SPLICE(1, 1, networks=MLPNetworks((24,)), training=training, geometry=None, random_state=seed)


def p_of_pair(seed: int, kind: str) -> float:
    """Return the p-value of one pair of independent views: fitted to the first rows, judged on later ones."""
    n_rows = _ROWS[kind]
    views = independent_views(seed, 2 * n_rows + n_rows // 4, _MEMORY if kind == "autocorrelated" else 0.0)
    validation = Blocks() if kind == "autocorrelated" else 0.1
    model = small_model(seed).fit(views[:n_rows], validation=validation)
    held_out = views[-n_rows:]
    exchange = Exchange.of(row_order(held_out))
    return shared_information(model, held_out, exchange, n_orders=_N_ORDERS, seed=seed).p


def p_of_lgn(seed: int, n_trials: int) -> float:
    """Return the p-value of LGN-V1: fitted to three quarters of the trials with few epochs, judged on the others."""
    views = lgn_v1(n_trials, random_state=seed).views
    n_train = 3 * n_trials // 4
    training = TrainConfig(epochs=6, scout_epochs=10, regression_epochs=4)
    model = SPLICE(2, 1, training=training, random_state=seed).fit(views[:n_train])
    held_out = views[n_train:]
    exchange = Exchange.of(row_order(held_out))
    return shared_information(model, held_out, exchange, n_orders=_N_ORDERS, seed=seed).p


def measure_significance(n_pairs: int, n_simulations: int, n_trials: int) -> list[Row]:
    """Return the false-positive rate for both kinds of rows, with the p-values, and the power on LGN-V1."""
    rows = []
    for kind in _ROWS:
        p = p_values(kind, [partial(p_of_pair, seed, kind) for seed in range(n_pairs)])
        rate = float(np.mean(np.array(p) <= ALPHA))
        # p-values are multiples of 1 / (1 + exchanges); against a smooth distribution that hardly matters.
        detail = {"pairs": n_pairs, "uniform_p": float(kstest(p, "uniform").pvalue), "p_values": p}
        name = f"shared information, {kind} rows, nothing shared: rate of p <= 0.05"
        rows.append(Row(name, rate, at_least=0.02, at_most=0.08, detail=detail))
    p = p_values("lgn-v1", [partial(p_of_lgn, seed, n_trials) for seed in range(n_simulations)])
    power = float(np.mean(np.array(p) <= ALPHA))
    detail = {"simulations": n_simulations, "trials": n_trials, "p_values": p}
    rows.append(Row("shared information, LGN-V1, 2,000 trials: rate of p <= 0.05", power, at_least=0.9, detail=detail))
    return rows
