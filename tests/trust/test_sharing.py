"""Shared information: found where it is, not claimed where it is not, and by the right exchanges."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.significance import independent_views, small_model
from viewsplice import SPLICE, Blocks, MLPNetworks, TrainConfig
from viewsplice.metrics import reconstruction_r2
from viewsplice.ordering import row_order
from viewsplice.trust.nulls import Exchange
from viewsplice.trust.sharing import shared_information
from viewsplice.views import Views


def sharing_views(n_rows: int, n_views: int = 2, seed: int = 0) -> Views:
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n_rows, 1))
    return Views([np.hstack([shared, rng.normal(size=(n_rows, 1))]) @ rng.normal(size=(2, 6)) for _ in range(n_views)])


def judged(model: SPLICE, views: Views, n_orders: int = 99):
    return shared_information(model, views, Exchange.of(row_order(views)), n_orders=n_orders, seed=0)


def test_shared_information_is_found_and_described() -> None:
    views = sharing_views(400)
    model = small_model(0).fit(views[:300])
    found = judged(model, views[300:])
    assert found.p == found.smallest_p == 0.01
    assert (found.scheme, found.n_exchanges, found.n_rows, found.n_effective) == ("permutations of rows", 99, 100, 100)
    arrows = {row.arrow: row for row in found.arrows}
    assert set(arrows) == {"A->B", "B->A"}
    for name, row in arrows.items():
        source, target = name.split("->")
        guess = model.predict(target, {source: views[300:][source]})
        assert row.r2 == pytest.approx(reconstruction_r2(views[300:][target], guess))
        x, y = views[300:][target] - views[300:][target].mean(axis=0), guess - guess.mean(axis=0)
        assert row.correlation == pytest.approx((x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum()), rel=1e-4)
        assert row.null_q95 < row.correlation
        assert row.p == 0.01


def test_other_pairs_of_the_same_rows_share_nothing() -> None:
    views = sharing_views(400)
    model = small_model(0).fit(views[:300])
    mixed = Views({"A": views["A"][300:], "B": views["B"][300:][::-1]})
    assert judged(model, mixed).p > 0.05


def test_one_pair_of_three_views_that_share_is_enough() -> None:
    views = sharing_views(400, n_views=2)
    rng = np.random.default_rng(5)
    three = Views({"A": views["A"], "B": views["B"], "C": rng.normal(size=(400, 4))})
    found = judged(small_model(0).fit(three[:300]), three[300:])
    assert len(found.arrows) == 6
    by_arrow = {row.arrow: row.p for row in found.arrows}
    assert by_arrow["A->B"] == by_arrow["B->A"] == 0.01
    assert found.p <= 0.05


def test_without_a_shared_space_there_is_nothing_to_test() -> None:
    views = sharing_views(120)
    training = TrainConfig(epochs=1, batch_size=20, restart_passes=1)
    model = SPLICE(0, 1, networks=MLPNetworks((4,)), training=training, geometry=None, random_state=0).fit(views)
    found = judged(model, views)
    assert (found.p, found.n_exchanges, found.arrows) == (1.0, 0, ())


def test_series_are_shifted_and_the_smallest_p_says_how_few_count() -> None:
    views = independent_views(0, 700, 0.9)
    model = small_model(0).fit(views[:400], validation=Blocks())
    found = judged(model, views[-250:], n_orders=999)
    assert found.scheme == "circular shifts of rows"
    assert found.n_exchanges == 249
    assert found.n_effective < 150
    assert found.smallest_p == pytest.approx(1 / (1 + found.n_effective))
    assert found.p >= found.smallest_p


def test_a_shared_series_is_found() -> None:
    alone, common = independent_views(1, 900, 0.9), independent_views(2, 900, 0.9)["A"]
    views = Views({"A": np.hstack([alone["A"], common]), "B": np.hstack([alone["B"], common[:, ::-1]])})
    model = small_model(0).fit(views[:500], validation=Blocks())
    found = judged(model, views[-350:], n_orders=999)
    assert found.scheme == "circular shifts of rows"
    assert found.p == found.smallest_p < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["independent", "autocorrelated"])
def test_p_values_of_fits_are_calibrated(kind: str) -> None:
    from benchmarks.significance import p_of_pair

    p = np.array([p_of_pair(seed, kind) for seed in range(60)])
    assert (p <= 0.05).mean() <= 0.12
    assert (p <= 0.5).mean() == pytest.approx(0.5, abs=0.2)
