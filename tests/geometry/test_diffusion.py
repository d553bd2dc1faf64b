"""Diffusion distances: against a dense computation and closed forms, on awkward clouds, and where geodesics differ."""

from __future__ import annotations

import json
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

from viewsplice import SPLICE, GeometryConfig, MLPNetworks, TrainConfig
from viewsplice.exceptions import GeometryWarning
from viewsplice.geometry import DiffusionDistance, landmark_geodesics
from viewsplice.persistence import settings_from_json, settings_to_json
from viewsplice.runs import read_settings

Points = NDArray[np.float64]


def dense_distances(points: Points, n_neighbors: int, time: int) -> Points:
    """Return all distances by the formulas with full matrices, up to a common factor; every point is a cell."""
    lengths = cdist(points, points)
    order = np.argsort(lengths, axis=1)
    radius = np.sort(lengths, axis=1)[:, n_neighbors]
    weights = np.zeros_like(lengths)
    for i, nearest in enumerate(order[:, 1 : n_neighbors + 1]):
        for j in nearest:
            weights[i, j] = weights[j, i] = np.exp(-2 * (lengths[i, j] / min(radius[i], radius[j])) ** 2)
    step = 0.6 * np.eye(len(points)) + 0.4 * weights / weights.sum(axis=1, keepdims=True)
    p = np.linalg.matrix_power(step, time)
    squared = [[((a - b) * (np.log(a) - np.log(b))).sum() for b in p] for a in p]
    return np.sqrt(np.array(squared))


def rank(distances: Points, truth: Points) -> float:
    return float(spearmanr(distances.ravel(), truth.ravel())[0])


def r2(distances: Points, truth: Points) -> float:
    return float(np.corrcoef(distances.ravel(), truth.ravel())[0, 1] ** 2)


def roll(n: int, seed: int = 0) -> tuple[Points, Points]:
    """Return a rolled-up sheet, and its points laid flat."""
    rng = np.random.default_rng(seed)
    angle = np.sqrt(rng.uniform(4.0, 64.0, size=n)) + np.pi / 2
    arc = (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle)) / 2
    height = rng.uniform(0, 12, size=n)
    return np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)]), np.column_stack([arc, height])


def bridged_arc(seed: int, n: int = 2500, n_stray: int = 4) -> tuple[Points, Points]:
    """Return a noisy arc of 320 degrees with a row of stray points across its opening, and the angles of the arc."""
    rng = np.random.default_rng(seed)
    angle = np.deg2rad(rng.uniform(20, 340, size=n))
    stray = np.deg2rad(np.linspace(-20, 20, n_stray + 2)[1:-1])
    radius = np.concatenate([1 + 0.04 * rng.normal(size=n), np.ones(n_stray)])
    both = np.concatenate([angle, stray])
    return radius[:, None] * np.column_stack([np.cos(both), np.sin(both)]), angle


def test_equals_the_dense_computation() -> None:
    points = np.random.default_rng(0).normal(size=(40, 3))
    expected = dense_distances(points, n_neighbors=6, time=5)
    landmarks = np.array([3, 0, 17])
    found = DiffusionDistance(n_neighbors=6, time=5)(points, landmarks)
    ratio = expected[landmarks] / np.where(found > 0, found, np.nan)
    np.testing.assert_allclose(ratio[~np.isnan(ratio)], np.nanmedian(ratio), rtol=1e-6)
    assert np.isnan(ratio).sum() == 3


def test_heat_kernel_gives_lengths() -> None:
    # Far from the ends of a line the walk is Gaussian, and the distance of two Gaussians is that of their means.
    line = np.arange(400.0)[:, None]
    distances = DiffusionDistance(n_neighbors=6, time=300)(line, np.array([200]))[0]
    np.testing.assert_allclose(distances[150:251], np.abs(np.arange(-50, 51)), rtol=0.005)


def test_both_sides_of_a_sheet_count_the_same() -> None:
    sheet = np.random.default_rng(0).uniform(size=(3000, 2)) * [3, 1]
    inner = np.flatnonzero((np.abs(sheet - [1.5, 0.5]) < [0.6, 0.3]).all(axis=1))
    distances = DiffusionDistance(time=64)(sheet, inner)[:, inner]  # before walks fill the short side
    apart = np.abs(sheet[inner][:, None] - sheet[inner])
    along, across = (
        np.median(
            (distances / (apart[..., i] + 1e-9))[(apart[..., 1 - i] < 0.1 * apart[..., i]) & (apart[..., i] > 0.15)]
        )
        for i in (0, 1)
    )
    assert 0.9 < along / across < 1.1


@pytest.mark.parametrize("kind", ["line", "ring", "sheet", "roll"])
@pytest.mark.parametrize("n_bases", [150, 5000])
def test_follows_the_manifold(kind: str, n_bases: int) -> None:
    rng = np.random.default_rng(0)
    landmarks = np.arange(0, 800, 20)
    if kind == "ring":
        angle = rng.uniform(0, 2 * np.pi, size=800)
        points = np.column_stack([np.cos(angle), np.sin(angle)])
        apart = np.abs(angle[landmarks, None] - angle)
        truth = np.minimum(apart, 2 * np.pi - apart)
    else:
        flat = rng.uniform(size=(800, {"line": 1, "sheet": 2}.get(kind, 1)))
        points, flat = roll(800) if kind == "roll" else (flat, flat)
        truth = cdist(flat[landmarks], flat)
    distances = DiffusionDistance(n_bases=n_bases)(points, landmarks)
    assert rank(distances, truth) > (0.95 if n_bases < 800 else 0.97)
    assert 0.5 < np.median(distances[truth > 0] / truth[truth > 0]) < 2


def test_symmetric_and_zero_on_itself() -> None:
    points = np.random.default_rng(0).normal(size=(700, 4))
    landmarks = np.array([5, 600, 3, 99])
    distances = DiffusionDistance(n_bases=100)(points, landmarks)
    between = distances[:, landmarks]
    np.testing.assert_allclose(between, between.T, rtol=1e-6)
    np.testing.assert_array_equal(np.diag(between), 0.0)
    assert np.isfinite(distances).all()
    assert ((distances > 0).sum(axis=1) == 699).all()


def test_a_row_of_stray_points_is_no_shortcut() -> None:
    for seed in range(3):
        points, angle = bridged_arc(seed)
        landmarks = np.arange(0, len(angle), 50)
        truth = np.abs(angle[landmarks, None] - angle)
        diffusion = DiffusionDistance()(points, landmarks)[:, : len(angle)]
        geodesics = landmark_geodesics(points, landmarks).distances[:, : len(angle)]
        assert rank(diffusion, truth) > 0.97
        assert rank(geodesics, truth) < 0.93
        ends = truth > np.deg2rad(300)
        assert diffusion[ends].mean() > 0.8 * diffusion.max()
        assert geodesics[ends].mean() < 0.5 * geodesics.max()


def test_geodesics_are_the_more_exact_lengths() -> None:
    # Points get scarce along the line: walks count neighborhoods, shortest paths count length.
    line = np.random.default_rng(0).beta(2, 5, size=(2000, 1))
    landmarks = np.arange(0, 2000, 50)
    truth = cdist(line[landmarks], line)
    diffusion = DiffusionDistance()(line, landmarks)
    assert r2(landmark_geodesics(line, landmarks).distances, truth) > 0.999
    assert 0.6 < r2(diffusion, truth) < 0.95
    assert rank(diffusion, truth) > 0.85


def test_duplicates_are_at_distance_zero_and_change_no_other_distance() -> None:
    points = np.random.default_rng(0).normal(size=(60, 2))
    alone = DiffusionDistance(time=4)(points, np.array([7, 1]))
    repeated = np.concatenate([points, np.repeat(points[7:8], 30, axis=0)])
    distances = DiffusionDistance(time=4)(repeated, np.array([80, 1]))
    np.testing.assert_allclose(distances[:, :60], alone, rtol=1e-9)
    assert (distances[0, 60:] == 0).all()
    np.testing.assert_array_equal(distances[1, 60:], distances[1, 7])


def test_few_points() -> None:
    np.testing.assert_allclose(DiffusionDistance()(np.array([[0.0], [3.0]]), np.array([0])), [[0.0, 3.0]])
    for n in (3, 4, 6, 20):
        distances = DiffusionDistance()(np.arange(float(n))[:, None], np.array([0]))[0]
        assert distances[0] == 0
        assert (np.diff(distances) > 0).all()
    np.testing.assert_array_equal(DiffusionDistance()(np.ones((5, 2)), np.array([0, 4])), np.zeros((2, 5)))


def test_a_broken_line_is_joined_by_more_neighbors() -> None:
    line = np.concatenate([np.arange(50.0), 65 + np.arange(50.0)])[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = DiffusionDistance(n_neighbors=13).estimate(line, np.array([0]))
    assert found.n_neighbors == 26
    assert (np.diff(found.distances[0]) > 0).all()


@pytest.mark.parametrize("n_bases", [2, 50, 5000])
def test_separate_clouds_are_far_but_finite(n_bases: int) -> None:
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(n, 2)) + center for n, center in ((150, 0.0), (100, 900.0), (120, -5000.0))]
    label = np.repeat([0, 1, 2], [150, 100, 120])
    with pytest.warns(GeometryWarning, match=r"neighbor graph of cells has 3 components \(largest: 150, 120, 100\)"):
        found = DiffusionDistance(n_bases=n_bases).estimate(
            np.concatenate(clouds), np.array([0, 150, 250]), name="cells"
        )
    assert found.n_neighbors == 60
    distances = found.distances
    assert np.isfinite(distances).all()
    for i in range(3):
        assert distances[i, label != i].min() > 2 * distances[i, label == i].max()
    if n_bases > 2:
        truth = cdist(clouds[0][:1], clouds[0])
        assert rank(distances[:1, :150], truth) > 0.85


def test_more_clouds_than_cells() -> None:
    clouds = np.concatenate([np.random.default_rng(i).normal(size=(30, 2)) + 1e4 * i for i in range(9)])
    with pytest.warns(GeometryWarning, match="9 components"):
        distances = DiffusionDistance(n_neighbors=5, n_bases=2)(clouds, np.array([0]))
    assert np.isfinite(distances).all()


def test_clusters_in_weak_contact_keep_their_inner_order() -> None:
    rng = np.random.default_rng(0)
    clusters = np.concatenate([rng.normal((6.0 * i, 0.0), size=(250, 2)) for i in range(5)])
    distances = DiffusionDistance()(clusters, np.array([0]))
    assert rank(distances[:, :250], cdist(clusters[:1], clusters[:250])) > 0.85
    means = distances[0].reshape(5, 250).mean(axis=1)
    assert means[0] < means[1] < means[2]


def test_automatic_time_grows_with_the_cloud_and_can_be_set() -> None:
    short, long = (DiffusionDistance().estimate(np.arange(float(n))[:, None], np.array([0])) for n in (100, 400))
    assert 8 * short.time <= long.time <= 32 * short.time  # a walk takes 16 times as long to get 4 times as far
    again = DiffusionDistance(time=short.time).estimate(np.arange(100.0)[:, None], np.array([0]))
    np.testing.assert_allclose(again.distances, short.distances, rtol=1e-9)
    assert DiffusionDistance(time=7).estimate(np.arange(100.0)[:, None], np.array([0])).time == 7


def test_cells_change_little() -> None:
    points, _ = roll(1000)
    landmarks = np.arange(0, 1000, 40)
    whole, first, other = (
        DiffusionDistance(n_bases=n_bases, random_state=seed)(points, landmarks)
        for n_bases, seed in ((1000, 0), (200, 0), (200, 1))
    )
    assert not np.array_equal(first, other)
    assert r2(first, other) > 0.98
    assert r2(first, whole) > 0.96
    np.testing.assert_array_equal(first, DiffusionDistance(n_bases=200)(points, landmarks))


def test_points_of_one_cell_differ() -> None:
    line = np.linspace(0, 1, 1000)[:, None]
    distances = DiffusionDistance(n_bases=50)(line, np.array([0]))[0]
    assert len(np.unique(distances)) == 1000
    assert rank(distances, line) > 0.999


def test_moves_with_the_points() -> None:
    points, _ = roll(400)
    landmarks = np.arange(5)
    expected = DiffusionDistance(n_bases=100)(points, landmarks)
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    moved = DiffusionDistance(n_bases=100)(10 * points @ rotation + 500, landmarks)
    np.testing.assert_allclose(moved, 10 * expected, rtol=1e-5)
    wide, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(40, 3)))
    images = (points @ wide.T).reshape(400, 8, 5)
    np.testing.assert_allclose(DiffusionDistance(n_bases=100)(images, landmarks), expected, rtol=1e-5)
    single = DiffusionDistance(n_bases=100)(points.astype(np.float32), landmarks)
    np.testing.assert_allclose(single, expected, rtol=1e-2)
    whole = np.round(points * 1000).astype(np.int64)
    np.testing.assert_allclose(DiffusionDistance(n_bases=100)(whole, landmarks), 1000 * expected, rtol=0.02)


def test_memory_does_not_grow_with_pairs() -> None:
    points, _ = roll(6000)
    tracemalloc.start()
    DiffusionDistance(n_bases=100)(points, np.arange(10))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6000 * 6000 * 8 / 10


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"n_neighbors": 0}, ValueError, "n_neighbors is 0; expected an integer of at least 1"),
        ({"n_neighbors": None}, TypeError, "n_neighbors is None; expected an integer"),
        ({"n_neighbors": 2.5}, TypeError, "n_neighbors is 2.5; expected an integer"),
        ({"n_bases": 1}, ValueError, "n_bases is 1; expected an integer of at least 2"),
        ({"time": 0}, ValueError, "time is 0; expected an integer of at least 1"),
        ({"time": "long"}, TypeError, "time is 'long'; expected 'auto' or a number of steps"),
        ({"time": None}, TypeError, "time is None; expected 'auto' or a number of steps"),
        ({"random_state": -1}, ValueError, "random_state is -1; expected an integer of at least 0"),
    ],
)
def test_bad_settings(settings: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        DiffusionDistance(**settings)


def test_bad_points() -> None:
    distance = DiffusionDistance()
    with pytest.raises(ValueError, match="points holds NaN or infinite values"):
        distance(np.full((30, 20), np.nan), np.array([0]))
    with pytest.raises(ValueError, match=r"points has shape \(30,\); expected \(points, features\)"):
        distance(np.zeros(30), np.array([0]))
    with pytest.raises(ValueError, match="points has only 1 rows"):
        distance(np.zeros((1, 2)), np.array([0]))
    with pytest.raises(ValueError, match=r"landmarks is .*30.*; expected row numbers from 0 to 29"):
        distance(np.random.default_rng(0).normal(size=(30, 2)), np.array([30]))


DISTANCE = DiffusionDistance(n_neighbors=np.int64(6), time=9, n_bases=40, random_state=3)  # type: ignore[arg-type]


def test_drives_step_2_and_is_saved_with_the_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    factors = rng.uniform(-1, 1, size=(120, 2))
    views = [np.tanh(factors @ rng.normal(size=(2, width))) for width in (6, 5)]
    model = SPLICE(
        2,
        n_private=0,
        recipe="paper",
        networks=MLPNetworks((8,)),
        training=TrainConfig(epochs=1, batch_size=50, restart_passes=1),
        geometry=GeometryConfig(distance=DISTANCE, n_landmarks=5),
        random_state=0,
    ).fit(*views)
    found = model.geometry_["A->B"]
    assert found.n_neighbors is None
    np.testing.assert_array_equal(
        found.geodesics[np.arange(5), np.searchsorted(model.split_["train"], found.landmarks)], 0
    )
    model.save(tmp_path / "model.splice")
    loaded = SPLICE.load(tmp_path / "model.splice")
    assert loaded.geometry.distance == DISTANCE
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.transform(*views).to_array(), model.transform(*views).to_array())


def test_settings_files_can_name_it(tmp_path: Path) -> None:
    written = {"geometry": GeometryConfig(distance=DISTANCE)}
    text = json.dumps(settings_to_json(written))
    assert json.loads(text)["geometry"] == {
        "distance": {"kind": "DiffusionDistance", "n_neighbors": 6, "time": 9, "n_bases": 40, "random_state": 3}
    }
    assert settings_from_json(json.loads(text)) == written
    path = tmp_path / "settings.json"
    path.write_text('{"geometry": {"distance": {"kind": "DiffusionDistance"}, "n_landmarks": 50}}', encoding="utf-8")
    assert read_settings(path)["geometry"] == GeometryConfig(distance=DiffusionDistance(), n_landmarks=50)
    path.write_text('{"geometry": {"distance": null}}', encoding="utf-8")
    assert read_settings(path)["geometry"] == GeometryConfig()


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        (
            "diffusion",
            r"geometry.distance is 'diffusion'; expected one of the kinds \['DiffusionDistance', 'DenseGeodesics'\]",
        ),
        ({"kind": "Euclidean"}, r"geometry.distance is .*Euclidean.*; expected one of the kinds"),
        ({"kind": "DiffusionDistance", "steps": 3}, r"unknown DiffusionDistance settings \['steps'\]; expected some"),
        ({"kind": "DiffusionDistance", "time": -1}, "time is -1; expected an integer of at least 1"),
    ],
)
def test_settings_files_with_mistakes(distance: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settings_from_json({"geometry": {"distance": distance}})


def test_the_page_about_distances_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "distances.md").read_text(encoding="utf-8")
    codes = page.split("```python\n")[1:]
    assert codes
    names: dict[str, Any] = {"__name__": "page"}
    for code in codes:
        exec(compile(code.split("```")[0], "docs/distances.md", "exec"), names)
