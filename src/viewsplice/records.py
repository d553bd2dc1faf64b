"""Rows of results that read like objects and like dicts, and turn into tables and JSON without more ado."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any


class Record(Mapping[str, Any]):
    """Base of frozen dataclasses whose fields are also items: ``row.r2`` and ``row["r2"]`` are the same."""

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        if name not in self._names():
            raise KeyError(f"no {name!r}; there are {', '.join(self._names())}")
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self))  # type: ignore[arg-type]  # subclasses are dataclasses
