"""Latent spaces in the paper's symbols, as plain text: sentences use one notation wherever they are read."""

from __future__ import annotations

from viewsplice.views import arrow


def symbol_parts(space: str) -> tuple[str, list[str]]:
    """Return the letter of a space and the views it is about; names in an audit's file may be anything."""
    views = space.split(arrow("", ""))
    return "s" if len(views) > 1 else "z", views


def plain_symbol(space: str) -> str:
    """Return a latent space as text: ``"s A→B"`` for what is shared, ``"z A"`` for what is private to A."""
    letter, views = symbol_parts(space)
    return f"{letter} {'→'.join(views)}"
