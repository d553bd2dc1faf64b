"""A fit that is interrupted goes on and ends with the same bits."""

from __future__ import annotations

import errno
import math
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from viewsplice import SPLICE, EpochEvent, GeometryConfig, MLPNetworks, ResidualNetworks, TrainConfig
from viewsplice.training import checkpoints

PAPER: dict[str, Any] = {
    "n_shared": 1,
    "n_private": 1,
    "recipe": "paper",
    "networks": MLPNetworks((16,)),
    "training": TrainConfig(epochs=6, batch_size=60, restart_every=0.4, restart_passes=2, disentangle_after=0.4),
    "geometry": GeometryConfig(n_neighbors=10, n_landmarks=20),
    "random_state": 3,
}
AUTO: dict[str, Any] = {
    "networks": ResidualNetworks(width=16, n_blocks=1, n_frequencies=4),
    "training": TrainConfig(epochs=4, scout_epochs=4, regression_epochs=2, batch_size=60, restart_passes=2, patience=2),
    "random_state": 0,
}
LEARNS: dict[str, Any] = {"paper": PAPER, "auto": AUTO}


class Interrupted(Exception):
    """Stands for anything that ends a process."""


@pytest.fixture(autouse=True)
def _every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "_SECONDS_BETWEEN_FILES", 0.0)
    monkeypatch.setattr(checkpoints, "_WRITINGS_BETWEEN_FILES", 0)


def fit(params: dict[str, Any], views: Any, folder: Path | None, *, most: float = math.inf) -> tuple[SPLICE, int]:
    """Return a fit and its number of epochs; interrupted after ``most`` of them."""
    seen = 0

    def count(_: EpochEvent) -> None:
        nonlocal seen
        seen += 1
        if seen > most:
            raise Interrupted

    return SPLICE(**params).fit(views, callbacks=[count], checkpoint=folder), seen


def saved(model: SPLICE, path: Path) -> bytes:
    model.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("recipe", LEARNS)
def test_interrupted_after_every_epoch_it_ends_with_the_same_bits(recipe: str, two_views: Any, tmp_path: Path) -> None:
    whole, n_epochs = fit(LEARNS[recipe], two_views, None)
    folder = tmp_path / "kept"
    for _ in range(n_epochs):
        try:
            again, seen = fit(LEARNS[recipe], two_views, folder, most=1)
        except Interrupted:
            continue
        break
    assert seen <= 1
    assert saved(again, tmp_path / "again.splice") == saved(whole, tmp_path / "whole.splice")
    assert again.history_ == whole.history_
    # What is finished is not done again.
    assert fit(LEARNS[recipe], two_views, folder)[1] == 0


def test_another_fit_neither_uses_nor_destroys_it(two_views: Any, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        fit(PAPER, two_views, tmp_path, most=4)
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    a, b = two_views
    changed = a.copy()
    changed[7, 3] += 0.5
    for params, views in (({**PAPER, "random_state": 4}, (a, b)), (PAPER, (changed, b)), (PAPER, (b, a))):
        alone, _ = fit(params, views, None)
        beside, seen = fit(params, views, tmp_path)
        assert seen == len(beside.history_)
        assert beside.history_ == alone.history_
    assert kept.items() <= {path.name: path.read_bytes() for path in tmp_path.iterdir()}.items()


def test_a_damaged_file_is_told_in_one_sentence(two_views: Any, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        fit(PAPER, two_views, tmp_path, most=4)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for damage in (whole[: len(whole) // 2], b"", whole.replace(b"checkpoint 1", b"checkpoint 9")):
        path.write_bytes(damage)
        with pytest.raises(ValueError, match=r"is damaged \(.*\); expected what a fit wrote: remove the file"):
            fit(PAPER, two_views, tmp_path)


def test_a_full_disk_leaves_the_file_before_and_the_fit_goes_on(
    two_views: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = fit(PAPER, two_views, None)
    with pytest.raises(Interrupted):
        fit(PAPER, two_views, tmp_path, most=3)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.warns(UserWarning, match="the fit goes on, but could not write .*No space left on device"):
        again, _ = fit(PAPER, two_views, tmp_path)
    assert again.history_ == whole.history_
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_a_killed_process_left_half_written_goes_and_what_another_writes_stays(
    two_views: Any, tmp_path: Path
) -> None:
    left, open_now = (tmp_path / f".{digit * 32}.tmp" for digit in "ab")
    for path in (left, open_now):
        path.write_bytes(b"half")
    os.utime(left, (time.time() - 3600,) * 2)
    with pytest.raises(Interrupted):
        fit(PAPER, two_views, tmp_path, most=2)
    assert not left.exists()
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".safetensors", ".tmp"]


def test_files_are_written_now_and_then(two_views: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    write = checkpoints.write_atomic
    monkeypatch.setattr(checkpoints, "write_atomic", lambda path, data: (written.append(path.name), write(path, data)))
    monkeypatch.setattr(checkpoints, "_SECONDS_BETWEEN_FILES", 1e9)
    fit(PAPER, two_views, tmp_path)
    assert len(written) == 2, "one for each stage, at its end"


def test_a_diverged_attempt_is_gone_through_again(two_views: Any, tmp_path: Path) -> None:
    training = TrainConfig(epochs=4, batch_size=60, learning_rate=1e18, max_restarts=1, restart_passes=1)
    params = {**PAPER, "training": training, "geometry": None}
    from viewsplice import TrainingDivergedError

    histories = []
    for folder in (None, tmp_path, tmp_path):
        with pytest.raises(TrainingDivergedError) as caught:
            fit(params, two_views, folder)
        histories.append([{name: str(value) for name, value in row.items()} for row in caught.value.history])
    assert histories[0] == histories[1] == histories[2]


def test_rows_of_validation_belong_to_the_fit(two_views: Any, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        fit(PAPER, two_views, tmp_path, most=2)
    model = SPLICE(**PAPER).fit(two_views, validation=np.arange(40), checkpoint=tmp_path)
    assert len({path.name.split("-")[0] for path in tmp_path.iterdir()}) == 2
    assert len(model.history_) == 12
