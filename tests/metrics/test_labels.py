"""Accuracy of a linear classifier on held-out rows."""

from __future__ import annotations

import numpy as np
import pytest

from viewsplice._types import Array
from viewsplice.metrics import linear_svc_accuracy


def clusters(n: int, seed: int) -> tuple[Array, Array]:
    generator = np.random.default_rng(seed)
    labels = generator.integers(3, size=n)
    middle = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    return middle[labels] + generator.standard_normal((n, 2)), labels


def test_separated_labels_are_read_and_shuffled_ones_are_not() -> None:
    (train, train_labels), (test, test_labels) = clusters(300, 0), clusters(300, 1)
    assert linear_svc_accuracy(train, train_labels, test, test_labels) > 0.99
    shuffled = np.random.default_rng(2).permutation(train_labels)
    assert linear_svc_accuracy(train, shuffled, test, test_labels) < 0.6


def test_accuracy_is_of_the_test_rows() -> None:
    train, labels = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    assert linear_svc_accuracy(train, labels, np.array([[-3.0], [-2.0], [2.0], [3.0]]), [0, 1, 1, 1]) == 0.75


def test_scale_of_a_dimension_does_not_matter() -> None:
    (train, train_labels), (test, test_labels) = clusters(300, 0), clusters(300, 1)
    scale = np.array([1e-4, 1e3])
    expected = linear_svc_accuracy(train, train_labels, test, test_labels)
    assert linear_svc_accuracy(train * scale, train_labels, test * scale, test_labels) == expected


def test_one_label_per_row() -> None:
    with pytest.raises(ValueError, match="train has 3 rows and 2 labels"):
        linear_svc_accuracy(np.zeros((3, 1)), [0, 1], np.zeros((3, 1)), [0, 1, 0])
