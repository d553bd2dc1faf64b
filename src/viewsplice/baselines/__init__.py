"""The methods that SPLICE is compared with, behind its own contract: swap the estimator and keep the script."""

from __future__ import annotations

from viewsplice.baselines.cca import CCA, Canonical, ShuffleTest, canonical_axes
from viewsplice.baselines.reduced_rank import ReducedRank, reduced_rank
from viewsplice.baselines.rrr import RRR
from viewsplice.baselines.selection import RankCurve, rank_curve

__all__ = [
    "CCA",
    "RRR",
    "Canonical",
    "RankCurve",
    "ReducedRank",
    "ShuffleTest",
    "canonical_axes",
    "rank_curve",
    "reduced_rank",
]
