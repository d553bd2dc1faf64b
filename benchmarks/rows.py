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
    at_least: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def is_met(self) -> bool:
        """Whether the limits hold; without one there is nothing to miss."""
        is_low_enough = self.at_most is None or self.value <= self.at_most
        return is_low_enough and (self.at_least is None or self.value >= self.at_least)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        limits = {"at_most": self.at_most} | ({} if self.at_least is None else {"at_least": self.at_least})
        return {"name": self.name, "value": self.value, **limits, "met": self.is_met, **self.detail}

    def __str__(self) -> str:
        words = limit_words(self.at_most, self.at_least)
        limit = f"   limit {words}: {'met' if self.is_met else 'MISSED'}" if words else ""
        return f"{self.name}: {self.value:.3g}{limit}"


def limit_words(at_most: float | None, at_least: float | None) -> str:
    """Return the limits of a row in words; "" if there are none."""
    if at_most is not None and at_least is not None:
        return f"{at_least:g} to {at_most:g}"
    if at_least is not None:
        return f"at least {at_least:g}"
    return "" if at_most is None else f"{at_most:g}"
