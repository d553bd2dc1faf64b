"""Latent spaces as pictures: dots, colors and names read back from the drawn artists."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex

from viewsplice._types import Array
from viewsplice.plotting import latent_scatter, to_png
from viewsplice.plotting.canvas import GRAY, PALETTE
from viewsplice.plotting.colors import coloring
from viewsplice.plotting.latents import _principal_plane

PLANE = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 1.0], [0.0, 1.0]])


def drawn(ax: Axes) -> tuple[Array, list[str]]:
    """Return the dots of all scatters, and their colors, in lexical order of the dots."""
    scatters = [artist for artist in ax.collections if isinstance(artist, PathCollection)]
    dots = np.concatenate([np.asarray(scatter.get_offsets()) for scatter in scatters])
    colors = [to_hex(color) for scatter in scatters for color in scatter.get_facecolors()]
    order = np.lexsort(dots.T[::-1])
    return dots[order], [colors[i] for i in order] if len(colors) == len(dots) else colors


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def test_two_dimensions_are_drawn_as_they_are() -> None:
    ax = latent_scatter(PLANE, label="A->B")
    np.testing.assert_array_equal(drawn(ax)[0], PLANE[[0, 3, 1, 2]])
    assert ax.get_aspect() == 1
    assert ax.get_title() == "A->B"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("latent dimension 1", "latent dimension 2")


def test_more_dimensions_are_drawn_by_principal_axes() -> None:
    # Variances 3 : 1 along (1, 1, 0) / sqrt 2 and (0, 0, 1), nothing in the third direction.
    points = np.array([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [0.0, 0.0, np.sqrt(2 / 3)], [0.0, 0.0, -np.sqrt(2 / 3)]])
    ax = latent_scatter(points + 7)
    expected = np.array([[-np.sqrt(2), 0], [0, -np.sqrt(2 / 3)], [0, np.sqrt(2 / 3)], [np.sqrt(2), 0]])
    np.testing.assert_allclose(drawn(ax)[0], expected, atol=1e-12)
    assert ax.get_xlabel() == "principal axis 1 (75% of variance)"
    assert ax.get_ylabel() == "principal axis 2 (25% of variance)"


@pytest.mark.parametrize("seed", range(5))
def test_principal_axes_have_a_fixed_direction(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((50, 4)) @ rng.standard_normal((4, 4))
    plane, _ = _principal_plane(points)
    for loadings in plane.T @ (points - points.mean(axis=0)):
        assert loadings[np.abs(loadings).argmax()] > 0


def test_a_wide_collapsed_space_can_be_drawn() -> None:
    assert latent_scatter(np.ones((5, 3))).get_xlabel() == "principal axis 1 (0% of variance)"


def test_one_dimension_without_colors_is_a_histogram() -> None:
    ax = latent_scatter(np.linspace(0, 1, 50)[:, None])
    assert sum(bar.get_height() for bar in ax.patches) == 50
    assert len(ax.patches) == 8
    assert len(latent_scatter(np.full((50, 1), 1e8)).patches) == 1


def test_one_dimension_is_drawn_against_numbers() -> None:
    ax = latent_scatter(np.array([[5.0], [6.0]]), color=np.array([0.2, 0.1]), color_label="position")
    np.testing.assert_array_equal(drawn(ax)[0], [[0.1, 6.0], [0.2, 5.0]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("position", "latent value")
    ax = latent_scatter(np.array([[5.0], [6.0]]), color=np.array([370, -10]), kind="circular")
    np.testing.assert_array_equal(drawn(ax)[0], [[10, 5.0], [350, 6.0]])
    np.testing.assert_array_equal(ax.get_xticks(), [0, 90, 180, 270, 360])


def test_one_dimension_is_drawn_as_strips_of_labels() -> None:
    ax = latent_scatter(np.arange(6.0)[:, None], color=np.array(["b", "a"] * 3))
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b"]
    dots = drawn(ax)[0]
    np.testing.assert_array_equal(np.rint(dots[np.argsort(dots[:, 1]), 0]), [1, 0] * 3)


def test_numbers_get_a_scale_with_a_name() -> None:
    ax = latent_scatter(PLANE, color=np.array([0.0, 1.0, 3.0, np.nan]), color_label="x")
    assert ax.figure.axes[1].get_ylabel() == "x"
    assert ax.figure.axes[1].get_ylim() == (0.0, 3.0)
    colors = drawn(ax)[1]
    assert colors[1] == GRAY.lower(), "missing values are gray"
    assert len(set(colors)) == 4


def test_circular_colors_close() -> None:
    _, (zero, turn, *others) = drawn(
        latent_scatter(PLANE[[0, 3, 1, 2]], color=[0.0, 360.0, 90.0, -90.0], kind="circular")
    )
    assert zero == turn
    assert len({zero, *others}) == 3


@pytest.mark.parametrize(
    ("color", "kind"),
    [
        (np.zeros(21), "continuous"),
        (np.arange(21), "continuous"),
        (np.arange(21) % 20, "categorical"),
        (np.arange(21) > 3, "categorical"),
        (np.array([f"cell {i}" for i in range(21)]), "categorical"),
        (np.array(["a", None, 3] * 7, dtype=object), "categorical"),
        (np.full(21, np.nan), None),
        (None, None),
    ],
)
def test_kind_is_inferred(color: Array | None, kind: str | None) -> None:
    assert coloring(color, None, 21).kind == kind


def test_labels_get_a_color_or_else_another_marker_each() -> None:
    colors = coloring(np.arange(20), None, 20)
    styles = [(colors.color(i), colors.marker(i)) for i in range(20)]
    assert len(set(styles)) == 20
    assert [color for color, _ in styles[:8]] == [*PALETTE, PALETTE[0]]


def test_rare_labels_share_one_gray() -> None:
    labels = np.array([f"cell {i:02}" for i in range(25)] + ["cell 24"])
    colors = coloring(labels, None, 26)
    assert len(colors.labels) == 20
    assert colors.labels[-2:] == ("cell 24", "other (6 labels)")
    assert [colors.labels[i] for i in colors.values[[0, 17, 18, 23, 25]]] == [
        "cell 00",
        "cell 17",
        "other (6 labels)",
        "other (6 labels)",
        "cell 24",
    ]
    assert colors.color(19) == GRAY
    assert colors.color(18) != GRAY
    first = latent_scatter(np.c_[np.arange(26), np.zeros(26)], color=labels).collections[0].get_facecolors()
    assert {to_hex(color) for color in first[:6]} == {GRAY.lower()}, "drawn before, so below the named labels"


def test_names_are_drawn_literally() -> None:
    ax = latent_scatter(PLANE, color=np.array(["_a", "$\\x$", "b" * 50, "c"]), label="$\\alpha", color_label="$\\x$")
    # A backslash hides a dollar sign from the formula parser and is not drawn.
    assert legend(ax) == ["\\$\\x\\$", " _a", "bbbbbbbb…bbbbbbbbb", "c"]
    assert to_png(ax).startswith(b"\x89PNG")


def test_big_clouds_are_faint_and_rasterized() -> None:
    points = np.random.default_rng(0).standard_normal((5000, 2))
    small, big = (latent_scatter(points[:n]).collections[0] for n in (100, 5000))
    assert (small.get_rasterized(), big.get_rasterized()) == (False, True)
    alphas = small.get_alpha(), big.get_alpha()
    assert alphas[0] == 0.9
    assert alphas[1] == pytest.approx(30 / np.sqrt(5000))


def test_latent_scatter_errors() -> None:
    with pytest.raises(ValueError, match=r"points has shape \(4, 0\)"):
        latent_scatter(PLANE[:, :0])
    with pytest.raises(ValueError, match="NaN or infinite"):
        latent_scatter(PLANE * np.nan)
    with pytest.raises(ValueError, match=r"color has shape \(3,\); expected one value per row: \(4,\)"):
        latent_scatter(PLANE, color=np.zeros(3))
    with pytest.raises(ValueError, match="kind is 'rainbow'"):
        latent_scatter(PLANE, kind="rainbow")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected numbers for kind='circular'"):
        latent_scatter(PLANE, color=np.array(list("abcd")), kind="circular")


def test_one_outlier_takes_no_colors_from_the_others() -> None:
    values = np.append(np.linspace(0, 1, 99), 1e6)
    found = coloring(values, None, 100)
    assert found.mappable().get_clim() == pytest.approx((1 / 98, 1))
    assert found.beyond() == "both"
    ax = latent_scatter(np.random.default_rng(0).normal(size=(100, 2)), color=values)
    assert ax.figure.axes[1].get_ylim()[1] == pytest.approx(1), "the bar ends where the colors do"
    even = coloring(np.linspace(0, 1, 100), None, 100)
    assert even.mappable().get_clim() == (0, 1)
    assert even.beyond() == "neither"
    assert coloring(np.random.default_rng(0).normal(size=2000), None, 2000).beyond() == "both", "tails"
    assert coloring(values, "circular", 100).beyond() == "neither"
    assert coloring(np.append(np.zeros(50), 1e6), None, 51).mappable().get_clim() == (0, 1e6), "nothing else differs"
    one_sided = coloring(np.append(np.repeat(np.linspace(0, 1, 10), 10), 9.0), None, 101)
    assert (one_sided.mappable().get_clim(), one_sided.beyond()) == ((0, 1), "max")
    assert coloring(-one_sided.values, None, 101).beyond() == "min"


def test_rows_without_a_label_are_missing_and_gray() -> None:
    found = coloring(np.array(["b", None, "a", np.nan, "None"], dtype=object), None, 5)
    assert found.labels == ("None", "a", "b", "missing")
    np.testing.assert_array_equal(found.values, [2, 3, 1, 3, 0])
    assert found.color(3) == GRAY
    assert coloring(np.array([1.0, np.nan, 0.0]), "categorical", 3).labels == ("0.0", "1.0", "missing")
    assert coloring(np.array(["b", "", " ", "a"]), None, 4).labels == ("a", "b", "missing"), "an empty cell of a table"
