"""From one ``random_state`` to independent local generators, each named by what it is for.

The global generators of NumPy and torch are never advanced.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

RandomState = int | np.integer | np.random.RandomState | np.random.Generator | None


def root_seed(random_state: RandomState) -> int:
    """Return the 32-bit seed all other seeds derive from; None draws a fresh one from the system."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise TypeError(f"random_state is {random_state!r}; expected None, an int, or a NumPy random generator")
    if random_state < 0:
        raise ValueError(f"random_state is {random_state}; expected an integer of at least 0")
    return int(random_state)


def derive_seed(seed: int, *names: str | int) -> int:
    """Return a seed for one purpose. It depends on the names, not on how many were derived before."""
    text = "/".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


def numpy_generator(seed: int, *names: str | int) -> np.random.Generator:
    """Return a NumPy generator for one purpose."""
    return np.random.default_rng(derive_seed(seed, *names))


def torch_generator(seed: int, *names: str | int) -> torch.Generator:
    """Return a torch (CPU) generator for one purpose."""
    return torch.Generator().manual_seed(derive_seed(seed, *names))


@contextmanager
def forked_rng(seed: int, *names: str | int) -> Iterator[None]:
    """Run a block under its own global torch seed and restore the caller's state afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(seed, *names))
        yield
