"""The yardstick: Algorithms 1 and 2 of the paper, transcribed line by line for two views.

Uncached, eager, plain AdamW, batches by index (or by DataLoader). Every speed figure of the project is a ratio to this
file, so it stays as it is: it is not tuned, and it shares no code with the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class Activation(nn.Module):
    """2 (softplus(x) - ln 2)."""

    def forward(self, x: Tensor) -> Tensor:
        return 2 * (nn.functional.softplus(x) - math.log(2))


def mlp(widths: list[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for i in range(len(widths) - 1):
        layers.append(nn.Linear(widths[i], widths[i + 1]))
        if i < len(widths) - 2:
            layers.append(Activation())
    return nn.Sequential(*layers)


@dataclass
class Reference:
    """The networks of Figure 1b for two views; a private width of 0 leaves that encoder and its measurer out."""

    n_features: tuple[int, int]
    n_shared: int
    n_private: tuple[int, int]
    hidden: tuple[int, ...]
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3

    def __post_init__(self) -> None:
        a, b = self.n_features
        h, r = list(self.hidden), list(reversed(self.hidden))
        za, zb = self.n_private
        self.f_a = mlp([a, *h, za]) if za else None
        self.f_b = mlp([b, *h, zb]) if zb else None
        self.f_ab = mlp([a, *h, self.n_shared])
        self.f_ba = mlp([b, *h, self.n_shared])
        self.g_a = mlp([self.n_shared + za, *r, a])
        self.g_b = mlp([self.n_shared + zb, *r, b])
        self.m_ab = mlp([za, *r, b]) if za else None
        self.m_ba = mlp([zb, *r, a]) if zb else None
        encoders = [net for net in (self.f_a, self.f_b, self.f_ab, self.f_ba) if net is not None]
        self.autoencoder = nn.ModuleList([*encoders, self.g_a, self.g_b])
        self.measurers = nn.ModuleList([net for net in (self.m_ab, self.m_ba) if net is not None])
        options = {"lr": self.learning_rate, "weight_decay": self.weight_decay}
        self.autoencoder_optimizer = torch.optim.AdamW(self.autoencoder.parameters(), **options)
        self.measurement_optimizer = torch.optim.AdamW(self.measurers.parameters(), **options)

    def encode(self, x_a: Tensor, x_b: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        z_a = self.f_a(x_a) if self.f_a is not None else x_a[:, :0]
        z_b = self.f_b(x_b) if self.f_b is not None else x_b[:, :0]
        return z_a, z_b, self.f_ab(x_a), self.f_ba(x_b)

    def decode(self, z_a: Tensor, z_b: Tensor, s_ab: Tensor, s_ba: Tensor) -> tuple[Tensor, Tensor]:
        return self.g_a(torch.cat([s_ba, z_a], dim=1)), self.g_b(torch.cat([s_ab, z_b], dim=1))


Batches = Callable[[], Iterable[tuple[Tensor, ...]]]


def by_index(a: Tensor, b: Tensor, batch_size: int) -> Batches:
    """Batches by indexing resident tensors; the third tensor is the row numbers."""

    def batches() -> Iterator[tuple[Tensor, ...]]:
        order = torch.randperm(len(a))
        for start in range(0, len(a), batch_size):
            index = order[start : start + batch_size]
            yield a[index], b[index], index

    return batches


def by_data_loader(a: Tensor, b: Tensor, batch_size: int) -> Batches:
    """Batches by a DataLoader over a TensorDataset."""
    loader = DataLoader(TensorDataset(a, b, torch.arange(len(a))), batch_size=batch_size, shuffle=True)
    return lambda: loader


def set_frozen(module: nn.Module, frozen: bool) -> None:
    for parameter in module.parameters():
        parameter.requires_grad_(not frozen)


def epoch(
    nets: Reference,
    batches: Batches,
    variances: tuple[float, float],
    n_msr: int,
    geometry: tuple[Tensor, Tensor, dict[str, Tensor], float] | None = None,
) -> float:
    """One outer iteration of Algorithm 1; of Algorithm 2 with geometry = (landmarks A, landmarks B, D_geo, lambda)."""
    v_a, v_b = variances

    set_frozen(nets.autoencoder, True)
    set_frozen(nets.measurers, False)
    for _ in range(n_msr):
        for x_a, x_b, _index in batches():
            loss = torch.zeros(())
            if nets.m_ba is not None and nets.f_b is not None:
                x_pred_a = nets.m_ba(nets.f_b(x_b))
                loss = loss + (x_a - x_pred_a).square().sum(dim=1).mean() / v_a
            if nets.m_ab is not None and nets.f_a is not None:
                x_pred_b = nets.m_ab(nets.f_a(x_a))
                loss = loss + (x_b - x_pred_b).square().sum(dim=1).mean() / v_b
            nets.measurement_optimizer.zero_grad()
            loss.backward()
            nets.measurement_optimizer.step()

    set_frozen(nets.measurers, True)
    set_frozen(nets.autoencoder, False)
    total = 0.0
    for x_a, x_b, index in batches():
        z_a, z_b, s_ab, s_ba = nets.encode(x_a, x_b)
        x_hat_a, x_hat_b = nets.decode(z_a, z_b, s_ab, s_ba)
        loss_a = (x_a - x_hat_a).square().sum(dim=1).mean() / v_a
        loss_b = (x_b - x_hat_b).square().sum(dim=1).mean() / v_b
        loss = loss_a + loss_b
        total += loss.item()
        if geometry is not None:
            landmark_a, landmark_b, d_geo, lambda_geo = geometry
            landmark_latents = nets.encode(landmark_a, landmark_b)
            for name, z, z_landmarks in zip(
                ["A", "B", "A->B", "B->A"], (z_a, z_b, s_ab, s_ba), landmark_latents, strict=True
            ):
                if name in d_geo:
                    difference = torch.cdist(z, z_landmarks) - d_geo[name][index]
                    loss = loss + lambda_geo * difference.square().mean().sqrt()
        nets.autoencoder_optimizer.zero_grad()
        loss.backward()
        nets.autoencoder_optimizer.step()

        z_a, z_b, s_ab, s_ba = nets.encode(x_a, x_b)
        loss = torch.zeros(())
        if nets.m_ba is not None:
            loss = loss + nets.m_ba(z_b).var(dim=0, correction=0).sum() / v_a
        if nets.m_ab is not None:
            loss = loss + nets.m_ab(z_a).var(dim=0, correction=0).sum() / v_b
        nets.autoencoder_optimizer.zero_grad()
        loss.backward()
        nets.autoencoder_optimizer.step()
    return total
