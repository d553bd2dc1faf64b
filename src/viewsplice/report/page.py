"""The report: one static HTML page that shows a fitted model, without scripts or any other file.

Everything a user named or wrote is escaped; figures are PNG inside the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from viewsplice._types import Array, Latents
from viewsplice.estimator import SPLICE
from viewsplice.io import write_atomic
from viewsplice.plotting import ColorKind
from viewsplice.report.markup import fill_page
from viewsplice.report.sections import (
    Content,
    belief_section,
    making_section,
    reconstruction_section,
    scatter_section,
    spaces_section,
)
from viewsplice.views import Views, as_views


def report(
    model: SPLICE,
    views: Any,
    *,
    out: str | PathLike[str],
    colors: Mapping[str, Array] | None = None,
    kinds: Mapping[str, ColorKind] | None = None,
    title: str = "viewsplice report",
    notes: Sequence[str] = (),
) -> Path:
    """Write one HTML page about a fitted model and return its path.

    Parameters
    ----------
    model
        A fitted `SPLICE`.
    views
        All its views, in any form that ``fit`` takes; for rows given to ``fit`` the page tells training and validation
        rows apart and shows how well distances are kept.
    out
        The file to write.
    colors
        A number or label per row, by name: each colors the latent spaces in a panel of its own.
    kinds
        ``"continuous"``, ``"circular"`` (degrees) or ``"categorical"``, for those whose type does not tell.
    title, notes
        Heading, and sentences below it.
    """
    check_is_fitted(model)
    path = Path(out)
    if path.is_dir():
        raise ValueError(f"out is the folder {path}; expected the file to write, such as {path / 'report.html'}")
    given = as_views(views, names=model.view_names_)
    missing = [name for name in model.view_names_ if name not in given]
    if missing or len(given) < 2:
        raise ValueError(f"got {given!r}; expected all views of the model, {list(model.view_names_)}, and several rows")
    chosen = {name: np.asarray(values) for name, values in (colors or {}).items()}
    for name, values in chosen.items():
        if values.shape != (len(given),):
            raise ValueError(f"color {name!r} has shape {values.shape}; expected one value per row: ({len(given)},)")
    unknown = [name for name in kinds or {} if name not in chosen]
    if unknown:
        raise ValueError(f"kinds has {unknown[0]!r}; expected names of colors: {list(chosen)}")
    latents = model.transform(given)
    content = Content(model, given, latents, _parts(model, given, latents), chosen, kinds or {})
    sections = [
        "".join(f"<p>{escape(note)}</p>" for note in notes),
        spaces_section(content),
        reconstruction_section(content),
        scatter_section(content),
        belief_section(content),
        making_section(content),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, fill_page(title, sections).encode())
    return path


def _parts(model: SPLICE, views: Views, latents: Latents[Array]) -> dict[str, Array]:
    """Return training and validation rows if these are the rows of the fit, else all rows."""
    train, held_out = model.split_["train"], model.split_["validation"]
    if model.fitted_.has_rows(views, latents):
        return {"training": train, "validation": held_out[held_out < len(views)]}
    return {"given": np.arange(len(views))}
