"""Pictures of the report for README and docs: ``python -m benchmarks.screenshots [--runs DIR]`` (``make screenshots``).

Pages are looked for in ``DIR/demo``, ``DIR/rotated-mnist`` and ``DIR/neural``; those that are missing are made by quick
runs, so that ``--runs results/reproduce`` shows full experiments where they have been run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.browser import browser, open_page
from viewsplice.cli import main as viewsplice
from viewsplice.experiments.drawing import fewer_colors

FIGURES = Path("docs/figures")
_MOST_BYTES = 200_000
_WIDE, _NARROW = {"width": 1240, "height": 900}, {"width": 400, "height": 860}


def page_of(runs: Path, name: str) -> Path:
    """Return the page of a run, which is made if there is none."""
    path = runs / name / "report.html"
    if not path.exists():
        command = ["demo"] if name == "demo" else ["reproduce", name]
        if viewsplice([*command, "--quick", "--out", str(path.parent)]):
            raise OSError(f"{' '.join(command)} --quick failed; expected {path}")
    return path


def scroll_to(page: Any, selector: str, offset: int = 0) -> None:
    """Bring an element to the top of the window, and wait until it is drawn."""
    page.evaluate(
        "([selector, offset]) => window.scrollTo({ behavior: 'instant', top: offset + "
        "document.querySelector(selector).getBoundingClientRect().top + window.scrollY })",
        [selector, offset],
    )
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def save(page: Any, name: str) -> None:
    """Write what the window shows, with as many colors as 200 kB allow."""
    png = page.screenshot()
    if len(png) > _MOST_BYTES:
        # The ends of a color bar are few pixels.
        png = fewer_colors(png, keep_rare=True)
    if len(png) > _MOST_BYTES:
        raise ValueError(f"{name} has {len(png):,} bytes; expected at most {_MOST_BYTES:,}: show less of the page")
    (FIGURES / f"{name}.png").write_bytes(png)


def answer(page: Any) -> None:
    """Show the first answer."""
    scroll_to(page, "#shared", 40)


def spaces(page: Any) -> None:
    """Color by a feature that is well explained, select rows in one space, and point at one of them."""
    page.locator("#maps .tile").first.click()
    scroll_to(page, "#look", 40)
    box = page.locator(".space canvas").first.bounding_box()
    corners = [(0.36, 0.3), (0.62, 0.3), (0.62, 0.7), (0.36, 0.7)]
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.keyboard.down("Shift")
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=5)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    scroll_to(page, "#look", 40)


def look(page: Any) -> None:
    """Show the spaces as the page opens."""
    scroll_to(page, "#look", 40)


def maps(page: Any) -> None:
    """Show the features over a space."""
    scroll_to(page, "#maps", -180)


def trust(page: Any) -> None:
    """Show what speaks for the result and what against it."""
    scroll_to(page, "#believe", 40)


SHOTS: tuple[tuple[str, str, Callable[[Any], None], dict[str, Any]], ...] = (
    ("report_answer", "demo", answer, {"viewport": _WIDE}),
    ("report_spaces", "demo", spaces, {"viewport": _WIDE}),
    ("report_maps", "demo", maps, {"viewport": _WIDE}),
    ("report_trust", "demo", trust, {"viewport": _WIDE}),
    ("report_dark", "demo", look, {"viewport": _WIDE, "color_scheme": "dark"}),
    ("report_narrow", "demo", look, {"viewport": _NARROW}),
    ("report_mnist", "rotated-mnist", look, {"viewport": _WIDE}),
    ("report_neural", "neural", look, {"viewport": _WIDE}),
)


def main() -> int:
    """Draw all pictures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.screenshots", description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("runs/screenshots"), help="where the runs are, or go")
    options = parser.parse_args()
    pages = {name: page_of(options.runs, name) for name in dict.fromkeys(name for _, name, _, _ in SHOTS)}
    with browser() as chromium:
        for picture, name, prepare, context in SHOTS:
            # Smooth scrolling would go on while the picture is taken.
            page = open_page(chromium, pages[name], reduced_motion="reduce", **context)
            prepare(page)
            save(page, picture)
            page.context.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
