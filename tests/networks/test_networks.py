"""Shapes, mirroring, activation, and row independence of the network makers."""

import math

import pytest
import torch
from torch import nn

from viewsplice.model import SpliceNet
from viewsplice.networks import ConvNetworks, MLPNetworks, ResidualNetworks
from viewsplice.networks.conv import _Upsampling
from viewsplice.networks.mlp import CenteredSoftplus
from viewsplice.networks.residual import FourierFeatures, GatedBlock

MAKERS = [
    (MLPNetworks((16, 8)), (12,)),
    (ResidualNetworks(width=16, n_blocks=2), (12,)),
    (ResidualNetworks(width=16, n_blocks=1, n_frequencies=4), (3, 4)),
    (ResidualNetworks(width=16, n_blocks=1, n_frequencies=4, gated=True), (12,)),
    (ResidualNetworks(width=4, n_blocks=1, gated=True, head=24), (12,)),
    (ConvNetworks(channels=(4, 2), hidden=(8,), measurer_hidden=(8, 4)), (8, 8)),
    (ConvNetworks(channels=(4,), hidden=()), (3, 6, 4)),
    (ConvNetworks(channels=(4,), channels_last=True), (6, 4, 3)),
]


@pytest.mark.parametrize(("networks", "shape"), MAKERS)
def test_networks_map_flat_rows_to_widths_and_back(networks, shape):
    n_features = math.prod(shape)
    with torch.random.fork_rng():
        encoder, decoder = networks.encoder(shape, 3), networks.decoder([2, 0, 3], shape)
        measurer = networks.measurer(2, shape)
    x = torch.linspace(0, 1, 7 * n_features).reshape(7, n_features)
    assert encoder(x).shape == (7, 3)
    assert decoder(torch.ones(7, 5)).shape == (7, n_features)
    assert measurer(torch.ones(7, 2)).shape == (7, n_features)


@pytest.mark.parametrize(("networks", "shape"), MAKERS)
def test_a_row_never_depends_on_its_neighbors(networks, shape):
    with torch.random.fork_rng():
        encoder = networks.encoder(shape, 3)
        x = torch.randn(6, math.prod(shape))
    together = encoder(x)
    alone = torch.cat([encoder(row[None]) for row in x])
    assert torch.allclose(together, alone, atol=1e-5)


def widths(network):
    return [(layer.in_features, layer.out_features) for layer in network.modules() if isinstance(layer, nn.Linear)]


def test_decoders_mirror_encoders_and_measurers_are_like_decoders():
    networks = MLPNetworks((256, 128))
    with torch.random.fork_rng():
        assert widths(networks.encoder((10,), 2)) == [(10, 256), (256, 128), (128, 2)]
        assert widths(networks.decoder([2], (10,))) == [(2, 128), (128, 256), (256, 10)]
        assert widths(networks.measurer(2, (10,))) == [(2, 128), (128, 256), (256, 10)]


def test_convolutional_variant_of_the_paper():
    networks = ConvNetworks()
    with torch.random.fork_rng():
        encoder, decoder = networks.encoder((28, 28), 30), networks.decoder([30, 2], (28, 28))
        measurer = networks.measurer(2, (28, 28))
    assert widths(encoder) == [(1568, 256), (256, 30)]
    assert widths(decoder) == [(32, 256), (256, 1568)]
    assert widths(measurer) == [(2, 32), (32, 64), (64, 128), (128, 256), (256, 784)]
    kernels = [(m.in_channels, m.out_channels) for m in encoder.modules() if isinstance(m, nn.Conv2d)]
    assert kernels == [(1, 64), (64, 32)]
    assert isinstance(list(decoder.modules())[-2], nn.ConvTranspose2d)


def test_channels_last_is_the_same_network_seen_from_transposed_images():
    first, last = ConvNetworks(channels=(4,)), ConvNetworks(channels=(4,), channels_last=True)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder_first, decoder_first = first.encoder((3, 6, 4), 2), first.decoder([1, 1], (3, 6, 4))
        torch.manual_seed(0)
        encoder_last, decoder_last = last.encoder((6, 4, 3), 2), last.decoder([1, 1], (6, 4, 3))
        images = torch.randn(5, 3, 6, 4)
    moved = images.permute(0, 2, 3, 1)
    assert torch.allclose(encoder_first(images.flatten(1)), encoder_last(moved.flatten(1)), atol=1e-6)
    z = torch.ones(5, 2)
    rebuilt = decoder_last(z).reshape(5, 6, 4, 3).permute(0, 3, 1, 2)
    assert torch.allclose(decoder_first(z).reshape(5, 3, 6, 4), rebuilt, atol=1e-6)


def test_activation_is_zero_with_slope_one_at_zero():
    x = torch.zeros(1, requires_grad=True)
    y = CenteredSoftplus()(x)
    y.backward()
    assert y.item() == pytest.approx(0.0, abs=1e-6)
    assert x.grad.item() == pytest.approx(1.0)
    assert CenteredSoftplus()(torch.tensor([2.0])).item() == pytest.approx(2 * (math.log1p(math.exp(2)) - math.log(2)))


def test_fourier_features_keep_the_latents_and_add_waves():
    with torch.random.fork_rng():
        features = FourierFeatures([2], 5, scale=3.0)
    z = torch.tensor([[0.3, -0.2]])
    out = features(z)
    phase = z @ features.frequencies
    assert out.shape == (1, features.n_outputs) == (1, 12)
    assert torch.equal(out[:, :2], z)
    assert torch.allclose(out[:, 2:7].square() + out[:, 7:].square(), torch.ones(1, 5))
    assert torch.allclose(out[:, 2:7], phase.sin())


@pytest.mark.parametrize("widths_of_spaces", [(2, 3), (1, 0, 4), (0, 2), (3, 2, 1)])
def test_each_fourier_projection_looks_into_one_space(widths_of_spaces):
    with torch.random.fork_rng():
        features = FourierFeatures(widths_of_spaces, 10, scale=2.0)
    assert features.frequencies.shape == (sum(widths_of_spaces), 10)
    assert features.n_outputs == sum(widths_of_spaces) + 20
    blocks = features.frequencies.split(list(widths_of_spaces))
    looks = torch.stack([(block != 0).any(dim=0) for block in blocks])
    assert (looks.sum(dim=0) == 1).all()
    counts = [int(row.sum()) for row, width in zip(looks, widths_of_spaces, strict=True) if width]
    assert max(counts) - min(counts) <= 1
    assert sum(counts) == 10
    for block, look in zip(blocks, looks, strict=True):
        assert (block[:, look] != 0).all()


def test_fourier_frequencies_are_slower_in_wider_spaces():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        wide, narrow = FourierFeatures([4, 1], 4000, scale=2.5).frequencies.split([4, 1])
    assert wide[wide != 0].std().item() == pytest.approx(2.5 / 2, rel=0.03)
    assert narrow[narrow != 0].std().item() == pytest.approx(2.5, rel=0.03)


def test_residual_decoders_have_the_same_layers_in_the_same_places_with_or_without_waves():
    with torch.random.fork_rng():
        plain = ResidualNetworks(16, 2).decoder([2, 1], (10,))
        waves = ResidualNetworks(16, 2, n_frequencies=4).decoder([2, 1], (10,))
    assert isinstance(plain[0], nn.Identity)
    assert [type(layer) for layer in plain[1:]] == [type(layer) for layer in waves[1:]]
    assert widths(plain)[0] == (3, 16)
    assert widths(waves)[0] == (3 + 8, 16)
    assert widths(plain)[1:] == widths(waves)[1:]


def test_residual_measurers_are_half_as_wide_and_always_see_waves():
    with torch.random.fork_rng():
        measurer = ResidualNetworks(16, 3).measurer(2, (10,))
        smallest = ResidualNetworks(2, 1).measurer(2, (10,))
    assert isinstance(measurer[0], FourierFeatures)
    assert widths(measurer) == [(2 + 64, 8), *[(8, 8)] * 4, (8, 10)]
    assert widths(smallest) == [(66, 2), (2, 2), (2, 2), (2, 10)]


def test_a_gate_by_hand():
    with torch.random.fork_rng():
        block = GatedBlock(2)
    for parameter in block.parameters():
        nn.init.zeros_(parameter)
    nn.init.ones_(block.body.norm.weight)
    with torch.no_grad():
        block.body.inner.weight[0, 0] = 2.0  # the first gate reads the first unit, ...
        block.body.inner.weight[8, 1] = 3.0  # ... and lets through three times the second
        block.body.outer.weight[1, 0] = 1.0
    # (5, 1) is (1, -1) after LayerNorm: silu(2) * -3, added to the second unit
    expected = torch.tensor([[5.0, 1.0 - 3 * 2 / (1 + math.exp(-2))]])
    assert torch.allclose(block(torch.tensor([[5.0, 1.0]])), expected, atol=1e-4)


def test_gates_cost_no_weights_and_private_encoders_have_none():
    def count(network):
        return sum(parameter.numel() for parameter in network.parameters())

    with torch.random.fork_rng():
        plain, gated = ResidualNetworks(256, 2), ResidualNetworks(256, 2, gated=True)
        for make in (lambda nets: nets.decoder([2], (10,)), lambda nets: nets.encoder((10,), 2)):
            assert count(make(gated)) == pytest.approx(count(make(plain)), rel=0.04)
            assert sum(isinstance(layer, GatedBlock) for layer in make(gated)) == 2
        assert widths(gated.private_encoder((10,), 2)) == widths(plain.encoder((10,), 2))
        assert widths(gated.measurer(2, (10,))) == widths(plain.measurer(2, (10,)))


def test_private_encoders_are_their_own_where_networks_say_so():
    widths = {"A": 1, "B": 1}, {"A->B": 2, "B->A": 2}
    model = SpliceNet({"A": (6,), "B": (5,)}, *widths, ResidualNetworks(8, 1, gated=True), seed=0)
    assert not any(isinstance(layer, GatedBlock) for layer in model.private_encoders.modules())
    assert sum(isinstance(layer, GatedBlock) for layer in model.shared_encoders.modules()) == 2


def test_with_a_head_decoders_fill_more_dimensions_than_they_have_units():
    def dimensions(networks):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            made = networks.decoder([3], (40,))(torch.randn(200, 3)).detach().double()
        return int(torch.linalg.matrix_rank(made - made.mean(dim=0), rtol=1e-5))

    assert dimensions(ResidualNetworks(8, 1, gated=True)) <= 8
    assert dimensions(ResidualNetworks(8, 1, gated=True, head=32)) > 16


def test_paper_layers():
    assert MLPNetworks.paper("lgn-v1").hidden == (200,) * 6
    assert MLPNetworks.paper("sprites").hidden == (1024, 512, 512, 2048, 1024, 512)
    assert MLPNetworks().hidden == (256, 128, 64, 32)
    with pytest.raises(ValueError, match="expected one of"):
        MLPNetworks.paper("cifar")


def test_lists_become_tuples_so_that_equal_settings_are_equal():
    assert MLPNetworks([4, 2]) == MLPNetworks((4, 2))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MLPNetworks((0,)), "each width in hidden is 0"),
        (lambda: MLPNetworks(64), "expected a sequence of layer widths"),
        (lambda: ConvNetworks(channels=()), "at least one convolution"),
        (lambda: ResidualNetworks(width=1), "width is 1"),
        (lambda: ResidualNetworks(frequency_scale=0), "frequency_scale is 0"),
        (lambda: ResidualNetworks(gated=2), "gated is 2"),
        (lambda: ResidualNetworks(head=-1), "head is -1"),
        (lambda: ConvNetworks().encoder((784,), 2), "expected images"),
        (lambda: ConvNetworks().encoder((27, 28), 2), "27 x 28 pixels; expected multiples of 4"),
    ],
)
def test_bad_settings_are_refused_in_words(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_no_batch_statistics_and_no_dropout():
    banned = (nn.modules.batchnorm._BatchNorm, nn.Dropout)
    with torch.random.fork_rng():
        for networks, shape in MAKERS:
            modules = [*networks.encoder(shape, 2).modules(), *networks.decoder([2], shape).modules()]
            assert not any(isinstance(module, banned) for module in modules)


@pytest.mark.parametrize("n_out", [1, 3, 7])
def test_upsampling_is_a_transposed_convolution(n_out):
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng():
        layer = _Upsampling(5, n_out)
    x = torch.randn(3, 5, 4, 6, generator=generator)
    weights = torch.randn(3, n_out, 8, 12, generator=generator)
    found, expected = [], []
    for forward, seen in ((layer, found), (lambda z: nn.ConvTranspose2d.forward(layer, z), expected)):
        z = x.clone().requires_grad_()
        y = forward(z)
        gradients = torch.autograd.grad((y * weights).sum(), [z, layer.weight, layer.bias])
        seen += [y, *gradients]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    assert set(layer.state_dict()) == {"weight", "bias"}


def test_many_images_pass_in_blocks_and_stay_in_order():
    networks = ConvNetworks(channels=(4,), hidden=(8,))
    with torch.random.fork_rng():
        encoder, decoder = networks.encoder((8, 8), 3), networks.decoder([3], (8, 8))
    x = torch.randn(300, 64, generator=torch.Generator().manual_seed(0))
    codes = encoder(x)
    one_by_one = torch.cat([encoder(row[None]) for row in x])
    torch.testing.assert_close(codes, one_by_one, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(decoder(codes)[-1:], decoder(codes[-1:]), rtol=1e-4, atol=1e-5)
    assert encoder(x[:0]).shape == (0, 3)
