"""Sweeps of independent tasks, on one machine or many: scans of widths, tuning, and anything else that can be split."""

from __future__ import annotations

from viewsplice.sweeps.curves import Curve
from viewsplice.sweeps.scan import Scan, dimension_scan
from viewsplice.sweeps.search import Trial
from viewsplice.sweeps.space import SearchSpace
from viewsplice.sweeps.sweep import Sweep
from viewsplice.sweeps.tasks import Task, TaskEvent, run_tasks
from viewsplice.sweeps.tuning import Tuning, tune

__all__ = [
    "Curve",
    "Scan",
    "SearchSpace",
    "Sweep",
    "Task",
    "TaskEvent",
    "Trial",
    "Tuning",
    "dimension_scan",
    "run_tasks",
    "tune",
]
