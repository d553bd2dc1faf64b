"""The IDX reader refuses damaged files; a digit keeps its angle and its part."""

from __future__ import annotations

import gzip
import os
import struct
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
from scipy.stats import kstest

from viewsplice._types import Array
from viewsplice.datasets import mnist, rotated_mnist

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
N_TRAIN, N_TEST = 120, 20
REAL = Path(os.environ.get("VIEWSPLICE_DATA") or Path(__file__).parents[3] / "shared" / "data")
needs_mnist = pytest.mark.skipif(
    not any(REAL.glob(f"{TEST_LABELS}*")) and not any(REAL.glob(f"mnist/{TEST_LABELS}*")),
    reason="the MNIST files are not here: set VIEWSPLICE_DATA to their folder",
)


def idx(values: Array, shape: tuple[int, ...] | None = None, kind: int = 8) -> bytes:
    """Return an IDX file; shape and kind may lie."""
    shape = shape or values.shape
    return struct.pack(f">HBB{len(shape)}I", 0, kind, len(shape), *shape) + values.astype(np.uint8).tobytes()


def stand_in_files() -> dict[str, Array]:
    """Return 120 + 20 images of noise, each with its own number, training set first, in the first two pixels."""
    rng = np.random.default_rng(7)
    images = rng.integers(0, 256, (N_TRAIN + N_TEST, 28, 28))
    images[:, 0, 0], images[:, 0, 1] = np.arange(N_TRAIN + N_TEST), 0
    labels = rng.integers(0, 10, N_TRAIN + N_TEST)
    return {
        TRAIN_IMAGES: images[:N_TRAIN],
        TRAIN_LABELS: labels[:N_TRAIN],
        TEST_IMAGES: images[N_TRAIN:],
        TEST_LABELS: labels[N_TRAIN:],
    }


def write(folder: Path, zipped: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in stand_in_files().items():
        if zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(idx(values)))
        else:
            (folder / name).write_bytes(idx(values))
    return folder


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    return write(tmp_path / "files")


@pytest.fixture(params=[pytest.param("mnist", marks=needs_mnist), "stand-in"])
def folder(request: pytest.FixtureRequest, stand_in: Path) -> Path:
    """The real files where there are some, and generated ones always."""
    return REAL if request.param == "mnist" else stand_in


@pytest.fixture(autouse=True)
def _no_internet(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise URLError("no route to host")

    monkeypatch.delenv("VIEWSPLICE_DATA", raising=False)
    monkeypatch.setattr(mnist, "fetch_openml", refuse)


def numbers(upright: Array) -> Array:
    """Return which images of the stand-in these are."""
    return np.rint(upright[:, 0, 0] * 255).astype(int)


# The data set


def test_views_are_digits_and_their_rotations(
    folder: Path, reference_rotation: Callable[[Array, float], Array]
) -> None:
    data = rotated_mnist(70, data=folder)
    assert len(data) == 70
    assert list(data.factors()) == ["digit", "B/angle"]
    angle, digit = data.private["B"]["angle"], data.shared["digit"]
    assert digit.dtype.kind == "i"
    assert set(digit) <= set(range(10))
    assert np.all((angle >= 0) & (angle < 360))
    assert len(np.unique(angle)) == 70
    for view in data.views.arrays.values():
        assert (view.shape, view.dtype) == ((70, 28, 28), np.float32)
        assert view.min() == 0
        assert 0.9 < view.max() <= 1
    for i in range(0, 70, 10):
        expected = reference_rotation(data.views["A"][i].astype(np.float64), angle[i])
        np.testing.assert_allclose(data.views["B"][i], expected, atol=1e-5)


def test_parts_keep_their_proportions_at_every_size(folder: Path) -> None:
    for n, sizes in {3: (1, 1, 1), 4: (2, 1, 1), 7: (5, 1, 1), 70: (50, 10, 10), 100: (72, 14, 14)}.items():
        data = rotated_mnist(n, data=folder)
        assert tuple(len(data.split[part]) for part in ("train", "validation", "test")) == sizes


@needs_mnist
def test_all_of_mnist() -> None:
    data = rotated_mnist(data=REAL)
    assert {part: len(rows) for part, rows in data.split.items()} == {
        "train": 50_000,
        "validation": 10_000,
        "test": 10_000,
    }
    np.testing.assert_array_equal(data.split["test"], np.arange(60_000, 70_000))
    # Known of the original files: their first digits, how often each digit occurs, and the mean pixel.
    assert data.shared["digit"][:5].tolist() == [5, 0, 4, 1, 9]
    assert data.shared["digit"][60_000:60_005].tolist() == [7, 2, 1, 0, 4]
    counts = np.bincount(data.shared["digit"])
    assert counts.tolist() == [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
    assert data.views["A"][:60_000].mean(dtype=np.float64) == pytest.approx(0.1307, abs=5e-5)
    assert kstest(data.private["B"]["angle"] / 360, "uniform").pvalue > 0.001
    assert data.views["B"].max() <= 1


def test_test_rows_come_from_the_test_files(stand_in: Path) -> None:
    files = stand_in_files()
    labels = np.concatenate([files[TRAIN_LABELS], files[TEST_LABELS]])
    images = np.concatenate([files[TRAIN_IMAGES], files[TEST_IMAGES]])
    for n in (None, 60):
        data = rotated_mnist(n, data=stand_in)
        number = numbers(data.views["A"])
        np.testing.assert_array_equal(data.shared["digit"], labels[number])
        np.testing.assert_allclose(data.views["A"], images[number] / 255, rtol=1e-6)
        assert np.all(np.diff(number) > 0)
        assert number[data.split["test"]].min() >= N_TRAIN
        assert number[np.r_[data.split["train"], data.split["validation"]]].max() < N_TRAIN


def test_a_smaller_sample_is_part_of_each_part_with_the_same_angles(stand_in: Path) -> None:
    whole = rotated_mnist(data=stand_in, random_state=3)
    sizes = [len(whole.split[part]) for part in ("train", "validation", "test")]
    assert sizes == [100, 20, 20]
    for n in (7, 35, 100):
        some = rotated_mnist(n, data=stand_in, random_state=3)
        number = numbers(some.views["A"])
        np.testing.assert_array_equal(some.private["B"]["angle"], whole.private["B"]["angle"][number])
        np.testing.assert_allclose(some.views["B"], whole.views["B"][number], atol=1e-6)
        for part, rows in some.split.items():
            assert set(number[rows]) <= set(whole.split[part])


def test_the_seed_decides_angles_and_split(stand_in: Path) -> None:
    first, again, other = (rotated_mnist(data=stand_in, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.views["B"], again.views["B"])
    np.testing.assert_array_equal(first.split["validation"], again.split["validation"])
    np.testing.assert_array_equal(first.split["test"], other.split["test"])
    assert not np.array_equal(first.split["validation"], other.split["validation"])
    assert not np.any(first.private["B"]["angle"] == other.private["B"]["angle"])
    # Not the first digits in file order.
    assert first.split["validation"].tolist() != list(range(100, 120))


@pytest.mark.parametrize("n", [-1, 0, 2, N_TRAIN + N_TEST + 1])
def test_impossible_sizes_raise(n: int, stand_in: Path) -> None:
    with pytest.raises(ValueError, match=f"n_samples is {n}; expected 3 to 140"):
        rotated_mnist(n, data=stand_in)


def test_a_size_that_is_no_integer_raises(stand_in: Path) -> None:
    with pytest.raises(TypeError, match="integer"):
        rotated_mnist(7.0, data=stand_in)


# Where the data are


@pytest.mark.parametrize("inside", ["", "mnist"], ids=["itself", "holds mnist"])
@pytest.mark.parametrize("zipped", [False, True], ids=["raw", "gz"])
@pytest.mark.parametrize("by", ["data", "VIEWSPLICE_DATA"])
def test_the_files_are_found(
    by: str, zipped: bool, inside: str, tmp_path: Path, stand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "here" / inside, zipped)
    if by == "data":
        monkeypatch.setenv("VIEWSPLICE_DATA", str(tmp_path / "nowhere"))
        data = rotated_mnist(data=str(tmp_path / "here"))
    else:
        monkeypatch.setenv("VIEWSPLICE_DATA", str(tmp_path / "here"))
        data = rotated_mnist()
    np.testing.assert_array_equal(data.views["B"], rotated_mnist(data=stand_in).views["B"])


def test_a_zipped_file_may_have_lost_its_suffix(stand_in: Path) -> None:
    path = stand_in / TEST_IMAGES
    expected = rotated_mnist(data=stand_in).views["A"]
    path.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(rotated_mnist(data=stand_in).views["A"], expected)


def test_missing_files_are_named(stand_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=f"data is '.*', which lacks {TRAIN_IMAGES}, .*; expected a folder that"):
        rotated_mnist(data=tmp_path / "nowhere")
    (stand_in / TEST_LABELS).unlink()
    with pytest.raises(ValueError, match=f"which lacks {TEST_LABELS}; expected"):
        rotated_mnist(data=stand_in)
    monkeypatch.setenv("VIEWSPLICE_DATA", str(stand_in))
    with pytest.raises(ValueError, match=f"VIEWSPLICE_DATA is '.*', which lacks {TEST_LABELS}; expected"):
        rotated_mnist()


@pytest.mark.parametrize("variable", [None, ""], ids=["unset", "empty"])
def test_without_internet_the_error_says_how_to_give_a_folder(
    variable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable is not None:
        monkeypatch.setenv("VIEWSPLICE_DATA", variable)
    message = rf"cannot be fetched from OpenML \(.*no route to host.*\): pass data=, .*VIEWSPLICE_DATA.*{TRAIN_IMAGES}"
    with pytest.raises(ValueError, match=message) as caught:
        rotated_mnist()
    assert isinstance(caught.value.__cause__, URLError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("pandas", "parser"), [(True, "auto"), (False, "liac-arff")])
def test_openml_gives_the_same_layout(pandas: bool, parser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def fetch(name: str, **options: Any) -> tuple[Array, Array]:
        asked.update(options, name=name)
        warnings.warn("retrying", stacklevel=1)
        pixels = np.zeros((70_000, 784), np.uint8)
        pixels[:, 28 + 3] = 255  # second row, fourth column
        return pixels, np.array(["3"] * 60_000 + ["8"] * 10_000, dtype=object)

    monkeypatch.setattr(mnist, "fetch_openml", fetch)
    monkeypatch.setattr(mnist.importlib.util, "find_spec", lambda name: object() if pandas else None)
    data = rotated_mnist(14)
    assert (asked["name"], asked["parser"], asked["as_frame"]) == ("mnist_784", parser, False)
    assert len(data.split["train"]) == 10
    assert data.rows("test").shared["digit"].tolist() == [8, 8]
    assert set(data.rows("train").shared["digit"]) == {3}
    np.testing.assert_array_equal(np.argwhere(data.views["A"][0]), [[1, 3]])
    assert data.views["A"].max() == 1


# Damaged files


IMAGES = np.zeros((N_TEST, 28, 28))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (TEST_IMAGES, b"", "begins with nothing; expected 00000803, an IDX file of unsigned bytes with 3 axes"),
        (TEST_IMAGES, b"<html>not found</html>", "begins with 3c68746d; expected 00000803"),
        (TEST_IMAGES, idx(np.zeros(N_TEST)), "begins with 00000801; expected 00000803"),
        (TEST_LABELS, idx(IMAGES), "begins with 00000803; expected 00000801, .* with 1 axis"),
        (TEST_LABELS, idx(np.zeros(N_TEST), kind=13), "begins with 00000d01"),
        (TEST_IMAGES, idx(IMAGES)[:10], "ends within its header"),
        (TEST_IMAGES, idx(np.zeros((N_TEST, 28, 27))), "claims to hold 20 x 28 x 27 values; expected n x 28 x 28"),
        (TEST_IMAGES, struct.pack("<4I", 0x03080000, N_TEST, 28, 28), "claims to hold 335544320 x"),
        (TEST_IMAGES, idx(IMAGES, (0, 28, 28)), "claims to hold 0 x 28 x 28 values; expected .* n above 0"),
        (TEST_IMAGES, idx(IMAGES)[:-1], f"holds {N_TEST * 784 - 1} bytes after its header; expected {N_TEST * 784}"),
        (TEST_IMAGES, idx(IMAGES) + b"\0", f"holds more than {N_TEST * 784} bytes"),
        (TEST_IMAGES, idx(IMAGES[1:]), "holds 19 images and t10k-labels-idx1-ubyte 20 labels"),
        (TEST_LABELS, idx(np.full(N_TEST, 10)), "holds the label 10; expected digits from 0 to 9"),
    ],
)
@pytest.mark.parametrize("zipped", [False, True], ids=["raw", "gz"])
def test_wrong_files_raise(name: str, content: bytes, message: str, zipped: bool, stand_in: Path) -> None:
    (stand_in / name).write_bytes(gzip.compress(content) if zipped else content)
    with pytest.raises(ValueError, match=message) as caught:
        rotated_mnist(data=stand_in)
    assert name in str(caught.value)


@pytest.mark.parametrize("damaged", ["cut", "flipped", "followed"])
def test_damaged_archives_raise(damaged: str, stand_in: Path) -> None:
    whole = gzip.compress(idx(stand_in_files()[TEST_IMAGES]))
    middle = len(whole) // 2
    contents = {
        "cut": whole[:middle],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :],
        "followed": whole + b"rubbish",
    }
    (stand_in / TEST_IMAGES).write_bytes(contents[damaged])
    with pytest.raises(ValueError, match=f"{TEST_IMAGES} is damaged or cut short .*: get the file again"):
        rotated_mnist(data=stand_in)


@pytest.mark.parametrize("zipped", [False, True], ids=["raw", "gz"])
def test_a_header_that_claims_too_much_takes_no_memory(zipped: bool, stand_in: Path) -> None:
    content = idx(IMAGES, (2**32 - 1, 28, 28))
    (stand_in / TEST_IMAGES).write_bytes(gzip.compress(content) if zipped else content)
    tracemalloc.start()
    try:
        with pytest.raises(
            ValueError, match=f"holds {N_TEST * 784} bytes after its header; expected {784 * (2**32 - 1)}"
        ):
            rotated_mnist(data=stand_in)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20e6
