"""What baselines with networks recover of data whose truth is known, and what they cannot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from torch import nn

from viewsplice import MLPNetworks, TrainConfig
from viewsplice.baselines import CCA, DCCAE, DMVAE, AdversaryConfig, DeepCCA, Karakasis, Lyu
from viewsplice.datasets import MultiViewData, linear_gaussian, two_rings
from viewsplice.metrics import circular_columns, knn_r2, linear_r2


@dataclass(frozen=True)
class LinearNetworks:
    """Linear maps: all that a linear toy needs, and quick."""

    def encoder(self, shape: tuple[int, ...], width: int) -> nn.Module:
        return nn.Linear(math.prod(shape), width)

    def decoder(self, widths: Sequence[int], shape: tuple[int, ...]) -> nn.Module:
        return nn.Linear(sum(widths), math.prod(shape))

    def measurer(self, width: int, shape: tuple[int, ...]) -> nn.Module:
        return self.decoder([width], shape)


@cache
def rings() -> MultiViewData:
    return two_rings(1000, random_state=0)


@cache
def gaussian() -> MultiViewData:
    return linear_gaussian(1000, random_state=0)


def fit(model: Any, data: MultiViewData) -> Any:
    views, validation = data.training()
    return model.fit(views, validation=validation)


def decoded(model: Any, data: MultiViewData, space: str, factor: str, score: Any = linear_r2) -> float:
    """Return the held-out R² of a true factor from a latent space, worst column."""
    train, test = data.rows("train"), data.rows("test")
    truth = circular_columns if "angle" in factor else np.asarray
    z = [model.transform(part.views).spaces()[space] for part in (train, test)]
    found = score(z[0], truth(train.factors()[factor]), z[1], truth(test.factors()[factor]))
    return float(found.min())


# Correlation methods: the shared factor, and nothing else


def on_rings(method: Any, **settings: Any) -> Any:
    training = TrainConfig(epochs=120, batch_size=200, learning_rate=3e-3)
    return fit(method(4, networks=MLPNetworks((64, 32)), training=training, random_state=0, **settings), rings())


@pytest.mark.parametrize(
    ("method", "settings"),
    [(DeepCCA, {}), (DeepCCA, {"form": "maxvar"}), (DCCAE, {"lambda_rec": 0.1}), (Karakasis, {"lambda_rec": 0.9})],
    ids=["DeepCCA", "DeepCCA maxvar", "DCCAE", "Karakasis"],
)
def test_correlated_codes_hold_the_shared_angle_and_not_the_private_ones(method: Any, settings: dict[str, Any]) -> None:
    model = on_rings(method, **settings)
    for space, view in (("A->B", "A"), ("B->A", "B")):
        assert decoded(model, rings(), space, "angle") > 0.95
        assert decoded(model, rings(), space, f"{view}/angle") < 0.05
        assert decoded(model, rings(), space, f"{view}/angle", knn_r2) < 0.15
    # Half of each view's variance is shared. The rest is only missing: there is no space for it.
    assert model.score(rings().rows("test").views) == pytest.approx(0.48, abs=0.04)
    assert model.correlations_.min() > 0.97


def test_what_they_cannot_do_own_decoders_pull_the_private_angle_into_the_shared_code() -> None:
    own, crossed = on_rings(DCCAE, lambda_rec=0.9), on_rings(Karakasis, lambda_rec=0.9, form="trace")
    for space, view in (("A->B", "A"), ("B->A", "B")):
        assert decoded(own, rings(), space, f"{view}/angle") > 0.8
        assert decoded(crossed, rings(), space, f"{view}/angle", knn_r2) < 0.2
    assert own.score(rings().rows("test").views) > 0.8
    assert crossed.score(rings().rows("test").views) < 0.52


def test_a_nonlinear_link_is_found_where_linear_cca_sees_nothing() -> None:
    rng = np.random.default_rng(0)
    s = rng.normal(size=(1000, 1))
    a = s @ rng.normal(size=(1, 5)) + 0.1 * rng.normal(size=(1000, 5))
    b = (s**2 - 1) @ rng.normal(size=(1, 4)) + 0.1 * rng.normal(size=(1000, 4))
    training = TrainConfig(epochs=60, batch_size=200, learning_rate=3e-3)
    model = DeepCCA(1, networks=MLPNetworks((32,)), training=training, random_state=0).fit(a[:700], b[:700])
    latents = model.transform(a[700:], b[700:]).shared
    assert abs(np.corrcoef(latents["A->B"][:, 0], latents["B->A"][:, 0])[0, 1]) > 0.95
    assert CCA(1, random_state=0).fit(a[:700], b[:700]).correlations_[0] < 0.2
    # What is shared is s squared; its sign is not, and A's code does not have it.
    assert linear_r2(latents["A->B"][:150], s[700:850], latents["A->B"][150:], s[850:])[0] < 0.2


def test_what_they_cannot_do_independent_views_seem_to_correlate_on_training_rows() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(300, 10)), rng.normal(size=(300, 10))
    training = TrainConfig(epochs=60, batch_size=150, learning_rate=3e-3, keep_best=False)
    model = DeepCCA(2, networks=MLPNetworks((64,)), training=training, random_state=0).fit(a[:200], b[:200])
    assert model.correlations_[0] > 0.6
    latents = model.transform(a[200:], b[200:]).shared
    assert abs(np.corrcoef(latents["A->B"][:, 0], latents["B->A"][:, 0])[0, 1]) < 0.3
    assert model.history_[-1]["val/cca"] > model.history_[-1]["cca"] + 0.2


# Methods with private codes: both


def on_gaussian(method: Any, n_private: int = 1, **settings: Any) -> Any:
    training = TrainConfig(epochs=40, batch_size=100, learning_rate=1e-2)
    return fit(
        method(2, n_private, networks=LinearNetworks(), training=training, random_state=0, **settings), gaussian()
    )


def lyu(n_private: int = 1, *, lambda_dis: float = 0.3, **changes: Any) -> Any:
    adversary = AdversaryConfig(**{"hidden": (32,), "rows": 300, **changes})
    return on_gaussian(Lyu, n_private, lambda_dis=lambda_dis, adversary=adversary)


@pytest.mark.parametrize("method", [Lyu, DMVAE])
def test_shared_and_private_factors_are_told_apart(method: Any) -> None:
    model = lyu() if method is Lyu else on_gaussian(DMVAE)
    for space, view in (("A->B", "A"), ("B->A", "B")):
        assert min(decoded(model, gaussian(), space, factor) for factor in ("s0", "s1")) > 0.85
        assert decoded(model, gaussian(), view, f"{view}/z0") > 0.8
        assert decoded(model, gaussian(), space, f"{view}/z0") < 0.2
        assert max(decoded(model, gaussian(), view, factor) for factor in ("s0", "s1")) < 0.2
    assert model.score(gaussian().rows("test").views) > 0.97
    # One view alone says what is shared of the other one, half of its variance.
    test = gaussian().rows("test").views
    predicted = model.predict("B", {"A": test["A"]})
    explained = 1 - ((test["B"] - predicted) ** 2).sum() / ((test["B"] - test["B"].mean(axis=0)) ** 2).sum()
    assert explained == pytest.approx(0.5, abs=0.1)


def test_recombined_rows_have_the_factors_of_both() -> None:
    model, test = on_gaussian(DMVAE), gaussian().rows("test")
    i, j = np.arange(100), np.arange(100, 200)
    mixed = model.recombine(test.views, shared=i, private=j)
    latents = model.transform(mixed)
    for view in ("A", "B"):
        wanted = model.transform(test.views).private[view][j]
        assert np.corrcoef(latents.private[view][:, 0], wanted[:, 0])[0, 1] > 0.97
    wanted = model.embed(test.views)[i]
    found = latents.shared["A->B"]
    assert min(np.corrcoef(found[:, k], wanted[:, k])[0, 1] for k in range(2)) > 0.97


@pytest.mark.parametrize("method", [Lyu, DMVAE])
def test_what_they_cannot_do_private_codes_with_room_to_spare_keep_what_is_shared(method: Any) -> None:
    model = lyu(3) if method is Lyu else on_gaussian(DMVAE, 3)
    for view in ("A", "B"):
        assert min(decoded(model, gaussian(), view, factor) for factor in ("s0", "s1")) > 0.9
    if method is Lyu:
        # Not that the adversary were dead: it knows. A correlation of 1 has no slope to climb down.
        last = model.history_[-1]
        assert min(last["dis/A"], last["fresh/A"]) > 0.95


def test_a_dead_adversary_shows_in_the_history() -> None:
    # The printed rate: the adversary says that nothing is left, a fresh one finds everything.
    model = lyu(3, lambda_dis=1.0, learning_rate=1.0, weight_decay=0.1, n_steps=1)
    # What it says of a single epoch jumps about, and differs between processors.
    last = model.history_[-10:]
    assert max(np.mean([row[name] for row in last]) for name in ("dis/A", "dis/B")) < 0.35
    assert min(last[-1]["fresh/A"], last[-1]["fresh/B"]) > 0.9
    assert model.validation_objective_ > 1.8


def test_what_it_cannot_do_a_small_weight_on_reconstruction_leaves_dmvae_with_the_prior() -> None:
    model = on_gaussian(DMVAE, lambda_rec=0.01)
    assert model.score(gaussian().rows("test").views) < 0.05
    assert model.history_[-1]["kl/A"] < 0.3
