"""On-manifold distances and rings, against what can be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from viewsplice.metrics import chance_accuracy, knn_accuracy, on_manifold, ring_ratio, torn_rows


def test_distances_are_those_of_a_line() -> None:
    real = np.array([[0.0], [1.0], [3.0], [10.0]])
    found = on_manifold(np.array([[0.4], [8.0]]), real, np.array([0, 0, 1, 1]))
    assert np.allclose(found.made, [0.4, 2.0])
    assert np.allclose(found.real, [1, 1, 2, 7])
    assert found.within_class == pytest.approx((1 + 7) / 2)
    assert found.closer == 1.0
    assert on_manifold(np.array([[0.4], [30.0]]), real, np.array([0, 0, 1, 1])).closer == 0.5


def test_without_classes_all_pairs_count() -> None:
    real = np.random.default_rng(0).normal(size=(1500, 3))
    assert on_manifold(real[:2] + 1, real).within_class == pytest.approx(pdist(real).mean())


def test_images_are_flattened_and_bad_input_is_named() -> None:
    images = np.random.default_rng(0).normal(size=(9, 4, 4))
    assert np.allclose(on_manifold(images, images).made, 0, atol=1e-6)
    with pytest.raises(ValueError, match="same features"):
        on_manifold(images, images[:, :2])
    with pytest.raises(ValueError, match="one per real row"):
        on_manifold(images, images, np.zeros(3))
    with pytest.raises(ValueError, match="labels that repeat"):
        on_manifold(images, images, np.arange(9))


def test_a_ring_is_one_and_a_disc_is_none() -> None:
    pytest.importorskip("ripser")
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 600)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.02 * rng.normal(size=(600, 2))
    disc = ring * np.sqrt(rng.uniform(size=(600, 1)))
    assert ring_ratio(ring) > 5
    assert ring_ratio(disc) < 3
    assert ring_ratio(np.zeros((50, 2))) == 0.0
    assert ring_ratio(ring) == ring_ratio(ring)


def test_labels_on_a_curve_are_found_by_neighbors() -> None:
    rng = np.random.default_rng(0)
    z = rng.uniform(0, 1, size=(2000, 1))
    labels = (np.floor(z[:, 0] * 8) % 2).astype(int)
    assert knn_accuracy(z[:1500], labels[:1500], z[1500:], labels[1500:], n_neighbors=5) > 0.95
    shuffled = rng.permutation(labels)
    assert knn_accuracy(z[:1500], shuffled[:1500], z[1500:], shuffled[1500:]) < 0.6
    with pytest.raises(ValueError, match="one label per row"):
        knn_accuracy(z, labels[:5], z, labels)


def test_chance_says_the_most_frequent_label() -> None:
    assert chance_accuracy(np.array([1, 1, 2]), np.array([1, 2, 2, 2])) == 0.25


@pytest.mark.parametrize("n_rows", [60, 500])
def test_a_line_through_a_ring_is_torn_where_its_ends_meet(n_rows: int) -> None:
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, size=n_rows)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    points = ring @ np.linalg.qr(rng.normal(size=(7, 2)))[0].T
    torn = torn_rows(points, angle[:, None])
    assert torn.sum() >= 3
    assert (np.minimum(angle, 2 * np.pi - angle)[torn] < 0.8).all(), "at its two ends only"
    gap = (angle > 0.1) & (angle < 2 * np.pi - 0.1)
    assert torn_rows(points[gap], angle[gap, None]).sum() >= 3, "also where no row lies between the ends"
    assert not torn_rows(points, ring).any()
    assert torn_rows(1e-9 * points + 5, 1e6 * angle[:, None] - 3).sum() == torn.sum()


def test_lines_sheets_and_an_open_ring_are_whole() -> None:
    rng = np.random.default_rng(0)
    sheet = rng.uniform(-1, 1, size=(400, 2))
    assert not torn_rows(np.tanh(2 * sheet @ rng.normal(size=(2, 9))), sheet).any()
    assert not torn_rows(np.tanh(3 * sheet[:, :1] @ rng.normal(size=(1, 9))), sheet[:, :1]).any()
    angle = rng.uniform(0.4, 2 * np.pi - 0.4, size=400)
    assert not torn_rows(np.column_stack([np.cos(angle), np.sin(angle)]), angle[:, None]).any()
    assert not torn_rows(np.zeros((10, 2)), np.zeros((10, 1))).any()


def test_an_outlier_that_strays_back_tears_no_line() -> None:
    line = np.sort(np.random.default_rng(0).normal(size=300))
    line[-1] = 4.0
    points = np.column_stack([line, np.zeros(300)])
    points[-1] = points[200]
    assert torn_rows(points, line[:, None]).sum() > 3
    assert torn_rows(points, line[:, None], least=3).sum() == 1, "the outlier itself"


def test_tears_need_as_many_latents_as_points() -> None:
    with pytest.raises(ValueError, match="got 6 points and 5 latents; expected equally many"):
        torn_rows(np.zeros((6, 2)), np.zeros((5, 1)))
