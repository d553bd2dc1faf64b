"""The networks of Figure 1b: wiring, crossing, widths of zero, three views."""

import pytest
import torch

from viewsplice._types import Latents
from viewsplice.model import SpliceNet
from viewsplice.networks import MLPNetworks

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
