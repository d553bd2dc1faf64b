"""What all baselines owe to SPLICE: the same input forms, the same errors, the same rows, the same shapes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from viewsplice import SPLICE, MLPNetworks, TrainConfig, Views
from viewsplice.baselines import CCA, RRR
from viewsplice.metrics import reconstruction_r2

Pair = tuple[NDArray[np.float64], ...]
BASELINES = [RRR, CCA]

pytestmark = pytest.mark.parametrize("method", BASELINES)


@pytest.fixture
def splice(two_views: Pair) -> SPLICE:
    training = TrainConfig(epochs=1, batch_size=2, restart_passes=1)
    return SPLICE(1, 1, recipe="paper", networks=MLPNetworks((4,)), training=training, geometry=None, random_state=0)


def with_value(x: NDArray[np.float64], value: float) -> NDArray[np.float64]:
    changed = x.copy()
    changed[17, 1] = value
    return changed


def message_of(call: Callable[[], Any]) -> tuple[type[Exception], str]:
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda a, b: (a, b[:200]), "different numbers of rows"),
        (lambda a, b: (with_value(a, np.nan), b), "'A' has 1 non-finite value"),
        (lambda a, b: (a, with_value(b, -np.inf)), "'B' has 1 non-finite value"),
        (lambda a, b: (np.full_like(a, 0.1), b), "view 'A' is constant"),
        (lambda a, b: (a, b[:, 0]), "expected the second view"),
        (lambda a, b: (a,), "got one view, 'A'"),
        (lambda a, b: (a[:, :0], b), "is empty"),
        (lambda a, b: (a.astype(str), b), "expected numeric data"),
        (lambda a, b: (a[:1], b[:1]), "only 1 row is left for training"),
        (lambda a, b: ({"A": a, "a.b": b},), "is not allowed"),
        (lambda a, b: ([],), "got no views"),
    ],
)
def test_data_that_cannot_be_give_the_errors_of_splice(
    method: Any, splice: SPLICE, two_views: Pair, spoil: Callable[..., tuple[Any, ...]], expected: str
) -> None:
    given, model = spoil(*two_views), method(1, random_state=0)
    kind, message = message_of(lambda: model.fit(*given))
    assert (kind, message) == message_of(lambda: splice.fit(*given))
    assert expected in message
    assert not vars(model).keys() - model.get_params().keys()


@pytest.mark.parametrize(
    "options",
    [
        {"validation": 1.0},
        {"validation": "half"},
        {"validation": [0, 999]},
        {"validation": np.arange(240)},
        {"validation": {"A": np.zeros((3, 12))}},
        {"groups": np.zeros(3)},
        {"groups": np.zeros(240)},
        {"groups": np.arange(240) // 2, "validation": [0]},
    ],
)
def test_splits_that_cannot_be_give_the_errors_of_splice(
    method: Any, splice: SPLICE, two_views: Pair, options: dict[str, Any]
) -> None:
    found = message_of(lambda: method(1, random_state=0).fit(*two_views, **options))
    assert found == message_of(lambda: splice.fit(*two_views, **options))


@pytest.mark.parametrize("n_shared", [-1, 10, 1.5, True, "many", {"A->B": 1}, {"A->B": 1, "B->A": 1, "A->C": 1}])
def test_widths_that_cannot_be_give_the_errors_of_splice(
    method: Any, splice: SPLICE, two_views: Pair, n_shared: Any
) -> None:
    found = message_of(lambda: method(n_shared, random_state=0).fit(*two_views))
    assert found == message_of(lambda: splice.set_params(n_shared=n_shared).fit(*two_views))


@pytest.mark.parametrize("random_state", [-1, "seed", True])
def test_seeds_that_cannot_be_give_the_errors_of_splice(
    method: Any, splice: SPLICE, two_views: Pair, random_state: Any
) -> None:
    found = message_of(lambda: method(1, random_state=random_state).fit(*two_views))
    assert found == message_of(lambda: splice.set_params(random_state=random_state).fit(*two_views))


def test_new_data_that_cannot_be_give_the_errors_of_splice(method: Any, splice: SPLICE, two_views: Pair) -> None:
    a, b = two_views
    calls: list[tuple[str, Callable[[Any], Any]]] = [
        ("unknown view 'C'", lambda model: model.transform({"A": a, "C": b})),
        ("rows of shape (5,)", lambda model: model.transform(a[:, :5])),
        ("got 3 views", lambda model: model.transform([a, b, b])),
        ("non-finite", lambda model: model.transform(with_value(a, np.nan))),
        ("different numbers of rows", lambda model: model.transform(a, b[:5])),
        ("view 'B' is missing", lambda model: model.reconstruct(a)),
        ("view 'A' is missing", lambda model: model.score({"B": b})),
        ("unknown view 'C'", lambda model: model.predict("C", a)),
        ("include the target 'B'", lambda model: model.predict("B", [a, b])),
    ]
    splice.fit(a, b)
    model = method(1, random_state=0).fit(a, b)
    for expected, call in calls:
        found = message_of(lambda call=call: call(model))
        assert found == message_of(lambda call=call: call(splice))
        assert expected in found[1]


def test_too_few_rows_for_the_width(method: Any, two_views: Pair) -> None:
    a, b = (x[:6] for x in two_views)
    with pytest.raises(ValueError, match="got 5 training rows; a latent space of width 5 needs at least 6: add rows"):
        method(5).fit(a, b)


def test_not_fitted(method: Any, two_views: Pair) -> None:
    for call in (lambda m: m.transform(*two_views), lambda m: m.predict("B", two_views[0])):
        with pytest.raises(NotFittedError):
            call(method())


def test_the_rows_of_splice_are_learned_from(method: Any, splice: SPLICE, two_views: Pair) -> None:
    groups = np.arange(240) // 4
    model, other = method(1, random_state=0), splice.fit(*two_views, groups=groups)
    model.fit(*two_views, groups=groups)
    for part in ("train", "validation"):
        np.testing.assert_array_equal(model.split_[part], other.split_[part])
    # Rows that are held out leave no trace.
    changed = [x.copy() for x in two_views]
    for x in changed:
        x[model.split_["validation"]] += 100 * np.random.default_rng(0).normal(size=x.shape[1])
    again = clone(model).fit(*changed, groups=groups)
    np.testing.assert_array_equal(model.transform(*two_views).to_array(), again.transform(*two_views).to_array())


def test_forms_of_input_agree(method: Any, two_views: Pair) -> None:
    a, b = two_views
    expected = method(2, random_state=0).fit_transform(a, b, validation=0.2).to_array()
    for form in ([a, b], (a, b), {"A": a, "B": b}, Views([a, b])):
        found = method(2, random_state=0).fit(form, validation=0.2).transform(form)
        np.testing.assert_array_equal(found.to_array(), expected)
    named = method(2, random_state=0).fit({"lgn": a, "v1": b})
    assert named.view_names_ == ("lgn", "v1")
    assert named.n_features_in_ == {"lgn": 12, "v1": 9}
    assert list(named.transform({"v1": b}).shared) == ["v1->lgn"]


def test_validation_may_be_views(method: Any, two_views: Pair) -> None:
    train, held_out = ([x[rows] for x in two_views] for rows in (slice(0, 200), slice(200, 240)))
    model = method("auto", random_state=0).fit(train, validation=held_out)
    same = method("auto", random_state=0).fit(*two_views, validation=np.arange(200, 240))
    np.testing.assert_array_equal(model.transform(train).to_array(), same.transform(train).to_array())
    assert model.n_shared_ == same.n_shared_


def test_spaces_and_shapes(method: Any, two_views: Pair) -> None:
    a, b = two_views
    model = method({"A->B": 3, "B->A": 0}, random_state=0).fit(a, b.reshape(240, 3, 3))
    assert model.n_shared_ == {"A->B": 3, "B->A": 0}
    assert model.n_private_ == {"A": 0, "B": 0}
    latents = model.transform(a, b.reshape(240, 3, 3))
    assert {name: space.shape for name, space in latents.spaces().items()} == {
        "A": (240, 0),
        "B": (240, 0),
        "A->B": (240, 3),
        "B->A": (240, 0),
    }
    alone = model.transform(a)
    assert (list(alone.private), list(alone.shared)) == (["A"], ["A->B"])
    assert model.predict("B", a).shape == (240, 3, 3)
    # With nothing shared, the mean of the training rows is all there is to say.
    mean = a[model.split_["train"]].mean(axis=0)
    np.testing.assert_allclose(model.predict("A", {"B": b.reshape(240, 3, 3)}), np.tile(mean, (240, 1)))


def test_reconstruction_is_prediction_and_gives_the_score(method: Any, two_views: Pair) -> None:
    a, b = two_views
    model = method(2, random_state=0).fit(a, b)
    rebuilt = model.reconstruct(a, b)
    np.testing.assert_array_equal(rebuilt["B"], model.predict("B", {"A": a}))
    np.testing.assert_array_equal(rebuilt["A"], model.predict("A", {"B": b}))
    expected = (reconstruction_r2(a, rebuilt["A"]) + reconstruction_r2(b, rebuilt["B"])) / 2
    assert model.score(a, b) == pytest.approx(expected)
    assert 0 < expected < 1


def test_a_decoder_rebuilds_from_the_latents(method: Any, two_views: Pair) -> None:
    a, b = two_views
    model = method(2, random_state=0).fit(a, b)
    shared = model.transform(a, b).shared["A->B"]
    found = model.maps_["A->B"].target_mean + shared @ model.maps_["A->B"].decoder
    np.testing.assert_allclose(found, model.predict("B", a))


def test_single_precision_goes_in_and_out(method: Any, two_views: Pair) -> None:
    small = [x.astype(np.float32) for x in two_views]
    model = method(2, random_state=0).fit(*small)
    assert {x.dtype for x in model.reconstruct(*small).values()} == {np.dtype(np.float32)}
    # Only the rounding of the data differs; the arithmetic is in double precision.
    exact = method(2, random_state=0).fit(*(x.astype(np.float64) for x in small))
    np.testing.assert_array_equal(model.transform(*small).to_array(), exact.transform(*small).to_array())
    assert model.score(*small) == pytest.approx(method(2, random_state=0).fit(*two_views).score(*two_views), abs=1e-5)


def test_constant_columns_change_nothing(method: Any, two_views: Pair) -> None:
    a, b = two_views
    wide = np.hstack([np.full((240, 1), 1e7 + 0.1), a, np.full((240, 2), 0.3)])
    options: dict[str, Any] = {"regularization": 0.0} if method is CCA else {}
    model, plain = method(2, random_state=0, **options), method(2, random_state=0, **options)
    model.fit(wide, b)
    plain.fit(a, b)
    np.testing.assert_allclose(
        np.abs(model.transform(wide, b).to_array()), np.abs(plain.transform(a, b).to_array()), atol=1e-8
    )
    # What did not vary in fit is ignored when it does.
    moved = wide.copy()
    moved[:, [0, 13, 14]] += [5.0, 1.0, 2.0]
    np.testing.assert_allclose(model.predict("B", moved), plain.predict("B", a), atol=1e-8)
    np.testing.assert_allclose(model.reconstruct(wide, b)["A"][:, 0], 1e7 + 0.1)


def test_a_seed_gives_the_same_bits_and_fit_forgets_the_last_fit(method: Any, two_views: Pair) -> None:
    a, b = two_views
    model = method(random_state=5).fit(a, b)
    first = model.transform(a, b).to_array()
    np.testing.assert_array_equal(method(random_state=5).fit(a, b).transform(a, b).to_array(), first)
    model.fit(a[:100], b[:100]).fit(a, b)
    np.testing.assert_array_equal(model.transform(a, b).to_array(), first)
    with pytest.raises(ValueError, match="non-finite"):
        model.fit(a, with_value(b, np.nan))
    np.testing.assert_array_equal(model.transform(a, b).to_array(), first)


def test_scikit_learn_holds_it(method: Any, two_views: Pair) -> None:
    model = method({"A->B": 2, "B->A": 1}, random_state=3)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(n_shared=1).n_shared == 1
    views = Views(two_views, groups=np.arange(240) // 6)
    scores = cross_val_score(method(2, random_state=0), views, cv=GroupKFold(3), groups=views.groups)
    assert scores.shape == (3,)
    assert np.all(scores > 0)
    search = GridSearchCV(method(random_state=0), {"n_shared": [0, 2]}, cv=3).fit(views)
    assert search.best_params_ == {"n_shared": 2}
    fitted = method(1, random_state=0).fit(views)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(views).to_array(), fitted.transform(views).to_array())
