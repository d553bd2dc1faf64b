"""Fitting: what goes in, what comes out, and that nothing but the seed decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray

import viewsplice.recipes
import viewsplice.recipes.stages
from viewsplice import (
    SPLICE,
    ConvNetworks,
    EpochEvent,
    GeometryConfig,
    Latents,
    MLPNetworks,
    ResidualNetworks,
    RestartWarning,
    TrainConfig,
    TrainingDivergedError,
    Views,
)
from viewsplice.training.loop import snapshot

X = NDArray[np.float64]
Pair = tuple[X, ...]

TRAINING = TrainConfig(epochs=2, batch_size=50, restart_passes=2, n_msr=1)
GEOMETRY = GeometryConfig(n_neighbors=12, grow_by=1, n_landmarks=20)


def tiny(n_shared: Any = 1, n_private: Any = 1, **changes: Any) -> SPLICE:
    settings: dict[str, Any] = {"networks": MLPNetworks((16,)), "training": TRAINING, "geometry": None}
    return SPLICE(n_shared, n_private, **{**settings, "recipe": "paper", "random_state": 0, **changes})


def assert_same(first: Latents[Any], second: Latents[Any], *, exact: bool = True) -> None:
    assert first.spaces().keys() == second.spaces().keys()
    for name, space in first.spaces().items():
        if exact:
            np.testing.assert_array_equal(space, second.spaces()[name], err_msg=name)
        else:
            np.testing.assert_allclose(space, second.spaces()[name], atol=1e-4, err_msg=name)


def test_four_input_forms_give_the_same_bits(two_views: Pair) -> None:
    a, b = two_views
    model = tiny(geometry=GEOMETRY)
    expected = model.fit(a, b).transform(a, b)
    for form in ([a, b], {"A": a, "B": b}, Views([a, b])):
        assert_same(tiny(geometry=GEOMETRY).fit(form).transform(form), expected)
    assert_same(tiny(geometry=GEOMETRY).fit_transform(a, b), expected)


def test_fit_returns_self_and_names_are_kept(two_views: Pair) -> None:
    a, b = two_views
    model = tiny(n_shared={"v1->lgn": 2, "lgn->v1": 1}, n_private={"v1": 0, "lgn": 1})
    assert model.fit({"lgn": a, "v1": b}) is model
    assert model.view_names_ == ("lgn", "v1")
    assert model.n_features_in_ == {"lgn": 12, "v1": 9}
    assert model.n_shared_ == {"lgn->v1": 1, "v1->lgn": 2}
    assert model.n_private_ == {"lgn": 1, "v1": 0}
    latents = model.transform({"v1": b, "lgn": a})
    assert {name: space.shape for name, space in latents.spaces().items()} == {
        "lgn": (240, 1),
        "v1": (240, 0),
        "lgn->v1": (240, 1),
        "v1->lgn": (240, 2),
    }


def _memmap(x: X, folder: Path) -> Any:
    np.save(folder / "x.npy", x)
    return np.load(folder / "x.npy", mmap_mode="r")


FORMS: dict[str, Callable[[X, Path], Any]] = {
    "float32": lambda x, _: x.astype(np.float32),
    "int64": lambda x, _: x.astype(np.int64),
    "uint8": lambda x, _: x.astype(np.uint8),
    "Fortran order": lambda x, _: np.asfortranarray(x),
    "every second row": lambda x, _: np.repeat(x, 2, axis=0)[::2],
    "read-only memory map": _memmap,
    "tensor": lambda x, _: torch.tensor(x),
    "data frame": lambda x, _: pd.DataFrame(x, index=range(7, 7 + len(x))),
    "objects": lambda x, _: x.astype(object),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_container_does_not_matter(two_views: Pair, tmp_path: Path, form: str) -> None:
    a, b = (np.round(100 * (x - x.min()) / np.ptp(x)) for x in two_views)
    training = replace(TRAINING, epochs=1)
    expected = tiny(training=training).fit(a, b)
    given = FORMS[form](a, tmp_path)
    found = tiny(training=training).fit(given, b)
    assert_same(found.transform(given, b), expected.transform(a, b))
    assert found.reconstruct(given, b)["A"].dtype == (np.float32 if form == "float32" else np.float64)


def test_booleans_are_numbers(two_views: Pair) -> None:
    a, b = two_views
    assert_same(tiny().fit_transform(a > 0, b), tiny().fit_transform((a > 0).astype(float), b))


@pytest.mark.parametrize(("factor", "offset"), [(1e-9, 0.0), (1e9, 0.0), (1.0, 1e6)])
def test_units_do_not_change_latents_and_come_back(two_views: Pair, factor: float, offset: float) -> None:
    a, b = two_views
    moved = factor * a + offset
    before, after = tiny().fit(a, b), tiny().fit(moved, b)
    assert_same(after.transform(moved, b), before.transform(a, b), exact=False)
    expected = before.reconstruct(a, b)["A"]
    np.testing.assert_allclose((after.reconstruct(moved, b)["A"] - offset) / factor, expected, atol=1e-4)


def test_a_power_of_two_changes_no_bit_with_geometry(two_views: Pair) -> None:
    a, b = two_views
    before, after = tiny(geometry=GEOMETRY).fit(a, b), tiny(geometry=GEOMETRY).fit(a * 1024, b)
    assert_same(after.transform(a * 1024, b), before.transform(a, b))
    np.testing.assert_array_equal(after.reconstruct(a * 1024, b)["A"], before.reconstruct(a, b)["A"] * 1024)
    np.testing.assert_allclose(after.geometry_["B->A"].geodesics, before.geometry_["B->A"].geodesics * 1024, rtol=1e-6)


def test_same_seed_same_bits_whatever_the_global_state(two_views: Pair) -> None:
    expected = tiny(geometry=GEOMETRY).fit_transform(*two_views)
    state = np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        np.random.seed(99)  # noqa: NPY002
        torch.manual_seed(99)
        again = tiny(geometry=GEOMETRY).fit_transform(*two_views)
    np.random.set_state(state)  # noqa: NPY002
    assert_same(again, expected)


def test_other_seeds_give_other_models(two_views: Pair) -> None:
    seeds = [0, 1, None, None, np.random.default_rng(5), np.random.RandomState(5)]
    models = [tiny(random_state=seed, training=replace(TRAINING, epochs=1)).fit(*two_views) for seed in seeds]
    codes = [model.transform(*two_views).private["A"].tobytes() for model in models]
    assert len(set(codes)) == len(codes)
    again = tiny(random_state=models[2].fitted_.seed, training=replace(TRAINING, epochs=1)).fit(*two_views)
    assert again.transform(*two_views).private["A"].tobytes() == codes[2]


def test_views_in_another_order_permute_the_result(two_views: Pair) -> None:
    a, b = two_views
    forward = tiny(geometry=GEOMETRY, n_private={"A": 2, "B": 1}).fit({"A": a, "B": b})
    backward = tiny(geometry=GEOMETRY, n_private={"A": 2, "B": 1}).fit({"B": b, "A": a})
    assert backward.view_names_ == ("B", "A")
    assert_same(backward.transform({"A": a, "B": b}), forward.transform({"A": a, "B": b}))
    np.testing.assert_array_equal(backward.reconstruct({"A": a, "B": b})["B"], forward.reconstruct(a, b)["B"])
    np.testing.assert_array_equal(backward.predict("B", {"A": a}), forward.predict("B", {"A": a}))


def test_validation_views_equal_validation_rows(two_views: Pair) -> None:
    a, b = two_views
    by_views = tiny().fit(a[:200], b[:200], validation=[a[200:], b[200:]])
    by_rows = tiny().fit(a, b, validation=np.arange(200, 240))
    by_mask = tiny().fit(a, b, validation=np.arange(240) >= 200)
    assert by_views.history_ == by_rows.history_ == by_mask.history_
    assert by_views.split_["validation"].tolist() == list(range(200, 240))
    assert_same(by_views.transform(a, b), by_rows.transform(a, b))


def test_validation_is_a_tenth_unless_told_otherwise(two_views: Pair) -> None:
    assert len(tiny().fit(*two_views).split_["validation"]) == 24
    alone = tiny().fit(*two_views, validation=0)
    assert len(alone.split_["validation"]) == 0
    assert not any(key.startswith("val/") for row in alone.history_ for key in row)


def test_validation_rows_do_not_teach(two_views: Pair) -> None:
    a, b = two_views
    corrupted = a.copy()
    corrupted[200:] += 50
    rows = np.arange(200, 240)
    before, after = (
        tiny(geometry=GEOMETRY).fit(a, b, validation=rows),
        tiny(geometry=GEOMETRY).fit(corrupted, b, validation=rows),
    )
    assert_same(after.transform(a, b), before.transform(a, b))
    assert after.history_[0]["val/rec/A"] > before.history_[0]["val/rec/A"]


def test_groups_are_never_split(two_views: Pair) -> None:
    groups = np.repeat([f"trial {i}" for i in range(16)], 15)
    direct = tiny().fit(*two_views, groups=groups, validation=0.2)
    carried = tiny().fit(Views(two_views, groups=groups), validation=0.2)
    assert not set(groups[direct.split_["train"]]) & set(groups[direct.split_["validation"]])
    assert len(direct.split_["validation"]) == 60  # the fewest whole trials that make up 48 rows
    np.testing.assert_array_equal(direct.split_["validation"], carried.split_["validation"])


def test_history_has_one_finite_row_per_epoch(two_views: Pair) -> None:
    history = tiny(geometry=GEOMETRY).fit(*two_views).history_
    assert [(row["stage"], row["epoch"], row["attempt"]) for row in history] == [
        ("disentangle", 0, 0),
        ("disentangle", 1, 0),
        ("geometry", 0, 0),
        ("geometry", 1, 0),
    ]
    arrows, views = ("A->B", "B->A"), ("A", "B")
    terms = {f"rec/{v}" for v in views} | {f"{kind}/{a}" for kind in ("pred", "dis") for a in arrows}
    terms |= {f"val/{name}" for name in terms}
    expected = {"disentangle": terms, "geometry": terms | {f"geo/{space}" for space in (*views, *arrows)}}
    for row in history:
        assert set(row) - {"stage", "epoch", "attempt"} == expected[row["stage"]]
        assert all(math.isfinite(row[term]) for term in expected[row["stage"]])


def test_no_private_space_means_no_measurement(two_views: Pair) -> None:
    model = tiny(n_private=0).fit(*two_views)
    assert set(model.history_[0]) == {"stage", "epoch", "attempt", "rec/A", "rec/B", "val/rec/A", "val/rec/B"}


def test_bad_callbacks_are_told_before_any_training(two_views: Pair) -> None:
    with pytest.raises(TypeError, match="expected a list of functions"):
        tiny().fit(*two_views, callbacks=[lambda event: pytest.fail("trained"), 5])


def test_a_callback_sees_every_epoch_and_may_end_a_stage(two_views: Pair) -> None:
    seen: list[tuple[str, int, int]] = []

    def watch(event: EpochEvent) -> bool:
        assert "rec/A" in event.terms
        seen.append((event.stage, event.epoch, event.n_epochs))
        return event.stage == "disentangle" and event.epoch == 1

    training = replace(TRAINING, epochs=3)
    model = tiny(training=training, geometry=GEOMETRY).fit(*two_views, callbacks=[watch])
    assert seen == [("disentangle", 0, 3), ("disentangle", 1, 3), *(("geometry", i, 3) for i in range(3))]
    assert len(model.history_) == 5


def test_early_stopping_and_the_best_weights(two_views: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    values = iter([3.0, 1.0, 2.0, 2.0, 0.0])
    monkeypatch.setattr(viewsplice.recipes.stages, "objective", lambda terms, lambda_dis: next(values))
    states: list[dict[str, torch.Tensor]] = []
    training = replace(TRAINING, epochs=5, patience=2, keep_best=True, disentangle_after=0.0)
    model = tiny(training=training).fit(*two_views, callbacks=[lambda event: states.append(snapshot(event.model))])
    assert len(model.history_) == 4
    assert all(torch.equal(x, states[1][name]) for name, x in model.model_.state_dict().items())
    assert any(not torch.equal(x, states[3][name]) for name, x in model.model_.state_dict().items())


def test_validation_may_be_rarer_than_epochs(two_views: Pair) -> None:
    history = tiny(training=replace(TRAINING, epochs=5, validate_every=2)).fit(*two_views).history_
    assert ["val/rec/A" in row for row in history] == [False, True, False, True, False]


def test_geometry_of_every_space_is_kept(two_views: Pair) -> None:
    model = tiny(n_shared=2, n_private=(0, 1), geometry=GEOMETRY).fit(*two_views)
    train = set(model.split_["train"].tolist())
    assert list(model.geometry_) == ["B", "A->B", "B->A"]
    for found in model.geometry_.values():
        assert found.anchors.shape == (1,)
        assert set(found.anchors.tolist()) <= train
        assert len(set(found.landmarks.tolist()) & train) == 20
        assert found.geodesics.shape == (20, 216)
        positions = np.searchsorted(model.split_["train"], found.landmarks)
        assert (found.geodesics[np.arange(20), positions] == 0).all()
        assert found.n_neighbors is not None
        assert found.n_neighbors >= 12
        assert (np.diff(found.spectrum) <= 0).all()
        assert found.unit == pytest.approx(float(found.geodesics.mean()), rel=1e-4)
    assert model.lambda_geo_ == 0.1


def test_without_geometry_there_is_one_stage(two_views: Pair) -> None:
    alone = tiny().fit(*two_views)
    assert (alone.geometry_, alone.lambda_geo_) == ({}, 0.0)
    assert {row["stage"] for row in alone.history_} == {"disentangle"}
    weighted = tiny(geometry=replace(GEOMETRY, lambda_geo=0.3)).fit(*two_views)
    assert weighted.lambda_geo_ == 0.3
    assert weighted.history_[:2] == alone.history_


def test_another_distance_takes_the_place_of_geodesics(two_views: Pair) -> None:
    shapes = []

    def straight(points: X, landmarks: NDArray[np.int64]) -> X:
        shapes.append(points.shape)
        return np.linalg.norm(points[landmarks][:, None] - points[None], axis=2)

    model = tiny(geometry=GeometryConfig(distance=straight, n_landmarks=5)).fit(*two_views)
    assert shapes == [(216, 12), (216, 9), (216, 9), (216, 12)]
    assert model.geometry_["A"].n_neighbors is None
    assert model.geometry_["A"].geodesics.shape == (5, 216)
    wrong = GeometryConfig(distance=lambda points, rows: points[rows], n_landmarks=5)
    with pytest.raises(
        ValueError, match=r"distance returned shape \(5, 12\), .* for latent space A; expected \(5, 216\)"
    ):
        tiny(geometry=wrong).fit(*two_views)


def test_mean_losses_are_in_the_users_units(two_views: Pair) -> None:
    a, b = two_views
    training = replace(TRAINING, loss_scale="mean")
    rows = {x: tiny(training=training).fit(a * x, b).history_[0] for x in (1, 2)}
    assert rows[2]["rec/B"] == pytest.approx(rows[1]["rec/B"], rel=1e-3)
    assert rows[2]["rec/A"] == pytest.approx(4 * rows[1]["rec/A"], rel=1e-3)
    geometric = tiny(training=training, geometry=GEOMETRY).fit(a, b)
    assert {found.unit for found in geometric.geometry_.values()} == {1.0}


@pytest.mark.parametrize("max_restarts", [0, 1])
def test_divergence_stops_at_once_and_keeps_the_last_finite_state(two_views: Pair, max_restarts: int) -> None:
    training = replace(TRAINING, learning_rate=1e30, max_restarts=max_restarts)
    model = tiny().fit(*two_views)
    before = model.transform(*two_views)
    model.set_params(training=training)
    with pytest.raises(
        TrainingDivergedError, match="became non-finite in epoch 0 of stage 'disentangle'; lower"
    ) as caught:
        model.fit(*two_views)
    error = caught.value
    assert [row["attempt"] for row in error.history] == list(range(max_restarts + 1))
    assert not math.isfinite(error.history[-1][error.term])
    assert (error.stage, error.epoch) == ("disentangle", 0)
    assert error.state
    assert all(torch.isfinite(value).all() for value in error.state.values())
    assert_same(model.transform(*two_views), before)


def test_a_restart_may_succeed(two_views: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    solve_once, seeds = viewsplice.recipes.solve_paper, []

    def fail_first(problem: Any, history: Any) -> Any:
        seeds.append(problem.seed)
        solution = solve_once(problem, history)
        if len(seeds) == 1:
            raise TrainingDivergedError("disentangle", 1, "rec/A", history)
        return solution

    monkeypatch.setattr(viewsplice.recipes, "solve_paper", fail_first)
    model = tiny(training=replace(TRAINING, max_restarts=2))
    with pytest.warns(RestartWarning, match="training diverged or collapsed 1 time and was started over") as caught:
        model.fit(*two_views)
    assert [warning.filename for warning in caught] == [__file__]
    assert seeds[0] == 0
    assert len(set(seeds)) == 2
    assert [row["attempt"] for row in model.history_] == [0, 0, 1, 1]


def test_three_views(three_views: Pair) -> None:
    model = tiny(n_private=(1, 0, 2), geometry=GEOMETRY).fit(list(three_views))
    assert list(model.n_shared_) == ["A->B", "A->C", "B->A", "B->C", "C->A", "C->B"]
    latents = model.transform(list(three_views))
    assert {name: z.shape[1] for name, z in latents.private.items()} == {"A": 1, "B": 0, "C": 2}
    assert [x.shape for x in model.reconstruct(list(three_views)).values()] == [(240, 12), (240, 9), (240, 7)]
    assert set(model.geometry_) == {"A", "C", *model.n_shared_}
    assert {key for key in model.history_[0] if key.startswith("dis/")} == {
        "dis/A->B",
        "dis/A->C",
        "dis/C->A",
        "dis/C->B",
    }
    assert math.isfinite(model.score(list(three_views)))


@pytest.mark.parametrize(
    "networks", [ConvNetworks((4,), (8,), (8,)), MLPNetworks((16,)), ResidualNetworks(8, 1, n_frequencies=4)]
)
def test_images_keep_their_shape(two_views: Pair, networks: Any) -> None:
    a, b = two_views
    images = {"A": a[:, :8].reshape(-1, 4, 2), "B": np.repeat(b[:, :8], 2, axis=1).reshape(-1, 1, 4, 4)}
    model = tiny(networks=networks).fit(images)
    assert model.n_features_in_ == {"A": 8, "B": 16}
    assert {name: x.shape for name, x in model.reconstruct(images).items()} == {"A": (240, 4, 2), "B": (240, 1, 4, 4)}
    assert model.predict("B", {"A": images["A"][:3]}).shape == (3, 1, 4, 4)
    assert model.project(images, vary="B->A", anchor=0).shape == (240, 4, 2)


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"n_shared": -1}, ValueError, "n_shared is -1 for A->B; expected a width of at least 0"),
        ({"n_shared": 10}, ValueError, "n_shared is 10 for A->B; expected at most 9"),
        ({"n_private": 10}, ValueError, "n_private is 10 for view 'B'; expected at most its 9 features"),
        ({"n_shared": "auto"}, ValueError, "n_shared is 'auto'; recipe 'paper' expects widths"),
        ({"n_shared": 0, "n_private": 0}, ValueError, "view 'A' has private width 0 and no incoming shared dimensions"),
        ({"recipe": "fast"}, ValueError, "recipe is 'fast'; expected 'auto' or 'paper'"),
        ({"geometry": "none"}, ValueError, "geometry is 'none'; expected a GeometryConfig, 'default', or None"),
        ({"geometry": 5}, TypeError, "geometry is 5; expected a GeometryConfig"),
        ({"training": {"epochs": 1}}, TypeError, "training is .*; expected a TrainConfig or None"),
        ({"lambda_dis": -1.0}, ValueError, "lambda_dis is -1.0; expected a finite number of at least 0"),
        ({"lambda_dis": math.inf}, ValueError, "lambda_dis is inf"),
        ({"device": "gpu"}, ValueError, "device is 'gpu', which torch cannot use here"),
        ({"random_state": "a"}, TypeError, "random_state is 'a'; expected None, an int, or a NumPy random generator"),
        ({"random_state": -1}, ValueError, "random_state is -1; expected an integer of at least 0"),
        ({"training": TrainConfig(batch_size=217)}, ValueError, "got 216 training rows; batch_size=217 needs at least"),
        (
            {"geometry": GeometryConfig(n_neighbors=216, n_landmarks=5)},
            ValueError,
            "n_neighbors=216 needs at least 217",
        ),
        (
            {"geometry": GeometryConfig(n_neighbors=5, n_landmarks=217)},
            ValueError,
            "n_landmarks=217 needs at least 217",
        ),
        (
            {"networks": ConvNetworks()},
            ValueError,
            r"ConvNetworks got a view with rows of shape \(12,\); expected images",
        ),
    ],
)
def test_settings_that_cannot_be(two_views: Pair, changes: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        tiny(**changes).fit(*two_views)


def _with(x: X, row: int, value: float) -> X:
    changed = x.copy()
    changed[row, 1] = value
    return changed


@pytest.mark.parametrize(
    ("spoil", "kind", "message"),
    [
        (lambda a, b: (a, b[:200]), ValueError, r"different numbers of rows \('A': 240, 'B': 200\)"),
        (
            lambda a, b: (_with(a, 17, np.nan), b),
            ValueError,
            "'A' has 1 non-finite value .* first at row 17, feature 1",
        ),
        (lambda a, b: (a, _with(b, 3, np.inf)), ValueError, "'B' has 1 non-finite value .* first at row 3, feature 1"),
        (lambda a, b: (np.full_like(a, 0.1), b), ValueError, "view 'A' is constant: all 216 training rows are equal"),
        (lambda a, b: (a[:, :0], b), ValueError, r"view 'A' is empty: shape \(240, 0\)"),
        (lambda a, b: (a[:0], b[:0]), ValueError, r"view 'A' is empty: shape \(0, 12\)"),
        (lambda a, b: (a.astype(str), b), TypeError, "view 'A' has dtype <U32; expected numeric data"),
        (lambda a, b: (a[:1], b[:1]), ValueError, "only 1 row is left for training, of 1"),
        (lambda a, b: (a[:40], b[:40]), ValueError, "got 36 training rows; batch_size=50 needs at least 50"),
        (lambda a, b: (a, b[:, 0]), ValueError, r"y has shape \(240,\); expected the second view"),
        (lambda a, b: (a,), ValueError, "got one view, 'A'; expected two or more paired views"),
        (lambda a, b: ({"A": a, "a.b": b},), ValueError, "view name 'a.b' is not allowed"),
        (lambda a, b: ({"A": a, "type": b},), ValueError, "view name 'type' is reserved"),
        (lambda a, b: ([],), ValueError, "got no views; expected at least one"),
    ],
)
def test_data_that_cannot_be(
    two_views: Pair, spoil: Callable[..., tuple[Any, ...]], kind: type[Exception], message: str
) -> None:
    model = tiny()
    with pytest.raises(kind, match=message):
        model.fit(*spoil(*two_views))
    assert not hasattr(model, "fitted_")
