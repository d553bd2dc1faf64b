"""Progress of a sweep, task by task: a bar on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from tqdm import tqdm

from viewsplice.sweeps.tasks import OnDone, TaskEvent


def task_progress(stream: TextIO | None = None) -> OnDone:
    """Return a function for ``Sweep.on_done`` that shows what is done and what is left, on standard error."""
    out = sys.stderr if stream is None else stream
    return _bar(out) if out.isatty() else _lines(out)


def _bar(out: TextIO) -> OnDone:
    bars: list[tqdm[Any]] = []

    def show(event: TaskEvent) -> None:
        if not bars or bars[-1].total != event.n_tasks or bars[-1].n >= event.n_tasks:
            bars.append(tqdm(total=event.n_tasks, file=out, unit="task"))
        bar = bars[-1]
        bar.set_postfix_str(event.name, refresh=False)
        bar.update(event.n_done - bar.n)
        if event.n_done == event.n_tasks:
            bar.close()

    return show


def _lines(out: TextIO) -> OnDone:
    started = time.monotonic()

    def show(event: TaskEvent) -> None:
        out.write(f"{event.n_done}/{event.n_tasks} {event.name} ({time.monotonic() - started:.0f} s)\n")
        out.flush()

    return show
