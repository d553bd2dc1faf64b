"""What a benchmark reports: one ratio, its limit if it has one, and what it was made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One measured ratio."""

    name: str
    value: float
    at_most: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def is_met(self) -> bool:
        """Whether the limit holds; without one there is nothing to miss."""
        return self.at_most is None or self.value <= self.at_most

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"name": self.name, "value": self.value, "at_most": self.at_most, "met": self.is_met, **self.detail}

    def __str__(self) -> str:
        limit = "" if self.at_most is None else f"   limit {self.at_most:g}: {'met' if self.is_met else 'MISSED'}"
        return f"{self.name}: {self.value:.3g}{limit}"
