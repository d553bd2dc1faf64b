"""The interactive scatters: one panel per latent space, with the controls that color, select and turn them."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.geometry.submanifolds import decoded_view
from viewsplice.metrics import covariance_spectrum
from viewsplice.page.blocks import Blocks
from viewsplice.page.content import Content, count_of
from viewsplice.page.markup import symbol, words
from viewsplice.plotting.canvas import PALETTE
from viewsplice.plotting.colors import scale_table
from viewsplice.trust.symbols import plain_symbol
from viewsplice.views import is_arrow

_MOST_AXES = 6
_GRAYS = {"light": (187, 187, 187), "dark": (88, 97, 108)}
# Black is lost on a dark ground and blue nearly is; the lighter blue keeps its distance.
_ON_DARK = {"#000000": "#F2F2F2", "#0072B2": "#1F83CC", "#56B4E9": "#8FD3FA"}
_KEYS = "arrow keys move or turn, plus and minus magnify, 0 shows all, Escape ends a selection"


def spaces_data(content: Content, blocks: Blocks) -> list[dict[str, Any]]:
    """Return every latent space as the page carries it: up to six coordinates of the drawn rows, in 16 bits."""
    told = []
    for name, z in content.spaces.items():
        axes, names = _axes(z)
        drawn = axes[content.drawn].T
        low, high = drawn.min(axis=1, keepdims=True), drawn.max(axis=1, keepdims=True)
        told.append(
            {
                "name": name,
                "label": plain_symbol(name),
                "kind": "shared" if is_arrow(name) else "private",
                "decoded": decoded_view(name),
                "axes": [
                    {"name": axis, "low": float(a), "high": float(b)}
                    for axis, a, b in zip(names, low[:, 0], high[:, 0], strict=True)
                ],
                "block": blocks.add_steps(drawn, low, high, "u2"),
            }
        )
    return told


def _axes(z: Array) -> tuple[Array, list[str]]:
    """Return the coordinates that can be drawn, and their names: the space's own, or the leading principal axes."""
    if z.shape[1] <= 3:
        return z.astype(np.float64), [f"dimension {i + 1}" for i in range(z.shape[1])]
    centered = z - z.mean(axis=0, dtype=np.float64)
    axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :_MOST_AXES]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0, keepdims=True), axis=0)
    spectrum = covariance_spectrum(z)
    shares = spectrum / (spectrum.sum() or 1.0)
    return centered @ (axes * np.sign(largest)), [f"axis {i + 1} ({shares[i]:.0%})" for i in range(axes.shape[1])]


def themes_data(blocks: Blocks) -> dict[str, Any]:
    """Return the colors of both grounds: scales for numbers and angles, and a palette for labels."""
    themes: dict[str, Any] = {}
    for ground in ("light", "dark"):
        is_dark = ground == "dark"
        palette = [_ON_DARK.get(color, color) if is_dark else color for color in PALETTE]
        tables = {
            name: blocks.add(np.rint(255 * scale_table(circular=name == "circular", dark=is_dark)), "u1")
            for name in ("continuous", "circular")
        }
        themes[ground] = {"palette": [_rgb(color) for color in palette], "gray": list(_GRAYS[ground]), **tables}
    return themes


def _rgb(color: str) -> list[int]:
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]


def scatter_html(content: Content, data: dict[str, Any]) -> str:
    """Return controls and panels."""
    rows = f"{count_of(content.drawn, np.arange(len(content.views)))} rows are drawn"
    sampled = ", at random" if len(content.drawn) < len(content.views) else ""
    turned = (
        " A space of three or more dimensions turns." if any(z.shape[1] > 2 for z in content.spaces.values()) else ""
    )
    height = (
        " The height of a one-dimensional space is the color variable: it shows a tuning curve."
        if any(z.shape[1] == 1 for z in content.spaces.values())
        else ""
    )
    panels = "".join(_panel(i, space) for i, space in enumerate(data["spaces"]))
    return (
        f"<p>Every point is a row; {rows}{sampled}. Drag to move, click a panel and use the wheel to magnify, hold "
        f"Shift and drag (or let dragging select) to choose rows in all spaces at once.{turned}{height} Rows are "
        "counted from 0.</p>"
        '<p id="no-webgl" class="note warn" hidden><b>Careful.</b> This browser has no WebGL 2: points are drawn more '
        "slowly, and all with one marker.</p>"
        f'<div id="scatter">{_controls(data)}'
        '<div id="legend" aria-live="polite"></div>'
        f'<div id="spaces" data-drag="move" data-count="{len(data["spaces"])}">{panels}</div></div>'
        '<p><output id="selection">No rows selected.</output> '
        '<button type="button" id="clear" hidden>Clear</button></p>'
        '<details id="selected-box" hidden><summary>Numbers of the selected rows</summary>'
        '<textarea id="selected-rows" readonly aria-label="Numbers of the selected rows"></textarea></details>'
        '<dl id="hint" hidden></dl>'
        "<noscript><p>The scatters need JavaScript, which is part of this file; the rest is below.</p></noscript>"
    )


def _panel(i: int, space: dict[str, Any]) -> str:
    name, axes = space["name"], space["axes"]
    spoken = f"{escape(space['label'])}, {words(name)}: scatter of all rows. {_KEYS}."
    tools = "".join(
        f'<button type="button" data-action="{action}" aria-label="{title}" title="{title}">{sign}</button>'
        for action, sign, title in (
            ("closer", "+", "magnify"),
            ("farther", "&minus;", "show more"),
            ("reset", "Fit", "show all rows, but for a few far out"),
        )
    )
    if len(axes) > 2:
        tools += (
            '<button type="button" data-action="deep" aria-pressed="true" title="turn in three dimensions">3-D</button>'
        )
        choices = "".join(_axis_choice(place, sign, axes) for place, sign in enumerate("xyz"))
        tools += f'<span class="axes">{choices}</span>'
    return (
        f'<figure class="space" data-space="{i}"><figcaption><b>{symbol(name)}</b> {words(name)}</figcaption>'
        f'<div class="frame"><canvas tabindex="0" role="img" aria-label="{spoken}"></canvas>'
        f'<span class="mark" hidden></span></div><div class="tools">{tools}</div></figure>'
    )


def _axis_choice(place: int, sign: str, axes: list[dict[str, Any]]) -> str:
    # Only "1: 80%" of "axis 1 (80%)", so that the choices of all three axes fit into one line.
    names = [axis["name"].split(" ", 1)[1].replace(" (", ": ").rstrip(")") for axis in axes]
    options = "".join(
        f'<option value="{i}"{" selected" if i == place else ""}>{escape(name)}</option>'
        for i, name in enumerate(names)
    )
    third = ' class="third"' if place == 2 else ""
    spoken = f'aria-label="axis along {sign}"'
    return f'<label{third}>{sign} <select data-axis="{place}" {spoken}>{options}</select></label>'


def _controls(data: dict[str, Any]) -> str:
    reading = "".join(
        f'<option value="{value}">{label}</option>'
        for value, label in (
            ("auto", "as guessed"),
            ("continuous", "numbers"),
            ("circular", "angles"),
            ("categorical", "labels"),
        )
    )
    return (
        '<div class="controls sticky" role="group" aria-label="Colors and selection">'
        f'<label>Color by <select id="color-by">{_color_options(data)}</select></label>'
        f"{_feature_choice(data)}"
        f'<label>Read as <select id="read-as">{reading}</select></label>'
        "<fieldset><legend>Dragging</legend><div>"
        '<label><input type="radio" name="drag" value="move" checked> moves</label>'
        '<label><input type="radio" name="drag" value="select"> selects</label></div></fieldset>'
        '<label>Point size <input type="range" id="point-size" min="1" max="14" step="0.5" '
        f'value="{_point_size(data["n_rows"])}"></label>'
        '<span id="feature-problem" class="problem" role="alert"></span></div>'
    )


def _point_size(n_rows: int) -> float:
    """Return pixels: smaller the more points there are."""
    return float(np.clip(round(2 * 320 / np.sqrt(n_rows)) / 2, 2.5, 8))


def _color_options(data: dict[str, Any]) -> str:
    """Return what rows can be colored by; the first of the user's variables is chosen."""
    known = data["covariates"]
    own = [i for i, covariate in enumerate(known) if covariate["name"] not in ("part of the split", "group")]
    first = own[0] if own else None
    options = '<option value="none">nothing</option>'
    if known:
        inner = "".join(
            f'<option value="covariate:{i}"{" selected" if i == first else ""}>{escape(covariate["name"])}</option>'
            for i, covariate in enumerate(known)
        )
        options += f'<optgroup label="Known about rows">{inner}</optgroup>'
    if data["features"]:
        options += '<option value="feature">a single feature …</option>'
    inner = "".join(
        f'<option value="coordinate:{i}:{axis}">{escape(space["label"])}, {escape(told["name"])}</option>'
        for i, space in enumerate(data["spaces"])
        for axis, told in enumerate(space["axes"])
    )
    return f'{options}<optgroup label="Coordinates of a space">{inner}</optgroup>'


def _feature_choice(data: dict[str, Any]) -> str:
    views = "".join(f'<option value="{i}">{escape(view["view"])}</option>' for i, view in enumerate(data["features"]))
    return (
        '<div class="group" id="feature-choice" hidden>'
        f'<label>View <select id="feature-view">{views}</select></label>'
        '<label>Feature (number or name) <input type="text" id="feature-name" value="0" list="feature-names" '
        'autocomplete="off"></label><datalist id="feature-names"></datalist>'
        '<button type="button" id="feature-before" aria-label="previous feature">&lsaquo;</button>'
        '<button type="button" id="feature-next" aria-label="next feature">&rsaquo;</button></div>'
    )
