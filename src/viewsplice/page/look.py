"""The second answer: what it looks like. Scatters, shapes, features over the spaces, and reconstructions."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.metrics import Shape, reconstruction_r2, shape_of
from viewsplice.page.content import Content, count_of, thinned
from viewsplice.page.markup import figure, panels, percent, symbol, table, words
from viewsplice.page.scatter import scatter_html
from viewsplice.plotting import barcode_plot, feature_r2, feature_shares, reconstruction_plot, spectrum_plot, to_svg
from viewsplice.trust.symbols import plain_symbol

_MOST_VALUES = 2**24
_NAMES = {"ring": "a ring", "line": "a line", "sheet": "a sheet"}


def look_section(content: Content, data: dict[str, Any]) -> str:
    """Show the spaces, name their shapes, map the features, compare views with their reconstructions."""
    return (
        '<section id="look"><h2>What it looks like</h2><h3>Latent spaces</h3>'
        + scatter_html(content, data)
        + _shapes(content)
        + _maps(content, data)
        + _reconstructions(content)
        + "</section>"
    )


def _shapes(content: Content) -> str:
    found = {name: shape_of(z) for name, z in content.spaces.items()}
    rows = [
        [f"{symbol(name)}, {words(name)}", _shape_name(shape), escape(shape.reason)] for name, shape in found.items()
    ]
    pictures = []
    for name, shape in found.items():
        if shape.loops is not None and len(shape.loops):
            svg = to_svg(barcode_plot(shape.loops))
            caption = f"{symbol(name)}: loops by the scales at which they exist, the longest first"
            pictures.append(figure(svg, caption, f"Loops of {plain_symbol(name)}. {shape.reason}"))
        if len(shape.spectrum) > 1:
            svg = to_svg(spectrum_plot(shape.spectrum))
            caption = f"{symbol(name)}: variances along the principal axes"
            pictures.append(figure(svg, caption, f"Spectrum of {plain_symbol(name)}: {_spectrum(shape.spectrum)}"))
    more = (
        f"<details><summary>Evidence: loops and spectra</summary>{panels(pictures, is_paired=True)}</details>"
        if pictures
        else ""
    )
    return (
        "<h3>Shapes</h3><p>A shape has a name only where the evidence is clear: a loop that outlasts all others by "
        "far, dimensions on which spectrum and neighbors agree, wide gaps.</p>"
        + table(["space", "shape", "evidence"], rows, is_text=True)
        + more
    )


def _shape_name(shape: Shape) -> str:
    if shape.name == "clusters":
        return f'<strong class="nowrap">{shape.n_clusters} clusters</strong>'
    return (
        f'<strong class="nowrap">{_NAMES[shape.name]}</strong>'
        if shape.name
        else '<span class="nowrap">not clear</span>'
    )


def _spectrum(values: Array) -> str:
    return ", ".join(f"{value:.2g}" for value in values[:6])


def _maps(content: Content, data: dict[str, Any]) -> str:
    """Return the frame of the feature maps, which the page's script fills, and the shares of every feature."""
    spaces = "".join(
        f'<option value="{i}">{escape(space["label"])}: features of {escape(space["decoded"])}</option>'
        for i, space in enumerate(data["spaces"])
    )
    order = "".join(
        f'<option value="{value}">{label}</option>'
        for value, label in (
            ("space", "best explained by this space"),
            ("neither", "explained by neither"),
            ("number", "their number"),
        )
    )
    return (
        "<h3>Features over the spaces</h3><p>Each picture is the mean of one feature in every part of a space (along "
        "its first two axes if it has more), such as the receptive field of a neuron, in colors from its own lowest "
        "to its own highest mean: a feature that is mostly noise looks no paler. Parts with few rows are drawn nearer "
        "to the mean of all. What counts is below it, the share of "
        'the feature\'s variance that is <span class="key shared"></span> shared, <span class="key private"></span> '
        'private, <span class="key both"></span> in both of these, <span class="key together"></span> only both '
        'together, or <span class="key neither"></span> neither, '
        f"in {content.judged_words}; the best of many features are partly luck. Choose a picture to color all spaces "
        "by it.</p>"
        '<div class="controls" role="group" aria-label="Feature maps">'
        f'<label>Space <select id="maps-space">{spaces}</select></label>'
        f'<label>Order by <select id="maps-order">{order}</select></label></div>'
        '<div id="maps"></div><p><span id="maps-count" class="quiet" aria-live="polite"></span> '
        '<button type="button" id="maps-more">Show more</button></p>' + _feature_shares(content)
    )


def _feature_shares(content: Content) -> str:
    pictures = []
    for view, found in content.shares.items():
        shared, private = found.features["shared"], found.features["private"]
        if np.isnan(shared).all():
            pictures.append(f"<p>Features of {escape(view)} do not vary in {content.judged_words}.</p>")
            continue
        parts = content.explained_by(view)
        if len(parts) < 2:
            told = f"what is explained of them is {parts[0]}" if parts else "nothing explains them"
            pictures.append(f"<p>Features of {escape(view)}: {told}; R² below.</p>")
            continue
        middle = f"median {percent(np.nanmedian(shared))} shared, {percent(np.nanmedian(private))} private"
        caption = f"Features of {escape(view)}, {content.judged_words}: {middle}"
        svg = to_svg(feature_shares(shared, private))
        pictures.append(figure(svg, caption, f"Shares of variance of each feature of view {view}: {middle}"))
    return panels(pictures)


def _reconstructions(content: Content) -> str:
    """Say how well every view is rebuilt, by part of the split, with a few rows as examples."""
    parts = {part: rows for part, rows in content.parts.items() if len(rows)}
    widest = max(content.model.n_features_in_.values())
    used = {part: thinned(rows, max(2, _MOST_VALUES // widest)) for part, rows in parts.items()}
    samples = {part: content.views[rows] for part, rows in used.items()}
    rebuilt = {part: content.model.reconstruct(sample) for part, sample in samples.items()}
    head = ["view", *(f"{part} rows ({count_of(used[part], parts[part])})" for part in parts)]
    scores = [
        [escape(view), *(_r2(samples[part][view], rebuilt[part][view]) for part in parts)]
        for view in content.model.view_names_
    ]
    shown = list(parts)[-1]
    draw = partial(_examples, shown)
    pictures = "".join(draw(view, samples[shown][view], rebuilt[shown][view]) for view in content.model.view_names_)
    return (
        "<h3>Reconstructions</h3><p>R² of whole views: 1 is perfect, 0 is no better than the mean.</p>"
        + table(head, scores)
        + panels(_feature_r2(content))
        + pictures
    )


def _feature_r2(content: Content) -> list[str]:
    pictures = []
    for view, found in content.shares.items():
        r2 = found.features["rebuilt"]
        if np.isnan(r2).all():
            continue
        low, middle, high = np.nanquantile(r2, [0.05, 0.5, 0.95])
        # Features that hardly vary may have an R² of minus a million, which tells nothing else.
        start = "below -1" if low < -1 else f"{low:.2f}"
        spread = f"median {middle:.2f}, 90 % of them from {start} to {high:.2f}"
        caption = f"R² of single features of {escape(view)}, {content.judged_words}: {spread}"
        pictures.append(figure(to_svg(feature_r2(r2)), caption, f"R² of each feature of view {view}: {spread}"))
    return pictures


def _examples(part: str, view: str, x: Array, x_hat: Array) -> str:
    caption = f"View {escape(view)}: {part} rows, each above its reconstruction"
    svg = to_svg(reconstruction_plot(x, x_hat))
    return figure(svg, caption, f"View {view}: {part} rows, each above its reconstruction", is_wide=True)


def _r2(x: Array, x_hat: Array) -> str:
    return f"{reconstruction_r2(x, x_hat):.3f}" if (x != x[0]).any() else "undefined: rows do not differ"
