"""Peak memory of a piece of work, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from benchmarks.rows import Row
from viewsplice import SPLICE, TrainConfig

# Runs after everything is imported and warmed up, so that the difference is the work's own: a tiny fit (200 rows of ten
# features) loads what is imported only when it is needed, and the code of the libraries.
_CHILD = """
import importlib, sys, threading, time
import torch
import viewsplice.spool
module = importlib.import_module({module!r})
parameter = torch.nn.Parameter(torch.randn(64, 64))
for is_mixed in (False, True):
    with torch.autocast("cpu", torch.bfloat16, enabled=is_mixed):
        (parameter @ parameter).sum().backward()
torch.optim.AdamW([parameter], fused=True).step()
short = viewsplice.TrainConfig(epochs=1, scout_epochs=1)
viewsplice.SPLICE(1, 1, training=short, random_state=0).fit(torch.randn(200, 10).numpy(), torch.randn(200, 10).numpy())
viewsplice.spool.give_back()  # what it freed must not hide what comes

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

start = peak = resident()
done = False

def watch():
    global peak
    while not done:
        peak = max(peak, resident())
        time.sleep(0.005)

watcher = threading.Thread(target=watch)
watcher.start()
allowed = getattr(module, {function!r})({argument}) or 0
done = True
watcher.join()
print(peak - start - allowed)
"""


def peak_of(module: str, function: str, argument: int) -> float:
    """Return the bytes by which resident memory rose at most while ``module.function(argument)`` ran (Linux).

    If the function returns a number of bytes, these are allowed besides and do not count.
    """
    code = _CHILD.format(module=module, function=function, argument=argument)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(result.stdout.strip().splitlines()[-1])


def fit_mnist_size(n_rows: int) -> int:
    """Fit one epoch of every stage on float32 views of MNIST's width; return the size of the networks in training.

    That is four numbers per weight: itself, its gradient and Adam's two moments.
    """
    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal((n_rows, 784), dtype=np.float32) for _ in range(2))
    short = TrainConfig(epochs=1, scout_epochs=1, regression_epochs=1, n_msr=1, restart_passes=1)
    model = SPLICE(30, (0, 2), training=short, random_state=0)
    model.fit(a, b, validation=0.1)
    return 4 * sum(weight.numel() * weight.element_size() for weight in model.model_.parameters())


def measure_fit_memory(n_rows: int) -> list[Row]:
    """Return the memory of a fit, without that of its networks, in units of its data."""
    data = n_rows * 784 * 4 * 2
    peak = peak_of("benchmarks.memory", "fit_mnist_size", n_rows)
    return [
        Row(
            "fit: memory above the process and the networks / size of the data",
            peak / data,
            at_most=3.0,
            detail={"rows": n_rows},
        )
    ]
