from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from viewsplice import views
from viewsplice.frontend import Standardizer

ALL = np.arange(4)
# Means 1 and 4, population variances 1 and 4: total 5, scale sqrt(5 / 2).
X = np.array([[0.0, 2.0], [2.0, 6.0], [0.0, 6.0], [2.0, 2.0]])


def test_values_by_hand() -> None:
    found = Standardizer.fit(X, ALL, "A")
    assert found.mean.tolist() == [1, 4]
    assert found.scale == pytest.approx(math.sqrt(2.5))
    assert found.n_features == 2
    expected = np.array([[-1, -2], [1, 2], [-1, 2], [1, -2]]) / math.sqrt(2.5)
    out = found.forward(X)
    assert out.dtype == torch.float32
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    np.testing.assert_allclose(found.inverse(expected), X, rtol=1e-12)


def test_statistics_are_of_the_training_rows() -> None:
    outlier = np.vstack([X, [[1e6, -1e6]]])
    found = Standardizer.fit(outlier, ALL, "A")
    assert found.mean.tolist() == [1, 4]
    assert found.scale == pytest.approx(math.sqrt(2.5))


@pytest.mark.parametrize("block_rows", [1, 3, 4, 5])
def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, block_rows: int) -> None:
    x = np.random.default_rng(0).normal(3, 2, size=(13, 4))
    whole = Standardizer.fit(x, np.arange(13), "A")
    expected = whole.forward(x)
    monkeypatch.setattr(views, "_BLOCK_ROWS", block_rows)
    found = Standardizer.fit(x, np.arange(13), "A")
    np.testing.assert_allclose(found.mean, whole.mean, rtol=1e-14)
    assert found.scale == pytest.approx(whole.scale, rel=1e-14)
    assert torch.equal(whole.forward(x), expected)


@pytest.mark.parametrize("kind", ["i1", "u1", "i8", "?", "f2", "f4", "f8"])
def test_any_numeric_type_is_computed_in_float64(kind: str) -> None:
    x = (np.array([[0, 1], [1, 0], [1, 1], [0, 0]]) * (1 if kind == "?" else 100)).astype(kind)
    found = Standardizer.fit(x, ALL, "A")
    np.testing.assert_allclose(found.forward(x), [[-1, 1], [1, -1], [1, 1], [-1, -1]], rtol=1e-6)
    assert found.inverse(np.zeros((1, 2))).dtype == (np.float32 if kind == "f4" else np.float64)


def test_row_shape_comes_back() -> None:
    x = np.random.default_rng(0).normal(size=(5, 2, 3))
    found = Standardizer.fit(x, np.arange(5), "A")
    flat = found.forward(x)
    assert flat.shape == (5, 6)
    np.testing.assert_allclose(found.inverse(flat.numpy()), x, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("factor", "offset"), [(1e-9, 0.0), (1e9, 0.0), (1.0, 1e6), (-3.0, 7.0)])
def test_one_factor_and_offset_leave_the_networks_input(factor: float, offset: float) -> None:
    x = np.random.default_rng(0).normal(size=(50, 3))
    before = Standardizer.fit(x, np.arange(50), "A").forward(x)
    moved = factor * x + offset
    after = Standardizer.fit(moved, np.arange(50), "A").forward(moved)
    np.testing.assert_allclose(after, math.copysign(1, factor) * before.numpy(), rtol=1e-5, atol=1e-6)


def test_an_offset_in_single_precision_costs_no_variance() -> None:
    x = (1e6 + np.random.default_rng(0).normal(0, 10, size=(4000, 2))).astype(np.float32)
    assert Standardizer.fit(x, np.arange(4000), "A").forward(x).var(dim=0).mean() == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("value", [0.0, 3, 1e9, 0.1, -1e-30])
def test_a_constant_view_is_refused(value: Any) -> None:
    message = "view 'A' is constant: all 1000 training rows are equal; expected variation"
    with pytest.raises(ValueError, match=message):
        Standardizer.fit(np.full((1000, 3), value), np.arange(1000), "A")


def test_a_view_constant_on_the_training_rows_only_is_refused() -> None:
    x = np.array([[1.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match="view 'A' is constant: all 2 training rows"):
        Standardizer.fit(x, np.array([0, 1]), "A")


def test_little_variation_is_still_variation() -> None:
    x = np.array([[1e6], [1e6 + 1e-3], [1e6], [1e6 + 1e-3]])
    np.testing.assert_allclose(Standardizer.fit(x, ALL, "A").forward(x), [[-1], [1], [-1], [1]], rtol=1e-5)


def test_values_beyond_any_variance_are_refused() -> None:
    with pytest.raises(ValueError, match="view 'A' has values too large for its variance to be computed: rescale it"):
        Standardizer.fit(X * 1e200, ALL, "A")
