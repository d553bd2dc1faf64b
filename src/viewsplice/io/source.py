"""The text that names a file on the command line: ``path``, ``name=path``, ``path:key``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from viewsplice.views import check_name


@dataclass(frozen=True)
class Source:
    """Where an array is.

    Attributes
    ----------
    name
        The name of the view, or None when the text gave none.
    path
        The file.
    key
        Which array of the file, or None.
    """

    name: str | None
    path: Path
    key: str | None = None

    def __str__(self) -> str:
        return str(self.path) if self.key is None else f"{self.path}:{self.key}"


def parse_source(text: str) -> Source:
    r"""Return what a command-line argument says.

    A text that is an existing path is taken as a whole, whatever signs it holds; so is an existing path in front of
    a colon. Otherwise the first ``=`` ends the name, and the key starts after the first colon that follows a file
    extension.

    Parameters
    ----------
    text
        Such as ``v1.npy``, ``lgn=data.npz:v1``, ``file.h5:/group/data``, ``C:\cells.h5mu:rna``.
    """
    if not text.strip():
        raise ValueError(f"got {text!r} as a file; expected path, name=path or path:key")
    if os.path.exists(text):
        return Source(None, Path(text))
    found = _existing_prefix(text)
    if found is not None:
        return _source(None, text, found)
    name, equals, rest = text.partition("=")
    if not equals or "/" in name or "\\" in name:
        return _source(None, text, _split_at(text))
    if not rest:
        raise ValueError(f"got {text!r}, without a path; expected name=path")
    return _source(check_name(name), rest, _split_at(rest))


def _source(name: str | None, text: str, colon: int) -> Source:
    path, key = text[:colon], text[colon + 1 :]
    if colon < len(text) and not key:
        raise ValueError(f"got {text!r}, without a key after the colon; expected {path} or {path}:key")
    return Source(name, Path(path), key or None)


def _split_at(text: str) -> int:
    """Return where the path ends: at the colon before the key, or at the end of the text."""
    if os.path.exists(text):
        return len(text)
    found = _existing_prefix(text)
    return found if found is not None else next(iter(_colons(text)), len(text))


def _existing_prefix(text: str) -> int | None:
    """Return the last colon whose left side exists."""
    return next((i for i in reversed(_colons(text)) if os.path.exists(text[:i])), None)


def _colons(text: str) -> list[int]:
    """Return the colons that follow a path with an extension, which a Windows drive letter has not."""
    return [i for i, sign in enumerate(text) if sign == ":" and Path(text[:i]).suffix]
