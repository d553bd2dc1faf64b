"""The first answer and how it was made: what is a finding and what a setting, and what speaks against it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from html import escape, unescape

import numpy as np
import pytest
from hostile import FIRST, LEAKS, MARKUP, N_ROWS, SECOND, make_model

from viewsplice import SPLICE, Views
from viewsplice.io import installed_versions
from viewsplice.page import belief, leaks, look, summary
from viewsplice.page.audit import told_table
from viewsplice.page.belief import belief_section
from viewsplice.page.content import Content, Run, make_content
from viewsplice.page.leaks import leaks_html
from viewsplice.page.look import look_section
from viewsplice.page.markup import count_doubts, joined, listing, note, panels, percent, symbol, typeset
from viewsplice.page.provenance import provenance_section
from viewsplice.page.summary import summary_section
from viewsplice.recipes import Choice
from viewsplice.trust import Estimate, Shares

ARROWS = f"{FIRST}->{SECOND}", f"{SECOND}->{FIRST}"
DATA = {"n_rows": N_ROWS, "spaces": [], "covariates": [], "features": []}


@pytest.fixture(autouse=True)
def _no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (belief, leaks, look, summary):
        monkeypatch.setattr(module, "to_svg", lambda ax: "<svg ></svg>")


@pytest.fixture
def content(model: SPLICE, views: Views) -> Content:
    return make_content(model, views, run=Run(audit={"leaks": LEAKS}))


def with_shares(content: Content, features: Mapping[str, np.ndarray], shared: Estimate) -> Content:
    """Return the same with other shares of the first view."""
    total = {**content.shares[FIRST].total, "shared": shared}
    changed = replace(content)
    vars(changed)["shares"] = {**content.shares, FIRST: Shares(features, total, 60, 6)}
    return changed


def with_choices(content: Content, model: SPLICE, choices: Mapping[str, Choice]) -> Content:
    other = SPLICE()
    other.fitted_ = replace(model.fitted_, choices=choices)
    return replace(content, model=other)


def test_widths_are_told_apart_by_who_chose_them(content: Content, model: SPLICE) -> None:
    html = summary_section(content, 0)
    assert "share <strong>2 dimensions</strong> (as set" in html
    found = {f"n_shared/{arrow}": Choice(2, "the curve stops") for arrow in ARROWS}
    html = summary_section(with_choices(content, model, found), 0)
    assert "share <strong>2 dimensions</strong> (found in the data" in html
    assert "keeps <strong>1 dimension</strong> (as set) to itself" in html


def test_dimensions_that_are_not_used_are_told(content: Content) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(N_ROWS, 2))
    shared = {ARROWS[0]: z, ARROWS[1]: z * [1, 0.01]}
    html = summary_section(replace(content, latents=replace(content.latents, shared=shared)), 0)
    assert "share <strong>2 dimensions</strong> (as set, 1 to 2 of them effective)" in html


def test_what_explains_nothing_is_no_finding(content: Content) -> None:
    features = content.shares[FIRST].features
    html = summary_section(with_shares(content, features, Estimate(-0.001, -0.04, 0.03)), 0)
    told = "what &lt;b&gt;lgn shares (0 %, from -4 to 3)"
    assert f"In 60 held-out rows, {told}" in html
    assert html.count("nothing that can be told from zero") == 1, "one sentence for all spaces"
    html = summary_section(with_shares(content, features, Estimate(0.2, 0.1, 0.3)), 0)
    assert "what &lt;b&gt;lgn shares (" not in html


def test_shares_of_rows_that_the_fit_has_seen_are_told_as_such(content: Content) -> None:
    assert "Of its variance, what it shares" in summary_section(content, 0)
    few = replace(content, parts={"training": content.parts["training"], "validation": np.arange(3)})
    assert "Of its variance in rows that the fit has seen, what it shares" in summary_section(few, 0)


def test_what_two_spaces_explain_alike_is_explained_below_the_bars(content: Content) -> None:
    features = content.shares[FIRST].features
    for shared, is_twice in ((0.9, True), (-0.2, False)):
        changed = with_shares(content, features, Estimate(shared, shared - 0.1, shared + 0.1))
        total = changed.shares[FIRST].total
        total["private"], total["neither"] = Estimate(0.5, 0.4, 0.6), Estimate(0.1, 0.0, 0.2)
        others = {SECOND: replace(changed.shares[SECOND], total=total)}
        vars(changed)["shares"] = {**changed.shares, **others}
        assert ("<b>In both</b>: what shared and private" in summary_section(changed, 0)) == is_twice


def test_sentences_speak_of_spaces_in_the_symbols_of_the_page() -> None:
    spaces = ["lgn", "v1", "v10", "v1->lgn", "v1->v10", "a<b"]
    text = "z v10 tells 5% of s v1→lgn & v1->v10; z v1, z a<b, quiz v1, but v1 is a view."
    shared = ["<i>s</i><sub>v1→lgn</sub>", "<i>s</i><sub>v1→v10</sub>"]
    expected = (
        f"<i>z</i><sub>v10</sub> tells 5% of {shared[0]} &amp; {shared[1]}; <i>z</i><sub>v1</sub>, "
        "<i>z</i><sub>a&lt;b</sub>, quiz v1, but v1 is a view."
    )
    assert typeset(text, spaces) == expected
    assert typeset("<b> v1->lgn", []) == "&lt;b&gt; v1-&gt;lgn"


def test_notes_of_the_model_and_warnings_have_no_arrow_of_two_signs(content: Content, model: SPLICE) -> None:
    choices = {
        f"n_shared/{ARROWS[0]}": Choice(2, "3 suit as well", is_weak=True),
        f"torn/{FIRST}": Choice(0.1, "parts lie apart", is_weak=True),
    }
    html = summary_section(with_choices(content, model, choices), 0)
    assert "Shared space <i>s</i><sub>&lt;b&gt;lgn→v1&quot;&amp;</sub>, 2 dimensions" in html
    assert "Private space <i>z</i><sub>&lt;b&gt;lgn</sub> may be torn" in html
    run = replace(content.run, warnings=[f"{ARROWS[1]}: distances lead across sparse points"])
    html = belief._warnings(replace(content, run=run))
    assert "<i>s</i><sub>v1&quot;&amp;→&lt;b&gt;lgn</sub>: distances lead" in html


def test_an_audit_speaks_of_spaces_in_symbols() -> None:
    row = {**LEAKS[0], "source": "v1->lgn", "target": "v1", "kind": "own private into shared"}
    found = {
        "leaks": [row, {**row, "source": "v1", "target": "view lgn", "kind": "view"}],
        "findings": [{"sentence": "s v1→lgn tells 5% of z v1.", "is_fine": False}, {"sentence": "An old v1->lgn."}],
        "dependence": [{"first": "v1->lgn", "second": "v1", "distance_correlation": 0.1}],
        "assumptions": [{"name": "independence", "numbers": {"v1->lgn, v1": 0.1, "v2": 0.2}}],
    }
    html = leaks_html([row], found)
    shared, private = "<i>s</i><sub>v1→lgn</sub>", "<i>z</i><sub>v1</sub>"
    assert f"{shared} tells 5% of {private}." in html
    assert f"An old {shared}." in html
    assert '<th scope="row">s v1→lgn</th><td>z v1</td>' in html
    assert "s v1→lgn, z v1: 0.1; v2: 0.2" in html, "what is no space keeps its name"
    assert "-&gt;" not in html


def test_the_leak_that_is_told_is_farthest_above_its_nulls() -> None:
    larger = {**LEAKS[0], "source": "b", "target": "c", "r2": 0.8, "null_q95": 0.5}
    nearer = {**LEAKS[0], "source": "c", "target": "b", "r2": 0.7, "null_q95": 0.1}
    html = belief._independence([larger, nearer])
    assert "R² = 0.70 (from <i>z</i><sub>c</sub> about <i>z</i><sub>b</sub>) is farthest above shuffled rows" in html
    assert "the most that can be read" not in html, "the other is larger"


def test_what_cannot_depend_is_no_doubt(content: Content, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(belief, "measured_leaks", lambda content: [])
    unmeasured = replace(content, run=Run())
    assert "<b>Independence</b> of the spaces was not measured: there are too few rows." in belief_section(unmeasured)
    private = {name: z[:, :0] for name, z in content.latents.private.items()}
    only_shared = replace(unmeasured, latents=replace(content.latents, private=private))
    html = belief_section(only_shared)
    assert "The model has no two spaces that should be independent of each other." in html
    assert "was not measured: there are too few rows" not in html


def test_views_are_enumerated() -> None:
    assert [joined(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


def test_an_audit_without_shared_information_is_told_first(content: Content) -> None:
    told = "no evidence that anything is shared (p = 0.3)"
    assert told in summary_section(replace(content, run=Run(audit={"p_shared": 0.3})), 0)
    for audit in ({"p_shared": 0.01}, {"p_shared": None}, None):
        assert "no evidence that anything is shared" not in summary_section(replace(content, run=Run(audit=audit)), 0)


def test_doubts_below_are_announced(content: Content, html: str) -> None:
    assert 'None of the checks under <a href="#believe">' in summary_section(content, 0)
    assert "One of the checks" in summary_section(content, 1)
    assert "3 of the checks" in summary_section(content, 3)
    notes = note("good", "a") + note("warn", 'class="note warn"') + note("bad", "b")
    assert count_doubts(notes) == 2
    n_doubts = count_doubts(html.split('<section id="believe">')[1])
    assert n_doubts > 1
    assert f"{n_doubts} of the checks under" in html


def test_weak_widths_are_folded_and_other_notes_are_not(content: Content, model: SPLICE) -> None:
    choices = {
        "epochs": Choice(2, "few rows"),
        f"n_shared/{ARROWS[0]}": Choice(2, "weak evidence: <b>", is_weak=True),
        f"n_private/{FIRST}": Choice(0, "nothing private found"),
        f"n_private/{SECOND}": Choice(3, "clear"),
        f"n_neighbors/{SECOND}": Choice(16, "sparse points bridge", is_weak=True),
        f"torn/{SECOND}": Choice(0.1, "neighbors lie far apart", is_weak=True),
    }
    html = summary_section(with_choices(content, model, choices), 0)
    shown, folded = html.split("<details>")
    assert "nothing private found" in shown
    assert "distances: sparse points bridge." in shown
    assert "may be torn: neighbors lie far apart." in shown
    assert "Another number of dimensions would suit the data as well in <i>s</i><sub>&lt;b&gt;lgn→v1" in shown
    assert "weak evidence: &lt;b&gt;" in folded
    assert "weak evidence" not in shown
    assert "clear" not in html
    assert "<details>" not in summary_section(content, 0)


@pytest.mark.parametrize(
    ("is_weak", "origin"), [(True, "found in the data, on weak evidence"), (False, "found in the data")]
)
def test_how_sure_it_is_that_nothing_is_there(
    content: Content, model: SPLICE, views: Views, is_weak: bool, origin: str
) -> None:
    latents = model.transform(views)
    empty = replace(latents, private={**latents.private, FIRST: latents.private[FIRST][:, :0]})
    choices = {f"n_private/{FIRST}": Choice(0, "it may have been removed", is_weak=is_weak)}
    html = summary_section(replace(with_choices(content, model, choices), latents=empty), 0)
    assert f"keeps <strong>nothing</strong> ({origin})" in html
    assert "it may have been removed" in html.split("<details>")[0], "absence is not folded away"


def test_features_that_do_not_vary_are_left_out(content: Content) -> None:
    constant = {part: np.full(8, np.nan) for part in ("shared", "private", "rebuilt")}
    html = look_section(with_shares(content, constant, Estimate(0.0, 0.0, 0.0)), DATA)
    assert "Features of &lt;b&gt;lgn do not vary in 60 held-out rows." in html
    assert html.count("R² of single features of") == 1


def test_a_few_features_far_below_zero_do_not_hide_the_others(content: Content) -> None:
    r2 = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, -4e7])
    features = {**content.shares[FIRST].features, "rebuilt": r2}
    html = look_section(with_shares(content, features, Estimate(0.2, 0.1, 0.3)), DATA)
    assert "median 0.55, 90 % of them from below -1 to 0.86" in html


def test_tables_of_an_audit_may_break_sentences_and_hold_no_tables() -> None:
    rows = [{"name": "independence", "sentence": "a " * 30, "numbers": {"a, b": 0.25, "<c>": 1.0}}]
    html = listing(rows)
    assert '<div class="table text"' in html
    assert html.count("<table>") == 1
    assert "a, b: 0.25; &lt;c&gt;: 1" in html
    assert '<div class="table"' in listing([{"name": "a", "p": 0.5}])


def test_figures_stand_in_pairs_where_three_would_leave_one() -> None:
    assert panels(["<figure></figure>"] * 3).startswith('<div class="panels">')
    assert panels(["<figure></figure>"] * 4).startswith('<div class="panels pairs">')
    assert panels(["<figure></figure>"] * 2, is_paired=True).startswith('<div class="panels pairs">')


def test_percent_has_no_negative_zero() -> None:
    assert [percent(value) for value in (-0.001, 0.126, -0.03)] == ["0 %", "13 %", "-3 %"]


def test_versions_are_those_of_the_fit_where_they_are_known(content: Content) -> None:
    html = provenance_section(content)
    assert "versions now, when the page was written" in html
    assert f"numpy {installed_versions()['numpy']}, scipy" in html
    html = provenance_section(replace(content, run=Run(versions={"torch": f"1.0{MARKUP}"})))
    assert '<th scope="row">versions</th><td class="sentence">torch 1.0&lt;/script&gt;' in html


def test_fingerprints_of_other_rows_are_not_those_of_the_fit(content: Content) -> None:
    assert '<th scope="row">data</th>' in provenance_section(content)
    other = replace(content, parts={"given": np.arange(N_ROWS)})
    assert '<th scope="row">data shown, not those of the fit</th>' in provenance_section(other)


@pytest.mark.parametrize(
    ("held_out", "said"),
    [
        (np.arange(0, 300, 5), "240 train, 60 validation (scattered rows)"),
        (np.arange(100, 160), "240 train, 60 validation (in 1 block)"),
        (np.arange(0), "300 train, 0 validation<"),
    ],
)
def test_the_split_is_described_by_its_rows(views: Views, held_out: np.ndarray, said: str) -> None:
    alone = Views(views.arrays)
    model = make_model(alone, geometry=None)
    train = np.setdiff1d(np.arange(N_ROWS), held_out)
    content = replace(make_content(model, alone), parts={"training": train, "validation": held_out})
    content.model.fitted_ = replace(model.fitted_, split={"train": train, "validation": held_out})
    assert said in provenance_section(content)


def test_long_names_do_not_push_numbers_out_of_the_window() -> None:
    long = f"{'mouse <42>, ' * 8}probe"
    assert symbol("v1") == "<i>z</i><sub>v1</sub>"
    found = symbol(f"v1->{long}")
    assert unescape(re.sub("<.*?>", "", found)) == "sv1→mouse <42>,… <42>, probe"
    assert f'title="v1→{escape(long)}"' in found, "the pointer tells all of it"


def test_sentences_keep_room_in_every_column() -> None:
    html = listing([{"name": "coverage", "sentence": "a " * 30, "numbers": 1.0}])
    assert f'<td class="sentence">{"a " * 30}</td><td>1</td>' in html


def test_leaks_are_told_in_the_symbols_of_the_page() -> None:
    html = leaks_html([{**LEAKS[1], "source": "v1->lgn", "target": "v1"}], None)
    assert "<i>s</i><sub>v1→lgn</sub> tells R² = 0.40 of <i>z</i><sub>v1</sub>" in html
    assert '<th scope="row"><i>s</i><sub>v1→lgn</sub></th><td><i>z</i><sub>v1</sub></td>' in html
    assert "<i>s</i><sub>a→b→&lt;c</sub>" in leaks_html([{**LEAKS[0], "source": "a->b-><c"}], None), "a damaged file"
    told = [{**LEAKS[0], "source": "v1", "target": "view v1", "kind": "view"}]
    assert '<th scope="row"><i>z</i><sub>v1</sub></th><td>view v1</td>' in told_table(told)


def test_only_spaces_of_one_dimension_have_a_height(content: Content) -> None:
    assert "The height of a one-dimensional space" in look_section(content, DATA)
    flat = replace(content)
    vars(flat)["spaces"] = {name: z for name, z in content.spaces.items() if z.shape[1] > 1}
    assert "The height of a one-dimensional space" not in look_section(flat, DATA)
