"""Leaks on the page: which pairs of spaces are asked, what is measured, and how an audit takes its place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hostile import FIRST, LEAKS, SECOND

from viewsplice import SPLICE, Latents, Views
from viewsplice.page import leaks
from viewsplice.page.audit import audited_leaks, counted_leaks, has_compared, verdict_html
from viewsplice.page.belief import _independence
from viewsplice.page.content import Content, make_content
from viewsplice.page.leaks import _pairs, is_leaking, largest_leak, leaks_html, measured_leaks


@pytest.fixture
def content(model: SPLICE, views: Views) -> Content:
    return make_content(model, views)


def test_pairs_that_should_be_independent() -> None:
    assert list(_pairs(["A->B", "B->A", "A", "B"])) == [
        ("A->B", "A"),
        ("B->A", "B"),
        ("A", "B->A"),
        ("A", "B"),
        ("B", "A->B"),
        ("B", "A"),
    ]


def test_a_space_that_holds_another_leaks(content: Content, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaks, "_N_NULL", 4)
    rng = np.random.default_rng(0)
    n_rows = len(content.views)
    own, other = rng.uniform(-1, 1, size=(2, n_rows, 1))
    latents = Latents(
        private={FIRST: own, SECOND: own**3},
        shared={f"{FIRST}->{SECOND}": np.zeros((n_rows, 0)), f"{SECOND}->{FIRST}": np.zeros((n_rows, 0))},
    )
    rows = measured_leaks(replace(content, latents=latents))
    assert [(row["source"], row["target"]) for row in rows] == [(FIRST, SECOND), (SECOND, FIRST)]
    assert set(rows[0]) == {"source", "target", "probe", "r2", "null_mean", "null_q95", "p"}
    assert all(row["r2"] > 0.6 and is_leaking(row) for row in rows)
    independent = Latents(private={FIRST: own, SECOND: other}, shared=latents.shared)
    rows = measured_leaks(replace(content, latents=independent))
    assert not any(is_leaking(row) for row in rows)
    html = leaks_html(rows, None)
    assert 'class="note good"' in html
    assert html.count("<tr>") == 3


def test_few_rows_are_not_measured(content: Content, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaks, "_LEAST_ROWS", 61)
    assert measured_leaks(content) == []
    assert "Not measured" in leaks_html([], None)
    assert "was not measured" in _independence([])


def test_rows_of_probes_are_apart(content: Content) -> None:
    train, test = leaks._rows(content)
    np.testing.assert_array_equal(train, content.parts["training"])
    np.testing.assert_array_equal(test, content.parts["validation"])
    train, test = leaks._rows(replace(content, parts={"given": np.arange(300)}))
    assert (len(train), len(test)) == (200, 100)
    assert not set(train) & set(test)


def test_an_audit_takes_the_place_of_what_is_measured_here() -> None:
    audit = {"leaks": LEAKS, "p_shared": 0.004, "dependence": [{"spaces": "A, B", "hsic": 0.25}], "verdict": "<good>"}
    html = leaks_html(LEAKS, audit)
    for text in ("0.004", "hsic", "0.25", "&lt;good&gt;"):
        assert text in html
    assert html.count('class="note warn"') == 1, "the verdict of the audit, in place of notes of its own"
    told = [{**LEAKS[0], "kind": "view"}, {**LEAKS[1], "kind": "private into shared"}]
    assert audited_leaks({"leaks": told}) == told[1:], "what spaces may tell is no leak"
    assert "about the views" in leaks_html(told[1:], {"leaks": told})
    assert audited_leaks(audit) == LEAKS
    assert "<td>0.091</td>" in leaks_html([{**LEAKS[0], "p": 1 / 11}], None)
    assert "<td></td></tr>" in leaks_html([{**LEAKS[0], "p": None}], None)
    assert audited_leaks({"leaks": [{**LEAKS[0], "r2": None}, LEAKS[1]]}) == LEAKS[1:]
    assert audited_leaks({"verdict": "none"}) == audited_leaks(None) == []
    worst = largest_leak(LEAKS)
    assert worst is LEAKS[1]
    assert "they are not independent" in _independence(LEAKS)
    assert "nothing speaks against it" in _independence(LEAKS[:1])


def test_sentences_of_an_audit_are_marked_one_by_one() -> None:
    findings = [
        {"sentence": "No leak found.", "is_fine": True},
        {"sentence": "Held-out rows: 8.", "is_fine": None},
        {"sentence": "Refits <b>do not</b> agree.", "is_fine": False},
        {"sentence": "Many pairs.", "is_fine": None},
    ]
    html = verdict_html({"findings": findings, "verdict": "all of it"})
    assert '<p class="note good"><b>Fine.</b> No leak found.</p>' in html
    assert '<p class="note warn"><b>Careful.</b> Refits &lt;b&gt;do not&lt;/b&gt; agree.</p>' in html
    assert html.endswith("<p>Held-out rows: 8. Many pairs.</p>")
    assert "all of it" not in html
    assert 'class="note warn"' in verdict_html({"verdict": "of another version"})
    assert verdict_html({"findings": [], "verdict": ""}) == ""


def test_an_audit_decides_what_counts_as_a_leak() -> None:
    row = {**LEAKS[0], "kind": "private into private", "p": 0.001}
    small = {**row, "r2": 0.03}
    assert counted_leaks(None) is None
    assert counted_leaks({"leaks": LEAKS}) is None, "without kinds, the audit does not tell"
    found = counted_leaks({"leaks": [row, small]})
    assert found is not None
    assert [one["r2"] for one in found] == [0.01, 0.03], "both are above 1 % of variance and beyond chance"
    assert "they are not independent" in _independence([row, small], found)
    assert "nothing speaks against it" in _independence([row, small])
    assert "nothing speaks against it" in _independence([{**row, "r2": 0.9}], [])


def test_what_an_audit_has_compared() -> None:
    rows = [{"space": "A", "compared": "model, refit 1"}, "not a row"]
    assert has_compared({"stability": rows}, "refit")
    assert not has_compared({"stability": rows}, "anchor")
    for audit in (None, {}, {"stability": 0.9}):
        assert not has_compared(audit, "refit")


def test_the_verdict_of_an_audit_has_a_heading_of_its_own() -> None:
    html = leaks_html(LEAKS, {"leaks": LEAKS, "verdict": "Refits agree."})
    assert html.index("What the audit says") < html.index("Refits agree.") < html.index("Does one space leak")
    assert "pairs of rows exchanged" in html
    html = leaks_html(LEAKS, None)
    assert "What the audit says" not in html
    assert "shuffled, 10 times, so that no p is below 0.091" in html
