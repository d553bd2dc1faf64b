"""The first answer: what is shared and what is private, how many dimensions, how much of each view, how sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from viewsplice._random import numpy_generator
from viewsplice._types import Array
from viewsplice.metrics import covariance_spectrum, effective_dimension_of, latent_spread
from viewsplice.page.content import Content
from viewsplice.page.markup import figure, joined, note, percent, symbol, table, typeset, words
from viewsplice.plotting import share_bars, to_svg
from viewsplice.plotting.shares import PARTS
from viewsplice.recipes import doubts
from viewsplice.trust import Estimate
from viewsplice.trust.symbols import plain_symbol
from viewsplice.views import endpoints, is_arrow

# Resamples of a space; fewer of a wide one, whose spectrum takes longer.
_FEWEST_RESAMPLES, _MOST_RESAMPLES = 20, 200
_SHOWN = 6
# Shared information with a larger p-value may be chance.
_ALPHA = 0.05


def summary_section(content: Content, n_doubts: int) -> str:
    """Say what is shared and what is private: sentences, shares of variance, and a table of all spaces.

    Parameters
    ----------
    content
        What the page is about.
    n_doubts
        How many findings below speak against the fit.
    """
    html = '<section id="shared"><h2>What is shared and what is private</h2>'
    html += "".join(f'<p class="answer">{sentence}</p>' for sentence in _sentences(content))
    html += _unconfirmed(content) + _doubts(n_doubts) + _noted(content)
    return html + _shares(content) + _spaces(content) + "</section>"


def _sentences(content: Content) -> list[str]:
    """Return a sentence for all pairs of views that share something, and one for each view."""
    said = []
    views = content.model.view_names_
    for i, first in enumerate(views):
        for second in views[i + 1 :]:
            arrows = [name for name in content.latents.shared if {*endpoints(name)} == {first, second}]
            said.append(f"{escape(first)} and {escape(second)} share {_dimensions(content, arrows)}.")
    for view in views:
        parts = {"what it shares": "shared", "what is private": "private"}
        shares = [
            f"{what} explains <strong>{_percent(content.shares[view].total[part])}</strong>"
            for what, part in parts.items()
            if part in content.explained_by(view)
        ]
        seen = " in rows that the fit has seen" if content.judged_part == "training" else ""
        told = f" Of its variance{seen}, {', '.join(shares)}." if shares else ""
        said.append(f"{escape(view)} keeps {_dimensions(content, [view])} to itself.{told}")
    return said


def _dimensions(content: Content, names: Sequence[str]) -> str:
    """Return how many dimensions spaces have, whether the data or the user said so, and how many of them are used."""
    widths = content.latents.spaces()
    count = _from_to([widths[name].shape[1] for name in names])
    kind = "n_shared" if is_arrow(names[0]) else "n_private"
    chosen = [content.model.choices_[f"{kind}/{name}"] for name in names if f"{kind}/{name}" in content.model.choices_]
    origin = "found in the data" if chosen else "as set"
    if count == "0":
        return (
            f"<strong>nothing</strong> ({origin}{', on weak evidence' if any(one.is_weak for one in chosen) else ''})"
        )
    used = _from_to([effective_dimension_of(widths[name][content.judged]) for name in names if name in content.spaces])
    unused = "" if used == count else f", {used} of them effective"
    return f"<strong>{count} dimension{'' if count == '1' else 's'}</strong> ({origin}{unused})"


def _from_to(counts: Sequence[int]) -> str:
    return " to ".join(dict.fromkeys(str(count) for count in (min(counts), max(counts))))


def _percent(share: Estimate) -> str:
    return f"{percent(share.value)} ({round(100 * share.low)} to {round(100 * share.high)})"


def _unconfirmed(content: Content) -> str:
    """Warn of spaces that explain nothing in rows that judge the fit: their dimensions alone are no finding."""
    nothing = []
    for view in content.model.view_names_:
        for part in content.explained_by(view):
            share = content.shares[view].total[part]
            if share.low <= 0:
                what = f"what {escape(view)} shares" if part == "shared" else f"what is private to {escape(view)}"
                low, high = (round(100 * end) for end in (share.low, share.high))
                nothing.append(f"{what} ({percent(share.value)}, from {low} to {high})")
    said = []
    if nothing:
        verb = "explains" if len(nothing) == 1 else "explain"
        said.append(
            f"In {content.judged_words}, {joined(nothing)} {verb} nothing that can be told from zero: that the model "
            "has dimensions for it is no evidence."
        )
    p = (content.run.audit or {}).get("p_shared")
    if isinstance(p, int | float) and p > _ALPHA and any(is_arrow(name) for name in content.spaces):
        said.append(f"The audit found no evidence that anything is shared (p = {p:.2g}).")
    return "".join(note("warn", sentence) for sentence in said)


def _doubts(n_doubts: int) -> str:
    """Say whether the checks below speak for this answer, for readers who stop here."""
    where = '<a href="#believe">Whether to believe it</a>'
    if not n_doubts:
        return note("good", f"None of the checks under {where} speaks against this.")
    number = "One of the checks" if n_doubts == 1 else f"{n_doubts} of the checks"
    return note("warn", f"{number} under {where} {'calls' if n_doubts == 1 else 'call'} for caution.")


def _noted(content: Content) -> str:
    """Return what the model notes: absent, torn and bridged spaces one by one, weak evidence of widths folded."""
    choices = content.model.choices_
    told = {name: _in_symbols(content, name, sentence) for name, sentence in doubts(choices).items()}
    widths = [name for name in told if name.startswith(("n_shared/", "n_private/"))]
    weak = [name for name in widths if choices[name].is_weak and choices[name].value]
    html = "".join(note("warn", told[name]) for name in told if name not in weak)
    if not weak:
        return html
    names = ", ".join(symbol(name.split("/", 1)[1]) for name in weak)
    evidence = "".join(f"<li>{told[name]}</li>" for name in weak)
    return (
        f"{html}{note('warn', f'Another number of dimensions would suit the data as well in {names}.')}"
        f"<details><summary>Evidence for the numbers of dimensions</summary><ul>{evidence}</ul></details>"
    )


def _in_symbols(content: Content, name: str, sentence: str) -> str:
    """Return what the model notes about one space as HTML, which speaks of spaces as the rest of the page does."""
    space = name.partition("/")[2]
    return typeset(sentence.replace(f"space {space}", f"space {plain_symbol(space)}", 1), content.latents.spaces())


def _shares(content: Content) -> str:
    unit = "groups" if content.views.groups is not None else "rows"
    known = {view: _known_shares(content, view) for view in content.shares}
    drawn = {
        view: {name: share.value if share else 0.0 for name, share in shares.items()} for view, shares in known.items()
    }
    said = "; ".join(
        f"{view}: " + ", ".join(f"{percent(value)} {part}" for part, value in parts.items())
        for view, parts in drawn.items()
    )
    ax = share_bars(drawn)
    twice = (
        " <b>In both</b>: what shared and private variables explain alike, because they depend on each other or rows "
        "are too few to tell; the table counts it as shared and as private, and <i>only together</i> is below zero."
        if "in both" in ax.get_legend_handles_labels()[1]
        else ""
    )
    caption = (
        f"Shares of each view's variance in {content.judged_words}. <b>Only together</b>: what takes the shared and "
        "the private variables at once, such as their product. <b>Neither</b>: noise, and what the fit has missed. In "
        f"brackets and in the table: 95 % intervals over resampled {unit}.{twice}"
    )
    bars = figure(to_svg(ax), caption, f"Shares of variance. {said}", is_wide=True)
    head = ["view", *PARTS, "rebuilt: R²"]
    return bars + table(head, [[escape(view), *_row(shares)] for view, shares in known.items()])


def _known_shares(content: Content, view: str) -> dict[str, Estimate | None]:
    """Return the shares of a view by their names on the page; None for spaces without dimensions, which have none."""
    total, parts = content.shares[view].total, content.explained_by(view)
    return {
        "shared": total["shared"] if "shared" in parts else None,
        "private": total["private"] if "private" in parts else None,
        "only together": total["together"] if len(parts) == 2 else None,
        "neither": total["neither"],
    }


def _row(shares: Mapping[str, Estimate | None]) -> list[str]:
    cells = [
        f"{100 * share.value:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})" if share else "none"
        for share in shares.values()
    ]
    neither = shares["neither"]
    assert neither is not None
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
