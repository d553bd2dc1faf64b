"""One self-contained HTML page about a fitted model (needs the extra ``plot``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viewsplice._types import Array
from viewsplice.estimator import SPLICE

if TYPE_CHECKING:
    from viewsplice.plotting import ColorKind

__all__ = ["report"]


def report(
    model_or_dir: SPLICE | str | PathLike[str],
    views: Any = None,
    *,
    out: str | PathLike[str] | None = None,
    colors: Mapping[str, Array] | None = None,
    kinds: Mapping[str, ColorKind] | None = None,
    feature_names: Mapping[str, Sequence[str]] | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
) -> Path:
    """Write one HTML page about a fitted model and return its path.

    Parameters
    ----------
    model_or_dir
        A fitted `SPLICE`, or the folder of a run.
    views
        All its views, in any form that ``fit`` takes; for rows given to ``fit`` the page tells training and validation
        rows apart and shows how well distances are kept. None: those that the run was fitted to, read again.
    out
        The file to write; None: ``report.html`` in the folder of the run.
    colors
        A number or label per row, by name. None: those of the run, if its own views are shown.
    kinds
        ``"continuous"``, ``"circular"`` (degrees, or radians if no value is beyond 2π) or ``"categorical"``, by name;
        the rest is guessed from type, number and name.
    feature_names
        By view, a name for each feature.
    title, notes
        Heading (None: one that names the views), and sentences below it.

    Examples
    --------
    >>> import tempfile
    >>> from viewsplice import SPLICE, MLPNetworks, TrainConfig
    >>> from viewsplice.datasets import linear_gaussian
    >>> data = linear_gaussian(n_samples=300, random_state=0)
    >>> model = SPLICE(n_shared=2, n_private=1, networks=MLPNetworks((32,)), geometry=None,
    ...                training=TrainConfig(epochs=3), random_state=0).fit(data.views)
    >>> folder = tempfile.mkdtemp()
    >>> report(model, data.views, out=f"{folder}/page.html", colors=data.factors()).name
    'page.html'
    """
    from viewsplice.inputs import RunData
    from viewsplice.page.content import Run, make_content
    from viewsplice.page.file import write_page
    from viewsplice.runs import REPORT, load_run, reopen_data, run_record

    run = Run(notes=notes)
    if isinstance(model_or_dir, SPLICE):
        model = model_or_dir
        if views is None or out is None:
            raise ValueError("got a model; expected its views, and the file to write as out=")
    else:
        folder = Path(model_or_dir)
        model, run = load_run(folder), run_record(folder)
        run = replace(run, notes=[*run.notes, *notes])
        data = reopen_data(folder) if views is None else RunData(views)
        views, out = data.views, folder / REPORT if out is None else out
        colors = data.colors if colors is None else colors
        kinds = {name: kind for name, kind in data.kinds.items() if name in colors} if kinds is None else kinds
        feature_names = data.feature_names if feature_names is None else feature_names
    path = Path(out)
    if path.is_dir():
        raise ValueError(f"out is the folder {path}; expected the file to write, such as {path / REPORT}")
    content = make_content(model, views, colors=colors, kinds=kinds, feature_names=feature_names, run=run)
    return write_page(content, path, title)
