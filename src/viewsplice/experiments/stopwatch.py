"""How long a part takes, on the wall and of the processor, over all the runs that it took."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

from viewsplice.io import write_json

SPENT = "spent.json"
# Notes are small, but epochs may be smaller.
_SECONDS_BETWEEN_NOTES = 1.0


class Stopwatch:
    """Counts from now on, on top of what runs that were interrupted have noted.

    Seconds of the processor are those of this process, all threads together. Unlike seconds on the wall they hardly
    depend on what else the machine does.

    Parameters
    ----------
    kept
        Folder in which an interrupted part keeps what it has done.
    """

    def __init__(self, kept: Path) -> None:
        self.path = kept / SPENT
        self._before = json.loads(self.path.read_text(encoding="utf-8")) if self.path.is_file() else {}
        self._started = {"seconds": time.monotonic(), "processor_seconds": time.process_time()}
        self._next = 0.0

    def spent(self) -> dict[str, float]:
        """Return ``seconds`` and ``processor_seconds`` up to now."""
        now = {"seconds": time.monotonic(), "processor_seconds": time.process_time()}
        return {
            name: round(self._before.get(name, 0.0) + now[name] - started, 2) for name, started in self._started.items()
        }

    def note(self, event: object = None) -> None:
        """Write down what was spent, for a later run to count on from; a callback of fits, which it never ends."""
        if time.monotonic() >= self._next:
            with suppress(OSError):  # a full disk is for others to complain about
                self.path.parent.mkdir(parents=True, exist_ok=True)
                write_json(self.path, self.spent())
            self._next = time.monotonic() + _SECONDS_BETWEEN_NOTES
