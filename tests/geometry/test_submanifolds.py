"""Projection varies with the named space only, in the right view."""

import pytest
import torch

from viewsplice.geometry.submanifolds import decoded_view, project, with_anchor
from viewsplice.model import SpliceNet
from viewsplice.networks import MLPNetworks


@pytest.fixture
def model():
    names = ("A", "B", "C")
    shapes = {name: (4 + i,) for i, name in enumerate(names)}
    arrows = {f"{a}->{b}": 2 for a in names for b in names if a != b}
    return SpliceNet(shapes, {"A": 1, "B": 2, "C": 0}, arrows, MLPNetworks((8,)), seed=0)


@pytest.fixture
def latents(model):
    generator = torch.Generator().manual_seed(0)
    return model.encode({name: torch.randn(5, shape[0], generator=generator) for name, shape in model.shapes.items()})


def test_which_view_a_submanifold_lies_in():
    assert decoded_view("A") == "A"
    assert decoded_view("A->B") == "B"


def test_private_projection_is_the_decoder_with_the_anchors_shared_parts(model, latents):
    points = project(model, latents.private["B"], "B", latents[3])
    fixed = torch.cat([latents.shared["A->B"][3:4].expand(5, -1), latents.shared["C->B"][3:4].expand(5, -1)], dim=1)
    expected = model.decoders["B"](torch.cat([fixed, latents.private["B"]], dim=1))
    assert torch.equal(points, expected)


def test_shared_projection_holds_private_and_other_arrows(model, latents):
    points = project(model, latents.shared["A->B"], "A->B", latents[2])
    inputs = [
        latents.shared["A->B"],
        latents.shared["C->B"][2:3].expand(5, -1),
        latents.private["B"][2:3].expand(5, -1),
    ]
    assert torch.equal(points, model.decoders["B"](torch.cat(inputs, dim=1)))


def test_the_anchor_projects_on_its_own_reconstruction(model, latents):
    rebuilt = model.decode(latents)
    for space in ("A", "B", "A->B", "C->A"):
        points = project(model, latents.spaces()[space], space, latents[4])
        assert torch.allclose(points[4], rebuilt[decoded_view(space)][4], atol=1e-6)


def test_only_the_named_space_varies(latents):
    varied = with_anchor(latents.shared["A->B"], "A->B", latents[1])
    for name, space in varied.spaces().items():
        is_constant = bool((space == space[:1]).all())
        assert is_constant == (name != "A->B")
