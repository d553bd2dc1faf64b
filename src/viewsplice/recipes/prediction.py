"""Whether shared spaces predict held-out rows of the other view at least as well as a straight line does.

A line knows nothing of curved spaces, so a fit that falls behind it has not found what is shared: noise is too strong
for the networks, or private spaces keep what belongs to both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from viewsplice._random import torch_generator
from viewsplice._types import Latents, TensorViews
from viewsplice.chunks import CHUNK_ROWS
from viewsplice.geometry.targets import encode_rows
from viewsplice.model import SpliceNet
from viewsplice.recipes.problem import Choice
from viewsplice.spool import give_back
from viewsplice.training.alternating import TrainingData, take

# Rows that the line learns from, rows that judge, and fewer of these than tell anything.
_MOST_ROWS, _MOST_JUDGED, _FEWEST_JUDGED = 3000, 1000, 20
# Private parts over which a prediction is averaged.
_N_DRAWS = 16
# In units of the mean eigenvalue.
_RIDGES = tuple(10.0**power for power in range(-3, 4))
# A line is ahead if it predicts this much more of the variance, this fraction of what it predicts at all, and this
# many standard errors.
_LEAST_AHEAD, _LEAST_FRACTION, _N_ERRORS = 0.02, 0.25, 3.0


def check_prediction(
    model: SpliceNet, data: TrainingData, asked: Mapping[str, int | None], seed: int
) -> dict[str, Choice]:
    """Return ``linear/A``, a choice that is weak, for every view A that a line predicts better than shared spaces.

    A view whose incoming shared spaces are ``asked`` to have no dimension is not doubted.
    """
    if len(data.validation) < _FEWEST_JUDGED:
        return {}
    give_back()  # what training has freed
    judged = _some(data.validation, _MOST_JUDGED, seed)
    line, ours = linear_errors(data, judged, seed), shared_errors(model, data.views, judged, seed)
    found = {}
    for view, unit in data.units.items():
        if all(asked[space] == 0 for space in model.incoming(view)):
            continue
        ahead = (ours[view] - line[view]) / unit
        linear, shared = (1 - float(errors[view].mean()) / unit for errors in (line, ours))
        error = float(ahead.std()) / len(ahead) ** 0.5
        if linear - shared > max(_LEAST_AHEAD, _LEAST_FRACTION * linear, _N_ERRORS * error):
            others = "the other view" if len(data.units) == 2 else "the other views"
            reason = (
                f"linear regression on {others} predicts {linear:.1%} of its variance on held-out rows, this fit "
                f"{shared:.1%}: what is shared is not well estimated here, as happens where noise is strong; "
                "compare viewsplice.baselines.RRR before you rely on the shared spaces and their number of dimensions"
            )
            found[f"linear/{view}"] = Choice(linear, reason, is_weak=True)
    return found


def predicted_share(model: SpliceNet, data: TrainingData, seed: int) -> float:
    """Return the share of variance that shared spaces predict on held-out rows, averaged over views."""
    judged = _some(data.validation, _MOST_JUDGED, seed)
    errors = shared_errors(model, data.views, judged, seed)
    return 1 - sum(float(errors[view].mean()) / unit for view, unit in data.units.items()) / len(data.units)


@torch.no_grad()
def linear_errors(data: TrainingData, judged: Tensor, seed: int) -> dict[str, Tensor]:
    """Return, by view, the squared error of ridge regression on all other views for every judged row.

    The ridge is the one that predicts these rows best: one number chosen on many rows flatters little.
    """
    train = _some(data.train, _MOST_ROWS, seed)
    found = {}
    for view, x in data.views.items():
        others, truth = [name for name in data.views if name != view], x.index_select(0, judged)
        errors = [(truth - guess).square().sum(dim=1) for guess in _ridge(data.views, others, view, train, judged)]
        found[view] = min(errors, key=lambda error: float(error.mean()))
        give_back()
    return found


@torch.no_grad()
def shared_errors(model: SpliceNet, views: TensorViews, judged: Tensor, seed: int) -> dict[str, Tensor]:
    """Return, by view, the squared error of what its incoming shared spaces predict for every judged row.

    A prediction is the mean over private parts. Over a few of them it strays by their variance divided by their
    number, which is taken off.
    """
    latents, truth = encode_rows(model, views, judged), take(views, judged)
    generator = torch_generator(seed, "prediction")
    found = {}
    for view, x in truth.items():
        n_draws = _N_DRAWS if model.n_private[view] else 1
        total, square = torch.zeros_like(x), torch.zeros_like(x)
        for _ in range(n_draws):
            order = torch.randperm(len(judged), generator=generator).to(judged.device)
            private = {**latents.private, view: latents.private[view][order]}
            drawn = model.decode_view(view, Latents(private=private, shared=latents.shared))
            total, square = total + drawn, square + drawn.square()
        mean = total / n_draws
        spread = (square / n_draws - mean.square()) / max(1, n_draws - 1)
        found[view] = ((x - mean).square() - spread).sum(dim=1)
    return found


def _ridge(views: TensorViews, sources: Sequence[str], target: str, train: Tensor, judged: Tensor) -> Iterator[Tensor]:
    """Yield predictions for judged rows, one for each ridge, all from one decomposition of the smaller side."""
    x, y, x_new = _joined(views, sources, train), _joined(views, [target], train), _joined(views, sources, judged)
    x_mean, y_mean = x.mean(dim=0), y.mean(dim=0)
    x, y, x_new = x.sub_(x_mean), y.sub_(y_mean), x_new.sub_(x_mean)
    if x.shape[1] <= len(x):
        gram, moment = _product(x, x), _product(x, y)
    else:
        gram, moment, x_new = _product(x.T, x.T), y.double(), _product(x_new.T, x.T)
    del x, y  # as much memory as the rest takes
    give_back()
    values, axes = torch.linalg.eigh(gram)
    values, turned, moment = values.clamp(min=0), x_new.double() @ axes, axes.T @ moment
    unit = values.mean() + torch.finfo(values.dtype).tiny
    for ridge in _RIDGES:
        yield (turned / (values + ridge * unit) @ moment).to(y_mean) + y_mean


def _joined(views: TensorViews, names: Sequence[str], rows: Tensor) -> Tensor:
    return torch.cat([views[name].index_select(0, rows) for name in names], dim=1)


def _product(first: Tensor, second: Tensor) -> Tensor:
    """Return ``first.T @ second`` in double precision, of which only a few rows exist at a time."""
    total = torch.zeros(first.shape[1], second.shape[1], dtype=torch.float64, device=first.device)
    for one, other in zip(first.split(CHUNK_ROWS), second.split(CHUNK_ROWS), strict=True):
        total.addmm_(one.double().T, other.double())
    return total


def _some(rows: Tensor, most: int, seed: int) -> Tensor:
    order = torch.randperm(len(rows), generator=torch_generator(seed, "predicted rows"))[:most]
    return rows[order.to(rows.device)]
