"""Rotated MNIST: a handwritten digit, and the same digit turned by an angle of its own (after LeCun et al. 1998)."""

from __future__ import annotations

import gzip
import importlib.util
import math
import operator
import struct
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_openml

from viewsplice._random import RandomState, numpy_generator, root_seed
from viewsplice._types import Array, Shape
from viewsplice.datasets.base import MultiViewData
from viewsplice.datasets.rotation import rotate_images
from viewsplice.datasets.source import DATA_VARIABLE, DataPath, given_path
from viewsplice.views import Views

_SIDE = 28
_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
_EXPECTED = f"a folder that holds {', '.join(_FILES)}, each as it is or with .gz"
_N_TRAIN, _N_TEST = 60_000, 10_000
_UNSIGNED_BYTE = 8  # the IDX code of the only element type that MNIST has
_GZIP_START = b"\x1f\x8b"
_BLOCK_BYTES = 2**20


def rotated_mnist(
    n_samples: int | None = None, *, data: DataPath | None = None, random_state: RandomState = 0
) -> MultiViewData:
    """Load MNIST digits as view "A" and the same digits, each rotated once, as view "B".

    Parameters
    ----------
    n_samples
        Number of digits; None takes all 70,000. Fewer are a random part of each part of the full split, in its
        proportions of 5:1:1, each with the rotation it has in the full set.
    data
        Folder with the four original IDX files, gzipped or not, or a folder with such a folder ``mnist``. Without it
        the environment variable VIEWSPLICE_DATA names the folder, and without that scikit-learn fetches
        ``mnist_784`` from OpenML, which needs internet the first time.
    random_state
        Seed; angles and split each derive their own generator from it.

    Returns
    -------
    MultiViewData
        Views "A" and "B" (n, 28, 28), float32 in [0, 1]; shared factor "digit" (0 to 9), private factor "angle" of B:
        degrees counter-clockwise, uniform in [0, 360). The test part is the original test set, 10,000 digits;
        training and validation, 50,000 and 10,000, are drawn from the original training set. Rows keep the original
        order, training set first.
    """
    images, labels, n_train = _load(data)
    seed = root_seed(random_state)
    angles = numpy_generator(seed, "rotated_mnist", "angle").uniform(0, 360, len(images))
    parts = _draw(n_samples, n_train, len(images) - n_train, numpy_generator(seed, "rotated_mnist", "split"))
    rows = np.sort(np.concatenate(list(parts.values())))
    upright = images[rows].astype(np.float32)
    upright /= 255
    return MultiViewData(
        views=Views({"A": upright, "B": rotate_images(upright, angles[rows])}),
        shared={"digit": labels[rows].astype(np.int64)},
        private={"B": {"angle": angles[rows]}},
        groups=None,
        split={name: np.searchsorted(rows, np.sort(part)) for name, part in parts.items()},
    )


def _draw(n_samples: int | None, n_train: int, n_test: int, generator: np.random.Generator) -> dict[str, Array]:
    """Return the rows of each part: a sixth of the training set validates; a smaller sample is part of a larger one."""
    total = n_train + n_test
    n = total if n_samples is None else operator.index(n_samples)
    if not 3 <= n <= total:
        raise ValueError(f"n_samples is {n_samples}; expected 3 to {total}, the number of digits, or None for all")
    train, test = generator.permutation(n_train), n_train + generator.permutation(n_test)
    tested = min(max(1, round(n * n_test / total)), n - 2)
    validated = max(1, round((n - tested) / 6))
    # From both ends of one order, so that no digit changes its part with the size of the sample.
    return {"train": train[: n - tested - validated], "validation": train[n_train - validated :], "test": test[:tested]}


def _load(data: DataPath | None) -> tuple[Array, Array, int]:
    """Return all images (n, 28, 28) and labels (n,), training set first, and the size of the training set."""
    given = given_path("data", data)
    if given is None:
        return _from_openml()
    paths = _find(*given)
    parts = []
    for images_path, labels_path in (paths[:2], paths[2:]):
        images = _read_idx(images_path, (_SIDE, _SIDE))
        labels = _read_idx(labels_path, ())
        if len(images) != len(labels):
            raise ValueError(
                f"{images_path} holds {len(images)} images and {labels_path.name} {len(labels)} labels; "
                "expected as many: take both files from the same source"
            )
        if labels.max() > 9:
            raise ValueError(f"{labels_path} holds the label {labels.max()}; expected digits from 0 to 9")
        parts.append((images, labels))
    (train, train_labels), (test, test_labels) = parts
    return np.concatenate([train, test]), np.concatenate([train_labels, test_labels]), len(train)


def _find(folder: Path, source: str) -> list[Path]:
    """Return the paths of the four files in a folder, or in its folder ``mnist``."""
    places = [
        {name: path for name in _FILES for path in (place / name, place / f"{name}.gz") if path.is_file()}
        for place in (folder, folder / "mnist")
    ]
    found = max(places, key=len)
    missing = [name for name in _FILES if name not in found]
    if missing:
        raise ValueError(
            f"{source} is {str(folder)!r}, which lacks {', '.join(missing)}; "
            f"expected {_EXPECTED}, or that holds such a folder named mnist"
        )
    return [found[name] for name in _FILES]


def _read_idx(path: Path, item: Shape) -> Array:
    """Return the unsigned bytes (n, *item) of an IDX file, gzipped or not."""
    with open(path, "rb") as file:
        zipped = file.read(len(_GZIP_START)) == _GZIP_START
        file.seek(0)
        if not zipped:
            return _idx_values(file.read, path, item)
        try:
            with gzip.GzipFile(fileobj=file) as unzipped:
                return _idx_values(unzipped.read, path, item)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(f"{path} is damaged or cut short ({error}): get the file again") from error


def _idx_values(read: Callable[[int], bytes], path: Path, item: Shape) -> Array:
    """Check the header (two zeros, element type, number of axes, their lengths as big-endian uint32), then read."""
    n_axes = 1 + len(item)
    header = read(4 + 4 * n_axes)
    start = bytes([0, 0, _UNSIGNED_BYTE, n_axes])
    if header[:4] != start:
        raise ValueError(
            f"{path} begins with {header[:4].hex() or 'nothing'}; expected {start.hex()}, an IDX file of unsigned "
            f"bytes with {n_axes} {'axes' if item else 'axis'}: check that the file is what its name says"
        )
    if len(header) < 4 + 4 * n_axes:
        raise ValueError(f"{path} ends within its header: get the file again")
    shape = struct.unpack(f">{n_axes}I", header[4:])
    if shape[0] == 0 or shape[1:] != item:
        got, expected = (" x ".join(map(str, sizes)) for sizes in (shape, ("n", *item)))
        raise ValueError(f"{path} claims to hold {got} values; expected {expected}, with n above 0")
    size = math.prod(shape)
    # Block by block: memory grows with what is in the file, not with what its header claims.
    values = bytearray()
    while len(values) <= size and (block := read(min(_BLOCK_BYTES, size + 1 - len(values)))):
        values += block
    if len(values) != size:
        held = str(len(values)) if len(values) < size else f"more than {size}"
        raise ValueError(f"{path} holds {held} bytes after its header; expected {size}: get the file again")
    return np.frombuffer(values, np.uint8).reshape(shape)


def _from_openml() -> tuple[Array, Array, int]:
    """Return MNIST by way of OpenML, which lists the training set, then the test set."""
    # The faster parser needs pandas, which this package does not.
    parser = "auto" if importlib.util.find_spec("pandas") else "liac-arff"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one for every retry
            pixels, labels = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False, parser=parser)
        images = np.asarray(pixels).reshape(_N_TRAIN + _N_TEST, _SIDE, _SIDE).astype(np.uint8)
        return images, np.asarray(labels).astype(np.uint8), _N_TRAIN
    except Exception as error:  # network, cache, archive and parser each fail with types of their own
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ValueError(
            f"MNIST cannot be fetched from OpenML ({reason}): pass data=, or set the environment variable "
            f"{DATA_VARIABLE}, to {_EXPECTED}"
        ) from error
