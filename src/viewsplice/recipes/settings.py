"""Complete settings: what the user left open is the recipe's own, and `auto` takes it from the size of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping

from viewsplice._types import Networks
from viewsplice.config import GeometryConfig, TrainConfig
from viewsplice.networks import ConvNetworks, MLPNetworks, ResidualNetworks
from viewsplice.recipes.problem import Choice, Settings

_MAKERS = ("encoder", "decoder", "measurer")
# Seventeen epochs of 12,000 rows settle a scout; the more rows, the fewer passes over them. It is done after about as
# many steps whatever the rows, while the compact networks gain from every pass.
_EPOCHS, _ROWS, _FEWEST_EPOCHS, _MOST_EPOCHS, _FEWEST_SCOUT_EPOCHS = 17, 12_000, 18, 40, 8
_WIDTH, _FREQUENCIES = 256, 128
# Large images hold more than neurons do: wider networks, decoders that can fill more dimensions than they have units,
# and more passes.
_WIDE_FEATURES, _WIDE_WIDTH, _WIDE_HEAD, _WIDE_PASSES = 2_048, 512, 1_024, 2
# The more steps, the lower the rate and the longer Adam's memory may be: it is always this part of the stage.
_RATE, _STEPS, _LOWEST_RATE = 4e-3, 800, 1e-3
_MEMORY, _SHORTEST_MEMORY, _LONGEST_MEMORY = 1 / 40, 0.9, 0.999
# Enough steps per epoch count for few rows, and large products for many.
_BATCHES_PER_EPOCH, _SMALLEST_BATCH, _LARGEST_BATCH = 20, 32, 256
_MANY_ROWS, _LARGEST_BATCH_OF_MANY = 36_000, 512
# Landmarks of one batch: each must be encoded, and few make a noisy geometry.
_ROWS_PER_BATCH_LANDMARK, _FEWEST_BATCH_LANDMARKS = 4, 32
# Landmarks place a point by as many distances: ten per dimension, and enough for the widths that are looked for.
_N_LANDMARKS, _MOST_LANDMARKS, _LANDMARKS_PER_WIDTH, _ROWS_PER_LANDMARK = 160, 300, 10, 20
_MAX_POINTS = 6_000
# Sixteen points in a row without a gap wider than their span: fewer neighbors leave rings open now and then.
_N_NEIGHBORS = 16
_SMOOTHING, _ROWS_PER_SMOOTHED = 12, 200
_SCOUT_SHARED, _SCOUT_PRIVATE = 16, 4


def choose_settings(
    recipe: str,
    networks: Networks | None,
    training: TrainConfig | None,
    geometry: GeometryConfig | str | None,
    *,
    n_rows: int,
    widths: Mapping[str, int | None],
    n_features: int = 0,
) -> Settings:
    """Return complete settings for so many rows, features of the widest view, and latent widths (None: to be found)."""
    if recipe not in ("auto", "paper"):
        raise ValueError(f"recipe is {recipe!r}; expected 'auto' or 'paper'")
    if isinstance(geometry, str) and geometry != "default":
        raise ValueError(f"geometry is {geometry!r}; expected a GeometryConfig, 'default', or None")
    own = GeometryConfig() if isinstance(geometry, str) else geometry
    if own is not None and not isinstance(own, GeometryConfig):
        raise TypeError(f"geometry is {own!r}; expected a GeometryConfig, 'default', or None")
    if isinstance(networks, type):
        raise TypeError(f"networks is the class {networks.__name__}; expected one made of it: {networks.__name__}()")
    if networks is not None and not all(callable(getattr(networks, name, None)) for name in _MAKERS):
        raise TypeError(
            f"networks is {networks!r}; expected MLPNetworks or the like, with {', '.join(_MAKERS)}, or None"
        )
    if training is not None and not isinstance(training, TrainConfig):
        raise TypeError(f"training is {training!r}; expected a TrainConfig or None")
    if recipe == "auto":
        made = networks if networks is not None else auto_networks(n_features, has_geometry=own is not None)
        defaults, distances = auto_training(n_rows, widths, made, n_features), auto_geometry(n_rows, widths)
    else:
        made = networks if networks is not None else MLPNetworks.paper()
        defaults, distances = TrainConfig.paper(), GeometryConfig.paper()
    return Settings(
        recipe=recipe,
        networks=made,
        training=(training or TrainConfig()).resolve(defaults),
        geometry=own.resolve(distances) if own is not None else None,
    )


def auto_networks(n_features: int = 0, *, has_geometry: bool = True) -> ResidualNetworks:
    """Return the networks of recipe ``"auto"`` for views of at most so many features.

    Fourier features are for latents of unit variance, which only geometry gives: elsewhere they turn too fast.
    """
    width, head = (_WIDE_WIDTH, _WIDE_HEAD) if n_features > _WIDE_FEATURES else (_WIDTH, 0)
    n_frequencies = _FREQUENCIES if has_geometry else 0
    return ResidualNetworks(width, 2, n_frequencies=n_frequencies, frequency_scale=6.0, gated=True, head=head)


def auto_training(
    n_rows: int, widths: Mapping[str, int | None], networks: Networks, n_features: int = 0
) -> TrainConfig:
    """Return the training settings of recipe ``"auto"`` for so many rows, and features of the widest view."""
    passes = _WIDE_PASSES if n_features > _WIDE_FEATURES else 1
    epochs = min(max(round(_EPOCHS * (_ROWS / n_rows) ** 0.25), _FEWEST_EPOCHS), _MOST_EPOCHS)
    scout_epochs = passes * min(max(round(_EPOCHS * (_ROWS / n_rows) ** 0.5), _FEWEST_SCOUT_EPOCHS), epochs)
    epochs *= passes
    batch = 2 ** round(math.log2(max(1, n_rows / _BATCHES_PER_EPOCH)))
    largest = _LARGEST_BATCH_OF_MANY if n_rows > _MANY_ROWS else _LARGEST_BATCH
    batch_size = min(max(batch, _SMALLEST_BATCH), largest, max(1, n_rows // 2))
    n_steps = epochs * max(1, n_rows // batch_size)
    shared = [width or 0 for name, width in widths.items() if "->" in name]
    return TrainConfig(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=min(max(_RATE * math.sqrt(_STEPS / n_steps), _LOWEST_RATE), _RATE),
        weight_decay=0.2,
        beta1=0.5,
        beta2=min(max(1 - 1 / (_MEMORY * n_steps), _SHORTEST_MEMORY), _LONGEST_MEMORY),
        schedule="cosine",
        final_learning_rate=0.01,
        warmup=0.05,
        precision="auto",
        steps="joint",
        input_noise=0.3,
        n_msr=2,
        measured_rows=8_192,
        batch_landmarks=max(_FEWEST_BATCH_LANDMARKS, batch_size // _ROWS_PER_BATCH_LANDMARK),
        disentangle_after=0.15,
        restart_every=0.0,
        restart_passes=8,
        loss_scale="fraction",
        validate_every=1,
        judged_rows=2_048,
        patience=max(3, epochs // 4),
        keep_best=True,
        max_restarts=2,
        retained_variance=1.0 if isinstance(networks, ConvNetworks) else 0.995,
        scout_epochs=scout_epochs,
        scout_shared=max(_SCOUT_SHARED, *shared, 1),
        scout_private=_SCOUT_PRIVATE,
        regression_epochs=round(scout_epochs / 2),
    )


def auto_geometry(n_rows: int, widths: Mapping[str, int | None]) -> GeometryConfig:
    """Return the geometry settings of recipe ``"auto"`` for so many rows and latent widths."""
    widest = max([0, *(width or 0 for width in widths.values())])
    wanted = min(max(_N_LANDMARKS, _LANDMARKS_PER_WIDTH * widest), _MOST_LANDMARKS)
    n_landmarks = max(2, min(max(min(wanted, n_rows // _ROWS_PER_LANDMARK), 2 * widest, 50), n_rows // 4))
    return GeometryConfig(
        lambda_geo=2.0,
        n_neighbors=max(1, min(_N_NEIGHBORS, n_rows // 4)),
        grow_by=1,
        smoothing=min(_SMOOTHING, n_rows // _ROWS_PER_SMOOTHED),
        n_landmarks=n_landmarks,
        n_anchors=3,
        max_points=max(_MAX_POINTS, 4 * n_landmarks),
    )


def explain_settings(settings: Settings, n_rows: int) -> dict[str, Choice]:
    """Return what recipe ``"auto"`` chose by the size of the data, with the reasons."""
    training, geometry = settings.training, settings.geometry
    budget = (
        f"at most, and {training.scout_epochs} of the scout, from {n_rows:,} rows: the more rows, the fewer passes, "
        f"and {_WIDE_PASSES} times as many for views of more than {_WIDE_FEATURES:,} features"
    )
    choices = {
        "batch_size": Choice(
            training.batch_size,
            f"{n_rows:,} rows / {_BATCHES_PER_EPOCH}, between {_SMALLEST_BATCH} and {_LARGEST_BATCH} "
            f"({_LARGEST_BATCH_OF_MANY} if there are more than {_MANY_ROWS:,})",
        ),
        "learning_rate": Choice(training.learning_rate, "falls with the root of the steps; warm-up, cosine decay"),
        "epochs": Choice(
            training.epochs, f"{budget}; in the second half, ends early after {training.patience} without held-out gain"
        ),
    }
    if geometry is not None:
        choices |= {
            "scout_shared": Choice(training.scout_shared, "over-complete: geometry, not this width, decides"),
            "scout_private": Choice(training.scout_private, "over-complete: geometry, not this width, decides"),
            "smoothing": Choice(geometry.smoothing, "neighbors that each decoded point is averaged with"),
            "n_landmarks": Choice(
                geometry.n_landmarks, "ten per dimension, 160 to 300, at most a twentieth of the rows, at least 50"
            ),
            "n_anchors": Choice(geometry.n_anchors, "medoids of the latent space; medians over them count"),
            "max_points": Choice(
                geometry.max_points, "rows that carry the geodesics; others are embedded through them"
            ),
            "lambda_geo": Choice(geometry.lambda_geo, "one constant for losses in fractions of variance"),
        }
    return choices
