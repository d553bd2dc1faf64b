"""DeepCCA, DCCAE and Karakasis: the same correlation of codes with no decoders, own decoders and crossed decoders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from viewsplice._types import Networks
from viewsplice.baselines.deep_correlation import CorrelationBaseline, Form
from viewsplice.baselines.settings import PlainNetworks, printed_training
from viewsplice.config import TrainConfig
from viewsplice.networks import ConvNetworks, MLPNetworks

# Not printed for Sprites: SPLICE's own networks, batches and rate, behind the same principal axes.
_SPRITES: dict[str, Any] = {
    "n_shared": 500,
    "form": "maxvar",
    "final_cca": False,
    "networks": MLPNetworks.paper("sprites"),
    "training": replace(printed_training(5_000, 1_000, 1e-4, 1e-3), retained_variance=0.995),
}
_MNIST: dict[str, Any] = {"n_shared": 30, "form": "maxvar", "final_cca": False, "networks": ConvNetworks()}
_LGN_V1: dict[str, Any] = {"n_shared": 2, "form": "trace", "regularization": 1e-3, "final_cca": False}


def _falling(training: TrainConfig) -> TrainConfig:
    """Return settings whose rate falls linearly to a fiftieth, with errors averaged in the user's units."""
    return replace(training, schedule="linear", final_learning_rate=1 / 50, loss_scale="mean")


class DeepCCA(CorrelationBaseline):
    """Deep canonical correlation analysis (Andrew et al. 2013): networks whose outputs correlate as much as they can.

    ``shared["A->B"]`` is what the network of A makes of A, ``shared["B->A"]`` that of B; there are no private spaces.
    The method rebuilds nothing: `predict` and `reconstruct` add least squares from the code of one view to the other
    view, as for `CCA`.

    Parameters
    ----------
    n_shared
        Number of outputs of each network.
    form
        ``"trace"``: the sum of canonical correlations of each batch. ``"maxvar"``: distance to common targets, found
        once per epoch (DGCCA); it does with small batches and many outputs.
    regularization
        Added to the diagonals of the covariances of the outputs (``"trace"`` only).
    final_cca
        Whether a linear CCA of the outputs follows.
    networks, training
        As for `SPLICE`; None, and fields left out, are this method's own. None means `MLPNetworks.paper()`.
    device, random_state
        As for `SPLICE`.

    Attributes
    ----------
    view_names_, n_features_in_, n_shared_, n_private_
        Names in order; features by view; widths by arrow and by view.
    correlations_
        Canonical correlations of the training rows' outputs, largest first.
    history_
        One dict per epoch: ``cca`` (1 - the mean canonical correlation) or ``match/A``, ``rec/A`` where there are
        decoders, and the same of the validation rows after ``val/``.
    validation_objective_, ended_
        The objective on the validation rows, lower is better (None without such rows); and what ended the training:
        ``"epochs"``, ``"convergence"`` or ``"callback"``.
    net_, maps_, training_, split_
        Networks; by arrow, the `LinearMap` of its code; complete settings; training and validation row numbers.

    Examples
    --------
    >>> from viewsplice import TrainConfig
    >>> from viewsplice.baselines import DeepCCA
    >>> from viewsplice.datasets import linear_gaussian
    >>> data = linear_gaussian(n_samples=300, random_state=0)
    >>> model = DeepCCA(n_shared=2, training=TrainConfig(epochs=2), random_state=0).fit(data.views)
    >>> model.transform(data.views).shared["A->B"].shape
    (300, 2)
    """

    lambda_rec = 0.0
    _printed: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "rotated-mnist": {**_MNIST, "training": printed_training(100, 200, 1e-4, 1e-4)},
        "lgn-v1": {
            **_LGN_V1,
            "networks": PlainNetworks((200,) * 3),
            "training": printed_training(8_267, 2_000, 1e-3, 0),
        },
        "sprites": _SPRITES,
    }

    def __init__(
        self,
        n_shared: Any = 2,
        *,
        form: Form = "trace",
        regularization: float = 1e-3,
        final_cca: bool = True,
        networks: Networks | None = None,
        training: TrainConfig | None = None,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_shared = n_shared
        self.form = form
        self.regularization = regularization
        self.final_cca = final_cca
        self.networks = networks
        self.training = training
        self.device = device
        self.random_state = random_state

    def _reads(self, names: Sequence[str]) -> dict[str, str]:
        return {}


class DCCAE(CorrelationBaseline):
    """Deep canonically correlated autoencoders (Wang et al. 2015): `DeepCCA` whose codes also rebuild their own views.

    Minimizes (1 - lambda_rec) x disagreement + lambda_rec x mean over views of the reconstruction error.
    `reconstruct` decodes each view from its own code; `predict` adds least squares from the code of one view to that
    of the other, and decodes that.

    Parameters
    ----------
    n_shared, form, regularization, final_cca, networks, training, device, random_state
        As for `DeepCCA`.
    lambda_rec
        Weight of reconstruction, from 0 (`DeepCCA`) to 1 (two autoencoders).

    Attributes
    ----------
    view_names_, n_features_in_, n_shared_, n_private_, correlations_, history_, validation_objective_, ended_, ...
        As for `DeepCCA`.
    """

    _printed: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "rotated-mnist": {**_MNIST, "lambda_rec": 0.1, "training": printed_training(100, 100, 1e-3, 1e-3)},
        "lgn-v1": {
            **_LGN_V1,
            "lambda_rec": 0.9,
            "networks": PlainNetworks((200,) * 2),
            "training": _falling(printed_training(20_667, 5_000, 1e-2, 0)),
        },
        "sprites": {**_SPRITES, "lambda_rec": 0.1},
    }

    def __init__(
        self,
        n_shared: Any = 2,
        *,
        lambda_rec: float = 0.1,
        form: Form = "trace",
        regularization: float = 1e-3,
        final_cca: bool = True,
        networks: Networks | None = None,
        training: TrainConfig | None = None,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_shared = n_shared
        self.lambda_rec = lambda_rec
        self.form = form
        self.regularization = regularization
        self.final_cca = final_cca
        self.networks = networks
        self.training = training
        self.device = device
        self.random_state = random_state

    def _reads(self, names: Sequence[str]) -> dict[str, str]:
        return {name: name for name in names}


class Karakasis(CorrelationBaseline):
    """Revisited deep generalized CCA (Karakasis and Sidiropoulos 2023): codes that rebuild the other view.

    `DCCAE` with crossed decoders: view B is rebuilt from the code of A and the reverse, so that a code has nothing to
    gain from what is private to its view. `reconstruct` and `predict` are the same.

    Parameters
    ----------
    n_shared, form, regularization, final_cca, networks, training, device, random_state
        As for `DeepCCA`, but ``form`` is ``"maxvar"`` unless told otherwise.
    lambda_rec
        Weight of reconstruction, from 0 (`DeepCCA`) to 1 (two crossed regressions).

    Attributes
    ----------
    view_names_, n_features_in_, n_shared_, n_private_, correlations_, history_, validation_objective_, ended_, ...
        As for `DeepCCA`.
    """

    _printed: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "rotated-mnist": {**_MNIST, "lambda_rec": 0.1, "training": printed_training(100, 100, 1e-4, 1e-3)},
        "lgn-v1": {
            **_LGN_V1,
            "lambda_rec": 0.9,
            "networks": PlainNetworks((200,) * 3),
            "training": _falling(printed_training(3_306, 1_000, 1e-3, 0)),
        },
        "sprites": {**_SPRITES, "lambda_rec": 0.1},
    }

    def __init__(
        self,
        n_shared: Any = 2,
        *,
        lambda_rec: float = 0.5,
        form: Form = "maxvar",
        regularization: float = 1e-3,
        final_cca: bool = True,
        networks: Networks | None = None,
        training: TrainConfig | None = None,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_shared = n_shared
        self.lambda_rec = lambda_rec
        self.form = form
        self.regularization = regularization
        self.final_cca = final_cca
        self.networks = networks
        self.training = training
        self.device = device
        self.random_state = random_state

    def _reads(self, names: Sequence[str]) -> dict[str, str]:
        return dict(zip(names, reversed(names), strict=True))
