"""DMVAE's evidence bounds by hand, and what its settings mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from viewsplice import MLPNetworks, TrainConfig
from viewsplice.baselines import DMVAE
from viewsplice.baselines.coders import Coders
from viewsplice.baselines.dmvae import DMVAEObjective, posteriors
from viewsplice.baselines.gaussians import Densities, Gaussian, decomposed_divergence, divergence, product_of_experts
from viewsplice.baselines.minibatches import Task
from viewsplice.training.alternating import TrainingData

Pair = tuple[NDArray[np.float64], ...]
POSITIONS = torch.tensor([3, 1, 7, 20, 12, 5, 9, 11])
WIDTHS = {"A": 0, "B": 2}


def task(loss_scale: Any = "fraction") -> Task:
    generator = torch.Generator().manual_seed(0)
    views = {"A": torch.randn(60, 5, generator=generator), "B": torch.randn(60, 3, generator=generator)}
    units = {"A": 5.0, "B": 3.0} if loss_scale == "fraction" else {"A": 5 / 4, "B": 3 / 0.25}
    data = TrainingData(views, torch.arange(40), torch.arange(40, 60), units)
    outputs = {name: 2 * (2 + width) for name, width in WIDTHS.items()}
    net = Coders({"A": (5,), "B": (3,)}, outputs, {n: [2, w] for n, w in WIDTHS.items()}, MLPNetworks((8,)), 0)
    config = TrainConfig(epochs=2, batch_size=10, loss_scale=loss_scale).resolve(TrainConfig.paper())
    return Task(net, data, config, 2, WIDTHS, {"A": 5, "B": 3}, 0)


def by_hand(given: Task, generator: torch.Generator, beta: tuple[float, ...], lambda_rec: float) -> float:
    """Return minus all six bounds, written out."""
    x = {name: view[POSITIONS] for name, view in given.data.views.items()}
    out = {name: given.net.encoders[name](rows) for name, rows in x.items()}
    shared, private = {}, {}
    for name, width in WIDTHS.items():
        half = 2 + width
        mean, variance = out[name][:, :half], out[name][:, half:].exp() + 1e-9
        shared[name] = Gaussian(mean[:, :2], variance[:, :2])
        private[name] = Gaussian(mean[:, 2:], variance[:, 2:])
    sources = [shared["A"], shared["B"], product_of_experts([shared["A"], shared["B"]])]
    codes = [q.mean + q.variance.sqrt() * torch.randn(8, 2, generator=generator) for q in sources]
    scales = {"A": 2.0, "B": 0.5} if given.config.loss_scale == "mean" else {"A": 1.0, "B": 1.0}
    total = torch.zeros(())
    for name in "AB":
        q = private[name]
        z = q.mean + q.variance.sqrt() * torch.randn(8, WIDTHS[name], generator=generator)
        for code, source in zip(codes, sources, strict=True):
            error = given.net.decoders[name](torch.cat([code, z], 1)) - x[name]
            total = total + lambda_rec * ((scales[name] * error) ** 2).sum(1).mean()
            joined = Gaussian(torch.cat([source.mean, q.mean], 1), torch.cat([source.variance, q.variance], 1))
            if len(set(beta)) == 1:
                total = total + beta[0] * divergence(joined)
            else:
                parts = decomposed_divergence([Densities.of(torch.cat([code, z], 1), joined, 40)], 40)
                total = total + sum(b * part for b, part in zip(beta, parts, strict=True))
    return total.item()


@pytest.mark.parametrize("loss_scale", ["fraction", "mean"])
@pytest.mark.parametrize("beta", [(1.0, 1.0, 1.0), (2.0, 2.0, 2.0), (1.0, 5.0, 0.2)])
def test_six_bounds_by_hand(loss_scale: Any, beta: Any) -> None:
    given = task(loss_scale)
    found = DMVAEObjective(given, lambda_rec=10.0, beta=beta)
    state = found.generator.get_state()
    terms = found.terms(POSITIONS)
    twin = torch.Generator()
    twin.set_state(state)
    expected = by_hand(given, twin, beta, 10.0)
    assert terms.total.item() == pytest.approx(expected, rel=1e-5)
    assert set(terms.parts) == {"rec/A", "rec/B", "kl/A", "kl/B"}
    assert found.total({name: value.item() for name, value in terms.parts.items()}) == pytest.approx(expected, rel=1e-5)


def test_outputs_are_split_into_shared_and_private_posteriors() -> None:
    output = torch.tensor([[1.0, 2.0, 3.0, 0.0, 1.0, -1.0]])
    shared, private = posteriors(output, 1)
    assert shared.mean.tolist() == [[1.0]]
    assert private.mean.tolist() == [[2.0, 3.0]]
    assert torch.allclose(shared.variance, torch.tensor([[1.0]]))
    assert torch.allclose(private.variance, torch.tensor([[1.0, -1.0]]).exp())


def test_equal_weights_are_the_closed_form_and_the_same_in_the_mean() -> None:
    # Three weights that are almost equal are sampled; over many draws this is the closed form.
    given = task()
    sampled = DMVAEObjective(given, lambda_rec=0.0, beta=(1.0, 1.0, 1.0 + 1e-9))
    exact = DMVAEObjective(given, lambda_rec=0.0, beta=(1.0, 1.0, 1.0))
    with torch.no_grad():
        draws = [sampled.terms(POSITIONS).total.item() for _ in range(400)]
        expected = exact.terms(POSITIONS).total.item()
    assert np.mean(draws) == pytest.approx(expected, abs=4 * np.std(draws) / 20)
    assert np.std(draws) > 0.1


def test_total_correlation_has_its_own_weight() -> None:
    given = task()
    with torch.no_grad():
        values = [
            DMVAEObjective(given, lambda_rec=0.0, beta=(1.0, weight, 1.1)).terms(POSITIONS).total.item()
            for weight in (0.0, 1.0, 3.0)
        ]
    slopes = [(values[1] - values[0]) / 1, (values[2] - values[1]) / 2]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-3)
    assert abs(slopes[0]) > 1e-3


def test_held_out_terms_have_the_same_noise_every_time() -> None:
    found = DMVAEObjective(task(), lambda_rec=1.0, beta=(1.0, 2.0, 1.0))
    rows = torch.arange(40, 60)
    first = found.held_out(rows)
    found.terms(POSITIONS)
    assert found.held_out(rows) == first


def test_the_embedding_is_the_product_of_experts(two_views: Pair) -> None:
    training = TrainConfig(epochs=2, batch_size=50)
    model = DMVAE(2, (1, 0), networks=MLPNetworks((8,)), training=training, random_state=0).fit(*two_views)
    outputs = model._encode(model._check(*two_views))
    means, variances = {}, {}
    for name, half in (("A", 3), ("B", 2)):
        means[name], variances[name] = outputs[name][:, :2], np.exp(outputs[name][:, half : half + 2]) + 1e-9
    precision = 1 + 1 / variances["A"] + 1 / variances["B"]
    expected = (means["A"] / variances["A"] + means["B"] / variances["B"]) / precision
    np.testing.assert_allclose(model.embed(*two_views), expected, atol=1e-5)
    latents = model.transform(*two_views)
    np.testing.assert_array_equal(latents.shared["A->B"], means["A"])
    np.testing.assert_array_equal(latents.private["A"], outputs["A"][:, 2:3])
    rebuilt = model._decode("A", expected, latents.private["A"])
    np.testing.assert_allclose(model.reconstruct(*two_views)["A"], rebuilt, atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"lambda_rec": -1}, ValueError, "lambda_rec is -1; expected a finite number of at least 0"),
        ({"lambda_rec": None}, TypeError, "lambda_rec is None; expected a number"),
        ({"beta": 1}, TypeError, r"beta is 1; expected three weights, such as \(1, 1, 1\)"),
        ({"beta": (1, 1)}, TypeError, "expected three weights"),
        ({"beta": (1, -1, 1)}, ValueError, "each weight in beta is -1"),
    ],
)
def test_settings_that_cannot_be(two_views: Pair, changes: dict[str, Any], kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        DMVAE(1, **changes).fit(*two_views)


def test_densities_over_a_batch_need_a_batch(two_views: Pair) -> None:
    training = TrainConfig(epochs=1, batch_size=1)
    model = DMVAE(1, beta=(1, 2, 1), networks=MLPNetworks((4,)), training=training, random_state=0)
    with pytest.raises(ValueError, match="batch_size is 1; expected at least 2"):
        model.fit(*two_views)
    model.set_params(beta=(1, 2, 1), training=replace(training, batch_size=2)).fit(*(x[:40] for x in two_views))
    assert np.isfinite(model.transform(*two_views).to_array()).all()
