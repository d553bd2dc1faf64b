"""What an audit found, shown: its verdict, what tests stand behind it, and what the spaces may and do tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from html import escape
from typing import Any

from viewsplice.page.markup import fixed, listing, note, symbol, table, typeset
from viewsplice.trust.readings import Told
from viewsplice.trust.symbols import plain_symbol
from viewsplice.trust.verdict import found_leaks

Audited = Mapping[str, Any]
Row = Mapping[str, Any]

NUMBERS = ("r2", "null_mean", "null_q95")
# What a space may tell: rows of these kinds are no leaks.
_TOLD = ("view", "covariate")
_SHOWN_ABOVE = ("leaks", "verdict", "findings", "p_shared")
# Names of what an audit holds of single spaces.
_SPACES = ("space", "first", "second", "arrow")
_TITLES = {
    "shared": "Is anything shared?",
    "dependence": "Do spaces depend on each other beyond what can be predicted?",
    "stability": "Would another seed or anchor have shown the same?",
    "assumptions": "What the method takes for granted",
}


def audited_leaks(audit: Audited | None) -> list[Row]:
    """Return the leaks of an audit that have all their numbers; none without an audit."""
    return [row for row in _measured(audit) if row.get("kind") not in _TOLD]


def counted_leaks(audit: Audited | None) -> list[Row] | None:
    """Return those of them that the audit itself counts as leaks; None where it does not tell enough to know."""
    names, rows = [field.name for field in fields(Told) if field.default is MISSING], audited_leaks(audit)
    if not rows or not all(name in row for row in rows for name in names):
        return None
    return list(found_leaks([Told(**{name: row[name] for name in names}) for row in rows])[0])


def has_compared(audit: Audited | None, word: str) -> bool:
    """Tell whether an audit has compared refits (``"refit"``) or anchors (``"anchor"``)."""
    rows = (audit or {}).get("stability")
    rows = rows if isinstance(rows, list | tuple) else ()
    return any(isinstance(row, Mapping) and word in str(row.get("compared")) for row in rows)


def verdict_html(audit: Audited) -> str:
    """Return what an audit says in words, each sentence marked by whether it speaks for the fit; "" if it is silent."""
    spaces = _spaces(audit)
    findings = [row for row in audit.get("findings") or () if isinstance(row, Mapping) and row.get("sentence")]
    marked = [row for row in findings if isinstance(row.get("is_fine"), bool)]
    if not findings:
        return note("warn", typeset(str(audit["verdict"]), spaces)) if audit.get("verdict") else ""
    html = "".join(note("good" if row["is_fine"] else "warn", typeset(str(row["sentence"]), spaces)) for row in marked)
    others = " ".join(str(row["sentence"]) for row in findings if row not in marked)
    return html + (f"<p>{typeset(others, spaces)}</p>" if others else "")


def audit_html(audit: Audited) -> str:
    """Return the tables behind a verdict, closed until asked for; whatever else an audit holds, by its name."""
    told = [row for row in _measured(audit) if row.get("kind") in _TOLD]
    html = _details("What does each space tell about the views and covariates?", told_table(told)) if told else ""
    shown = {name: value for name, value in audit.items() if name not in _SHOWN_ABOVE and value}
    for name, value in shown.items():
        html += _details(_TITLES.get(name, name.replace("_", " ")), listing(_in_symbols(value, _spaces(audit))))
    p = audit.get("p_shared")
    said = f"<p>Shared information, against exchanged pairs: p = {escape(str(p))}.</p>" if p is not None else ""
    return f"<h3>More of the audit</h3>{said}{html}" if said or html else ""


def told_table(rows: Sequence[Row]) -> str:
    """Return what probes read, one row per question."""
    head = ["from", "about", "probe", "R²", "nulls: mean", "nulls: 95 %", "p"]
    cells = [
        [symbol(str(row["source"])), _target(row), escape(str(row.get("probe", "")))]
        + [fixed(row[key], 3) for key in NUMBERS]
        + [_p(row.get("p"))]
        for row in rows
    ]
    return table(head, cells)


def _spaces(audit: Audited) -> list[str]:
    """Return the latent spaces that an audit has read."""
    ends = [row[end] for row in _measured(audit) for end in ("source", "target") if _is_space(row, end)]
    return list(dict.fromkeys(map(str, ends)))


def _is_space(row: Row, end: str) -> bool:
    return end in row and (end == "source" or row.get("kind") not in _TOLD)


def _in_symbols(value: Any, spaces: Sequence[str], column: str = "") -> Any:
    """Return a part of an audit with its spaces, and pairs of them, in symbols; sentences as they are written."""
    if isinstance(value, Mapping):
        named = {_pair(str(key), spaces): item for key, item in value.items()}
        return {key: _in_symbols(item, spaces, key) for key, item in named.items()}
    if isinstance(value, list | tuple):
        return [_in_symbols(item, spaces, column) for item in value]
    return plain_symbol(value) if column in _SPACES and value in spaces else value


def _pair(text: str, spaces: Sequence[str]) -> str:
    parts = text.split(", ")
    return ", ".join(map(plain_symbol, parts)) if all(part in spaces for part in parts) else text


def _target(row: Row) -> str:
    """Return what is read: a latent space in symbols, or a view or a covariate by its name."""
    return escape(str(row["target"])) if row.get("kind") in _TOLD else symbol(str(row["target"]))


def _p(value: Any) -> str:
    return f"{value:.2g}" if isinstance(value, int | float) else listing(value)


def _measured(audit: Audited | None) -> list[Row]:
    rows = (audit or {}).get("leaks") or []
    return [row for row in rows if all(isinstance(row.get(key), int | float) for key in NUMBERS)]


def _details(title: str, html: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{html}</details>"
