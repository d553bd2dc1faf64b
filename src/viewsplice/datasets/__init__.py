"""Data sets whose shared and private factors are known: what a fit is checked against."""

from __future__ import annotations

from viewsplice.datasets.base import MultiViewData, mix_parts, random_split
from viewsplice.datasets.lgn_v1 import LGNV1Design, lgn_v1
from viewsplice.datasets.mnist import rotate_images, rotated_mnist
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
    "sheet_and_lines",
    "two_rings",
]
