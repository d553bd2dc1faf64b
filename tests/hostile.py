"""Files changed at random, and limits within which a reader must say what is wrong with them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SECONDS, BYTES = 20, 2**30


def flip(content: bytes, rng: np.random.Generator, end: int | None = None) -> bytes:
    """Return a file with a few other bytes, all before ``end``."""
    changed = np.frombuffer(content, dtype=np.uint8).copy()
    places = rng.integers(0, len(content) if end is None else end, size=int(rng.integers(1, 9)))
    changed[places] = rng.integers(0, 256, size=len(places))
    return changed.tobytes()


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    """Return a file that ends early, lacks a piece, has a piece twice, or goes on after its end."""
    start, end = sorted(rng.integers(0, len(content), size=2))
    kept = [content[:end], content[:start] + content[end:], content[:end] + content[start:], content + bytes(int(end))]
    return kept[int(rng.integers(len(kept)))]


@contextmanager
def limits() -> Iterator[None]:
    """Allow little more memory than is in use now, and stop what takes too long since the last `start_clock`."""
    resource = pytest.importorskip("resource")
    if not Path("/proc/self/statm").exists():
        pytest.skip("the memory in use is read from Linux's /proc")

    def stop(*_: Any) -> None:
        raise TimeoutError(f"not done after {SECONDS} s")

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before, handler = resource.getrlimit(resource.RLIMIT_AS), signal.signal(signal.SIGALRM, stop)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + BYTES, before[1]))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def start_clock() -> None:
    """Begin to measure the time that one file takes."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)


def check_refusal(error: ValueError, path: Path, *, may_lack_memory: bool = False) -> None:
    """Fail unless an error is one line that names the file, and not a want of memory."""
    message = str(error)
    assert message.startswith(str(path))
    assert len(message.splitlines()) == 1
    assert message.isprintable()
    assert len(message) < 3 * len(str(path)) + 1500
    assert may_lack_memory or not ("memory" in message or "llocate" in message)
