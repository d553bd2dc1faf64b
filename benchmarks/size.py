"""A million rows from disk: anonymous memory of the fit, and time per row beside rows that are in memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rows import Row
from viewsplice import SPLICE, TrainConfig

_FEATURES = {"a": 200, "b": 100}
_BLOCK = 50_000
_GIB = 2**30


def write_rows(folder: Path, n_rows: int) -> None:
    """Write two float32 views that share two factors and have one each of their own, block by block."""
    for seed, (name, width) in enumerate(_FEATURES.items(), start=1):
        own = np.random.default_rng(seed)
        mixing = own.standard_normal((3, width), dtype=np.float32)
        out = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.float32, (n_rows, width))
        for start in range(0, n_rows, _BLOCK):
            n = min(_BLOCK, n_rows - start)
            shared = np.random.default_rng([start]).uniform(-1, 1, (n, 2))
            factors = np.column_stack([shared, own.uniform(-1, 1, n)]).astype(np.float32)
            out[start : start + n] = np.tanh(factors @ mixing) + 0.05 * own.standard_normal((n, width))
        out.flush()


def fit_rows(folder: str, mode: str) -> None:
    """Fit two epochs of every stage, then transform; print seconds and the peak of anonymous memory as JSON."""
    views = [np.load(Path(folder) / f"{name}.npy", mmap_mode="r" if mode == "disk" else None) for name in _FEATURES]
    watch = _Watch()
    started = time.monotonic()
    training = TrainConfig(epochs=2, scout_epochs=2, regression_epochs=2)
    model = SPLICE(2, 1, training=training, random_state=0).fit(views)
    fitted = time.monotonic()
    model.transform(views)
    done = time.monotonic()
    sys.stdout.write(json.dumps({"fit": fitted - started, "transform": done - fitted, "peak": watch.peak()}) + "\n")


class _Watch:
    """The peak of a process's anonymous memory: what no file stands behind (Linux)."""

    def __init__(self) -> None:
        self._peak = 0
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            lines = Path("/proc/self/status").read_text().splitlines()
            found = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))
            self._peak = max(self._peak, 1024 * found)
            time.sleep(0.02)

    def peak(self) -> int:
        """Return it in bytes."""
        return self._peak


def _run(folder: Path, mode: str) -> dict[str, Any]:
    code = f"from benchmarks.size import fit_rows; fit_rows({str(folder)!r}, {mode!r})"
    result = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def measure_size(n_rows: int) -> list[Row]:
    """Return the memory of a fit from disk, and its time per row beside that of a quarter of the rows in memory."""
    with tempfile.TemporaryDirectory() as name:
        large, small = Path(name) / "large", Path(name) / "small"
        for folder, n in ((large, n_rows), (small, n_rows // 4)):
            folder.mkdir()
            write_rows(folder, n)
        disk, memory = _run(large, "disk"), _run(small, "memory")
    detail = {"rows": n_rows, "disk": disk, "memory": memory}
    pace = {step: disk[step] / n_rows / (memory[step] / (n_rows // 4)) for step in ("fit", "transform")}
    return [
        Row(f"{n_rows:,} rows from disk: anonymous memory of the fit, GiB", disk["peak"] / _GIB, 2.0, detail=detail),
        Row(f"{n_rows:,} rows from disk: time per row of the fit / in memory", pace["fit"], 1.2, detail=detail),
        Row(f"{n_rows:,} rows from disk: time per row of transform / in memory", pace["transform"], 1.2, detail=detail),
    ]
