"""The scan of widths: curves from planted scores, choices that can be decoded, and one small scan in earnest."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from viewsplice import SPLICE, MLPNetworks, Sweep, TrainConfig, dimension_scan
from viewsplice._validation import check_decodable
from viewsplice.datasets import linear_gaussian
from viewsplice.sweeps import scan as scanning
from viewsplice.sweeps.choices import decodable, lines_around, widths_of
from viewsplice.sweeps.curves import Curve
from viewsplice.views import Views

DATA = linear_gaussian(240, n_features=6, n_shared=2, n_private=(1, 1), random_state=0)


def estimator(**params) -> SPLICE:
    training = TrainConfig(epochs=2, batch_size=40, restart_passes=1)
    return SPLICE(networks=MLPNetworks((16,)), training=training, **{"geometry": None, "n_private": 1, **params})


def planted(self, choice, fold, views) -> dict:
    """Stand in for a fit: needs 2 shared dimensions, 1 private one of A and 3 of B."""
    needed = (2, 1, 3)
    missing = [max(0, need - width) for need, width in zip(needed, choice, strict=True)]
    noise = 0.001 * fold
    views_r2 = {"A": 0.9 - 0.2 * missing[1] + noise, "B": 0.8 - 0.2 * missing[2] - noise}
    mean = 0.9 - 0.3 * missing[0] + noise
    rebuilt = {"reconstruction": mean, "views": views_r2}
    return {**rebuilt, "prediction": {"A->B": 0.5, "B->A": 0.4}, "trained": rebuilt}


def test_each_width_is_read_off_its_own_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning._Plan, "score", planted)
    found = dimension_scan(DATA.views, widths=(0, 1, 2, 3, 4), model=estimator(n_shared=2))
    assert found.recommended == (2, 1, 3)
    names = [(curve.method, curve.varied, curve.score) for curve in found.curves]
    assert names[:3] == [
        ("SPLICE", "shared width", "reconstruction R², mean over views"),
        ("SPLICE", "private width of A", "reconstruction R² of A"),
        ("SPLICE", "private width of B", "reconstruction R² of B"),
    ]
    assert [(method, varied) for method, varied, _ in names[3:]] == [("SPLICE", "shared width")] * 2 + [
        ("RRR", "rank")
    ] * 2
    assert found.curves[0].widths.tolist() == [0, 1, 2, 3, 4]
    assert found.curves[0].scores.shape == (3, 5)
    assert found.curves[0].sem[2] == pytest.approx(0.001 / np.sqrt(3))
    assert found.reasons[0].startswith("shared width 2: held-out reconstruction R², mean over views by width 0: 0.301")
    assert "Reduced-rank regression needs 2 for A->B, 2 for B->A dimensions" in found.reasons[-1]
    assert "held at 2 shared; 1, 1 private" in found.notes[-1]


def test_a_small_scan_in_earnest_is_kept_and_turns_into_json(tmp_path) -> None:
    arguments = {"widths": (0, 1), "n_folds": 2, "model": estimator(n_shared=1)}
    first = dimension_scan(*DATA.views.arrays.values(), **arguments, sweep=Sweep(folder=tmp_path))
    # One fit to all rows, (0 1 1), (1 1 1), (1 0 1), (1 1 0) on two folds each, and RRR.
    assert len(list(tmp_path.iterdir())) == 1 + 4 * 2 + 1
    content = json.loads(first.to_json())
    assert set(content) == {"curves", "recommended", "reasons", "spectra", "notes"}
    assert content["recommended"] == list(first.recommended)
    assert content["curves"][0]["widths"] == [0, 1]
    seen = []
    again = dimension_scan(DATA.views, **arguments, sweep=Sweep(folder=tmp_path, on_done=seen.append))
    assert again.to_json() == first.to_json()
    assert seen == []
    changed = Views({"A": DATA.views["A"] + 1, "B": DATA.views["B"]})
    dimension_scan(changed, **arguments, sweep=Sweep(folder=tmp_path, on_done=seen.append))
    assert len(seen) == 10


def test_a_view_must_stay_decodable() -> None:
    lines = lines_around((1, 0, 2), (0, 1, 9), DATA.views)
    assert lines[0] == [(1, 0, 2), (6, 0, 2)]  # without a shared space nothing would rebuild A
    assert lines[1] == [(1, 0, 2), (1, 1, 2), (1, 6, 2)]  # at most as many as features
    assert lines_around((1, 0, 2), None, DATA.views) == [
        [(1, 0, 2), (2, 0, 2)],
        [(1, 0, 2), (1, 1, 2), (1, 2, 2)],
        [(1, 0, 0), (1, 0, 1), (1, 0, 2), (1, 0, 3), (1, 0, 4)],
    ]
    found = {"A->B": 0, "B->A": 0, "A": 0, "B": 1}
    assert widths_of(found, DATA.views) == (1, 0, 1)
    assert widths_of({**found, "A": 2}, DATA.views) == (0, 2, 1)


def test_folds_of_a_series_are_runs_with_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}

    def watch(self, choice, fold, views):
        seen[fold] = self.splits[fold]
        return planted(self, choice, fold, views)

    rng = np.random.default_rng(0)
    walk = rng.normal(size=(300, 10)).cumsum(axis=0) * 0.1 + rng.normal(size=(300, 10))
    monkeypatch.setattr(scanning._Plan, "score", watch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dimension_scan(walk[:, :6], walk[:, 6:], widths=(1, 2), model=estimator(n_shared=2))
    for train, test in seen.values():
        assert (np.diff(test) == 1).all()
        assert np.abs(train[:, None] - test).min() > 1
    assert "runs of successive rows, with gaps of" in found.notes[1]


def test_groups_stay_whole_and_many_rows_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watch(self, choice, fold, views):
        train, test = self.splits[fold]
        seen.append((len(views), set(views.groups[train]) & set(views.groups[test])))
        return planted(self, choice, fold, views)

    monkeypatch.setattr(scanning._Plan, "score", watch)
    monkeypatch.setattr(scanning, "_MOST_ROWS", 120)
    groups = np.repeat(np.arange(24), 10)
    found = dimension_scan(DATA.views, groups=groups, widths=(1, 2), model=estimator(n_shared=2))
    assert all(size == 120 and not divided for size, divided in seen)
    assert found.notes[0] == "120 of 240 rows were used, evenly spread."
    assert found.notes[2].startswith("3 folds: ")
    found = dimension_scan(DATA.views, groups=groups % 4, n_folds=9, widths=(1, 2), model=estimator(n_shared=2))
    assert found.notes[2].startswith("2 folds (9 were asked for): ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"widths": (2,)}, "at least two different"),
        ({"n_folds": 3, "groups": [0, *[1, 2] * 120][:240]}, "some leave 1 row to judge by"),
        ({"n_folds": 1}, "n_folds is 1"),
        ({"widths": (-1, 2)}, "widths is -1"),
    ],
)
def test_bad_arguments(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        dimension_scan(DATA.views, **arguments)


def test_what_is_recommended_can_be_fitted() -> None:
    """Each width is chosen alone; where nothing can be told from anything, all of them would be 0."""
    views = Views(DATA.views)
    found, told = decodable((0, 0, 2), views)
    assert found == (0, 1, 2)
    assert told == ["Private width of A is 1 and not 0: with nothing shared, nothing else would rebuild it."]
    check_decodable(dict(zip("AB", found[1:], strict=True)), {"A->B": 0, "B->A": 0})
    assert decodable((1, 0, 0), views) == ((1, 0, 0), [])


def test_noise_is_given_no_shared_dimension_and_widths_that_fit(monkeypatch) -> None:
    def same(self, choice, fold, views):
        scores = {"reconstruction": 0.0, "views": {"A": 0.0, "B": 0.0}}
        return {**scores, "prediction": {"A->B": 0.0, "B->A": 0.0}, "trained": scores}

    monkeypatch.setattr(scanning._Plan, "score", same)
    found = dimension_scan(DATA.views, widths=(0, 1), n_folds=2, model=estimator(n_shared=1, n_private=1))
    assert found.recommended == (0, 1, 1)
    assert found.reasons[-1].startswith("Private width of B is 1 and not 0")


def test_reasons_say_where_evidence_is_weak() -> None:
    curve = Curve("SPLICE", "score", np.array([1, 2]), np.array([[0.1, 0.5], [0.1, 0.5]]), "private width of A")
    reason = scanning._reason(curve, {"A": np.array([1.0, 0.01, 0.0])})
    assert "no larger width was tried" in reason
    assert "1 eigenvalues of A stand out (weak evidence: they differ)" in reason


def reconstruction(held_out: list[float], trained: list[float] | None) -> Curve:
    """Return a curve of two folds over the widths 0, 1, 2, 4."""
    twice = [np.array([values, values]) if values is not None else None for values in (held_out, trained)]
    return Curve("SPLICE", "R²", np.array([0, 1, 2, 4]), twice[0], trained=twice[1])


@pytest.mark.parametrize(
    ("held_out", "trained", "expected"),
    [
        # As measured on LGN-V1 with 1,000 trials: two dimensions hold all, and four are easier to learn from few rows.
        ([0.3, 0.876, 0.958, 0.972], [0.3, 0.911, 0.983, 0.987], 2),
        ([0.3, 0.876, 0.958, 0.972], None, 4),
        ([0.3, 0.876, 0.958, 0.972], [0.3, 0.911, 0.970, 0.987], 4),  # worse on the rows fitted to: a dimension lacks
        ([0.3, 0.876, 0.900, 0.972], [0.3, 0.911, 0.983, 0.987], 4),  # too much to be for want of rows
        ([0.3, 0.9, 0.9, 0.9], [0.3, 0.9, 0.95, 0.99], 1),  # noise is learned by heart: new rows decide
        ([0.3, 0.9, 0.9, 0.8], [0.3, 0.5, 0.6, 0.99], 1),  # and where nothing holds both, too
    ],
)
def test_a_width_that_lacks_rows_only_is_enough(held_out, trained, expected) -> None:
    assert reconstruction(held_out, trained).saturates_at == expected


def test_it_is_said_where_rows_are_lacking() -> None:
    curve = reconstruction([0.3, 0.876, 0.958, 0.972], [0.3, 0.911, 0.983, 0.987])
    expected = "4 gains 0.014 on new rows but 0.004 on those fitted to, so that rows are lacking and not dimensions"
    assert expected in scanning._reason(curve, {})
    assert "lacking" not in scanning._reason(reconstruction([0.3, 0.9, 0.9, 0.9], [0.3, 0.9, 0.9, 0.9]), {})
    assert curve.to_dict()["held_out_saturates_at"] == 4


@pytest.mark.slow
def test_lgn_v1_needs_two_shared_dimensions_and_one_private_each() -> None:
    from viewsplice.datasets import lgn_v1

    data = lgn_v1(2_000, random_state=0)
    found = dimension_scan(data.views, n_folds=2)
    assert found.recommended == (2, 1, 1)
    ranks = [curve for curve in found.curves if curve.method == "RRR"]
    assert min(curve.within_one_sem for curve in ranks) >= 10
