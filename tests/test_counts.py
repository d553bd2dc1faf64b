"""Square roots and smoothing of counts: values by hand, ends of groups, types, refusals."""

import numpy as np
import pytest

from viewsplice.counts import smooth, square_root
from viewsplice.views import Views

COUNTS = {"A": np.array([[0, 4], [9, 1], [16, 25]]), "B": np.arange(6, dtype=np.float32).reshape(3, 1, 2)}


def test_square_roots():
    groups = np.array(["x", "x", "y"])
    found = square_root(Views(COUNTS, groups=groups))
    assert found["A"].tolist() == [[0, 2], [3, 1], [4, 5]]
    assert found["B"] == pytest.approx(np.sqrt(COUNTS["B"]))
    assert (found["A"].dtype, found["B"].dtype) == (np.float64, np.float32)
    assert found.groups.tolist() == groups.tolist()
    with pytest.raises(ValueError, match="view 'B' has negative values; expected counts or rates for a square root"):
        square_root(Views({"A": COUNTS["A"], "B": -COUNTS["B"]}))


def gaussian_means(x, bins):
    """Return each row's mean over all rows, weighted by a Gaussian; what is beyond an end repeats the last row."""
    reach = int(4 * bins + 0.5)
    steps = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (steps / bins) ** 2)
    places = np.clip(np.arange(len(x))[:, None] + steps, 0, len(x) - 1)
    return np.einsum("ij...,j->i...", x[places], weights / weights.sum())


@pytest.mark.parametrize("bins", [0.3, 1.0, 2.5])
def test_smoothing_is_a_gaussian_mean_over_rows(bins):
    x = np.random.default_rng(0).poisson(3, size=(30, 2, 3))
    found = smooth(Views({"A": x}), bins)["A"]
    assert found.shape == x.shape
    assert found == pytest.approx(gaussian_means(x.astype(float), bins), abs=1e-12)


def test_nothing_flows_between_groups_even_where_their_rows_alternate():
    x = np.random.default_rng(0).poisson(3, size=(20, 4)).astype(float)
    groups = np.arange(20) % 2
    found = smooth(Views({"A": x}, groups=groups), 1.5)
    for group in (0, 1):
        assert found["A"][groups == group] == pytest.approx(gaussian_means(x[groups == group], 1.5))
    assert found.groups.tolist() == groups.tolist()


def test_the_users_arrays_and_types_are_kept():
    before = {name: x.copy() for name, x in COUNTS.items()}
    found = smooth(Views(COUNTS), 1.0)
    assert (found["A"].dtype, found["B"].dtype) == (np.float64, np.float32)
    for name, x in COUNTS.items():
        np.testing.assert_array_equal(x, before[name])
    one = smooth(Views({"A": np.array([[3.0, 4.0]])}), 2.0)
    assert one["A"] == pytest.approx(np.array([[3.0, 4.0]]))


@pytest.mark.parametrize("bins", [0, -1.0, np.inf, np.nan])
def test_widths_that_cannot_be(bins):
    with pytest.raises(ValueError, match=r"smoothing is over .* bins; expected a number above 0"):
        smooth(Views(COUNTS), bins)
