"""The result of an audit, and what it says in words: never more than was tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewsplice.io import json_text
from viewsplice.records import Record
from viewsplice.trust.agreement import Agreement
from viewsplice.trust.assumptions import Assumption, holm, is_blind
from viewsplice.trust.dependence import Dependence
from viewsplice.trust.readings import Told
from viewsplice.trust.sharing import Sharing
from viewsplice.trust.symbols import plain_symbol

ALPHA = 0.05
# A leak of less than this fraction of variance is a trace.
TRACE = 0.01
_STABLE = 0.9


@dataclass(frozen=True)
class Finding(Record):
    """One sentence of a verdict.

    Attributes
    ----------
    sentence
        What was found.
    is_fine
        Whether it speaks for the fit; None: it speaks neither for nor against it.
    """

    sentence: str
    is_fine: bool | None


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
    findings
        All of it in sentences, the answer first.
    shared
        How ``p_shared`` was found, and what each view tells of each other.
    """

    p_shared: float
    leaks: Sequence[Told]
    dependence: Sequence[Dependence]
    stability: Sequence[Agreement]
    assumptions: Sequence[Assumption]
    findings: Sequence[Finding]
    shared: Sharing

    @property
    def verdict(self) -> str:
        """All of it in words."""
        return " ".join(found.sentence for found in self.findings)

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json_text({**vars(self), "verdict": self.verdict})

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


def write_findings(
    shared: Sharing,
    leaks: Sequence[Told],
    stability: Sequence[Agreement],
    assumptions: Sequence[Assumption],
    failures: Sequence[str] = (),
) -> list[Finding]:
    """Return what an audit found, sentence by sentence; the first is the answer.

    Parameters
    ----------
    shared, leaks, stability, assumptions
        What was found.
    failures
        Why refits failed, if any did.
    """
    lead = f"{_leak_words(leaks)}, {p_words(shared.p)} for shared information."
    found = [Finding(lead, lead.startswith("No leak found") and shared.p <= ALPHA)]
    found += [Finding(_shared_sentence(shared), None)] if shared.arrows else []
    found += _leak_findings(leaks)
    if not shared.arrows:
        found.append(
            Finding("The model has no shared space, so there was nothing to test for shared information.", None)
        )
    found += _stability_findings(stability)
    found += [Finding(f"A refit failed: {failure.rstrip('.')}.", False) for failure in failures]
    return [*found, *(Finding(checked.sentence, checked.holds) for checked in assumptions)]


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
    asked = [row for row in leaks if row.is_leak]
    if not asked:
        return "No leak could be tested"
    if not found and _are_blind(asked):
        return "No leak could be shown"
    return f"{len(found)} leak{'s' * (len(found) != 1)} found" if found else "No leak found"


def _are_blind(asked: Sequence[Told]) -> bool:
    """Tell whether no leak could have been significant, corrected for the number of directions.

    A space in which there is nothing to read does not leak, however few the rows are.
    """
    return any(row.probe != "none" for row in asked) and is_blind([row.smallest_p for row in asked])


def _shared_sentence(shared: Sharing) -> str:
    told = "; ".join(f"{plain_symbol(row.arrow)} R² {row.r2:.3f}" for row in shared.arrows)
    n_units = (
        "" if shared.n_effective >= shared.n_rows else f", equal to about {shared.n_effective:.0f} independent ones"
    )
    return (
        f"Held-out rows: {shared.n_rows:,}{n_units}; {shared.n_exchanges} {shared.scheme}, smallest possible p "
        f"{shared.smallest_p:.2g}; what one view tells of the other: {told}."
    )


def _leak_findings(leaks: Sequence[Told]) -> list[Finding]:
    found, traces = found_leaks(leaks)
    asked = [row for row in leaks if row.is_leak]
    told = [
        Finding(
            f"{plain_symbol(row.source)} tells {row.leak:.1%} of {plain_symbol(row.target)} ({row.kind}; {row.probe}, "
            f"{p_words(row.p)}).",
            False,
        )
        for row in sorted(found, key=lambda row: -row.leak)
    ]
    if traces:
        names = ", ".join(_about(row) for row in traces)
        told.append(Finding(f"Traces below 1 % of variance: {names}.", None))
    if asked and not found:
        largest = max(asked, key=lambda row: row.leak)
        size = f"{min(1.0, max(0.0, largest.leak)):.1%} of variance ({_about(largest)})"
        told.append(Finding(f"The largest of {len(asked)} directions is {size}.", None))
    if _are_blind(asked):
        told.append(Finding("So few independent rows that judge could not have shown a leak.", False))
    return told


def _about(row: Told) -> str:
    return f"{plain_symbol(row.source)} about {plain_symbol(row.target)}"


def _stability_findings(stability: Sequence[Agreement]) -> list[Finding]:
    told = []
    for word, name in (("refit", "Refits with other seeds and rows"), ("anchor", "Other anchors")):
        found = [row for row in stability if word in row.compared]
        if found:
            worst = min(found, key=lambda row: row.procrustes)
            is_stable = worst.procrustes >= _STABLE
            state = "agree" if is_stable else "do not agree"
            sentence = (
                f"{name} {state}: Procrustes R² {worst.procrustes:.2f} at the lowest ({plain_symbol(worst.space)}), "
                f"canonical correlation {min(row.canonical for row in found):.2f}."
            )
            told.append(Finding(sentence, is_stable))
    return told
