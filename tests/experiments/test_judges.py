"""The judges of SPLICE take any model: what a method lacks is left out, and a collapsed space has no score."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from viewsplice import Latents, MLPNetworks, TrainConfig, Views
from viewsplice.baselines import CCA, DMVAE, DeepCCA
from viewsplice.datasets import MultiViewData, rotate_images, two_rings
from viewsplice.experiments import rotated_mnist, sprites
from viewsplice.experiments.fits import has_decoders, stand_beside
from viewsplice.experiments.rotated_mnist_rivals import judge_rival
from viewsplice.experiments.truth import judge

SHORT: dict[str, Any] = {"networks": MLPNetworks((8,)), "training": TrainConfig(epochs=2, batch_size=40)}


def images(n: int = 320) -> MultiViewData:
    """Return bars of ten thicknesses, and the same turned: digits in miniature."""
    rng = np.random.default_rng(0)
    digit, angle = rng.integers(0, 10, n), rng.uniform(0, 360, n)
    upright = np.zeros((n, 28, 28), dtype=np.float32)
    for image, thickness in zip(upright, digit, strict=True):
        image[4:24, 10 : 11 + thickness] = 1
        image[4:8, 5:23] = 0.5
    split = {"train": np.arange(100), "validation": np.arange(100, 120), "test": np.arange(120, n)}
    views = Views({"A": upright, "B": rotate_images(upright, angle)})
    return MultiViewData(views, {"digit": digit}, {"B": {"angle": angle}}, None, split)


def characters(n: int = 60) -> MultiViewData:
    rng = np.random.default_rng(0)
    views = Views({name: rng.normal(size=(n, 4, 4, 3)) for name in "AB"})
    private = {name: {"angle": rng.uniform(0, 4, n)} for name in "AB"}
    split = {"train": np.arange(20), "validation": np.arange(20, 30), "test": np.arange(30, n)}
    return MultiViewData(views, {"character": np.arange(n) % 5}, private, None, split)


class Codes:
    """A model whose latents are given: for one view constant, for the other random."""

    n_shared_: ClassVar = {"A->B": 2, "B->A": 2}
    n_private_: ClassVar = {"A": 2, "B": 2}

    def transform(self, X: Any, y: Any = None) -> Latents[Any]:
        rng, n = np.random.default_rng(0), len(X)
        return Latents(
            {"A": np.ones((n, 2)), "B": rng.normal(size=(n, 2))},
            {"A->B": rng.normal(size=(n, 2)), "B->A": np.zeros((n, 2))},
        )

    def reconstruct(self, X: Any, y: Any = None) -> dict[str, Any]:
        return dict(X.arrays)


def fitted(method: Any, data: MultiViewData, *widths: Any) -> Any:
    views, validation = data.training()
    model = method(*widths, **({} if method is CCA else SHORT), random_state=0)
    return model.fit(views, validation=validation)


def test_methods_without_decoders_have_no_reconstruction() -> None:
    data = two_rings(n_samples=240)
    models = {method: fitted(method, data, 2) for method in (CCA, DeepCCA, DMVAE)}
    assert {method: has_decoders(model) for method, model in models.items()} == {
        CCA: False,
        DeepCCA: False,
        DMVAE: True,
    }
    for method, model in models.items():
        test = data.rows("test")
        found = stand_beside(model, test, model.transform(test.views).spaces())
        assert set(found["reconstruction_r2"]) == ({"A", "B"} if method is DMVAE else set())
        assert set(found["spread"]) == ({"A", "B", "A->B", "B->A"} if method is DMVAE else {"A->B", "B->A"})


def test_truth_of_a_method_without_private_spaces() -> None:
    data = two_rings(n_samples=240)
    found = judge(fitted(DeepCCA, data, 2), data, n_null=1)
    assert set(found["linear_r2"]) == {"A->B: angle", "B->A: angle"}
    assert all(leak["leak"] == 0 for key, leak in found["leaks"].items() if key.startswith(("A:", "B:")))


def test_digits_of_a_method_without_private_spaces() -> None:
    data = images()
    values, arrays = judge_rival(rotated_mnist.judge, fitted(DeepCCA, data, 2), data)
    assert {"digit_accuracy", "digit_accuracy_both", "angle_from_shared"} <= values.keys()
    assert not {"angle_variance", "digit_from_private", "ring_ratio", "private_spectrum"} & values.keys()
    assert not {"corrected", "composed"} & arrays.keys()
    assert arrays["shared"].shape == (200, 2)


def test_digits_of_a_method_with_private_spaces_and_decoders() -> None:
    data = images()
    values, arrays = judge_rival(rotated_mnist.judge, fitted(DMVAE, data, 2, (0, 2)), data)
    assert 0 <= values["digit_accuracy_both"] <= 1
    assert values["angle_variance"] <= 1
    assert set(values["reconstruction_r2"]) == {"A", "B"}
    assert arrays["corrected"].shape == (200,)
    assert arrays["composed"].shape == (81, 28, 28)
    assert arrays["composed"].dtype == np.uint8


def test_a_collapsed_private_space_of_digits_has_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    data = images()
    model = fitted(DMVAE, data, 2, (0, 2))
    transform = model.transform

    def collapsed(*views: Any) -> Latents[Any]:
        found = transform(*views)
        return Latents({name: np.zeros_like(z) for name, z in found.private.items()}, found.shared)

    monkeypatch.setattr(model, "transform", collapsed)
    values, arrays = rotated_mnist.judge(model, data)
    assert values["collapsed"] == ["B"]
    assert "angle_variance" not in values
    assert "corrected" not in arrays


def test_collapsed_spaces_of_characters_have_no_scores() -> None:
    values, arrays = sprites.judge(Codes(), characters())
    assert sorted(values["collapsed"]) == ["A", "B->A"]
    for metric in ("angle_variance", "angle_sd", "ring_ratio"):
        assert list(values[metric]) == ["B"]
    for metric in ("id_variance", "id_sd"):
        assert list(values[metric]) == ["A"]
    assert values["reconstruction_r2"] == {"A": 1.0, "B": 1.0}
    assert set(arrays) == {"A", "B", "A/angle", "B/angle"}
