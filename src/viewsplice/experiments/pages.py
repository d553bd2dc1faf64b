"""The page of an experiment: what the full fit of its first seed looks like."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from viewsplice.datasets import MultiViewData
from viewsplice.experiments.fits import load_fit
from viewsplice.experiments.parts import Done, seconds_of
from viewsplice.page.content import Run, make_content
from viewsplice.page.file import write_page


@dataclass(frozen=True)
class Shown:
    """A fit that gets a page.

    Attributes
    ----------
    fit
        Name of the part that has made it.
    load
        Returns the data it was fitted to.
    title
        Heading of the page.
    """

    fit: str
    load: Callable[[], MultiViewData]
    title: str


def write_pages(shown: Sequence[Shown], done: Done, out: Path, *, command: str, notes: Sequence[str]) -> list[Path]:
    """Write a page for every fit shown: ``report.html`` for the first, and others named by what they show."""
    return [
        _write(one, done, out / ("report.html" if not i else f"report-{_slug(one.title)}.html"), command, notes)
        for i, one in enumerate(shown)
    ]


def _write(shown: Shown, done: Done, path: Path, command: str, notes: Sequence[str]) -> Path:
    data = shown.load()
    # The rows of the fit, in its order.
    rows = np.concatenate([data.split["train"], data.split["validation"]]).astype(np.intp)
    fitted = data.take(rows, {"train": np.arange(len(rows))})
    run = Run(command=command, seconds=seconds_of(done[shown.fit]), notes=notes)
    known = {**fitted.factors(), **fitted.covariates}
    content = make_content(load_fit(done.whole(shown.fit)), fitted.views, colors=known, run=run)
    return write_page(content, path, shown.title)


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
