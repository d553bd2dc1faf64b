"""The page of a small fit with hostile names, and a headless browser to look at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile import FIRST, LEAKS, MARKUP, N_ROWS, NOTE, TITLE, make_colors, make_model, make_views

from benchmarks.browser import browser as start_browser
from benchmarks.browser import find_browser
from viewsplice import SPLICE, Views
from viewsplice.page.content import Run, make_content
from viewsplice.page.file import write_page


@pytest.fixture(scope="session")
def views() -> Views:
    return make_views(N_ROWS)


@pytest.fixture(scope="session")
def model(views: Views) -> SPLICE:
    return make_model(views)


@pytest.fixture(scope="session")
def page_file(model: SPLICE, views: Views, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the small fit, with names, labels and notes that try to be markup; an audit saves the probes."""
    run = Run(
        command=f"viewsplice fit {MARKUP}",
        seconds=61.25,
        notes=[NOTE],
        warnings=[MARKUP],
        audit={"leaks": LEAKS, "verdict": MARKUP, "p_shared": 0.01},
    )
    names = {FIRST: [f"{MARKUP}{i}" for i in range(8)]}
    content = make_content(
        model, views, colors=make_colors(N_ROWS), kinds={"side": "categorical"}, feature_names=names, run=run
    )
    return write_page(content, tmp_path_factory.mktemp("page") / "new" / "page.html", TITLE)


@pytest.fixture(scope="session")
def html(page_file: Path) -> str:
    return page_file.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium; tests are skipped where there is none."""
    pytest.importorskip("playwright", reason="browser tests need playwright")
    if find_browser() is None:
        pytest.skip("browser tests need Chromium: apt-get install chromium")
    with start_browser() as chromium:
        yield chromium
