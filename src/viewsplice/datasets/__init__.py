"""Data sets: some whose shared and private factors are known, what a fit is checked against, and real recordings."""

from __future__ import annotations

from viewsplice.datasets.base import MultiViewData, mix_parts, random_split
from viewsplice.datasets.lgn_v1 import LGNV1Design, lgn_v1
from viewsplice.datasets.mnist import rotated_mnist
from viewsplice.datasets.recordings import steinmetz, v1_v2
from viewsplice.datasets.rotation import rotate_images
from viewsplice.datasets.sprites import rotated_sprites
from viewsplice.datasets.toy import linear_gaussian, sheet_and_lines, two_rings

__all__ = [
    "LGNV1Design",
    "MultiViewData",
    "lgn_v1",
    "linear_gaussian",
    "mix_parts",
    "random_split",
    "rotate_images",
    "rotated_mnist",
    "rotated_sprites",
    "sheet_and_lines",
    "steinmetz",
    "two_rings",
    "v1_v2",
]
