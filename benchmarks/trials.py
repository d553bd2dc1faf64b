"""Many small experiments that each end in one p-value, on two processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from viewsplice.sweeps import Task, TaskEvent, run_tasks

_N_JOBS = 2


def p_values(name: str, experiments: Sequence[Callable[[], float]]) -> list[float]:
    """Return the p-value of each experiment, in order; standard error says how far it is."""
    tasks = [Task(f"{name}, {number}", {}, partial(_work, one)) for number, one in enumerate(experiments)]
    return [result["p"] for result in run_tasks(tasks, n_jobs=_N_JOBS, on_done=_show)]


def _work(experiment: Callable[[], float], _: Any) -> dict[str, float]:
    return {"p": experiment()}


def _show(event: TaskEvent) -> None:
    sys.stderr.write(f"{event.n_done} of {event.n_tasks}: {event.name}\n")
