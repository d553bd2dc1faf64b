"""Shapes: each is named on a clean example, and none where the evidence is for none or cannot be had."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from viewsplice._types import Array
from viewsplice.metrics import loop_bars, ring_ratio, shape_of
from viewsplice.metrics.shape import count_clusters, loop_ratio, neighbor_dimension

RNG = np.random.default_rng(0)


def ring(n: int = 600, noise: float = 0.05) -> Array:
    angle = RNG.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + noise * RNG.normal(size=(n, 2))


def test_a_ring_is_named_by_its_loop() -> None:
    points = ring()
    found = shape_of(points)
    assert found.name == "ring"
    assert found.loops is not None
    assert loop_ratio(found.loops) == ring_ratio(points)
    assert loop_ratio(found.loops) > 3
    assert "times as long as the second (a ring: at least 3)" in found.reason


def test_a_sheet_is_named_by_two_axes_two_dimensions_and_no_loop() -> None:
    found = shape_of(RNG.uniform(size=(600, 2)) * [2, 1])
    assert found.name == "sheet"
    assert found.reason.startswith("2 principal axes above 5 % of the first; neighbors suggest 2.")


def test_a_ring_with_points_inside_is_neither_a_ring_nor_a_sheet() -> None:
    rng = np.random.default_rng(1)
    angle, radius = rng.uniform(0, 2 * np.pi, 600), 1 + 0.25 * rng.normal(size=600)
    found = shape_of(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))
    assert found.loops is not None
    assert 1.5 <= loop_ratio(found.loops) < 3
    assert found.name is None
    assert found.reason.endswith("too little for a ring and too much for a sheet")


def test_lines_are_named_in_one_dimension_and_in_more() -> None:
    x = RNG.uniform(size=(600, 1))
    assert shape_of(x).name == "line"
    assert shape_of(x).loops is None
    assert shape_of(x * [1, 0.1, 0.05]).name == "line"


def test_clusters_are_counted_and_outliers_are_none() -> None:
    blobs = np.concatenate([0.1 * RNG.normal(size=(200, 2)) + center for center in ([0, 0], [4, 0], [0, 4])])
    found = shape_of(blobs)
    assert (found.name, found.n_clusters) == ("clusters", 3)
    assert "3 parts with gaps between them" in found.reason
    sheet = np.concatenate([RNG.uniform(size=(595, 2)), RNG.uniform(size=(5, 2)) + 50])
    assert count_clusters(sheet) == 1
    assert count_clusters(np.arange(20.0)[:, None] ** 2) == 1


def test_a_ball_has_no_name() -> None:
    found = shape_of(RNG.normal(size=(600, 4)))
    assert found.name is None
    assert "4 principal axes" in found.reason


def test_what_cannot_be_told() -> None:
    assert shape_of(np.zeros((10, 2))).reason == "there are 10 rows, too few to tell"
    assert shape_of(np.ones((100, 2))).reason == "the space has collapsed"


def test_without_ripser_no_ring_can_be_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "ripser" else find(name, *rest)
    )
    for points in (ring(), RNG.uniform(size=(600, 2))):
        found = shape_of(points)
        assert (found.name, found.loops) == (None, None)
        assert "pip install 'viewsplice[topology]'" in found.reason
    assert shape_of(RNG.uniform(size=(600, 1))).name == "line"


def test_loops_of_a_square() -> None:
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    np.testing.assert_allclose(loop_bars(corners), [[1.0, np.sqrt(2)]], rtol=1e-6)
    assert loop_ratio(loop_bars(corners)) == np.inf
    assert loop_ratio(np.zeros((0, 2))) == 0.0
    assert loop_ratio(np.array([[0.0, 6.0], [1.0, 3.0]])) == 3.0


def test_the_dimension_by_neighbors() -> None:
    for dimension in (1, 2, 3):
        points = RNG.uniform(size=(4000, dimension)) @ RNG.normal(size=(dimension, 5))
        assert neighbor_dimension(points) == pytest.approx(dimension, rel=0.1)
    assert np.isnan(neighbor_dimension(np.zeros((60, 2))))


def test_json() -> None:
    found = shape_of(ring())
    told = json.loads(json.dumps(found.to_json()))
    assert told["name"] == "ring"
    assert len(told["loops"]) == len(found.loops if found.loops is not None else ())
    assert shape_of(np.ones((100, 1))).to_json()["loops"] is None
