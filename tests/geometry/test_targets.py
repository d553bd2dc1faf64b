"""Geometry of latent spaces: right rows, right units, right errors."""

import numpy as np
import pytest
import torch

from viewsplice._types import Latents
from viewsplice.config import GeometryConfig
from viewsplice.exceptions import GeometryWarning
from viewsplice.geometry.targets import as_targets, estimate_geometry

CONFIG = GeometryConfig(n_neighbors=2, grow_by=1, n_landmarks=5).resolve(GeometryConfig.paper())


class Line:
    """A model that lays its private space out as a straight line in view A, and its shared space as a point in B."""

    def encode(self, views):
        n = len(views["A"])
        zero = torch.zeros(n, 1)
        return Latents(private={"A": views["A"][:, :1], "B": torch.zeros(n, 0)}, shared={"A->B": zero, "B->A": zero})

    def decode_view(self, view, latents):
        if view == "A":
            return latents.private["A"] * torch.tensor([[3.0, 4.0]]) + 1 + latents.shared["B->A"]
        return torch.ones(len(latents.shared["A->B"]), 3)


@pytest.fixture
def views():
    position = torch.randperm(40, generator=torch.Generator().manual_seed(0)).float()
    return {"A": torch.stack([position, position * 0], dim=1), "B": torch.zeros(40, 3)}


def estimate(views, *, spaces=("A",), config=CONFIG, loss_scale="fraction", rows=None):
    rows = torch.arange(10, 40) if rows is None else rows
    return estimate_geometry(
        Line(), views, rows, config, spaces=spaces, scales={"A": 0.5, "B": 1.0}, loss_scale=loss_scale, seed=0
    )


def test_geodesics_are_distances_along_the_submanifold_in_the_users_units(views):
    found = estimate(views)["A"]
    position = views["A"][:, 0].numpy()
    # One step of the latent is 5 network units of observation space, and a network unit is half a user's unit.
    expected = 2.5 * np.abs(position[found.landmarks][:, None] - position[None, 10:])
    assert found.geodesics.shape == (5, 30)
    assert found.geodesics == pytest.approx(expected, rel=1e-5)
    assert set(found.landmarks) <= set(range(10, 40))
    assert found.anchors[0] in range(10, 40)
    assert found.n_neighbors >= 2
    assert found.spectrum[1] == pytest.approx(0.0, abs=1e-6 * found.spectrum[0])


def test_latent_units(views):
    fraction, mean = estimate(views)["A"], estimate(views, loss_scale="mean")["A"]
    assert fraction.unit == pytest.approx(fraction.geodesics.mean(), rel=1e-5)
    assert mean.unit == 1.0
    targets = as_targets({"A": fraction}, 0.2, views["A"])
    assert targets.distances["A"].shape == (30, 5)
    assert targets.distances["A"].mean().item() == pytest.approx(1.0, rel=1e-5)
    assert targets.distances["A"][7, 2].item() == pytest.approx(fraction.geodesics[2, 7] / fraction.unit)
    assert targets.landmarks.tolist() == fraction.landmarks.tolist()
    assert targets.lambda_geo == 0.2


def test_a_collapsed_space_is_said_and_has_no_target(views):
    with pytest.warns(GeometryWarning, match="latent space A->B has collapsed to a point"):
        found = estimate(views, spaces=("A", "A->B"))
    assert not found["A->B"].geodesics.any()
    assert set(as_targets(found, 1.0, views["A"]).distances) == {"A"}


def test_a_users_own_distance(views):
    def along_first_axis(points, landmarks):
        return np.abs(points[landmarks, :1] - points[None, :, 0])

    found = estimate(views, config=GeometryConfig(distance=along_first_axis, n_landmarks=5).resolve(CONFIG))["A"]
    position = views["A"][:, 0].numpy()
    assert found.geodesics == pytest.approx(
        1.5 * np.abs(position[found.landmarks][:, None] - position[None, 10:]), rel=1e-5
    )
    assert found.n_neighbors is None


@pytest.mark.parametrize("wrong", [lambda p, i: np.zeros((len(i), 3)), lambda p, i: np.full((len(i), len(p)), np.inf)])
def test_a_users_own_distance_is_checked(views, wrong):
    with pytest.raises(ValueError, match=r"distance returned shape .* expected .*landmarks x points, all finite"):
        estimate(views, config=GeometryConfig(distance=wrong, n_landmarks=5).resolve(CONFIG))


def test_rows_and_landmarks_depend_on_the_seed_alone(views):
    one, other = estimate(views)["A"], estimate(views)["A"]
    assert one.landmarks.tolist() == other.landmarks.tolist()
    assert one.anchors == other.anchors
