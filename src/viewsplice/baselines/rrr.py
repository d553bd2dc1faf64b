"""RRR: reduced-rank regression of every view on every other one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viewsplice.baselines.base import Given
from viewsplice.baselines.linear import LinearBaseline, LinearMap, flat_rows
from viewsplice.baselines.reduced_rank import reduced_rank
from viewsplice.baselines.selection import RankCurve, choose_ridge, rank_curve
from viewsplice.config import check_number
from viewsplice.views import endpoints


class RRR(LinearBaseline):
    """Reduced-rank regression (communication subspaces): what one view tells of another, linearly.

    One regression per arrow. ``shared["A->B"]`` are the coordinates, computed from A, along the axes of B that A
    predicts best; there are no private spaces.

    Parameters
    ----------
    n_shared
        Rank: an int, ``"auto"`` for the smallest whose cross-validated error is within one standard error of the
        best (0: nothing is predicted), or a dict of these by arrow.
    ridge
        Weight of the squared coefficients in the regression that is reduced, in units of X^T X; ``"auto"``
        cross-validates it.
    n_folds
        Folds of cross-validation; whole groups where there are groups.
    random_state
        Seed of the split and of the folds.

    Attributes
    ----------
    view_names_, n_features_in_, n_shared_, n_private_
        Names in order; features by view; widths by arrow and by view.
    curves_
        By arrow whose rank was found: the `RankCurve`.
    ridge_
        By arrow, the ridge used.
    maps_, split_
        By arrow, the `LinearMap`; training and validation row numbers.

    Examples
    --------
    >>> from viewsplice.baselines import RRR
    >>> from viewsplice.datasets import linear_gaussian
    >>> data = linear_gaussian(n_samples=300, noise=0.1, random_state=0)
    >>> model = RRR(random_state=0).fit(data.views)
    >>> model.n_shared_
    {'A->B': 2, 'B->A': 2}
    """

    curves_: Mapping[str, RankCurve]
    ridge_: Mapping[str, float]

    def __init__(
        self, n_shared: Any = "auto", *, ridge: float | str = 0.0, n_folds: int = 10, random_state: Any = None
    ) -> None:
        self.n_shared = n_shared
        self.ridge = ridge
        self.n_folds = n_folds
        self.random_state = random_state

    def objective(self, X: Any, y: Any = None) -> float:
        """Return 1 - R² of predicting each view from the others, averaged over views; lower is better."""
        return 1 - self.score(X, y)

    def _check_settings(self) -> None:
        if self.ridge is None or (isinstance(self.ridge, str) and self.ridge != "auto"):
            raise ValueError(f"ridge is {self.ridge!r}; expected a number of at least 0, or 'auto'")
        if self.n_folds is None:
            raise TypeError("n_folds is None; expected an integer")
        if self.ridge != "auto":
            check_number("ridge", self.ridge, low=0)
        check_number("n_folds", self.n_folds, low=2, integer=True)

    def _solve(self, given: Given, widths: Mapping[str, int | None]) -> dict[str, LinearMap]:
        rows = flat_rows(given.train)
        folding: dict[str, Any] = {"n_folds": self.n_folds, "groups": given.train.groups, "random_state": given.seed}
        maps, curves, ridges = {}, {}, {}
        for name, width in widths.items():
            x, y = (rows[view] for view in endpoints(name))
            ridges[name] = choose_ridge(x, y, **folding) if isinstance(self.ridge, str) else float(self.ridge)
            if width is None:
                curves[name] = rank_curve(x, y, ridge=ridges[name], **folding)
                width = curves[name].chosen
            found = reduced_rank(x, y, ridges[name])
            maps[name] = LinearMap(
                source_mean=found.source_mean,
                encoder=found.coordinates[:, :width],
                decoder=found.axes[:width],
                target_mean=found.target_mean,
            )
        self.curves_, self.ridge_ = curves, ridges
        return maps
