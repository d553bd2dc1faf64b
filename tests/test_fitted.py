"""What a fitted model does with arrays: each result against the same thing worked out by hand from its networks."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

import viewsplice.training.fresh
from viewsplice import SPLICE, GeometryConfig, Latents, MLPNetworks, TrainConfig, Views
from viewsplice import views as views_module
from viewsplice.metrics import reconstruction_r2

X = NDArray[Any]
TRAINING = TrainConfig(epochs=2, batch_size=50, restart_passes=2, n_msr=1, learning_rate=0.01)


def _data(*widths: int, n_rows: int = 160) -> list[X]:
    rng = np.random.default_rng(7)
    shared = rng.uniform(-1, 1, size=(n_rows, 1))
    mixed = [np.hstack([shared, rng.uniform(-1, 1, (n_rows, 1))]) @ rng.normal(size=(2, width)) for width in widths]
    return [3 * np.tanh(x) + 10 for x in mixed]


A, B, C = _data(7, 5, 4)


def _fit(views: Any, n_shared: Any = 2, n_private: Any = 1, geometry: GeometryConfig | None = None) -> SPLICE:
    networks = MLPNetworks((16,))
    settings: dict[str, Any] = {"networks": networks, "training": TRAINING, "geometry": geometry, "random_state": 1}
    return SPLICE(n_shared, n_private, recipe="paper", **settings).fit(views)


@pytest.fixture(scope="module")
def model() -> SPLICE:
    """Two views, with geometry."""
    return _fit({"A": A, "B": B}, geometry=GeometryConfig(n_neighbors=12, grow_by=1, n_landmarks=20))


@pytest.fixture(scope="module")
def model_without_private() -> SPLICE:
    """View A has no private space."""
    return _fit({"A": A, "B": B}, n_private={"A": 0, "B": 1})


@pytest.fixture(scope="module")
def model_of_three() -> SPLICE:
    """Three views, the second without a private space."""
    return _fit([A, B, C], n_shared=1, n_private=(1, 0, 2))


def _decoded(model: SPLICE, view: str, *parts: X) -> X:
    """Return G_view of latent parts in the given order, in the user's units."""
    fitted = model.fitted_
    with torch.inference_mode():
        rows = fitted.model.decoders[view](torch.from_numpy(np.concatenate(parts, axis=1))).double().numpy()
    return np.asarray(rows * fitted.standardizers[view].scale + fitted.standardizers[view].mean)


def _encoded(model: SPLICE, kind: str, space: str, view: str, x: X) -> X:
    standardizer = model.fitted_.standardizers[view]
    flat = torch.from_numpy(((x - standardizer.mean) / standardizer.scale).astype(np.float32))
    with torch.inference_mode():
        return np.asarray(getattr(model.model_, kind)[space](flat).numpy())


def _assert_equal(first: Latents[X], second: Latents[X]) -> None:
    assert list(first.spaces()) == list(second.spaces())
    for name, space in first.spaces().items():
        np.testing.assert_array_equal(space, second.spaces()[name], err_msg=name)


def test_latents_are_what_the_encoders_say(model: SPLICE) -> None:
    latents = model.transform(A, B)
    np.testing.assert_allclose(latents.private["B"], _encoded(model, "private_encoders", "B", "B", B), atol=1e-6)
    np.testing.assert_allclose(latents.shared["A->B"], _encoded(model, "shared_encoders", "A->B", "A", A), atol=1e-6)
    assert latents.private["A"].dtype == np.float32


def test_one_view_determines_its_own_spaces_only(model: SPLICE, model_of_three: SPLICE) -> None:
    both = model.transform(A, B)
    alone = model.transform({"B": B})
    assert list(alone.spaces()) == ["B", "B->A"]
    np.testing.assert_array_equal(alone.private["B"], both.private["B"])
    np.testing.assert_array_equal(alone.shared["B->A"], both.shared["B->A"])
    two = model_of_three.transform({"C": C, "A": A})
    assert list(two.spaces()) == ["A", "C", "A->B", "A->C", "C->A", "C->B"]


def test_a_lone_array_is_the_first_view(model: SPLICE) -> None:
    _assert_equal(model.transform(A), model.transform({"A": A}))
    with pytest.raises(ValueError, match=r"view 'A' has rows of shape \(5,\); expected \(7,\), as in fit"):
        model.transform(B)


def test_spaces_of_width_zero_are_there(model_without_private: SPLICE, model_of_three: SPLICE) -> None:
    assert model_without_private.transform(A, B).private["A"].shape == (160, 0)
    assert model_of_three.transform({"B": B}).private["B"].shape == (160, 0)
    shared_less = _fit([A, B], n_shared=0, n_private=1)
    assert shared_less.transform(A).shared["A->B"].shape == (160, 0)
    assert shared_less.transform(A).to_array().shape == (160, 1)


def test_reconstructions_are_crossed_decodings_in_the_users_units(model: SPLICE) -> None:
    latents = model.transform(A, B)
    rebuilt = model.reconstruct(A, B)
    assert list(rebuilt) == ["A", "B"]
    expected = _decoded(model, "A", latents.shared["B->A"], latents.private["A"])
    np.testing.assert_allclose(rebuilt["A"], expected, rtol=1e-5)
    expected = _decoded(model, "B", latents.shared["A->B"], latents.private["B"])
    np.testing.assert_allclose(rebuilt["B"], expected, rtol=1e-5)


def test_decoders_get_incoming_arrows_in_view_order(model_of_three: SPLICE) -> None:
    latents = model_of_three.transform([A, B, C])
    parts = latents.shared["A->C"], latents.shared["B->C"], latents.private["C"]
    np.testing.assert_allclose(
        model_of_three.reconstruct([A, B, C])["C"], _decoded(model_of_three, "C", *parts), rtol=1e-5
    )


def test_crossing(model_without_private: SPLICE) -> None:
    noise = np.random.default_rng(0).normal(size=A.shape)
    before, after = (model_without_private.reconstruct(x, B) for x in (A, noise))
    np.testing.assert_array_equal(after["A"], before["A"])
    assert not np.array_equal(after["B"], before["B"])


@pytest.mark.parametrize("block_rows", [1, 2, 3, 79, 80, 81, 159, 160, 161])
def test_blocks_change_nothing(model: SPLICE, monkeypatch: pytest.MonkeyPatch, block_rows: int) -> None:
    latents, rebuilt = model.transform(A, B).to_array(), model.reconstruct(A, B)["B"]
    monkeypatch.setattr(views_module, "_BLOCK_ROWS", block_rows)
    np.testing.assert_allclose(model.transform(A, B).to_array(), latents, atol=1e-6)
    np.testing.assert_allclose(model.reconstruct(A, B)["B"], rebuilt, rtol=1e-6)


def test_rows_do_not_depend_on_their_neighbors(model: SPLICE) -> None:
    everything = model.transform(A, B).to_array()
    rows = np.random.default_rng(0).permutation(160)[:50]
    np.testing.assert_allclose(model.transform(A[rows], B[rows]).to_array(), everything[rows], atol=1e-6)
    singles = [model.transform(A[i : i + 1], B[i : i + 1]).to_array() for i in range(20)]
    np.testing.assert_allclose(np.vstack(singles), everything[:20], atol=1e-6)


def test_calls_change_neither_the_model_nor_the_data(model: SPLICE) -> None:
    a = A.copy()
    before = {name: value.clone() for name, value in model.model_.state_dict().items()}
    first = model.transform(a, B)
    model.reconstruct(a, B)
    model.predict("B", {"A": a})
    _assert_equal(model.transform(a, B), first)
    np.testing.assert_array_equal(a, A)
    assert all(torch.equal(value, before[name]) for name, value in model.model_.state_dict().items())
    assert not model.model_.training


def test_predict_is_the_mean_over_stored_private_parts(model: SPLICE) -> None:
    stored = model.fitted_.reference
    assert len(stored) == 64
    shared = model.transform(A[:6]).shared["A->B"]
    draws = [_decoded(model, "B", shared, np.repeat(stored.private["B"][[r]], 6, axis=0)) for r in range(64)]
    found = model.predict("B", {"A": A[:6]})
    np.testing.assert_allclose(found, np.mean(draws, axis=0), rtol=1e-5)
    np.testing.assert_array_equal(found, model.predict("B", {"A": A[:6]}))
    np.testing.assert_array_equal(found, model.predict("B", A[:6]))


def test_stored_rows_are_training_rows(model: SPLICE) -> None:
    latents = model.transform(A, B).private["B"]
    train = latents[model.split_["train"]]
    distances = np.abs(model.fitted_.reference.private["B"][:, None] - train[None]).max(axis=2)
    assert distances.min(axis=1).max() < 1e-6


def test_predict_without_private_space_is_one_decoding(model_without_private: SPLICE) -> None:
    shared = model_without_private.transform({"B": B}).shared["B->A"]
    found = model_without_private.predict("A", {"B": B})
    np.testing.assert_allclose(found, _decoded(model_without_private, "A", shared), rtol=1e-5)
    np.testing.assert_array_equal(found, model_without_private.reconstruct(A, B)["A"])


def test_predict_takes_missing_arrows_from_the_stored_rows(model_of_three: SPLICE) -> None:
    stored = model_of_three.fitted_.reference
    known = model_of_three.transform({"A": A[:4]}).shared
    for target, order in (("C", ("A->C", "B->C")), ("B", ("A->B", "C->B"))):
        missing = order[1]
        draws = [
            _decoded(
                model_of_three,
                target,
                known[order[0]],
                np.repeat(stored.shared[missing][[r]], 4, axis=0),
                np.repeat(stored.private[target][[r]], 4, axis=0),
            )
            for r in range(64)
        ]
        found = model_of_three.predict(target, {"A": A[:4]})
        np.testing.assert_allclose(found, np.mean(draws, axis=0), rtol=1e-5)
    complete = model_of_three.predict("B", {"A": A, "C": C})
    np.testing.assert_array_equal(complete, model_of_three.reconstruct([A, B, C])["B"])


@pytest.mark.parametrize(
    ("target", "given", "message"),
    [
        ("B", {"A": A, "B": B}, "the given views include the target 'B'; expected the others only"),
        ("x", {"A": A}, r"unknown view 'x'; expected one of \['A', 'B'\]"),
        ("B", {"x": A}, r"unknown view 'x'; expected some of \['A', 'B'\]"),
        ("B", {}, "got no views"),
    ],
)
def test_predictions_that_cannot_be(model: SPLICE, target: str, given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.predict(target, given)


def test_recombine_takes_shared_and_private_parts_from_different_rows(model: SPLICE) -> None:
    i, j = np.array([3, 0, 7]), np.array([5, 5, 1])
    latents = model.transform(A, B)
    mixed = model.recombine(A, B, shared=i, private=j)
    for view, incoming in (("A", "B->A"), ("B", "A->B")):
        expected = _decoded(model, view, latents.shared[incoming][i], latents.private[view][j])
        np.testing.assert_allclose(mixed[view], expected, rtol=1e-5)


def test_recombine_of_a_row_with_itself_is_its_reconstruction(model: SPLICE) -> None:
    rows = np.arange(160)
    mixed, rebuilt = model.recombine(A, B, shared=rows, private=rows), model.reconstruct(A, B)
    for name in ("A", "B"):
        np.testing.assert_allclose(mixed[name], rebuilt[name], rtol=1e-6)


def test_recombine_broadcasts_a_scalar(model: SPLICE) -> None:
    assert model.recombine(A, B, shared=3, private=4)["A"].shape == (1, 7)
    many = model.recombine(A, B, shared=3, private=[1, 2, 4])["A"]
    np.testing.assert_array_equal(many, model.recombine(A, B, shared=[3, 3, 3], private=[1, 2, 4])["A"])
    many = model.recombine(A, B, shared=[1, 2], private=[-1])["B"]
    np.testing.assert_array_equal(many, model.recombine(A, B, shared=[1, 2], private=[159, 159])["B"])


@pytest.mark.parametrize(
    ("shared", "private", "message"),
    [
        (160, 0, "shared is 160; expected row numbers from 0 to 159"),
        (0, [0, -161], r"private is \[0, -161\]; expected row numbers"),
        ([0.0], 0, r"shared is \[0.0\]; expected row numbers"),
        (0, [True], r"private is \[True\]"),
        ([[0]], 0, r"shared is \[\[0\]\]"),
        ([0, 1, 2], [0, 1], "shared has 3 rows and private 2; expected equally many, or one"),
    ],
)
def test_rows_that_cannot_be_recombined(model: SPLICE, shared: Any, private: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.recombine(A, B, shared=shared, private=private)


def test_projections_vary_with_the_named_space_only(model: SPLICE) -> None:
    latents = model.transform(A, B)
    anchor = latents[4]
    fixed = np.repeat(anchor.shared["A->B"], 160, axis=0)
    expected = _decoded(model, "B", fixed, latents.private["B"])
    np.testing.assert_allclose(model.project(A, B, vary="B", anchor=4), expected, rtol=1e-5)
    expected = _decoded(model, "B", latents.shared["A->B"], np.repeat(anchor.private["B"], 160, axis=0))
    np.testing.assert_allclose(model.project(A, B, vary="A->B", anchor=4), expected, rtol=1e-5)
    assert model.project(A, B, vary="B->A", anchor=4).shape == (160, 7)


def test_projections_pass_through_the_anchor(model: SPLICE) -> None:
    rebuilt = model.reconstruct(A, B)
    for vary, view in (("A", "A"), ("B->A", "A"), ("B", "B"), ("A->B", "B")):
        for row in (0, np.int64(7), -1):
            found = model.project(A, B, vary=vary, anchor=row)  # type: ignore[arg-type]
            np.testing.assert_allclose(found[row], rebuilt[view][row], rtol=1e-5)


def test_the_default_anchor_is_the_fitted_one(model: SPLICE) -> None:
    row = int(model.geometry_["A"].anchors[0])
    for vary in ("A", "B->A"):
        expected = model.project(A, B, vary=vary, anchor=row)
        np.testing.assert_allclose(model.project(A, B, vary=vary), expected, rtol=1e-5)
    np.testing.assert_allclose(model.project({"B": B}, vary="B->A"), model.project(A, B, vary="B->A"), rtol=1e-5)


def test_projections_of_three_views_hold_every_other_arrow(model_of_three: SPLICE) -> None:
    latents = model_of_three.transform([A, B, C])
    fixed = [np.repeat(latents[2].spaces()[name], 160, axis=0) for name in ("B->C", "C")]
    expected = _decoded(model_of_three, "C", latents.shared["A->C"], *fixed)
    np.testing.assert_allclose(model_of_three.project([A, B, C], vary="A->C", anchor=2), expected, rtol=1e-5)


def test_a_model_without_geometry_has_an_anchor_too(model_without_private: SPLICE) -> None:
    points = model_without_private.project(A, B, vary="A")
    assert points.shape == (160, 7)
    assert np.ptp(points, axis=0).max() == 0  # a space of width 0 does not vary
    assert model_without_private.project(A, B, vary="B").shape == (160, 5)


@pytest.mark.parametrize(
    ("views", "arguments", "message"),
    [
        ({"A": A, "B": B}, {"vary": "x"}, r"vary is 'x'; expected one of \['A', 'B', 'A->B', 'B->A'\]"),
        ({"A": A}, {"vary": "B"}, r"vary='B' needs view 'B'; got \['A'\]"),
        ({"A": A}, {"vary": "B->A"}, "vary='B->A' needs view 'B'"),
        ({"A": A}, {"vary": "A", "anchor": 0}, "view 'B' is missing; expected all of"),
        ({"A": A, "B": B}, {"vary": "A", "anchor": 160}, "anchor is 160; expected row numbers from 0 to 159"),
        ({"A": A, "B": B}, {"vary": "A", "anchor": 0.5}, "anchor is 0.5; expected row numbers"),
        ({"A": A, "B": B}, {"vary": "A", "anchor": True}, "anchor is True"),
        ({"A": A, "B": B}, {"vary": "A", "anchor": [0, 1]}, r"anchor is \[0, 1\]; expected one row number"),
    ],
)
def test_projections_that_cannot_be(model: SPLICE, views: Any, arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.project(views, **arguments)


def test_score_is_the_mean_reconstruction_r2(model: SPLICE) -> None:
    rebuilt = model.reconstruct(A[:30], B[:30])
    expected = (reconstruction_r2(A[:30], rebuilt["A"]) + reconstruction_r2(B[:30], rebuilt["B"])) / 2
    assert model.score(A[:30], B[:30]) == pytest.approx(expected)
    assert model.score(Views([A[:30], B[:30]])) == pytest.approx(expected)


def test_objective_is_repeatable_and_counts_what_fresh_networks_find(
    model: SPLICE, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewsplice.training.fresh, "_LEAST_STEPS", 80)
    honest, leaking = copy.deepcopy(model), copy.deepcopy(model)
    for encoders in (honest.model_.private_encoders, leaking.model_.private_encoders):
        for name in ("A", "B"):
            torch.nn.init.zeros_(encoders[name][-1].weight)
    # The first shared latent of A, which B's features follow, as A's private latent.
    leaking.model_.private_encoders["A"] = torch.nn.Sequential(
        model.model_.shared_encoders["A->B"], Slice(scale=1 / model.transform(A).shared["A->B"][:, 0].std())
    )
    assert honest.objective(A, B) == pytest.approx(_reconstruction_error(honest), rel=1e-3)
    found = leaking.objective(A, B)
    assert found == leaking.objective(A, B)
    leak = found - _reconstruction_error(leaking)
    assert leak > 0.1
    leaking.set_params(lambda_dis=3.0)
    assert leaking.objective(A, B) - _reconstruction_error(leaking) == pytest.approx(3 * leak, rel=1e-2)


class Slice(torch.nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, :1] * self.scale


def _reconstruction_error(model: SPLICE) -> float:
    """Return the sum of rec terms: squared errors as fractions of the training variance."""
    rebuilt, total = model.reconstruct(A, B), 0.0
    for name, x in (("A", A), ("B", B)):
        standardizer = model.fitted_.standardizers[name]
        error = (x - rebuilt[name]) / standardizer.scale
        total += float((error**2).sum(axis=1).mean()) / standardizer.n_features
    return total


def test_objective_without_private_spaces_is_the_reconstruction_error() -> None:
    model = _fit([A, B], n_private=0)
    assert model.objective(A, B) == pytest.approx(_reconstruction_error(model), rel=1e-4)
    with pytest.raises(ValueError, match="got 3 rows; objective needs at least 4"):
        model.objective(A[:3], B[:3])


def test_objective_changes_neither_model_nor_history(model: SPLICE, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewsplice.training.fresh, "_LEAST_STEPS", 2)
    before = {name: value.clone() for name, value in model.model_.state_dict().items()}
    n_epochs = len(model.history_)
    model.objective(A, B)
    assert all(torch.equal(value, before[name]) for name, value in model.model_.state_dict().items())
    assert len(model.history_) == n_epochs


@pytest.mark.parametrize(
    ("views", "kind", "message"),
    [
        ({"A": A[:, :6], "B": B}, ValueError, r"view 'A' has rows of shape \(6,\); expected \(7,\), as in fit"),
        ({"A": A.reshape(-1, 7, 1), "B": B}, ValueError, r"view 'A' has rows of shape \(7, 1\); expected \(7,\)"),
        ({"A": A, "x": B}, ValueError, r"unknown view 'x'; expected some of \['A', 'B'\]"),
        ([A, B, B], ValueError, r"got 3 views; expected at most 2: \['A', 'B'\]"),
        ([A, B[:100]], ValueError, r"different numbers of rows \('A': 160, 'B': 100\)"),
        ([A, np.where(B > 12, np.nan, B)], ValueError, "view 'B' has .* non-finite values"),
        ([A[:0], B[:0]], ValueError, r"view 'A' is empty: shape \(0, 7\)"),
        ([A.astype(str), B], TypeError, "view 'A' has dtype <U32; expected numeric data"),
        ([A[0], B[0]], ValueError, r"view 'A' has shape \(7,\); expected \(rows, features\)"),
        ([], ValueError, "got no views"),
    ],
)
@pytest.mark.parametrize("method", ["transform", "reconstruct", "score", "objective"])
def test_data_that_do_not_fit_the_model(
    model: SPLICE, method: str, views: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        getattr(model, method)(views)


@pytest.mark.parametrize("method", ["reconstruct", "score", "objective"])
def test_all_views_are_needed(model: SPLICE, method: str) -> None:
    with pytest.raises(ValueError, match=r"view 'A' is missing; expected all of \['A', 'B'\]"):
        getattr(model, method)({"B": B})


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.transform(A, B),
        lambda m: m.reconstruct(A, B),
        lambda m: m.score(A, B),
        lambda m: m.objective(A, B),
        lambda m: m.predict("B", {"A": A}),
        lambda m: m.recombine(A, B, shared=0, private=0),
        lambda m: m.project(A, B, vary="A"),
        lambda m: m.save("never-written.splice"),
    ],
)
def test_nothing_works_before_fit(call: Any) -> None:
    with pytest.raises(NotFittedError, match="This SPLICE instance is not fitted yet"):
        call(SPLICE(1, 1))


def test_latents_are_indexed_and_joined(model: SPLICE) -> None:
    latents = model.transform(A, B)
    assert len(latents) == 160
    assert latents[3].private["A"].shape == (1, 1)
    _assert_equal(latents[[1, 2]], latents[1:3])
    joined = latents.to_array()
    np.testing.assert_array_equal(joined, np.hstack(list(latents.spaces().values())))
    frame = latents.to_frame()
    assert list(frame.columns) == ["A[0]", "B[0]", "A->B[0]", "A->B[1]", "B->A[0]", "B->A[1]"]
    np.testing.assert_array_equal(frame.to_numpy(), joined)
