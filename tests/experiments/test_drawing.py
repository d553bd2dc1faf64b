"""Pictures that are kept small."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from viewsplice.experiments.drawing import fewer_colors


def test_rare_colors_survive_where_they_are_to_be_kept() -> None:
    pixels = np.random.default_rng(0).integers(0, 120, size=(200, 200, 3), dtype=np.uint8)
    rare = np.array([233, 211, 78])
    pixels[0, :4] = rare
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="png")
    away = []
    for keep_rare in (False, True):
        found = fewer_colors(file.getvalue(), keep_rare=keep_rare)
        assert len(found) < 0.5 * len(file.getvalue())
        picture = Image.open(io.BytesIO(found))
        assert len(picture.getcolors()) <= 256
        away.append(int(np.abs(np.asarray(picture.convert("RGB"), dtype=int)[0, 0] - rare).max()))
    assert away[1] <= 8 < away[0]
