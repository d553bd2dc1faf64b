"""Large arrays are mapped from temporary files, and nothing else changes."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewsplice import SPLICE, GeometryConfig, MLPNetworks, TrainConfig, spool
from viewsplice._types import Array
from viewsplice.frontend import most_outputs
from viewsplice.spool import check_room, give_back, read_blocks, room
from viewsplice.views import as_array

MODEL: dict[str, Any] = {
    "n_shared": 1,
    "n_private": 1,
    "recipe": "paper",
    "networks": MLPNetworks((8,)),
    "training": TrainConfig(epochs=2, batch_size=60, restart_passes=1),
    "geometry": GeometryConfig(n_neighbors=10, n_landmarks=20),
    "random_state": 0,
}


def is_mapped(x: Array | None) -> bool:
    while isinstance(x, np.ndarray):
        if isinstance(x, np.memmap):
            return True
        x = x.base
    return False


@pytest.fixture
def _small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_MOST_BYTES", 1000)


@pytest.mark.usefixtures("_small_memory")
def test_large_arrays_are_in_files_that_vanish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert not is_mapped(room((10, 10)))
    large = room((100, 10), np.float64)
    assert is_mapped(large)
    large[:] = 3.5
    assert large.sum() == 3500
    assert list(tmp_path.iterdir()) == [], "the file has no name"


@pytest.mark.usefixtures("_small_memory")
def test_without_disk_they_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "free_disk", lambda: 5000.0)
    assert is_mapped(room((100, 10)))
    assert not is_mapped(room((1000, 10)))


def test_what_has_no_room_is_told_before_any_work(two_views: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("work has begun")

    monkeypatch.setattr(spool, "_MOST_BYTES", 1000)
    monkeypatch.setattr(spool, "free_disk", lambda: 2e4)
    monkeypatch.setattr(spool, "free_memory", lambda: 3e4)
    monkeypatch.setattr("viewsplice.estimator.prepare", never)
    expected = (
        r"this fit needs about 0\.0 GiB \(view 'A' standardized 0\.0, .*distances in A 0\.0.*expected room for it"
    )
    with pytest.raises(ValueError, match=expected):
        SPLICE(**MODEL).fit(two_views)
    with pytest.raises(ValueError, match=r"needs about 4\.0 GiB \(rows 4\.0\), but .* has 0\.0 GiB left"):
        check_room({"rows": 4 * 2**30, "little": 10})
    check_room({"rows": 20_000})
    monkeypatch.setattr(spool, "free_memory", lambda: 1e11)
    check_room({"rows": 4 * 2**30})


def test_wide_views_need_room_for_their_axes_only() -> None:
    assert most_outputs(12_288, 0.99) == 1536
    assert most_outputs(12_288, 1.0) == 12_288
    assert most_outputs(784, 0.99) == 784


def test_the_system_tells_how_much_is_free() -> None:
    assert spool.free_disk() > 0
    assert spool.free_memory() > 2**20


def test_a_fit_from_disk_has_the_same_bits(two_views: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_memory = SPLICE(**MODEL).fit(two_views)
    made: list[Array] = []
    monkeypatch.setattr(spool, "_MOST_BYTES", 1000)
    monkeypatch.setattr("viewsplice.preparation.room", _noting(made))
    monkeypatch.setattr("viewsplice.geometry.clouds.room", _noting(made))
    on_disk = []
    for name, x in zip("ab", two_views, strict=True):
        np.save(tmp_path / f"{name}.npy", x)
        on_disk.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    mapped = SPLICE(**MODEL).fit(on_disk)
    assert len(made) == 2 + 4, "two views, distances of four spaces"
    assert all(is_mapped(x) for x in made)
    assert mapped.history_ == in_memory.history_
    for space, z in mapped.transform(on_disk).spaces().items():
        np.testing.assert_array_equal(z, in_memory.transform(two_views).spaces()[space])
    mapped.save(tmp_path / "mapped.splice")
    in_memory.save(tmp_path / "memory.splice")
    assert (tmp_path / "mapped.splice").read_bytes() == (tmp_path / "memory.splice").read_bytes()


def _noting(made: list[Array]) -> Any:
    def noted(*args: Any) -> Array:
        made.append(room(*args))
        return made[-1]

    return noted


class Slices:
    """Something on disk: only slices can be had, and each is noted."""

    chunks = (10, 3)

    def __init__(self, x: Array) -> None:
        self.x, self.shape, self.dtype, self.asked = x, x.shape, x.dtype, 0

    def __getitem__(self, key: Any) -> Array:
        self.asked += 1
        return self.x[key]


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(spool, "_BLOCK_VALUES", 30)
    return


@pytest.mark.usefixtures("_small_memory", "_small_blocks")
def test_what_is_read_by_slices_is_never_read_at_once() -> None:
    x = np.arange(600.0).reshape(200, 3)
    source = Slices(x)
    found = read_blocks(source)
    np.testing.assert_array_equal(found, x)
    assert is_mapped(found)
    assert source.asked == 20
    np.testing.assert_array_equal(as_array(Slices(x), "A"), x)


@pytest.mark.usefixtures("_small_memory", "_small_blocks")
@pytest.mark.parametrize("kind", ["hdf5", "zarr"])
def test_datasets_are_views(kind: str, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(200, 3))
    if kind == "hdf5":
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "x.h5", "w") as file:
            file.create_dataset("x", data=x, chunks=(10, 3), compression="gzip")
            found = as_array(file["x"], "A")
    else:
        zarr = pytest.importorskip("zarr")
        store = zarr.create_array(str(tmp_path / "x.zarr"), shape=x.shape, chunks=(10, 3), dtype=x.dtype)
        store[:] = x
        found = as_array(zarr.open_array(str(tmp_path / "x.zarr"), mode="r"), "A")
    np.testing.assert_array_equal(found, x)
    assert is_mapped(found)


def test_giving_memory_back_never_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    give_back()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())  # a C library without malloc_trim
    give_back()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: int(name))  # a system where CDLL(None) is a TypeError
    give_back()
