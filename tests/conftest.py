"""Small paired views for many tests, and the watch over the global random state."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

# No test needs a screen; set before anything imports matplotlib.
os.environ.setdefault("MPLBACKEND", "Agg")

N_ROWS = 240


def _views(widths: tuple[int, ...], seed: int) -> tuple[NDArray[np.float64], ...]:
    """Return views that share one factor and have one private factor each, mixed nonlinearly, with a little noise."""
    rng = np.random.default_rng(seed)
    shared = rng.uniform(-1, 1, size=(N_ROWS, 1))
    views = []
    for width in widths:
        factors = np.hstack([shared, rng.uniform(-1, 1, size=(N_ROWS, 1))])
        mixed = np.tanh(factors @ rng.normal(size=(2, width)) + rng.normal(size=width))
        views.append(mixed + 0.01 * rng.normal(size=mixed.shape))
    return tuple(views)


@pytest.fixture
def two_views() -> tuple[NDArray[np.float64], ...]:
    """Two views of 240 paired rows, 12 and 9 features."""
    return _views((12, 9), seed=2)


@pytest.fixture
def three_views() -> tuple[NDArray[np.float64], ...]:
    """Three views of 240 paired rows, 12, 9 and 7 features."""
    return _views((12, 9, 7), seed=3)


@pytest.fixture(autouse=True)
def _global_random_state_unchanged() -> Iterator[None]:
    """Fail any test that advances or reseeds the global generators of NumPy or torch."""
    numpy_before = np.random.get_state(legacy=False)  # noqa: NPY002 - the legacy global state is what is watched
    torch_before = torch.random.get_rng_state()
    yield
    numpy_after = np.random.get_state(legacy=False)  # noqa: NPY002
    same_key = np.array_equal(numpy_before["state"]["key"], numpy_after["state"]["key"])
    same_position = numpy_before["state"]["pos"] == numpy_after["state"]["pos"]
    assert same_key, "the test changed NumPy's global random state"
    assert same_position, "the test changed NumPy's global random state"
    assert torch.equal(torch_before, torch.random.get_rng_state()), "the test changed torch's global random state"


@pytest.fixture(scope="session", autouse=True)
def _one_thread_per_worker() -> None:
    """Give each parallel test process one thread, so that they do not fight for the cores."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        torch.set_num_threads(1)
