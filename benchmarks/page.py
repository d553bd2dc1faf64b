"""The page of a report: how large it is, and how long a browser takes until every control works."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.browser import browser, find_browser, open_page
from benchmarks.rows import Row
from viewsplice import SPLICE, MLPNetworks, TrainConfig, Views, report

_MEGABYTES = 8e6
_REPEATS = 5


def write_large_page(path: Path, n_rows: int, widths: tuple[int, int] = (400, 800)) -> Path:
    """Write the page of a model of simulated views: a low-dimensional signal, so that components keep the features."""
    generator = np.random.default_rng(0)
    factors = generator.normal(size=(n_rows, 20)).astype(np.float32)
    arrays = [np.tanh(factors @ generator.normal(size=(20, width)).astype(np.float32) / 5) for width in widths]
    views = Views(dict(zip(("lgn", "v1"), arrays, strict=True)), groups=np.arange(n_rows) // 20)
    training = TrainConfig(epochs=1, batch_size=100, restart_passes=1)
    model = SPLICE(3, 2, recipe="paper", networks=MLPNetworks((16,)), training=training, geometry=None, random_state=0)
    model.fit(views[:1000])
    return report(model, views, out=path, colors={f"factor {i}": factors[:, i] for i in range(4)})


def measure_page(n_rows: int) -> list[Row]:
    """Return the size of a page of 1,200 features and, where there is a browser, the time to open it."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_large_page(Path(folder) / "page.html", n_rows)
        size = path.stat().st_size
        detail = {"rows": n_rows, "features": 1200, "bytes": size}
        name = f"page of {n_rows:,} rows and 1,200 features"
        rows = [Row(f"{name}: size / 8 MB", size / _MEGABYTES, at_most=1.0, detail=detail)]
        if find_browser() is None:
            return rows
        seconds = []
        with browser() as chromium:
            for _ in range(_REPEATS):
                started = time.monotonic()
                open_page(chromium, path).context.close()
                seconds.append(time.monotonic() - started)
    return [*rows, Row(f"{name}: seconds until every control works", statistics.median(seconds), detail=detail)]
