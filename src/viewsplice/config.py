"""Settings of training and of geometry: frozen, checked when made, and equal to their JSON form.

A field left out (None) means "the recipe's own value"; `resolve` fills it in, so that inner code only sees
complete settings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar

import numpy as np

from viewsplice._types import DistanceEstimator

LossScale = Literal["fraction", "mean"]
Schedule = Literal["constant", "linear", "cosine"]
Precision = Literal["auto", "float32", "bfloat16"]
Steps = Literal["alternating", "joint"]
C = TypeVar("C", "TrainConfig", "GeometryConfig")

# Typed Any so that fields keep the type they have once resolved.
RECIPE: Any = None

_TRAINING_SETS: dict[str, dict[str, Any]] = {
    "rotated-mnist": {"epochs": 100, "batch_size": 100, "learning_rate": 1e-3},
    "lgn-v1": {"epochs": 25_000, "batch_size": 12_096, "learning_rate": 1e-3},
    "sprites": {"epochs": 5_000, "batch_size": 1_000, "learning_rate": 1e-4},
}
_GEOMETRY_SETS: dict[str, dict[str, Any]] = {
    "rotated-mnist": {"n_neighbors": 100},
    "lgn-v1": {"n_neighbors": 200},
    "sprites": {"n_neighbors": 500},
}


@dataclass(frozen=True)
class TrainConfig:
    """How the networks are trained.

    Parameters
    ----------
    epochs
        Passes over the training rows of one stage.
    batch_size
        Rows per step; the tail is spread over the other batches, so none is smaller.
    learning_rate, weight_decay, beta1, beta2
        Of AdamW, for the autoencoders and for the measurement networks. The fewer the steps, the shorter Adam's memory
        of gradients and of their squares must be: 1 / (1 - beta) steps.
    schedule, final_learning_rate, warmup
        Decay of the autoencoders' learning rate over a stage, the fraction it ends at, and the fraction of the stage
        in which it first rises.
    precision
        Of products of matrices in training; ``"auto"``: bfloat16 where batches are large and the processor has it.
    steps
        ``"alternating"``: every batch takes a reconstruction step and then a disentangling step, as in the paper.
        ``"joint"``: one step on the sum of both, which encodes it once instead of twice.
    input_noise
        Variance of noise added to what the encoders see in training, as a fraction of the view's variance. It falls
        with the learning rate, so that a stage ends without.
    n_msr, measured_rows
        Measurement passes per epoch (the paper's n_msr), and rows of one pass, drawn anew each time (0: all).
    batch_landmarks
        Landmarks that each batch is compared with in the geometric loss, drawn anew each time (0: all).
    disentangle_after
        Fraction of the first stage's epochs before disentangling begins.
    restart_every, restart_passes
        From then on the measurement networks start afresh after each such fraction of the epochs (0: never) and
        take this many passes in that epoch.
    loss_scale
        ``"fraction"``: losses as fractions of the view's variance. ``"mean"``: averages over features in the user's
        units, the form that the published lambda_geo values fit.
    validate_every, judged_rows
        Epochs between evaluations on the validation rows, and how many of them at most (0: all).
    patience
        Evaluations without a better validation objective before a stage stops early (0: never). With a schedule other
        than constant only those of its second half count: at a high rate terms get worse before they get better.
    keep_best
        Whether a stage ends with its best weights by validation objective instead of its last ones.
    max_restarts
        How often a fit that diverges starts over with a derived seed.
    retained_variance
        Fraction of each view's variance that the principal axes in front of the networks keep (1: no such axes).
    scout_epochs, scout_shared, scout_private
        Passes and latent widths of the over-complete first stage (0 passes: none; recipe ``"auto"`` only).
    regression_epochs
        Passes in which the final networks first learn the landmark-MDS coordinates (recipe ``"auto"`` only).
    """

    epochs: int = RECIPE
    batch_size: int = RECIPE
    learning_rate: float = RECIPE
    weight_decay: float = RECIPE
    beta1: float = RECIPE
    beta2: float = RECIPE
    schedule: Schedule = RECIPE
    final_learning_rate: float = RECIPE
    warmup: float = RECIPE
    precision: Precision = RECIPE
    steps: Steps = RECIPE
    input_noise: float = RECIPE
    n_msr: int = RECIPE
    measured_rows: int = RECIPE
    batch_landmarks: int = RECIPE
    disentangle_after: float = RECIPE
    restart_every: float = RECIPE
    restart_passes: int = RECIPE
    loss_scale: LossScale = RECIPE
    validate_every: int = RECIPE
    judged_rows: int = RECIPE
    patience: int = RECIPE
    keep_best: bool = RECIPE
    max_restarts: int = RECIPE
    retained_variance: float = RECIPE
    scout_epochs: int = RECIPE
    scout_shared: int = RECIPE
    scout_private: int = RECIPE
    regression_epochs: int = RECIPE

    def __post_init__(self) -> None:
        counts = ("epochs", "batch_size", "n_msr", "restart_passes", "validate_every", "scout_shared", "scout_private")
        for name in counts:
            check_number(name, getattr(self, name), low=1, integer=True)
        whole = ("patience", "max_restarts", "scout_epochs", "regression_epochs", "measured_rows", "batch_landmarks")
        for name in (*whole, "judged_rows"):
            check_number(name, getattr(self, name), low=0, integer=True)
        check_number("learning_rate", self.learning_rate, low=0, open_low=True)
        check_number("weight_decay", self.weight_decay, low=0)
        check_number("input_noise", self.input_noise, low=0)
        check_number("retained_variance", self.retained_variance, low=0, high=1, open_low=True)
        for name in ("beta1", "beta2", "final_learning_rate", "warmup", "disentangle_after", "restart_every"):
            check_number(name, getattr(self, name), low=0, high=0.9999 if name.startswith("beta") else 1)
        check_choice("steps", self.steps, ("alternating", "joint"))
        check_choice("precision", self.precision, ("auto", "float32", "bfloat16"))
        check_choice("schedule", self.schedule, ("constant", "linear", "cosine"))
        check_choice("loss_scale", self.loss_scale, ("fraction", "mean"))
        check_choice("keep_best", self.keep_best, (True, False))

    @classmethod
    def paper(cls, experiment: str = "rotated-mnist") -> TrainConfig:
        """Return the settings printed in the paper's appendix for one experiment, complete.

        Note: decay, warm-up and restarts are not printed; they are what makes the printed settings work.
        """
        check_choice("experiment", experiment, tuple(_TRAINING_SETS))
        return cls(
            **_TRAINING_SETS[experiment],
            weight_decay=1e-3,
            beta1=0.9,
            beta2=0.999,
            schedule="linear",
            final_learning_rate=0.01,
            warmup=0.0,
            precision="float32",
            steps="alternating",
            input_noise=0.0,
            n_msr=5,
            measured_rows=0,
            batch_landmarks=0,
            disentangle_after=0.1,
            restart_every=0.1,
            restart_passes=20,
            loss_scale="fraction",
            validate_every=1,
            judged_rows=0,
            patience=0,
            keep_best=False,
            max_restarts=0,
            retained_variance=1.0,
            scout_epochs=0,
            scout_shared=1,
            scout_private=1,
            regression_epochs=0,
        )

    def resolve(self, defaults: TrainConfig) -> TrainConfig:
        """Return these settings with every open field taken from ``defaults``."""
        return _resolve(self, defaults)


@dataclass(frozen=True)
class GeometryConfig:
    """How distances along the submanifolds are estimated, and how much they count.

    Parameters
    ----------
    lambda_geo
        Weight of the geometric loss.
    n_neighbors, grow_by
        Neighbors per point at first, and how many more at a time until the graph is connected
        (1: the smallest connected neighborhood; 100: the paper's rule; 0: never grow).
    smoothing
        Neighbors over which points are averaged before the graph is made (0: none): noise across a submanifold would
        lengthen every path.
    n_landmarks
        Points from which distances to all others are computed.
    n_anchors
        Rows at which the other spaces are held; the median over them is taken. One is drawn at random, as in the
        paper; several are medoids of the latent space.
    max_points
        Rows on which distances are estimated at most; the others are embedded through these (0: all rows).
    distance
        Another technique in place of graph geodesics: a function of (points, landmark rows).
    """

    lambda_geo: float = RECIPE
    n_neighbors: int = RECIPE
    grow_by: int = RECIPE
    smoothing: int = RECIPE
    n_landmarks: int = RECIPE
    n_anchors: int = RECIPE
    max_points: int = RECIPE
    distance: DistanceEstimator | None = None

    def __post_init__(self) -> None:
        check_number("lambda_geo", self.lambda_geo, low=0)
        check_number("n_neighbors", self.n_neighbors, low=1, integer=True)
        check_number("grow_by", self.grow_by, low=0, integer=True)
        check_number("n_landmarks", self.n_landmarks, low=2, integer=True)
        check_number("smoothing", self.smoothing, low=0, integer=True)
        check_number("n_anchors", self.n_anchors, low=1, integer=True)
        check_number("max_points", self.max_points, low=0, integer=True)
        if self.distance is not None and not callable(self.distance):
            raise TypeError(f"distance is {self.distance!r}; expected a function of (points, landmark rows), or None")

    @classmethod
    def paper(cls, experiment: str = "rotated-mnist") -> GeometryConfig:
        """Return the neighbors and landmarks printed in the paper for one experiment, complete.

        Note: ``lambda_geo`` is the constant for losses in fractions of variance; the printed values (0.01, 0.05, 0.005)
        belong to ``TrainConfig(loss_scale="mean")``.
        """
        check_choice("experiment", experiment, tuple(_GEOMETRY_SETS))
        return cls(
            **_GEOMETRY_SETS[experiment],
            lambda_geo=0.1,
            grow_by=100,
            smoothing=0,
            n_landmarks=100,
            n_anchors=1,
            max_points=0,
        )

    def resolve(self, defaults: GeometryConfig) -> GeometryConfig:
        """Return these settings with every open field taken from ``defaults``."""
        return _resolve(self, defaults)


def _resolve(config: C, defaults: C) -> C:
    open_fields = {f.name: getattr(defaults, f.name) for f in fields(config) if getattr(config, f.name) is None}
    return replace(config, **open_fields)


def to_dict(config: Any) -> dict[str, Any]:
    """Return a settings object as plain JSON values (fields that were set only)."""
    values = {f.name: getattr(config, f.name) for f in fields(config)}
    plain = {name: v.item() if isinstance(v, np.generic) else v for name, v in values.items() if v is not None}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in plain.items()}


def from_dict(kind: type[C], values: Mapping[str, Any]) -> C:
    """Return the settings object that `to_dict` wrote; unknown fields are an error that names them."""
    known = {f.name for f in fields(kind)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise ValueError(f"unknown {kind.__name__} settings {unknown}; expected some of {sorted(known)}")
    return kind(**values)


def check_number(
    name: str,
    value: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    integer: bool = False,
    open_low: bool = False,
) -> None:
    """Raise unless ``value`` is None or a number within the bounds."""
    if value is None:
        return
    kinds = (int, np.integer) if integer else (int, float, np.integer, np.floating)
    expected = "an integer" if integer else "a finite number"
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise TypeError(f"{name} is {value!r}; expected {expected}")
    too_low = low is not None and (value < low or (open_low and value == low))
    too_high = high is not None and value > high
    # An integer may be too large to be looked at as a float, and is finite anyway.
    if (not isinstance(value, int) and not math.isfinite(value)) or too_low or too_high:
        bounds = [f"{'above' if open_low else 'of at least'} {low}"] if low is not None else []
        bounds += [f"at most {high}"] if high is not None else []
        raise ValueError(f"{name} is {value!r}; expected {expected} {' and '.join(bounds)}")


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Raise unless ``value`` is None or one of the choices."""
    if value is not None and value not in choices:
        raise ValueError(f"{name} is {value!r}; expected one of {list(choices)}")
