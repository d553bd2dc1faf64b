"""Progress of a fit, as a callback: a bar on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from tqdm import tqdm

from viewsplice.training.loop import Callback, EpochEvent

# A pipe gets a line at most this often, plus the first and last epoch of a stage.
_SECONDS_BETWEEN_LINES = 5.0


def progress(stream: TextIO | None = None) -> Callback:
    """Return a callback that shows epoch, losses and remaining time on ``stream`` (default: standard error)."""
    out = sys.stderr if stream is None else stream
    return _bar(out) if out.isatty() else _lines(out)


def summary(terms: dict[str, float]) -> str:
    """Return the sums of each kind of loss, such as ``rec 0.12 dis 0.01``, validation rows where there are any."""
    kinds: dict[str, float] = {}
    validated = {name.split("/")[1] for name in terms if name.startswith("val/")}
    for name, value in terms.items():
        kind = name.removeprefix("val/").split("/")[0]
        if name.startswith("val/") == (kind in validated):
            kinds[kind] = kinds.get(kind, 0.0) + value
    return " ".join(f"{kind} {value:.4f}" for kind, value in kinds.items())


def _bar(out: TextIO) -> Callback:
    bars: dict[str, tqdm[Any]] = {}

    def show(event: EpochEvent) -> None:
        if event.stage not in bars or event.epoch == 0:  # another fit may have the same stage
            if event.stage in bars:
                bars[event.stage].close()
            bars[event.stage] = tqdm(
                total=event.n_epochs, initial=event.epoch, desc=event.stage, file=out, unit="epoch"
            )
        bar = bars[event.stage]
        bar.set_postfix_str(summary(event.terms), refresh=False)
        bar.update()
        if event.epoch + 1 == event.n_epochs:
            bar.close()

    return show


def _lines(out: TextIO) -> Callback:
    started = time.monotonic()
    shown = -_SECONDS_BETWEEN_LINES
    stage_started = (0.0, "", 0)

    def show(event: EpochEvent) -> None:
        nonlocal shown, stage_started
        now = time.monotonic() - started
        if event.stage != stage_started[1] or event.epoch == 0:
            # The first epoch of a stage is timed by the second; a fit that goes on begins in the middle.
            stage_started = (now, event.stage, event.epoch + 1)
        is_edge = event.epoch in (0, event.n_epochs - 1)
        if is_edge or now - shown >= _SECONDS_BETWEEN_LINES:
            shown = now
            done = event.epoch + 1
            left = (now - stage_started[0]) / max(1, done - stage_started[2]) * (event.n_epochs - done)
            out.write(
                f"{event.stage} {done}/{event.n_epochs} {summary(event.terms)} ({now:.0f} s, {left:.0f} s left)\n"
            )
            out.flush()

    return show
