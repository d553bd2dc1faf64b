"""Geometry of latent spaces: right rows, right units, right errors."""

import numpy as np
import pytest
import torch

from viewsplice._types import Latents
from viewsplice.config import GeometryConfig
from viewsplice.exceptions import GeometryWarning
from viewsplice.geometry.targets import as_coordinates, as_targets, estimate_geometry

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
    everything = targets.of(torch.arange(30), torch.arange(5))["A"]
    assert everything.shape == (30, 5)
    assert everything.mean().item() == pytest.approx(1.0, rel=1e-5)
    some = targets.of(torch.tensor([7, 3]), torch.tensor([2, 4]))["A"]
    assert some[0, 0].item() == pytest.approx(fraction.geodesics[2, 7] / fraction.unit)
    assert some[1, 1].item() == pytest.approx(fraction.geodesics[4, 3] / fraction.unit)
    # Distances exist once: those of the targets are those of the geometry.
    assert np.shares_memory(targets.distances["A"].numpy(), fraction.geodesics)
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


def test_one_anchor_agrees_with_itself_and_the_curve_ends_at_the_latent_width(views):
    found = estimate(views)["A"]
    assert found.disagreement == 0.0
    assert found.curve.shape == (2,)  # the latent is one wide, so that no more widths are examined
    assert found.curve[0] == 0
    assert 0.5 < found.curve[1] < 1  # five of fifteen neighbors average over a third of the line


class Bent(Line):
    """Like Line, but view A is stretched by its shared latent: every anchor gives other distances."""

    def encode(self, views):
        latents = super().encode(views)
        return Latents(private=latents.private, shared={**latents.shared, "B->A": views["B"][:, :1]})

    def decode_view(self, view, latents):
        return latents.private["A"] * torch.tensor([[3.0, 4.0]]) * latents.shared["B->A"]


def estimate_bent(views, stretch, n_anchors):
    config = GeometryConfig(n_neighbors=2, grow_by=1, n_landmarks=5, n_anchors=n_anchors).resolve(CONFIG)
    bent = {"A": views["A"], "B": stretch[:, None].expand(-1, 3).contiguous()}
    scales, rows = {"A": 0.5, "B": 1.0}, torch.arange(10, 40)
    return estimate_geometry(Bent(), bent, rows, config, spaces=("A",), scales=scales, loss_scale="fraction", seed=0)[
        "A"
    ]


def test_distances_are_averaged_over_anchors_and_their_disagreement_is_told(views):
    stretch = torch.where(torch.arange(40) % 2 == 0, 1.0, 3.0)
    found = estimate_bent(views, stretch, n_anchors=2)
    assert sorted(stretch[found.anchors].tolist()) == [1.0, 3.0]
    position = views["A"][:, 0].numpy()
    straight = 2.5 * np.abs(position[found.landmarks][:, None] - position[None, 10:])
    assert found.geodesics == pytest.approx(2 * straight, rel=1e-5)
    # Twice the distances on average, half as many or half as many again at either anchor.
    between = straight[:, found.landmarks - 10]
    assert found.disagreement == pytest.approx(np.sqrt((between**2).mean()) / (2 * between).mean(), rel=1e-4)
    assert estimate_bent(views, torch.ones(40), n_anchors=3).disagreement == pytest.approx(0.0, abs=1e-6)


def test_a_space_that_rebuilds_its_view_alone_is_decoded_at_one_anchor(views):
    class Counting(Line):
        def __init__(self):
            self.decoded = {"A": 0, "B": 0}

        def decode_view(self, view, latents):
            self.decoded[view] += 1
            return super().decode_view("A", latents) if view == "A" else latents.shared["A->B"] * torch.ones(1, 3)

        def encode(self, views):
            latents = super().encode(views)
            return Latents(private=latents.private, shared={**latents.shared, "A->B": views["A"][:, :1]})

    def count(n_anchors):
        model, config = Counting(), GeometryConfig(n_anchors=n_anchors).resolve(CONFIG)
        settings = {"scales": {"A": 0.5, "B": 1.0}, "loss_scale": "fraction", "seed": 0}
        estimate_geometry(model, views, torch.arange(10, 40), config, spaces=("A", "A->B"), **settings)
        return model.decoded

    # View A has its private and a shared space, B a shared one alone.
    one, three = count(1), count(3)
    assert three["A"] > one["A"]
    assert three["B"] == one["B"] > 0


def test_rows_beyond_max_points_are_reached_through_the_others(views):
    config = GeometryConfig(n_neighbors=2, grow_by=1, n_landmarks=5, max_points=20).resolve(CONFIG)
    found, whole = estimate(views, config=config)["A"], estimate(views)["A"]
    assert found.geodesics.shape == whole.geodesics.shape == (5, 30)
    position = views["A"][:, 0].numpy()
    expected = 2.5 * np.abs(position[found.landmarks][:, None] - position[None, 10:])
    # On a line every way between two points of it is the straight one, except out of the ends and back.
    exact = np.isclose(found.geodesics, expected, rtol=1e-5)
    assert exact[:, found.landmarks - 10].all()
    assert exact.mean() > 0.8
    assert (found.geodesics >= expected * (1 - 1e-5)).all()
    assert set(found.landmarks) <= set(range(10, 40))


@pytest.mark.parametrize("max_points", [0, 30, 1000])
def test_enough_points_are_all_points(views, max_points):
    config = GeometryConfig(n_neighbors=2, grow_by=1, n_landmarks=5, max_points=max_points).resolve(CONFIG)
    np.testing.assert_array_equal(estimate(views, config=config)["A"].geodesics, estimate(views)["A"].geodesics)


def test_a_users_own_distance_is_not_mixed_with_lengths_of_links(views):
    def squared(points, landmarks):
        return (points[landmarks, :1] - points[None, :, 0]) ** 2

    config = GeometryConfig(distance=squared, n_landmarks=5, max_points=20).resolve(CONFIG)
    found = estimate(views, config=config)["A"]
    assert found.geodesics.shape == (5, 30)
    # Means of eight distances of the estimated rows, never above the largest of them.
    assert found.geodesics.max() <= 0.5 * (3 * 39.0) ** 2


def test_coordinates_have_the_distances_they_were_made_of(views):
    found = estimate(views)
    rows = np.arange(10, 40)
    z = as_coordinates(found, {"A": 2}, rows, {"A": views["A"][10:]})["A"]
    assert z.shape == (30, 2)
    assert z.dtype == torch.float32
    geometry = found["A"]
    d = torch.cdist(z[geometry.landmarks - 10], z).numpy()
    assert d == pytest.approx(geometry.geodesics / geometry.unit, abs=1e-4)
    assert z[:, 1].abs().max() < 1e-3  # a line has no second coordinate


def test_dimensions_that_do_not_lead_begin_at_zero(views):
    found, known = estimate(views), {"A": views["A"][10:]}
    z = as_coordinates(found, {"A": 3}, np.arange(10, 40), known, {"A": 1})["A"]
    assert z.shape == (30, 3)
    assert z[:, 1:].abs().max() == 0
    one = as_coordinates(found, {"A": 1}, np.arange(10, 40), known)["A"]
    assert torch.equal(z[:, :1], one)
    assert as_targets(found, 1.0, views["A"], {"A": 1, "gone": 2}).leading == {"A": 1}
    assert as_targets(found, 1.0, views["A"]).leading == {}


def test_coordinates_of_a_collapsed_space_are_the_origin(views):
    with pytest.warns(GeometryWarning, match="latent space A->B has collapsed"):
        found = estimate(views, spaces=("A->B",))
    z = as_coordinates(found, {"A->B": 2}, np.arange(10, 40), {"A->B": views["A"][10:]})["A->B"]
    assert z.tolist() == [[0.0, 0.0]] * 30
