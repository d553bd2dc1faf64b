"""Tasks on a cluster that is already running: Ray or Dask (extras ``ray`` and ``dask``)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Work = Callable[[Any], Mapping[str, Any]]
Call = Callable[[int, Work, Any], tuple[int, Mapping[str, Any], float]]

# Times that one task may be lost with its worker before the sweep gives up.
_MOST_LOSSES = 3


def on_ray(call: Call, works: Mapping[int, Work], data: Any, n_jobs: int) -> Iterator[tuple[int, Any, float]]:
    """Yield what ``call(number, work, data)`` returns on the Ray cluster that is running, as each one ends.

    A task whose worker or node dies is submitted again; what others have finished stays.

    Parameters
    ----------
    call
        What a worker does.
    works
        By number, the work of each task.
    data
        What all tasks work on: sent once.
    n_jobs
        Tasks under way at a time; -1: all, and Ray decides.
    """
    ray = _imported("ray", "ray")
    if not ray.is_initialized():
        try:
            ray.init(address="auto", log_to_driver=False)
        except ConnectionError as error:
            raise ValueError("no Ray cluster was found; expected one: `ray start --head`, or RAY_ADDRESS") from error
    lost = (
        ray.exceptions.WorkerCrashedError,
        ray.exceptions.NodeDiedError,
        ray.exceptions.LocalRayletDiedError,
        ray.exceptions.ObjectLostError,
    )
    remote = ray.remote(num_cpus=1, max_retries=0)(call)
    shared = ray.put(data)
    waiting, losses = list(works), dict.fromkeys(works, 0)
    under_way: dict[Any, int] = {}
    while waiting or under_way:
        while waiting and (n_jobs < 0 or len(under_way) < n_jobs):
            number = waiting.pop(0)
            under_way[remote.remote(number, works[number], shared)] = number
        [ended], _ = ray.wait(list(under_way), num_returns=1)
        number = under_way.pop(ended)
        try:
            outcome = ray.get(ended)
        except lost:
            losses[number] += 1
            if losses[number] > _MOST_LOSSES:
                raise
            waiting.insert(0, number)
            continue
        yield outcome


def on_dask(call: Call, works: Mapping[int, Work], data: Any, n_jobs: int) -> Iterator[tuple[int, Any, float]]:
    """Yield what ``call(number, work, data)`` returns on the Dask cluster that is running, as each one ends.

    Dask itself submits a task again whose worker dies.

    Parameters
    ----------
    call, works, data
        As for Ray.
    n_jobs
        Tasks under way at a time; -1: all, and Dask decides.
    """
    distributed = _imported("distributed", "dask")
    client = _dask_client(distributed)
    [shared] = client.scatter([data], broadcast=True)
    waiting = list(works)
    ending = distributed.as_completed()

    def submit() -> None:
        number = waiting.pop(0)
        ending.add(client.submit(call, number, works[number], shared, pure=False))

    for _ in range(len(waiting) if n_jobs < 0 else min(n_jobs, len(waiting))):
        submit()
    for ended in ending:
        outcome = ended.result()
        if waiting:
            submit()
        yield outcome


def _dask_client(distributed: Any) -> Any:
    try:
        return distributed.default_client()
    except ValueError:
        address = importlib.import_module("dask").config.get("scheduler-address", None)
    if address is None:
        raise ValueError("no Dask cluster was found; expected DASK_SCHEDULER_ADDRESS, such as tcp://host:8786")
    return distributed.Client(address)


def _imported(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"backend {extra!r} needs {module}: pip install 'viewsplice[{extra}]'") from error
