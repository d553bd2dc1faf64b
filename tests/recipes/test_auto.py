"""Recipe "auto" end to end with tiny budgets: stages, widths, choices, restarts, awkward data."""

import json
import math
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import viewsplice.recipes.auto
from viewsplice import (
    SPLICE,
    ConvNetworks,
    GeometryConfig,
    GeometryWarning,
    MLPNetworks,
    ResidualNetworks,
    RestartWarning,
    TrainConfig,
    TrainingDivergedError,
)
from viewsplice.datasets import two_rings
from viewsplice.geometry.targets import SpaceGeometry
from viewsplice.metrics import covariance_spectrum
from viewsplice.networks.residual import FourierFeatures
from viewsplice.recipes.auto import _explain_geometry

TRAINING = TrainConfig(epochs=3, scout_epochs=3, regression_epochs=1)
SMALL = ResidualNetworks(width=32, n_blocks=1, n_frequencies=8)


@pytest.fixture(autouse=True)
def _no_line_is_ahead(monkeypatch):
    """After three epochs a line predicts better than any scout; what follows from that is tested in test_noise."""
    monkeypatch.setattr(viewsplice.recipes.auto, "check_prediction", lambda *_: {})


@pytest.fixture(autouse=True)
def _rough_geometry_is_no_surprise():
    """After three epochs a space may be empty or its graph odd; what is said about it is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GeometryWarning)
        yield


def auto(n_shared="auto", n_private="auto", **changes):
    settings = {"networks": SMALL, "training": TRAINING, "random_state": 0}
    return SPLICE(n_shared, n_private, **{**settings, **changes})


def stages(model):
    return list(dict.fromkeys(row["stage"] for row in model.history_))


def test_the_default_finds_widths_and_says_why(two_views):
    model = SPLICE(training=TRAINING, random_state=0).fit(*two_views)
    assert isinstance(model.fitted_.settings.networks, ResidualNetworks)
    assert stages(model) == ["scout", "regression", "compact"]
    assert model.epochs_ == {"scout": 3, "regression": 1, "compact": 3}
    assert {row["attempt"] for row in model.history_} == {0}
    assert "coordinates/A->B" in model.history_[3]
    assert "geo/A->B" in model.history_[-1]
    widths = {**model.n_private_, **model.n_shared_}
    for space, width in widths.items():
        name = f"n_{'shared' if '->' in space else 'private'}/{space}"
        assert model.choices_[name].value == width
        assert model.choices_[name].reason
    assert model.n_shared_["A->B"] == model.n_shared_["B->A"] >= 1
    assert set(model.geometry_) == {space for space, width in widths.items() if width}
    latents = model.transform(*two_views).spaces()
    assert {name: z.shape for name, z in latents.items()} == {name: (240, width) for name, width in widths.items()}
    assert math.isfinite(model.score(*two_views))


def test_widths_given_as_they_would_be_found_change_nothing(two_views):
    found = auto().fit(*two_views)
    assert max(found.n_private_.values()) <= 2  # wider ones would ask for a wider scout
    given = auto(dict(found.n_shared_), dict(found.n_private_)).fit(*two_views)
    for space, z in found.transform(*two_views).spaces().items():
        np.testing.assert_array_equal(given.transform(*two_views).spaces()[space], z)


def test_fitted_attributes_hold_what_was_chosen(two_views):
    model = auto().fit(*two_views)
    assert model.batch_size_ == model.choices_["batch_size"].value == 32  # 240 rows / 40, at least 32
    assert model.learning_rate_ == model.choices_["learning_rate"].value
    assert (model.scout_shared_, model.scout_private_) == (16, 4)
    assert model.n_landmarks_ == model.choices_["n_landmarks"].value == 50
    assert model.n_anchors_ == model.choices_["n_anchors"].value == 3
    assert model.n_neighbors_ == {space: found.n_neighbors for space, found in model.geometry_.items()}
    assert all(model.choices_[f"n_neighbors/{space}"].value >= 12 for space in model.geometry_)
    assert model.n_axes_ == {name: model.model_.shapes[name][0] for name in ("A", "B")}
    assert model.n_axes_["A"] < 12
    for kept in model.retained_variance_.values():
        assert 0.995 <= kept <= 1
    assert model.lambda_geo_ == model.choices_["lambda_geo"].value > 0


def test_notes_tell_of_absent_and_weak_spaces_only(two_views):
    model = auto().fit(*two_views)
    expected = [
        name
        for name, choice in model.choices_.items()
        if name.startswith(("n_shared/", "n_private/")) and (choice.is_weak or choice.value == 0)
    ]
    notes = [note for note in model.notes_ if "may be torn" not in note]
    for note, name in zip(notes, expected, strict=True):
        kind, space = name.removeprefix("n_").split("/")
        choice = model.choices_[name]
        number = "1 dimension" if choice.value == 1 else f"{choice.value} dimensions"
        assert note == f"{kind.capitalize()} space {space}, {number}: {choice.reason}."
    assert not [note for note in auto(1, 1).fit(*two_views).notes_ if " may be " not in note]


def test_a_torn_space_is_told(two_views, monkeypatch):
    seen = []

    def torn(points, latents, *, least):
        assert least == 3, "no outlier alone makes a tear"
        seen.append((points.shape, latents.shape))
        return np.arange(len(latents)) < (3 if len(seen) == 1 else 2)

    monkeypatch.setattr(viewsplice.recipes.auto, "torn_rows", torn)
    model = auto(1, 1).fit(*two_views)
    n_rows = len(model.split_["train"])
    assert [latents for _, latents in seen] == [(n_rows, 1)] * 4
    assert model.choices_["torn/A"].value == 3 / n_rows
    [note] = [note for note in model.notes_ if "may be torn" in note]
    assert note.startswith(
        f"Private space A may be torn: 3 of {n_rows} rows have neighbors on the submanifold that lie"
    )
    monkeypatch.setattr(viewsplice.recipes.auto, "_TEAR_LEAST_ROWS", 10**6)
    assert not [name for name in auto(1, 1).fit(*two_views).choices_ if name.startswith("torn/")]


def test_the_scout_is_wide_has_no_waves_and_hands_on_its_weights(two_views, monkeypatch):
    made = []
    new_model = viewsplice.recipes.auto.new_model

    def keep(*arguments, name):
        made.append((name, new_model(*arguments, name=name)))
        return made[-1][1]

    monkeypatch.setattr(viewsplice.recipes.auto, "new_model", keep)
    # No epoch trains the compact networks long enough to move far: what they started from still shows.
    training = replace(TRAINING, regression_epochs=0, epochs=1, learning_rate=1e-6)
    model = auto(1, (0, 1), training=training).fit(*two_views)
    (first, scout), (second, compact) = made
    assert (first, second) == ("scout", "compact")
    assert compact is model.model_
    assert scout.n_shared == {"A->B": min(16, *model.n_axes_.values())} | {"B->A": min(16, *model.n_axes_.values())}
    assert scout.n_private == {"A": 0, "B": min(4, model.n_axes_["B"])}
    assert not any(isinstance(module, FourierFeatures) for module in scout.decoders.modules())
    assert any(isinstance(module, FourierFeatures) for module in compact.decoders.modules())
    assert scout.scale_free
    assert compact.scale_free
    block = "shared_encoders.A->B.1.body.1.weight"
    assert torch.allclose(scout.state_dict()[block], compact.state_dict()[block], atol=1e-4)


def test_widths_that_are_given_stay(two_views):
    model = auto({"A->B": 2, "B->A": "auto"}, ("auto", 1)).fit(*two_views)
    assert model.n_shared_["A->B"] == 2
    assert model.n_private_["B"] == 1
    assert set(model.choices_) >= {"n_private/A", "n_shared/B->A"}
    assert not {"n_private/B", "n_shared/A->B"} & set(model.choices_)
    same = auto({"A->B": 2, "B->A": "auto"}, {"A": "auto", "B": 1}).fit(*two_views)
    np.testing.assert_array_equal(same.transform(*two_views).to_array(), model.transform(*two_views).to_array())


def test_width_zero(two_views):
    model = auto(2, (0, 1)).fit(*two_views)
    assert model.n_private_ == {"A": 0, "B": 1}
    assert set(model.geometry_) == {"B", "A->B", "B->A"}
    assert model.transform(*two_views).private["A"].shape == (240, 0)
    no_private = auto("auto", 0).fit(*two_views)
    assert no_private.n_private_ == {"A": 0, "B": 0}
    assert not any(key.startswith(("dis/", "pred/")) for row in no_private.history_ for key in row)
    no_shared = auto(0, "auto").fit(*two_views)
    assert no_shared.n_shared_ == {"A->B": 0, "B->A": 0}
    assert min(no_shared.n_private_.values()) >= 1


def test_a_given_width_beyond_the_scouts(two_views):
    model = auto(9, 9).fit(*two_views)
    assert set(model.n_shared_.values()) == {9}
    assert set(model.n_private_.values()) == {9}


def test_private_dimensions_beyond_the_scouts_are_scouted_where_the_scout_uses_all_it_has(two_views, monkeypatch):
    asked = []

    def filled(own, widths, *_):
        asked.append((own, widths))
        return {"A": 9}

    monkeypatch.setattr(viewsplice.recipes.auto, "filled", filled)
    widths = []
    model = auto(2, (9, 3)).fit(
        *two_views, callbacks=[lambda event: widths.append((event.stage, event.model.n_private))]
    )
    assert stages(model) == ["scout", "scout-wide", "regression", "compact"]
    assert asked == [({"A": 4, "B": 4}, {"A": 9, "B": 3, "A->B": 2, "B->A": 2})]
    assert dict(widths) == {
        "scout": {"A": 4, "B": 4},
        "scout-wide": {"A": 9, "B": 4},
        "regression": {"A": 9, "B": 3},
        "compact": {"A": 9, "B": 3},
    }


def test_dimensions_that_the_geometry_does_not_have_are_left_empty():
    data = two_rings(n_samples=500, random_state=0)
    training = TrainConfig(epochs=12, scout_epochs=12, regression_epochs=6)
    model = SPLICE(2, 8, training=training, random_state=0).fit(data.rows("train").views)
    assert {name for name in model.choices_ if name.startswith("leading/")} >= {"leading/A", "leading/B"}
    assert "rest/A" in model.history_[-1]
    latents = model.transform(data.rows("test").views)
    for view in ("A", "B"):
        spectrum = covariance_spectrum(latents.private[view])
        assert spectrum[:2].sum() / spectrum.sum() > 0.99


def test_without_geometry_the_compact_networks_train_alone(two_views):
    model = auto(2, 1, geometry=None).fit(*two_views)
    assert stages(model) == ["compact"]
    assert model.epochs_ == {"compact": 3}
    assert (model.geometry_, model.n_landmarks_, model.n_anchors_, model.lambda_geo_) == ({}, 0, 0, 0.0)
    assert {name for name in model.choices_ if "/" not in name} == {"batch_size", "learning_rate", "epochs"}
    for widths in (("auto", 1), (1, "auto"), (1, (1, "auto")), ({"A->B": 1, "B->A": "auto"}, 1)):
        with pytest.raises(ValueError, match=r"n_(shared|private) is 'auto'; geometry=None expects widths, such as"):
            auto(*widths, geometry=None).fit(*two_views)


def test_without_geometry_private_spaces_unfold_from_a_point(two_views):
    model = auto(2, 1, geometry=None, training=replace(TRAINING, epochs=1, learning_rate=1e-9)).fit(*two_views)
    latents = model.transform(*two_views)
    assert all(0 < np.abs(z).max() < 1e-5 for z in latents.private.values())
    assert all(z.std() > 1e-2 for z in latents.shared.values())


def test_three_views(three_views):
    model = auto().fit(list(three_views))
    assert len(model.n_shared_) == 6
    for first, second in (("A", "B"), ("A", "C"), ("B", "C")):
        assert model.n_shared_[f"{first}->{second}"] == model.n_shared_[f"{second}->{first}"]
    assert [x.shape for x in model.reconstruct(list(three_views)).values()] == [(240, 12), (240, 9), (240, 7)]


def test_images_with_convolutions_keep_their_pixels(two_views):
    a, b = two_views
    images = {"A": a[:, :8].reshape(-1, 4, 2), "B": np.repeat(b[:, :8], 2, axis=1).reshape(-1, 1, 4, 4)}
    model = auto(networks=ConvNetworks((4,), (8,), (8,))).fit(images)
    assert model.n_axes_ == {"A": 8, "B": 16}
    assert model.retained_variance_ == {"A": 1.0, "B": 1.0}
    assert {name: x.shape for name, x in model.reconstruct(images).items()} == {"A": (240, 4, 2), "B": (240, 1, 4, 4)}
    flat = auto().fit(images)
    assert flat.n_axes_["B"] <= 8  # every pixel of B comes twice
    assert flat.reconstruct(images)["B"].shape == (240, 1, 4, 4)


@pytest.mark.parametrize("networks", [MLPNetworks((16,)), SMALL])
def test_everything_a_fitted_model_does_survives_a_file(two_views, tmp_path, networks):
    a, b = two_views
    model = auto(networks=networks).fit({"lgn": a, "v1": b})
    model.save(tmp_path / "m")
    loaded = SPLICE.load(tmp_path / "m")
    views = {"lgn": a, "v1": b}
    for one, other in ((model, loaded),):
        np.testing.assert_array_equal(one.transform(views).to_array(), other.transform(views).to_array())
        np.testing.assert_array_equal(one.predict("v1", {"lgn": a}), other.predict("v1", {"lgn": a}))
        space = next(iter(one.geometry_))
        np.testing.assert_array_equal(one.project(views, vary=space), other.project(views, vary=space))
        for name in views:
            np.testing.assert_array_equal(one.reconstruct(views)[name], other.reconstruct(views)[name])
    assert model.predict("v1", {"lgn": a[:5]}).shape == (5, 9)
    assert loaded.choices_ == model.choices_
    assert loaded.notes_ == model.notes_
    assert loaded.epochs_ == model.epochs_
    assert loaded.n_axes_ == model.n_axes_
    assert loaded.retained_variance_ == model.retained_variance_
    assert loaded.model_.scale_free
    for space, found in model.geometry_.items():
        np.testing.assert_array_equal(loaded.geometry_[space].curve, found.curve)
        assert loaded.geometry_[space].disagreement == found.disagreement
    for name, standardizer in model.fitted_.standardizers.items():
        np.testing.assert_array_equal(loaded.fitted_.standardizers[name].axes, standardizer.axes)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_damaged_axes_are_refused(two_views, tmp_path):
    from safetensors import safe_open
    from safetensors.torch import save_file

    model = auto(1, 1, geometry=None).fit(*two_views)
    model.save(tmp_path / "m")
    with safe_open(tmp_path / "m", framework="pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for wrong in (tensors["axes/A"][:-1], tensors["axes/A"].double(), tensors["axes/A"][:, 0]):
        save_file({**tensors, "axes/A": wrong.contiguous()}, tmp_path / "bad", metadata=metadata)
        with pytest.raises(ValueError, match=r"bad is damaged or incomplete \((axes/A|networks/.*) is"):
            SPLICE.load(tmp_path / "bad")
    fewer = tensors["axes/A"][:, :-1].contiguous()
    save_file({**tensors, "axes/A": fewer}, tmp_path / "bad", metadata=metadata)
    with pytest.raises(ValueError, match="bad is damaged or incomplete"):
        SPLICE.load(tmp_path / "bad")


def test_reconstructions_are_in_the_users_units_and_within_the_kept_axes(two_views):
    a, b = two_views
    model, moved = auto().fit(a, b), auto().fit(a * 1024, b)
    np.testing.assert_allclose(moved.transform(a * 1024, b).to_array(), model.transform(a, b).to_array(), atol=1e-5)
    np.testing.assert_allclose(moved.reconstruct(a * 1024, b)["A"] / 1024, model.reconstruct(a, b)["A"], atol=1e-5)
    standardizer = model.fitted_.standardizers["A"]
    flat = (model.reconstruct(a, b)["A"] - standardizer.mean) / standardizer.scale
    np.testing.assert_allclose(flat @ standardizer.axes @ standardizer.axes.T, flat, atol=1e-5)


def test_same_seed_same_bits_and_view_order_does_not_matter(two_views):
    a, b = two_views
    first, again, other = (auto(random_state=seed).fit(a, b) for seed in (0, 0, 1))
    assert first.history_ == again.history_
    np.testing.assert_array_equal(first.transform(a, b).to_array(), again.transform(a, b).to_array())
    assert first.history_ != other.history_
    turned = auto().fit({"B": b, "A": a})
    for space, z in first.transform(a, b).spaces().items():
        np.testing.assert_allclose(turned.transform({"A": a, "B": b}).spaces()[space], z, atol=1e-3, err_msg=space)


def test_a_collapsed_fit_starts_over_with_another_seed(two_views, monkeypatch):
    answers = iter([True, *[False] * 50])
    monkeypatch.setattr(viewsplice.recipes.auto, "is_collapsed", lambda latents: next(answers))
    with pytest.warns(RestartWarning, match="collapsed 1 time and was started over"):
        model = auto(1, 1).fit(*two_views)
    attempts = [row["attempt"] for row in model.history_]
    assert attempts == [0] * 7 + [1] * 7
    assert model.epochs_ == {"scout": 3, "regression": 1, "compact": 3}
    assert model.history_[0]["rec/A"] != model.history_[7]["rec/A"]
    untouched = auto(1, 1).fit(*two_views)
    assert untouched.history_ == [row for row in model.history_ if row["attempt"] == 0]


def test_a_fit_that_always_collapses_says_which_space(two_views, monkeypatch):
    monkeypatch.setattr(viewsplice.recipes.auto, "is_collapsed", lambda latents: True)
    with pytest.raises(TrainingDivergedError, match="latent space A") as caught:
        auto(1, 1, training=replace(TRAINING, max_restarts=1)).fit(*two_views)
    assert {row["attempt"] for row in caught.value.history} == {0, 1}
    assert caught.value.stage == "compact"
    assert caught.value.state


def test_divergence_of_the_scout_is_told_as_such(two_views):
    with pytest.raises(TrainingDivergedError, match="of stage 'scout'") as caught:
        auto(training=replace(TRAINING, learning_rate=1e30, warmup=0.0, max_restarts=0)).fit(*two_views)
    assert caught.value.stage == "scout"


@pytest.mark.parametrize("n_rows", [3, 4, 6, 8, 12, 20, 40])
@pytest.mark.parametrize("widths", ["auto", 1])
def test_few_rows_give_a_fit(two_views, n_rows, widths):
    a, b = (x[:n_rows] for x in two_views)
    model = auto(widths, widths).fit(a, b)
    assert np.isfinite(model.transform(a, b).to_array()).all()
    assert np.isfinite(model.predict("B", {"A": a})).all()


def test_fewer_rows_give_one_clear_sentence(two_views):
    a, b = two_views
    with pytest.raises(ValueError, match=r"^only 1 row is left for training, of 2; expected many paired rows$"):
        auto().fit(a[:2], b[:2])
    with pytest.raises(ValueError, match=r"^got 8 training rows; a latent space of width 9 needs at least 10"):
        auto(9, 9, training=replace(TRAINING, batch_size=2)).fit(a[:9], b[:9])


def test_no_validation_rows(two_views):
    model = auto().fit(*two_views, validation=0)
    assert not any(key.startswith("val/") for row in model.history_ for key in row)
    assert model.epochs_ == {"scout": 3, "regression": 1, "compact": 3}


def test_validation_views(two_views):
    a, b = two_views
    by_views = auto().fit(a[:200], b[:200], validation=[a[200:], b[200:]])
    assert len(by_views.split_["validation"]) == 40
    assert all("val/rec/A" in row for row in by_views.history_ if row["stage"] != "regression")


def test_settings_override_the_recipes(two_views):
    training = replace(TRAINING, retained_variance=1.0, regression_epochs=0, scout_private=2)
    geometry = GeometryConfig(n_landmarks=20, n_anchors=2, max_points=100, lambda_geo=0.5)
    model = auto(training=training, geometry=geometry).fit(*two_views)
    assert stages(model) == ["scout", "compact"]
    assert model.n_axes_ == {"A": 12, "B": 9}
    assert (model.n_landmarks_, model.n_anchors_, model.lambda_geo_, model.scout_private_) == (20, 2, 0.5, 2)
    assert all(found.geodesics.shape == (20, 216) for found in model.geometry_.values())
    assert model.choices_["n_landmarks"].value == 20


def test_another_distance(two_views):
    def straight(points, landmarks):
        return np.linalg.norm(points[landmarks][:, None] - points[None], axis=2)

    model = auto(geometry=GeometryConfig(distance=straight)).fit(*two_views)
    assert set(model.n_neighbors_.values()) == {None}
    assert model.choices_[f"n_neighbors/{next(iter(model.geometry_))}"].value == "own distance"


def test_callbacks_see_all_stages(two_views):
    seen = []
    auto(1, 1).fit(*two_views, callbacks=[lambda event: seen.append((event.stage, event.epoch, event.n_epochs))])
    assert seen == [*(("scout", i, 3) for i in range(3)), ("regression", 0, 1), *(("compact", i, 3) for i in range(3))]


def test_choices_are_plain_json(two_views, tmp_path: Path):
    model = auto().fit(*two_views)
    for choice in model.choices_.values():
        assert type(choice.value) in (int, float, str)
        json.dumps(choice.value)


@pytest.mark.parametrize(("bridging", "is_noted"), [(1.4, False), (3.8, True)])
def test_distances_across_bridges_are_noted(bridging, is_noted):
    geometry = SpaceGeometry(
        anchors=np.array([0]),
        landmarks=np.array([0, 1]),
        geodesics=np.ones((2, 3)),
        n_neighbors=16,
        spectrum=np.ones(2),
        curve=np.zeros(2),
        disagreement=0.01,
        unit=1.0,
        bridging=bridging,
    )
    choice = _explain_geometry({"A": geometry})["n_neighbors/A"]
    assert choice.is_weak == is_noted
    assert ("DenseGeodesics" in choice.reason) == is_noted
    model = SPLICE()
    model.fitted_ = SimpleNamespace(choices={"n_neighbors/A": choice})
    assert model.notes_ == ([f"Private space A, distances: {choice.reason}."] if is_noted else [])
