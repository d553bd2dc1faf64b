"""What an audit found, shown: its verdict, what tests stand behind it, and what the spaces may and do tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from html import escape
from typing import Any

from viewsplice.page.markup import fixed, listing, note, symbol, table
from viewsplice.trust.readings import Told
from viewsplice.trust.verdict import found_leaks

Audited = Mapping[str, Any]
Row = Mapping[str, Any]

NUMBERS = ("r2", "null_mean", "null_q95")
# What a space may tell: rows of these kinds are no leaks.
_TOLD = ("view", "covariate")
_SHOWN_ABOVE = ("leaks", "verdict", "findings", "p_shared")
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
    findings = [row for row in audit.get("findings") or () if isinstance(row, Mapping) and row.get("sentence")]
    marked = [row for row in findings if isinstance(row.get("is_fine"), bool)]
    if not findings:
        return note("warn", escape(str(audit["verdict"]))) if audit.get("verdict") else ""
    html = "".join(note("good" if row["is_fine"] else "warn", escape(str(row["sentence"]))) for row in marked)
    others = " ".join(str(row["sentence"]) for row in findings if row not in marked)
    return html + (f"<p>{escape(others)}</p>" if others else "")


def audit_html(audit: Audited) -> str:
    """Return the tables behind a verdict, closed until asked for; whatever else an audit holds, by its name."""
    told = [row for row in _measured(audit) if row.get("kind") in _TOLD]
    html = _details("What does each space tell about the views and covariates?", told_table(told)) if told else ""
    shown = {name: value for name, value in audit.items() if name not in _SHOWN_ABOVE and value}
    for name, value in shown.items():
        html += _details(_TITLES.get(name, name.replace("_", " ")), listing(value))
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
