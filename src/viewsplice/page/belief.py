"""The third answer: whether to believe it. Leaks, assumptions, distances, spectra, stability, losses, warnings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

from viewsplice._types import Array
from viewsplice.geometry.submanifolds import decoded_view
from viewsplice.metrics import on_manifold
from viewsplice.page.audit import audited_leaks, counted_leaks, has_compared
from viewsplice.page.content import Content, thinned
from viewsplice.page.leaks import LeakRow, has_pairs, is_leaking, largest_leak, leaks_html, measured_leaks
from viewsplice.page.markup import figure, fixed, note, panels, symbol, typeset, words
from viewsplice.plotting import distance_plot, loss_curves, spectrum_plot, to_svg, width_plot
from viewsplice.trust.symbols import plain_symbol

_MOST_COLUMNS = 5_000
_MOST_MADE = 400
# Projections may be this much farther from real points than real points are from each other.
_FAR = 1.5
_UNSTABLE = 0.15
_NOTHING_TO_COMPARE = "<p>The model has no two spaces that should be independent of each other.</p>"


def belief_section(content: Content) -> str:
    """Show what tells whether to believe the fit."""
    audit = content.run.audit
    leaks = audited_leaks(audit) or measured_leaks(content)
    html = '<section id="believe"><h2>Whether to believe it</h2>' + _warnings(content)
    html += (
        "<h3>The two assumptions of the method</h3>"
        + (_independence(leaks, counted_leaks(audit)) if leaks or has_pairs(content) else _NOTHING_TO_COMPARE)
        + _projections(content)
    )
    html += leaks_html(leaks, audit) + _geometry(content)
    caption = (
        "Losses in training: bold lines are means over views, thin lines single terms, dashed lines validation rows. "
        "The leak that is measured by networks trained alongside can lag behind: the probes above are the better judge."
    )
    svg = to_svg(loss_curves(content.model.history_))
    html += "<h3>Did training settle?</h3>" + figure(svg, caption, "Loss terms by epoch, all stages", is_wide=True)
    return html + "</section>"


def _warnings(content: Content) -> str:
    """Return collapsed spaces and what the fit warned of, in plain words."""
    html = "".join(
        note(
            "bad",
            f"The space {words(space)} ({symbol(space)}) has collapsed: it has no spread, or owes it to a few rows. No "
            "score of this space means anything.",
        )
        for space in content.collapsed
    )
    html += "" if content.collapsed else note("good", "No latent space has collapsed.")
    html += "".join(note("warn", typeset(text, content.spaces)) for text in content.run.warnings)
    restarts = content.model.history_[-1]["attempt"]
    if restarts:
        html += note(
            "warn", f"Training diverged or collapsed {restarts} times and was started again with another seed."
        )
    if content.judged_part == "training":
        html += note("warn", "There are too few held-out rows: all numbers are of rows that the fit has seen.")
    return html


def _independence(leaks: Sequence[LeakRow], counted: Sequence[LeakRow] | None = None) -> str:
    """Return in one sentence whether the spaces are independent, by what an audit counts as leaks if it does."""
    worst = largest_leak(counted or leaks)
    if worst is None:
        return note("warn", "<b>Independence</b> of the spaces was not measured: there are too few rows.")
    numbers = (
        f"of all that can be read out of one space about another, R² = {fixed(worst['r2'])} (from "
        f"{symbol(str(worst['source']))} about {symbol(str(worst['target']))}) is farthest above shuffled rows, which "
        f"give {fixed(worst['null_mean'])} and in 95 % of cases less than {fixed(worst['null_q95'])}"
    )
    # Two verdicts on one page must not contradict each other: where there is an audit, its own counts.
    is_found = is_leaking(worst) if counted is None else bool(counted)
    verdict = "they are not independent" if is_found else "nothing speaks against it"
    return note("warn" if is_found else "good", f"<b>Independence of the spaces</b>: {numbers}; {verdict}.")


def _projections(content: Content) -> str:
    """Return in one sentence whether projections on the submanifolds are as near to data as data are to each other."""
    ratios = {}
    for space in content.spaces:
        if space in content.collapsed or not content.model.geometry_:
            continue
        view = decoded_view(space)
        real = content.views[view][content.judged]
        sample = content.views[thinned(content.judged, _MOST_MADE)]
        found = on_manifold(content.model.project(sample, vary=space), real)
        middle = float(np.median(found.real))
        if middle > 0:
            ratios[space] = float(np.median(found.made)) / middle
    if not ratios:
        return "<p>The model was fitted without geometry: nothing was projected.</p>"
    told = ", ".join(f"{symbol(space)} {ratio:.2f}" for space, ratio in ratios.items())
    is_near = max(ratios.values()) <= _FAR
    verdict = (
        "they lie where data lie"
        if is_near
        else "some lie where there are no data, so that distances there mean little"
    )
    return note(
        "good" if is_near else "warn",
        "<b>Projections on the submanifolds</b>: the distance of a projected row to the nearest real one, over that of "
        f"a real row to the nearest other (medians), is {told}; {verdict}.",
    )


def _geometry(content: Content) -> str:
    geometry = content.geometry
    html = "<h3>Are distances kept?</h3>"
    if not geometry:
        return html + "<p>The model was fitted without geometry: there are no distances to compare.</p>"
    if "training" in content.parts:
        html += (
            "<p>Pairs of a landmark and a training row, denser where there are more. On the dashed line, the distance "
            "in the latent space equals the distance along the submanifold.</p>"
        )
        html += panels(_distances(content, space) for space in geometry)
    else:
        html += "<p>Not compared: the rows given are not those of the fit, for which distances are known.</p>"
    html += "<h3>How many dimensions do the distances need?</h3>" + panels(_spectra(content))
    html += (
        "<p>What the first coordinates of a space tell about held-out points of its submanifold: the curve stops "
        "rising where there are enough of them.</p>"
    )
    return html + panels(_widths(content, space) for space in geometry) + "<h3>Is it stable?</h3>" + _stability(content)


def _distances(content: Content, space: str) -> str:
    found, z, train = content.geometry[space], content.spaces[space], content.parts["training"]
    columns: Array = thinned(np.arange(len(train)), _MOST_COLUMNS)
    ax = distance_plot(found.geodesics[:, columns] / found.unit, cdist(z[found.landmarks], z[train[columns]]))
    return figure(
        to_svg(ax), symbol(space), f"Latent against geodesic distances of {plain_symbol(space)}: {ax.get_title()}"
    )


def _spectra(content: Content) -> list[str]:
    pictures = []
    for space, found in content.geometry.items():
        ax = spectrum_plot(found.spectrum)
        said = f"Landmark-MDS spectrum of {plain_symbol(space)}: {ax.get_title()}"
        pictures.append(figure(to_svg(ax), f"{symbol(space)}: eigenvalues of the distances", said))
    return pictures


def _widths(content: Content, space: str) -> str:
    ax = width_plot(content.geometry[space].curve, chosen=content.spaces[space].shape[1])
    said = f"Held-out R² by number of coordinates of {plain_symbol(space)}: {ax.get_title()}"
    return figure(to_svg(ax), symbol(space), said)


def _stability(content: Content) -> str:
    """Say how much the geometry hangs on the rows at which the other spaces were held, and on the seed."""
    geometry, n_anchors = content.geometry, content.model.n_anchors_
    seeds = (
        "<p>How much hangs on the seed, the audit above tells.</p>"
        if has_compared(content.run.audit, "refit")
        else "<p>How much hangs on the seed, one fit does not tell: fit again with another one and compare.</p>"
    )
    if n_anchors < 2:
        return "<p>Distances were measured at one anchor: how much they hang on it is not known.</p>" + seeds
    differences = ", ".join(f"{symbol(space)} {100 * found.disagreement:.1f} %" for space, found in geometry.items())
    is_stable = max(found.disagreement for found in geometry.values()) <= _UNSTABLE
    told = f"Distances are medians over {n_anchors} anchors, which differ by (RMS, of the mean distance) {differences}"
    if is_stable and has_compared(content.run.audit, "anchor"):
        # The audit judges anchors by other rows and may find otherwise: one verdict is enough.
        return f"<p>{told}.</p>{seeds}"
    verdict = "the geometry hardly depends" if is_stable else "the geometry depends"
    return note("good" if is_stable else "warn", f"{told}: {verdict} on where the other spaces are held.") + seeds
