"""Science on toys with known truth, by the default recipe with no width given. Generated data only."""

import numpy as np
import pytest

from viewsplice import SPLICE
from viewsplice.datasets import linear_gaussian, sheet_and_lines, two_rings
from viewsplice.metrics import circular_columns, linear_r2

pytestmark = pytest.mark.slow


def fit(data, seed):
    return SPLICE(random_state=seed).fit(data.rows("train").views, validation=data.rows("validation").views)


def decoded(model, data, space, factor, is_circular=False):
    """Return held-out linear R² of a true factor from a latent space, worst column."""
    train, test = data.rows("train"), data.rows("test")
    truth = circular_columns if is_circular else np.asarray
    latents = [model.transform(part.views).spaces()[space] for part in (train, test)]
    return linear_r2(latents[0], truth(train.factors()[factor]), latents[1], truth(test.factors()[factor])).min()


def widths(model):
    return {**model.n_private_, **model.n_shared_}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rings(seed):
    data = two_rings(random_state=seed)
    model = fit(data, seed)
    assert widths(model) == {"A": 2, "B": 2, "A->B": 2, "B->A": 2}
    for space, factor in (("A", "A/angle"), ("B", "B/angle"), ("A->B", "angle"), ("B->A", "angle")):
        assert decoded(model, data, space, factor, is_circular=True) > 0.97
    for view in ("A", "B"):
        assert decoded(model, data, view, "angle", is_circular=True) < 0.02
    assert model.score(data.rows("test").views) > 0.98


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_sheet_and_two_lines(seed):
    data = sheet_and_lines(random_state=seed)
    model = fit(data, seed)
    assert widths(model) == {"A": 1, "B": 1, "A->B": 2, "B->A": 2}
    for space in ("A->B", "B->A"):
        assert min(decoded(model, data, space, factor) for factor in ("x", "y")) > 0.98
    for view in ("A", "B"):
        assert decoded(model, data, view, f"{view}/position") > 0.98
        assert max(decoded(model, data, view, factor) for factor in ("x", "y")) < 0.02
    assert model.score(data.rows("test").views) > 0.98
    assert model.notes_ == []


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_linear_gaussian_subspaces(seed):
    data = linear_gaussian(random_state=seed)
    model = fit(data, seed)
    assert widths(model) == {"A": 1, "B": 1, "A->B": 2, "B->A": 2}
    for space in ("A->B", "B->A"):
        assert min(decoded(model, data, space, factor) for factor in data.shared) > 0.97
    for view in ("A", "B"):
        assert decoded(model, data, view, f"{view}/z0") > 0.97


@pytest.mark.parametrize("make", [linear_gaussian, sheet_and_lines])
def test_independent_views_share_nothing(make):
    views = make(random_state=0).rows("train").views
    order = np.random.default_rng(0).permutation(len(views))
    model = SPLICE(random_state=0).fit(views["A"], views["B"][order])
    assert model.n_shared_ == {"A->B": 0, "B->A": 0}
    assert min(model.n_private_.values()) > 0
    assert [note for note in model.notes_ if "nothing shared found" in note]


def test_views_of_the_same_factors_have_nothing_private():
    rng = np.random.default_rng(0)
    factors = rng.uniform(-1, 1, size=(2000, 2))
    a, b = (np.tanh(factors @ rng.normal(size=(2, n)) + rng.normal(size=n)) for n in (30, 25))
    model = SPLICE(random_state=0).fit(a, b)
    assert model.n_private_ == {"A": 0, "B": 0}
    assert model.n_shared_ == {"A->B": 2, "B->A": 2}
    assert [note for note in model.notes_ if "nothing private found" in note]
    assert model.score(a, b) > 0.98
