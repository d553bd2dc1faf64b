"""What all baselines with networks owe to SPLICE: input forms, errors, rows, shapes, seeds, callbacks, restarts."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sklearn.utils.estimator_checks as checks
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from torch import nn

from viewsplice import SPLICE, MLPNetworks, RestartWarning, TrainConfig, TrainingDivergedError, Views
from viewsplice.baselines import DCCAE, DMVAE, AdversaryConfig, DeepCCA, Karakasis, Lyu
from viewsplice.baselines.coders import Coders
from viewsplice.metrics import reconstruction_r2

Pair = tuple[NDArray[np.float64], ...]
CODES_ONLY = [DeepCCA, DCCAE, Karakasis]
WITH_PRIVATE = [Lyu, DMVAE]
METHODS = [*CODES_ONLY, *WITH_PRIVATE]
SHORT = TrainConfig(epochs=2, batch_size=32)

each_method = pytest.mark.parametrize("method", METHODS)
each_with_private = pytest.mark.parametrize("method", WITH_PRIVATE)


def make(method: Any, n_shared: Any = 1, **changes: Any) -> Any:
    settings: dict[str, Any] = {"networks": MLPNetworks((8,)), "training": SHORT, "random_state": 0, **changes}
    if method is Lyu:
        settings["adversary"] = AdversaryConfig((8,), rows=100, n_steps=1, fresh_steps=2)
    return method(n_shared, **settings)


@pytest.fixture
def splice() -> SPLICE:
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


# The errors of SPLICE


@each_method
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
    given, model = spoil(*two_views), make(method)
    kind, message = message_of(lambda: model.fit(*given))
    assert (kind, message) == message_of(lambda: splice.fit(*given))
    assert expected in message
    assert not vars(model).keys() - model.get_params().keys()


@each_method
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
    found = message_of(lambda: make(method).fit(*two_views, **options))
    assert found == message_of(lambda: splice.fit(*two_views, **options))


@each_method
@pytest.mark.parametrize(
    "changes",
    [
        {"n_shared": -1},
        {"n_shared": 10},
        {"n_shared": 1.5},
        {"n_shared": True},
        {"n_shared": "many"},
        {"n_shared": {"A->B": 1}},
        {"random_state": -1},
        {"random_state": "seed"},
        {"networks": "mlp"},
        {"training": {"epochs": 3}},
        {"device": "abacus"},
    ],
)
def test_settings_that_cannot_be_give_the_errors_of_splice(
    method: Any, splice: SPLICE, two_views: Pair, changes: dict[str, Any]
) -> None:
    found = message_of(lambda: make(method).set_params(**changes).fit(*two_views))
    assert found == message_of(lambda: splice.set_params(**changes).fit(*two_views))


@each_with_private
@pytest.mark.parametrize("n_private", [-1, 13, (1, 1, 1), {"A": 1}, None, (0.5, 1)])
def test_private_widths_that_cannot_be_give_the_errors_of_splice(
    method: Any, splice: SPLICE, two_views: Pair, n_private: Any
) -> None:
    found = message_of(lambda: make(method, n_private=n_private).fit(*two_views))
    assert found == message_of(lambda: splice.set_params(n_private=n_private).fit(*two_views))


@each_method
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
        ("view 'A' is missing", lambda model: model.objective({"B": b})),
        ("unknown view 'C'", lambda model: model.predict("C", a)),
        ("include the target 'B'", lambda model: model.predict("B", [a, b])),
    ]
    splice.fit(a, b)
    model = make(method).fit(a, b)
    for expected, call in calls:
        found = message_of(lambda call=call: call(model))
        assert found == message_of(lambda call=call: call(splice))
        assert expected in found[1]
    with pytest.raises(ValueError, match="view 'B' is missing"):
        model.embed(a)


@each_method
def test_what_these_methods_do_not_have(method: Any, two_views: Pair, three_views: Pair) -> None:
    name = method.__name__
    with pytest.raises(ValueError, match=f"n_shared is 'auto'; {name} expects widths, such as n_shared=2"):
        make(method, "auto").fit(*two_views)
    with pytest.raises(ValueError, match=f"{name} has one shared code per view: expected equal widths"):
        make(method, {"A->B": 1, "B->A": 2}).fit(*two_views)
    with pytest.raises(ValueError, match=r"n_shared is 0|nothing could rebuild it"):
        make(method, 0).fit(*two_views)
    if method in CODES_ONLY:
        with pytest.raises(ValueError, match=rf"got 3 views, \['A', 'B', 'C'\]; {name} expected two"):
            make(method).fit(list(three_views))


@each_method
def test_too_few_rows(method: Any, two_views: Pair) -> None:
    a, b = (x[:20] for x in two_views)
    with pytest.raises(ValueError, match="got 18 training rows; batch_size=32 needs at least 32: add rows or lower"):
        make(method).fit(a, b)
    # Its own settings do with what there is.
    own = make(method, training=TrainConfig(epochs=1)).fit(a, b)
    assert own.training_.batch_size == 10


@each_method
def test_not_fitted(method: Any, two_views: Pair) -> None:
    for call in (
        lambda m: m.transform(*two_views),
        lambda m: m.predict("B", two_views[0]),
        lambda m: m.embed(*two_views),
    ):
        with pytest.raises(NotFittedError):
            call(method())


# Rows, forms and shapes


@each_method
def test_the_rows_of_splice_are_learned_from(method: Any, splice: SPLICE, two_views: Pair) -> None:
    groups = np.arange(240) // 4
    # Without validation terms: what is held out may decide which epoch is the best, but nothing else.
    model = make(method, training=replace(SHORT, keep_best=False))
    model.fit(*two_views, groups=groups)
    splice.fit(*two_views, groups=groups)
    for part in ("train", "validation"):
        np.testing.assert_array_equal(model.split_[part], splice.split_[part])
    changed = [x.copy() for x in two_views]
    for x in changed:
        x[model.split_["validation"]] += np.random.default_rng(0).normal(size=x.shape[1])
    again = clone(model).fit(*changed, groups=groups)
    np.testing.assert_array_equal(model.transform(*two_views).to_array(), again.transform(*two_views).to_array())


@each_method
def test_forms_of_input_agree(method: Any, two_views: Pair) -> None:
    a, b = two_views
    expected = make(method).fit_transform(a, b, validation=0.2).to_array()
    for form in ([a, b], {"A": a, "B": b}, Views([a, b])):
        found = make(method).fit(form, validation=0.2).transform(form)
        np.testing.assert_array_equal(found.to_array(), expected)
    train, held_out = ([x[rows] for x in two_views] for rows in (slice(0, 200), slice(200, 240)))
    apart = make(method).fit(train, validation=held_out)
    same = make(method).fit(*two_views, validation=np.arange(200, 240))
    np.testing.assert_array_equal(apart.transform(train).to_array(), same.transform(train).to_array())
    assert apart.validation_objective_ == same.validation_objective_
    named = make(method).fit({"lgn": a, "v1": b})
    assert named.view_names_ == ("lgn", "v1")
    assert named.n_features_in_ == {"lgn": 12, "v1": 9}
    assert list(named.transform({"v1": b}).shared) == ["v1->lgn"]


@each_method
def test_spaces_and_shapes(method: Any, two_views: Pair) -> None:
    a, b = two_views[0].astype(np.float32), two_views[1].reshape(240, 3, 3)
    own = {"n_private": (0, 2)} if method in WITH_PRIVATE else {}
    model = make(method, {"A->B": 3, "B->A": 3}, **own).fit(a, b)
    width = 2 if method in WITH_PRIVATE else 0
    assert model.n_shared_ == {"A->B": 3, "B->A": 3}
    assert model.n_private_ == {"A": 0, "B": width}
    latents = model.transform(a, b)
    shapes = {"A": (240, 0), "B": (240, width), "A->B": (240, 3), "B->A": (240, 3)}
    assert {name: space.shape for name, space in latents.spaces().items()} == shapes
    alone = model.transform(a)
    assert (list(alone.private), list(alone.shared)) == (["A"], ["A->B"])
    np.testing.assert_array_equal(alone.shared["A->B"], latents.shared["A->B"])
    assert model.embed(a, b).shape == (240, 3)
    for found in (model.reconstruct(a, b)["B"], model.predict("B", {"A": a})):
        assert found.shape == (240, 3, 3)
        assert found.dtype == np.float64
    assert model.reconstruct(a, b)["A"].dtype == np.float32
    # Row by row is the same as all at once.
    single = np.concatenate([model.transform(a[i : i + 1], b[i : i + 1]).to_array() for i in range(5)])
    np.testing.assert_allclose(single, latents[:5].to_array(), atol=1e-5)


@each_method
def test_the_score_is_that_of_the_reconstruction(method: Any, two_views: Pair) -> None:
    a, b = two_views
    model = make(method).fit(a, b)
    rebuilt = model.reconstruct(a, b)
    expected = (reconstruction_r2(a, rebuilt["A"]) + reconstruction_r2(b, rebuilt["B"])) / 2
    assert model.score(a, b) == pytest.approx(expected)


@each_with_private
def test_three_views(method: Any, three_views: Pair) -> None:
    model = make(method, 2, n_private=(1, 0, 2)).fit(list(three_views))
    latents = model.transform(list(three_views))
    assert len(latents.shared) == 6
    np.testing.assert_array_equal(latents.shared["A->B"], latents.shared["A->C"])
    assert {name: z.shape[1] for name, z in latents.private.items()} == {"A": 1, "B": 0, "C": 2}
    assert model.predict("B", {"A": three_views[0], "C": three_views[2]}).shape == (240, 9)
    assert model.embed(list(three_views)).shape == (240, 2)


@each_with_private
def test_recombined_views_are_decoded_from_parts_of_two_rows(method: Any, two_views: Pair) -> None:
    model = make(method, 2).fit(*two_views)
    rebuilt = model.reconstruct(*two_views)
    same = model.recombine(*two_views, shared=[3, 5], private=[3, 5])
    mixed = model.recombine(*two_views, shared=3, private=[3, 5, 8])
    for name in ("A", "B"):
        np.testing.assert_allclose(same[name], rebuilt[name][[3, 5]], atol=1e-6)
        np.testing.assert_allclose(mixed[name][0], rebuilt[name][3], atol=1e-6)
        assert np.ptp(mixed[name], axis=0).max() > 1e-3
    for wrong, message in (
        ({"shared": [1, 2, 3], "private": [1, 2]}, "equally many"),
        ({"shared": 999, "private": 0}, "row n"),
    ):
        with pytest.raises(ValueError, match=message):
            model.recombine(*two_views, **wrong)


@each_with_private
def test_predictions_average_over_stored_private_parts(method: Any, two_views: Pair) -> None:
    a, b = two_views
    model = make(method, 1, n_private=(0, 1)).fit(a, b)
    stored = model.reference_["B"]
    assert stored.shape == (64, 1)
    code = model.transform(a).shared["A->B"]
    draws = [model._decode("B", code, np.tile(z, (240, 1))) for z in stored]
    np.testing.assert_allclose(model.predict("B", a), np.mean(draws, axis=0), atol=1e-6)
    # Without private part there is nothing to average over.
    code = model.transform({"B": b}).shared["B->A"]
    np.testing.assert_allclose(model.predict("A", {"B": b}), model._decode("A", code, np.zeros((240, 0))), atol=1e-6)


# Seeds, history, stopping


@each_method
def test_a_seed_gives_the_same_bits_and_fit_forgets_the_last_fit(method: Any, two_views: Pair) -> None:
    a, b = two_views
    model = make(method, random_state=5).fit(a, b)
    first = model.transform(a, b).to_array()
    again = make(method, random_state=5).fit(a, b)
    np.testing.assert_array_equal(again.transform(a, b).to_array(), first)
    assert again.history_ == model.history_
    assert not np.array_equal(make(method, random_state=6).fit(a, b).transform(a, b).to_array(), first)
    model.fit(a[:100], b[:100]).fit(a, b)
    np.testing.assert_array_equal(model.transform(a, b).to_array(), first)
    with pytest.raises(ValueError, match="non-finite"):
        model.fit(a, with_value(b, np.nan))
    np.testing.assert_array_equal(model.transform(a, b).to_array(), first)


@each_method
def test_history_and_what_ended_it(method: Any, two_views: Pair) -> None:
    model = make(method, training=replace(SHORT, epochs=6)).fit(*two_views)
    assert [row["epoch"] for row in model.history_] == [0, 1, 2, 3, 4, 5]
    assert {(row["stage"], row["attempt"]) for row in model.history_} == {("train", 0)}
    terms = {name for row in model.history_ for name in row} - {"stage", "epoch", "attempt", "fresh/A", "fresh/B"}
    assert {name for name in terms if name.startswith("val/")} == {
        f"val/{name}" for name in terms if "val/" not in name
    }
    assert model.ended_ == "epochs"
    seen = []
    stopped = make(method).fit(*two_views, callbacks=[lambda event: event.epoch == 0, seen.append])
    assert (len(stopped.history_), len(seen), stopped.ended_) == (1, 1, "callback")
    frozen = make(method, training=replace(SHORT, epochs=50, patience=2, learning_rate=1e-12)).fit(*two_views)
    assert len(frozen.history_) < 50
    assert frozen.ended_ == "convergence"
    unjudged = make(method).fit(*two_views, validation=0)
    assert unjudged.validation_objective_ is None
    assert not any(name.startswith("val/") for name in unjudged.history_[-1])


@each_method
def test_bad_callbacks_are_told_before_any_training(method: Any, two_views: Pair) -> None:
    with pytest.raises(TypeError, match="expected a list of functions"):
        make(method).fit(*two_views, callbacks=[lambda event: pytest.fail("trained"), 5])


@each_method
def test_the_best_epoch_is_kept_by_the_methods_own_objective(method: Any, two_views: Pair) -> None:
    a, b = two_views
    model = make(method, training=replace(SHORT, epochs=12, learning_rate=1e-2, keep_best=True)).fit(a, b)
    rows = model.split_["validation"]
    assert model.objective(a[rows], b[rows]) == pytest.approx(model.validation_objective_, rel=1e-4, abs=1e-4)
    with pytest.raises(ValueError, match="objective needs at least"):
        model.objective(a[:1], b[:1])


@each_method
def test_a_fit_that_diverges_starts_over_and_then_says_so(
    method: Any, two_views: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    build = Coders.__init__

    def spoilt(self: Coders, *args: Any) -> None:
        build(self, *args)
        made.append(args[-1])
        if len(made) in spoilt_ones:
            with torch.no_grad():
                next(self.parameters()).fill_(torch.nan)

    monkeypatch.setattr(Coders, "__init__", spoilt)
    spoilt_ones = {1}
    with pytest.warns(RestartWarning, match="diverged or collapsed 1 time and was started over"):
        model = make(method).fit(*two_views)
    assert [row["attempt"] for row in model.history_] == [0, 1, 1]
    assert len(set(made)) == 2
    assert np.isfinite(model.transform(*two_views).to_array()).all()
    made.clear()
    spoilt_ones = {1, 2, 3}
    with pytest.raises(TrainingDivergedError, match="became non-finite in epoch 0 of stage 'train'") as caught:
        make(method).fit(*two_views)
    assert [row["attempt"] for row in caught.value.history] == [0, 1, 2]


@each_method
def test_gradients_are_on_whatever_the_caller_does(method: Any, two_views: Pair) -> None:
    with torch.no_grad():
        found = make(method).fit(*two_views)
        value = found.objective(*two_views)
    expected = make(method).fit(*two_views)
    np.testing.assert_array_equal(found.transform(*two_views).to_array(), expected.transform(*two_views).to_array())
    assert value == expected.objective(*two_views)


# scikit-learn, printed settings


@each_method
def test_scikit_learn_holds_it(method: Any, two_views: Pair) -> None:
    for name in ("check_estimator_cloneable", "check_no_attributes_set_in_init", "check_get_params_invariance"):
        getattr(checks, name)(method.__name__, method())
    model = make(method)
    assert clone(model).get_params() == model.get_params()
    views = Views(two_views, groups=np.arange(240) // 6)
    assert cross_val_score(model, views, cv=GroupKFold(2), groups=views.groups).shape == (2,)
    search = GridSearchCV(model, {"n_shared": [1, 2]}, cv=2).fit(views)
    assert search.best_params_["n_shared"] in (1, 2)
    fitted = model.fit(views)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(views).to_array(), fitted.transform(views).to_array())


@each_method
@pytest.mark.parametrize("experiment", ["rotated-mnist", "lgn-v1", "sprites"])
def test_printed_settings_are_complete(method: Any, experiment: str) -> None:
    model = method.printed(experiment, random_state=3)
    widths = {"rotated-mnist": 30, "lgn-v1": 2, "sprites": 500}
    assert (model.n_shared, model.random_state) == (widths[experiment], 3)
    assert model.training.keep_best is (method is not Lyu)
    assert clone(model).get_params() == model.get_params()
    assert (model.training.retained_variance is None) == (experiment != "sprites")


def test_printed_settings_of_the_paper() -> None:
    mnist = {method: method.printed("rotated-mnist") for method in METHODS}
    found = {
        method.__name__: (m.training.epochs, m.training.batch_size, m.training.learning_rate, m.training.weight_decay)
        for method, m in mnist.items()
    }
    assert found == {
        "DeepCCA": (100, 200, 1e-4, 1e-4),
        "DCCAE": (100, 100, 1e-3, 1e-3),
        "Karakasis": (100, 100, 1e-4, 1e-3),
        "Lyu": (150, 100, 1e-3, 1e-4),
        "DMVAE": (50, 100, 1e-3, 1e-3),
    }
    assert mnist[Lyu].adversary.learning_rate == 1
    assert (mnist[Lyu].lambda_rec, mnist[Lyu].lambda_dis) == (1, 100)
    with pytest.raises(ValueError, match="experiment is 'mnist'; expected one of"):
        DeepCCA.printed("mnist")


def test_printed_settings_of_lgn_v1() -> None:
    found = {method.__name__: method.printed("lgn-v1") for method in METHODS}
    assert {
        name: (m.training.epochs, m.training.batch_size, m.training.learning_rate, m.training.weight_decay)
        for name, m in found.items()
    } == {
        "DeepCCA": (8_267, 2_000, 1e-3, 0),
        "DCCAE": (20_667, 5_000, 1e-2, 0),
        "Karakasis": (3_306, 1_000, 1e-3, 0),
        "Lyu": (2_000, 1_000, 1e-3, 1e-4),
        "DMVAE": (3_000, 1_000, 1e-3, 1e-3),
    }
    assert {name: (m.networks.hidden, m.networks.activation) for name, m in found.items()} == {
        "DeepCCA": ((200,) * 3, nn.Sigmoid),
        "DCCAE": ((200,) * 2, nn.Sigmoid),
        "Karakasis": ((200,) * 3, nn.Sigmoid),
        "Lyu": ((200,) * 6, nn.ReLU),
        "DMVAE": ((200,) * 6, nn.ReLU),
    }
    for name in ("DeepCCA", "DCCAE", "Karakasis"):
        assert (found[name].form, found[name].regularization, found[name].final_cca) == ("trace", 1e-3, False)
    for name in ("DCCAE", "Karakasis"):  # errors as averages in the user's units, a rate that falls to a fiftieth
        training = found[name].training
        assert (training.loss_scale, training.schedule, training.final_learning_rate) == ("mean", "linear", 1 / 50)
        assert found[name].lambda_rec == 0.9
    assert (found["Lyu"].lambda_rec, found["Lyu"].lambda_dis, found["Lyu"].refresh_every) == (1, 100, 10)
    assert (found["DMVAE"].lambda_rec, found["DMVAE"].beta) == (10, (1, 1, 1))


def test_printed_settings_of_sprites_and_weights_of_mnist() -> None:
    lyu = Lyu.printed("sprites")
    adversary = lyu.adversary
    assert (adversary.hidden, adversary.learning_rate, adversary.weight_decay) == ((64,) * 3, 1.0, 0.1)
    assert (lyu.lambda_rec, lyu.lambda_dis) == (1, 100)
    mnist = {method.__name__: method.printed("rotated-mnist") for method in METHODS}
    assert (mnist["DCCAE"].lambda_rec, mnist["Karakasis"].lambda_rec, mnist["DMVAE"].lambda_rec) == (0.1, 0.1, 10)
    assert (mnist["Lyu"].adversary.hidden, mnist["Lyu"].adversary.rows) == ((64, 64), 1_000)
    assert (mnist["Lyu"].adversary.weight_decay, mnist["Lyu"].refresh_every) == (0.1, 3)
    for name in ("DeepCCA", "DCCAE", "Karakasis"):
        assert (mnist[name].form, mnist[name].final_cca) == ("maxvar", False)
    # Sums over features in the user's units: the form that printed weights fit.
    assert mnist["Lyu"].training.loss_scale == mnist["DMVAE"].training.loss_scale == "mean"


@each_method
def test_printed_settings_run(method: Any, two_views: Pair) -> None:
    model = method.printed("lgn-v1", random_state=0)
    model.set_params(training=replace(model.training, epochs=2, batch_size=100)).fit(*two_views)
    assert np.isfinite(model.transform(*two_views).to_array()).all()
    assert np.isfinite(model.score(*two_views))
