"""What must not matter, for SPLICE and every baseline: the list-input forms of scikit-learn's invariance checks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.utils.estimator_checks as checks
from numpy.typing import NDArray
from sklearn.base import clone

from viewsplice import SPLICE, ColumnSPLICE, GeometryConfig, MLPNetworks, ResidualNetworks, TrainConfig, Views
from viewsplice.baselines import CCA, DCCAE, DMVAE, RRR, DeepCCA, Karakasis, Lyu

X = NDArray[np.float64]
Pair = tuple[X, ...]

NETWORKS = MLPNetworks((8,))
TRAINING = TrainConfig(epochs=1, batch_size=60)
NEURAL: dict[str, Any] = {"networks": NETWORKS, "training": TRAINING, "random_state": 0}
QUICK = TrainConfig(epochs=1, batch_size=60, scout_epochs=1, regression_epochs=1)
ESTIMATORS: dict[str, Any] = {
    "paper": SPLICE(1, 1, recipe="paper", geometry=None, **NEURAL),
    "auto": SPLICE(
        1,
        1,
        networks=ResidualNetworks(8, 1, n_frequencies=2),
        training=QUICK,
        geometry=GeometryConfig(n_neighbors=10, grow_by=1, n_landmarks=8),
        random_state=0,
    ),
    "RRR": RRR(2, random_state=0),
    "CCA": CCA(2, random_state=0),
    "DeepCCA": DeepCCA(1, **NEURAL),
    "DCCAE": DCCAE(1, **NEURAL),
    "Karakasis": Karakasis(1, **NEURAL),
    "Lyu": Lyu(1, 1, **NEURAL),
    "DMVAE": DMVAE(1, 1, **NEURAL),
}
CLASSES = [SPLICE, ColumnSPLICE, RRR, CCA, DeepCCA, DCCAE, Karakasis, Lyu, DMVAE]

# What scikit-learn asks of an estimator before it sees data; which of them exist depends on its version.
NO_DATA_CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_get_params_invariance",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_mixin_order",
]


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", [name for name in NO_DATA_CHECKS if hasattr(checks, name)])
def test_checks_without_data(name: str, kind: type[Any]) -> None:
    getattr(checks, name)(kind.__name__, kind())


def test_enough_checks_exist() -> None:
    assert sum(hasattr(checks, name) for name in NO_DATA_CHECKS) >= 9


@pytest.fixture(scope="module")
def views() -> list[X]:
    rng = np.random.default_rng(1)
    shared = rng.uniform(-1, 1, size=(150, 1))
    factors = [np.hstack([shared, rng.uniform(-1, 1, size=(150, 1))]) for _ in range(2)]
    return [
        np.tanh(f @ rng.normal(size=(2, w))) + 0.01 * rng.normal(size=(150, w))
        for f, w in zip(factors, (9, 7), strict=True)
    ]


@pytest.fixture(scope="module", params=ESTIMATORS)
def fitted(request: pytest.FixtureRequest, views: list[X]) -> Any:
    """Each estimator after one fit; nothing below may change it."""
    return clone(ESTIMATORS[request.param]).fit(views)


def outputs(model: Any, views: Any) -> dict[str, X]:
    """Return all that a model makes of some rows."""
    found = {f"latents/{name}": z for name, z in model.transform(views).spaces().items()}
    if hasattr(model, "reconstruct"):
        found |= {f"reconstruct/{name}": x for name, x in model.reconstruct(views).items()}
    if hasattr(model, "predict"):
        found["predict"] = model.predict("B", {"A": Views(views)["A"]})
    return found


def assert_same(found: dict[str, X], expected: dict[str, X], *, rtol: float = 0.0, rows: Any = ...) -> None:
    """Compare what was made of some rows with those rows of all; ``rtol`` is a fraction of the largest value of all."""
    assert found.keys() == expected.keys()
    for name, x in expected.items():
        scale = rtol * float(np.abs(x).max(initial=0))
        np.testing.assert_allclose(found[name], x[rows], rtol=0, atol=scale, err_msg=name)


def test_rows_do_not_depend_on_their_order(fitted: Any, views: list[X]) -> None:
    order = np.random.default_rng(0).permutation(150)
    # On whole tiles of rows no bit changes on most processors; on some the order of sums depends on a row's place.
    rtol = 1e-12 if isinstance(fitted, RRR | CCA) else 1e-6
    assert_same(outputs(fitted, [x[order] for x in views]), outputs(fitted, views), rtol=rtol, rows=order)


@pytest.mark.parametrize("size", [1, 7, 64, 149])
def test_rows_do_not_depend_on_their_company(fitted: Any, views: list[X], size: int) -> None:
    expected = outputs(fitted, views)
    starts = range(0, 150, size) if size > 1 else range(0, 150, 31)
    for start in starts:
        rows = slice(start, start + size)
        found = outputs(fitted, [x[rows] for x in views])
        # Products of other sizes may be summed in another order.
        assert_same(found, expected, rtol=1e-6, rows=rows)


def read_only_map(x: X, folder: Path) -> Any:
    np.save(folder / f"{x.shape[1]}.npy", x)
    return np.load(folder / f"{x.shape[1]}.npy", mmap_mode="r")


LAYOUTS: dict[str, Callable[[X, Path], Any]] = {
    "Fortran order": lambda x, _: np.asfortranarray(x),
    "negative strides": lambda x, _: x[::-1, ::-1].copy()[::-1, ::-1],
    "every second column": lambda x, _: np.repeat(x, 2, axis=1)[:, ::2],
    "read-only memory map": read_only_map,
    "read-only": lambda x, _: np.frombuffer(x.tobytes()).reshape(x.shape),
    "other byte order": lambda x, _: x.astype(x.dtype.newbyteorder()),
    "objects": lambda x, _: x.astype(object),
    "nested lists": lambda x, _: x.tolist(),
}


# Fitting takes longest, and what it does to an array is the same for most of these.
FITTED_TOO = ("negative strides", "read-only memory map", "objects")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_layout_does_not_matter(fitted: Any, views: list[X], layout: str, tmp_path: Path) -> None:
    given = [LAYOUTS[layout](x, tmp_path) for x in views]
    rtol = 1e-9 if isinstance(fitted, RRR | CCA) else 0.0
    expected = outputs(fitted, views)
    assert_same(outputs(fitted, given), expected, rtol=rtol)
    if layout in FITTED_TOO:
        assert_same(outputs(clone(fitted).fit(given), given), expected, rtol=rtol)


def test_types_of_equal_values_do_not_matter(fitted: Any, views: list[X]) -> None:
    whole = [np.round(100 * (x - x.min()) / np.ptp(x)) for x in views]
    expected = outputs(clone(fitted).fit(whole), whole)
    for dtype in ("f4", "u1", ">i2"):
        given = [x.astype(dtype) for x in whole]
        found = outputs(clone(fitted).fit(given), given)
        rtol = 1e-9 if isinstance(fitted, RRR | CCA) else 0.0
        assert_same(
            {name: x for name, x in found.items() if name.startswith("latents/")},
            {name: x for name, x in expected.items() if name.startswith("latents/")},
            rtol=rtol,
        )
        kind = np.float32 if dtype == "f4" else np.float64
        assert {x.dtype for name, x in found.items() if not name.startswith("latents/")} <= {np.dtype(kind)}


def test_inputs_and_settings_are_left_as_they_are(fitted: Any, views: list[X]) -> None:
    copies, params = [x.copy() for x in views], clone(fitted).get_params()
    again = clone(fitted).fit(views)
    outputs(again, views)
    for x, copy in zip(views, copies, strict=True):
        np.testing.assert_array_equal(x, copy)
    assert again.get_params() == params


def test_fit_is_idempotent(fitted: Any, views: list[X]) -> None:
    expected = outputs(fitted, views)
    again = clone(fitted).fit([x[:100] for x in views]).fit(views)
    assert_same(outputs(again, views), expected)


def test_transform_changes_no_state(fitted: Any, views: list[X]) -> None:
    before = pickle.dumps({name: value for name, value in vars(fitted).items() if name not in ("fitted_", "net_")})
    expected = outputs(fitted, views)
    after = pickle.dumps({name: value for name, value in vars(fitted).items() if name not in ("fitted_", "net_")})
    assert before == after
    assert_same(outputs(fitted, views), expected)


def test_models_travel_between_processes(fitted: Any, views: list[X]) -> None:
    assert_same(outputs(pickle.loads(pickle.dumps(fitted)), views), outputs(fitted, views))
