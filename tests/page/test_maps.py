"""Feature maps in a real browser: their order, the bars below them, and what choosing one does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hostile import LEAKS, MARKUP, N_ROWS, SECOND
from test_browser import FRAMES, changed, opened, pictures

from viewsplice import SPLICE, Latents, Views
from viewsplice.page.content import Run, make_content
from viewsplice.page.file import write_page

pytestmark = pytest.mark.browser

WIDTHS = "(all) => all.map((one) => [one.className, parseFloat(one.style.width)])"
IN_VIEW = """(one) => { const box = one.getBoundingClientRect();
  return box.top >= 0 && box.top < innerHeight / 2; }"""
MEANS = "([source, places, values]) => [...Function('p', 'v', source + '; return binMeans(p, v)')(places, values)]"


@pytest.fixture(scope="module")
def page(browser: Any, page_file: Path) -> Iterator[Any]:
    with opened(browser, page_file, reduced_motion="reduce") as page:
        yield page


def test_feature_maps_are_ordered_by_what_explains_them(page: Any, model: SPLICE, views: Views) -> None:
    found = make_content(model, views).shares
    orders = {
        (0, "space"): np.argsort(-found[SECOND].features["shared"]),
        (0, "neither"): np.argsort(found[SECOND].features["rebuilt"]),
        (0, "number"): np.arange(7),
        (3, "space"): np.argsort(-found[SECOND].features["private"]),
    }
    for (space, order), expected in orders.items():
        page.select_option("#maps-space", str(space))
        page.select_option("#maps-order", order)
        assert page.locator("#maps .name").all_text_contents() == [str(feature) for feature in expected]
    assert page.locator("#maps-count").inner_text() == 'all 7 features of v1"&'
    assert page.locator("#maps-more").is_hidden()
    tiles = page.locator("#maps canvas").evaluate_all("(all) => all.map((canvas) => canvas.toDataURL())")
    assert len(set(tiles)) == 7
    before = pictures(page)
    page.locator("#maps .tile").nth(2).click()
    assert page.locator("#feature-name").input_value() == str(orders[3, "space"][2])
    assert page.locator("#color-by").input_value() == "feature"
    assert all(changed(page, before))


def test_bars_below_maps_show_all_parts(page: Any, model: SPLICE, views: Views) -> None:
    found = make_content(model, views).shares[SECOND]
    page.select_option("#maps-order", "number")
    room = np.clip(found.features["rebuilt"], 0, 1)
    shared, private = (np.clip(found.features[part], 0, room) for part in ("shared", "private"))
    both = np.maximum(0, shared + private - room)
    together = np.clip(found.together, 0, room - shared - private + both)
    expected = np.column_stack([shared - both, both, private - both, together])
    assert np.count_nonzero(expected.any(axis=0)) > 1, "several parts occur"
    for tile, shares in zip(page.locator("#maps .sharebar").all(), expected, strict=True):
        widths = dict(tile.locator("span").evaluate_all(WIDTHS))
        drawn = [widths.get(name, 0) for name in ("shared", "both", "private", "together")]
        np.testing.assert_allclose(drawn, 100 * shares, atol=0.01)


def test_shares_are_of_spaces_that_exist_and_add_up(browser: Any, model: SPLICE, views: Views, tmp_path: Path) -> None:
    content = make_content(model, views, run=Run(audit={"leaks": LEAKS}))
    found = content.shares[SECOND]
    parts = {part: np.full(7, share) for part, share in (("shared", 0.44), ("private", 0.62), ("rebuilt", 0.99))}
    vars(content)["shares"] = {**content.shares, SECOND: replace(found, features=parts)}
    with opened(browser, write_page(content, tmp_path / "page.html")) as page:
        told = page.locator("#maps .tile").first.get_attribute("aria-label")
        assert "variance shared 44 %, private 62 %, in both of these 7 %, neither 1 %." in told
        pieces = page.locator("#maps .tile").first.locator(".sharebar span")
        drawn = pieces.evaluate_all(WIDTHS)
        assert dict(drawn) == pytest.approx({"shared": 37, "both": 7, "private": 55}, abs=0.01), "99 % are explained"
        box, whole = (page.locator("#maps .sharebar").first.bounding_box()["width"], sum(width for _, width in drawn))
        painted = sum(pieces.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().width)"))
        assert painted == pytest.approx(box * whole / 100, abs=1)
    private = {**content.latents.private, SECOND: np.empty((N_ROWS, 0))}
    fewer = replace(content, latents=Latents(private=private, shared=content.latents.shared))
    vars(fewer)["shares"] = content.shares
    path = write_page(fewer, tmp_path / "fewer.html")
    with opened(browser, path) as page:
        tile = page.locator("#maps .tile").first
        assert "variance shared 44 %, neither 1 %." in tile.get_attribute("aria-label")
        assert tile.locator(".sharebar span").count() == 1
        assert 'Features of v1"&: what is explained of them is shared; R² below.' in page.locator("#look").inner_text()


def test_a_chosen_map_is_marked_and_its_colors_are_seen(page: Any) -> None:
    page.select_option("#maps-space", "0")
    tile = page.locator("#maps .tile").nth(3)
    tile.evaluate("tile => tile.scrollIntoView({ block: 'center', behavior: 'instant' })")
    assert not page.locator("#scatter").evaluate(IN_VIEW)
    tile.click()
    page.evaluate(FRAMES)
    assert page.locator("#scatter").evaluate(IN_VIEW), "the spaces that are colored are in view"
    marked = page.locator("#maps [aria-current] .name")
    assert marked.all_text_contents() == [tile.locator(".name").text_content()]
    page.locator("#feature-next").click()
    assert marked.all_text_contents() == [page.locator("#feature-name").input_value()]
    page.select_option("#color-by", "none")
    assert marked.count() == 0


def test_the_controls_of_the_scatters_cover_nothing_else(page: Any) -> None:
    bottom = page.locator(".sticky").evaluate("(bar) => getComputedStyle(bar).position") == "sticky"
    assert bottom, "they stay while the reader scrolls over the spaces"
    page.locator("#maps").evaluate("maps => maps.scrollIntoView({ block: 'start', behavior: 'instant' })")
    assert page.locator(".sticky").evaluate("(bar) => bar.getBoundingClientRect().bottom") <= 0


def test_names_of_features_are_offered(page: Any) -> None:
    page.select_option("#color-by", "feature")
    page.select_option("#feature-view", "0")
    names = page.locator("#feature-names option").evaluate_all("(all) => all.map((one) => one.value)")
    assert names == [f"{MARKUP}{i}" for i in range(8)]
    assert page.locator("#feature-name").get_attribute("list") == "feature-names"
    page.select_option("#feature-view", "1")
    assert page.locator("#feature-names option").count() == 0


def test_bins_of_few_rows_do_not_take_the_colors_of_a_map(browser: Any) -> None:
    source = files("viewsplice.page").joinpath("static/maps.js").read_text()
    rows = np.repeat([0, 1, 2, 6], [20, 20, 20, 1])
    values = np.repeat([0.0, 1.0, 2.0, 4.0], [20, 20, 20, 1])
    places = {"n": 8, "isLine": True, "bins": rows.tolist()}
    blank = browser.new_page()
    means = blank.evaluate(MEANS, [source, places, values.tolist()])
    blank.close()
    # Weights 1, 2, 1 over neighbors, and one average row in each of the three.
    mean, weights = values.mean(), np.array([60, 80, 60, 2])
    sums = np.array([20.0, 80.0, 100.0, 8.0])
    np.testing.assert_allclose(np.array(means)[[0, 1, 2, 6]], (sums + 4 * mean) / (weights + 4))
    assert np.nanargmax(means[:6]) == 2
    assert [mean is None or np.isnan(mean) for mean in means] == [False] * 3 + [True] * 3 + [False, True]
