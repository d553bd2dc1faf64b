"""Shares of variance: known for a model whose decoder is known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from viewsplice import SPLICE, Latents, MLPNetworks, TrainConfig, Views
from viewsplice._types import Array
from viewsplice.trust import variance_shares

RNG = np.random.default_rng(3)
N = 4000
S, ZA, ZB = RNG.choice([-1.0, 1.0], size=(3, N))
# Features of A: shared, private, their product, half of each with noise, noise alone, and a constant.
NOISE = RNG.normal(size=(2, N))
A = np.column_stack([S, ZA, S * ZA, (S + ZA + NOISE[0]) / np.sqrt(3), NOISE[1], np.zeros(N)])
B = np.column_stack([S, ZB])


@pytest.fixture(scope="module")
def model() -> SPLICE:
    """A model with A's true decoder, and latents that are the true factors."""
    training = TrainConfig(epochs=1, batch_size=500, restart_passes=1)
    fitted = SPLICE(1, 1, recipe="paper", networks=MLPNetworks((4,)), training=training, geometry=None, random_state=0)
    fitted.fit(A, B)
    return fitted


def _exact(model: SPLICE, monkeypatch: pytest.MonkeyPatch) -> None:
    found = model.fitted_
    rows = np.arange(0, N, N // 64)
    latents = Latents(private={"A": ZA[:, None], "B": ZB[:, None]}, shared={"A->B": S[:, None], "B->A": S[:, None]})

    def decode(self: object, view: str, given: Latents[Array]) -> Array:
        s, z = given.shared["B->A"][:, 0], given.private["A"][:, 0]
        if view == "B":
            return np.column_stack([given.shared["A->B"][:, 0], given.private["B"][:, 0]])
        zero = np.zeros(len(s))
        return np.column_stack([s, z, s * z, (s + z) / np.sqrt(3), zero, zero])

    monkeypatch.setattr(type(found), "encode", lambda self, views: latents[: len(views)])
    monkeypatch.setattr(type(found), "decode_view", decode)
    model.fitted_ = replace(found, reference=latents[rows])


def test_each_feature_is_explained_by_what_made_it(model: SPLICE, monkeypatch: pytest.MonkeyPatch) -> None:
    _exact(model, monkeypatch)
    found = variance_shares(model, Views({"A": A, "B": B}))["A"]
    shared, private, rebuilt = (found.features[part] for part in ("shared", "private", "rebuilt"))
    # The mean over 32 stored rows is not exactly the mean over all.
    np.testing.assert_allclose(shared[:5], [1, 0, 0, 1 / 3, 0], atol=0.12)
    np.testing.assert_allclose(private[:5], [0, 1, 0, 1 / 3, 0], atol=0.12)
    np.testing.assert_allclose(rebuilt[:5], [1, 1, 1, 2 / 3, 0], atol=0.05)
    np.testing.assert_allclose(found.together[2], 1, atol=0.2)
    assert all(np.isnan(values[5]) for values in (shared, private, rebuilt))
    total = found.total
    assert total["shared"].value == pytest.approx((1 + 1 / 3) / 5, abs=0.05)
    assert total["neither"].value == pytest.approx((1 / 3 + 1) / 5, abs=0.03)
    assert sum(part.value for part in total.values()) == pytest.approx(1)
    for part in total.values():
        assert part.low <= part.value <= part.high
    assert (found.n_rows, found.n_units) == (N, N)
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["features"]["shared"][5] is None
    assert told["total"]["shared"]["low"] == total["shared"].low


def test_groups_are_resampled_as_a_whole(model: SPLICE, monkeypatch: pytest.MonkeyPatch) -> None:
    _exact(model, monkeypatch)
    # Copies of a few rows are no more evidence than the rows.
    rows = np.arange(40)
    repeated = np.tile(rows, 20)
    latents = model.fitted_.encode(Views({"A": A, "B": B}))[repeated]
    monkeypatch.setattr(type(model.fitted_), "encode", lambda self, views: latents)
    views = {"A": A[repeated], "B": B[repeated]}
    alone = variance_shares(model, Views(views))["A"]
    grouped = variance_shares(model, Views(views, groups=repeated))["A"]
    assert (alone.n_units, grouped.n_units) == (800, 40)
    widths = [found.total["shared"].high - found.total["shared"].low for found in (alone, grouped)]
    assert widths[1] > 2 * widths[0]


def test_the_same_seed_gives_the_same_intervals(model: SPLICE) -> None:
    views = Views({"A": A[:200], "B": B[:200]})
    once, again, other = (variance_shares(model, views, random_state=seed)["B"].total["shared"] for seed in (1, 1, 2))
    assert once == again
    assert (once.low, once.high) != (other.low, other.high)


def test_rows_without_variance_have_no_shares(model: SPLICE) -> None:
    views = Views({"A": np.tile(A[:1], (30, 1)), "B": np.tile(B[:1], (30, 1))})
    assert variance_shares(model, views)["A"].total["shared"].value == 0.0
