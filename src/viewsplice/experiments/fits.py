"""Fits as parts of an experiment: SPLICE on the training and validation rows of a data set, kept as a saved model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from viewsplice._types import Array, Latents
from viewsplice.baselines import DeepCCA
from viewsplice.baselines.linear import LinearBaseline
from viewsplice.config import TrainConfig
from viewsplice.datasets import MultiViewData
from viewsplice.estimator import SPLICE
from viewsplice.experiments.parts import Part
from viewsplice.experiments.stopwatch import Stopwatch
from viewsplice.io import write_json
from viewsplice.metrics import effective_dimension_of, is_collapsed, latent_spread, reconstruction_r2
from viewsplice.persistence import settings_to_json
from viewsplice.recipes import choose_settings
from viewsplice.training.loop import Callback

MODEL, FIT = "model.splice", "fit.json"
# What `--quick` trains with: enough to fill every table and figure, too little to trust any.
QUICK = TrainConfig(scout_epochs=4, epochs=4, regression_epochs=2, batch_size=64)
NOMINAL_ROWS = 10_000


@dataclass(frozen=True)
class Options:
    """What the user chose for a reproduction.

    Attributes
    ----------
    seeds
        One run each; sweeps use the first.
    quick
        Reduced data and training.
    data
        Where the data are; None: the environment variable VIEWSPLICE_DATA says it.
    callbacks
        Told of every epoch of every fit.
    baselines
        Whether the methods that the paper compares with run, too.
    """

    seeds: Sequence[int]
    quick: bool = False
    data: Path | None = None
    callbacks: Sequence[Callback] = ()
    baselines: bool = False


class Model(Protocol):
    """What is judged: a fit of SPLICE, or of a baseline behind the same contract."""

    @property
    def n_shared_(self) -> Mapping[str, int]:
        """Width of each shared space."""
        ...

    @property
    def n_private_(self) -> Mapping[str, int]:
        """Width of each private space."""
        ...

    def transform(self, X: Any, y: Any = None) -> Latents[Array]:
        """Return the latents that the given views determine."""
        ...

    def reconstruct(self, X: Any, y: Any = None) -> dict[str, Array]:
        """Return every view rebuilt."""
        ...


def fit_part(
    name: str,
    load: Callable[[], MultiViewData],
    data_settings: Mapping[str, Any],
    params: Mapping[str, Any],
    options: Options,
    *,
    minutes: float,
) -> Part:
    """Return the part that fits SPLICE with ``params`` to what ``load`` returns, and saves the model.

    Parameters
    ----------
    name
        Of the part.
    load, data_settings
        Returns the data, when the part is done; and everything they depend on.
    params
        Of the estimator.
    options
        The user's choices.
    minutes
        As in `Part`.
    """
    chosen = dict(params)
    if options.quick:
        chosen["training"] = QUICK

    def work(folder: Path, _: Mapping[str, Path]) -> None:
        kept = folder.with_name(part.checkpoint)
        callbacks = [*options.callbacks, Stopwatch(kept).note]
        views, validation = load().training()
        model = SPLICE(**chosen).fit(views, validation=validation, callbacks=callbacks, checkpoint=kept)
        model.save(folder / MODEL)
        write_json(folder / FIT, {"attempts": model.history_[-1]["attempt"] + 1, "notes": model.notes_})

    part = Part(name, fit_settings(data_settings, chosen), work, minutes, heavy=(MODEL,))
    return part


def fit_settings(data_settings: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything a fit depends on, the recipe's own settings included.

    A nominal number of rows stands for all, and so does one of features unless the data's settings tell it.
    """
    resolved = choose_settings(
        params.get("recipe", "auto"),
        params.get("networks"),
        params.get("training"),
        params.get("geometry", "default"),
        n_rows=NOMINAL_ROWS,
        widths={},
        n_features=data_settings.get("n_features", 0),
    )
    return {
        "data": dict(data_settings),
        "estimator": settings_to_json(params),
        "resolved": settings_to_json(vars(resolved)),
    }


def load_fit(folder: Path) -> SPLICE:
    """Return the model of a finished fit."""
    return SPLICE.load(folder / MODEL)


def has_decoders(model: Model) -> bool:
    """Tell whether a method rebuilds views itself: for some, `reconstruct` is least squares added afterwards."""
    return not isinstance(model, LinearBaseline | DeepCCA)


def stand_beside(model: Model, test: MultiViewData, latents: Mapping[str, Array]) -> dict[str, Any]:
    """Return what stands beside every score: reconstruction R² by view, and spread and dimension of each space.

    Without decoders there is no reconstruction R².
    """
    rebuilt = model.reconstruct(test.views) if has_decoders(model) else {}
    used = {name: z for name, z in latents.items() if z.shape[1]}
    return {
        "rows": len(test),
        "widths": {**model.n_shared_, **model.n_private_},
        "reconstruction_r2": {name: reconstruction_r2(test.views[name], x_hat) for name, x_hat in rebuilt.items()},
        "effective_dimension": {name: effective_dimension_of(z) for name, z in used.items()},
        "spread": {name: latent_spread(z) for name, z in used.items()},
        "collapsed": [name for name, z in used.items() if is_collapsed(z)],
    }
