"""A headless browser for what only a browser can tell: how long a page takes to open, and what it looks like."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# WebGL is drawn in software: a headless machine has no graphics card.
_SWITCHES = (
    *("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def find_browser() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[Any]:
    """Start a headless Chromium, driven by playwright, and end it."""
    from playwright.sync_api import sync_playwright

    path = find_browser()
    if path is None:
        raise OSError("there is no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=[*_SWITCHES])
        yield chromium
        chromium.close()


def open_page(chromium: Any, path: Path, **options: Any) -> Any:
    """Return a report, opened from its file, when every control works; ``options`` are those of a browser context."""
    page = chromium.new_context(**options).new_page()
    page.goto(path.resolve().as_uri())
    page.wait_for_selector("html[data-ready=true]", state="attached")
    return page
