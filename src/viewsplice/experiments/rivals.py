"""The methods that the paper compares SPLICE with, by experiment: as printed, and where a search starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from sklearn.base import clone

from viewsplice.baselines import CCA, DCCAE, DMVAE, RRR, AdversaryConfig, DeepCCA, Karakasis, Lyu
from viewsplice.baselines.base import Baseline
from viewsplice.baselines.neural import NeuralBaseline
from viewsplice.baselines.settings import default_training
from viewsplice.baselines.shared_private import SharedPrivateBaseline
from viewsplice.config import TrainConfig
from viewsplice.experiments.fits import NOMINAL_ROWS
from viewsplice.networks import MLPNetworks
from viewsplice.recipes.settings import auto_networks, auto_training

METHODS: Mapping[str, Sequence[type[Baseline]]] = {
    "lgn-v1": (CCA, DeepCCA, DCCAE, Karakasis, Lyu, DMVAE),
    "rotated-mnist": (DeepCCA, DCCAE, Karakasis, Lyu, DMVAE),
    "sprites": (Lyu, DMVAE),
    "neural": (RRR, CCA),
}
# Of the widest view, on which the networks of SPLICE's recipe depend.
_FEATURES: Mapping[str, int] = {"lgn-v1": 800, "rotated-mnist": 28 * 28, "sprites": 64 * 64 * 3}
# Long enough for every method to converge, or to use up its time.
_MOST_EPOCHS, _PATIENCE, _JUDGED_ROWS = 1_000, 20, 2_048
_QUICK = TrainConfig(epochs=2, batch_size=64)


@dataclass(frozen=True, eq=False)
class Rival:
    """A baseline in an experiment.

    Attributes
    ----------
    name
        How it is called in rows, without ``"-printed"`` or ``"-tuned"``.
    printed
        The method with printed settings, unfitted.
    starts
        Where the search for better settings starts: each has its share of the trials.
    label
        What sets it apart from the rival of the same name: ``", private width 3"``.
    """

    name: str
    printed: Baseline
    starts: Sequence[Baseline]
    label: str = ""

    @property
    def has_private(self) -> bool:
        """Whether the method has private spaces at all."""
        return isinstance(self.printed, SharedPrivateBaseline)

    def with_private(self, n_private: Any, label: str) -> Rival:
        """Return the same with other private widths."""
        widened = [clone(model).set_params(n_private=n_private) for model in (self.printed, *self.starts)]
        return replace(self, printed=widened[0], starts=widened[1:], label=label)


def rivals(experiment: str, *, n_shared: Any, n_private: Any, quick: bool) -> list[Rival]:
    """Return the baselines of an experiment, all with SPLICE's widths.

    Parameters
    ----------
    experiment
        One of `METHODS`.
    n_shared, n_private
        Widths; methods without private spaces make no use of the second.
    quick
        Whether training is reduced.
    """
    found = []
    for method in METHODS[experiment]:
        widths = {"n_shared": n_shared}
        widths |= {"n_private": n_private} if issubclass(method, SharedPrivateBaseline) else {}
        printed = _printed(method, experiment).set_params(**widths)
        starts = [start.set_params(**widths) for start in _starts(method, experiment)]
        shown = [_shortened(model) if quick else model for model in (printed, *starts)]
        found.append(Rival(method.__name__.lower(), shown[0], shown[1:]))
    return found


def _printed(method: type[Baseline], experiment: str) -> Baseline:
    """Return the method as printed; Sprites come through the same principal axes as for SPLICE."""
    if not issubclass(method, NeuralBaseline):
        return RRR() if method is RRR else CCA(regularization=1e-4)
    model = method.printed(experiment)
    if experiment == "sprites":
        model.set_params(training=replace(model.training or TrainConfig(), retained_variance=_retained_variance()))
    return model


def _starts(method: type[Baseline], experiment: str) -> list[Baseline]:
    """Return the method's own settings with the networks of the paper and with those of SPLICE's recipe."""
    if not issubclass(method, NeuralBaseline):
        return [RRR() if method is RRR else CCA()]
    training = TrainConfig(
        epochs=_MOST_EPOCHS,
        patience=_PATIENCE,
        schedule="constant",
        judged_rows=_JUDGED_ROWS,
        retained_variance=_retained_variance(),
    )
    own: dict[str, Any] = {"adversary": AdversaryConfig()} if method is Lyu else {}
    return [
        method().set_params(networks=networks, training=training, **own)
        for networks in (MLPNetworks.paper(experiment), auto_networks(_FEATURES[experiment], has_geometry=False))
    ]


def _retained_variance() -> float:
    return auto_training(NOMINAL_ROWS, {}, auto_networks()).retained_variance


def _shortened(model: Baseline) -> Baseline:
    if isinstance(model, NeuralBaseline):
        model.set_params(training=_QUICK.resolve(model.training or TrainConfig()))
    return model


def settings_of(model: Baseline) -> dict[str, Any]:
    """Return everything a fit of a baseline depends on, as JSON values: also what the method fills in itself."""
    found = {"method": type(model).__name__, "parameters": described(model.get_params(deep=False))}
    if isinstance(model, NeuralBaseline):
        own = default_training(NOMINAL_ROWS, model._batch_size, is_judged=model._is_judged)
        found["resolved"] = described((model.training or TrainConfig()).resolve(own))
    return found


def described(value: Any) -> Any:
    """Return settings as JSON values: objects by class and fields, classes by name."""
    if isinstance(value, type):
        return value.__qualname__
    if is_dataclass(value):
        return {"kind": type(value).__name__, **{f.name: described(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, Mapping):
        return {str(name): described(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [described(item) for item in value]
    return value
