"""Who competes: the widths of SPLICE, printed settings, two starts, and hashes that know every setting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from torch import nn

from viewsplice.baselines import CCA, DMVAE, AdversaryConfig, DeepCCA, Lyu, PlainNetworks
from viewsplice.baselines.neural import NeuralBaseline
from viewsplice.config import TrainConfig
from viewsplice.experiments.parts import settings_hash
from viewsplice.experiments.results import PAPER_BASELINES
from viewsplice.experiments.rivals import METHODS, described, rivals, settings_of

WIDTHS: dict[str, Any] = {"rotated-mnist": (30, (0, 2)), "sprites": (500, 2), "lgn-v1": (2, 1), "neural": ("auto", 0)}


def of(experiment: str, *, quick: bool = False) -> dict[str, Any]:
    n_shared, n_private = WIDTHS[experiment]
    return {rival.name: rival for rival in rivals(experiment, n_shared=n_shared, n_private=n_private, quick=quick)}


def test_the_paper_has_figures_of_methods_that_compete() -> None:
    for experiment, method in PAPER_BASELINES:
        assert method in of(experiment)


@pytest.mark.parametrize("experiment", list(METHODS))
def test_all_have_the_widths_of_splice(experiment: str) -> None:
    n_shared, n_private = WIDTHS[experiment]
    for rival in of(experiment).values():
        for model in (rival.printed, *rival.starts):
            params = model.get_params(deep=False)
            assert params["n_shared"] == n_shared
            assert params.get("n_private", n_private) == n_private
            assert rival.has_private == ("n_private" in params)


def test_printed_settings_are_those_of_the_method() -> None:
    found = of("lgn-v1")
    own = DMVAE.printed("lgn-v1").get_params(deep=False)
    assert described(found["dmvae"].printed.get_params(deep=False)) == described(own)
    assert found["cca"].printed.regularization == 1e-4
    assert of("neural")["rrr"].printed.ridge == 0


def test_sprites_come_through_the_principal_axes_of_splice() -> None:
    for rival in of("sprites").values():
        for model in (rival.printed, *rival.starts):
            assert model.training.retained_variance == 0.995


def test_a_search_starts_from_two_kinds_of_networks_and_ends_by_convergence_or_time() -> None:
    for rival in of("rotated-mnist").values():
        assert [type(start.networks).__name__ for start in rival.starts] == ["MLPNetworks", "ResidualNetworks"]
        for start in rival.starts:
            assert isinstance(start, NeuralBaseline)
            assert start.training.epochs == 1_000
            assert start.training.patience == 20


def test_quick_runs_are_short() -> None:
    for rival in of("rotated-mnist", quick=True).values():
        for model in (rival.printed, *rival.starts):
            assert (model.training.epochs, model.training.batch_size) == (2, 64)
    # What else is printed stays.
    assert of("rotated-mnist", quick=True)["lyu"].printed.training.loss_scale == "mean"


def test_other_private_widths() -> None:
    lyu = of("rotated-mnist")["lyu"]
    wide = lyu.with_private((0, 7), ", private width 7")
    assert {model.n_private for model in (wide.printed, *wide.starts)} == {(0, 7)}
    assert lyu.printed.n_private == (0, 2)
    assert (wide.name, wide.label) == ("lyu", ", private width 7")


@pytest.mark.parametrize(
    "other",
    [
        Lyu(2, 1, networks=PlainNetworks((8,), nn.ReLU)),
        Lyu(2, 1, networks=PlainNetworks((9,), nn.Sigmoid)),
        Lyu(2, 1, networks=PlainNetworks((8,)), adversary=AdversaryConfig(rows=7)),
        Lyu(2, 1, networks=PlainNetworks((8,)), training=TrainConfig(learning_rate=1e-5)),
        Lyu(2, 1, networks=PlainNetworks((8,)), lambda_dis=1.0),
        Lyu(2, 1, networks=PlainNetworks((8,)), random_state=1),
        DMVAE(2, 1, networks=PlainNetworks((8,))),
        CCA(2),
    ],
)
def test_the_hash_changes_with_every_setting(other: Any) -> None:
    own = Lyu(2, 1, networks=PlainNetworks((8,)))
    assert settings_hash(settings_of(own)) == settings_hash(settings_of(Lyu(2, 1, networks=PlainNetworks((8,)))))
    assert settings_hash(settings_of(own)) != settings_hash(settings_of(other))


def test_what_a_method_fills_in_is_part_of_its_settings() -> None:
    assert settings_of(DeepCCA(2))["resolved"]["learning_rate"] == 1e-3
    assert settings_of(DeepCCA(2, training=TrainConfig(learning_rate=0.5)))["resolved"]["learning_rate"] == 0.5
    assert "resolved" not in settings_of(CCA(2))


def test_settings_are_described_by_class_and_fields() -> None:
    assert described({"a": (1, None), "b": PlainNetworks((3,), nn.ReLU)}) == {
        "a": [1, None],
        "b": {"kind": "PlainNetworks", "hidden": [3], "activation": "ReLU"},
    }
    assert described(replace(AdversaryConfig(), rows=3))["rows"] == 3
