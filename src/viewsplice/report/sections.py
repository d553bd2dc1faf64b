"""The sections of the report, each a function from what is shown to HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sized
from dataclasses import dataclass, fields
from functools import cached_property
from html import escape
from importlib.metadata import version

import numpy as np
from scipy.spatial.distance import cdist

from viewsplice._types import Array, Latents
from viewsplice.estimator import SPLICE
from viewsplice.metrics import (
    covariance_spectrum,
    effective_dimension_of,
    is_collapsed,
    latent_spread,
    reconstruction_r2,
)
from viewsplice.persistence import settings_to_json
from viewsplice.plotting import (
    ColorKind,
    distance_plot,
    latent_scatter,
    loss_curves,
    reconstruction_plot,
    spectrum_plot,
    to_png,
    width_plot,
)
from viewsplice.report.markup import figure, panels, symbol, table, words
from viewsplice.views import Views

_MAX_PANELS = 36
_MAX_POINTS = 40_000
_MAX_VALUES = 2**25
_MAX_COLUMNS = 5_000


@dataclass(frozen=True, eq=False)
class Content:
    """What the sections show.

    Attributes
    ----------
    model, views, latents
        The fitted model, the rows given, and their latents.
    parts
        Numbers of those rows: "training" and "validation" if they are the fitted ones, else "given".
    colors, kinds
        Values per row by which latent spaces are colored, and how to read them.
    """

    model: SPLICE
    views: Views
    latents: Latents[Array]
    parts: Mapping[str, Array]
    colors: Mapping[str, Array]
    kinds: Mapping[str, ColorKind]

    @cached_property
    def spaces(self) -> dict[str, Array]:
        """Latent spaces that have dimensions."""
        return {name: z for name, z in self.latents.spaces().items() if z.shape[1]}

    @cached_property
    def n_colors(self) -> int:
        """How many color variables are drawn: enough for most uses, few enough for a page of about 3 MB."""
        return max(1, min(len(self.colors), _MAX_PANELS // max(1, len(self.spaces))))

    @cached_property
    def dpi(self) -> float:
        """Resolution of the small figures, lower when there are many."""
        n_figures = len(self.spaces) * (self.n_colors + 2)
        return float(np.clip(400 / np.sqrt(n_figures), 64, 110))

    @cached_property
    def collapsed(self) -> list[str]:
        """Spaces without spread, in the rows given or along their submanifold."""
        flat = [name for name, found in self.model.geometry_.items() if not found.geodesics.any()]
        return [name for name, z in self.spaces.items() if name in flat or is_collapsed(z)]


def spaces_section(content: Content) -> str:
    """Say what is shared and what is private: widths, spread and dimension of every space."""
    rows = []
    for name, z in content.latents.spaces().items():
        if name not in content.spaces:
            rows.append([words(name), symbol(name), "0", "", "", "", "not in the model"])
            continue
        spectrum = covariance_spectrum(z)
        relative = ", ".join(f"{value:.2g}" for value in spectrum[:6] / (spectrum[0] or 1.0))
        more = ", …" if len(spectrum) > 6 else ""
        state = "<strong>collapsed</strong>" if name in content.collapsed else "in use"
        dimensions = [str(z.shape[1]), f"{latent_spread(z):.3g}", str(effective_dimension_of(z))]
        rows.append([words(name), symbol(name), *dimensions, relative + more, state])
    head = ["space", "symbol", "dimensions", "spread", "effective dimension", "spectrum", "state"]
    cautions = "".join(f'<p class="warning">{escape(note)}</p>' for note in content.model.notes_)
    return (
        f"<h2>What is shared and what is private</h2>{cautions}"
        "<p>Spread is the total standard deviation; the spectrum holds the variances along the principal axes relative "
        "to the first, and the effective dimension counts those above 5 %.</p>" + table(head, rows)
    )


def reconstruction_section(content: Content) -> str:
    """Say how well every view is rebuilt, by part of the split, with a few rows as examples."""
    parts = {part: rows for part, rows in content.parts.items() if len(rows)}
    widest = max(content.model.n_features_in_.values())
    used = {part: _thinned(rows, max(2, _MAX_VALUES // widest)) for part, rows in parts.items()}
    samples = {part: content.views[rows] for part, rows in used.items()}
    rebuilt = {part: content.model.reconstruct(sample) for part, sample in samples.items()}
    head = ["view", *(f"{part} rows ({_count(used[part], parts[part])})" for part in parts)]
    scores = [
        [escape(view), *(_r2(samples[part][view], rebuilt[part][view]) for part in parts)]
        for view in content.model.view_names_
    ]
    shown = list(parts)[-1]
    figures = []
    for view in content.model.view_names_:
        png = to_png(reconstruction_plot(samples[shown][view], rebuilt[shown][view]))
        caption = f"View {escape(view)}: {shown} rows, each above its reconstruction"
        figures.append(figure(png, caption, caption))
    return (
        "<h2>How well the views are rebuilt</h2><p>Reconstruction R²: 1 is perfect, 0 is no better than the mean.</p>"
        + table(head, scores)
        + "".join(figures)
    )


def scatter_section(content: Content) -> str:
    """Show every latent space, one panel per color variable."""
    n_panels = content.n_colors * max(1, len(content.spaces))
    rows = _thinned(np.arange(len(content.views)), max(1_000, min(5_000, _MAX_POINTS // n_panels)))
    variables: list[tuple[str, Array | None]] = [*list(content.colors.items())[: content.n_colors]] or [("", None)]
    html = "<h2>What it looks like</h2>"
    if len(rows) < len(content.views):
        html += f"<p>{_count(rows, content.views)} rows are drawn, evenly spread.</p>"
    if len(content.colors) > content.n_colors:
        html += f"<p>The first {content.n_colors} of {len(content.colors)} color variables are drawn.</p>"
    for space, z in content.spaces.items():
        figures = []
        for name, values in variables:
            color = None if values is None else values[rows]
            ax = latent_scatter(z[rows], color=color, color_label=name, kind=content.kinds.get(name))
            by = f" and {escape(name)}" if name else ""
            figures.append(
                figure(to_png(ax, dpi=content.dpi), symbol(space) + by, f"Rows in the space {words(space)}{by}")
            )
        html += f"<h3>{symbol(space)}: {words(space)}</h3>{panels(figures)}"
    return html


def belief_section(content: Content) -> str:
    """Show what tells whether to believe the fit: collapsed spaces, losses, distances and spectra."""
    html = "<h2>Whether to believe it</h2>"
    for space in content.collapsed:
        html += (
            f'<p class="error"><strong>Collapsed:</strong> the space {words(space)} ({symbol(space)}) has no spread, '
            "or owes it to a few rows. No score of this space means anything.</p>"
        )
    html += "" if content.collapsed else "<p>No latent space has collapsed.</p>"
    caption = (
        "Losses in training: bold lines are means over views, thin lines single terms. The leak is measured by "
        "networks trained alongside, which can lag behind: a small value alone does not prove that nothing leaks."
    )
    html += figure(to_png(loss_curves(content.model.history_)), caption, "Loss terms by epoch, all stages")
    geometry = content.model.geometry_
    if not geometry:
        return html + "<p>The model was fitted without geometry: there are no distances to compare.</p>"
    html += "<h3>Are distances kept?</h3>"
    if "training" in content.parts:
        html += (
            "<p>Pairs of a landmark and a training row, darker where there are more. On the dashed line, the "
            "distance in the latent space equals the distance along the submanifold.</p>"
        )
        html += panels(_distance_figure(content, space) for space in geometry)
    else:
        html += "<p>Not compared: the rows given are not those of the fit, for which distances are known.</p>"
    spectra = []
    for space, found in geometry.items():
        ax = spectrum_plot(found.spectrum)
        spectra.append(
            figure(
                to_png(ax, dpi=content.dpi), symbol(space), f"Landmark-MDS spectrum, {words(space)}: {ax.get_title()}"
            )
        )
    html += "<h3>How many dimensions do the distances need?</h3>" + panels(spectra)
    html += (
        "<p>What the first coordinates of a space tell about held-out points of its submanifold: the curve stops "
        "rising where there are enough of them.</p>"
    )
    return html + panels(_width_figure(content, space) for space in geometry) + _anchors(content)


def _width_figure(content: Content, space: str) -> str:
    ax = width_plot(content.model.geometry_[space].curve, chosen=content.spaces[space].shape[1])
    what = f"Held-out R² by number of coordinates, {words(space)}: {ax.get_title()}"
    return figure(to_png(ax, dpi=content.dpi), symbol(space), what)


def _anchors(content: Content) -> str:
    """Say how much the geometry hangs on the rows at which the other spaces were held."""
    geometry = content.model.geometry_
    if content.model.n_anchors_ < 2:
        return "<p>Distances were measured at one anchor: how much they hang on it is not known.</p>"
    differences = ", ".join(f"{symbol(space)}: {100 * found.disagreement:.1f} %" for space, found in geometry.items())
    return (
        f"<p>Distances are medians over {content.model.n_anchors_} anchors; these differ by (RMS, in units of "
        f"the mean distance) {differences}.</p>"
    )


def _distance_figure(content: Content, space: str) -> str:
    found, z, train = content.model.geometry_[space], content.spaces[space], content.parts["training"]
    columns = _thinned(np.arange(len(train)), _MAX_COLUMNS)
    ax = distance_plot(found.geodesics[:, columns] / found.unit, cdist(z[found.landmarks], z[train[columns]]))
    return figure(
        to_png(ax, dpi=content.dpi),
        symbol(space),
        f"Latent against geodesic distances, {words(space)}: {ax.get_title()}",
    )


def making_section(content: Content) -> str:
    """Say how the fit was made: split, seed, versions and complete settings."""
    model = content.model
    complete = {f.name: getattr(model.fitted_.settings, f.name) for f in fields(model.fitted_.settings)}
    settings = {"given": settings_to_json(model.get_params(deep=False)), "complete": settings_to_json(complete)}
    neighbors = ", ".join(f"{symbol(space)}: {found.n_neighbors}" for space, found in model.geometry_.items())
    rows = [
        ["rows of the fit", ", ".join(f"{len(rows):,} {part}" for part, rows in model.split_.items())],
        ["features", ", ".join(f"{escape(name)}: {n:,}" for name, n in model.n_features_in_.items())],
        ["epochs", f"{len(model.history_):,}"],
        ["neighbors in the graph", neighbors or "no geometry"],
        ["seed", str(model.fitted_.seed)],
        ["versions", ", ".join(f"{name} {version(name)}" for name in ("viewsplice", "torch", "numpy"))],
    ]
    text = escape(json.dumps(settings, indent=2, ensure_ascii=False))
    details = f"<details><summary>All settings</summary><pre>{text}</pre></details>"
    return "<h2>How it was made</h2>" + table([], rows) + _choices(content) + details


def _choices(content: Content) -> str:
    """List what was chosen for the user, and why."""
    chosen = content.model.choices_
    if not chosen:
        return ""
    rows = [[escape(name), escape(str(choice.value)), escape(choice.reason)] for name, choice in chosen.items()]
    return "<h3>Chosen automatically</h3>" + table(["what", "value", "why"], rows)


def _thinned(rows: Array, most: int) -> Array:
    """Return at most so many rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)]


def _count(used: Sized, available: Sized) -> str:
    return f"{len(used):,}" if len(used) == len(available) else f"{len(used):,} of {len(available):,}"


def _r2(x: Array, x_hat: Array) -> str:
    return f"{reconstruction_r2(x, x_hat):.3f}" if (x != x[0]).any() else "undefined: rows do not differ"
