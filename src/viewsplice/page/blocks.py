"""Numbers and words inside the page: base64 and JSON that no text of a user can end early."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from viewsplice._types import Array

# Signs that would end a script element or a line of script, as JSON escapes.
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_TYPES = {"f4": "<f4", "f8": "<f8", "i1": "|i1", "u1": "|u1", "u2": "<u2", "u4": "<u4"}


class Blocks:
    """Collects the numbers of a page; what is added returns a reference that the page's script understands."""

    def __init__(self) -> None:
        self._elements: list[str] = []

    def add(self, values: Array, kind: str) -> dict[str, str]:
        """Return the reference to numbers stored as ``"f4"``, ``"f8"``, ``"i1"``, ``"u1"``, ``"u2"`` or ``"u4"``."""
        name = f"numbers-{len(self._elements)}"
        text = base64.b64encode(np.ascontiguousarray(values, dtype=_TYPES[kind]).tobytes()).decode()
        self._elements.append(f'<script type="application/octet-stream" id="{name}">{text}</script>')
        return {"id": name, "type": kind}

    def add_steps(self, values: Array, low: Array, high: Array, kind: str) -> dict[str, str]:
        """Return the reference to numbers in even steps between two ends: 256 of them (``"u1"``), or 65,536."""
        steps = np.iinfo(_TYPES[kind]).max
        span = np.where(high > low, high - low, 1.0)
        return self.add(np.rint(np.clip((values - low) / span, 0, 1) * steps), kind)

    def html(self, words: Any) -> str:
        """Return all elements: the words as JSON, then the numbers."""
        text = json.dumps(words, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)
        first = f'<script type="application/json" id="page-data">{text}</script>'
        return "\n".join([first, *self._elements])
