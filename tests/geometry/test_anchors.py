"""Anchors: one random row, or medoids: inside the clusters, apart, and decided by the generator alone."""

import numpy as np
import pytest

from viewsplice.geometry import anchors
from viewsplice.geometry.anchors import choose_anchors

CENTERS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])


def clusters(n_each=50, spread=0.5, seed=0):
    """Return two spaces that together form three clusters, and the cluster of each row."""
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.repeat(np.arange(3), n_each))
    z = CENTERS[label] + spread * rng.normal(size=(3 * n_each, 2))
    return {"A": z[:, :1], "A->B": z[:, 1:]}, label


def test_one_anchor_is_any_row_and_the_generators():
    spaces, _ = clusters()
    drawn = [int(choose_anchors(spaces, 1, np.random.default_rng(seed))[0]) for seed in range(60)]
    assert choose_anchors(spaces, 1, np.random.default_rng(0)).tolist() == drawn[:1]
    assert len(set(drawn)) > 40
    assert set(drawn) <= set(range(150))


def test_several_are_the_rows_next_to_the_cluster_means():
    spaces, label = clusters()
    found = choose_anchors(spaces, 3, np.random.default_rng(0))
    assert found.tolist() == sorted(found.tolist())
    assert sorted(label[found]) == [0, 1, 2]
    cloud = np.hstack([z / np.sqrt(z.var(axis=0).sum()) for z in spaces.values()])
    for row in found:
        own = np.flatnonzero(label == label[row])
        distances = np.linalg.norm(cloud[own] - cloud[own].mean(axis=0), axis=1)
        assert own[distances.argmin()] == row


def test_every_space_counts_alike_whatever_its_units():
    # The clusters are in A; B->A is noise of a million times the size, without clusters of its own.
    spaces, _ = clusters()
    rng = np.random.default_rng(1)
    joint = np.hstack([spaces["A"], spaces["A->B"]])
    plain = {"A": joint, "B->A": rng.uniform(-1, 1, size=(150, 1))}
    scaled = {"A": joint * 1e-6, "B->A": plain["B->A"] * 1e6 + 3e6}
    one, other = (choose_anchors(given, 3, np.random.default_rng(0)) for given in (plain, scaled))
    assert one.tolist() == other.tolist()


def test_a_collapsed_space_and_one_of_width_zero_do_no_harm():
    spaces, label = clusters()
    with_empty = {**spaces, "B": np.ones((150, 2)), "B->A": np.zeros((150, 0))}
    found = choose_anchors(with_empty, 3, np.random.default_rng(0))
    assert sorted(label[found]) == [0, 1, 2]


def test_the_generator_alone_decides():
    spaces, _ = clusters(spread=5.0)
    again = [choose_anchors(spaces, 4, np.random.default_rng(3)).tolist() for _ in range(2)]
    assert again[0] == again[1]


def test_large_data_are_thinned(monkeypatch):
    spaces, label = clusters()
    monkeypatch.setattr(anchors, "_MOST_ROWS", 40)
    found = choose_anchors(spaces, 3, np.random.default_rng(0))
    assert sorted(label[found]) == [0, 1, 2]


@pytest.mark.parametrize(("n_rows", "n_anchors"), [(2, 3), (3, 3), (1, 1), (1, 5)])
def test_no_more_anchors_than_rows(n_rows, n_anchors):
    spaces = {"A": np.arange(n_rows, dtype=float)[:, None]}
    found = choose_anchors(spaces, n_anchors, np.random.default_rng(0))
    assert found.tolist() == list(range(min(n_rows, n_anchors)))
