"""The README's table of benchmark results, made from the JSON they are kept in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the results as a table: what was compared, the ratio, and its limit."""
    lines = ["| ratio, measured within one run | value | limit |", "|---|---|---|"]
    for row in rows:
        limit = "" if row["at_most"] is None else f"{row['at_most']:g}"
        lines.append(f"| {row['name']} | {row['value']:.3g} | {limit} |")
    return "\n".join(lines)


def update(readme: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Put the table between the README's two marks."""
    before, rest = readme.read_text(encoding="utf-8").split(BEGIN)
    _, after = rest.split(END)
    readme.write_text(f"{before}{BEGIN}\n{markdown(rows)}\n{END}{after}", encoding="utf-8")
