"""Independent tasks: seeds, folds, widths, permutations, trials. On one process, on several, or on a cluster.

A task is a function of the data and a name with settings. What it returns is kept in a file whose name contains a hash
of everything the result depends on: an interrupted sweep goes on where it stopped, and nothing is done twice.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from threadpoolctl import threadpool_limits

from viewsplice.config import check_choice, check_number
from viewsplice.io import json_text, settings_hash, write_json
from viewsplice.sweeps.clusters import on_dask, on_ray

BACKENDS = ("loky", "ray", "dask")
_LONGEST_NAME = 60
# Times that processes may die under a sweep before it gives up: a task may be what kills them.
_MOST_LOSSES = 3


@dataclass(frozen=True, eq=False)
class Task:
    """One piece of work that needs no other.

    Attributes
    ----------
    name
        What it is: ``"width 2, fold 0"``.
    settings
        Everything the result depends on, the data included (`joint_fingerprint`), as JSON values.
    work
        Function of the data that returns JSON values by name; it must survive pickling.
    """

    name: str
    settings: Mapping[str, Any]
    work: Callable[[Any], Mapping[str, Any]]

    @property
    def file(self) -> str:
        """Return the name of the file that keeps its result."""
        return f"{slug(self.name)}-{settings_hash(self.settings)}.json"


@dataclass(frozen=True)
class TaskEvent:
    """A finished task: its name, how many are done, and of how many."""

    name: str
    n_done: int
    n_tasks: int


OnDone = Callable[[TaskEvent], None]


def check_workers(n_jobs: int, backend: str) -> None:
    """Raise unless tasks can be run like this."""
    check_choice("backend", backend, BACKENDS)
    check_number("n_jobs", n_jobs, low=-1, integer=True)
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; expected a number of processes, or -1 for one per core")


def run_tasks(
    tasks: Sequence[Task],
    *,
    data: Any = None,
    n_jobs: int = 1,
    backend: str = "loky",
    folder: Path | None = None,
    on_done: OnDone | None = None,
) -> list[dict[str, Any]]:
    """Return the result of every task, in order; those found in ``folder`` are not done again.

    Parameters
    ----------
    tasks
        What is to be done, in any order.
    data
        What every task works on; it travels to each worker once.
    n_jobs
        Processes, each with a single thread; -1: one per core. 1 is this process, with its threads. On a cluster, the
        tasks under way at a time (-1: as many as it takes).
    backend
        ``"loky"``: processes of this machine. ``"ray"`` or ``"dask"``: the cluster that is running.
    folder
        Where results are kept; None: nowhere.
    on_done
        Told of every finished task.
    """
    check_workers(n_jobs, backend)
    found = {number: _read(folder, task) for number, task in enumerate(tasks)}
    results = {number: result for number, result in found.items() if result is not None}
    open_tasks = {number: task for number, task in enumerate(tasks) if number not in results}
    for number, result, seconds in _run(open_tasks, data, n_jobs, backend):
        task = open_tasks[number]
        results[number] = json.loads(json_text(dict(result)))
        if folder is not None:
            # Not before there is something to keep: what fails at once leaves nothing behind.
            folder.mkdir(parents=True, exist_ok=True)
            about = {"task": task.name, "settings": task.settings, "seconds": round(seconds, 3)}
            write_json(folder / task.file, {**about, "result": results[number]})
        if on_done is not None:
            on_done(TaskEvent(task.name, len(results), len(tasks)))
    return [results[number] for number in range(len(tasks))]


def slug(name: str) -> str:
    """Return a name as the beginning of a file name."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")[:_LONGEST_NAME]


def _read(folder: Path | None, task: Task) -> dict[str, Any] | None:
    """Return what a task has left behind; None where there is nothing, or a file that is damaged: it is done again."""
    if folder is None:
        return None
    try:
        result = json.loads((folder / task.file).read_text(encoding="utf-8"))["result"]
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None
    return result if isinstance(result, dict) else None


Outcome = tuple[int, Mapping[str, Any], float]


def _run(tasks: Mapping[int, Task], data: Any, n_jobs: int, backend: str) -> Iterator[Outcome]:
    """Yield (number, result, seconds) of each task as it ends."""
    if not tasks:
        return
    if backend != "loky":
        calls = {number: task.work for number, task in tasks.items()}
        yield from (on_ray if backend == "ray" else on_dask)(alone, calls, data, n_jobs)
    elif effective_n_jobs(n_jobs) == 1:
        for number, task in tasks.items():
            yield timed(number, task.work, data)
    else:
        yield from _on_processes(tasks, data, n_jobs)


def _on_processes(tasks: Mapping[int, Task], data: Any, n_jobs: int) -> Iterator[Outcome]:
    """Run tasks on processes of this machine; those lost with a process that dies are submitted again."""
    left = dict(tasks)
    for loss in range(_MOST_LOSSES + 1):
        try:
            with parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1):
                pool = Parallel(return_as="generator_unordered", batch_size=1)
                for outcome in pool([delayed(alone)(number, task.work, data) for number, task in left.items()]):
                    left.pop(outcome[0])
                    yield outcome
            return
        except BrokenProcessPool:
            if loss == _MOST_LOSSES:
                raise


def timed(number: int, work: Callable[[Any], Mapping[str, Any]], data: Any) -> Outcome:
    """Return the number of a task, its result, and how long it took."""
    started = time.monotonic()
    result = work(data)
    return number, result, time.monotonic() - started


def alone(number: int, work: Callable[[Any], Mapping[str, Any]], data: Any) -> Outcome:
    """Do a task in a process that is a worker, on one thread: workers that each took all cores would slow all down."""
    torch.set_num_threads(1)
    with threadpool_limits(1):
        return timed(number, work, data)
