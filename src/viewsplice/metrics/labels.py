"""How well labels can be read out of latents: by a linear classifier, by neighbors, and by chance."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from viewsplice._types import Array
from viewsplice.metrics.variance import as_rows


def linear_svc_accuracy(
    train: Array, train_labels: Array, test: Array, test_labels: Array, random_state: int = 0
) -> float:
    """Return the accuracy on test rows of a linear support vector classifier fitted on train rows, a fraction.

    Each dimension is scaled to unit SD on the train rows; the classifier is scikit-learn's `LinearSVC` with its
    defaults, solved in the primal (``dual=False``).

    Parameters
    ----------
    train, test
        One latent space, (n, dimensions).
    train_labels, test_labels
        Label of each row, (n,).
    random_state
        Seed of the classifier.
    """
    _check_labels(train, train_labels, test, test_labels)
    classifier = make_pipeline(StandardScaler(), LinearSVC(dual=False, random_state=random_state))
    classifier.fit(as_rows(train, "train"), train_labels)
    return float(classifier.score(as_rows(test, "test"), test_labels))


def knn_accuracy(train: Array, train_labels: Array, test: Array, test_labels: Array, *, n_neighbors: int = 20) -> float:
    """Return the accuracy on test rows of the majority among the nearest train rows, a fraction.

    Unlike a linear classifier it finds labels that lie on a curve; distances are those of the space, not rescaled.

    Parameters
    ----------
    train, test
        One latent space, (n, dimensions).
    train_labels, test_labels
        Label of each row, (n,).
    n_neighbors
        Number of train rows asked.
    """
    _check_labels(train, train_labels, test, test_labels)
    classifier = KNeighborsClassifier(min(n_neighbors, len(train)))
    classifier.fit(as_rows(train, "train"), train_labels)
    return float(classifier.score(as_rows(test, "test"), test_labels))


def chance_accuracy(train_labels: Array, test_labels: Array) -> float:
    """Return the accuracy on test rows of always saying the most frequent train label: what no information gives."""
    labels, counts = np.unique(train_labels, return_counts=True)
    return float((np.asarray(test_labels) == labels[counts.argmax()]).mean())


def _check_labels(train: Array, train_labels: Array, test: Array, test_labels: Array) -> None:
    for part, rows, labels in (("train", train, train_labels), ("test", test, test_labels)):
        if len(rows) != len(labels):
            raise ValueError(f"{part} has {len(rows)} rows and {len(labels)} labels; expected one label per row")
