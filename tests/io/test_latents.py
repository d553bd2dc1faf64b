"""Tests of latents as a file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from viewsplice._types import Array, Latents
from viewsplice.io import read_column, read_latents, write_latents
from viewsplice.io.problems import InputFileError


@pytest.fixture
def latents() -> Latents[Array]:
    """Return four rows; the private space of "B 2" has width 0."""
    return Latents(
        private={"A": np.arange(8.0, dtype=np.float32).reshape(4, 2), "B 2": np.zeros((4, 0))},
        shared={"B 2->A": np.full((4, 1), 3.0), "A->B 2": np.full((4, 1), 2.0)},
    )


def test_there_and_back(tmp_path: Path, latents: Latents[Array]) -> None:
    write_latents(tmp_path / "x.npz", latents, {"train": np.array([3, 0, 1]), "validation": np.array([2])})
    back = read_latents(tmp_path / "x.npz")
    assert list(back.private) == ["A", "B 2"]
    assert list(back.shared) == ["B 2->A", "A->B 2"]
    for name, space in latents.spaces().items():
        np.testing.assert_array_equal(back.spaces()[name], space, strict=True)


def test_the_file_is_a_plain_npz(tmp_path: Path, latents: Latents[Array]) -> None:
    write_latents(tmp_path / "x.npz", latents, {"train": np.array([3, 0, 1]), "validation": np.array([2])})
    with np.load(tmp_path / "x.npz", allow_pickle=False) as archive:
        assert archive.files == ["private/A", "private/B 2", "shared/B 2->A", "shared/A->B 2", "split"]
        assert archive["split"].tolist() == ["train", "train", "validation", "train"]
    assert read_column(f"{tmp_path}/x.npz:split").tolist() == ["train", "train", "validation", "train"]


def test_equal_latents_give_equal_bytes(
    tmp_path: Path, latents: Latents[Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_latents(tmp_path / "x.npz", latents, {})
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 0, 0, 0, 0, 0, 0))
    write_latents(tmp_path / "y.npz", latents, {})
    assert (tmp_path / "x.npz").read_bytes() == (tmp_path / "y.npz").read_bytes()


def test_split_by_mask_with_rows_left_over(tmp_path: Path, latents: Latents[Array]) -> None:
    mask = np.array([True, False, True, False])
    write_latents(tmp_path / "x.npz", latents, {"train": mask, "validation": np.array([], dtype=int)})
    assert np.load(tmp_path / "x.npz")["split"].tolist() == ["train", "", "train", ""]


def test_without_split(tmp_path: Path, latents: Latents[Array]) -> None:
    write_latents(tmp_path / "x.npz", latents, {})
    assert "split" not in np.load(tmp_path / "x.npz").files


def test_one_kind_of_latents(tmp_path: Path, latents: Latents[Array]) -> None:
    write_latents(tmp_path / "private.npz", Latents(private=latents.private, shared={}), {})
    write_latents(tmp_path / "shared.npz", Latents(private={}, shared=latents.shared), {})
    assert list(read_latents(tmp_path / "private.npz").spaces()) == ["A", "B 2"]
    assert list(read_latents(tmp_path / "shared.npz").spaces()) == ["B 2->A", "A->B 2"]


def test_overlapping_parts(tmp_path: Path, latents: Latents[Array]) -> None:
    with pytest.raises(ValueError, match=r"split 'validation' shares 1 rows with another part"):
        write_latents(tmp_path / "x.npz", latents, {"train": np.array([0, 1]), "validation": np.array([1, 2])})
    assert os.listdir(tmp_path) == []


def test_files_without_latents(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.zeros(3))
    np.save(tmp_path / "y.npy", np.zeros(3))
    with pytest.raises(InputFileError, match=r"x.npz holds no latents; expected arrays named private/VIEW"):
        read_latents(tmp_path / "x.npz")
    with pytest.raises(InputFileError, match=r"y.npy cannot be read as a latents.npz file"):
        read_latents(tmp_path / "y.npy")
    with pytest.raises(InputFileError, match=r"z.npz does not exist"):
        read_latents(tmp_path / "z.npz")
