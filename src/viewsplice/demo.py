"""The demonstration: simulated data with known truth, fitted and shown beside that truth."""

from __future__ import annotations

from collections.abc import Sequence

from viewsplice._types import Array
from viewsplice.config import GeometryConfig, TrainConfig
from viewsplice.datasets import MultiViewData, sheet_and_lines
from viewsplice.estimator import SPLICE
from viewsplice.metrics import linear_r2


def demo_data(*, quick: bool) -> MultiViewData:
    """Return two simulated brain areas that share a 2-D sheet, each with a line of its own."""
    return sheet_and_lines(n_samples=800 if quick else 2000, random_state=0)


def demo_model(*, quick: bool) -> SPLICE:
    """Return the estimator of the demonstration: the paper's recipe with batches and epochs for small data."""
    return SPLICE(
        n_shared=2,
        n_private=1,
        training=TrainConfig(epochs=20 if quick else 100, batch_size=50),
        geometry=GeometryConfig(n_neighbors=12, grow_by=1),
        random_state=0,
    )


def truth_sentences(model: SPLICE, data: MultiViewData) -> list[str]:
    """Return what a straight line through the latents tells about the true factors of the test rows."""
    train, test = data.rows("train"), data.rows("test")
    latents, held_out = model.transform(train.views).spaces(), model.transform(test.views).spaces()
    factors, truth = train.factors(), test.factors()
    pairs = [(space, name) for space in data.views.names for name in factors if name.startswith(f"{space}/")]
    pairs += [(space, name) for space in latents if "->" in space for name in data.shared]
    return [
        f"Test rows: {name} is decoded linearly from {space} with R² = "
        f"{_r2(latents[space], factors[name], held_out[space], truth[name]):.3f}."
        for space, name in pairs
    ]


def _r2(latents: Array, factor: Array, held_out: Array, truth: Array) -> float:
    return float(linear_r2(latents, factor, held_out, truth)[0])


def demo_notes(model: SPLICE, data: MultiViewData, *, quick: bool) -> Sequence[str]:
    """Return the sentences that stand on top of the demonstration's report."""
    intro = (
        "Simulated data with known truth: both views see the position (x, y) on a sheet, each has a line of its own."
    )
    reduced = ["Quick demonstration: fewer rows and epochs, so figures are rougher than with the full one."]
    return [intro, *(reduced if quick else []), *truth_sentences(model, data)]
