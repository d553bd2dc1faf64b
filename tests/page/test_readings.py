"""Covariates in a real browser: outliers, words, missing labels, and what can be read as what."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import LEAKS, N_ROWS
from test_browser import FRAMES, LINE, lasso, opened, selected

from viewsplice import SPLICE, Views
from viewsplice.page.content import Run, make_content
from viewsplice.page.file import write_page

pytestmark = pytest.mark.browser

SHADES = """(canvas) => new Set(new Uint32Array(
  canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size"""
ROWS = np.arange(N_ROWS)
WRITTEN = """() => { const isFirst = !window.written; window.written = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  if (isFirst) CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    window.written.push(text); return write.call(this, text, ...rest); }; }"""


@pytest.fixture(scope="module")
def page(browser: Any, model: SPLICE, views: Views, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A page of covariates that are hard to read."""
    outlier = ROWS / N_ROWS
    outlier[7] = 1e6
    labels = np.array([None if row % 5 == 0 else f"kind {row % 2}" for row in ROWS], dtype=object)
    codes = np.array([np.nan if row % 5 == 0 else row % 2 for row in ROWS])
    colors = {
        "even": ROWS / N_ROWS,
        "outlier": outlier,
        "labels": labels,
        "codes": codes,
        "digits": np.array([str(row % 3) for row in ROWS]),
        "blank": np.array(["" if row % 2 else "4" for row in ROWS]),
        "heading": ROWS * 1.2,
        "nothing known": np.full(N_ROWS, np.nan),
        "constant": np.full(N_ROWS, 7.0),
        "clock": 1.7e9 + 60.5 * ROWS,
        "time": np.datetime64("2024-03-01T12:00") + ROWS * np.timedelta64(15, "m"),
        "session": np.array([f"2024-03-0{1 + row % 3}" for row in ROWS]),
    }
    content = make_content(model, views, colors=colors, kinds={"codes": "categorical"}, run=Run(audit={"leaks": LEAKS}))
    path: Path = write_page(content, tmp_path_factory.mktemp("readings") / "page.html")
    with opened(browser, path) as page:
        yield page


def offered(page: Any) -> list[str]:
    """Return how the chosen variable can be read."""
    choices = "(all) => all.filter((one) => !one.disabled).map((one) => one.value)"
    values: list[str] = page.locator("#read-as option").evaluate_all(choices)
    return values


def test_one_outlier_takes_no_colors_from_the_others(page: Any) -> None:
    page.select_option("#color-by", label="even")
    assert page.locator("#legend .bar span").all_inner_texts() == ["0", "0.9967"]
    assert "Colors end" not in page.locator("#legend").inner_text()
    page.evaluate(FRAMES)
    even = page.locator(".space canvas").first.evaluate(SHADES)
    page.select_option("#color-by", label="outlier")
    low, high = (float(end) for end in page.locator("#legend .bar span").all_inner_texts())
    assert 0 <= low < 0.02
    assert 0.97 < high <= 1
    said = "Colors end at 1 % and 99 % of the rows: 6 values lie beyond, all are from 0 to 1000000."
    assert said in page.locator("#legend").inner_text()
    page.evaluate(FRAMES)
    assert page.locator(".space canvas").first.evaluate(SHADES) > 0.8 * even, "as many shades as without it"
    lasso(page, LINE, [(0, 0), (1, 0), (1, 0.5), (0, 0.5)])
    assert 100 < len(selected(page)) < 200, "half of the rows are in the upper half of the picture"


def test_what_cannot_be_read_as_numbers_is_not_offered(page: Any) -> None:
    every = ["auto", "continuous", "circular", "categorical"]
    known = {"labels": ["auto", "categorical"], "digits": every, "codes": every, "even": every}
    known |= {"blank": every, "nothing known": ["auto"]}
    for label, expected in known.items():
        page.select_option("#color-by", label=label)
        assert offered(page) == expected, label
        told = page.locator("#read-as").get_attribute("title")
        assert ("words cannot be read as numbers" in told) == (label == "labels")


def test_labels_that_are_missing_are_gray_and_no_number(page: Any) -> None:
    gray = "(button) => button.querySelector('.mark-sign').style.color"
    page.select_option("#color-by", label="labels")
    assert [text[1:] for text in page.locator("#legend button").all_inner_texts()] == ["kind 0", "kind 1", "missing"]
    assert page.locator("#legend button").last.evaluate(gray) == "rgb(187, 187, 187)"
    page.locator("#legend button").last.click()
    assert selected(page) == list(range(0, N_ROWS, 5))
    page.select_option("#color-by", label="codes")
    page.select_option("#read-as", "continuous")
    assert page.locator("#legend .bar span").all_inner_texts() == ["0", "1"]
    assert "gray: no value" in page.locator("#legend").inner_text()
    page.select_option("#color-by", label="blank")
    assert [text[1:] for text in page.locator("#legend button").all_inner_texts()] == ["4", "missing"]


def test_a_scale_of_angles_has_no_ends(page: Any) -> None:
    page.select_option("#color-by", label="outlier")
    page.select_option("#read-as", "circular")
    assert page.locator("#legend .wheel").count() == 1
    assert "Colors end" not in page.locator("#legend").inner_text()
    page.select_option("#color-by", label="heading")
    page.select_option("#read-as", "continuous")
    assert page.locator("#legend .bar span").all_inner_texts() == ["0", "358.8"]


def test_a_covariate_without_values_is_told(page: Any) -> None:
    page.select_option("#color-by", label="nothing known")
    assert page.locator("#legend").inner_text() == "All rows in one color: none has a value of nothing known."


def test_numbers_that_differ_late_are_told_apart(page: Any) -> None:
    page.select_option("#color-by", label="clock")
    assert page.locator("#legend .bar span").all_inner_texts() == ["1700000000", "1700018090"]
    page.locator(".space canvas").nth(0).focus()
    page.keyboard.press("+")
    row, clock = page.locator("#hint dd").all_text_contents()[:2]
    assert float(clock) == pytest.approx(1.7e9 + 60.5 * int(row), abs=18_090 / 1_000)


def test_times_are_a_scale_and_are_told_as_dates(page: Any) -> None:
    page.evaluate(WRITTEN)
    page.select_option("#color-by", label="time")
    page.evaluate(FRAMES)
    assert page.locator("#legend .bar span").all_inner_texts() == ["2024-03-01 12:00:00", "2024-03-04 14:45:00"]
    assert {"2024-03-02", "2024-03-03", "2024-03-04"} <= set(page.evaluate("() => window.written"))
    for _ in range(4):
        page.locator(".space").nth(LINE).locator("[data-action=closer]").click()
    page.evaluate(FRAMES)
    assert "03-03 06:00" in page.evaluate("() => window.written"), "parts of a day when magnified"
    page.locator(".space").nth(LINE).locator("[data-action=reset]").click()
    page.locator(".space canvas").nth(0).focus()
    page.keyboard.press("+")
    row, time = page.locator("#hint dd").all_text_contents()[:2]
    assert np.datetime64(time) == np.datetime64("2024-03-01T12:00") + int(row) * np.timedelta64(15, "m")
    page.select_option("#read-as", "circular")
    assert page.locator("#legend").inner_text().endswith("midnight at the right, counterclockwise; one turn is a day")
    page.select_option("#read-as", "categorical")
    assert page.locator("#legend button").first.inner_text().endswith("2024-03-01 12:00:00")
    page.select_option("#color-by", label="session")
    labels = [label[1:] for label in page.locator("#legend button").all_inner_texts()]
    assert labels == ["2024-03-01", "2024-03-02", "2024-03-03"], "a few dates are labels"


def test_one_value_has_one_tick(page: Any) -> None:
    page.select_option("#color-by", label="even")
    page.evaluate(WRITTEN)
    page.select_option("#color-by", label="constant")
    page.evaluate(FRAMES)
    told = page.evaluate("() => window.written")
    assert "\u2191 constant" in told
    assert told.count("7") == 1, told
    assert page.locator("#legend").inner_text().split("\n") == ["constant", "all values are 7"]


def test_nothing_is_cut_off_on_paper_and_sentences_fit_narrow_screens(page: Any) -> None:
    wide = """() => [...document.querySelectorAll(".table, figure.wide, pre")].filter((box) =>
      box.getBoundingClientRect().width && box.scrollWidth > box.clientWidth + 1).map((box) => box.textContent)"""
    # A4 without its margins.
    page.set_viewport_size({"width": 700, "height": 900})
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate(wide) == []
    page.emulate_media(media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.set_viewport_size({"width": 400, "height": 860})
    hidden = page.locator(".table.text").first.evaluate("(box) => box.scrollWidth - box.clientWidth")
    assert hidden <= 0
    page.set_viewport_size({"width": 1300, "height": 900})
