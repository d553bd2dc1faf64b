"""Recipe "auto" where a line predicts better than the scout: it scouts again, and keeps what predicts better."""

import warnings

import numpy as np
import pytest

import viewsplice.recipes.auto as recipe
from viewsplice import SPLICE, GeometryWarning, ResidualNetworks, TrainConfig
from viewsplice.recipes.problem import Choice

TRAINING = TrainConfig(epochs=3, scout_epochs=3, regression_epochs=1)
SMALL = ResidualNetworks(width=32, n_blocks=1, n_frequencies=8)


@pytest.fixture(autouse=True)
def _rough_geometry_is_no_surprise():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeometryWarning)
        yield


@pytest.fixture
def _a_line_is_ahead(monkeypatch):
    monkeypatch.setattr(
        recipe, "check_prediction", lambda *_: {"linear/A": Choice(0.1, "a line is ahead", is_weak=True)}
    )


def told(monkeypatch, before, after):
    """Let the two scouts predict these shares of the variance."""
    shares = iter([before, after])
    monkeypatch.setattr(recipe, "predicted_share", lambda *_: next(shares))


def fit(views, **changes):
    return SPLICE(**{"networks": SMALL, "training": TRAINING, "random_state": 0, **changes}).fit(*views)


def stages(model):
    return list(dict.fromkeys(row["stage"] for row in model.history_))


@pytest.mark.usefixtures("_a_line_is_ahead")
def test_a_scout_that_withstands_noise_is_kept_if_it_predicts_better(two_views, monkeypatch):
    told(monkeypatch, 0.01, 0.05)
    model = fit(two_views)
    assert stages(model) == ["scout", "scout-noise", "regression", "compact"]
    assert (model.choices_["lambda_dis"].value, model.choices_["input_noise"].value) == (100.0, 3.0)
    assert "told 1.0% of the variance" in model.choices_["lambda_dis"].reason
    assert "they told 5.0%" in model.choices_["lambda_dis"].reason
    assert "View A: a line is ahead." in model.notes_
    told(monkeypatch, 0.01, 0.05)
    noisier = fit(two_views, training=TrainConfig(epochs=3, scout_epochs=3, regression_epochs=1, input_noise=5.0))
    assert noisier.choices_["input_noise"].value == 5.0


@pytest.mark.usefixtures("_a_line_is_ahead")
def test_otherwise_the_first_scout_is_kept_with_the_same_result(two_views, monkeypatch):
    told(monkeypatch, 0.05, 0.05)
    model = fit(two_views)
    assert model.choices_["lambda_dis"].value == 1.0
    assert "input_noise" not in model.choices_
    monkeypatch.setattr(recipe, "check_prediction", lambda *_: {})
    plain = fit(two_views)
    assert "lambda_dis" not in plain.choices_
    assert stages(plain) == ["scout", "regression", "compact"]
    for space, z in plain.transform(*two_views).spaces().items():
        np.testing.assert_array_equal(z, model.transform(*two_views).spaces()[space])


@pytest.mark.usefixtures("_a_line_is_ahead")
def test_a_weight_that_was_set_stays_and_so_does_a_fit_without_private_spaces(two_views):
    for changes in ({"lambda_dis": 2.0}, {"n_private": 0}, {"geometry": None, "n_shared": 1, "n_private": 1}):
        model = fit(two_views, **changes)
        assert "scout-noise" not in stages(model)
        assert "lambda_dis" not in model.choices_


@pytest.mark.usefixtures("_a_line_is_ahead")
def test_after_much_disentangling_no_private_space_is_no_finding(two_views, monkeypatch):
    told(monkeypatch, 0.01, 0.05)
    absent = {
        "A": Choice(0, "nothing private found"),
        "B": Choice(1, "one"),
        "A->B": Choice(1, ""),
        "B->A": Choice(1, ""),
    }
    monkeypatch.setattr(recipe, "choose_widths", lambda *_: absent)
    model = fit(two_views)
    assert model.choices_["n_private/A"].is_weak
    assert model.choices_["n_private/A"].reason.endswith("lambda_dis 100 may have removed what is private, too")
    assert not model.choices_["n_private/B"].is_weak


@pytest.mark.slow
def test_weak_signals_in_strong_noise_are_found_as_a_line_finds_them():
    """Two shared and two private dimensions per view, with 15 % and 20 % of the variance beside white noise."""
    generator = np.random.default_rng(0)
    shared = generator.standard_normal((2000, 2))
    views = {}
    for name in "AB":
        private = generator.standard_normal((2000, 2))
        weights = 0.35 * generator.standard_normal((2, 30)), 0.4 * generator.standard_normal((2, 30))
        views[name] = shared @ weights[0] + private @ weights[1] + generator.standard_normal((2000, 30))
    model = SPLICE(random_state=0).fit({name: x[:1500] for name, x in views.items()})
    assert model.choices_["lambda_dis"].value == 100.0
    # A line with as many dimensions as there are is the best that can be done.
    before, after = ({name: x[rows] for name, x in views.items()} for rows in (slice(1500), slice(1500, None)))
    for target, other in (("A", "B"), ("B", "A")):
        x, y, new = before[other], before[target], after[other]
        weights = np.linalg.solve(x.T @ x + 300 * np.eye(30), x.T @ y)
        spread = after[target].var(axis=0).sum()
        line, ours = (
            1 - np.square(after[target] - guess).sum() / spread / 500
            for guess in (new @ weights, model.predict(target, {other: new}))
        )
        assert line > 0.05
        assert ours > 0.6 * line
