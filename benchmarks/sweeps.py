"""What a second worker is worth: the same sweep on one process and on two, each with a single thread."""

from __future__ import annotations

import time
from functools import partial

import torch
from threadpoolctl import threadpool_limits

from benchmarks.rows import Row
from viewsplice import SPLICE, TrainConfig
from viewsplice.datasets import lgn_v1
from viewsplice.sweeps import Task, run_tasks
from viewsplice.views import Views


def fit_seed(seed: int, views: Views) -> dict[str, float]:
    """Return the score of one fit of the sweep."""
    model = SPLICE(2, 1, training=TrainConfig(epochs=12, batch_size=64), geometry=None, random_state=seed)
    return {"score": model.fit(views).score(views)}


def seconds(views: Views, n_tasks: int, n_jobs: int, n_threads: int) -> float:
    """Return how long the sweep takes, the start of its processes included."""
    tasks = [Task(f"seed {seed}", {"seed": seed}, partial(fit_seed, seed)) for seed in range(n_tasks)]
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        with threadpool_limits(n_threads):
            started = time.perf_counter()
            run_tasks(tasks, data=views, n_jobs=n_jobs)
            return time.perf_counter() - started
    finally:
        torch.set_num_threads(before)


def measure_sweeps(n_trials: int, n_tasks: int) -> list[Row]:
    """Return the time of two workers over that of one, with one thread and with two."""
    views = lgn_v1(n_trials, random_state=0).views
    found = {
        "two workers": seconds(views, n_tasks, 2, 1),
        "one worker": seconds(views, n_tasks, 1, 1),
        "one worker, two threads": seconds(views, n_tasks, 1, 2),
    }
    detail = {"rows": n_trials, "tasks": n_tasks, "seconds": found}
    name = f"sweep of {n_tasks} fits: time on two single-thread workers / on one"
    wide = f"sweep of {n_tasks} fits: time on two single-thread workers / on one with two threads"
    return [
        Row(name, found["two workers"] / found["one worker"], at_most=0.6, detail=detail),
        Row(wide, found["two workers"] / found["one worker, two threads"], detail=detail),
    ]
