"""Blocked splits: runs of rows, gaps in neither part, and groups that stay whole."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from viewsplice import SPLICE, AutocorrelationWarning, Blocks, MLPNetworks, TrainConfig
from viewsplice.baselines import RRR
from viewsplice.splits import blocked_folds, distances_to
from viewsplice.views import Views


def tiny() -> SPLICE:
    training = TrainConfig(epochs=1, batch_size=20, restart_passes=1)
    return SPLICE(1, 1, recipe="paper", networks=MLPNetworks((4,)), training=training, geometry=None, random_state=0)


def walk(n_rows: int = 400, memory: float = 0.95, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two series that are like their neighbors, 5 and 4 features."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(n_rows, 9))
    for row in range(1, n_rows):
        steps[row] += memory * steps[row - 1]
    return steps[:, :5], steps[:, 5:]


@pytest.mark.parametrize(
    ("n_rows", "fraction", "gap", "n_blocks"), [(400, 0.1, 3, 4), (57, 0.2, 0, 3), (100, 0.5, 2, 1)]
)
def test_blocks_are_runs_a_gap_away_from_training_rows(n_rows, fraction, gap, n_blocks) -> None:
    for seed in range(20):
        blocks = Blocks(fraction, n_blocks=n_blocks)
        train, held_out = blocks.rows(n_rows, gap=gap, generator=np.random.default_rng(seed))
        assert len(held_out) == pytest.approx(fraction * n_rows, abs=n_blocks)
        assert np.abs(train[:, None] - held_out).min() == gap + 1
        assert (np.diff(held_out) > 1).sum() + 1 <= n_blocks
        lost = n_rows - len(train) - len(held_out)
        assert lost <= 2 * gap * n_blocks
        assert held_out.min() >= 0
        assert held_out.max() < n_rows


def test_long_gaps_make_fewer_blocks() -> None:
    train, held_out = Blocks(0.2, n_blocks=8).rows(200, gap=8, generator=np.random.default_rng(0))
    assert (np.diff(held_out) > 1).sum() == 0
    assert len(train) >= 200 - 40 - 16


def test_a_gap_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="a gap of 60 rows around held-out blocks leaves 0 of 50 rows"):
        Blocks(0.2).rows(50, gap=60, generator=np.random.default_rng(0))


@pytest.mark.parametrize("settings", [{"fraction": 0}, {"fraction": 0.95}, {"gap": -1}, {"n_blocks": 0}])
def test_settings_are_checked(settings) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Blocks(**settings)


def test_folds_cover_every_row_once() -> None:
    tests = []
    for train, test in blocked_folds(103, 4, 5):
        tests.append(test)
        assert (np.diff(test) == 1).all()
        assert np.abs(train[:, None] - test).min() == 6
    assert np.array_equal(np.concatenate(tests), np.arange(103))


def test_distances_by_hand() -> None:
    assert distances_to(np.array([2, 5]), 8).tolist() == [2, 1, 0, 1, 1, 0, 1, 2]


@pytest.mark.parametrize("estimator", [tiny(), RRR(1, random_state=0)])
def test_fit_takes_blocks_and_leaves_the_gap_out(estimator) -> None:
    a, b = walk()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = estimator.fit(a, b, validation=Blocks(0.1, gap=7))
    train, held_out = model.split_["train"], model.split_["validation"]
    assert np.abs(train[:, None] - held_out).min() == 8
    assert len(held_out) == pytest.approx(40, abs=4)
    assert len(train) + len(held_out) < 400


def test_the_gap_is_as_long_as_rows_are_alike() -> None:
    a, b = walk()
    train, held_out = tiny().fit(a, b, validation=Blocks()).split_.values()
    assert 10 <= np.abs(train[:, None] - held_out).min() <= 120


def test_blocks_of_groups_are_whole_groups() -> None:
    a, b = walk()
    groups = np.repeat(np.arange(40), 10)
    split = tiny().fit(Views([a, b], groups=groups), validation=Blocks(0.2, gap=1, n_blocks=2)).split_
    train, held_out = (np.unique(groups[split[part]]) for part in ("train", "validation"))
    assert np.abs(train[:, None] - held_out).min() == 2
    assert len(split["validation"]) == 10 * len(held_out) == 80


def test_a_random_split_of_a_series_is_warned_of() -> None:
    a, b = walk()
    with pytest.warns(AutocorrelationWarning, match=r"correlation 0\.9\d, over \d+ rows.*validation=Blocks"):
        tiny().fit(a, b)


@pytest.mark.parametrize("how", ["shuffled", "groups", "none held out", "own rows", "weak"])
def test_other_splits_are_not(how) -> None:
    a, b = walk(memory=0.1 if how == "weak" else 0.95)
    order = np.random.default_rng(0).permutation(400)
    arguments = {
        "shuffled": {"X": a[order], "y": b[order]},
        "groups": {"X": a, "y": b, "groups": np.repeat(np.arange(40), 10)},
        "none held out": {"X": a, "y": b, "validation": 0},
        "own rows": {"X": a, "y": b, "validation": np.arange(40)},
        "weak": {"X": a, "y": b},
    }[how]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny().fit(**arguments)
