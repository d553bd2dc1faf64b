"""Complete settings: what the user left open is the recipe's own, and `auto` takes it from the size of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping

from viewsplice._types import Networks
from viewsplice.config import GeometryConfig, TrainConfig
from viewsplice.networks import ConvNetworks, MLPNetworks, ResidualNetworks
from viewsplice.recipes.problem import Choice, Settings

_MAKERS = ("encoder", "decoder", "measurer")
# Twenty epochs of 12,000 rows settle a stage; the steps needed grow with the root of the number of rows.
_EPOCHS, _ROWS, _FEWEST_EPOCHS, _MOST_EPOCHS = 20, 12_000, 8, 40
_BATCHES_PER_EPOCH, _SMALLEST_BATCH, _LARGEST_BATCH = 16, 32, 256
_N_LANDMARKS, _ROWS_PER_LANDMARK, _MAX_POINTS = 300, 20, 8_000
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
) -> Settings:
    """Return complete settings for so many rows and latent widths (None: to be found)."""
    if recipe not in ("auto", "paper"):
        raise ValueError(f"recipe is {recipe!r}; expected 'auto' or 'paper'")
    if isinstance(geometry, str) and geometry != "default":
        raise ValueError(f"geometry is {geometry!r}; expected a GeometryConfig, 'default', or None")
    own = GeometryConfig() if isinstance(geometry, str) else geometry
    if own is not None and not isinstance(own, GeometryConfig):
        raise TypeError(f"geometry is {own!r}; expected a GeometryConfig, 'default', or None")
    if networks is not None and not all(callable(getattr(networks, name, None)) for name in _MAKERS):
        raise TypeError(
            f"networks is {networks!r}; expected MLPNetworks or the like, with {', '.join(_MAKERS)}, or None"
        )
    if training is not None and not isinstance(training, TrainConfig):
        raise TypeError(f"training is {training!r}; expected a TrainConfig or None")
    if recipe == "auto":
        made = networks if networks is not None else auto_networks()
        defaults, distances = auto_training(n_rows, widths, made), auto_geometry(n_rows, widths)
    else:
        made = networks if networks is not None else MLPNetworks.paper()
        defaults, distances = TrainConfig.paper(), GeometryConfig.paper()
    return Settings(
        recipe=recipe,
        networks=made,
        training=(training or TrainConfig()).resolve(defaults),
        geometry=own.resolve(distances) if own is not None else None,
    )


def auto_networks() -> ResidualNetworks:
    """Return the networks of recipe ``"auto"``."""
    return ResidualNetworks(width=256, n_blocks=3, n_frequencies=128, frequency_scale=6.0)


def auto_training(n_rows: int, widths: Mapping[str, int | None], networks: Networks) -> TrainConfig:
    """Return the training settings of recipe ``"auto"`` for so many rows."""
    epochs = min(max(round(_EPOCHS * math.sqrt(_ROWS / n_rows)), _FEWEST_EPOCHS), _MOST_EPOCHS)
    batch = 2 ** round(math.log2(max(1, n_rows / _BATCHES_PER_EPOCH)))
    shared = [width or 0 for name, width in widths.items() if "->" in name]
    private = [width or 0 for name, width in widths.items() if "->" not in name]
    return TrainConfig(
        epochs=epochs,
        batch_size=min(max(batch, _SMALLEST_BATCH), _LARGEST_BATCH, max(1, n_rows // 2)),
        learning_rate=2e-3,
        weight_decay=1e-2,
        schedule="cosine",
        final_learning_rate=0.01,
        warmup=0.05,
        steps="joint",
        input_noise=0.3,
        n_msr=2,
        measured_rows=16_384,
        batch_landmarks=32,
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
        scout_epochs=epochs,
        scout_shared=max(_SCOUT_SHARED, *shared, 1),
        scout_private=max(_SCOUT_PRIVATE, *(2 * width for width in private), 1),
        regression_epochs=max(2, epochs // 5),
    )


def auto_geometry(n_rows: int, widths: Mapping[str, int | None]) -> GeometryConfig:
    """Return the geometry settings of recipe ``"auto"`` for so many rows and latent widths."""
    widest = max([0, *(width or 0 for width in widths.values())])
    n_landmarks = max(2, min(max(min(_N_LANDMARKS, n_rows // _ROWS_PER_LANDMARK), 2 * widest, 50), n_rows // 4))
    return GeometryConfig(
        lambda_geo=1.0,
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
    budget = f"{training.epochs} epochs at most, from {n_rows:,} rows: steps grow with the root of the rows"
    choices = {
        "batch_size": Choice(training.batch_size, f"{n_rows:,} rows / {_BATCHES_PER_EPOCH}, between 32 and 256"),
        "learning_rate": Choice(training.learning_rate, "with warm-up and cosine decay, half of it in the last stage"),
        "epochs": Choice(training.epochs, f"{budget}; ends early after {training.patience} without held-out gain"),
    }
    if geometry is not None:
        choices |= {
            "scout_shared": Choice(training.scout_shared, "over-complete: geometry, not this width, decides"),
            "scout_private": Choice(training.scout_private, "over-complete: geometry, not this width, decides"),
            "smoothing": Choice(geometry.smoothing, "neighbors that each decoded point is averaged with"),
            "n_landmarks": Choice(geometry.n_landmarks, "a twentieth of the rows, 50 to 300, twice the widest space"),
            "n_anchors": Choice(geometry.n_anchors, "medoids of the latent space; medians over them count"),
            "max_points": Choice(
                geometry.max_points, "rows that carry the geodesics; others are embedded through them"
            ),
            "lambda_geo": Choice(geometry.lambda_geo, "one constant for losses in fractions of variance"),
        }
    return choices
