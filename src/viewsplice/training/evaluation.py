"""Loss terms on rows that are not trained on."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from viewsplice._types import TensorViews
from viewsplice.chunks import CHUNK_ROWS
from viewsplice.model import SpliceNet
from viewsplice.training.alternating import encode_private, take
from viewsplice.training.objectives import Units, autoencoding, measurement
from viewsplice.views import endpoints


@torch.no_grad()
def evaluate(
    model: SpliceNet, views: TensorViews, rows: Tensor, units: Units, *, with_measurers: bool = True
) -> dict[str, float]:
    """Return ``rec/...`` and, where measurement networks are trained, ``pred/...`` and ``dis/...`` of some rows.

    Variances are over all given rows, not over batches.
    """
    with_measurers = with_measurers and len(model.measurers) > 0
    sums: dict[str, float] = {}
    for chunk in rows.split(CHUNK_ROWS):
        batch = take(views, chunk)
        terms = dict(autoencoding(model, batch, units).parts)
        if with_measurers:
            terms |= measurement(model, model.encode_private(batch), batch, units).parts
        for name, value in terms.items():
            sums[name] = sums.get(name, 0.0) + float(value) * len(chunk) / len(rows)
    if with_measurers:
        sums |= _predictabilities(model, encode_private(model, views, rows), units)
    return sums


def _predictabilities(model: SpliceNet, private: Mapping[str, Tensor], units: Units) -> dict[str, float]:
    """Return ``dis/...`` over all rows from running sums, so that no full prediction is ever held."""
    found = {}
    for name, network in model.measurers.items():
        source, target = endpoints(name)
        total = square = torch.zeros((), dtype=torch.float64)
        for z in private[source].split(CHUNK_ROWS):
            x_pred = network(z).double()
            total, square = total + x_pred.sum(dim=0), square + x_pred.square().sum(dim=0)
        n_rows = len(private[source])
        found[f"dis/{name}"] = float((square / n_rows - (total / n_rows).square()).sum()) / units[target]
    return found


def objective(terms: Mapping[str, float], lambda_dis: float) -> float:
    """Return sum of rec + lambda_dis x sum of dis: the quantity that chooses epochs and settings, lower is better."""
    reconstruction = sum(value for name, value in terms.items() if name.startswith("rec/"))
    leakage = sum(value for name, value in terms.items() if name.startswith("dis/"))
    return reconstruction + lambda_dis * leakage
