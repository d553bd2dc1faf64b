"""Ways that keep to dense points: by hand, across bridges, and where nothing bridges."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from viewsplice import GeometryConfig
from viewsplice.geometry import DenseGeodesics, graph_geodesics, landmark_geodesics, neighbor_graph
from viewsplice.geometry.bridges import BRIDGED, bridging, dense_ways
from viewsplice.geometry.neighbors import NeighborGraph
from viewsplice.persistence import settings_from_json, settings_to_json


def bridged_ring(n_points: int = 1500, n_blends: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a ring in which blends of opposite points lie between the two, and the angles (NaN for blends).

    Coordinates are e^{i angle}, e^{2 i angle} and e^{3 i angle}: the way around is far longer than the straight one.
    """
    generator = np.random.default_rng(seed)

    def place(angle: np.ndarray) -> np.ndarray:
        return np.column_stack([wave(k * angle) for k, wave in itertools.product((1, 2, 3), (np.cos, np.sin))])

    angle, start = generator.uniform(0, 2 * np.pi, n_points), generator.uniform(0, 2 * np.pi, n_blends)
    weight = generator.uniform(size=(n_blends, 1))
    points = np.concatenate([place(angle), weight * place(start) + (1 - weight) * place(start + np.pi)])
    points += 0.03 * generator.normal(size=points.shape)
    return points, np.concatenate([angle, np.full(n_blends, np.nan)])


def graph_of(edges: dict[tuple[int, int], float]) -> NeighborGraph:
    rows, columns = np.array(list(edges)).T
    lengths = np.array(list(edges.values()))
    half = csr_array((lengths, (rows, columns)), shape=(columns.max() + 1,) * 2)
    return NeighborGraph(csr_array(half + half.T), 2)


def test_short_steps_are_cheaper_than_one_long_and_lengths_are_sums_of_edges():
    # From 0 to 3: straight in one step of 2, or around in three steps of 1 (cost 3 against 2^4 = 16).
    graph = graph_of({(0, 1): 1.0, (1, 2): 1.0, (2, 3): 1.0, (0, 3): 2.0})
    assert graph_geodesics(graph, np.array([0])).distances[0].tolist() == [0, 1, 2, 2]
    assert dense_ways(graph, np.array([0, 3])).tolist() == [[0, 1, 2, 3], [3, 2, 1, 0]]
    assert dense_ways(graph, np.array([0]), power=1.0).tolist() == [[0, 1, 2, 2]]


def test_a_power_of_one_gives_shortest_paths():
    points = np.random.default_rng(0).uniform(size=(400, 2))
    landmarks = np.arange(10)
    expected = landmark_geodesics(points, landmarks, n_neighbors=16).distances
    assert DenseGeodesics(power=1.0)(points, landmarks) == pytest.approx(expected, rel=1e-6)


def test_blends_of_opposite_angles_do_not_shorten_the_way_around():
    points, angle = bridged_ring()
    on_ring = np.flatnonzero(np.isfinite(angle))
    landmarks = on_ring[:40]
    apart = np.abs((angle[landmarks, None] - angle[on_ring] + np.pi) % (2 * np.pi) - np.pi)

    def fit(distances):
        return np.corrcoef(apart.ravel(), distances[:, on_ring].ravel())[0, 1] ** 2

    assert fit(landmark_geodesics(points, landmarks, n_neighbors=16).distances) < 0.5
    assert fit(DenseGeodesics()(points, landmarks)) > 0.97


@pytest.mark.parametrize("kind", ["line", "ring", "sheet", "clusters", "noisy ring"])
def test_where_nothing_bridges_no_bridge_is_found(kind):
    generator = np.random.default_rng(1)
    u, v = generator.uniform(size=(2, 1500))
    points = {
        "line": np.column_stack([u, 0 * u]),
        "ring": np.column_stack([np.cos(2 * np.pi * u), np.sin(2 * np.pi * u)]),
        "sheet": np.column_stack([2 * u, v]),
        "clusters": generator.normal(size=(1500, 5)) + 3 * np.eye(5)[generator.integers(5, size=1500)],
    }
    points["noisy ring"] = np.column_stack([points["ring"], 0.1 * generator.normal(size=(1500, 8))])
    points = points[kind]
    graph, landmarks = neighbor_graph(points, n_neighbors=16), np.arange(50)
    found = bridging(graph, landmarks, graph_geodesics(graph, landmarks).distances)
    assert 1 <= found < 0.9 * BRIDGED


def test_bridges_are_found():
    graph, landmarks = neighbor_graph(bridged_ring()[0], n_neighbors=16), np.arange(50)
    assert bridging(graph, landmarks, graph_geodesics(graph, landmarks).distances) > 1.1 * BRIDGED


def test_points_that_coincide_are_at_distance_0_and_bridge_nothing():
    points = np.repeat(np.random.default_rng(0).uniform(size=(60, 1)), 3, axis=0)
    distances = DenseGeodesics(n_neighbors=4)(points, np.array([0]))
    assert distances[0, :3] == pytest.approx(0, abs=1e-30)
    one = neighbor_graph(np.zeros((5, 2)), n_neighbors=2)
    assert bridging(one, np.array([0]), np.zeros((1, 5))) == 1.0


def test_few_points_use_all_others():
    points = np.arange(4.0)[:, None]
    assert DenseGeodesics()(points, np.array([0])).tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize("wrong", [{"n_neighbors": 0}, {"power": 0.5}, {"power": float("nan")}])
def test_settings_are_checked(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DenseGeodesics(**wrong)


def test_landmarks_are_checked():
    with pytest.raises(ValueError, match="landmarks"):
        DenseGeodesics()(np.zeros((4, 2)), np.array([4]))


def test_settings_files_and_saved_models_keep_it():
    given = {"geometry": GeometryConfig(distance=DenseGeodesics(power=3.0))}
    assert settings_from_json(settings_to_json(given)) == given
    assert settings_to_json(given)["geometry"]["distance"] == {
        "kind": "DenseGeodesics",
        "n_neighbors": 16,
        "power": 3.0,
    }
