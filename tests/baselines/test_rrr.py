"""Reduced-rank regression against closed forms, other libraries, and a literal cross-validation of every rank."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.linear_model import LinearRegression, Ridge

from viewsplice.baselines import RRR, rank_curve, reduced_rank, selection
from viewsplice.baselines.selection import choose_ridge, folds
from viewsplice.datasets import linear_gaussian, two_rings, v1_v2
from viewsplice.exceptions import AutocorrelationWarning
from viewsplice.metrics import linear_r2

X = NDArray[np.float64]
Pair = tuple[X, ...]
SEMEDO = "semedo_v1v2_sample.npz"
REAL = Path(os.environ.get("VIEWSPLICE_DATA") or Path(__file__).parents[3] / "shared" / "data")


def random_pair(n: int, p: int, t: int, seed: int = 0, rank: int = 4, noise: float = 3.0) -> tuple[X, X]:
    """Return correlated x with uneven scales and an offset, and y that depends on it with falling strength."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 10 * rng.normal(size=p)
    links = rng.normal(size=(p, rank)) @ np.diag(0.5 ** np.arange(rank)) @ rng.normal(size=(rank, t))
    return x, x @ links + noise * rng.normal(size=(n, t)) - 5


def predicted(model: Any, x: X, rank: int) -> X:
    return model.target_mean + (x - model.source_mean) @ model.coefficients(rank)


# The regression


@pytest.mark.parametrize(("p", "t"), [(12, 7), (7, 12), (6, 6), (5, 1)])
def test_every_rank_solves_the_generalized_eigenproblem(p: int, t: int) -> None:
    x, y = random_pair(200, p, t)
    model = reduced_rank(x, y)
    xc, yc = x - x.mean(axis=0), y - y.mean(axis=0)
    cross = xc.T @ yc
    directions = eigh(cross @ cross.T, xc.T @ xc)[1][:, ::-1]
    for rank in range(min(p, t) + 1):
        basis = xc @ directions[:, :rank]
        expected = y.mean(axis=0) + basis @ np.linalg.lstsq(basis, yc, rcond=None)[0]
        np.testing.assert_allclose(predicted(model, x, rank), expected, rtol=0, atol=1e-6)
        assert np.linalg.matrix_rank(model.coefficients(rank)) == rank


def test_the_full_rank_is_least_squares_and_ridge_is_ridge() -> None:
    x, y = random_pair(150, 8, 11)
    for ridge, reference in [(0.0, LinearRegression()), (37.0, Ridge(37.0, solver="cholesky"))]:
        model, expected = reduced_rank(x, y, ridge), reference.fit(x, y)
        np.testing.assert_allclose(model.coefficients(8).T, expected.coef_, atol=1e-8)
        np.testing.assert_allclose(predicted(model, x, 8), expected.predict(x), atol=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 50.0])
def test_axes_are_the_principal_axes_of_the_predictions(ridge: float) -> None:
    x, y = random_pair(150, 8, 5)
    model = reduced_rank(x, y, ridge)
    predictions = predicted(model, x, 5)
    variances, axes = np.linalg.eigh(np.cov(predictions.T))
    np.testing.assert_allclose(model.spectrum, variances[::-1], rtol=1e-8)
    np.testing.assert_allclose(np.abs(np.diag(model.axes @ axes[:, ::-1])), 1, atol=1e-8)
    np.testing.assert_allclose(model.axes @ model.axes.T, np.eye(5), atol=1e-12)


def test_the_error_of_a_rank_is_smaller_than_that_of_truncated_coefficients() -> None:
    x, y = random_pair(300, 10, 10)
    model = reduced_rank(x, y)
    u, s, v = np.linalg.svd(model.coefficients(10))
    yc, xc = y - y.mean(axis=0), x - x.mean(axis=0)
    for rank in (1, 2, 3):
        truncated = (u[:, :rank] * s[:rank]) @ v[:rank]
        best = np.sum((y - predicted(model, x, rank)) ** 2)
        assert best < 0.999 * np.sum((yc - xc @ truncated) ** 2)


def test_wide_rows_take_the_solution_of_least_norm() -> None:
    x, y = random_pair(20, 50, 30)
    model = reduced_rank(x, y)
    xc, yc = x - x.mean(axis=0), y - y.mean(axis=0)
    assert model.coordinates.shape == (50, 30)
    np.testing.assert_allclose(model.coefficients(30), np.linalg.pinv(xc) @ yc, atol=1e-8)
    assert np.sum(model.spectrum > 1e-12 * model.spectrum[0]) == 19
    np.testing.assert_allclose(
        reduced_rank(x, y, 5.0).coefficients(30), Ridge(5.0, solver="svd").fit(x, y).coef_.T, atol=1e-8
    )


def test_a_copied_column_shares_its_coefficient() -> None:
    x, y = random_pair(100, 5, 4)
    doubled = reduced_rank(np.hstack([x, x[:, :1]]), y).coefficients(4)
    single = reduced_rank(x, y).coefficients(4)
    np.testing.assert_allclose(doubled[[0, 5]], np.tile(single[0] / 2, (2, 1)), atol=1e-8)


# The rank


def literal_curve(x: X, y: X, splits: Any, ridge: float = 0.0) -> X:
    """Return 1 - NSE of every fold and rank from explicit coefficients of each."""
    scores = []
    for train, test in splits:
        mean_x, mean_y = x[train].mean(axis=0), y[train].mean(axis=0)
        xc = x[train] - mean_x
        gram = xc.T @ xc + ridge * np.eye(x.shape[1])
        full = np.linalg.solve(gram, xc.T @ (y[train] - mean_y))
        axes = np.linalg.eigh(np.cov((xc @ full).T))[1][:, ::-1]
        row = []
        for rank in range(min(x.shape[1], y.shape[1]) + 1):
            b = full @ axes[:, :rank] @ axes[:, :rank].T
            errors = np.sum((y[test] - (mean_y - mean_x @ b) - x[test] @ b) ** 2)
            row.append(1 - errors / np.sum((y[test] - y[test].mean(axis=0)) ** 2))
        scores.append(row)
    return np.array(scores)


def literal_choice(scores: X) -> int:
    losses = (1 - scores).mean(axis=0)
    best = losses.argmin()
    limit = losses[best] + np.std(scores[:, best], ddof=1) / np.sqrt(len(scores))
    return next(rank for rank, loss in enumerate(losses) if loss <= limit)


@pytest.fixture(
    params=[
        pytest.param("real", marks=pytest.mark.skipif(not (REAL / SEMEDO).is_file(), reason=f"{SEMEDO} is not here")),
        "stand-in",
    ]
)
def v1_v2_sample(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The V1-V2 sample of Semedo et al. where it is, and counts of the same form that are always there."""
    if request.param == "real":
        return v1_v2(REAL, sample="semedo")
    rng = np.random.default_rng(4)
    drive = rng.normal(size=(600, 3))
    counts = {
        name: rng.poisson(np.exp(0.3 * drive @ rng.normal(size=(3, n)))) - 1.0
        for name, n in (("v1_source", 20), ("v1_target", 9), ("v2_target", 8))
    }
    np.savez(tmp_path / SEMEDO, **counts)
    return v1_v2(tmp_path, sample="semedo")


def test_curve_and_rank_of_the_v1_v2_sample_agree_with_an_explicit_formula(v1_v2_sample: Any) -> None:
    x, y = (np.asarray(v1_v2_sample.views[name], dtype=np.float64) for name in ("v1", "v2"))
    groups = v1_v2_sample.groups
    curve = rank_curve(x, y, groups=groups, random_state=0)
    expected = literal_curve(x, y, folds(len(x), 10, groups, 0))
    assert expected.shape == (10, y.shape[1] + 1)
    np.testing.assert_allclose(curve.scores, expected, atol=1e-10)
    assert curve.chosen == literal_choice(expected)
    assert 1 <= curve.chosen < y.shape[1]
    np.testing.assert_allclose(curve.mean, expected.mean(axis=0), atol=1e-10)
    np.testing.assert_allclose(curve.sem, expected.std(axis=0, ddof=1) / np.sqrt(10), atol=1e-10)


def test_the_estimator_uses_that_curve(v1_v2_sample: Any) -> None:
    model = RRR(random_state=0).fit(v1_v2_sample.views)
    train = model.split_["train"]
    x, y = (np.asarray(v1_v2_sample.views[name], dtype=np.float64)[train] for name in ("v1", "v2"))
    expected = literal_curve(x, y, folds(len(x), 10, v1_v2_sample.groups[train], 0))
    np.testing.assert_allclose(model.curves_["v1->v2"].scores, expected, atol=1e-10)
    assert model.n_shared_["v1->v2"] == literal_choice(expected)


@pytest.mark.parametrize("ridge", [0.0, 400.0])
def test_curves_of_any_shape_agree_with_an_explicit_formula(ridge: float) -> None:
    x, y = random_pair(90, 6, 9)
    curve = rank_curve(x, y, ridge=ridge, n_folds=4, random_state=2)
    np.testing.assert_allclose(curve.scores, literal_curve(x, y, folds(90, 4, None, 2), ridge), atol=1e-9)
    assert list(curve.ranks) == list(range(7))


def test_one_decomposition_per_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(selection, "reduced_rank", lambda *args: calls.append(1) or reduced_rank(*args))
    rank_curve(*random_pair(120, 10, 20), n_folds=6)
    assert len(calls) == 6


def test_the_rank_of_linear_data_is_found_and_none_where_nothing_is_shared() -> None:
    for n_shared in (1, 2, 4):
        data = linear_gaussian(1500, noise=0.2, n_shared=n_shared, random_state=n_shared)
        assert set(RRR(random_state=0).fit(data.views).n_shared_.values()) == {n_shared}
    rng = np.random.default_rng(1)
    model = RRR(random_state=0).fit(rng.normal(size=(400, 6)), rng.normal(size=(400, 5)))
    assert model.n_shared_ == {"A->B": 0, "B->A": 0}


def test_ranks_are_found_only_where_they_are_asked_for(two_views: Pair) -> None:
    model = RRR({"A->B": "auto", "B->A": 3}, random_state=0).fit(*two_views)
    assert list(model.curves_) == ["A->B"]
    assert model.n_shared_ == {"A->B": model.curves_["A->B"].chosen, "B->A": 3}
    assert model.ridge_ == {"A->B": 0.0, "B->A": 0.0}


def test_the_simplest_of_the_good_ones_is_chosen() -> None:
    scores = np.array([[0.0, 0.5, 0.6, 0.7], [0.0, 0.5, 0.8, 0.7]])
    assert selection.simplest(scores) == 2  # 0.7 twice: the first
    assert selection.simplest(scores + np.array([0, 0, 0, 0.05])) == 3  # SEM of the best is 0
    assert selection.simplest(scores + np.array([0, 0.15, 0, 0])) == 1  # 0.65 lies within 0.7 - 0.1


# Folds


def test_folds_hold_every_row_once_and_groups_whole() -> None:
    groups = np.random.default_rng(0).choice(list("abcdefghijklm"), size=200)
    for labels, n_folds in ((None, 7), (groups, 5)):
        tests = []
        for train, test in folds(200, n_folds, labels, 3):
            assert np.array_equal(np.union1d(train, test), np.arange(200))
            assert not np.intersect1d(train, test).size
            if labels is not None:
                assert not set(labels[train]) & set(labels[test])
            tests.append(test)
        assert np.array_equal(np.sort(np.concatenate(tests)), np.arange(200))
        assert len(tests) == n_folds
        assert max(map(len, tests)) - min(map(len, tests)) <= (1 if labels is None else 25)


def test_fewer_folds_where_there_are_few_rows_or_groups() -> None:
    assert len(list(folds(9, 10, None, 0))) == 4
    assert len(list(folds(90, 10, np.arange(90) // 30, 0))) == 3
    with pytest.raises(ValueError, match="got 3 rows to cross-validate on; expected at least two folds"):
        list(folds(3, 10, None, 0))
    with pytest.raises(ValueError, match="got a single group of rows to cross-validate on"):
        list(folds(30, 10, np.zeros(30), 0))


def test_groups_keep_what_is_copied_within_them_from_raising_the_rank() -> None:
    rng = np.random.default_rng(0)
    a, b = (np.repeat(rng.normal(size=(40, 25)), 8, axis=0) + 0.01 * rng.normal(size=(320, 25)) for _ in range(2))
    groups = np.arange(320) // 8
    with pytest.warns(AutocorrelationWarning, match="neighboring rows are alike"):
        assert RRR(random_state=0).fit(a, b).n_shared_["A->B"] > 0
    assert RRR(random_state=0).fit(a, b, groups=groups).n_shared_["A->B"] == 0


def test_a_fold_without_variance_is_named() -> None:
    x, y = random_pair(40, 3, 1)
    y[:39] = 0
    with pytest.raises(ValueError, match=r"constant over the 4 rows of one of 10 folds.*lower n_folds"):
        rank_curve(x, y)


# The ridge


def test_the_chosen_ridge_is_that_of_a_literal_search() -> None:
    x, y = random_pair(60, 30, 6, seed=3, noise=40.0)
    xc = x - x.mean(axis=0)
    largest = np.linalg.eigvalsh(xc.T @ xc)[-1]
    ridges = [largest * (1 - s) / s for s in np.linspace(0.5, 1, 51)]
    losses = np.array(
        [[1 - literal_curve(x, y, [split], ridge)[0, -1] for ridge in ridges] for split in folds(60, 10, None, 0)]
    )
    mean, best = losses.mean(axis=0), losses.mean(axis=0).argmin()
    limit = mean[best] + losses[:, best].std(ddof=1) / np.sqrt(10)
    expected = next(ridge for ridge, loss in zip(ridges, mean, strict=True) if loss <= limit)
    assert choose_ridge(x, y) == pytest.approx(expected, rel=1e-6)
    assert 0 < expected < 0.99 * largest  # neither end of the grid
    model = RRR(2, ridge="auto", random_state=0).fit(x, y, validation=0)
    assert model.ridge_["A->B"] == pytest.approx(expected, rel=1e-6)


def test_ridge_helps_wide_noisy_views() -> None:
    x, y = random_pair(400, 60, 10, seed=1, noise=200.0)
    few = np.arange(70)
    plain, ridged = (RRR(4, ridge=ridge, random_state=0).fit(x[few], y[few], validation=0) for ridge in (0.0, "auto"))
    target = y[100:] - y[100:].mean(axis=0)
    errors = [np.sum((y[100:] - m.predict("B", x[100:])) ** 2) / np.sum(target**2) for m in (plain, ridged)]
    assert errors[1] < 0.9 * errors[0]


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"ridge": -1.0}, ValueError, "ridge is -1.0; expected a finite number of at least 0"),
        ({"ridge": "some"}, ValueError, "ridge is 'some'; expected a number of at least 0, or 'auto'"),
        ({"ridge": None}, ValueError, "ridge is None"),
        ({"n_folds": 1}, ValueError, "n_folds is 1; expected an integer of at least 2"),
        ({"n_folds": 2.5}, TypeError, "n_folds is 2.5; expected an integer"),
        ({"n_folds": None}, TypeError, "n_folds is None"),
    ],
)
def test_settings_that_cannot_be(two_views: Pair, changes: dict[str, Any], kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        RRR(1, **changes).fit(*two_views)


# The estimator


def test_shared_coordinates_of_a_rank_are_those_along_the_axes(two_views: Pair) -> None:
    a, b = two_views
    model = RRR(2, random_state=0).fit(a, b, validation=0)
    full = LinearRegression().fit(a, b).predict(a) - b.mean(axis=0)
    axes = np.linalg.svd(full, full_matrices=False)[2][:2]
    np.testing.assert_allclose(np.abs(model.transform(a).shared["A->B"]), np.abs(full @ axes.T), atol=1e-8)


def test_several_sources_are_averaged(three_views: Pair) -> None:
    a, b, c = three_views
    model = RRR(2, random_state=0).fit([a, b, c])
    assert len(model.n_shared_) == 6
    alone = [model.predict("B", {"A": a}), model.predict("B", {"C": c})]
    np.testing.assert_allclose(model.predict("B", {"A": a, "C": c}), np.mean(alone, axis=0))
    np.testing.assert_allclose(model.reconstruct([a, b, c])["B"], np.mean(alone, axis=0))


def test_wide_views_fit(two_views: Pair) -> None:
    rng = np.random.default_rng(0)
    a, b = (x[:30] @ rng.normal(size=(x.shape[1], 100)) for x in two_views)
    model = RRR(random_state=0).fit(a, b)
    assert len(model.curves_["A->B"].ranks) == 101
    assert model.score(a, b) > 0


def test_linear_shared_factors_are_recovered_and_private_ones_left_out() -> None:
    data = linear_gaussian(2000, noise=0.01, random_state=0)
    train, test = data.rows("train"), data.rows("test")
    model = RRR(random_state=0).fit(train.views)
    latents = [model.transform(part.views).shared for part in (train, test)]
    shared = [np.column_stack(list(part.shared.values())) for part in (train, test)]
    for arrow, view in (("A->B", "A"), ("B->A", "B")):
        private = [part.private[view]["z0"] for part in (train, test)]
        assert linear_r2(latents[0][arrow], shared[0], latents[1][arrow], shared[1]).min() > 0.97
        assert linear_r2(latents[0][arrow], private[0], latents[1][arrow], private[1])[0] < 0.05


def test_what_it_cannot_do_one_curved_dimension_counts_as_many() -> None:
    data = two_rings(2000, random_state=0)
    model = RRR(random_state=0).fit(data.rows("train").views)
    # One shared angle, embedded with three harmonics: a line in latent space would do, six planes' axes are needed.
    assert model.n_shared_ == {"A->B": 6, "B->A": 6}
    # Half of each view's variance is private, and nothing here can say so: it is only missing.
    assert model.score(data.rows("test").views) == pytest.approx(0.5, abs=0.03)


def test_what_it_cannot_do_a_nonlinear_link_is_not_seen() -> None:
    rng = np.random.default_rng(0)
    s = rng.normal(size=(2000, 1))
    a = s @ rng.normal(size=(1, 5)) + 0.1 * rng.normal(size=(2000, 5))
    b = (s**2 - 1) @ rng.normal(size=(1, 4)) + 0.1 * rng.normal(size=(2000, 4))
    model = RRR(n_shared=1, random_state=0).fit(a, b)
    assert model.score(a, b) < 0.02
