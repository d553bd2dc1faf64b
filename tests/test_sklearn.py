"""scikit-learn's own tools on SPLICE and Views."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_score,
    cross_validate,
    permutation_test_score,
    train_test_split,
)
from sklearn.pipeline import FunctionTransformer, Pipeline, make_pipeline

from viewsplice import SPLICE, GeometryConfig, MLPNetworks, TrainConfig, Views

Pair = tuple[NDArray[np.float64], ...]


def tiny(n_shared: Any = 1, n_private: Any = 1, **changes: Any) -> SPLICE:
    settings: dict[str, Any] = {
        "recipe": "paper",
        "networks": MLPNetworks((16,)),
        "training": TrainConfig(epochs=1, batch_size=50, restart_passes=1),
        "geometry": None,
        "random_state": 0,
    }
    return SPLICE(n_shared, n_private, **{**settings, **changes})


def test_the_constructor_has_the_documented_parameters() -> None:
    assert SPLICE().get_params() == {
        "n_shared": "auto",
        "n_private": "auto",
        "recipe": "auto",
        "networks": None,
        "training": None,
        "geometry": "default",
        "lambda_dis": 1.0,
        "device": "auto",
        "random_state": None,
    }


def test_clone_copies_settings_and_not_the_fit(two_views: Pair) -> None:
    model = tiny(n_private=(0, 1), geometry=GeometryConfig(n_landmarks=5, n_neighbors=12, grow_by=1)).fit(*two_views)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "fitted_")
    assert not hasattr(copy, "history_")
    np.testing.assert_array_equal(
        copy.fit(*two_views).transform(*two_views).to_array(), model.transform(*two_views).to_array()
    )


def test_set_params_takes_effect_at_the_next_fit(two_views: Pair) -> None:
    model = tiny().fit(*two_views)
    assert model.set_params(n_shared=3, lambda_dis=0.5) is model
    assert model.n_shared_ == {"A->B": 1, "B->A": 1}
    assert model.fit(*two_views).n_shared_ == {"A->B": 3, "B->A": 3}
    with pytest.raises(ValueError, match="Invalid parameter 'width'"):
        model.set_params(width=3)


def test_html_and_text_show_the_settings() -> None:
    assert "n_shared=1" in repr(tiny())
    assert "SPLICE" in tiny()._repr_html_()


def test_cross_validation_on_views_equals_that_on_two_arrays(two_views: Pair) -> None:
    folds = KFold(3, shuffle=True, random_state=0)
    on_views = cross_val_score(tiny(), Views(two_views), cv=folds, error_score="raise")
    on_arrays = cross_val_score(tiny(), *two_views, cv=folds, error_score="raise")
    np.testing.assert_array_equal(on_views, on_arrays)
    a, b = two_views
    train, test = next(iter(folds.split(a)))
    assert on_views[0] == tiny().fit(a[train], b[train]).score(a[test], b[test])


def test_group_folds_keep_groups_together(two_views: Pair) -> None:
    groups = np.repeat(np.arange(8), 30)
    views = Views(two_views, groups=groups)
    found = cross_validate(
        tiny(),
        views,
        cv=GroupKFold(2),
        groups=views.groups,
        return_estimator=True,
        return_indices=True,
        error_score="raise",
    )
    assert len(found["test_score"]) == 2
    for model, rows, held_out in zip(found["estimator"], *found["indices"].values(), strict=True):
        assert not set(groups[rows]) & set(groups[held_out])
        inner = groups[rows]
        assert not set(inner[model.split_["train"]]) & set(inner[model.split_["validation"]])


def test_train_test_split_takes_rows_of_all_views(two_views: Pair) -> None:
    train, test = train_test_split(Views(two_views, groups=np.arange(240)), test_size=0.25, random_state=0)
    assert (len(train), len(test)) == (180, 60)
    np.testing.assert_array_equal(test["B"], two_views[1][test.groups])


def test_grid_search_over_widths(two_views: Pair) -> None:
    search = GridSearchCV(
        tiny(), {"n_shared": np.array([1, 2]), "n_private": [(0, 1)]}, cv=2, error_score="raise", refit=True
    )
    search.fit(Views(two_views))
    assert search.best_params_["n_shared"] in (1, 2)
    assert search.best_estimator_.n_private_ == {"A": 0, "B": 1}
    assert search.transform(Views(two_views)).private["B"].shape == (240, 1)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_grid_search_scored_by_the_objective(two_views: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewsplice.training.fresh._LEAST_STEPS", 2)
    search = GridSearchCV(
        tiny(),
        {"lambda_dis": [0.1, 1.0]},
        scoring=lambda model, X, y=None: -model.objective(X),
        cv=2,
        refit=False,
        error_score="raise",
    )
    search.fit(Views(two_views))
    assert (search.cv_results_["mean_test_score"] < 0).all()


class Halve(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    def fit(self, X: Views, y: Any = None) -> Halve:
        return self

    def transform(self, X: Views) -> Views:
        return Views({name: x / 2 for name, x in X.arrays.items()}, groups=X.groups)


def test_last_step_of_a_pipeline(two_views: Pair) -> None:
    views = Views(two_views)
    pipeline = Pipeline([("halve", Halve()), ("splice", tiny())])
    latents = pipeline.fit_transform(views)
    np.testing.assert_array_equal(pipeline.transform(views).to_array(), latents.to_array())
    expected = tiny().fit_transform(*(x / 2 for x in two_views))
    np.testing.assert_array_equal(latents.to_array(), expected.to_array())
    assert pipeline.score(views) == pipeline["splice"].score(Halve().transform(views))
    assert pipeline.set_params(splice__n_shared=2)["splice"].n_shared == 2


def test_first_step_of_a_pipeline_by_way_of_one_array(two_views: Pair) -> None:
    target = two_views[0][:, 0]
    to_array = FunctionTransformer(lambda latents: latents.to_array())
    pipeline = make_pipeline(tiny(), to_array, LinearRegression()).fit(Views(two_views), target)
    assert pipeline.predict(Views(two_views)).shape == (240,)


def test_permutation_test_breaks_the_pairing(two_views: Pair) -> None:
    score, null, p_value = permutation_test_score(tiny(), *two_views, n_permutations=2, cv=KFold(2), random_state=0)
    assert np.isfinite([score, *null]).all()
    assert 0 < p_value <= 1


@pytest.mark.parametrize("is_fitted", [False, True])
def test_models_travel_between_processes(two_views: Pair, is_fitted: bool) -> None:
    model = tiny(geometry=GeometryConfig(n_landmarks=5, n_neighbors=12, grow_by=1))
    if is_fitted:
        model.fit(*two_views)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.get_params() == model.get_params()
    if is_fitted:
        np.testing.assert_array_equal(copy.predict("B", two_views[0]), model.predict("B", two_views[0]))
        assert copy.history_ == model.history_
