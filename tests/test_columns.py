"""ColumnSPLICE: scikit-learn's whole suite of checks, and SPLICE's own results in one matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from viewsplice import SPLICE, AutocorrelationWarning, ColumnSPLICE, MLPNetworks, TrainConfig
from viewsplice.columns import split_columns

Pair = tuple[NDArray[np.float64], ...]

SETTINGS: dict[str, Any] = {
    "n_shared": 1,
    "n_private": 1,
    "recipe": "paper",
    "networks": MLPNetworks((4,)),
    "training": TrainConfig(epochs=2, batch_size=8, restart_passes=1, n_msr=1),
    "geometry": None,
    "random_state": 0,
}
COLUMNS = [list(range(12)), list(range(12, 21))]


@parametrize_with_checks([ColumnSPLICE(**SETTINGS)])
def test_checks_of_scikit_learn(estimator: ColumnSPLICE, check: Callable[[ColumnSPLICE], None]) -> None:
    state = np.random.get_state()  # noqa: NPY002 - some checks seed it themselves
    with warnings.catch_warnings():
        # One check fits the sorted irises, of which the warning is right.
        warnings.simplefilter("ignore", AutocorrelationWarning)
        check(estimator)
    np.random.set_state(state)  # noqa: NPY002


def test_results_are_those_of_splice(two_views: Pair) -> None:
    X = np.hstack(two_views)
    model, splice = ColumnSPLICE(COLUMNS, **SETTINGS).fit(X), SPLICE(**SETTINGS).fit(*two_views)
    np.testing.assert_array_equal(model.transform(X), splice.transform(*two_views).to_array())
    assert model.score(X) == pytest.approx(splice.score(*two_views), abs=1e-12)
    assert model.splice_.history_ == splice.history_
    assert model.n_features_in_ == 21
    assert model.get_feature_names_out().tolist() == ["A[0]", "B[0]", "A->B[0]", "B->A[0]"]


def test_groups_validation_and_callbacks_are_handed_on(two_views: Pair) -> None:
    X, groups, seen = np.hstack(two_views), np.arange(240) // 8, []
    model = ColumnSPLICE(COLUMNS, **SETTINGS).fit(X, groups=groups, validation=0.25, callbacks=[seen.append])
    assert len(seen) == 2
    parts = [set(groups[model.splice_.split_[part]]) for part in ("train", "validation")]
    assert not parts[0] & parts[1]
    assert len(parts[1]) == 8


def test_columns_by_name_in_a_table(two_views: Pair) -> None:
    table = pd.DataFrame(np.hstack(two_views), columns=[*(f"a{i}" for i in range(12)), *(f"b{i}" for i in range(9))])
    model = ColumnSPLICE({"lgn": ["a3", "a1"], "v1": ["b0", "b5", "b2"]}, **SETTINGS).set_output(transform="pandas")
    latents = model.fit_transform(table)
    assert {name: columns.tolist() for name, columns in model.columns_.items()} == {"lgn": [3, 1], "v1": [12, 17, 14]}
    assert latents.columns.tolist() == ["lgn[0]", "v1[0]", "lgn->v1[0]", "v1->lgn[0]"]
    assert latents.index.equals(table.index)
    expected = SPLICE(**SETTINGS).fit_transform({"lgn": two_views[0][:, [3, 1]], "v1": two_views[1][:, [0, 5, 2]]})
    np.testing.assert_array_equal(latents.to_numpy(), expected.to_array())


def test_pipelines_and_searches_need_nothing_else(two_views: Pair) -> None:
    X, y = np.hstack(two_views), two_views[0][:, 0]
    pipeline = make_pipeline(StandardScaler(), ColumnSPLICE(COLUMNS, **SETTINGS), Ridge())
    assert cross_val_score(pipeline, X, y, cv=2, error_score="raise").shape == (2,)
    search = GridSearchCV(pipeline, {"columnsplice__n_shared": [1, 2]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_estimator_["columnsplice"].splice_.n_shared_["A->B"] in (1, 2)
    assert clone(pipeline["columnsplice"]).get_params() == pipeline["columnsplice"].get_params()


def test_default_halves() -> None:
    for n_columns, expected in ((2, [[0], [1]]), (5, [[0, 1, 2], [3, 4]])):
        assert [found.tolist() for found in split_columns(None, n_columns, None).values()] == expected


@pytest.mark.parametrize(
    ("columns", "kind", "message"),
    [
        ([[0, 1]], ValueError, "columns has 1 views; expected two or more"),
        ([[0, 1], [1]], ValueError, "columns names column 1 more than once; expected every column in one view"),
        ([[0, 0], [1]], ValueError, "columns names column 0 more than once"),
        ([[0], [4]], ValueError, "columns of view 'B' has 4 to 4; expected 0 to 3"),
        ([[0], [-1]], ValueError, "columns of view 'B' has -1 to -1; expected 0 to 3"),
        ([[0], []], TypeError, r"columns of view 'B' is \[\]; expected column numbers, or names"),
        ([[0], [1.0]], TypeError, r"columns of view 'B' is \[1.0\]; expected column numbers"),
        ([[0], [True]], TypeError, r"columns of view 'B' is \[True\]"),
        ([[0], ["b"]], TypeError, r"columns of view 'B' is \['b'\]; expected column numbers"),
        ("ab", TypeError, "columns is 'ab'; expected one list of columns per view, or a dict by view"),
        (3, TypeError, "columns is 3; expected one list"),
    ],
)
def test_columns_that_cannot_be(columns: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        split_columns(columns, 4, None)


def test_names_that_a_table_does_not_have() -> None:
    names = np.array(["a", "b", "c"], dtype=object)
    with pytest.raises(ValueError, match="columns of view 'B' has 'd', which is no column of the table"):
        split_columns([["a"], ["d"]], 3, names)
    assert split_columns({"x": "b", "y": [0]}, 3, names)["x"].tolist() == [1]
