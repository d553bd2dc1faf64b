"""Figures of sweeps: what is drawn is what was measured."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from viewsplice.plotting import curve_plot, scan_plot, to_png, trials_plot
from viewsplice.sweeps import Curve, Trial

CURVE = Curve(
    "SPLICE", "score", np.array([1, 2, 3]), np.array([[0.1, 0.5, 0.5], [0.2, 0.6, 0.602]]), "private width of A"
)


def test_a_curve_shows_its_mean_and_where_it_saturates() -> None:
    ax = curve_plot(CURVE)
    [line, mark] = ax.lines
    assert line.get_ydata() == pytest.approx(CURVE.mean)
    assert mark.get_xdata()[0] == CURVE.saturates_at == 2
    assert ax.get_xlabel() == "private width of A"


def test_a_scan_has_a_panel_for_every_curve_and_every_spectrum() -> None:
    ax = scan_plot([CURVE] * 5, {"A->B": np.array([1.0, 0.2, 0.01]), "A": np.array([1.0, 0.0])}, title="Recommended")
    assert isinstance(ax.figure, Figure)
    assert len(ax.figure.axes) == 7
    assert "A->B" in ax.figure.axes[5].get_title()
    assert ax.figure.get_suptitle() == "Recommended"
    assert to_png(ax).startswith(b"\x89PNG")


def test_trials_are_drawn_by_state_and_the_lowest_so_far_never_rises() -> None:
    trials = [
        Trial(0, {}, 0.5, "complete", 1.0, 1.0),
        Trial(1, {}, 0.9, "pruned", 0.1, 1.0),
        Trial(2, {}, None, "diverged", 0.1, 1.0),
        Trial(3, {}, 0.7, "complete", 1.0, 1.0),
        Trial(4, {}, 0.3, "complete", 1.0, 1.0),
    ]
    ax = trials_plot(trials)
    complete, pruned = (points.get_offsets().tolist() for points in ax.collections)
    assert complete == [[0, 0.5], [3, 0.7], [4, 0.3]]
    assert pruned == [[1, 0.9]]
    assert ax.lines[0].get_ydata().tolist() == [0.5, 0.5, 0.3]
    assert ax.get_yscale() == "log"
    assert trials_plot([Trial(0, {}, -1.0, "pruned", 0.1, 1.0)]).get_yscale() == "linear"
    with pytest.raises(ValueError, match="no trial has a value"):
        trials_plot([trials[2]])
