"""Contrast on both grounds, and colors that color-blind readers can tell apart."""

from __future__ import annotations

import itertools
import re
from importlib.resources import files

import numpy as np
import pytest

from viewsplice._types import Array
from viewsplice.page.blocks import Blocks
from viewsplice.page.scatter import themes_data
from viewsplice.plotting.colors import scale_table

GROUNDS = ("light", "dark")
# Linear RGB as readers without red-sensitive or green-sensitive cones see it (Viénot, Brettel and Mollon 1999).
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "deuteranopia": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)


def linear(rgb: Array) -> Array:
    """Return linear RGB of colors from 0 to 255."""
    part = np.asarray(rgb) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def lab(rgb: Array, blindness: str = "none") -> Array:
    """Return coordinates in which equal distances look about equally different, (n, 3)."""
    xyz = np.clip(linear(rgb) @ np.transpose(BLINDNESS[blindness]), 0, 1) @ TO_XYZ.T / WHITE
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


def variables(ground: str) -> dict[str, str]:
    """Return the colors of the style sheet by name; what the dark ground does not change is as on the light one."""
    style = files("viewsplice.page").joinpath("static/page.css").read_text()
    light, dark = re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL)[:2]
    found = dict(re.findall(r"--(\w+): (#\w{6})", light))
    return found if ground == "light" else found | dict(re.findall(r"--(\w+): (#\w{6})", dark))


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colors as WCAG 2 defines it, from 1 to 21."""
    rgb = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in (one, other)])
    low, high = np.sort(linear(rgb) @ TO_XYZ[1])
    return float((high + 0.05) / (low + 0.05))


@pytest.mark.parametrize("ground", GROUNDS)
def test_text_and_controls_stand_out_from_their_ground(ground: str) -> None:
    colors = variables(ground)
    for behind in ("paper", "card"):
        for name in ("ink", "quiet", "focus", "bad", "warn", "good"):
            assert contrast(colors[name], colors[behind]) >= 4.5, (name, behind)
        assert contrast(colors["edge"], colors[behind]) >= 3, behind


@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("ground", GROUNDS)
def test_labels_are_told_apart(ground: str, blindness: str) -> None:
    palette = lab(np.array(themes_data(Blocks())[ground]["palette"]), blindness)
    distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(palette, 2)]
    assert min(distances) > 9, "beyond what is just noticed several times over"


@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("ground", GROUNDS)
def test_numbers_become_lighter_step_by_step(ground: str, blindness: str) -> None:
    lightness = lab(255 * scale_table(circular=False, dark=ground == "dark"), blindness)[:, 0]
    assert (np.diff(lightness[::8]) > 0).all()
    assert np.ptp(lightness) > 50
