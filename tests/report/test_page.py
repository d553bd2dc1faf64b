"""The report page: what it says, in which order, and that nothing a user writes becomes markup."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from sklearn.exceptions import NotFittedError

from viewsplice import SPLICE, GeometryConfig, GeometryWarning, Latents, MLPNetworks, TrainConfig, Views
from viewsplice._types import Array
from viewsplice.metrics import effective_dimension_of, latent_spread, reconstruction_r2
from viewsplice.plotting import distance_plot
from viewsplice.report import report
from viewsplice.report.page import _parts
from viewsplice.report.sections import Content, belief_section, scatter_section, spaces_section

N_ROWS = 120
FIRST, SECOND = "<b>lgn", 'v1"&'
NOTE = "<script>alert('note')</script>"
COLOR = '"><img src="x" $'
TRAINING = TrainConfig(epochs=2, batch_size=50)


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
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def views() -> Views:
    rng = np.random.default_rng(0)
    factors = rng.uniform(-1, 1, size=(N_ROWS, 3))
    first = np.tanh(factors[:, [0, 1]] @ rng.normal(size=(2, 6)))
    return Views({FIRST: first, SECOND: np.tanh(factors[:, [0, 2]] @ rng.normal(size=(2, 5)))})


@pytest.fixture(scope="module")
def model(views: Views) -> SPLICE:
    geometry = GeometryConfig(n_neighbors=8, grow_by=4, n_landmarks=20)
    widths = {FIRST: 2, SECOND: 0}
    networks = MLPNetworks((16,))
    found = SPLICE(1, widths, recipe="paper", networks=networks, training=TRAINING, geometry=geometry, random_state=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeometryWarning)
        return found.fit(views)


@pytest.fixture(scope="module")
def html(model: SPLICE, views: Views, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("report") / "new" / "page.html"
    colors = {COLOR: np.arange(N_ROWS) / N_ROWS, "turn": np.arange(N_ROWS)}
    path = report(
        model,
        views,
        out=out,
        colors=colors,
        kinds={"turn": "circular"},
        title="Fit of <b>lgn & v1",
        notes=[NOTE, "Two."],
    )
    assert path == out
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def content_of(model: SPLICE, views: Views, colors: dict[str, Array] | None = None) -> Content:
    return Content(model, views, model.transform(views), {"given": np.arange(len(views))}, colors or {}, {})


def test_sections_come_in_order(html: str) -> None:
    assert re.findall("<h2>(.*?)</h2>", html) == [
        "What is shared and what is private",
        "How well the views are rebuilt",
        "What it looks like",
        "Whether to believe it",
        "How it was made",
    ]


def test_what_users_write_is_text_and_never_markup(page: Page) -> None:
    for text in ("Fit of <b>lgn & v1", NOTE, "Two.", FIRST, SECOND, COLOR):
        assert text in page.text
    assert not {tag for tag, _ in page.tags} & {"b", "script", "link", "iframe", "object"}
    assert [text for text in page.text.splitlines() if text == "Fit of <b>lgn & v1"], "the title of the window"


def test_the_page_stands_alone(html: str, page: Page) -> None:
    assert page.attributes("html") == [{"lang": "en"}]
    assert all(str(image["src"]).startswith("data:image/png;base64,") for image in page.attributes("img"))
    assert not re.search(r"https?://|url\(|@import", html)
    assert "prefers-color-scheme: dark" in html
    assert len(html) < 3_000_000


def test_every_figure_has_a_description(page: Page) -> None:
    descriptions = [str(image["alt"]) for image in page.attributes("img")]
    # Two reconstructions; of three spaces two scatters, distances, a spectrum and R² by width each; the loss curves.
    assert len(descriptions) == len(set(descriptions)) == 2 + 3 * 5 + 1
    assert f"Rows in the space private to {FIRST} and {COLOR}" in descriptions
    assert sum("correlation" in text for text in descriptions) == 3


def test_table_of_spaces(model: SPLICE, views: Views, html: str) -> None:
    z = model.transform(views).private[FIRST]
    row = next(row for row in re.findall("<tr>(.*?)</tr>", html) if "private to &lt;b&gt;lgn" in row)
    cells = re.findall("<td>(.*?)</td>", row)
    assert cells[:4] == [
        "<i>z</i><sub>&lt;b&gt;lgn</sub>",
        "2",
        f"{latent_spread(z):.3g}",
        str(effective_dimension_of(z)),
    ]
    assert re.fullmatch(r"1, 0\.\d+|1, [\d.e-]+", cells[4])
    assert cells[5] == "in use"
    assert "<i>s</i><sub>&lt;b&gt;lgn→v1&quot;&amp;</sub>" in html


def test_spaces_of_width_zero_are_named(html: str) -> None:
    row = next(row for row in re.findall("<tr>(.*?)</tr>", html) if "private to v1" in row)
    assert re.findall("<td>(.*?)</td>", row)[1:] == ["0", "", "", "", "not in the model"]


def test_reconstruction_by_part_of_the_split(model: SPLICE, views: Views, page: Page) -> None:
    rebuilt = model.reconstruct(views)
    assert "training rows (108)" in page.text
    assert "validation rows (12)" in page.text
    for rows in model.split_.values():
        assert f"{reconstruction_r2(views[FIRST][rows], rebuilt[FIRST][rows]):.3f}" in page.text


def test_how_it_was_made(model: SPLICE, page: Page) -> None:
    for text in ("108 train, 12 validation", "viewsplice 0.", "torch ", "numpy ", '"n_landmarks": 20', '"epochs": 2'):
        assert text in page.text
    assert re.search(r"seed\s*5", page.text)
    assert page.attributes("details") == [{}]
    assert '"<b>lgn": 2' in page.text


def test_figures_are_the_same_each_time(model: SPLICE, views: Views) -> None:
    content = content_of(model, views)
    assert scatter_section(content) == scatter_section(content)


def test_new_rows_are_one_part_without_distances(model: SPLICE, views: Views, tmp_path: Path) -> None:
    page = Page(
        report(model, {name: x + 0.01 for name, x in views.arrays.items()}, out=tmp_path / "p.html").read_text()
    )
    assert "given rows (120)" in page.text
    assert "the rows given are not those of the fit" in page.text
    assert not [image for image in page.attributes("img") if "correlation" in str(image["alt"])]


def test_fitted_rows_are_recognized(model: SPLICE, views: Views) -> None:
    def parts(given: Views) -> dict[str, Array]:
        return _parts(model, given, model.transform(given))

    found = parts(views)
    np.testing.assert_array_equal(found["training"], model.split_["train"])
    np.testing.assert_array_equal(found["validation"], model.split_["validation"])
    assert list(parts(views[:100])) == ["given"]
    assert list(parts(views[::-1])) == ["given"]
    other = next(row for row in model.split_["train"] if row not in model.geometry_[FIRST].anchors)
    changed = views[SECOND].copy()
    changed[other] += 0.1
    assert list(parts(Views({FIRST: views[FIRST], SECOND: changed}))) == ["given"]


def test_fitted_rows_in_another_order_are_not_taken_for_fitted_ones(views: Views) -> None:
    model = SPLICE(1, 1, recipe="paper", networks=MLPNetworks((4,)), training=TRAINING, random_state=0)
    model.set_params(geometry=GeometryConfig(n_neighbors=100, n_landmarks=5)).fit(views, validation=0)
    assert list(_parts(model, views, model.transform(views))) == ["training", "validation"]
    # All rows are training rows, so that only the anchor tells.
    assert list(_parts(model, views[::-1], model.transform(views[::-1]))) == ["given"]


def test_distances_are_of_the_fitted_rows_in_latent_units(
    model: SPLICE, views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def watch(geodesics: Array, latent_distances: Array) -> Axes:
        seen.append((geodesics, latent_distances))
        return distance_plot(geodesics, latent_distances)

    monkeypatch.setattr("viewsplice.report.sections.distance_plot", watch)
    latents = model.transform(views)
    content = Content(model, views, latents, _parts(model, views, latents), {}, {})
    assert belief_section(content).count("Latent against geodesic distances") == len(seen) == 3
    for (space, found), (geodesics, distances) in zip(model.geometry_.items(), seen, strict=True):
        z, train = latents.spaces()[space], model.split_["train"]
        np.testing.assert_allclose(geodesics.mean(), 1.0, rtol=1e-5)
        np.testing.assert_allclose(distances[3, 7], np.linalg.norm(z[found.landmarks[3]] - z[train[7]]), rtol=1e-5)
        own = np.searchsorted(train, found.landmarks)
        np.testing.assert_array_equal(geodesics[np.arange(20), own], 0)
        np.testing.assert_array_equal(distances[np.arange(20), own], 0)


def test_collapsed_spaces_are_errors(model: SPLICE, views: Views) -> None:
    content = content_of(model, views)
    assert "No latent space has collapsed." in belief_section(content)
    private = {**content.latents.private, FIRST: np.ones((N_ROWS, 2))}
    collapsed = replace(content, latents=Latents(private=private, shared=content.latents.shared))
    html = belief_section(collapsed)
    assert html.count('class="error"') == 1
    assert "the space private to &lt;b&gt;lgn (<i>z</i><sub>&lt;b&gt;lgn</sub>) has no spread" in html
    assert "No latent space has collapsed." not in html
    assert spaces_section(collapsed).count("<strong>collapsed</strong>") == 1


def test_spaces_without_extent_along_their_submanifold_are_collapsed(model: SPLICE, views: Views) -> None:
    content = content_of(model, views)
    arrow = f"{FIRST}->{SECOND}"
    flat = replace(model.geometry_[arrow], geodesics=np.zeros((20, 108)))
    other = SPLICE()
    other.fitted_ = replace(model.fitted_, geometry={**model.geometry_, arrow: flat})
    assert content.collapsed == []
    assert replace(content, model=other).collapsed == [arrow]


def test_without_geometry_and_colors(views: Views, tmp_path: Path) -> None:
    model = SPLICE(1, 0, recipe="paper", networks=MLPNetworks((4,)), training=TRAINING, geometry=None, random_state=0)
    model.fit(views)
    page = Page(report(model, list(views.arrays.values()), out=tmp_path / "p.html").read_text())
    assert "fitted without geometry" in page.text
    assert len(page.attributes("img")) == 2 + 2 + 1


def test_colors_beyond_the_limit_are_left_out_and_the_page_says_so(
    model: SPLICE, views: Views, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewsplice.report.sections._MAX_PANELS", 3)
    html = scatter_section(content_of(model, views, {"x": np.zeros(N_ROWS), "y": np.ones(N_ROWS)}))
    assert "The first 1 of 2 color variables are drawn." in html
    assert html.count("<img") == 3


def test_errors(model: SPLICE, views: Views, tmp_path: Path) -> None:
    out = tmp_path / "p.html"
    with pytest.raises(NotFittedError):
        report(SPLICE(), views, out=out)
    with pytest.raises(ValueError, match="expected all views of the model"):
        report(model, {FIRST: views[FIRST]}, out=out)
    with pytest.raises(ValueError, match=r"color 'x' has shape \(3,\); expected one value per row: \(120,\)"):
        report(model, views, out=out, colors={"x": np.zeros(3)})
    with pytest.raises(ValueError, match="kinds has 'y'"):
        report(model, views, out=out, colors={"x": np.zeros(N_ROWS)}, kinds={"y": "circular"})
    with pytest.raises(ValueError, match="expected the file to write"):
        report(model, views, out=tmp_path)
    assert not list(tmp_path.iterdir())
