"""Agreement of two versions of a space: invariances, and values by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import procrustes

from viewsplice.trust.agreement import agreement, canonical, procrustes_r2

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(200, 3)) * [3, 1, 0.5]
TURN = np.linalg.qr(RNG.normal(size=(3, 3)))[0]


def test_rotation_reflection_size_and_shift_do_not_matter() -> None:
    found = agreement("A", "model, refit 1", Z, -2 * Z @ TURN + 7)
    assert (found.procrustes, found.canonical) == (pytest.approx(1.0), pytest.approx(1.0))
    assert (found["space"], found["compared"]) == ("A", "model, refit 1")


def test_it_is_one_minus_scipys_disparity() -> None:
    other = Z @ TURN + 0.5 * RNG.normal(size=Z.shape)
    assert procrustes_r2(Z, other) == pytest.approx(1 - procrustes(Z, other)[2])


def test_stretching_one_axis_changes_the_shape_but_not_the_information() -> None:
    stretched = Z * [1, 10, 1]
    assert procrustes_r2(Z, stretched) < 0.7
    assert np.mean(canonical(Z, stretched)) == pytest.approx(1.0)


def test_unrelated_spaces_do_not_agree() -> None:
    found = agreement("A", "a, b", RNG.normal(size=(2000, 2)), RNG.normal(size=(2000, 2)))
    assert found.procrustes < 0.01
    assert found.canonical < 0.1


def test_canonical_correlations_of_one_shared_direction() -> None:
    a = RNG.normal(size=(5000, 2))
    b = np.column_stack([a[:, 0], RNG.normal(size=5000)])
    assert canonical(a, b) == pytest.approx([1.0, 0.0], abs=0.05)


def test_a_point_agrees_with_nothing() -> None:
    assert procrustes_r2(Z, np.ones_like(Z)) == 0
    assert canonical(Z, np.ones_like(Z)).tolist() == [0]
