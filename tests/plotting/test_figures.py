"""Figures of shares, features, loops and leaks, and figures as SVG."""

from __future__ import annotations

import inspect
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from viewsplice import plotting
from viewsplice.plotting import (
    barcode_plot,
    feature_map,
    feature_r2,
    feature_shares,
    latent_scatter,
    leak_plot,
    share_bars,
    spectrum_plot,
    to_svg,
    width_plot,
)
from viewsplice.plotting.canvas import GRAY, PALETTE
from viewsplice.plotting.colors import coloring, full_turn, infer_kind

SHARES = {"shared": 0.25, "private": 0.5, "only together": -0.01, "neither": 0.26}
LEAK = {"source": "A", "target": "B->A", "r2": 0.3, "null_mean": -0.1, "null_q95": 0.05}


def test_shares_are_stacked_and_labeled() -> None:
    ax = share_bars({"lgn": {**SHARES, "only together": 0.0, "neither": 0.25}, "$v1": {**SHARES, "shared": 0.05}})
    widths = [[bar.get_width() for bar in container] for container in ax.containers]
    np.testing.assert_allclose(widths, [[0.25, 0.05], [0.5, 0.5], [0, 0], [0.25, 0.26]])
    lefts = [container[0].get_x() for container in ax.containers]
    np.testing.assert_allclose(lefts, [0, 0.25, 0.75, 0.75])
    assert [text.get_text() for text in ax.texts] == ["25%", "50%", "50%", "25%", "26%"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["lgn", "\\$v1"]
    with pytest.raises(ValueError, match=r"expected \['shared', 'private', 'only together', 'neither'\] of each view"):
        share_bars({"lgn": {"shared": 1.0}})


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ((0.4, 0.5, -0.1, 0.2), {"shared": 0.3, "in both": 0.1, "private": 0.4, "only together": 0, "neither": 0.2}),
        ((-0.05, 0.6, 0.05, 0.4), {"shared": 0, "private": 0.6, "only together": 0, "neither": 0.4}),
        ((0.2, -0.1, 0.3, 0.6), {"shared": 0.2, "private": 0, "only together": 0.2, "neither": 0.6}),
        ((0.2, 0.1, -0.5, 1.2), {"shared": 0, "private": 0, "only together": 0, "neither": 1}),
    ],
)
def test_no_bar_is_longer_than_the_variance_there_is(shares: tuple[float, ...], expected: dict[str, float]) -> None:
    ax = share_bars({"lgn": dict(zip(SHARES, shares, strict=True))})
    found = {container.get_label(): container[0].get_width() for container in ax.containers}
    assert found == pytest.approx(expected)
    assert sum(found.values()) == pytest.approx(1)
    assert ax.get_xlim() == (0, 1)


def test_features_are_dots_by_what_explains_them() -> None:
    ax = feature_shares(np.array([0.1, 0.9]), np.array([0.8, -0.2]), label="A")
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), [[0.1, 0.8], [0.9, -0.2]])
    assert ax.get_xlim()[0] == pytest.approx(-0.23)
    assert ax.get_title() == "A"
    with pytest.raises(ValueError, match="shared has 2 features and private 1"):
        feature_shares(np.zeros(2), np.zeros(1))
    with pytest.raises(ValueError, match="some finite"):
        feature_shares(np.full(2, np.nan), np.zeros(2))


def test_features_far_below_zero_are_drawn_at_the_edge() -> None:
    ax = feature_shares(np.array([0.1, -4e7, np.nan, 0.9]), np.array([0.8, 0.2, np.nan, -1.5]))
    near, beyond = (np.asarray(dots.get_offsets()) for dots in ax.collections)
    assert near[0].tolist() == [0.1, 0.8]
    assert beyond.tolist() == [[-1.0, 0.2], [0.9, -1.0]]
    assert ax.get_xlim()[0] == pytest.approx(-1.03)
    assert ax.collections[1].get_label() == "2 beyond -1"
    ax = feature_r2(np.array([0.5, -4e7, 0.9, -3.0]))
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.9, 0.5, -1.0, -1.0])
    assert (ax.lines[2].get_label(), list(ax.lines[2].get_xdata())) == ("2 below -1", [3, 4])
    assert ax.get_ylim()[0] == pytest.approx(-1.02)


def test_r2_of_features_is_sorted() -> None:
    ax = feature_r2(np.array([0.5, np.nan, 0.9, -0.1]))
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.9, 0.5, -0.1])
    assert ax.lines[1].get_ydata()[0] == 0.5
    assert ax.get_ylim()[0] == pytest.approx(-0.12)


def test_a_feature_over_a_line_is_a_curve_of_means() -> None:
    x = np.repeat(np.linspace(0, 1, 41)[:-1] + 1 / 80, 2)
    values = np.tile([1.0, 3.0], 40) + np.repeat(np.arange(40), 2)
    ax = feature_map(x[:, None], values, label="neuron $1")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.arange(40) + 2)
    assert ax.get_title() == "neuron \\$1"
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (1.0, 42.0)


def test_a_feature_over_a_plane_is_a_map_of_means() -> None:
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    ax = feature_map(corners, np.array([1.0, 2.0, 3.0, 5.0]))
    means = np.ma.filled(ax.collections[0].get_array(), np.nan)
    assert (means[0, 0], means[0, -1], means[-1, -1]) == (1.0, 2.0, 4.0)
    assert np.isnan(means).sum() == 32 * 32 - 3
    wide = np.column_stack([corners * [3, 1], np.zeros(4)])
    assert "principal axis 1" in feature_map(wide, np.arange(4.0)).get_xlabel()
    with pytest.raises(ValueError, match=r"points has shape \(4, 2\) and values \(3,\)"):
        feature_map(corners, np.zeros(3))


def test_loops_are_bars_and_a_ring_stands_out() -> None:
    bars = np.array([[0.5, 1.0], [0.2, 3.2], [0.1, 1.0]])
    ax = barcode_plot(bars, label="B")
    lengths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(lengths, [3.0, 0.9, 0.5])
    assert [to_hex(bar.get_facecolor()) for bar in ax.patches] == [PALETTE[0].lower(), *[GRAY.lower()] * 2]
    plain = barcode_plot(bars[[0, 2]])
    assert {to_hex(bar.get_facecolor()) for bar in plain.patches} == {GRAY.lower()}
    with pytest.raises(ValueError, match=r"bars has shape \(3,\)"):
        barcode_plot(np.zeros(3))


def test_leaks_stand_beside_their_nulls() -> None:
    # What is below its nulls is not within them.
    ax = leak_plot([LEAK, {**LEAK, "source": "B", "r2": -0.2}])
    assert [bar.get_x() for bar in ax.patches] == [-0.1, -0.1]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], 0.15)
    dots = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines}
    assert dots["above 95 %"] == ([0.3], [0])
    assert dots["not above them"] == ([-0.2], [1])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["A about B->A", "B about B->A"]
    with pytest.raises(ValueError, match="leaks is empty"):
        leak_plot([])


def test_figures_go_where_they_are_told() -> None:
    axes = Figure().subplots(7)
    points = np.arange(6.0).reshape(3, 2)
    drawn = [
        share_bars({"A": SHARES}, ax=axes[0]),
        feature_shares(points[0], points[1], ax=axes[1]),
        feature_r2(points[0], ax=axes[2]),
        feature_map(points, points[:, 0], ax=axes[3]),
        barcode_plot(points, ax=axes[4]),
        leak_plot([LEAK], ax=axes[5]),
        width_plot(np.array([0.0, 0.9]), ax=axes[6]),
    ]
    assert all(one is other for one, other in zip(drawn, axes, strict=True))


@pytest.mark.parametrize("name", sorted({*plotting.__all__} - {"ColorKind", "scan_plot", "to_png", "to_svg"}))
def test_every_figure_takes_axes_and_returns_axes(name: str) -> None:
    signature = inspect.signature(getattr(plotting, name))
    assert signature.parameters["ax"].kind is inspect.Parameter.KEYWORD_ONLY
    assert signature.parameters["ax"].default is None
    assert signature.return_annotation == "Axes"


def test_svg_is_one_element_that_follows_the_page() -> None:
    ax = spectrum_plot(np.array([4.0, 1.0, 0.01]), label="</svg><b>& 1")
    text = to_svg(ax)
    root = ElementTree.fromstring(text.replace("xlink:href", "href"))
    assert root.tag == "svg"
    assert "".join(root.itertext()).count("</svg><b>& 1") == 1, "a name is text"
    assert "var(--c0, #0072B2)" in text
    assert "var(--gray, #BBBBBB)" in text
    assert "currentColor" in text
    assert not re.search(r"#000000|metadata|xmlns|<!DOCTYPE|id=\"figure", text)
    assert text == to_svg(ax), "the same each time"


def test_names_may_hold_signs_that_the_font_of_figures_lacks() -> None:
    assert "\N{BRAIN} lgn" in to_svg(share_bars({"\N{BRAIN} lgn": SHARES}))


def test_hatched_bars_follow_the_page_too() -> None:
    text = to_svg(share_bars({"A": SHARES}))
    assert 'style="fill: var(--c1, #D55E00)"' in text
    assert not re.search('fill="#d55e00"', text, flags=re.IGNORECASE)


def test_circular_variables_are_told_by_name_and_range() -> None:
    turn = np.linspace(0, 359, 60)
    assert infer_kind(turn, "Head direction") == "circular"
    assert infer_kind(turn, "speed") == "continuous"
    assert infer_kind(turn / 2, "angle") == "continuous", "half a turn may be a line"
    assert infer_kind(turn * 3, "phase") == "continuous", "more than a turn"
    assert infer_kind(turn / 2, "orientation") == "circular"
    assert infer_kind(np.deg2rad(turn) - np.pi, "theta") == "circular"
    assert infer_kind(np.arange(0, 360, 45), "direction") == "circular"
    assert infer_kind(np.array(["n", "w"]), "direction") == "categorical"
    assert infer_kind(np.full(3, np.nan), "angle") == "continuous"


def test_a_turn_has_the_length_that_the_values_suggest() -> None:
    assert full_turn(np.array([-3.0, 3.0])) == 2 * np.pi
    assert full_turn(np.array([0.0, 170.0]), "orientation") == 180
    assert full_turn(np.array([0.0, 170.0]), "angle") == 360
    assert full_turn(np.array([np.nan])) == 2 * np.pi
    colors = coloring(np.array([-np.pi / 2, 0.5]), "circular", 2)
    np.testing.assert_allclose(colors.values, [1.5 * np.pi, 0.5])
    assert colors.quarters()[1] == ["0", "π/2", "π", "3π/2", "2π"]
    ax = latent_scatter(np.eye(2), color=np.array([0.1, 6.2]), color_label="phase")
    assert [text.get_text() for text in ax.figure.axes[1].get_yticklabels()] == ["0", "π/2", "π", "3π/2", "2π"]
