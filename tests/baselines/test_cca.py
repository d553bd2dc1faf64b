"""Canonical correlations against closed forms and scikit-learn, and what linear correlation can and cannot find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.cross_decomposition import CCA as SklearnCCA
from sklearn.linear_model import LinearRegression

from viewsplice.baselines import CCA, canonical_axes
from viewsplice.baselines.cca import shuffle_test
from viewsplice.datasets import linear_gaussian
from viewsplice.metrics import linear_r2

X = NDArray[np.float64]
Pair = tuple[X, ...]


def random_pair(n: int = 300, p: int = 7, t: int = 5, seed: int = 0) -> tuple[X, X]:
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 4)) * [3, 2, 1, 0.5]
    x = common @ rng.normal(size=(4, p)) + rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 7
    return x, common @ rng.normal(size=(4, t)) + rng.normal(size=(n, t)) @ rng.normal(size=(t, t)) - 3


@pytest.mark.parametrize(("p", "t"), [(7, 5), (5, 7), (6, 6), (4, 1)])
def test_correlations_agree_with_orthonormal_bases(p: int, t: int) -> None:
    x, y = random_pair(p=p, t=t)
    found = canonical_axes(x, y)
    bases = [np.linalg.qr(view - view.mean(axis=0))[0] for view in (x, y)]
    expected = np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)
    np.testing.assert_allclose(found.correlations, expected, atol=1e-10)
    u, v = ((view - mean) @ axes for view, mean, axes in zip((x, y), found.means, found.axes, strict=True))
    k = min(p, t)
    for variates in (u, v):
        np.testing.assert_allclose(np.cov(variates.T).reshape(k, k), np.eye(k), atol=1e-8)
    np.testing.assert_allclose(u.T @ v / (len(x) - 1), np.diag(expected), atol=1e-8)


def test_correlations_agree_with_scikit_learn() -> None:
    x, y = random_pair()
    other = SklearnCCA(5, tol=1e-15, max_iter=200_000).fit(x, y)
    u, v = other.transform(x, y)
    expected = [np.corrcoef(u[:, i], v[:, i])[0, 1] for i in range(5)]
    np.testing.assert_allclose(canonical_axes(x, y).correlations, expected, atol=1e-6)
    model = CCA(5, regularization=0, random_state=0).fit(x, y, validation=0)
    np.testing.assert_allclose(model.correlations_, expected, atol=1e-6)
    shared = model.transform(x, y).shared
    for ours, theirs in ((shared["A->B"], u), (shared["B->A"], v)):
        same = [abs(np.corrcoef(ours[:, i], theirs[:, i])[0, 1]) for i in range(5)]
        np.testing.assert_allclose(same, 1, atol=1e-6)


def test_regularization_is_that_of_the_whitening_formula() -> None:
    x, y = random_pair()
    r = 0.3
    covariance = np.cov(np.hstack([x, y]).T)
    s11, s12, s22 = covariance[:7, :7], covariance[:7, 7:], covariance[7:, 7:]
    s11, s22 = (s + r * np.trace(s) / len(s) * np.eye(len(s)) for s in (s11, s22))
    roots = [(axes / np.sqrt(values)) @ axes.T for values, axes in map(np.linalg.eigh, (s11, s22))]
    u, d, v = np.linalg.svd(roots[0] @ s12 @ roots[1], full_matrices=False)
    found = canonical_axes(x, y, r)
    np.testing.assert_allclose(found.correlations, d, atol=1e-10)
    np.testing.assert_allclose(np.abs(found.axes[0]), np.abs(roots[0] @ u), atol=1e-8)
    np.testing.assert_allclose(np.abs(found.axes[1]), np.abs(roots[1] @ v.T), atol=1e-8)


def test_correlations_solve_the_generalized_eigenproblem_whatever_the_units() -> None:
    x, y = random_pair()
    xc, yc = x - x.mean(axis=0), y - y.mean(axis=0)
    squares = eigh(xc.T @ yc @ np.linalg.solve(yc.T @ yc, yc.T @ xc), xc.T @ xc, eigvals_only=True)[::-1][:5]
    np.testing.assert_allclose(canonical_axes(x, y).correlations ** 2, squares, atol=1e-10)
    for r in (0.0, 1e-2):
        plain, scaled = canonical_axes(x, y, r), canonical_axes(1e-6 * x, 1e5 * y, r)
        np.testing.assert_allclose(scaled.correlations, plain.correlations, atol=1e-8)


def test_copied_and_wide_features() -> None:
    x, y = random_pair()
    copied = np.hstack([x, x[:, :3], x @ np.ones((7, 1))])
    np.testing.assert_allclose(canonical_axes(copied, y).correlations, canonical_axes(x, y).correlations, atol=1e-8)
    # Fewer rows than features can always be made to correlate; with regularization they are finite all the same.
    wide = np.random.default_rng(0).normal(size=(20, 60))
    np.testing.assert_allclose(canonical_axes(wide, y[:20]).correlations, 1, atol=1e-8)
    model = CCA(3, random_state=0).fit(wide, y[:20])
    assert np.isfinite(model.transform(wide, y[:20]).to_array()).all()
    # Directions of tiny variance are rounding, not correlation.
    tiny = np.hstack([x, 1e-6 * y[:, :1]])
    assert canonical_axes(tiny, y).correlations[0] < 0.999
    assert canonical_axes(np.hstack([x, 1e-2 * y[:, :1]]), y).correlations[0] > 0.999


def test_pairs_beyond_the_rank_of_the_data_are_empty() -> None:
    x, y = random_pair()
    flat = x[:, :2] @ np.random.default_rng(0).normal(size=(2, 7))
    model = CCA(4, regularization=0, random_state=0).fit(flat, y)
    shared = model.transform(flat, y).shared
    assert len(model.correlations_) == 2
    assert shared["A->B"].shape == shared["B->A"].shape == (300, 4)
    assert not shared["A->B"][:, 2:].any()
    assert np.isfinite(model.score(flat, y))


def test_prediction_is_least_squares_from_the_variates(two_views: Pair) -> None:
    a, b = two_views
    model = CCA(2, random_state=0).fit(a, b, validation=0)
    u = model.transform(a).shared["A->B"]
    np.testing.assert_allclose(model.predict("B", a), LinearRegression().fit(u, b).predict(u), atol=1e-8)
    everything = CCA(9, regularization=0, random_state=0).fit(a, b, validation=0)
    np.testing.assert_allclose(everything.predict("B", a), LinearRegression().fit(a, b).predict(a), atol=1e-8)


def test_the_joint_embedding_is_the_mean_of_both(two_views: Pair) -> None:
    a, b = two_views
    model = CCA({"A->B": 3, "B->A": 2}, random_state=0).fit(a, b)
    shared = model.transform(a, b).shared
    np.testing.assert_allclose(model.embed(a, b), (shared["A->B"][:, :2] + shared["B->A"]) / 2)
    with pytest.raises(ValueError, match="view 'B' is missing"):
        model.embed(a)


# The number of pairs


def test_the_number_of_linear_shared_factors_is_found() -> None:
    for n_shared in (1, 2, 4):
        data = linear_gaussian(1500, noise=0.2, n_shared=n_shared, random_state=n_shared)
        model = CCA(random_state=0).fit(data.views)
        assert model.n_shared_ == {"A->B": n_shared, "B->A": n_shared}
        assert model.shuffle_test_ is not None
        assert model.shuffle_test_.chosen == n_shared
    assert CCA(2, random_state=0).fit(data.views).shuffle_test_ is None


def test_a_pair_is_found_where_nothing_is_shared_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(0)
    found = []
    for seed in range(60):
        model = CCA(random_state=seed).fit(rng.normal(size=(400, 8)), rng.normal(size=(400, 6)))
        found.append(model.n_shared_["A->B"])
    # 5 % of 60 are 3, and more than 8 in one case of a hundred; a second pair by chance is rarer still.
    assert np.count_nonzero(found) <= 8
    assert np.sum(np.array(found) > 1) <= 2


def test_shuffles_have_the_level_they_claim() -> None:
    rng = np.random.default_rng(0)
    passed = [shuffle_test(*rng.normal(size=(2, 60, 10)), None, rng) for _ in range(40)]
    rate = np.mean([test.correlations > test.threshold for test in passed])
    assert 0.02 < rate < 0.09


def test_shuffles_move_whole_groups() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(rng.permutation(30), 20)
    u, v = (np.repeat(rng.normal(size=(30, 200)), 20, axis=0) for _ in range(2))
    by_row, by_group = (shuffle_test(u, v, labels, rng) for labels in (None, groups))
    np.testing.assert_allclose(by_row.correlations, by_group.correlations)
    expected = [np.corrcoef(u[:, i], v[:, i])[0, 1] for i in range(200)]
    np.testing.assert_allclose(by_row.correlations, expected)
    rates = [np.mean(test.correlations > test.threshold) for test in (by_row, by_group)]
    assert rates[0] > 0.25
    assert rates[1] < 0.12


def test_constant_variates_do_not_correlate() -> None:
    u = np.random.default_rng(0).normal(size=(50, 2))
    test = shuffle_test(u, u * [1, 0], None, np.random.default_rng(0))
    np.testing.assert_allclose(test.correlations, [1, 0])
    assert test.chosen == 1


def test_finding_the_number_needs_validation_rows(two_views: Pair) -> None:
    with pytest.raises(ValueError, match="n_shared is 'auto' and validation holds no rows; expected some to judge by"):
        CCA().fit(*two_views, validation=0)
    assert CCA(1).fit(*two_views, validation=0).n_shared_ == {"A->B": 1, "B->A": 1}


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"regularization": -1}, ValueError, "regularization is -1; expected a finite number of at least 0"),
        ({"regularization": "auto"}, TypeError, "regularization is 'auto'; expected a finite number"),
        ({"regularization": None}, TypeError, "regularization is None; expected a finite number"),
    ],
)
def test_settings_that_cannot_be(two_views: Pair, changes: dict[str, Any], kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        CCA(1, **changes).fit(*two_views)


def test_three_views_are_one_too_many(three_views: Pair) -> None:
    with pytest.raises(ValueError, match=r"got 3 views, \['A', 'B', 'C'\]; CCA expected two: pass two of them"):
        CCA(1).fit(list(three_views))


# What it finds


def test_linear_shared_factors_are_recovered_and_private_ones_left_out() -> None:
    data = linear_gaussian(2000, noise=0.01, random_state=0)
    train, test = data.rows("train"), data.rows("test")
    model = CCA(random_state=0).fit(train.views)
    latents = [model.transform(part.views).shared for part in (train, test)]
    shared = [np.column_stack(list(part.shared.values())) for part in (train, test)]
    for arrow, view in (("A->B", "A"), ("B->A", "B")):
        private = [part.private[view]["z0"] for part in (train, test)]
        assert linear_r2(latents[0][arrow], shared[0], latents[1][arrow], shared[1]).min() > 0.97
        assert linear_r2(latents[0][arrow], private[0], latents[1][arrow], private[1])[0] < 0.05


def test_what_it_cannot_do_a_nonlinear_link_is_not_seen() -> None:
    rng = np.random.default_rng(0)
    s = rng.normal(size=(2000, 1))
    a = s @ rng.normal(size=(1, 5)) + 0.1 * rng.normal(size=(2000, 5))
    b = (s**2 - 1) @ rng.normal(size=(1, 4)) + 0.1 * rng.normal(size=(2000, 4))
    model = CCA(1, random_state=0).fit(a, b)
    assert model.correlations_[0] < 0.15
    assert model.score(a, b) < 0.02


def test_what_it_cannot_do_correlation_ignores_how_much_variance_it_explains() -> None:
    rng = np.random.default_rng(0)
    large, small = rng.normal(size=(2, 2000, 1))
    noise = rng.normal(size=(2, 2000, 1))
    a = np.hstack([10 * large, 0.1 * small])
    b = np.hstack([10 * large + 5 * noise[0], 0.1 * small + 0.001 * noise[1]])
    shared = CCA(1, regularization=0, random_state=0).fit(a, b).transform(a).shared["A->B"]
    assert abs(np.corrcoef(shared[:, 0], small[:, 0])[0, 1]) > 0.99
