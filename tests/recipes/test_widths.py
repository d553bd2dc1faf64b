"""How many dimensions: rules on hand-made evidence, and spectra of shapes with known distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from viewsplice.geometry.landmark_mds import landmark_mds
from viewsplice.geometry.targets import SpaceGeometry
from viewsplice.recipes.relevance import Relevance
from viewsplice.recipes.widths import check_given, choose_widths, filled, spectral_dimension

RNG = np.random.default_rng(0)
SPACES = ("A", "B", "A->B", "B->A")
OPEN = dict.fromkeys(SPACES)
THERE = Relevance(share=0.5, p_value=0.01)
CURVES = {
    1: [0.0, 0.99, 0.99, 0.98, 0.98],
    2: [0.0, 0.5, 0.97, 0.975, 0.97],
    3: [0.0, 0.4, 0.7, 0.95, 0.95],
}


def evidence(width, *, curve=None, spectrum=None, is_flat=False):
    """Return a geometry whose curve and spectrum both say ``width``."""
    spectrum = [1.0] * width + [0.01] * (5 - width) + [-0.001] if spectrum is None else spectrum
    return SpaceGeometry(
        anchors=np.array([0]),
        landmarks=np.arange(3),
        geodesics=np.zeros((3, 9)) if is_flat else np.ones((3, 9)),
        n_neighbors=5,
        spectrum=np.array(spectrum),
        curve=np.array(CURVES[width] if curve is None else curve),
        disagreement=0.0,
        unit=1.0,
    )


def choose(widths=(1, 1, 2, 2), asked=OPEN, relevance=None, **geometry):
    found = {space: evidence(width) for space, width in zip(SPACES, widths, strict=True)}
    relevance = {**dict.fromkeys(SPACES, THERE), **(relevance or {})}
    return choose_widths(asked, {**found, **geometry}, relevance)


def values(choices):
    return {space: choice.value for space, choice in choices.items()}


def circle_spectrum(n):
    """Return the landmark-MDS spectrum of n points on a circle, from their true distances along it."""
    steps = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return landmark_mds(2 * np.pi / n * np.minimum(steps, n - steps), 4).spectrum


def test_spectra_of_known_shapes():
    t, flat = RNG.uniform(size=(80, 1)), RNG.uniform(size=(80, 2)) * [1.5, 1.0]
    line, sheet = (landmark_mds(cdist(x, x), 4).spectrum for x in (t, flat))
    assert spectral_dimension(line) == 1
    assert spectral_dimension(sheet) == 2
    ring = circle_spectrum(100)
    # Eigenvalues of half the squared distance along a circle go as (-1)^(k+1) / k^2, doubled, over k = 1, 2, 3, ...
    positive = ring[:4] / ring[0]
    assert positive == pytest.approx([1, 1, 1 / 9, 1 / 9], abs=0.01)
    assert ring[-1] / ring[0] == pytest.approx(-1 / 4, abs=0.01)
    assert spectral_dimension(ring) == 2


def test_small_eigenvalues_do_not_count():
    assert spectral_dimension(np.array([1.0, 0.06, 0.04, 0.0])) == 2
    assert spectral_dimension(np.array([1.0, 0.06, 0.04, -0.05])) == 2
    assert spectral_dimension(np.array([1.0, 0.3, 0.2, -0.25])) == 2
    assert spectral_dimension(np.array([0.0, 0.0])) == 0


def test_widths_are_where_the_curves_stop_rising():
    found = choose((1, 2, 3, 3))
    assert values(found) == {"A": 1, "B": 2, "A->B": 3, "B->A": 3}
    assert not any(choice.is_weak for choice in found.values())
    assert "held-out R² by width 1: 0.990" in found["A"].reason
    assert "spectrum 1.000, 0.010" in found["A"].reason
    assert "carries 50.0 % of its view's variance" in found["A"].reason


def test_only_what_was_asked_for_is_found():
    found = choose((1, 2, 3, 1), asked={"A": 4, "B": None, "A->B": 2, "B->A": 0})
    assert values(found) == {"B": 2}
    assert choose(asked=dict.fromkeys(SPACES, 1)) == {}


def test_both_directions_of_a_pair_take_the_larger():
    found = choose((1, 1, 1, 3))
    assert values(found) == {"A": 1, "B": 1, "A->B": 3, "B->A": 3}
    assert found["A->B"].is_weak
    assert found["A->B"].reason.startswith("as many as B->A, of which it is the other direction (held-out R²")
    assert not found["B->A"].is_weak
    assert values(choose((1, 1, 1, 3), asked={**OPEN, "B->A": 4}))["A->B"] == 1


@pytest.mark.parametrize("seen", [Relevance(0.3, p_value=0.02), Relevance(0.004, p_value=0.005), Relevance(0.0, 1.0)])
def test_a_shared_space_that_shuffled_pairs_rebuild_as_well_is_absent(seen):
    found = choose(relevance={"A->B": seen, "B->A": seen})
    assert values(found) == {"A": 1, "B": 1, "A->B": 0, "B->A": 0}
    assert found["A->B"].reason.startswith(f"nothing shared found: p = {seen.p_value:.2g} against shuffled pairs")


def test_what_was_judged_on_training_rows_is_weak():
    found = choose(relevance={"A": Relevance(0.5, 0.005, is_held_out=False)})
    assert found["A"].is_weak
    assert "too few held-out rows" in found["A"].reason


def test_shared_in_one_direction_is_shared_in_both():
    found = choose(relevance={"A->B": Relevance(0.0, 0.5)})
    assert values(found)["A->B"] == values(found)["B->A"] == 2
    assert "nothing shared found" in found["A->B"].reason
    assert found["A->B"].is_weak


@pytest.mark.parametrize(("share", "width"), [(0.0099, 0), (0.01, 1), (-0.1, 0)])
def test_a_private_space_must_carry_a_percent(share, width):
    found = choose(relevance={"A": Relevance(share, 0.01)})
    assert found["A"].value == width
    if not width:
        percent = f"{100 * max(0, share):.1f} %"
        assert found["A"].reason == f"nothing private found: it would carry {percent} of its view's variance"
    # A weak p-value alone does not take a private space away.
    assert choose(relevance={"A": Relevance(0.5, 1.0)})["A"].value == 1


def test_a_space_without_extent_is_absent():
    assert values(choose(A=evidence(2, is_flat=True)))["A"] == 0


def test_a_space_that_the_scout_did_not_have_is_absent():
    geometry = {space: evidence(1) for space in ("A", "B", "A->B")}
    found = choose_widths(OPEN, geometry, dict.fromkeys(geometry, THERE))
    assert found["B->A"].value == 1  # as many as the other direction
    found = choose_widths({**OPEN, "A->B": 1}, geometry, dict.fromkeys(geometry, THERE))
    assert found["B->A"].value == 0
    assert "nothing shared found" in found["B->A"].reason


def test_a_view_that_nothing_would_rebuild_gets_one_private_dimension():
    nothing = Relevance(0.0, 1.0)
    found = choose(relevance=dict.fromkeys(SPACES, nothing))
    assert values(found) == {"A": 1, "B": 1, "A->B": 0, "B->A": 0}
    assert found["A"].is_weak
    assert found["A"].reason.startswith("one, since nothing else would rebuild the view (nothing private found")
    # With a shared space, its own or given, there is no need.
    assert values(choose(relevance={"A": nothing}))["A"] == 0
    given = choose(asked={**OPEN, "A->B": 0, "B->A": 1}, relevance=dict.fromkeys(SPACES, nothing))
    assert values(given) == {"A": 0, "B": 1}


def test_disagreement_of_curve_and_spectrum_is_weak_evidence():
    found = choose(A=evidence(2, spectrum=[1.0, 0.9, 0.5, 0.01, -0.001]))["A"]
    assert (found.value, found.is_weak) == (2, True)
    assert found.reason.endswith("; weak evidence: 3 eigenvalues stand out")


def test_a_curve_that_still_rises_is_weak_evidence():
    found = choose(A=evidence(2, curve=[0.0, 0.5, 0.97]))["A"]
    assert (found.value, found.is_weak) == (2, True)
    assert "no larger width was examined" in found.reason


def test_coordinates_that_tell_little_are_weak_evidence():
    found = choose(A=evidence(1, curve=[0.0, 0.31, 0.31, 0.30]))["A"]
    assert (found.value, found.is_weak) == (1, True)
    assert "these coordinates tell only 31% of held-out points" in found.reason
    told_nothing = choose(A=evidence(1, curve=[0.0, -0.2, -0.3, -0.1]))["A"]
    assert (told_nothing.value, told_nothing.is_weak) == (1, True)


def test_three_views_pair_by_pair():
    arrows = ("A->B", "A->C", "B->A", "B->C", "C->A", "C->B")
    spaces = ("A", "B", "C", *arrows)
    geometry = {space: evidence(1) for space in spaces} | {"C->A": evidence(3)}
    found = choose_widths(dict.fromkeys(spaces), geometry, dict.fromkeys(spaces, THERE))
    assert {name: found[name].value for name in arrows} == {**dict.fromkeys(arrows, 1), "A->C": 3, "C->A": 3}


def test_a_width_given_by_hand_that_is_less_than_the_evidence_is_told():
    geometry = {space: evidence(width) for space, width in zip(OPEN, (2, 1, 2, 2), strict=True)}
    seen = {space: Relevance(0.3, 0.005) for space in OPEN}
    found = check_given({"A": 1, "B": 1, "A->B": 2}, geometry, seen)
    assert list(found) == ["narrow/A"]
    assert found["narrow/A"].reason.startswith("1 dimension given, and the geometry shows 2 (held-out R² by width 1:")
    assert not check_given(OPEN, geometry, seen), "what was asked to be found is never too narrow"
    assert not check_given({"A": 0}, geometry, seen), "nothing is what was asked for"
    weak = {space: Relevance(0.3, 0.005, is_held_out=False) for space in OPEN}
    assert not check_given({"A": 1}, geometry, weak), "weak evidence does not speak against a user"


def test_private_dimensions_given_beyond_the_evidence_are_told_which_carry_the_geometry():
    geometry = {space: evidence(width) for space, width in zip(OPEN, (2, 1, 2, 2), strict=True)}
    seen = dict.fromkeys(OPEN, THERE)
    found = check_given({"A": 10, "B": 1, "A->B": 2, "B->A": 3}, geometry, seen)
    assert {name: choice.value for name, choice in found.items()} == {"leading/A": 2}, "room does no harm to B->A"
    assert not found["leading/A"].is_weak, "no reason for caution"
    assert found["leading/A"].reason.startswith(
        "10 dimensions given, and the geometry shows 2 (held-out R² by width 1:"
    )
    assert found["leading/A"].reason.endswith(
        "; 2 to carry it, the others are kept near 0 unless they help to rebuild the view"
    )
    assert not check_given({"A": 3}, geometry, {"A": Relevance(0.0, 1.0)}), "nothing there carries a geometry"


RISING = [0.0, 0.4, 0.7, 0.8, 0.95]  # four dimensions, or more: weak evidence


@pytest.mark.parametrize(
    ("spectrum", "leading"),
    [
        ([1.0, 0.9, 0.2, 0.1, 0.02, -0.25], 2),  # a ring: the others do not stand out
        ([1.0, 0.82, 0.28, 0.25, 0.09, -0.22], 2),  # one that almost winds twice: the gap decides
        ([1.0, 0.19, 0.009, 0.001, 0.0, -0.01], 2),  # a sheet, though the first eigenvalue is far above the second
        ([1.0, 0.9, 0.8, 0.7, 0.01, -0.001], 4),
        ([1.0, 0.01, 0.01, 0.01, 0.01, -0.001], 1),
    ],
)
def test_where_the_evidence_is_weak_the_largest_gap_of_the_spectrum_counts(spectrum, leading):
    geometry = {space: evidence(2, curve=RISING, spectrum=spectrum) for space in ("A", "A->B")}
    found = check_given({"A": 10, "A->B": 10}, geometry, dict.fromkeys(OPEN, THERE))
    assert {name: choice.value for name, choice in found.items()} == {"leading/A": leading}
    assert not check_given({"A": leading, "A->B": 1}, geometry, dict.fromkeys(OPEN, THERE))


def test_a_private_space_is_filled_where_all_evidence_says_so():
    seen, asked = dict.fromkeys(SPACES, THERE), {"A": 9, "B": 9, "A->B": 30, "B->A": None}
    geometry = {"A": evidence(3), "B": evidence(2), "A->B": evidence(3), "B->A": evidence(3)}
    assert filled({"A": 3, "B": 3}, asked, geometry, seen) == {"A": 9}
    assert filled({"A": 3, "B": 3}, {"A": 3, "B": 9}, geometry, seen) == {}, "three of three is all that was asked for"
    risen = {**geometry, "A": evidence(2, curve=[0.0, 0.4, 0.7, 0.95])}
    assert filled({"A": 3, "B": 3}, asked, risen, seen) == {}
    full = {**geometry, "A": evidence(3, curve=[0.0, 0.4, 0.7, 0.95])}
    assert filled({"A": 3, "B": 3}, asked, full, seen) == {"A": 9}
    assert filled({"A": 3, "B": 3}, asked, geometry, {**seen, "A": Relevance(0.0, 1.0)}) == {}
