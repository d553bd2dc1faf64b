"""How a sweep runs: on how many workers, where, and where its results are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs

from viewsplice.sweeps.tasks import OnDone, Task, check_workers, run_tasks

_CLUSTER_WORKERS = 8


@dataclass(frozen=True)
class Sweep:
    """How the tasks of `dimension_scan`, `tune` and `audit` are run.

    Parameters
    ----------
    n_jobs
        Processes, each with a single thread; -1: one per core; 1: this process, with its threads.
    backend
        ``"loky"``: this machine. ``"ray"``, ``"dask"``: the cluster that is running.
    folder
        Where finished tasks are kept, so that an interrupted sweep goes on where it stopped; None: nowhere.
    on_done
        Function of a `TaskEvent`, called after each task.
    """

    n_jobs: int = 1
    backend: str = "loky"
    folder: str | PathLike[str] | None = None
    on_done: OnDone | None = None

    def __post_init__(self) -> None:
        check_workers(self.n_jobs, self.backend)

    @property
    def n_workers(self) -> int:
        """Tasks that run at a time, where that is known: of a cluster without limit, a few."""
        if self.n_jobs > 0:
            return self.n_jobs
        return effective_n_jobs(self.n_jobs) if self.backend == "loky" else _CLUSTER_WORKERS

    def run(self, tasks: Sequence[Task], data: Any) -> list[dict[str, Any]]:
        """Return the result of every task, in order."""
        folder = None if self.folder is None else Path(self.folder)
        return run_tasks(
            tasks, data=data, n_jobs=self.n_jobs, backend=self.backend, folder=folder, on_done=self.on_done
        )
