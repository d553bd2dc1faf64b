"""Makers of encoders, decoders and measurement networks, interchangeable behind one protocol."""

from viewsplice.networks.conv import ConvNetworks as ConvNetworks
from viewsplice.networks.mlp import MLPNetworks as MLPNetworks
from viewsplice.networks.residual import ResidualNetworks as ResidualNetworks
