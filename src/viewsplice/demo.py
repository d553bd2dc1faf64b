"""The demonstration: simulated data with known truth, fitted, audited, and shown beside that truth."""

from __future__ import annotations

from collections.abc import Sequence

from viewsplice._types import Array
from viewsplice.datasets import MultiViewData, lgn_v1
from viewsplice.estimator import SPLICE
from viewsplice.metrics import linear_r2
from viewsplice.sweeps import Sweep
from viewsplice.sweeps.tasks import OnDone
from viewsplice.trust import Audit, AuditSettings, audit
from viewsplice.trust.symbols import plain_symbol
from viewsplice.trust.verdict import Finding

_AUDIT = AuditSettings(n_refits=1, most_rows=1500)
_JOBS = -1


def demo_data(*, quick: bool) -> MultiViewData:
    """Return LGN and V1, simulated: both see the same bar, each has a position on a track of its own."""
    return lgn_v1(4_000 if quick else 18_900, random_state=0)


def demo_model() -> SPLICE:
    """Return the estimator of the demonstration: nothing is chosen by hand."""
    return SPLICE(random_state=0)


def truth_sentence(model: SPLICE, data: MultiViewData) -> str:
    """Return in one sentence what a straight line through the latents tells about the true factors of the test rows."""
    train, test = data.rows("train"), data.rows("test")
    latents, held_out = model.transform(train.views).spaces(), model.transform(test.views).spaces()
    factors, truth = train.factors(), test.factors()
    pairs = [(space, name) for space in data.views.names for name in factors if name.startswith(f"{space}/")]
    pairs += [(space, name) for space in latents if "->" in space for name in data.shared]
    pairs = [(space, name) for space, name in pairs if latents[space].shape[1]]
    told = [
        f"{name} from {plain_symbol(space)} {_r2(latents[space], factors[name], held_out[space], truth[name]):.3f}"
        for space, name in pairs
    ]
    return f"Test rows, R² of what is decoded linearly: {', '.join(told)}."


def _r2(latents: Array, factor: Array, held_out: Array, truth: Array) -> float:
    return float(linear_r2(latents, factor, held_out, truth)[0])


def demo_audit(model: SPLICE, data: MultiViewData, on_done: OnDone | None) -> Audit:
    """Return the audit of the demonstration: on test rows, with one refit, as it must not take longer than the fit."""
    sweep = Sweep(n_jobs=_JOBS, on_done=on_done)
    return audit(model, data.rows("test").views, random_state=0, settings=_AUDIT, sweep=sweep)


def audit_sentences(findings: Sequence[Finding]) -> list[str]:
    """Return the first thing that an audit says, and all that speaks against the fit."""
    first, *others = findings
    return [f"Audit: {found.sentence}" for found in [first, *(one for one in others if one.is_fine is False)]]


def demo_notes(model: SPLICE, data: MultiViewData, *, quick: bool) -> Sequence[str]:
    """Return the sentences that stand on top of the demonstration's report."""
    intro = (
        "Simulated data with known truth: LGN and V1 see a bar at (x, y), a sheet; each has a position of its own on a "
        "track, a line. No dimension and no setting was given."
    )
    reduced = ["Quick demonstration: fewer trials, so figures are rougher than with the full one."]
    return [intro, *(reduced if quick else []), truth_sentence(model, data)]
