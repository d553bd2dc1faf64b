"""Fresh probes: they find what is there, find nothing where nothing is, and ignore what lies below the noise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.neural_network import MLPRegressor

from viewsplice._types import Array
from viewsplice.trust import Leak, leaks, networks, probe_leaks, probes

N_TRAIN = 2000


def halves(values: Array, n_train: int = N_TRAIN) -> tuple[Array, Array]:
    return values[:n_train], values[n_train:]


def probe(latents: Array, n_null: int = 2, n_train: int = N_TRAIN, **targets: Array) -> dict[str, Leak]:
    train, test = halves(latents, n_train)
    given = {name: halves(target, n_train) for name, target in targets.items()}
    return probe_leaks(
        train,
        {name: y[0] for name, y in given.items()},
        test,
        {name: y[1] for name, y in given.items()},
        n_null=n_null,
    )


def test_a_nonlinear_leak_is_found_and_an_independent_target_is_not() -> None:
    generator = np.random.default_rng(0)
    z = generator.standard_normal((N_TRAIN + 2000, 1))
    found = probe(z, n_null=5, wave=np.sin(5 * z[:, 0]), independent=generator.standard_normal(len(z)))
    assert list(found) == ["wave", "independent"]
    assert found["wave"].r2 > 0.9
    assert found["wave"].leak == found["wave"].r2 - found["wave"].null_mean
    assert found["wave"].p == pytest.approx(1 / 6)
    for leak in found.values():
        assert abs(leak.null_mean) < 0.02
        assert leak.null_mean <= leak.null_q95 < 0.02
    assert abs(found["independent"].leak) < 0.03
    assert found["independent"].p > 0.2


@pytest.mark.parametrize(("size", "unit"), [(0.001, 1.0), (0.01, 1.0), (0.1, 1e-4)])
def test_noise_of_one_percent_of_the_whole_space_bounds_what_counts(size: float, unit: float) -> None:
    # A Gaussian target of this size under independent noise of 0.01: R² cannot exceed size² / (size² + 0.01²).
    generator = np.random.default_rng(1)
    z = generator.standard_normal((N_TRAIN + 4000, 2)) * [1, size] * unit + 3 * unit
    [leak] = probe(z, n_null=1, hidden=z[:, 1]).values()
    assert leak.r2 == pytest.approx(size**2 / (size**2 + 0.01**2), abs=0.03)


def test_the_network_finds_what_trees_cannot() -> None:
    # Trees cut along the axes; an oblique wave needs too many cuts.
    generator = np.random.default_rng(2)
    z = generator.standard_normal((N_TRAIN + 1000, 4))
    [leak] = probe(z, n_null=1, oblique=np.sin(1.5 * z.sum(axis=1))).values()
    assert leak.probe == "network"
    assert leak.r2 > 0.9


def test_networks_trained_at_once_are_as_good_as_alone() -> None:
    generator = np.random.default_rng(3)
    z = generator.standard_normal((N_TRAIN + 1000, 2))
    noise = generator.standard_normal((len(z), 4))
    # What can be learned stands first and last: noise between them leaves the batch early.
    y = np.column_stack([np.sin(2 * z[:, 0]), noise, z[:, 0] * z[:, 1] + 5])
    (z_train, z_test), (y_train, y_test) = halves(z), halves(y)
    together = leaks.networks_r2(z_train, y_train, z_test, y_test, 0)
    assert np.abs(together[1:-1]).max() < 0.03
    alone = leaks.networks_r2(z_train, y_train[:, 5:], z_test, y_test[:, 5:], 0)
    assert together[5] == pytest.approx(alone[0], abs=0.02)
    assert together[0] > 0.95
    reference = MLPRegressor(hidden_layer_sizes=(64, 64), random_state=0, early_stopping=True)
    expected = reference.fit(z_train, y_train[:, 5]).score(z_test, y_test[:, 5])
    assert together[5] > max(0.95, expected - 0.01)


def test_a_weak_leak_in_few_rows_is_found_before_rows_are_memorized() -> None:
    generator = np.random.default_rng(4)
    z = generator.standard_normal((N_TRAIN + 4000, 4))
    weak = 0.3 * z.sum(axis=1) / 2 + generator.standard_normal(len(z))  # R² of 0.09 / 1.09
    [leak] = probe(z, n_null=4, weak=weak).values()
    assert 0.03 < leak.r2 < 0.11
    assert leak.p == pytest.approx(1 / 5)


def test_more_rows_than_trees_see(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_TREE_ROWS", 100)
    generator = np.random.default_rng(5)
    z = generator.uniform(-1, 1, (700, 1))
    y = (z > 0) * 1.0
    seen = []
    fit = probes.HistGradientBoostingRegressor.fit

    def watched(model: object, x: Array, target: Array) -> object:
        seen.append(x.shape)
        assert np.array_equal(target, x[:, 0] > 0)
        return fit(model, x, target)

    monkeypatch.setattr(probes.HistGradientBoostingRegressor, "fit", watched)
    r2 = leaks.trees_r2(z[:500], y[:500], z[500:], y[500:], 0)
    assert seen == [(100, 1)]
    assert r2.shape == (1,)


def test_the_same_seed_gives_the_same_leaks_and_targets_do_not_disturb_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(networks, "_N_ROUNDS", 5)
    generator = np.random.default_rng(6)
    z = generator.standard_normal((300, 2))
    a, b = z[:, 0] + generator.standard_normal(300), generator.integers(0, 5, 300)
    first = probe(z, n_null=1, n_train=200, a=a, b=b)
    assert probe(z, n_null=1, n_train=200, b=b, a=a) == first
    assert probe(z, n_null=1, n_train=200, a=a)["a"] == first["a"]
    train, test = halves(z, 200)
    other = probe_leaks(train, {"a": a[:200]}, test, {"a": a[200:]}, n_null=1, random_state=1)
    assert other["a"] != first["a"]


def test_nulls_by_hand() -> None:
    leak = leaks._leak(np.array([0.3, 0.1, 0.0, 0.3]), np.array([0.2, 0.2, -1.0, 0.1]))
    assert dataclasses.asdict(leak) == {
        "r2": 0.3,
        "null_mean": pytest.approx(0.5 / 3),  # of 0.2, 0.0 and 0.3
        "null_q95": pytest.approx(0.29),
        "p": 0.5,
        "probe": "trees",
    }
    assert leaks._leak(np.array([0.3, 0.1]), np.array([0.4, 0.2])).probe == "network"


def test_shuffles_keep_values_and_break_pairs() -> None:
    y = np.arange(50.0)
    pairs = leaks._shuffled(y, 3, 0, "train")
    assert np.array_equal(pairs[:, 0], y)
    assert (np.sort(pairs, axis=0) == y[:, None]).all()
    assert len(np.unique(pairs, axis=1).T) == 4
    assert (np.abs(np.corrcoef(pairs.T)[0, 1:]) < 0.5).all()


@pytest.mark.parametrize("z", [np.empty((60, 0)), np.full((60, 2), 7.0), np.full((60, 1), 0.1) + 1e-9])
def test_a_space_with_nothing_to_read_has_no_leak(z: Array) -> None:
    y = np.arange(60.0)
    nothing = Leak(r2=0.0, null_mean=0.0, null_q95=0.0, p=1.0, probe="none")
    assert probe(z, n_train=40, y=y) == {"y": nothing}
    assert nothing.leak == 0


def test_no_targets_no_leaks() -> None:
    assert probe(np.random.default_rng(0).standard_normal((60, 2)), n_train=40) == {}


Y = np.arange(60.0)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (np.array(["a", "b"] * 30), TypeError, "train target 'y' has dtype <U1; expected numbers"),
        (Y > 30, TypeError, "dtype bool; expected numbers"),
        (Y.astype(object), TypeError, "dtype object; expected numbers"),
        (Y[:, None], ValueError, r"shape \(40, 1\); expected one number per row: \(40,\)"),
        (np.where(Y == 50, np.nan, Y), ValueError, "test target 'y' has NaN"),
        (np.minimum(Y, 40), ValueError, "test target 'y' is constant"),
    ],
)
def test_targets_that_cannot_be_probed(y: Array, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        probe(np.zeros((60, 1)), n_train=40, y=y)


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (np.zeros(40), np.zeros((20, 1)), r"train has shape \(40,\); expected \(rows, dimensions\)"),
        (np.zeros((40, 1)), np.zeros((20, 2)), r"test has shape \(20, 2\)"),
        (np.full((40, 1), np.nan), np.zeros((20, 1)), "train has NaN"),
        (np.zeros((19, 1)), np.zeros((20, 1)), "train has 19 rows and test 20; expected at least 20 and 2"),
    ],
)
def test_latents_that_cannot_be_probed(train: Array, test: Array, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        probe_leaks(train, {"y": Y[: len(train)]}, test, {"y": Y[: len(test)]})


def test_other_wrong_input() -> None:
    z = np.zeros((60, 1))
    with pytest.raises(ValueError, match=r"test_targets has \['b'\]; expected the targets of train: \['a'\]"):
        probe_leaks(z, {"a": Y}, z, {"b": Y})
    for n_null in (0, 2.5, True):
        with pytest.raises(ValueError, match=f"n_null is {n_null}; expected an integer of at least 1"):
            probe_leaks(z, {"a": Y}, z, {"a": Y}, n_null=n_null)
