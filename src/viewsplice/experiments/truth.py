"""Latents beside a known truth: what a space should tell, linearly; what it should not, by any probe."""

from __future__ import annotations

from typing import Any

from viewsplice.datasets import MultiViewData
from viewsplice.experiments.fits import Model, stand_beside
from viewsplice.metrics import linear_r2
from viewsplice.trust import probe_leaks
from viewsplice.views import is_arrow


def belongs(factor: str, space: str) -> bool:
    """Tell whether a true factor, named as in `MultiViewData.factors`, belongs to a latent space."""
    return "/" not in factor if is_arrow(space) else factor.startswith(f"{space}/")


def judge(model: Model, data: MultiViewData, *, n_null: int = 20) -> dict[str, Any]:
    """Return the figures of a fit on test rows: probes learn from training rows, test rows are only predicted.

    Parameters
    ----------
    model, data
        A fit, and the data whose training and validation rows it was fitted to.
    n_null
        Shuffled nulls of each leak.

    Returns
    -------
    dict
        ``linear_r2`` and ``leaks``, by ``"space: factor"``; and what stands beside every score.
    """
    train, test = data.rows("train"), data.rows("test")
    before, after = model.transform(train.views).spaces(), model.transform(test.views).spaces()
    factors, truth = train.factors(), test.factors()
    own: dict[str, float] = {}
    foreign: dict[str, Any] = {}
    for space, z in before.items():
        mine = [name for name in factors if belongs(name, space)]
        for name in mine if z.shape[1] else []:
            own[f"{space}: {name}"] = float(linear_r2(z, factors[name], after[space], truth[name])[0])
        others = {name: values for name, values in factors.items() if name not in mine}
        leaks = probe_leaks(z, others, after[space], {name: truth[name] for name in others}, n_null=n_null)
        foreign |= {
            f"{space}: {name}": {"leak": leak.leak, "r2": leak.r2, "null_mean": leak.null_mean, "p": leak.p}
            for name, leak in leaks.items()
        }
    return {"linear_r2": own, "leaks": foreign, **stand_beside(model, test, after)}
