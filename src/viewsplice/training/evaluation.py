"""Loss terms on rows that are not trained on."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from viewsplice._types import TensorViews
from viewsplice.chunks import CHUNK_ROWS
from viewsplice.losses import squared_error
from viewsplice.model import SpliceNet
from viewsplice.training.alternating import encode_private, take
from viewsplice.training.objectives import Units, autoencoding
from viewsplice.views import endpoints


@torch.no_grad()
def evaluate(
    model: SpliceNet, views: TensorViews, rows: Tensor, units: Units, *, with_measurers: bool = True
) -> dict[str, float]:
    """Return ``rec/...`` and, where measurement networks are trained, ``pred/...`` and ``dis/...`` of some rows.

    Variances are over all given rows, not over batches.
    """
    sums: dict[str, float] = {}
    for chunk in rows.split(CHUNK_ROWS):
        for name, value in autoencoding(model, take(views, chunk), units).parts.items():
            sums[name] = sums.get(name, 0.0) + float(value) * len(chunk) / len(rows)
    if with_measurers and len(model.measurers) > 0:
        sums |= _measured(model, views, rows, units)
    return sums


def _measured(model: SpliceNet, views: TensorViews, rows: Tensor, units: Units) -> dict[str, float]:
    """Return ``pred/...`` and ``dis/...`` from running sums over all rows, so that no full prediction is ever held."""
    found = {}
    seen = model.measured(encode_private(model, views, rows))
    for name, network in model.measurers.items():
        source, target = endpoints(name)
        error, total = 0.0, torch.zeros((), dtype=torch.float64)
        square = total
        for chunk, z in zip(rows.split(CHUNK_ROWS), seen[source].split(CHUNK_ROWS), strict=True):
            x_pred = network(z)
            error += float(squared_error(views[target][chunk], x_pred, units[target])) * len(chunk) / len(rows)
            x_pred = x_pred.double()
            total, square = total + x_pred.sum(dim=0), square + x_pred.square().sum(dim=0)
        mean = total / len(rows)
        found[f"pred/{name}"] = error
        found[f"dis/{name}"] = float((square / len(rows) - mean.square()).sum()) / units[target]
    return found


def objective(terms: Mapping[str, float], lambda_dis: float) -> float:
    """Return sum of rec + lambda_dis x sum of dis: the quantity that chooses epochs and settings, lower is better."""
    reconstruction = sum(value for name, value in terms.items() if name.startswith("rec/"))
    leakage = sum(value for name, value in terms.items() if name.startswith("dis/"))
    return reconstruction + lambda_dis * leakage
