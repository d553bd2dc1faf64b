"""The first answer: what is shared and what is private, how many dimensions, how much of each view, how sure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from viewsplice._random import numpy_generator
from viewsplice._types import Array
from viewsplice.metrics import covariance_spectrum, effective_dimension_of, latent_spread
from viewsplice.page.content import Content
from viewsplice.page.markup import figure, note, symbol, table, words
from viewsplice.plotting import share_bars, to_svg
from viewsplice.trust import Estimate, Shares
from viewsplice.views import endpoints, is_arrow

# Resamples of a space; fewer of a wide one, whose spectrum takes longer.
_FEWEST_RESAMPLES, _MOST_RESAMPLES = 20, 200
_SHOWN = 6


def summary_section(content: Content) -> str:
    """Say what is shared and what is private: sentences, shares of variance, and a table of all spaces."""
    html = '<section id="shared"><h2>What is shared and what is private</h2>'
    html += "".join(f'<p class="answer">{sentence}</p>' for sentence in _sentences(content))
    html += "".join(note("warn", escape(text)) for text in content.model.notes_)
    return html + _shares(content) + _spaces(content) + "</section>"


def _sentences(content: Content) -> list[str]:
    """Return a sentence for all pairs of views that share something, and one for each view."""
    widths = {name: z.shape[1] for name, z in content.latents.spaces().items()}
    said = []
    views = content.model.view_names_
    for i, first in enumerate(views):
        for second in views[i + 1 :]:
            both = sorted({widths[name] for name in widths if is_arrow(name) and {*endpoints(name)} == {first, second}})
            count = " to ".join(dict.fromkeys(map(str, (both[0], both[-1]))))
            said.append(f"{escape(first)} and {escape(second)} share <strong>{_dimensions(count)}</strong>.")
    for view in views:
        own, shares = widths[view], content.shares[view].total
        said.append(
            f"{escape(view)} keeps <strong>{_dimensions(str(own))}</strong> to itself. What it shares explains "
            f"<strong>{_percent(shares['shared'])}</strong> of its variance, what is private "
            f"<strong>{_percent(shares['private'])}</strong>."
        )
    return said


def _dimensions(count: str) -> str:
    return "nothing" if count == "0" else f"{count} dimension{'' if count == '1' else 's'}"


def _percent(share: Estimate) -> str:
    return f"{100 * share.value:.0f} % ({100 * share.low:.0f} to {100 * share.high:.0f})"


def _shares(content: Content) -> str:
    unit = "groups" if content.views.groups is not None else "rows"
    drawn = {
        view: {
            "shared": found.total["shared"].value,
            "private": found.total["private"].value,
            "only together": found.total["together"].value,
            "neither": found.total["neither"].value,
        }
        for view, found in content.shares.items()
    }
    said = "; ".join(
        f"{view}: " + ", ".join(f"{100 * value:.0f} % {part}" for part, value in parts.items())
        for view, parts in drawn.items()
    )
    caption = (
        f"Shares of each view's variance in {content.judged_words}. <b>Only together</b>: what takes the shared and "
        "the private variables at once, such as their product. <b>Neither</b>: noise, and what the fit has missed. In "
        f"brackets and in the table: 95 % intervals over resampled {unit}."
    )
    bars = figure(to_svg(share_bars(drawn)), caption, f"Shares of variance. {said}", is_wide=True)
    head = ["view", "shared", "private", "only together", "neither", "rebuilt: R²"]
    return bars + table(head, [[escape(view), *_row(found)] for view, found in content.shares.items()])


def _row(found: Shares) -> list[str]:
    parts = [found.total[part] for part in ("shared", "private", "together", "neither")]
    neither = parts[-1]
    cells = [f"{100 * share.value:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})" for share in parts]
    return [*cells, f"{1 - neither.value:.3f} ({1 - neither.high:.3f} to {1 - neither.low:.3f})"]


def _spaces(content: Content) -> str:
    """Return the table of all spaces: widths, spread, effective dimension with its range, spectrum."""
    rows = []
    for name, z in {**content.latents.shared, **content.latents.private}.items():
        if name not in content.spaces:
            rows.append([words(name), symbol(name), "0", "", "", "", "not in the model"])
            continue
        judged = z[content.judged]
        spectrum = covariance_spectrum(judged)
        relative = ", ".join(f"{value:.2g}" for value in spectrum[:_SHOWN] / (spectrum[0] or 1.0))
        more = ", …" if len(spectrum) > _SHOWN else ""
        state = "<strong>collapsed</strong>" if name in content.collapsed else "in use"
        dimension = _range(judged, None if content.views.groups is None else content.views.groups[content.judged])
        rows.append(
            [words(name), symbol(name), str(z.shape[1]), dimension, relative + more, f"{latent_spread(z):.3g}", state]
        )
    head = ["space", "symbol", "dimensions", "effective", "spectrum", "spread", "state"]
    return table(head, rows) + (
        '<p class="quiet">Effective dimension: principal axes with more than 5 % of the variance of the first; in '
        "brackets the range of 95 % of resamples. Spectrum: variances along the principal axes, relative to the "
        "first. Spread: total standard deviation.</p>"
    )


def _range(z: Array, groups: Array | None) -> str:
    """Return the effective dimension, and what 95 % of resampled rows or groups give."""
    generator = numpy_generator(0, "effective dimension")
    units = np.arange(len(z)) if groups is None else np.unique(groups, return_inverse=True)[1]
    members: Sequence[Array] = [np.flatnonzero(units == unit) for unit in range(units.max() + 1)]
    found = []
    for _ in range(int(np.clip(10_000 // z.shape[1], _FEWEST_RESAMPLES, _MOST_RESAMPLES))):
        rows = np.concatenate([members[unit] for unit in generator.integers(len(members), size=len(members))])
        found.append(effective_dimension_of(z[rows]))
    low, high = np.quantile(found, [0.025, 0.975], method="nearest")
    return f"{effective_dimension_of(z)} ({low} to {high})"
