"""Baselines on rotated MNIST: extra private dimensions, whose table needs no arrays once they are drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewsplice.experiments import rotated_mnist, rotated_mnist_rivals
from viewsplice.experiments.fits import Options
from viewsplice.experiments.parts import read_values
from viewsplice.experiments.rivals_figures import Seen
from viewsplice.experiments.rotated_mnist_figures import WIDTHS

OPTIONS = Options(seeds=(0, 1), quick=True, baselines=True)


def ring(width: int) -> Seen:
    """Return a ring of angles with one percent of noise in each further dimension."""
    rng = np.random.default_rng(width)
    angle = rng.uniform(0, 360, 2_000)
    z = np.zeros((2_000, width))
    z[:, 0], z[:, 1] = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    z[:, 2:] = 0.1 * rng.normal(size=(2_000, width - 2))
    return Seen({}, {"private": z, "corrected": angle})


def test_extra_dimensions_are_told_with_what_is_unrelated_to_the_angle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contest = rotated_mnist._contest(OPTIONS)
    seen = {"splice": {width: ring(width) for width in WIDTHS}, "lyu-tuned": {width: ring(width) for width in WIDTHS}}
    seen["lyu-tuned"][5] = Seen({"collapsed": ["B"]}, {})
    monkeypatch.setattr(rotated_mnist_rivals, "_by_width", lambda *_: seen)
    rotated_mnist_rivals._draw_widths(contest, tmp_path, {})  # type: ignore[arg-type]  # nothing is read
    assert (tmp_path / "baselines_private_widths.png").stat().st_size > 5_000
    rows: list[Any] = list(rotated_mnist_rivals._widths_table(contest, read_values(tmp_path)).rows)
    assert [row[:2] for row in rows] == [[name, str(width)] for name in seen for width in WIDTHS]
    for _, width, beyond, unrelated in rows[:5]:
        n_more = int(width) - 2
        assert float(beyond) == pytest.approx(100 * 0.01 * n_more / (1 + 0.01 * n_more), abs=0.3)
        assert float(unrelated) == pytest.approx(float(beyond), abs=0.3)
    assert rows[7][2:] == ["not available", "not available"]


def test_extra_dimensions_come_last_and_their_figure_after_them() -> None:
    names = [part.name for part in rotated_mnist.parts(OPTIONS)]
    first, last = names.index("baselines: figures"), names.index("baselines: private widths")
    assert last == len(names) - 1
    assert names.index("seed 0: dmvae-tuned") < first < names.index("seed 1: deepcca-printed")
    wide = [number for number, name in enumerate(names) if "-printed, private" in name or "-tuned, private" in name]
    assert len(wide) == 16
    assert min(wide) > names.index("seed 1: dmvae-tuned")
