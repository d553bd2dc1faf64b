"""Real clusters of two workers on this machine, one of which is killed during a sweep."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from viewsplice.sweeps import Task, run_tasks

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

N_TASKS = 8


def slowly(number: int, marks: str, data: np.ndarray) -> dict[str, float]:
    """Say which process is at work, take a while, and return something of the data."""
    Path(marks, f"{number}-{time.monotonic_ns()}-{os.getpid()}").touch()
    time.sleep(1.5)
    return {"number": number, "total": float(data.sum()), "pid": os.getpid()}


def kill_one(marks: Path, results: Path, killed: list[int]) -> None:
    """Kill the process of the task that started last, once two tasks have been finished."""
    while len(list(results.glob("*.json"))) < 2:
        time.sleep(0.05)
    last = max(marks.iterdir(), key=lambda mark: int(mark.name.split("-")[1]))
    killed.append(int(last.name.split("-")[0]))
    os.kill(int(last.name.split("-")[2]), signal.SIGKILL)


def run_and_kill(backend: str, tmp_path: Path) -> None:
    """Run a sweep and kill a worker in its midst: what is finished stays, what was lost is done again."""
    marks, results = tmp_path / "marks", tmp_path / "results"
    marks.mkdir()
    tasks = [Task(f"task {n}", {"n": n}, partial(slowly, n, str(marks))) for n in range(N_TASKS)]
    killed: list[int] = []
    killer = threading.Thread(target=kill_one, args=(marks, results, killed), daemon=True)
    killer.start()
    found = run_tasks(tasks, data=np.ones(1000), n_jobs=-1, backend=backend, folder=results)
    killer.join(10)
    assert len(killed) == 1
    assert [(r["number"], r["total"]) for r in found] == [(n, 1000.0) for n in range(N_TASKS)]
    assert os.getpid() not in {r["pid"] for r in found}
    started = [len(list(marks.glob(f"{n}-*"))) for n in range(N_TASKS)]
    assert started[killed[0]] == 2
    assert sum(started) == N_TASKS + 1, "only the lost task was done again"
    before = {path.name: path.stat().st_mtime_ns for path in results.iterdir()}
    assert run_tasks(tasks, data=np.ones(1000), folder=results) == found, "everything is found on disk"
    assert {path.name: path.stat().st_mtime_ns for path in results.iterdir()} == before


def python_path() -> str:
    """Return a path on which workers find this file; the package they have as every process of this machine."""
    return os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])


@pytest.fixture
def _ray_cluster() -> Iterator[None]:
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'viewsplice[ray]'")
    from ray.cluster_utils import Cluster

    # Ray leaves sockets and files to the garbage collector.
    warnings.simplefilter("ignore", ResourceWarning)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, runtime_env={"env_vars": {"PYTHONPATH": python_path()}}, log_to_driver=False)
    yield
    ray.shutdown()
    cluster.shutdown()


@pytest.mark.usefixtures("_ray_cluster")
def test_ray_goes_on_when_a_worker_is_killed(tmp_path: Path) -> None:
    run_and_kill("ray", tmp_path)


@pytest.fixture
def _dask_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install 'viewsplice[dask]'")
    monkeypatch.setenv("PYTHONPATH", python_path())
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster):
        yield


@pytest.mark.usefixtures("_dask_cluster")
def test_dask_goes_on_when_a_worker_is_killed(tmp_path: Path) -> None:
    run_and_kill("dask", tmp_path)


def test_without_a_cluster_the_message_says_what_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="ray is not installed: pip install 'viewsplice[ray]'")
    pytest.importorskip("distributed", reason="dask is not installed: pip install 'viewsplice[dask]'")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    task = Task("one", {}, lambda data: {})
    with pytest.raises(ValueError, match="no Ray cluster was found; expected one: `ray start --head`"):
        run_tasks([task], backend="ray")
    with pytest.raises(ValueError, match="no Dask cluster was found; expected DASK_SCHEDULER_ADDRESS"):
        run_tasks([task], backend="dask")
