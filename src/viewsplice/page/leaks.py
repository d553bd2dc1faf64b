"""What one latent space tells about another that it should not know: measured here, or read from an audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from viewsplice._types import Array
from viewsplice.page.audit import audit_html, audited_leaks, told_table, verdict_html
from viewsplice.page.content import Content, thinned
from viewsplice.page.markup import figure, fixed, note, symbol
from viewsplice.plotting import leak_plot, to_svg
from viewsplice.trust import probe_leaks
from viewsplice.trust.symbols import plain_symbol
from viewsplice.views import endpoints, is_arrow

# A page must not take as long as the fit: few rows, few nulls, few coordinates. An audit is more thorough.
_N_TRAIN, _N_TEST, _N_NULL, _N_COORDINATES = 800, 400, 10, 2
_LEAST_ROWS = 40
# R² above zero and the nulls from which a leak is worth a warning.
_WORTH_SAYING = 0.05

_AUDITED = (
    "the strongest of a line, neighbors, boosted trees and a network",
    "gray bars are the same with pairs of rows exchanged",
)
_QUICK = (
    "boosted trees and a network, the better of the two",
    f"gray bars are the same with rows shuffled, {_N_NULL} times, so that no p is below {1 / (1 + _N_NULL):.2g}",
)

LeakRow = Mapping[str, Any]


def measured_leaks(content: Content) -> list[LeakRow]:
    """Return what fresh probes read out of each space about those that should be independent of it.

    Rows have the form of an audit's: source, target, probe, r2, null_mean, null_q95, p. A target is the leading
    principal coordinates of a space; the one that can be read best stands for it.
    """
    train, test = _rows(content)
    if len(test) < _LEAST_ROWS or len(train) < _LEAST_ROWS:
        return []
    coordinates = {name: _leading(z) for name, z in content.spaces.items() if name not in content.collapsed}
    rows: list[LeakRow] = []
    for source, target in _pairs(list(coordinates)):
        z, y = content.spaces[source], coordinates[target]
        columns = {f"{i}": y[:, i] for i in range(y.shape[1])}
        found = probe_leaks(
            z[train],
            {name: column[train] for name, column in columns.items()},
            z[test],
            {name: column[test] for name, column in columns.items()},
            n_null=_N_NULL,
        )
        worst = max(found.values(), key=lambda leak: leak.leak)
        kept = {"r2": worst.r2, "null_mean": worst.null_mean, "null_q95": worst.null_q95, "p": worst.p}
        rows.append({"source": source, "target": target, "probe": worst.probe, **kept})
    return rows


def has_pairs(content: Content) -> bool:
    """Tell whether there are two spaces that should be independent, both with some spread."""
    return any(_pairs([name for name in content.spaces if name not in content.collapsed]))


def _rows(content: Content) -> tuple[Array, Array]:
    """Return rows on which probes are trained and tested: the fit's own parts, or halves of the rows given."""
    if content.judged_part == "validation":
        return thinned(content.parts["training"], _N_TRAIN), thinned(content.judged, _N_TEST)
    rows = thinned(content.parts[content.judged_part], _N_TRAIN + _N_TEST)
    order = np.random.default_rng(0).permutation(len(rows))
    cut = len(rows) * _N_TRAIN // (_N_TRAIN + _N_TEST)
    return rows[order[:cut]], rows[order[cut:]]


def _pairs(spaces: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (source, target) of spaces that should be independent.

    A private space should know nothing of another private one, nor of what other views tell about its own; and a
    shared space nothing of what is private to the view that it is computed from, which crossing alone does not prevent.
    """
    for source in spaces:
        for target in spaces:
            if is_arrow(source):
                is_asked = target == endpoints(source)[0]
            else:
                is_asked = target != source and (not is_arrow(target) or endpoints(target)[1] == source)
            if is_asked:
                yield source, target


def _leading(z: Array) -> Array:
    """Return the leading principal coordinates of a space that vary, (n, at most two)."""
    centered = z - z.mean(axis=0, dtype=np.float64)
    axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :_N_COORDINATES]
    coordinates: Array = centered @ axes
    return coordinates[:, coordinates.std(axis=0) > 0]


def _excess(row: LeakRow) -> float:
    """Return by how much a leak is above zero and 95 % of its nulls."""
    return float(row["r2"] - max(row["null_q95"], 0.0))


def largest_leak(rows: Sequence[LeakRow]) -> LeakRow | None:
    """Return the leak that is most above its nulls, or None where nothing was measured."""
    return max(rows, key=_excess, default=None)


def is_leaking(row: LeakRow) -> bool:
    """Tell whether a leak is above its nulls by enough to matter."""
    return _excess(row) > _WORTH_SAYING


def leaks_html(rows: Sequence[LeakRow], audit: Mapping[str, Any] | None) -> str:
    """Return what an audit says, a figure and a table of all leaks, and whatever else an audit has found.

    ``rows`` come from `measured_leaks` or from `audited_leaks`.
    """
    said = verdict_html(audit) if audit else ""
    rest = audit_html(audit) if audit else ""
    html = f"<h3>What the audit says</h3>{said}" if said else ""
    html += "<h3>Does one space leak into another?</h3>"
    worst = largest_leak(rows)
    if worst is None:
        html += "<p>Not measured: there are too few rows to train and test a probe, or too few spaces.</p>"
        return html + rest
    probes, nulls = _AUDITED if audited_leaks(audit) else _QUICK
    caption = f"Fresh probes ({probes}) predict the coordinates of one space from another on held-out rows; {nulls}."
    target, source = (plain_symbol(str(worst[end])) for end in ("target", "source"))
    told = f"Farthest above its nulls is R² {fixed(worst['r2'])} of {target} from {source}"
    html += "" if said else _leak_notes(rows)
    drawn = [{**row, **{end: plain_symbol(str(row[end])) for end in ("source", "target")}} for row in rows]
    html += figure(to_svg(leak_plot(drawn)), caption, f"What probes read out of each space. {told}.", is_wide=True)
    return html + told_table(rows) + rest


def _leak_notes(rows: Sequence[LeakRow]) -> str:
    """Return a warning for every leak, or a sentence that there is none."""
    leaking = [row for row in rows if is_leaking(row)]
    if not leaking:
        return note("good", f"No space tells more about another than shuffled rows do, by R² = {_WORTH_SAYING}.")
    return "".join(
        note(
            "warn",
            f"{symbol(str(row['source']))} tells R² = {fixed(row['r2'])} of {symbol(str(row['target']))}, where "
            f"shuffled rows give {fixed(row['null_mean'])} (95 % below {fixed(row['null_q95'])}).",
        )
        for row in leaking
    )
