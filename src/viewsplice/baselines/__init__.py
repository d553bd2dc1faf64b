"""The methods that SPLICE is compared with, behind its own contract: swap the estimator and keep the script."""

from __future__ import annotations

from viewsplice.baselines.adversary import AdversaryConfig
from viewsplice.baselines.cca import CCA, Canonical, ShuffleTest, canonical_axes
from viewsplice.baselines.deep_cca import DCCAE, DeepCCA, Karakasis
from viewsplice.baselines.dmvae import DMVAE
from viewsplice.baselines.lyu import Lyu
from viewsplice.baselines.reduced_rank import ReducedRank, reduced_rank
from viewsplice.baselines.rrr import RRR
from viewsplice.baselines.selection import RankCurve, rank_curve
from viewsplice.baselines.settings import PlainNetworks
from viewsplice.baselines.tuning import TunedBaseline, time_limit, tune_baseline, tune_cca, tune_rrr

__all__ = [
    "CCA",
    "DCCAE",
    "DMVAE",
    "RRR",
    "AdversaryConfig",
    "Canonical",
    "DeepCCA",
    "Karakasis",
    "Lyu",
    "PlainNetworks",
    "RankCurve",
    "ReducedRank",
    "ShuffleTest",
    "TunedBaseline",
    "canonical_axes",
    "rank_curve",
    "reduced_rank",
    "time_limit",
    "tune_baseline",
    "tune_cca",
    "tune_rrr",
]
