"""The result of an audit, and what it says in words: never more than was tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewsplice.io import json_text
from viewsplice.trust.agreement import Agreement
from viewsplice.trust.assumptions import Assumption, holm
from viewsplice.trust.dependence import Dependence
from viewsplice.trust.readings import Told
from viewsplice.trust.sharing import Sharing

ALPHA = 0.05
# A leak of less than this fraction of variance is a trace.
TRACE = 0.01
_STABLE = 0.9


@dataclass(frozen=True, eq=False)
class Audit:
    """Whether a fit can be believed.

    Attributes
    ----------
    p_shared
        P-value of the shared information.
    leaks
        What each space tells about other spaces, views and covariates: rows of `Told`.
    dependence
        Distance correlation of spaces that should be independent.
    stability
        Agreement with refits, and between anchors.
    assumptions
        What the method takes for granted, checked.
    verdict
        All of it in words.
    shared
        How ``p_shared`` was found, and what each view tells of each other.
    """

    p_shared: float
    leaks: Sequence[Told]
    dependence: Sequence[Dependence]
    stability: Sequence[Agreement]
    assumptions: Sequence[Assumption]
    verdict: str
    shared: Sharing

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json_text(vars(self))

    def table(self) -> str:
        """Return what each space tells, as lines of text, leaks first."""
        heads = ["space", "about", "kind", "probe", "R²", "null", "null 95 %", "p"]
        rows = [
            [
                row.source,
                row.target,
                row.kind,
                row.probe,
                *(f"{row[name]:.3f}" for name in ("r2", "null_mean", "null_q95", "p")),
            ]
            for row in self.leaks
        ]
        sizes = [max(len(row[column]) for row in [heads, *rows]) for column in range(len(heads))]
        lines = ["  ".join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)) for row in [heads, *rows]]
        return "\n".join(line.rstrip() for line in lines)


def write_verdict(
    shared: Sharing,
    leaks: Sequence[Told],
    stability: Sequence[Agreement],
    assumptions: Sequence[Assumption],
    failures: Sequence[str] = (),
) -> str:
    """Return what an audit found, in sentences.

    Parameters
    ----------
    shared, leaks, stability, assumptions
        What was found.
    failures
        Why refits failed, if any did.
    """
    sentences = [f"{_leak_words(leaks)}, {p_words(shared.p)} for shared information.", _shared_sentence(shared)]
    sentences += _leak_sentences(leaks, shared)
    if not shared.arrows:
        sentences.append("The model has no shared space, so there was nothing to test for shared information.")
    sentences += _stability_sentences(stability)
    sentences += [f"A refit failed: {failure.rstrip('.')}." for failure in failures]
    return " ".join([*(s for s in sentences if s), *(found.sentence for found in assumptions)])


def p_words(p: float) -> str:
    """Return a p-value in words: ``"p < 0.01"``, or ``"p = 0.2"``."""
    for bound in (0.001, 0.01):
        if p < bound:
            return f"p < {bound:g}"
    return f"p = {p:.2g}"


def found_leaks(leaks: Sequence[Told]) -> tuple[list[Told], list[Told]]:
    """Return the leaks that are beyond chance, corrected for their number: those that matter, and traces below 1 %."""
    asked = [row for row in leaks if row.is_leak]
    beyond = [row for row, p in zip(asked, holm([row.p for row in asked]), strict=True) if p <= ALPHA]
    return [row for row in beyond if row.leak >= TRACE], [row for row in beyond if row.leak < TRACE]


def _leak_words(leaks: Sequence[Told]) -> str:
    found, _ = found_leaks(leaks)
    if not [row for row in leaks if row.is_leak]:
        return "No leak could be tested"
    return f"{len(found)} leak{'s' * (len(found) != 1)} found" if found else "No leak found"


def _shared_sentence(shared: Sharing) -> str:
    if not shared.arrows:
        return ""
    told = "; ".join(f"{row.arrow} R² {row.r2:.3f}" for row in shared.arrows)
    n_units = (
        "" if shared.n_effective >= shared.n_rows else f", equal to about {shared.n_effective:.0f} independent ones"
    )
    return (
        f"Held-out rows: {shared.n_rows:,}{n_units}; {shared.n_exchanges} {shared.scheme}, smallest possible p "
        f"{shared.smallest_p:.2g}; what one view tells of the other: {told}."
    )


def _leak_sentences(leaks: Sequence[Told], shared: Sharing) -> list[str]:
    found, traces = found_leaks(leaks)
    asked = [row for row in leaks if row.is_leak]
    sentences = [
        f"{row.source} tells {row.leak:.1%} of {row.target} ({row.kind}; {row.probe}, {p_words(row.p)})."
        for row in sorted(found, key=lambda row: -row.leak)
    ]
    if traces:
        names = ", ".join(f"{row.source} about {row.target}" for row in traces)
        sentences.append(f"Traces below 1 % of variance: {names}.")
    if asked and not found:
        largest = max(asked, key=lambda row: row.leak)
        sentences.append(
            f"The largest of {len(asked)} directions is {max(0.0, largest.leak):.1%} of variance "
            f"({largest.source} about {largest.target})."
        )
    if asked and shared.arrows and shared.smallest_p * len(asked) > ALPHA:
        sentences.append("So few independent rows could not have shown a leak.")
    return sentences


def _stability_sentences(stability: Sequence[Agreement]) -> list[str]:
    sentences = []
    for word, name in (("refit", "Refits with other seeds and rows"), ("anchor", "Other anchors")):
        found = [row for row in stability if word in row.compared]
        if found:
            worst = min(found, key=lambda row: row.procrustes)
            state = "agree" if worst.procrustes >= _STABLE else "do not agree"
            sentences.append(
                f"{name} {state}: Procrustes R² {worst.procrustes:.2f} at the lowest ({worst.space}), canonical "
                f"correlation {min(row.canonical for row in found):.2f}."
            )
    return sentences
