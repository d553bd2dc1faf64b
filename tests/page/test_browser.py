"""The page in a real browser: it opens alone, every control does what it says, and markup in names does nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import (
    COLOR,
    FIRST,
    LABELS,
    LEAKS,
    MARKUP,
    N_ROWS,
    NOTE,
    SECOND,
    make_colors,
    make_model,
    make_views,
)

from viewsplice import SPLICE, Views
from viewsplice.page.content import Run, make_content
from viewsplice.page.file import write_page
from viewsplice.page.scatter import _axes

pytestmark = pytest.mark.browser

# Two frames: one in which the page asks for the next, and that one.
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
SCROLLED = "(y) => new Promise((done) => { const look = () => (scrollY < y ? done() : setTimeout(look)); look(); })"
COLORS = """(all) => all.map((canvas) => {
  const picture = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(picture.data.buffer)).size; })"""
TICKS = "() => { window.ticks = 0; const tick = () => { window.ticks += 1; requestAnimationFrame(tick); }; tick(); }"
PRINTED_SHAPE = """(canvas) => { [canvas.width, canvas.height] = [600, 300];
  return canvas.clientWidth / canvas.clientHeight; }"""
PICTURE = "(canvas) => canvas.toDataURL()"
SHARED, OTHER, LINE, DEEP = range(4)


@contextmanager
def opened(browser: Any, path: Path, **options: Any) -> Iterator[Any]:
    """Open a page from its file; fail on any request, error or warning of its script."""
    context = browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **options})
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: None if request.url == path.as_uri() else problems.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=true]", state="attached")
    page.evaluate(FRAMES)
    yield page
    context.close()
    assert not problems


@pytest.fixture(scope="module")
def opened_once(browser: Any, page_file: Path) -> Iterator[Any]:
    with opened(browser, page_file) as page:
        yield page


@pytest.fixture
def page(opened_once: Any) -> Any:
    """The page as after opening it: tests share it, since opening takes a while."""
    opened_once.reload()
    opened_once.wait_for_selector("html[data-ready=true]", state="attached")
    opened_once.evaluate(FRAMES)
    return opened_once


def pictures(page: Any) -> list[str]:
    """Return what each panel shows."""
    page.evaluate(FRAMES)
    return [canvas.evaluate(PICTURE) for canvas in page.locator(".space canvas").all()]


def changed(page: Any, before: list[str]) -> list[bool]:
    """Tell which panels show something else than before."""
    return [one != other for one, other in zip(before, pictures(page), strict=True)]


def lasso(page: Any, panel: int, corners: list[tuple[float, float]], *, key: str | None = "Shift") -> None:
    """Draw a line around part of a panel, in fractions of its sides."""
    canvas = page.locator(".space canvas").nth(panel)
    # In view may still mean below the bar that stays at the top.
    canvas.evaluate("canvas => canvas.scrollIntoView({ block: 'center', behavior: 'instant' })")
    box = canvas.bounding_box()
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    if key:
        page.keyboard.down(key)
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()
    if key:
        page.keyboard.up(key)
    page.evaluate(FRAMES)


def selected(page: Any) -> list[int]:
    return [int(row) for row in re.findall(r"\d+", page.locator("#selected-rows").input_value())]


def test_every_space_is_drawn(page: Any) -> None:
    assert page.locator(".space").count() == 4
    assert page.locator("#no-webgl").is_hidden()
    shown = page.locator(".space canvas").evaluate_all(COLORS)
    assert min(shown) > 50, "colors in each picture"


def test_markup_in_names_does_nothing(page: Any) -> None:
    page.locator(".space canvas").nth(SHARED).focus()
    page.keyboard.press("+")
    assert page.locator("#hint").is_visible()
    page.select_option("#color-by", label="side")
    legend = page.locator("#legend").text_content()
    page.select_option("#color-by", "feature")
    page.locator("summary").evaluate_all("(all) => all.forEach((one) => one.click())")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, iframe, object, main b:text-is('lgn')").count() == 0
    assert page.locator("script:not([type])").count() == 1
    text = page.evaluate("document.body.textContent")
    for told in (FIRST, SECOND, COLOR, NOTE, MARKUP):
        assert told in text
    for label in LABELS:
        assert label in legend


def test_colors_follow_the_choice(page: Any) -> None:
    assert page.locator("#legend strong").inner_text().startswith('"><svg')
    before = pictures(page)
    page.select_option("#color-by", label="heading")
    assert all(changed(page, before))
    assert "one turn is 360°" in page.locator("#legend").inner_text()
    before = pictures(page)
    page.select_option("#color-by", label="side")
    assert all(changed(page, before))
    assert page.locator("#legend button").count() == 3
    before = pictures(page)
    page.select_option("#color-by", "coordinate:3:1")
    assert all(changed(page, before))
    before = pictures(page)
    page.select_option("#color-by", "none")
    assert all(changed(page, before))
    assert page.locator("#legend").inner_text() == "All rows in one color."


def test_a_single_feature_colors_the_points(page: Any) -> None:
    page.select_option("#color-by", "feature")
    assert page.locator("#feature-choice").is_visible()
    page.select_option("#feature-view", "1")
    page.fill("#feature-name", "3")
    page.press("#feature-name", "Enter")
    third = pictures(page)
    legend = page.locator("#legend").inner_text()
    assert 'v1"&, feature 3' in legend
    assert "8 bits for all rows" in legend
    # Not to be taken for how well the model explains the feature.
    assert re.search(r"Of this one the page keeps R² 1\.000", legend)
    assert re.search(r"\d+ % shared, \d+ % private, \d+ % (only together|in both of these), \d+ % neither", legend)
    told = [int(share) for share in re.findall(r"(\d+) % (?:shared|private|only together|neither)", legend)]
    assert sum(told) == pytest.approx(100, abs=2), "less than nothing is nothing, and no part is told to make up for it"
    assert "Colors end" not in legend, "no value is far out"
    page.select_option("#read-as", "categorical")
    assert "Colors end at" not in page.locator("#legend").inner_text()
    page.select_option("#read-as", "auto")
    page.locator("#feature-next").click()
    assert page.locator("#feature-name").input_value() == "4"
    assert all(changed(page, third))
    page.locator("#feature-before").click()
    assert not any(changed(page, third))
    page.fill("#feature-name", "99")
    page.press("#feature-name", "Enter")
    assert page.locator("#feature-problem").inner_text() == 'v1"& has no feature "99": type 0 to 6.'
    assert not any(changed(page, third))


def test_features_are_found_by_name(page: Any) -> None:
    page.select_option("#color-by", "feature")
    page.fill("#feature-name", f"{MARKUP}5")
    page.press("#feature-name", "Enter")
    assert page.locator("#feature-problem").inner_text() == ""
    assert f"feature {MARKUP}5" in page.locator("#legend").text_content()


def test_the_reader_decides_how_numbers_are_read(page: Any) -> None:
    page.select_option("#color-by", label="heading")
    angles = pictures(page)
    page.select_option("#read-as", "continuous")
    assert all(changed(page, angles))
    assert page.locator("#legend .wheel").count() == 0
    page.select_option("#read-as", "categorical")
    assert page.locator("#legend button").last.inner_text().endswith("other (281 labels)")
    page.select_option("#read-as", "circular")
    assert page.locator("#legend .wheel").count() == 1
    page.select_option("#color-by", label="side")
    assert page.locator("#read-as").input_value() == "auto", "another variable is read in its own way"
    page.select_option("#read-as", "categorical")
    page.locator("#maps .tile").first.click()
    assert page.locator("#read-as").input_value() == "auto"
    page.select_option("#read-as", "categorical")
    page.locator("#feature-next").click()
    assert page.locator("#read-as").input_value() == "categorical", "the next feature is read like the last"


def test_labels_select_their_rows_in_all_spaces(page: Any) -> None:
    page.select_option("#color-by", label="side")
    before = pictures(page)
    page.locator("#legend button").last.click()
    assert selected(page) == list(range(2, N_ROWS, 3))
    assert page.locator("#selection").inner_text() == "100 of 300 rows selected, side: right."
    assert all(changed(page, before))
    page.locator("#clear").click()
    assert page.locator("#selection").inner_text() == "No rows selected."
    assert not any(changed(page, before))


def test_a_line_drawn_around_rows_selects_them_everywhere(page: Any, model: SPLICE, views: Views) -> None:
    before = pictures(page)
    lasso(page, SHARED, [(0.5, 0), (1, 0), (1, 1), (0.5, 1)])
    rows = selected(page)
    z = model.transform(views).shared[f"{FIRST}->{SECOND}"][:, 0]
    low, high = np.sort(z)[[0, -1]]
    middle = (low + high) / 2
    # All but a few rows far out decide on the middle of the picture, which has numbers at its left.
    clear = np.abs(z - middle) > 0.1 * (high - low)
    np.testing.assert_array_equal(np.isin(np.arange(N_ROWS), rows)[clear], (z > middle)[clear])
    assert all(changed(page, before))
    assert page.locator("#selected-box").is_visible()
    page.locator(".space canvas").nth(SHARED).focus()
    page.keyboard.press("Escape")
    assert not selected(page)


def test_dragging_can_select(page: Any) -> None:
    touch = "(canvas) => getComputedStyle(canvas).touchAction"
    assert page.locator(".space canvas").nth(DEEP).evaluate(touch) == "pan-y"
    page.check("input[name=drag][value=select]")
    assert page.locator(".space canvas").nth(DEEP).evaluate(touch) == "none", "a finger draws and does not scroll"
    lasso(page, DEEP, [(0, 0), (1, 0), (1, 1), (0, 1)], key=None)
    assert selected(page) == list(range(N_ROWS))


def test_the_pointer_tells_row_group_and_covariates(page: Any, model: SPLICE, views: Views) -> None:
    canvas = page.locator(".space canvas").nth(SHARED)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for x in np.linspace(0.3, 0.7, 20):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + box["height"] / 2)
        if page.locator("#hint").is_visible():
            break
    terms, told = (page.locator(f"#hint {tag}").all_text_contents() for tag in ("dt", "dd"))
    assert terms == ["row", f"{COLOR[:59]}…", "part of the split", "group", "heading", "side"]
    row = int(told[0])
    part = "validation" if row in model.split_["validation"] else "training"
    assert told[2:4] == [part, str(row // 10)]
    assert float(told[1]) == pytest.approx(row / N_ROWS, abs=1e-3)
    assert told[5] == LABELS[row % 3]
    assert page.locator(".mark:visible").count() == 4, "the row is marked in all spaces"
    page.mouse.move(5, 5)
    assert page.locator("#hint").is_hidden()


def test_panels_move_magnify_and_come_back(page: Any) -> None:
    start = pictures(page)
    for panel in (SHARED, LINE, DEEP):
        lasso(page, panel, [(0.5, 0.5), (0.7, 0.6)], key=None)
        assert changed(page, start) == [other == panel for other in range(4)]
        tools = page.locator(".space").nth(panel).locator(".tools")
        tools.locator("[data-action=reset]").click()
        assert not any(changed(page, start))
        tools.locator("[data-action=closer]").click()
        assert changed(page, start)[panel]
        tools.locator("[data-action=farther]").click()
        tools.locator("[data-action=reset]").click()
        assert not any(changed(page, start))


def test_panels_follow_the_keyboard(page: Any) -> None:
    start = pictures(page)
    page.locator(".space canvas").nth(SHARED).focus()
    for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "+", "-"):
        page.keyboard.press(key)
        assert changed(page, start)[SHARED], key
        page.keyboard.press("0")
        assert not changed(page, start)[SHARED]


def test_no_point_lies_below_names_and_numbers(page: Any) -> None:
    # A page that still scrolls to a control would slide away under the pointer.
    page.emulate_media(reduced_motion="reduce")
    page.locator("#point-size").fill("3")
    for label, left in (("heading", 36), ("side", 80)):
        page.select_option("#color-by", label=label)
        for panel in (SHARED, LINE) if label == "heading" else (LINE,):
            box = page.locator(".space canvas").nth(panel).bounding_box()
            edge, bottom = left / box["width"], 1 - 38 / box["height"]
            lasso(page, panel, [(0.001, 0.001), (0.999, 0.001), (0.999, 0.999), (0.001, 0.999)])
            total = len(selected(page))
            assert total > 0.98 * N_ROWS
            lasso(page, panel, [(edge, 0.07), (0.999, 0.07), (0.999, bottom), (edge, bottom)])
            assert len(selected(page)) == total, (label, panel)
    page.emulate_media(reduced_motion="no-preference")


def test_the_wheel_scrolls_until_a_panel_is_chosen(page: Any) -> None:
    start = pictures(page)
    canvas = page.locator(".space canvas").nth(SHARED)
    canvas.scroll_into_view_if_needed()
    canvas.hover()
    scrolled = page.evaluate("window.scrollY")
    page.mouse.wheel(0, -60)
    # The browser scrolls smoothly, and the page's policy forbids to wait by evaluating a text.
    page.evaluate(SCROLLED, scrolled)
    assert not any(changed(page, start))
    canvas.click()
    scrolled = page.evaluate("window.scrollY")
    page.mouse.wheel(0, -60)
    assert changed(page, start)[SHARED]
    assert page.evaluate("window.scrollY") == scrolled


def test_axes_and_depth_can_be_chosen(page: Any) -> None:
    start = pictures(page)
    panel = page.locator(".space").nth(DEEP)
    panel.locator("[data-axis='0']").select_option("2")
    assert changed(page, start)[DEEP]
    flat = panel.locator("[data-action=deep]")
    assert flat.get_attribute("aria-pressed") == "true"
    before = pictures(page)
    flat.click()
    assert changed(page, before)[DEEP]
    assert flat.get_attribute("aria-pressed") == "false"
    assert panel.locator("label.third").is_hidden()


def test_points_change_their_size(page: Any) -> None:
    start = pictures(page)
    page.locator("#point-size").fill("12")
    assert all(changed(page, start))


def test_the_page_fits_narrow_and_wide_screens(page: Any) -> None:
    for width in (360, 400, 768, 1400, 2200):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(FRAMES)
        assert page.evaluate("document.scrollingElement.scrollWidth") == width
        sizes = page.locator(".space canvas").evaluate_all("(all) => all.map((c) => [c.clientWidth, c.width])")
        assert all(250 <= shown <= width and drawn == shown for shown, drawn in sizes), width
    page.set_viewport_size({"width": 1300, "height": 900})


def test_light_and_dark_follow_the_system_and_paper_is_light(page: Any) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = pictures(page)
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) == "rgb(20, 23, 27)"
    assert all(changed(page, light))
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    assert page.locator(".controls").first.is_hidden()
    assert page.locator("main details:not([open]):visible").count() == 0
    shown = page.locator(".space canvas").first.evaluate(PRINTED_SHAPE)
    assert shown == pytest.approx(2, rel=0.01), "a ring stays a ring, whatever the sheet makes of the window"
    page.emulate_media(color_scheme="light", media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("main details[open]").count() == 0
    assert not any(changed(page, light))


def test_controls_have_names_and_can_be_reached(page: Any) -> None:
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, textarea, canvas[tabindex]")].filter((one) =>
             !(one.labels && one.labels.length) && !one.getAttribute("aria-label") && !one.textContent.trim()).length"""
    )
    assert nameless == 0
    page.locator("#color-by").focus()
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"read-as", "point-size", "CANVAS"} <= set(reached)


def test_without_webgl_points_are_drawn_by_hand(browser: Any, page_file: Path) -> None:
    hide = """const get = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind === "webgl2" ? null : get.call(this, kind, ...rest); };"""
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    context.add_init_script(hide)
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.wait_for_selector("html[data-ready=true]", state="attached")
    assert page.locator("#no-webgl").is_visible()
    before = pictures(page)
    page.select_option("#color-by", label="side")
    assert all(changed(page, before))
    before = pictures(page)
    page.locator("#legend button").first.click()
    assert all(changed(page, before))
    assert page.evaluate("window.hacked") is None
    context.close()


def test_rows_without_a_value_have_no_height_and_whole_numbers_keep_their_digits(
    browser: Any, model: SPLICE, views: Views, tmp_path: Path
) -> None:
    speed = np.linspace(10, 20, N_ROWS)
    speed[::2] = np.nan
    clock, code = 1_700_000_000 + np.arange(N_ROWS), np.arange(N_ROWS) % 5 * 1.5
    code[::4] = np.nan
    colors = {
        "clock": clock,
        "code": code,
        "speed": speed,
        "trial": 12_000 + np.arange(N_ROWS),
        "orientation": np.arange(N_ROWS) % 4 * 45,
    }
    content = make_content(model, views, colors=colors, run=Run(audit={"leaks": LEAKS}))
    path = write_page(content, tmp_path / "page.html")
    with opened(browser, path) as page:
        page.select_option("#color-by", label="speed")
        assert "gray: no value, left out where the height is" in page.locator("#legend").inner_text()
        lasso(page, LINE, [(0, 0), (1, 0), (1, 1), (0, 1)])
        assert selected(page) == list(range(1, N_ROWS, 2))
        lasso(page, SHARED, [(0, 0), (1, 0), (1, 1), (0, 1)])
        assert selected(page) == list(range(N_ROWS)), "where both axes are coordinates, all rows are there"
        page.select_option("#color-by", label="trial")
        assert page.locator("#legend .bar span").all_inner_texts() == ["12000", "12299"]
        page.locator(".space canvas").nth(SHARED).focus()
        page.keyboard.press("+")
        told = page.locator("#hint dd").all_text_contents()
        facts = dict(zip(page.locator("#hint dt").all_text_contents(), told, strict=True))
        assert int(facts["trial"]) == 12_000 + int(told[0])
        assert int(facts["clock"]) == 1_700_000_000 + int(told[0])
        page.select_option("#color-by", label="clock")
        assert page.locator("#legend .bar span").all_inner_texts() == ["1700000000", "1700000299"]
        lasso(page, LINE, [(0, 0), (1, 0), (1, 0.5), (0, 0.5)])
        upper = selected(page)
        assert upper == list(range(upper[0], N_ROWS)), "seconds have heights of their own"
        assert 130 < upper[0] < 170
        page.select_option("#color-by", label="code")
        page.select_option("#read-as", "categorical")
        labels = [label[1:] for label in page.locator("#legend button").all_inner_texts()]
        assert labels == ["0", "1.5", "3", "4.5", "6", "missing"]
        page.select_option("#color-by", label="orientation")
        page.select_option("#read-as", "circular")
        assert "one turn is 180°" in page.locator("#legend").inner_text()


@pytest.fixture(scope="module")
def large_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 60,000 rows, of which 50,000 are drawn."""
    views = make_views(60_000)
    model = make_model(views[:N_ROWS])
    content = make_content(model, views, colors=make_colors(60_000), run=Run(audit={"leaks": LEAKS}))
    return write_page(content, tmp_path_factory.mktemp("large") / "page.html")


def test_fifty_thousand_points_stay_interactive(browser: Any, large_page: Path) -> None:
    with opened(browser, large_page) as page:
        assert "50,000 of 60,000 rows are drawn, at random." in page.locator("#look").inner_text()
        canvas = page.locator(".space canvas").nth(SHARED)
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        page.evaluate(
            "window.ticks = 0; const tick = () => { window.ticks += 1; requestAnimationFrame(tick); }; tick();"
        )
        count = "() => [window.ticks, Number(document.querySelector('.space canvas').dataset.frames)]"
        before = page.evaluate(count)
        page.mouse.move(box["x"] + 100, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 200, box["y"] + 150, steps=60)
        page.mouse.up()
        ticks, frames = (now - then for now, then in zip(page.evaluate(count), before, strict=True))
        # Every frame of the screen in which the pointer moved has a new picture, and many of 60 moves have one.
        assert frames >= 20
        assert frames >= 0.3 * ticks
        lasso(page, SHARED, [(0.5, 0), (1, 0), (1, 1), (0.5, 1)])
        rows = selected(page)
        assert 5_000 < len(rows) < 45_000
        assert page.locator("#selection").inner_text().startswith(f"{len(rows):,} of 50,000 rows selected")
        assert max(rows) > 50_000, "numbers are those of the user's rows"


def test_coordinates_survive_their_16_bits(page: Any, model: SPLICE, views: Views) -> None:
    z, _ = _axes(model.transform(views).private[SECOND])
    page.select_option("#color-by", "coordinate:3:1")
    page.locator(".space canvas").nth(SHARED).focus()
    page.keyboard.press("+")
    told = page.locator("#hint dd").all_text_contents()
    assert float(told[1]) == pytest.approx(z[int(told[0]), 1], abs=1e-3)
