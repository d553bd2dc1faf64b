"""On-manifold distances and rings, against what can be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from viewsplice.metrics import chance_accuracy, knn_accuracy, on_manifold, ring_ratio


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
