"""Tables of measured results in the README and the docs, made from the JSON they are kept in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.rows import limit_words

_HEAD, _STATISTICS_HEAD = "| ratio, measured within one run | value | limit |", "| rate | value | limit |"
_STATISTICS = ("shared information", "leak of", "no leak")
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the results as a table: what was compared, the ratio, and its limit; a limit that is missed is marked."""
    lines = [_HEAD, "|---|---|---|"]
    for row in rows:
        limit = limit_words(row["at_most"], row.get("at_least")) + ("" if row["met"] else ", **missed**")
        lines.append(f"| {row['name']} | {row['value']:.3g} | {limit} |")
    return "\n".join(lines)


def statistics(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows that tell how often tests are right and wrong; a sentence where none has been measured."""
    rates = [row for row in rows if row["name"].startswith(_STATISTICS)]
    return markdown(rates).replace(_HEAD, _STATISTICS_HEAD) if rates else "Not yet measured."


def accuracy(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what recipe "auto" found: mean over seeds and, in brackets, the worst."""
    lines = ["| data | figure | value | aim |", "|---|---|---|---|"]
    for data, seeds in results.items():
        for figure, values, aim, worst in _figures(list(seeds.values())):
            mean, extreme = (format(v, ".4f") for v in (sum(values) / len(values), worst(values)))
            lines.append(f"| {data}, seeds {' '.join(seeds)} | {figure} | {mean} ({extreme}) | {aim} |")
    return "\n".join(lines)


def _figures(fits: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[float], str, Callable[[list[float]], float]]]:
    """Return (name, values, aim, what is worst) of each figure of one data set."""
    rows: list[tuple[str, list[float], str, Callable[[list[float]], float]]] = []
    if "angle_variance" in fits[0]:
        rows += [
            ("variance of z_B by the corrected angle", [f["angle_variance"] for f in fits], "≥ 0.985", min),
            ("digit accuracy from s_{B->A}", [f["digit_accuracy"]["B->A"] for f in fits], "≥ 0.913", min),
            ("longest H1 bar / second", [f["ring_ratio"] for f in fits], "≥ 3", min),
        ]
    else:
        is_noisy = "supervised_r2" in fits[0]
        aim = "≥ 0.97, or 0.01 below the supervised one" if is_noisy else "≥ 0.995"
        names = fits[0]["linear_r2"]
        rows += [(f"linear R², {name}", [f["linear_r2"][name] for f in fits], aim, min) for name in names]
        if is_noisy:
            rows += [
                (f"supervised R², {name}", [f["supervised_r2"][name] for f in fits], "", min)
                for name in fits[0]["supervised_r2"]
            ]
        largest = [max(leak["leak"] for leak in f["leaks"].values()) for f in fits]
        rows.append(("largest leak", largest, "≤ 0.02", max))
    rows.append(("lowest reconstruction R²", [min(f["reconstruction_r2"].values()) for f in fits], "", min))
    return rows


def dimensions(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return widths and effective dimensions of every space, for each seed."""
    lines = ["| data | seed | widths | effective dimensions |", "|---|---|---|---|"]
    for data, seeds in results.items():
        for seed, fit in seeds.items():
            if "widths" in fit:
                found = [
                    ", ".join(f"{k}: {v}" for k, v in fit[key].items()) for key in ("widths", "effective_dimension")
                ]
                lines.append(f"| {data} | {seed} | {found[0]} | {found[1]} |")
    return "\n".join(lines)


def ablation(results: Mapping[str, Mapping[str, float]]) -> str:
    """Return what is lost when one part of recipe "auto" is left out."""
    lines = ["| variant | shared | private | leak | reconstruction | time |", "|---|---|---|---|---|---|"]
    full = results["everything"]["seconds"]
    for name, found in results.items():
        figures = " | ".join(f"{found[key]:.4f}" for key in ("shared", "private", "leak", "reconstruction"))
        lines.append(f"| {name} | {figures} | {found['seconds'] / full:.2f} |")
    return "\n".join(lines)


def put(page: Path, mark: str, table: str) -> None:
    """Put a table between the two marks of a page."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="utf-8")


def update(readme: Path, rows: Sequence[Mapping[str, Any]], page: Path | None = None) -> None:
    """Put the table of benchmarks between the README's two marks, and the rates of tests on the page about them."""
    put(readme, "bench", markdown(rows))
    if page is not None:
        put(page, "statistics", statistics(rows))
