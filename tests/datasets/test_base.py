"""MultiViewData keeps views, truth and split together; splits are disjoint and respect groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from viewsplice._types import Array
from viewsplice.datasets import MultiViewData, mix_parts, random_split
from viewsplice.views import Views

SPLIT = {"train": np.array([0, 3]), "validation": np.array([1]), "test": np.array([2])}


def make(**changes: Any) -> MultiViewData:
    fields: dict[str, Any] = {
        "views": Views({"A": np.arange(8.0).reshape(4, 2), "B": np.arange(4.0)[:, None]}),
        "shared": {"x": np.arange(4.0)},
        "private": {"B": {"position": np.arange(4.0) * 10}},
        "groups": None,
        "split": SPLIT,
    }
    return MultiViewData(**{**fields, **changes})


def test_factors_are_flat_and_named_by_view() -> None:
    data = make()
    assert list(data.factors()) == ["x", "B/position"]
    assert len(data) == 4


def test_rows_take_the_same_rows_of_everything() -> None:
    groups = np.array(["a", "b", "c", "a"])
    details = {"centers": np.zeros(7)}
    part = make(groups=groups, details=details).rows("train")
    np.testing.assert_array_equal(part.views["A"], [[0, 1], [6, 7]])
    np.testing.assert_array_equal(part.shared["x"], [0, 3])
    np.testing.assert_array_equal(part.private["B"]["position"], [0, 30])
    np.testing.assert_array_equal(part.groups, ["a", "a"])
    np.testing.assert_array_equal(part.views.groups, ["a", "a"])
    assert list(part.split) == ["train"]
    np.testing.assert_array_equal(part.split["train"], [0, 1])
    assert part.details is details


def test_covariates_follow_the_rows_and_are_no_factors() -> None:
    data = make(covariates={"time": np.arange(4.0) * 2, "label": np.array(["a", "b", "c", "d"])})
    part = data.rows("train")
    np.testing.assert_array_equal(part.covariates["time"], [0, 6])
    np.testing.assert_array_equal(part.covariates["label"], ["a", "d"])
    assert list(data.factors()) == ["x", "B/position"]
    assert make().covariates == {}


def test_covariates_of_wrong_length_raise() -> None:
    with pytest.raises(ValueError, match=r"covariate 'time' has shape \(3,\); expected one value per row: \(4,\)"):
        make(covariates={"time": np.zeros(3)})


def test_groups_reach_the_views_and_come_from_them() -> None:
    groups = np.array([0, 1, 2, 0])
    np.testing.assert_array_equal(make(groups=groups).views.groups, groups)
    np.testing.assert_array_equal(make(views=Views([np.zeros((4, 1))] * 2, groups=groups)).groups, groups)


def test_groups_that_disagree_raise() -> None:
    views = Views([np.zeros((4, 1))] * 2, groups=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="groups differ"):
        make(views=views, groups=np.array([0, 1, 1, 1]))


@pytest.mark.parametrize(
    "split",
    [
        {},
        {"train": np.array([0, 1]), "test": np.array([2])},
        {"train": np.array([0, 1, 2]), "test": np.array([2, 3])},
        {"train": np.array([0, 1, 2]), "test": np.array([2])},
    ],
)
def test_a_split_that_overlaps_or_leaves_rows_out_raises(split: dict[str, Array]) -> None:
    with pytest.raises(ValueError, match="disjoint parts that cover every row once"):
        make(split=split)


def test_factors_of_wrong_length_or_view_raise() -> None:
    with pytest.raises(ValueError, match=r"factor 'x' has shape \(3,\)"):
        make(shared={"x": np.zeros(3)})
    with pytest.raises(ValueError, match=r"name the views \['C'\]"):
        make(private={"C": {"position": np.zeros(4)}})


def test_an_unknown_part_raises() -> None:
    with pytest.raises(ValueError, match="got part 'dev'"):
        make().rows("dev")


def test_split_of_the_simulation_has_the_published_sizes() -> None:
    split = random_split(18900, generator=np.random.default_rng(0))
    assert {name: len(rows) for name, rows in split.items()} == {"train": 12096, "validation": 3024, "test": 3780}
    np.testing.assert_array_equal(np.sort(np.concatenate(list(split.values()))), np.arange(18900))


def test_split_is_random_and_repeatable() -> None:
    first, again, other = (random_split(100, generator=np.random.default_rng(seed))["test"] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, np.arange(80, 100))


def test_split_never_divides_a_group() -> None:
    groups = np.repeat([f"g{i}" for i in range(60)], np.arange(60) % 5 + 1)
    split = random_split(len(groups), generator=np.random.default_rng(3), groups=groups)
    labels = [set(groups[rows]) for rows in split.values()]
    assert sum(map(len, labels)) == len(set.union(*labels)) == 60
    np.testing.assert_allclose([len(rows) / len(groups) for rows in split.values()], [0.64, 0.16, 0.20], atol=0.03)


def test_a_group_goes_where_its_middle_lies() -> None:
    # Middles at 5, 15 and 25 of 30 rows, cut at 18.
    split = random_split(30, (0.6, 0.0, 0.4), generator=np.random.default_rng(0), groups=np.arange(30) % 3)
    assert [len(rows) for rows in split.values()] == [20, 0, 10]


def test_a_fraction_of_zero_gives_an_empty_part() -> None:
    split = random_split(10, (0.5, 0.0, 0.5), generator=np.random.default_rng(0))
    assert [len(rows) for rows in split.values()] == [5, 0, 5]


def test_impossible_splits_raise() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(ValueError, match="sum to 1"):
        random_split(10, (0.5, 0.2, 0.2), generator=generator)
    with pytest.raises(ValueError, match="sum to 1"):
        random_split(10, (1.2, -0.4, 0.2), generator=generator)
    with pytest.raises(ValueError, match="2 rows leave the parts"):
        random_split(2, generator=generator)
    with pytest.raises(ValueError, match="1 groups leave the parts"):
        random_split(4, generator=generator, groups=np.zeros(4))
    with pytest.raises(ValueError, match=r"groups has shape \(3,\)"):
        random_split(4, generator=generator, groups=np.zeros(3))


def test_mixture_is_shared_plus_private_with_the_ratio_asked_for() -> None:
    generator = np.random.default_rng(0)
    shared, private = generator.standard_normal((500, 4)) * [1, 2, 3, 4], generator.uniform(size=(500, 4)) + 7
    x = mix_parts(shared, private, private_to_shared=3.0, noise=0.0, generator=generator)
    a = np.sqrt(0.25 / shared.var(axis=0).mean())
    b = np.sqrt(0.75 / private.var(axis=0).mean())
    assert x.dtype == np.float32
    np.testing.assert_allclose(x, a * shared + b * private, rtol=1e-5, atol=1e-5)


def test_noise_has_one_sd_and_the_variance_asked_for() -> None:
    generator = np.random.default_rng(0)
    shared, private = generator.standard_normal((2, 20000, 3)) * [[[1, 1, 5]], [[1, 5, 1]]]
    kwargs = {"private_to_shared": 1.0, "generator": generator}
    clean = mix_parts(shared, private, noise=0.0, **kwargs)
    noise = mix_parts(shared, private, noise=0.4, **kwargs) - clean
    np.testing.assert_allclose(noise.var(axis=0), 0.4 * clean.var(axis=0).mean(), rtol=0.05)


def test_a_constant_part_stays() -> None:
    s = np.array([[-1.0], [1.0]])
    x = mix_parts(s, np.zeros((2, 1)), private_to_shared=1.0, noise=0.0, generator=np.random.default_rng(0))
    np.testing.assert_allclose(x, np.sqrt(0.5) * s, rtol=1e-6)


@pytest.mark.parametrize("name", ["private_to_shared", "noise"])
@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan])
def test_mixtures_reject_negative_or_infinite_ratios(name: str, value: float) -> None:
    arguments = {"private_to_shared": 1.0, "noise": 0.0, name: value}
    with pytest.raises(ValueError, match=f"{name} is"):
        mix_parts(np.eye(2), np.eye(2), generator=np.random.default_rng(0), **arguments)
