"""Three methods that differ in their decoders only: against linear CCA, by hand, and what they find in toys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression
from torch import nn

from viewsplice import MLPNetworks, TrainConfig
from viewsplice.baselines import CCA, DCCAE, DeepCCA, Karakasis, canonical_axes
from viewsplice.baselines.coders import Coders
from viewsplice.baselines.correlation import common_targets, total_correlation
from viewsplice.baselines.deep_correlation import CorrelationObjective
from viewsplice.baselines.minibatches import Task
from viewsplice.training.alternating import TrainingData

Pair = tuple[NDArray[np.float64], ...]
METHODS = [DeepCCA, DCCAE, Karakasis]
SHORT = TrainConfig(epochs=3, batch_size=60)
READS = {DeepCCA: {}, DCCAE: {"A": "A", "B": "B"}, Karakasis: {"A": "B", "B": "A"}}

each_method = pytest.mark.parametrize("method", METHODS)


@dataclass(frozen=True)
class LinearNetworks:
    """Linear maps, with which DeepCCA is CCA."""

    def encoder(self, shape: tuple[int, ...], width: int) -> nn.Module:
        return nn.Linear(math.prod(shape), width)

    def decoder(self, widths: Sequence[int], shape: tuple[int, ...]) -> nn.Module:
        return nn.Linear(sum(widths), math.prod(shape))

    def measurer(self, width: int, shape: tuple[int, ...]) -> nn.Module:
        return self.decoder([width], shape)


def make(method: Any, n_shared: int = 2, **changes: Any) -> Any:
    settings: dict[str, Any] = {"networks": MLPNetworks((16,)), "training": SHORT, "random_state": 0, **changes}
    return method(n_shared, **settings)


def task(n_shared: int = 2, *, reads: dict[str, str] | None = None, loss_scale: str = "fraction") -> Task:
    """Return a small task with known numbers."""
    generator = torch.Generator().manual_seed(0)
    views = {"A": torch.randn(40, 5, generator=generator), "B": torch.randn(40, 3, generator=generator)}
    data = TrainingData(views, torch.arange(30), torch.arange(30, 40), {"A": 5.0, "B": 3.0})
    inputs = {name: [n_shared] for name in (reads or {})}
    net = Coders({"A": (5,), "B": (3,)}, dict.fromkeys("AB", n_shared), inputs, MLPNetworks((8,)), 0)
    config = TrainConfig(epochs=2, batch_size=10, loss_scale=loss_scale).resolve(TrainConfig.paper())
    return Task(net, data, config, n_shared, {"A": 0, "B": 0}, {"A": 5, "B": 3}, 0)


# Against linear CCA


def random_pair(n: int = 400, seed: int = 0) -> Pair:
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 3)) * [2, 1, 1]
    a = common @ rng.normal(size=(3, 6)) + rng.normal(size=(n, 6))
    return a, common @ rng.normal(size=(3, 5)) + rng.normal(size=(n, 5))


def test_with_linear_networks_the_objective_is_that_of_linear_cca() -> None:
    a, b = random_pair()
    found = canonical_axes(a, b)
    axes = [torch.from_numpy(x[:, :3]) for x in found.axes]
    codes = [torch.from_numpy(x) @ w for x, w in zip((a, b), axes, strict=True)]
    best = total_correlation(*codes, 1e-12).item()
    assert best == pytest.approx(found.correlations[:3].sum(), abs=1e-6)
    # No other linear map does better.
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        others = [w + 0.1 * torch.randn(w.shape, generator=generator, dtype=torch.float64) for w in axes]
        codes = [torch.from_numpy(x) @ w for x, w in zip((a, b), others, strict=True)]
        assert total_correlation(*codes, 1e-12).item() < best


@pytest.mark.parametrize("form", ["trace", "maxvar"])
def test_with_linear_networks_training_ends_at_linear_cca(form: Any) -> None:
    a, b = random_pair()
    training = TrainConfig(epochs=400, batch_size=400, learning_rate=1e-2, weight_decay=0.0)
    model = DeepCCA(3, form=form, networks=LinearNetworks(), training=training, regularization=1e-6, random_state=0)
    model.fit(a, b, validation=0)
    linear = CCA(3, regularization=0, random_state=0).fit(a, b, validation=0)
    np.testing.assert_allclose(model.correlations_, linear.correlations_[:3], atol=2e-3)
    if form == "trace":
        assert model.history_[-1]["cca"] == pytest.approx(1 - linear.correlations_[:3].mean(), abs=2e-3)
    ours, theirs = model.transform(a, b).shared, linear.transform(a, b).shared
    for name in ("A->B", "B->A"):
        same = [abs(np.corrcoef(ours[name][:, i], theirs[name][:, i])[0, 1]) for i in range(3)]
        assert min(same) > 0.97
    assert model.score(a, b) == pytest.approx(linear.score(a, b), abs=5e-3)


# By hand


@each_method
@pytest.mark.parametrize("form", ["trace", "maxvar"])
def test_terms_by_hand(method: Any, form: Any) -> None:
    reads = READS[method]
    given = task(reads=reads)
    objective = CorrelationObjective(given, form=form, regularization=1e-3, lambda_rec=0.3, reads=reads)
    objective.begin(0)
    positions = torch.tensor([3, 1, 7, 20, 12, 5, 9, 11])
    terms = objective.terms(positions)
    x = {name: view[positions] for name, view in given.data.views.items()}
    z = {name: given.net.encoders[name](rows) for name, rows in x.items()}
    if form == "trace":
        disagreement = 1 - total_correlation(z["A"], z["B"], 1e-3) / 2
        assert terms.parts["cca"].item() == pytest.approx(disagreement.item())
    else:
        everything = [given.net.encoders[name](given.data.views[name][:30]) for name in "AB"]
        g = common_targets(everything)[positions]
        disagreement = ((z["A"] - g) ** 2).mean() / 2 + ((z["B"] - g) ** 2).mean() / 2
    expected = disagreement
    if reads:
        errors = [((given.net.decoders[name](z[reads[name]]) - x[name]) ** 2).mean() for name in "AB"]
        expected = 0.7 * disagreement + 0.3 * sum(errors) / 2
    assert terms.total.item() == pytest.approx(expected.item(), abs=1e-6)
    assert objective.total({name: value.item() for name, value in terms.parts.items()}) == pytest.approx(
        expected.item()
    )


@pytest.mark.parametrize("form", ["trace", "maxvar"])
def test_held_out_terms_are_those_of_all_their_rows(form: Any) -> None:
    given = task(reads=READS[DCCAE])
    objective = CorrelationObjective(given, form=form, regularization=1e-3, lambda_rec=0.5, reads=READS[DCCAE])
    found = objective.held_out(given.data.validation)
    x = {name: view[30:] for name, view in given.data.views.items()}
    z = {name: given.net.encoders[name](rows) for name, rows in x.items()}
    assert found["rec/A"] == pytest.approx((((given.net.decoders["A"](z["A"]) - x["A"]) ** 2).mean()).item())
    if form == "trace":
        assert found["cca"] == pytest.approx((1 - total_correlation(z["A"], z["B"], 1e-3) / 2).item())
    else:
        g = common_targets([z["A"], z["B"]])
        assert found["match/B"] == pytest.approx((((z["B"] - g) ** 2).mean()).item())
    # Codes that are all 0 agree perfectly, and are judged as badly as can be.
    with torch.no_grad():
        for parameter in given.net.encoders.parameters():
            parameter.zero_()
    collapsed = objective.held_out(given.data.validation)
    assert all(collapsed[name] > 0.9 for name in collapsed if not name.startswith("rec/"))


@pytest.mark.parametrize("form", ["trace", "maxvar"])
@pytest.mark.parametrize("method", [DCCAE, Karakasis])
def test_without_weight_on_reconstruction_it_is_deep_cca(method: Any, form: Any, two_views: Pair) -> None:
    plain = make(DeepCCA, form=form).fit(*two_views, validation=0)
    other = make(method, form=form, lambda_rec=0.0).fit(*two_views, validation=0)
    np.testing.assert_array_equal(other.transform(*two_views).to_array(), plain.transform(*two_views).to_array())
    weighed = make(method, form=form, lambda_rec=0.5).fit(*two_views, validation=0)
    assert not np.allclose(weighed.transform(*two_views).to_array(), plain.transform(*two_views).to_array())


def test_who_reads_which_code(two_views: Pair) -> None:
    a, b = two_views
    other = np.roll(a, 1, axis=0)
    own, crossed = (make(method).fit(a, b) for method in (DCCAE, Karakasis))
    assert np.abs(own.reconstruct(other, b)["A"] - own.reconstruct(a, b)["A"]).max() > 1e-3
    np.testing.assert_array_equal(own.reconstruct(other, b)["B"], own.reconstruct(a, b)["B"])
    np.testing.assert_array_equal(crossed.reconstruct(other, b)["A"], crossed.reconstruct(a, b)["A"])
    assert np.abs(crossed.reconstruct(other, b)["B"] - crossed.reconstruct(a, b)["B"]).max() > 1e-3
    np.testing.assert_array_equal(crossed.reconstruct(a, b)["B"], crossed.predict("B", a))


@pytest.mark.parametrize("final_cca", [True, False])
def test_deep_cca_predicts_by_least_squares_from_its_code(final_cca: bool, two_views: Pair) -> None:
    a, b = two_views
    model = make(DeepCCA, final_cca=final_cca).fit(a, b, validation=0)
    code = model.transform(a).shared["A->B"]
    np.testing.assert_allclose(model.predict("B", a), LinearRegression().fit(code, b).predict(code), atol=1e-4)
    np.testing.assert_array_equal(model.reconstruct(a, b)["B"], model.predict("B", a))


def test_dccae_predicts_by_least_squares_between_codes(two_views: Pair) -> None:
    a, b = two_views
    model = make(DCCAE, final_cca=False).fit(a, b, validation=0)
    codes = model._encode(model._check(a, b))
    expected = LinearRegression().fit(codes["A"], codes["B"]).predict(codes["A"])
    np.testing.assert_allclose(model.predict("B", a), model._decode("B", expected), atol=1e-4)


@each_method
def test_the_final_cca_pairs_dimensions(method: Any, two_views: Pair) -> None:
    a, b = two_views
    model, plain = (make(method, final_cca=final).fit(a, b, validation=0) for final in (True, False))
    u, v = model.transform(a, b).shared.values()
    for variates in (u, v):
        np.testing.assert_allclose(np.cov(variates.T), np.eye(2), atol=1e-2)
    cross = np.cov(np.hstack([u, v]).T)[:2, 2:]
    np.testing.assert_allclose(cross, np.diag(model.correlations_), atol=1e-2)
    np.testing.assert_allclose(model.embed(a, b), (u + v) / 2, atol=1e-6)
    # The same networks; without it, latents are what these say.
    codes = plain._encode(plain._check(a, b))["A"]
    np.testing.assert_allclose(plain.transform(a).shared["A->B"], codes - codes.mean(axis=0), atol=1e-6)


# Batches and validation rows that are too small to mean anything


@each_method
def test_small_batches_are_refused_where_they_always_correlate(method: Any, two_views: Pair) -> None:
    small = replace(SHORT, batch_size=8)
    with pytest.raises(ValueError, match="batch_size is 8, in which any 5 outputs correlate; expected at least 12"):
        make(method, 5, form="trace", training=small).fit(*two_views)
    make(method, 5, form="maxvar", training=small).fit(*two_views)


@each_method
def test_few_validation_rows_are_not_asked(method: Any, two_views: Pair) -> None:
    few = make(method, 3, form="trace").fit(*two_views, validation=np.arange(7))
    assert few.validation_objective_ is None
    assert not [name for name in few.history_[-1] if name.startswith("val/")]
    assert make(method, 3, form="trace").fit(*two_views, validation=np.arange(8)).validation_objective_ is not None


@each_method
@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"form": "frobenius"}, ValueError, r"form is 'frobenius'; expected one of \['trace', 'maxvar'\]"),
        ({"form": None}, TypeError, "form is None; expected a value"),
        ({"regularization": 0}, ValueError, "regularization is 0; expected a finite number above 0"),
        ({"regularization": None}, TypeError, "regularization is None"),
        ({"final_cca": "yes"}, ValueError, "final_cca is 'yes'"),
    ],
)
def test_settings_that_cannot_be(
    method: Any, two_views: Pair, changes: dict[str, Any], kind: Any, message: str
) -> None:
    with pytest.raises(kind, match=message):
        make(method, **changes).fit(*two_views)


@pytest.mark.parametrize("method", [DCCAE, Karakasis])
@pytest.mark.parametrize("lambda_rec", [-0.1, 1.5, "much"])
def test_weights_that_cannot_be(method: Any, two_views: Pair, lambda_rec: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=f"lambda_rec is {lambda_rec!r}; expected a finite number"):
        make(method, lambda_rec=lambda_rec).fit(*two_views)


@each_method
def test_outputs_that_do_not_vary_are_survived(method: Any, two_views: Pair) -> None:
    @dataclass(frozen=True)
    class Dead(LinearNetworks):
        def encoder(self, shape: tuple[int, ...], width: int) -> nn.Module:
            made = nn.Linear(math.prod(shape), width)
            nn.init.zeros_(made.weight)
            return made

    for form in ("trace", "maxvar"):
        model = make(method, form=form, networks=Dead(), training=replace(SHORT, weight_decay=0.0)).fit(*two_views)
        assert np.isfinite(model.transform(*two_views).to_array()).all()
        assert np.isfinite(model.score(*two_views))
