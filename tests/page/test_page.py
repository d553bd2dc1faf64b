"""The page: what it says, in which order, and that nothing a user writes becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hostile import COLOR, FIRST, LEAKS, MARKUP, N_ROWS, NOTE, SECOND, TITLE, make_colors, make_model

from viewsplice import SPLICE, Latents, Views
from viewsplice._types import Array
from viewsplice.io import fingerprint
from viewsplice.metrics import reconstruction_r2
from viewsplice.page import belief, leaks, look, summary
from viewsplice.page import content as contents
from viewsplice.page.belief import belief_section
from viewsplice.page.blocks import Blocks
from viewsplice.page.content import Content, Run, make_content, parts_of
from viewsplice.page.look import look_section
from viewsplice.page.provenance import provenance_section
from viewsplice.page.summary import summary_section
from viewsplice.plotting import distance_plot
from viewsplice.views import is_arrow

VOID = ("meta", "img", "input", "br")


class Page(HTMLParser):
    """Collects tags with their attributes and all visible text; fails on tags that do not match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text += data

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


@pytest.fixture(autouse=True)
def _no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the drawing of figures, which takes most of the time; the whole page has been drawn before."""
    for module in (belief, leaks, look, summary):
        monkeypatch.setattr(module, "to_svg", lambda ax: "<svg ></svg>")


@pytest.fixture
def content(model: SPLICE, views: Views) -> Content:
    return make_content(model, views, run=Run(audit={"leaks": LEAKS}))


def test_the_four_answers_come_in_order(html: str) -> None:
    assert re.findall("<h2>(.*?)</h2>", html) == [
        "What is shared and what is private",
        "What it looks like",
        "Whether to believe it",
        "How it was made",
    ]


def test_what_users_write_is_text_and_never_markup(page: Page) -> None:
    for text in (TITLE, NOTE, FIRST, SECOND, MARKUP, f"viewsplice fit {MARKUP}"):
        assert text in page.text
    assert any(option["value"] == "covariate:2" for option in page.attributes("option"))
    assert COLOR in page.text
    assert not {tag for tag, _ in page.tags} & {"img", "link", "iframe", "object", "base", "form"}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    kinds = [script.get("type") for script in page.attributes("script")]
    assert kinds.count(None) == 1, "one script, its own"
    assert set(kinds) == {None, "application/json", "application/octet-stream"}


def test_only_the_own_script_may_run(html: str, page: Page) -> None:
    [policy] = [str(meta["content"]) for meta in page.attributes("meta") if "http-equiv" in meta]
    script = html.rsplit("<script>", 1)[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'")


def test_the_page_stands_alone(html: str, page: Page) -> None:
    assert page.attributes("html") == [{"lang": "en"}]
    links = [
        str(attributes[key])
        for _, attributes in page.tags
        for key in ("href", "src", "xlink:href")
        if key in attributes
    ]
    assert links
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in links)
    assert not re.search(r"@import|url\((?!#)", html)
    assert len(html) < 1_000_000


def test_every_figure_has_a_description(page: Page) -> None:
    pictures = page.attributes("svg")
    descriptions = [str(svg["aria-label"]) for svg in pictures]
    assert len(descriptions) == len(set(descriptions)) > 15
    assert {svg["role"] for svg in pictures} == {"img"}
    assert all(canvas["aria-label"] for canvas in page.attributes("canvas"))
    tables = [
        str(box["aria-label"]) for box in page.attributes("div") if box.get("role") == "group" and "tabindex" in box
    ]
    assert "table: view, shared, private, only together, neither, rebuilt: R²" in tables
    for control in (*page.attributes("select"), *page.attributes("input")):
        assert control.get("id") or control.get("data-axis") or control.get("name") == "drag"


def test_the_answer_names_dimensions_and_shares_with_intervals(page: Page, model: SPLICE, views: Views) -> None:
    found = make_content(model, views).shares[FIRST].total
    assert f"{FIRST} and {SECOND} share 2 dimensions (as set" in page.text
    assert f"{FIRST} keeps 1 dimension (as set) to itself." in page.text
    assert f"{SECOND} keeps 3 dimensions (as set" in page.text
    shared = found["shared"]
    assert shared.low < shared.value < shared.high
    assert f"{100 * shared.value:.1f} % ({100 * shared.low:.1f} to {100 * shared.high:.1f})" in page.text
    assert "95 % intervals over resampled groups" in page.text


def test_spaces_of_width_zero_are_named(views: Views) -> None:
    model = make_model(views, n_private={FIRST: 1, SECOND: 0}, geometry=None)
    html = summary_section(make_content(model, views), 0)
    row = next(row for row in re.findall("<tr>(.*?)</tr>", html) if "private to v1" in row)
    assert re.findall("<td>(.*?)</td>", row)[1:] == ["0", "", "", "", "not in the model"]
    assert "keeps <strong>nothing</strong> (as set) to itself. Of its variance, what it shares explains" in html
    shares = re.findall("<td>(.*?)</td>", next(row for row in re.findall("<tr>(.*?)</tr>", html) if "% (" in row))
    assert shares.count("none") == 0
    shares = re.findall("<td>(.*?)</td>", [row for row in re.findall("<tr>(.*?)</tr>", html) if "% (" in row][1])
    assert [cell == "none" for cell in shares] == [False, True, True, False, False]


def test_few_held_out_rows_are_not_enough(model: SPLICE, views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    content = make_content(model, views)
    assert content.judged_part == "validation"
    assert content.judged_words == "60 held-out rows"
    monkeypatch.setattr(contents, "_LEAST_JUDGED", 100)
    content = make_content(model, views)
    assert content.judged_words == "240 training rows (there are too few held-out ones)"
    assert "rows that the fit has seen" in belief_section(replace(content, run=Run(audit={"leaks": LEAKS})))


def test_reconstruction_by_part_of_the_split(model: SPLICE, views: Views, page: Page) -> None:
    rebuilt = model.reconstruct(views)
    assert "training rows (240)" in page.text
    assert "validation rows (60)" in page.text
    for rows in model.split_.values():
        assert f"{reconstruction_r2(views[FIRST][rows], rebuilt[FIRST][rows]):.3f}" in page.text


def test_how_it_was_made(views: Views, page: Page) -> None:
    for text in ("240 train, 60 validation (groups kept together)", "61.2 s", "torch ", '"n_landmarks": 20'):
        assert text in page.text
    assert re.search(r"seed\s*5", page.text)
    assert fingerprint(views[FIRST])[:16] in page.text
    assert '"<b>lgn": 1' in page.text


def test_times_are_told_in_words(content: Content) -> None:
    for seconds, said in ((None, "not recorded"), (119.0, "119.0 s"), (180.0, "3.0 min")):
        assert said in provenance_section(replace(content, run=Run(seconds=seconds)))


def test_new_rows_are_one_part_without_distances(model: SPLICE, views: Views) -> None:
    moved = {name: x + 0.01 for name, x in views.arrays.items()}
    content = make_content(model, moved, run=Run(audit={"leaks": LEAKS}))
    assert list(content.parts) == ["given"]
    assert content.judged_words == "300 given rows"
    assert "the rows given are not those of the fit" in belief_section(content)
    assert "this page shows 300 other rows" in provenance_section(content)


def test_fitted_rows_are_recognized(model: SPLICE, views: Views) -> None:
    def parts(given: Views) -> dict[str, Array]:
        return parts_of(model, given, model.transform(given))

    found = parts(views)
    np.testing.assert_array_equal(found["training"], model.split_["train"])
    np.testing.assert_array_equal(found["validation"], model.split_["validation"])
    assert list(parts(views[:200])) == ["given"]
    assert list(parts(views[::-1])) == ["given"]
    other = next(row for row in model.split_["train"] if row not in model.geometry_[FIRST].anchors)
    changed = views[SECOND].copy()
    changed[other] += 0.1
    assert list(parts(Views({FIRST: views[FIRST], SECOND: changed}))) == ["given"]


def test_fitted_rows_in_another_order_are_not_taken_for_fitted_ones(views: Views) -> None:
    model = make_model(views)
    model.fit(views, validation=0)
    assert list(parts_of(model, views, model.transform(views))) == ["training", "validation"]
    # All rows are training rows, so that only the anchor tells.
    assert list(parts_of(model, views[::-1], model.transform(views[::-1]))) == ["given"]


def test_distances_are_of_the_fitted_rows_in_latent_units(
    content: Content, model: SPLICE, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def watch(geodesics: Array, latent_distances: Array) -> object:
        seen.append((geodesics, latent_distances))
        return distance_plot(geodesics, latent_distances)

    monkeypatch.setattr(belief, "distance_plot", watch)
    assert belief_section(content).count("Latent against geodesic distances") == len(seen) == 4
    for (space, found), (geodesics, distances) in zip(content.geometry.items(), seen, strict=True):
        z, train = content.spaces[space], model.split_["train"]
        np.testing.assert_allclose(geodesics.mean(), 1.0, rtol=1e-5)
        np.testing.assert_allclose(distances[3, 7], np.linalg.norm(z[found.landmarks[3]] - z[train[7]]), rtol=1e-5)
        own = np.searchsorted(train, found.landmarks)
        np.testing.assert_array_equal(geodesics[np.arange(20), own], 0)
        np.testing.assert_array_equal(distances[np.arange(20), own], 0)


def test_shared_spaces_come_first(content: Content) -> None:
    assert [is_arrow(space) for space in content.spaces] == [True, True, False, False]
    assert list(content.geometry) == list(content.spaces)


def test_collapsed_spaces_are_wrong(content: Content) -> None:
    assert "No latent space has collapsed." in belief_section(content)
    private = {**content.latents.private, FIRST: np.ones((N_ROWS, 1))}
    latents = Latents(private=private, shared=content.latents.shared)
    collapsed = replace(content, latents=latents)
    html = belief_section(collapsed)
    assert html.count('class="note bad"') == 1
    assert "The space private to &lt;b&gt;lgn (<i>z</i><sub>&lt;b&gt;lgn</sub>) has collapsed" in html
    assert "No latent space has collapsed." not in html
    assert summary_section(collapsed, 1).count("<strong>collapsed</strong>") == 1


def test_spaces_without_extent_along_their_submanifold_are_collapsed(content: Content, model: SPLICE) -> None:
    arrow = f"{FIRST}->{SECOND}"
    flat = replace(model.geometry_[arrow], geodesics=np.zeros((20, 240)))
    other = SPLICE()
    other.fitted_ = replace(model.fitted_, geometry={**model.geometry_, arrow: flat})
    assert content.collapsed == []
    assert replace(content, model=other).collapsed == [arrow]


def test_projections_are_judged_in_one_sentence(content: Content, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(belief, "_FAR", 1e9)
    assert "they lie where data lie" in belief_section(content)
    monkeypatch.setattr(belief, "_FAR", 0.0)
    assert "some lie where there are no data" in belief_section(content)


def test_stability_and_restarts_are_told(content: Content, model: SPLICE) -> None:
    assert "Distances were measured at one anchor" in belief_section(content)
    geometry = {name: replace(found, anchors=np.arange(3), disagreement=0.3) for name, found in model.geometry_.items()}
    history = [*model.history_[:-1], {**model.history_[-1], "attempt": 2}]
    other = SPLICE()
    other.fitted_ = replace(model.fitted_, geometry=geometry, history=history)
    html = belief_section(replace(content, model=other))
    assert "medians over 3 anchors" in html
    assert "the geometry depends on where" in html
    assert "30.0 %" in html
    assert "started again with another seed" in html


def test_an_audit_has_the_last_word_on_anchors_and_seeds(content: Content, model: SPLICE) -> None:
    geometry = {
        name: replace(found, anchors=np.arange(3), disagreement=0.01) for name, found in model.geometry_.items()
    }
    other = SPLICE()
    other.fitted_ = replace(model.fitted_, geometry=geometry)
    html = belief_section(replace(content, model=other))
    assert "the geometry hardly depends on where" in html
    assert "one fit does not tell" in html
    compared = [{"space": FIRST, "compared": what} for what in ("anchor 1, anchor 2", "model, refit 1")]
    html = belief_section(replace(content, model=other, run=Run(audit={"leaks": LEAKS, "stability": compared})))
    assert "which differ by (RMS, of the mean distance)" in html
    assert "the geometry hardly depends" not in html, "the audit may say otherwise"
    assert "the audit above tells" in html


def test_without_geometry(views: Views) -> None:
    model = make_model(views, geometry=None)
    html = belief_section(make_content(model, views, run=Run(audit={"leaks": LEAKS, "stability": 0.9})))
    assert "fitted without geometry: there are no distances to compare" in html
    assert "nothing was projected" in html
    assert "<h3>More of the audit</h3>" in html


def test_shapes_have_names_only_on_evidence(content: Content) -> None:
    angle = np.linspace(0, 2 * np.pi, N_ROWS, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    shared = dict.fromkeys(content.latents.shared, ring)
    latents = Latents(private=content.latents.private, shared=shared)
    data = {"n_rows": N_ROWS, "spaces": [], "covariates": [], "features": []}
    html = look_section(replace(content, latents=latents), data)
    assert html.count('<strong class="nowrap">a ring</strong>') == 2
    assert html.count("Loops of s ") == 2


def test_rows_beyond_the_limit_are_left_out_and_the_page_says_so(
    content: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "_MOST_DRAWN", 100)
    sampled = replace(content)
    assert len(sampled.drawn) == len(set(sampled.drawn)) == 100
    data = {"n_rows": 100, "spaces": [], "covariates": [], "features": []}
    assert "100 of 300 rows are drawn, at random." in look_section(sampled, data)


def test_json_cannot_end_a_script() -> None:
    words = {"name": "</script><!--\u2028\u2029&"}
    text = Blocks().html(words)
    inner = text.removeprefix('<script type="application/json" id="page-data">').removesuffix("</script>")
    assert not set("<>&\u2028\u2029") & set(inner)
    assert json.loads(inner) == words


def test_errors(model: SPLICE, views: Views) -> None:
    with pytest.raises(ValueError, match="expected all views of the model"):
        make_content(model, {FIRST: views[FIRST]})
    with pytest.raises(ValueError, match=r"color 'x' has shape \(3,\); expected one value per row: \(300,\)"):
        make_content(model, views, colors={"x": np.zeros(3)})
    with pytest.raises(ValueError, match="kinds has 'y'"):
        make_content(model, views, colors={"x": np.zeros(N_ROWS)}, kinds={"y": "circular"})
    with pytest.raises(TypeError, match="expected numbers for kind='circular'"):
        make_content(model, views, colors=make_colors(N_ROWS), kinds={"side": "circular"})
    with pytest.raises(ValueError, match="feature_names has 2 for view '<b>lgn'; expected one per feature: 8"):
        make_content(model, views, feature_names={FIRST: ["a", "b"]})
    assert not Path("page.html").exists()
