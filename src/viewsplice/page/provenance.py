"""The fourth answer: how it was made. Command, data, settings with their reasons, versions, split, time."""

from __future__ import annotations

import json
from dataclasses import fields
from html import escape

import numpy as np

from viewsplice.io import fingerprint, installed_versions
from viewsplice.page.content import Content
from viewsplice.page.markup import symbol, table
from viewsplice.persistence import settings_to_json

_SHOWN_DIGITS = 16
# Validation rows that come in so many times fewer stretches than there are rows were not drawn one by one.
_IN_BLOCKS = 10


def provenance_section(content: Content) -> str:
    """Say how the fit was made."""
    model, run = content.model, content.run
    complete = {f.name: getattr(model.fitted_.settings, f.name) for f in fields(model.fitted_.settings)}
    settings = {"given": settings_to_json(model.get_params(deep=False)), "complete": settings_to_json(complete)}
    neighbors = ", ".join(f"{symbol(space)} {found.n_neighbors}" for space, found in model.geometry_.items())
    # A page can be written long after its fit, by other versions.
    known = "versions" if run.versions else "versions now, when the page was written"
    versions = ", ".join(f"{name} {number}" for name, number in (run.versions or installed_versions()).items())
    shown = "data" if "training" in content.parts else "data shown, not those of the fit"
    rows = [
        ["command", f"<code>{escape(run.command)}</code>" if run.command else "fitted in Python"],
        ["rows of the fit", _split(content)],
        ["features", ", ".join(f"{escape(name)} {n:,}" for name, n in model.n_features_in_.items())],
        [shown, _fingerprints(content)],
        ["seed", str(model.fitted_.seed)],
        ["time", _time(run.seconds)],
        ["epochs", ", ".join(f"{escape(stage)} {n:,}" for stage, n in model.epochs_.items())],
        ["neighbors in the graph", neighbors or "no geometry"],
        [known, escape(versions)],
    ]
    text = escape(json.dumps(settings, indent=2, ensure_ascii=False))
    details = f"<details><summary>All settings</summary><pre>{text}</pre></details>"
    told = table([], rows, is_text=True) + _choices(content) + details
    return f'<section id="made"><h2>How it was made</h2>{told}</section>'


def _split(content: Content) -> str:
    """Return how many rows each part has, and what can be seen of how they were chosen."""
    split = content.model.split_
    counts = ", ".join(f"{len(rows):,} {part}" for part, rows in split.items())
    if "training" not in content.parts:
        return f"{counts}; this page shows {len(content.views):,} other rows"
    held_out, groups = np.sort(split["validation"]), content.views.groups
    if not len(held_out):
        return counts
    if groups is not None and not np.isin(groups[held_out], groups[split["train"]]).any():
        return f"{counts} (groups kept together)"
    n_blocks = 1 + int((np.diff(held_out) > 1).sum())
    blocks = f"in {n_blocks:,} block{'s' * (n_blocks != 1)}"
    return f"{counts} ({blocks if n_blocks * _IN_BLOCKS <= len(held_out) else 'scattered rows'})"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "not recorded"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _fingerprints(content: Content) -> str:
    shown = [
        f"{escape(name)} {' x '.join(map(str, x.shape))} {x.dtype}, SHA-256 "
        f"<code>{fingerprint(x)[:_SHOWN_DIGITS]}</code>"
        for name, x in content.views.arrays.items()
    ]
    return "; ".join(shown)


def _choices(content: Content) -> str:
    """List what was chosen for the user, and why."""
    chosen = content.model.choices_
    if not chosen:
        return ""
    # An arrow of two signs would be broken in the middle.
    rows = [
        [escape(name.replace("->", "→")), escape(str(choice.value)), escape(choice.reason)]
        for name, choice in chosen.items()
    ]
    return "<h3>Chosen automatically</h3>" + table(["what", "value", "why"], rows, is_text=True)
