"""From what the user passed to `fit` to a checked problem: the last place where NumPy is seen."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from viewsplice._random import numpy_generator
from viewsplice._types import Array
from viewsplice._validation import check_finite, split_rows
from viewsplice.config import GeometryConfig, LossScale, TrainConfig
from viewsplice.exceptions import AutocorrelationWarning
from viewsplice.frontend import Standardizer, most_outputs
from viewsplice.ordering import row_order
from viewsplice.recipes.problem import Settings
from viewsplice.splits import Blocks
from viewsplice.spool import check_room, room
from viewsplice.training.alternating import TrainingData
from viewsplice.views import Views, as_views

# Neighbors that correlate less than this are not worth a warning.
_ALIKE = 0.2


@dataclass(frozen=True, eq=False)
class Prepared:
    """Standardized tensors with their split, and what leads back to the user's units."""

    data: TrainingData
    standardizers: dict[str, Standardizer]
    split: dict[str, Array]

    @property
    def scales(self) -> dict[str, float]:
        """User's units per network unit, by view."""
        return {name: standardizer.scale for name, standardizer in self.standardizers.items()}


def choose_device(device: str) -> torch.device:
    """Return the device: ``"auto"`` is CUDA where there is one, else the CPU (other accelerators by name)."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ValueError(
            f"device is {device!r}, which torch cannot use here; expected 'auto' or such as 'cpu'"
        ) from error


def prepare(
    views: Views, groups: Any, validation: Any, *, device: torch.device, training: TrainConfig, seed: int
) -> Prepared:
    """Check, split and standardize the views.

    ``validation`` given as views is appended to the rows, so that one set of tensors holds everything.
    """
    views = paired_views(views, groups)
    blocks = [views]
    if _is_views(validation):
        blocks.append(_validation_views(validation, views))
        train, held_out = np.arange(len(views)), np.arange(len(views), len(views) + len(blocks[1]))
    else:
        train, held_out = split_views(views, validation, numpy_generator(seed, "split"))
    if len(train) < 2:
        raise ValueError(f"only {len(train)} row is left for training, of {len(views)}; expected many paired rows")
    standardizers = {
        name: Standardizer.fit(x, train, name, retained_variance=training.retained_variance, seed=seed)
        for name, x in views.arrays.items()
    }
    data = TrainingData(
        views={name: _standardized(name, blocks, standardizers[name]).to(device) for name in views.names},
        train=torch.from_numpy(train).to(device),
        validation=torch.from_numpy(held_out).to(device),
        units=loss_units(standardizers, training.loss_scale),
    )
    return Prepared(data, standardizers, {"train": train, "validation": held_out})


def paired_views(views: Views, groups: Any) -> Views:
    """Return two or more views with their groups, or say why they cannot be fitted."""
    if len(views.names) < 2:
        raise ValueError(f"got one view, {views.names[0]!r}; expected two or more paired views")
    views = Views(views, groups=groups)
    check_finite(views)
    return views


def split_views(views: Views, validation: Any, generator: np.random.Generator) -> tuple[Array, Array]:
    """Return (training, validation) rows; a random split of rows that are like their neighbors is warned of."""
    if isinstance(validation, Blocks):
        order = row_order(views)
        gap = order.gap if validation.gap is None else validation.gap
        train, held_out = validation.rows(order.n_units, gap=gap, generator=generator)
        return order.rows(train), order.rows(held_out)
    train, held_out = split_rows(len(views), validation, views.groups, generator)
    if np.ndim(validation) == 0 and len(held_out) and views.groups is None:
        order = row_order(views)
        if order.likeness > _ALIKE:
            warnings.warn(
                f"neighboring rows are alike (correlation {order.likeness:.2f}, over {order.reach} rows) and the "
                "validation rows were drawn at random, from between training rows: they judge too kindly; pass groups, "
                "or validation=Blocks() (viewsplice fit --time)",
                AutocorrelationWarning,
                stacklevel=4,
            )
    return train, held_out


def loss_units(standardizers: Mapping[str, Standardizer], loss_scale: LossScale) -> dict[str, float]:
    """Return what squared errors of standardized rows are divided by, for each view.

    Standardized training rows have total variance = number of features. Averages over features in the user's units
    are larger by scale^2.
    """
    return {
        name: s.n_features if loss_scale == "fraction" else s.n_features / s.scale**2
        for name, s in standardizers.items()
    }


def _is_views(validation: Any) -> bool:
    if isinstance(validation, Views | Mapping):
        return True
    return isinstance(validation, list | tuple) and any(np.ndim(item) > 1 for item in validation)


def _validation_views(validation: Any, views: Views) -> Views:
    held_out = as_views(validation, names=views.names)
    if set(held_out.names) != set(views.names) or held_out.feature_shapes != views.feature_shapes:
        raise ValueError(
            f"validation has views {held_out.feature_shapes}; expected the same as the training views: "
            f"{views.feature_shapes}"
        )
    check_finite(held_out)
    return held_out


def _standardized(name: str, blocks: list[Views], standardizer: Standardizer) -> torch.Tensor:
    out = room((sum(map(len, blocks)), standardizer.n_outputs))
    start = 0
    for block in blocks:
        standardizer.write(block[name], out[start : start + len(block)])
        start += len(block)
    return torch.from_numpy(out)


def check_size(views: Views, settings: Settings, widths: Mapping[str, int | None]) -> None:
    """Raise, before anything is read, if what is made of the views has room neither on the disk nor in memory."""
    row = len(views) * np.dtype(np.float32).itemsize
    retained, geometry = settings.training.retained_variance, settings.geometry
    sizes = {
        f"view {name!r} standardized": row * most_outputs(math.prod(shape), retained)
        for name, shape in views.feature_shapes.items()
    }
    if geometry is not None:
        spaces = [space for space, width in widths.items() if width != 0]
        sizes |= {f"distances in {space}": row * geometry.n_landmarks for space in spaces}
    check_room(sizes)


def check_enough_rows(
    n_train: int,
    training: TrainConfig,
    geometry: GeometryConfig | None,
    widths: Mapping[str, int | None],
) -> None:
    """Raise, before any training, if there are fewer training rows than the settings need."""
    widest = max([0, *(width for width in widths.values() if width is not None)])
    needs = [
        (training.batch_size, f"batch_size={training.batch_size}", "lower training.batch_size"),
        (widest + 1, f"a latent space of width {widest}", "lower the width"),
    ]
    if geometry is not None:
        needs += [(geometry.n_landmarks, f"n_landmarks={geometry.n_landmarks}", "lower geometry.n_landmarks")]
        if geometry.distance is None:
            k = geometry.n_neighbors
            needs += [(k + 1, f"n_neighbors={k}", "lower geometry.n_neighbors")]
    least, what, remedy = max(needs)
    if n_train < least:
        raise ValueError(f"got {n_train} training rows; {what} needs at least {math.ceil(least)}: add rows or {remedy}")
