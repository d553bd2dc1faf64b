"""Figures of losses, distances and reconstructions, and what all figures have in common."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import viewsplice.plotting
from viewsplice.plotting import (
    distance_plot,
    latent_scatter,
    loss_curves,
    reconstruction_plot,
    spectrum_plot,
    to_png,
)
from viewsplice.plotting.canvas import GRAY, PALETTE

HISTORY: list[dict[str, Any]] = [
    {"stage": "disentangle", "epoch": 0, "attempt": 0, "rec/A": 1.0, "rec/B": 3.0, "val/rec/A": 8.0},
    {"stage": "disentangle", "epoch": 0, "attempt": 1, "rec/A": 0.5, "rec/B": 0.1, "dis/A->B": 0.0},
    {"stage": "geometry", "epoch": 0, "attempt": 1, "rec/A": 0.2, "rec/B": 0.4, "val/rec/A": 4.0, "geo/A": 0.7},
]


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def curves(ax: Axes, style: str, width: float) -> list[tuple[list[float], list[float]]]:
    lines = [line for line in ax.lines if line.get_linestyle() == style and line.get_linewidth() == width]
    found = [(np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()) for line in lines]
    return [(x, y) for x, y in found if x]


def test_loss_curves_are_means_of_each_kind() -> None:
    ax = loss_curves(HISTORY)
    drawn = curves(ax, "-", 1.8)
    assert [epochs for epochs, _ in drawn] == [[1], [2], [3], [3]]
    assert [value for _, (value,) in drawn] == pytest.approx([2.0, 0.3, 0.3, 0.7])
    assert curves(ax, "--", 1.8) == [([1], [8.0]), ([3], [4.0])]
    assert [y for _, y in curves(ax, "-", 0.6)] == [[1.0], [0.5], [0.2], [3.0], [0.1], [0.4]]
    assert ax.get_yscale() == "log"
    assert legend(ax) == [
        "reconstruction error (rec)",
        "leak still measured (dis)",
        "distance error (geo)",
        "on validation rows",
    ]


def test_loss_curves_end_with_their_stage() -> None:
    stages = ["scout"] * 30 + ["regression"] * 30 + ["compact"] * 30
    history = [{"stage": stage, "rec/A": 1.0} for stage in stages]
    for i in [*range(30), *range(60, 90, 2)]:
        history[i]["val/rec/A"] = 2.0
    history[45]["val/rec/A"] = 3.0
    ax = loss_curves(history)
    assert [(x[0], x[-1]) for x, _ in curves(ax, "-", 1.8)] == [(1, 30), (31, 60), (61, 90)]
    assert [(x[0], x[-1]) for x, _ in curves(ax, "--", 1.8)] == [(1, 30), (46, 46), (61, 89)]
    markers = {len(line.get_xdata()): line.get_marker() for line in ax.lines if line.get_linestyle() == "--"}
    assert markers[1] == ".", "a single value would not be seen"
    assert markers[30] == ""


def test_loss_curves_mark_stages_and_attempts() -> None:
    ax = loss_curves(HISTORY)
    assert [line.get_xdata()[0] for line in ax.lines if line.get_linewidth() == 0.8] == [1.5, 2.5]
    assert [text.get_text() for text in ax.texts] == ["disentangle", "disentangle, attempt 2", "geometry, attempt 2"]
    assert ax.get_xlim() == (0.5, 3.5)


def test_loss_curves_show_other_kinds_and_leave_out_what_is_not_finite() -> None:
    ax = loss_curves([{"stage": "s", "rec/A": np.nan, "mds/A": 2.0}, {"stage": "s", "rec/A": 5.0, "mds/A": 1.0}])
    assert curves(ax, "-", 1.8) == [([2], [5.0]), ([1, 2], [2.0, 1.0])]
    assert legend(ax) == ["reconstruction error (rec)", "mds"]


def test_loss_curves_need_a_history() -> None:
    with pytest.raises(ValueError, match="history is empty"):
        loss_curves([])


def test_distances_on_the_diagonal() -> None:
    d = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 4.0]])
    ax = distance_plot(d, d, label="A->B")
    assert ax.get_title() == "A->B: correlation 1.000"
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0, 0], [4, 4]])
    assert distance_plot(d, 4 - d).get_title() == "correlation -1.000"
    assert distance_plot(d, 0 * d).get_title() == "no correlation: all distances equal"
    assert distance_plot(0 * d, 0 * d).lines[0].get_xdata()[1] == 1.0


def test_at_most_20000_pairs_are_drawn() -> None:
    d = np.random.default_rng(0).uniform(size=(50, 500))
    counts = distance_plot(d, d).collections[0].get_array()
    assert counts is not None
    assert counts.sum() == 20_000


def test_distance_errors() -> None:
    with pytest.raises(ValueError, match=r"geodesics of shape \(2, 3\) and latent_distances of shape \(3, 2\)"):
        distance_plot(np.zeros((2, 3)), np.zeros((3, 2)))


def test_spectrum_is_relative_to_the_first() -> None:
    ax = spectrum_plot(np.array([8.0, 2.0, 0.4, 0.2, *np.zeros(10), -0.1]), label="A")
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([1, 0.25, 0.05, 0.025, *[0.0] * 6])
    assert [to_hex(bar.get_facecolor()) for bar in ax.patches[:3]] == [PALETTE[0].lower()] * 2 + [GRAY.lower()]
    assert ax.get_title() == "A: 2 dimensions above 5 %"
    assert ax.lines[0].get_ydata()[0] == 0.05
    assert spectrum_plot(np.array([1.0, -0.5])).get_ylim()[0] == pytest.approx(-0.525)


def test_spectrum_of_a_point() -> None:
    ax = spectrum_plot(np.zeros(3))
    assert ax.get_title() == "no extent"
    assert [bar.get_height() for bar in ax.patches] == [0.0] * 3
    with pytest.raises(ValueError, match=r"spectrum has shape \(2, 2\)"):
        spectrum_plot(np.zeros((2, 2)))


def test_vectors_are_drawn_above_their_reconstruction() -> None:
    x = np.arange(40.0).reshape(20, 2)
    ax = reconstruction_plot(x, -x, label="A")
    strips = np.ma.filled(ax.images[0].get_array(), np.nan)
    rows = [0, 3, 7, 11, 15, 19]
    np.testing.assert_array_equal(strips[::3], x[rows])
    np.testing.assert_array_equal(strips[1::3], -x[rows])
    assert np.isnan(strips[2::3]).all()
    assert ax.images[0].get_clim() == (0.0, 39.0)
    assert len(ax.get_yticks()) == 12


def test_images_are_drawn_above_their_reconstruction() -> None:
    x = np.array([[[0.0, 10.0]], [[5.0, 10.0]]])  # two images of 1 x 2 pixels
    expected = [[0.0, 1.0, 1.0, 0.5, 1.0], [1.0] * 5, [0.0, 0.0, 1.0, 0.0, 0.0]]
    shapes: list[tuple[int, ...]] = [(2, 1, 2), (2, 1, 2, 1), (2, 1, 1, 2)]
    for shape in shapes:
        tiles = reconstruction_plot(x.reshape(shape), -x.reshape(shape)).images[0].get_array()
        np.testing.assert_array_equal(tiles, expected)


def test_color_images_may_have_their_channels_first() -> None:
    x = np.random.default_rng(0).uniform(size=(3, 4, 5, 3))
    last, first = (
        reconstruction_plot(one, one).images[0].get_array() for one in (x, np.ascontiguousarray(np.moveaxis(x, 3, 1)))
    )
    assert last is not None
    assert last.shape == (9, 17, 3)
    np.testing.assert_array_equal(last, first)


def test_rows_of_another_shape_are_drawn_as_vectors() -> None:
    x = np.ones((3, 2, 2, 2))
    assert reconstruction_plot(x, x).images[0].get_array().shape == (8, 8)


def test_reconstruction_errors() -> None:
    with pytest.raises(ValueError, match=r"x has shape \(3, 2\) and x_hat \(3, 1\)"):
        reconstruction_plot(np.zeros((3, 2)), np.zeros((3, 1)))


def test_figures_go_where_they_are_told_and_change_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    before = mpl.rcParams.copy()
    axes = Figure().subplots(5)
    d = np.arange(6.0).reshape(2, 3)
    assert latent_scatter(d, ax=axes[0]) is axes[0]
    assert loss_curves(HISTORY, ax=axes[1]) is axes[1]
    assert distance_plot(d, d, ax=axes[2]) is axes[2]
    assert spectrum_plot(d[1], ax=axes[3]) is axes[3]
    assert reconstruction_plot(d, d, ax=axes[4]) is axes[4]
    assert mpl.rcParams == before


def test_png_of_a_subfigure_is_that_of_its_figure() -> None:
    figure = Figure(figsize=(2, 1))
    ax = figure.subfigures(1, 2)[1].add_subplot()
    png = to_png(ax, dpi=50)
    assert png[16:24] == (100).to_bytes(4, "big") + (50).to_bytes(4, "big")


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'viewsplice\[plot\]'"):
        importlib.reload(viewsplice.plotting)
