from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from viewsplice.config import GeometryConfig, TrainConfig
from viewsplice.frontend import Standardizer
from viewsplice.preparation import Prepared, check_enough_rows, choose_device, loss_units, prepare
from viewsplice.views import Views

RNG = np.random.default_rng(0)
TRAINING = TrainConfig.paper()
A, B = RNG.normal(5, 3, size=(20, 4)), RNG.normal(size=(20, 2, 3))


def _prepare(views: Any = None, validation: Any = 0.1, groups: Any = None, seed: int = 0) -> Prepared:
    made = Views({"A": A, "B": B}) if views is None else Views(views)
    return prepare(made, groups, validation, device=torch.device("cpu"), training=TRAINING, seed=seed)


def test_tensors_are_flat_single_precision_and_standardized_on_the_training_rows() -> None:
    prepared = _prepare(validation=[0, 1, 2, 3])
    assert prepared.split["train"].tolist() == list(range(4, 20))
    assert prepared.split["validation"].tolist() == [0, 1, 2, 3]
    for name, width in (("A", 4), ("B", 6)):
        x = prepared.data.views[name]
        assert (x.shape, x.dtype) == ((20, width), torch.float32)
        train = x[prepared.data.train]
        np.testing.assert_allclose(train.mean(dim=0), np.zeros(width), atol=1e-6)
        assert train.var(dim=0, correction=0).mean() == pytest.approx(1, rel=1e-5)
    assert prepared.scales == {name: s.scale for name, s in prepared.standardizers.items()}


def test_validation_views_are_appended_and_not_learned_from() -> None:
    held_out = {"B": B[:5], "A": A[:5]}
    views = {"A": A[5:], "B": B[5:]}
    given, named = (
        _prepare(views, held_out),
        _prepare({"A": np.vstack([A[5:], A[:5]]), "B": np.vstack([B[5:], B[:5]])}, np.arange(15, 20)),
    )
    for name in ("A", "B"):
        assert torch.equal(given.data.views[name], named.data.views[name])
    for part in ("train", "validation"):
        np.testing.assert_array_equal(given.split[part], named.split[part])
    assert given.data.validation.tolist() == [15, 16, 17, 18, 19]


@pytest.mark.parametrize("form", [Views([A[:5], B[:5]]), [A[:5], B[:5]], (A[:5], B[:5]), {"A": A[:5], "B": B[:5]}])
def test_validation_views_come_in_every_form(form: Any) -> None:
    assert len(_prepare(validation=form).data.validation) == 5


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        ({"A": A[:5]}, r"validation has views \{'A': \(4,\)\}; expected the same as the training views"),
        ({"A": A[:5], "x": B[:5]}, "validation has views"),
        ([A[:5, :3], B[:5]], r"validation has views \{'A': \(3,\), 'B': \(2, 3\)\}"),
        ([A[:5], B[:5] * np.nan], "view 'B' has 30 non-finite values"),
        ([A[:5], B[:4]], "views have different numbers of rows"),
        ([A, B, B], "got 3 views; expected at most 2"),
    ],
)
def test_validation_views_that_do_not_fit(validation: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _prepare(validation=validation)


def test_views_are_checked_before_anything_else() -> None:
    with pytest.raises(ValueError, match="got one view, 'A'; expected two or more paired views"):
        _prepare({"A": A})
    with pytest.raises(ValueError, match="only 1 row is left for training, of 1; expected many paired rows"):
        _prepare({"A": A[:1], "B": B[:1]})
    with pytest.raises(ValueError, match="only 1 row is left for training, of 2"):
        _prepare({"A": A[:2], "B": B[:2]})
    with pytest.raises(ValueError, match="view 'A' has 80 non-finite values"):
        _prepare({"A": A * np.inf, "B": B})
    with pytest.raises(ValueError, match="view 'B' is constant: all 18 training rows are equal"):
        _prepare({"A": A, "B": np.ones((20, 2))})


def test_groups_given_to_fit_override_those_of_the_views() -> None:
    views = Views([A, B], groups=np.arange(20))
    halves = np.repeat([0, 1], 10)
    split = _prepare(views, 0.1, halves).split
    assert len(split["validation"]) == 10
    assert len(_prepare(views, 0.1).split["validation"]) == 2
    assert len(set(halves[split["validation"]])) == 1


def test_the_split_depends_on_the_seed_only() -> None:
    first, again, other = (_prepare(validation=0.3, seed=seed).split["validation"].tolist() for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_the_users_arrays_are_not_changed() -> None:
    x, y = A.copy(), B.copy()
    x.setflags(write=False)
    _prepare({"A": x, "B": y})
    np.testing.assert_array_equal(x, A)
    np.testing.assert_array_equal(y, B)


def test_units_make_fractions_of_variance_or_means_over_features() -> None:
    standardizers = {"A": Standardizer(mean=np.zeros(3), scale=2.0, shape=(3,), dtype="float64")}
    error = np.array([1.0, 2.0, 2.0])  # squared error 9, of a total variance 3 x 2^2 = 12
    squared = float(((error / 2.0) ** 2).sum())
    assert squared / loss_units(standardizers, "fraction")["A"] == pytest.approx(9 / 12)
    assert squared / loss_units(standardizers, "mean")["A"] == pytest.approx(9 / 3)


GEOMETRY = GeometryConfig.paper()


@pytest.mark.parametrize(
    ("training", "geometry", "n_private", "least", "message"),
    [
        ({"batch_size": 50}, None, 1, 50, "batch_size=50 needs at least 50: add rows or lower training.batch_size"),
        ({"batch_size": 1}, None, 8, 9, "a latent space of width 8 needs at least 9: add rows or lower the width"),
        (
            {"batch_size": 1},
            {"n_landmarks": 30, "n_neighbors": 5},
            1,
            30,
            "n_landmarks=30 needs at least 30: add rows or lower geometry.n_landmarks",
        ),
        (
            {"batch_size": 1},
            {"n_landmarks": 3, "n_neighbors": 40},
            1,
            41,
            "n_neighbors=40 needs at least 41: add rows or lower geometry.n_neighbors",
        ),
    ],
)
def test_rows_must_suffice(
    training: dict[str, int], geometry: dict[str, int] | None, n_private: int, least: int, message: str
) -> None:
    settings = TrainConfig(**training).resolve(TrainConfig.paper())  # type: ignore[arg-type]
    shape = None if geometry is None else GeometryConfig(**geometry).resolve(GEOMETRY)  # type: ignore[arg-type]
    widths = {"A": n_private, "B": None, "A->B": 1, "B->A": 0}
    check_enough_rows(least, settings, shape, widths)
    with pytest.raises(ValueError, match=f"got {least - 1} training rows; {message}"):
        check_enough_rows(least - 1, settings, shape, widths)


def test_another_distance_needs_no_neighbors() -> None:
    settings = TrainConfig(batch_size=2).resolve(TrainConfig.paper())
    geometry = GeometryConfig(n_landmarks=2, n_neighbors=100, distance=lambda points, rows: points).resolve(GEOMETRY)
    check_enough_rows(5, settings, geometry, {"A": 1, "A->B": 1})


def test_devices() -> None:
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device("auto").type in ("cpu", "cuda")
    for wrong in ("gpu", "cuda:99", 3.5):
        with pytest.raises(ValueError, match=r"device is .*, which torch cannot use here; expected 'auto' or such as"):
            choose_device(wrong)  # type: ignore[arg-type]
