"""The few types that travel between modules: latents, loss terms, and three protocols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

Array = NDArray[Any]
Shape = tuple[int, ...]
TensorViews = Mapping[str, Tensor]
T = TypeVar("T", Array, Tensor)


@dataclass(frozen=True, eq=False)
class Latents(Generic[T]):
    """Private and shared latents of the same rows.

    Attributes
    ----------
    private
        By view: ``private["A"]`` is z_A, (n, width).
    shared
        By arrow: ``shared["A->B"]`` is s_{A->B}, computed from A and used to rebuild B, (n, width).
    """

    private: Mapping[str, T]
    shared: Mapping[str, T]

    def spaces(self) -> dict[str, T]:
        """Return all latent spaces in one namespace: views are private, arrows are shared."""
        return {**self.private, **self.shared}

    def __len__(self) -> int:
        return len(next(iter(self.spaces().values())))

    def __getitem__(self, rows: Any) -> Latents[T]:
        """Return the latents of some rows; one integer gives a single row, still two-dimensional."""
        if isinstance(rows, int | np.integer):
            rows = [int(rows)]
        return Latents(
            private={name: z[rows] for name, z in self.private.items()},
            shared={name: s[rows] for name, s in self.shared.items()},
        )

    def to_array(self) -> Array:
        """Return one array (n, sum of widths): private spaces, then shared ones, in order."""
        return np.concatenate([np.asarray(space) for space in self.spaces().values()], axis=1)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one column per dimension, such as ``"A->B[0]"`` (needs pandas)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("Latents.to_frame needs pandas: pip install pandas, or use to_array()") from error
        columns = [f"{name}[{i}]" for name, space in self.spaces().items() for i in range(space.shape[1])]
        return pd.DataFrame(self.to_array(), columns=columns)


@dataclass(frozen=True)
class LossTerms:
    """What every objective returns: the tensor to differentiate, and its named parts for the log."""

    total: Tensor
    parts: Mapping[str, Tensor]


class Networks(Protocol):
    """Makes the four kinds of networks of Figure 1b. All take and return flat rows: (n, features).

    Private encoders may differ from shared ones: where there is a method ``private_encoder``, with the arguments of
    ``encoder``, it makes them.
    """

    def encoder(self, shape: Shape, width: int) -> nn.Module:
        """Return a network from a view's features to ``width`` latents."""
        ...

    def decoder(self, widths: Sequence[int], shape: Shape) -> nn.Module:
        """Return the mirror image of the encoder: from latent spaces of these widths, side by side, to features."""
        ...

    def measurer(self, width: int, shape: Shape) -> nn.Module:
        """Return a measurement network: from a private latent to the other view's features."""
        ...


class DistanceEstimator(Protocol):
    """Any technique that yields distances along a manifold: geodesic, diffusion, or a user's own."""

    def __call__(self, points: Array, landmarks: Array) -> Array:
        """Return the distances (n_landmarks, n_points) from the points at the ``landmarks`` rows."""
        ...


class EncoderDecoder(Protocol):
    """What the geometry step needs of a model."""

    def encode(self, views: TensorViews) -> Latents[Tensor]:
        """Return the latents that the given views determine."""
        ...

    def decode_view(self, view: str, latents: Latents[Tensor]) -> Tensor:
        """Return one view rebuilt from its private latent and its incoming arrows."""
        ...
