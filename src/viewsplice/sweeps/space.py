"""The settings that a search tries: a few values each, as in the paper, and the estimator that has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from sklearn.base import clone

from viewsplice._types import Networks
from viewsplice.config import TrainConfig, check_number
from viewsplice.estimator import SPLICE
from viewsplice.networks import MLPNetworks, ResidualNetworks
from viewsplice.recipes import Settings, choose_settings

# Printed for LGN-V1, whose 12,096 training rows were the largest batch.
_PAPER_BATCHES, _PAPER_ROWS = (1000, 2000, 5000, 12_096), 12_096
# Factors around the recipe's own value.
_RATES, _BATCHES = (0.1, 0.3, 1.0, 3.0), (0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class SearchSpace:
    """Values to choose from.

    Parameters
    ----------
    learning_rate, weight_decay, batch_size
        Of `TrainConfig`.
    width, depth
        Units per hidden layer, and number of hidden layers (of residual blocks in residual networks). Decoders mirror
        encoders.
    """

    learning_rate: tuple[float, ...]
    weight_decay: tuple[float, ...]
    batch_size: tuple[int, ...]
    width: tuple[int, ...] = ()
    depth: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("learning_rate", "weight_decay"):
            for value in getattr(self, name):
                check_number(f"each {name}", value, low=0)
        for name in ("batch_size", "width", "depth"):
            for value in getattr(self, name):
                check_number(f"each {name}", value, low=1, integer=True)
        if not any(getattr(self, field.name) for field in fields(self)):
            raise ValueError("the search space is empty; expected values for some setting")

    def choices(self) -> dict[str, tuple[float, ...]]:
        """Return the settings that have a choice, by name."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: values for name, values in named.items() if values}

    @classmethod
    def of(cls, model: SPLICE, n_rows: int, n_features: int = 0) -> SearchSpace:
        """Return the values that make sense for an estimator, so many training rows, and features of the widest view.

        Recipe ``"paper"``: what the paper searched for LGN-V1, batches in proportion to the rows. Recipe ``"auto"``: a
        few values around its own. Width and depth are left out for networks that have none.
        """
        own = own_settings(model, n_rows, n_features)
        is_sized = isinstance(own.networks, ResidualNetworks | MLPNetworks)
        if own.recipe == "paper":
            batches = {max(1, round(n_rows * batch / _PAPER_ROWS)) for batch in _PAPER_BATCHES}
            return cls(
                learning_rate=(1e-2, 1e-3, 1e-4, 1e-5),
                weight_decay=(0.0, 1e-1, 1e-2, 1e-3, 1e-4),
                batch_size=tuple(sorted(batches)),
                width=(50, 100, 200) if is_sized else (),
                depth=(2, 3, 4, 5, 6) if is_sized else (),
            )
        training = own.training
        batches = {max(1, min(n_rows // 2, round(training.batch_size * factor))) for factor in _BATCHES}
        return cls(
            learning_rate=tuple(sorted({training.learning_rate * factor for factor in _RATES})),
            weight_decay=tuple(sorted({0.0, 1e-3, 1e-2, 1e-1, training.weight_decay})),
            batch_size=tuple(sorted(batches)),
            width=(64, 128, 256, 512) if is_sized else (),
            depth=(1, 2, 3, 4) if is_sized else (),
        )


def own_settings(model: SPLICE, n_rows: int, n_features: int = 0) -> Settings:
    """Return the complete settings that an estimator would have for so many rows, and features of the widest view."""
    given = model.recipe, model.networks, model.training, model.geometry
    return choose_settings(*given, n_rows=n_rows, widths={}, n_features=n_features)


def own_values(model: SPLICE, space: SearchSpace, n_rows: int, n_features: int = 0) -> dict[str, float] | None:
    """Return the choice that changes nothing, if the space has it."""
    own = own_settings(model, n_rows, n_features)
    training, networks = own.training, own.networks
    values: dict[str, float] = {
        name: getattr(training, name) for name in ("learning_rate", "weight_decay", "batch_size")
    }
    if isinstance(networks, ResidualNetworks):
        values |= {"width": networks.width, "depth": networks.n_blocks}
    elif isinstance(networks, MLPNetworks) and len(set(networks.hidden)) == 1:
        values |= {"width": networks.hidden[0], "depth": len(networks.hidden)}
    choices = space.choices()
    is_there = all(values.get(name) in allowed for name, allowed in choices.items())
    return {name: values[name] for name in choices} if is_there else None


def with_values(model: SPLICE, values: Mapping[str, Any], n_rows: int, n_features: int = 0) -> SPLICE:
    """Return an unfitted copy of an estimator with some settings changed."""
    own = own_settings(model, n_rows, n_features)
    sizes = {name: values[name] for name in ("width", "depth") if name in values}
    trained = {name: value for name, value in values.items() if name not in sizes}
    copied: SPLICE = clone(model).set_params(training=replace(model.training or TrainConfig(), **trained))
    return copied.set_params(networks=_resized(own.networks, **sizes)) if sizes else copied


def _resized(networks: Networks, width: int | None = None, depth: int | None = None) -> Networks:
    """Return networks of the same kind with another width or depth."""
    if isinstance(networks, ResidualNetworks):
        return replace(networks, width=width or networks.width, n_blocks=depth or networks.n_blocks)
    if isinstance(networks, MLPNetworks):
        return MLPNetworks((width or networks.hidden[0],) * (depth or len(networks.hidden)))
    raise TypeError(f"networks is {networks!r}; expected residual networks or perceptrons to change width or depth of")
