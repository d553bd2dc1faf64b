"""The networks of Figure 1b: wiring, crossing, widths of zero, three views."""

import pytest
import torch

from viewsplice._types import Latents
from viewsplice.model import SpliceNet
from viewsplice.networks import MLPNetworks, ResidualNetworks

SHAPES = {"A": (6,), "B": (5,)}


def make(n_private=(2, 1), n_shared=3, names=("A", "B"), seed=0):
    shapes = {name: (6 - i,) for i, name in enumerate(names)}
    arrows = {f"{a}->{b}": n_shared for a in names for b in names if a != b}
    return SpliceNet(shapes, dict(zip(names, n_private, strict=True)), arrows, MLPNetworks((8,)), seed)


def rows(model, n=4, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(n, shape[0], generator=generator) for name, shape in model.shapes.items()}


def test_two_views_are_the_papers_model():
    model = make()
    x = rows(model)
    latents = model.encode(x)
    assert torch.equal(latents.private["A"], model.private_encoders["A"](x["A"]))
    assert torch.equal(latents.shared["A->B"], model.shared_encoders["A->B"](x["A"]))
    assert torch.equal(latents.shared["B->A"], model.shared_encoders["B->A"](x["B"]))
    rebuilt = model.decode(latents)
    crossed = torch.cat([latents.shared["B->A"], latents.private["A"]], dim=1)
    assert torch.equal(rebuilt["A"], model.decoders["A"](crossed))
    predictions = model.measure({"A": latents.private["A"], "B": latents.private["B"]})
    assert torch.equal(predictions["B->A"], model.measurers["B->A"](latents.private["B"]))
    assert {name: x.shape for name, x in predictions.items()} == {"A->B": (4, 5), "B->A": (4, 6)}


def test_crossing_without_private_space_the_view_is_rebuilt_from_others_only():
    model = make(n_private=(0, 1))
    x = rows(model)
    changed = {**x, "A": x["A"] + 1}
    before, after = model.decode(model.encode(x)), model.decode(model.encode(changed))
    assert torch.equal(before["A"], after["A"])
    assert not torch.equal(before["B"], after["B"])


def test_private_width_zero_has_no_networks_but_a_space():
    model = make(n_private=(0, 1))
    assert list(model.private_encoders) == ["B"]
    assert list(model.measurers) == ["B->A"]
    assert model.spaces == ("B", "A->B", "B->A")
    assert model.encode(rows(model)).private["A"].shape == (4, 0)


def test_shared_width_zero():
    model = make(n_shared=0)
    latents = model.encode(rows(model))
    assert latents.shared["A->B"].shape == (4, 0)
    assert model.decode(latents)["A"].shape == (4, 6)


def test_one_view_determines_only_its_own_spaces():
    model = make()
    latents = model.encode({"B": rows(model)["B"]})
    assert list(latents.private) == ["B"]
    assert list(latents.shared) == ["B->A"]


def test_three_views_have_all_ordered_pairs_and_decoders_take_incoming_in_view_order():
    model = make(n_private=(1, 0, 2), names=("A", "B", "C"))
    assert set(model.shared_encoders) == {"A->B", "A->C", "B->A", "B->C", "C->A", "C->B"}
    assert set(model.measurers) == {"A->B", "A->C", "C->A", "C->B"}
    latents = model.encode(rows(model))
    assert model.incoming("B") == ("A->B", "C->B")
    expected = torch.cat([latents.shared["A->B"], latents.shared["C->B"], latents.private["B"]], dim=1)
    assert torch.equal(model.decode_view("B", latents), model.decoders["B"](expected))


def test_weights_depend_on_the_name_of_a_network_not_on_its_position():
    one, other = (
        make(names=("A", "B")),
        SpliceNet({"B": (5,), "A": (6,)}, {"A": 2, "B": 1}, {"A->B": 3, "B->A": 3}, MLPNetworks((8,)), 0),
    )
    for name, value in one.state_dict().items():
        assert torch.equal(value, other.state_dict()[name])
    assert not torch.equal(one.shared_encoders["A->B"][2].weight, make(seed=1).shared_encoders["A->B"][2].weight)


def test_parameter_groups_cover_the_model_without_overlap():
    model = make()
    autoencoder, measurement = model.autoencoder_parameters(), model.measurement_parameters()
    ids = [id(p) for p in [*autoencoder, *measurement]]
    assert len(ids) == len(set(ids)) == len(list(model.parameters()))
    assert {id(p) for p in model.private_parameters()} < {id(p) for p in autoencoder}


def test_reset_measurers_changes_only_them_and_is_reproducible():
    model, twin = make(), make()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.reset_measurers("x")
    twin.reset_measurers("x")
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]) == (not name.startswith("measurers"))
        assert torch.equal(value, twin.state_dict()[name])


def test_latents_index_and_length():
    latents = Latents(private={"A": torch.arange(6.0).reshape(3, 2)}, shared={"A->B": torch.zeros(3, 0)})
    assert len(latents) == 3
    assert latents[1].private["A"].tolist() == [[2.0, 3.0]]
    assert latents[torch.tensor([2, 0])].private["A"].tolist() == [[4.0, 5.0], [0.0, 1.0]]
    with pytest.raises(AttributeError):
        latents.private = {}


def test_start_from_takes_what_fits_and_nothing_else():
    wide, narrow = make(n_private=(4, 1), n_shared=5, seed=1), make(n_private=(2, 1), n_shared=3, seed=2)
    before = {name: value.clone() for name, value in narrow.state_dict().items()}
    wide_before = {name: value.clone() for name, value in wide.state_dict().items()}
    narrow.start_from(wide)
    taken = {name for name, value in narrow.state_dict().items() if not torch.equal(value, before[name])}
    for name, value in narrow.state_dict().items():
        source = wide_before[name]
        fits = source.shape == value.shape and not name.startswith("measurers")
        assert torch.equal(value, source if fits else before[name]), name
    # Hidden layers, and B's private encoder, which is as wide as before; not the layers next to other widths.
    assert {"private_encoders.A.0.weight", "private_encoders.B.2.weight", "decoders.A.2.bias"} <= taken
    assert not taken & {"private_encoders.A.2.weight", "shared_encoders.A->B.2.weight", "decoders.A.0.weight"}
    assert not [name for name in taken if name.startswith("measurers")]
    assert all(torch.equal(value, wide_before[name]) for name, value in wide.state_dict().items())
    narrow.shared_encoders["A->B"][0].weight.data.zero_()
    assert wide.shared_encoders["A->B"][0].weight.any()


def test_start_from_a_model_with_more_spaces():
    wide, narrow = make(n_private=(2, 2)), make(n_private=(0, 2), seed=5)
    narrow.start_from(wide)
    assert list(narrow.private_encoders) == ["B"]
    assert torch.equal(narrow.private_encoders["B"][2].weight, wide.private_encoders["B"][2].weight)


def test_start_from_aligns_decoders_with_and_without_fourier_features():
    shapes, shared = {"A": (6,), "B": (5,)}, {"A->B": 3, "B->A": 3}
    plain, waves = (
        SpliceNet(shapes, {"A": 2, "B": 1}, shared, ResidualNetworks(8, 2, n_frequencies=n), seed)
        for n, seed in ((0, 0), (4, 1))
    )
    own = waves.decoders["A"][0].frequencies.clone()
    waves.start_from(plain)
    assert torch.equal(waves.decoders["A"][0].frequencies, own)
    for name in ("decoders.A.2.body.1.weight", "decoders.B.5.weight", "private_encoders.A.0.weight"):
        assert torch.equal(waves.state_dict()[name], plain.state_dict()[name]), name
    assert waves.decoders["A"][1].weight.shape != plain.decoders["A"][1].weight.shape


def test_scale_free_measurement_sees_shape_not_size_or_place():
    model = SpliceNet(SHAPES, {"A": 2, "B": 1}, {"A->B": 3, "B->A": 3}, MLPNetworks((8,)), 0, scale_free=True)
    plain = make()
    z = model.encode_private(rows(model, n=20))
    expected = model.measure(z)
    moved = model.measure({name: 1e-3 * value + 5 for name, value in z.items()})
    for name, value in expected.items():
        assert torch.allclose(moved[name], value, atol=2e-3)
        assert not torch.allclose(plain.measure({n: 0.1 * v for n, v in z.items()})[name], value, atol=2e-3)
    centered = z["A"] - z["A"].mean(0)
    by_hand = centered / centered.square().sum(1).mean().sqrt()
    assert torch.allclose(expected["A->B"], model.measurers["A->B"](by_hand), atol=1e-6)


def test_scale_free_measurement_has_no_gradient_along_the_scale():
    model = SpliceNet(SHAPES, {"A": 2, "B": 1}, {"A->B": 3, "B->A": 3}, MLPNetworks((8,)), 0, scale_free=True)
    z = {name: value.detach().requires_grad_() for name, value in model.encode_private(rows(model, n=20)).items()}
    sum(x.var(0).sum() for x in model.measure(z).values()).backward()
    for value in z.values():
        along = (value.grad * (value.detach() - value.detach().mean(0))).sum()
        assert value.grad.abs().sum() > 0
        assert abs(along.item()) < 1e-5 * value.grad.norm().item() * value.detach().norm().item() + 1e-7
        assert torch.allclose(value.grad.sum(0), torch.zeros(value.shape[1]), atol=1e-5)


def test_scale_free_measurement_of_a_collapsed_space_is_finite():
    model = SpliceNet(SHAPES, {"A": 2, "B": 1}, {"A->B": 3, "B->A": 3}, MLPNetworks((8,)), 0, scale_free=True)
    z = {"A": torch.ones(7, 2, requires_grad=True), "B": torch.zeros(7, 1)}
    found = model.measure(z)
    found["A->B"].sum().backward()
    assert torch.isfinite(found["A->B"]).all()
    assert torch.isfinite(z["A"].grad).all()
    assert torch.allclose(found["A->B"], found["A->B"][:1].expand(7, -1), atol=1e-6)


@pytest.mark.parametrize("networks", [MLPNetworks((8,)), ResidualNetworks(8, 1, n_frequencies=4)])
def test_scaling_the_latents_of_one_space_leaves_all_others(networks):
    model = SpliceNet(SHAPES, {"A": 2, "B": 1}, {"A->B": 3, "B->A": 3}, networks, 0)
    x = rows(model)
    before = model.encode(x).spaces()
    for space, factor in (("A", 0.25), ("B->A", 3.0)):
        model.scale_latents(space, factor)
    after = model.encode(x).spaces()
    factors = {"A": 0.25, "B": 1.0, "A->B": 1.0, "B->A": 3.0}
    for space, z in after.items():
        assert torch.allclose(z, factors[space] * before[space], rtol=1e-5, atol=1e-6), space


def test_latents_that_no_linear_layer_makes_are_not_scaled():
    model = make()
    model.private_encoders["A"].append(torch.nn.Tanh())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.scale_latents("A", 2.0)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
