"""Rotated Sprites: a character, and the same character, each turned by an angle of its own (after Li & Mandt 2018)."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np

from viewsplice._random import RandomState, numpy_generator, root_seed
from viewsplice._types import Array
from viewsplice.datasets.base import PARTS, MultiViewData, random_split
from viewsplice.datasets.rotation import rotate_images
from viewsplice.datasets.source import DataPath, load_arrays, require_path
from viewsplice.io.problems import InputFileError, check_file, guarded
from viewsplice.views import Views

PREPARED = "sprites_first_frames.npz"
ATTRIBUTES = ("body", "bottomwear", "topwear", "hair")

_SIDE = 64
_N_VALUES = 6
_SHOES = 1  # the repository dresses every character in the same pair
_SHEET_COLUMNS = 13
# Tile of frame 0 on a sheet, row by row. The repository's walk begins with the last tile of its row.
_FIRST_FRAMES = {
    "walk_front": 138,
    "walk_left": 125,
    "walk_right": 151,
    "spellcard_front": 26,
    "spellcard_left": 13,
    "spellcard_right": 39,
    "slash_front": 182,
    "slash_left": 169,
    "slash_right": 195,
}
_FRACTIONS = (0.8, 0.1, 0.1)
_EXPECTED = f"a clone of github.com/YingzhenLi/Sprites, a folder that holds it as Sprites, or one that holds {PREPARED}"
# Pairs rotated at once: besides the result itself, only this many images exist twice.
_BLOCK_PAIRS = 96


def rotated_sprites(
    n_train: int = 20_000,
    n_validation: int = 5_000,
    n_test: int = 5_000,
    *,
    data: DataPath | None = None,
    pose: str = "walk_front",
    size: int = 64,
    random_state: RandomState = 0,
) -> MultiViewData:
    """Load pairs of images of one game character, each image rotated by an angle of its own.

    Characters are split first, 80/10/10 %; a pair of a part shows a random character of that part, drawn with
    replacement. So no test character is seen in training at any angle.

    Parameters
    ----------
    n_train, n_validation, n_test
        Number of pairs in each part. The first pairs of a part do not depend on how many there are.
    data
        A clone of the repository YingzhenLi/Sprites, whose sheets are put together with Pillow, or a folder that
        holds it as ``Sprites``; or ``sprites_first_frames.npz`` or its folder: images (poses, n, 64, 64, 3) as bytes,
        attributes (n, 4), poses. Without it the environment variable VIEWSPLICE_DATA names the folder.
    pose
        Action and direction, "walk", "spellcard" or "slash" with "_front", "_left" or "_right". Its first frame is
        used.
    size
        Side of the images, 64 or a divisor: rotated pixels are then averaged over squares.
    random_state
        Seed; split, characters and angles each derive their own generator from it.

    Returns
    -------
    MultiViewData
        Views "A" and "B" (n, size, size, 3), float32 RGB in [0, 1] on black; shared factors "character" (0 to 1295)
        and its "body", "bottomwear", "topwear" and "hair" (0 to 5 each); private factor "angle" of each view:
        degrees counter-clockwise, uniform in [0, 360). Groups are characters. Rows are training, validation, then
        test pairs. ``details``: "upright", all characters (1296, 64, 64, 3), and their "attributes" (1296, 4).

    Notes
    -----
    Bytes are divided by 255; the repository's own arrays are bytes over 256. The paper says "the first frame of each
    animation" and not which animation. At 64 pixels a pair takes 98 kB, the default 30,000 pairs 2.9 GB.
    """
    sizes = {name: operator.index(n) for name, n in zip(PARTS, (n_train, n_validation, n_test), strict=True)}
    for name, n in sizes.items():
        if n < 1:
            raise ValueError(f"n_{name} is {n}; expected at least 1")
    if operator.index(size) < 1 or _SIDE % size:
        raise ValueError(f"size is {size}; expected {_SIDE} or a divisor of it")
    if pose not in _FIRST_FRAMES:
        raise ValueError(f"pose is {pose!r}; expected one of {', '.join(_FIRST_FRAMES)}")
    images, attributes = _load(data, pose)
    upright = images.astype(np.float32)
    upright /= 255
    seed = root_seed(random_state)
    character = _draw_characters(len(upright), sizes, seed)
    angles = {view: _draw_angles(view, sizes, seed) for view in ("A", "B")}
    ends = np.cumsum(list(sizes.values()))
    return MultiViewData(
        views=Views({view: _rotated(upright, character, angle, size) for view, angle in angles.items()}),
        shared={"character": character, **dict(zip(ATTRIBUTES, attributes[character].T, strict=True))},
        private={view: {"angle": angle} for view, angle in angles.items()},
        groups=character,
        split={name: np.arange(end - n, end) for (name, n), end in zip(sizes.items(), ends, strict=True)},
        details={"upright": upright, "attributes": attributes},
    )


def _draw_characters(n_characters: int, sizes: dict[str, int], seed: int) -> Array:
    """Return the character of each pair: characters are split first, then drawn within each part."""
    split = random_split(n_characters, _FRACTIONS, generator=numpy_generator(seed, "rotated_sprites", "split"))
    drawn = []
    for part, n in sizes.items():
        generator = numpy_generator(seed, "rotated_sprites", "character", part)
        drawn.append(split[part][generator.integers(len(split[part]), size=n)])
    return np.concatenate(drawn)


def _draw_angles(view: str, sizes: dict[str, int], seed: int) -> Array:
    generators = {part: numpy_generator(seed, "rotated_sprites", "angle", view, part) for part in sizes}
    return np.concatenate([generators[part].uniform(0, 360, n) for part, n in sizes.items()])


def _rotated(upright: Array, character: Array, angle: Array, size: int) -> Array:
    """Return the chosen characters, rotated and, if asked, made smaller, (n, size, size, 3)."""
    out = np.empty((len(character), size, size, 3), np.float32)
    block = _SIDE // size
    for start in range(0, len(character), _BLOCK_PAIRS):
        rows = slice(start, start + _BLOCK_PAIRS)
        turned = rotate_images(upright[character[rows]], angle[rows])
        squares = turned.reshape(-1, size, block, size, block, 3)
        out[rows] = turned if block == 1 else squares.mean(axis=(2, 4), dtype=np.float32)
    return out


def _load(data: DataPath | None, pose: str) -> tuple[Array, Array]:
    """Return all characters in one pose (n, 64, 64, 3) as bytes, and their attributes (n, 4)."""
    path, source = require_path(data, _EXPECTED)
    prepared = path if path.is_file() else path / PREPARED
    if prepared.is_file():
        return _from_prepared(prepared, pose)
    for folder in (path, path / "Sprites"):
        if all((folder / name).is_dir() for name in (*ATTRIBUTES, "shoes")):
            return _compose(folder, pose)
    raise ValueError(f"{source} is {str(path)!r}, which has neither the sheets nor {PREPARED}; expected {_EXPECTED}")


def _from_prepared(path: Path, pose: str) -> tuple[Array, Array]:
    axes = {"images": ("poses", "characters", _SIDE, _SIDE, 3), "attributes": ("characters", 4), "poses": ("poses",)}
    arrays = load_arrays(path, axes)
    if arrays["images"].dtype != np.uint8:
        raise InputFileError(f"{path}: images are {arrays['images'].dtype}; expected bytes, 0 to 255 (uint8)")
    poses = [str(name) for name in arrays["poses"]]
    if pose not in poses:
        raise InputFileError(f"{path} has no pose {pose!r}; expected one of {', '.join(poses)}")
    return arrays["images"][poses.index(pose)], arrays["attributes"].astype(np.int64)


def _compose(folder: Path, pose: str) -> tuple[Array, Array]:
    """Put all 1,296 characters together from the sheets of a clone; character i has the digits of i in base 6.

    On black lie, each composited over the ones before by its alpha: body, bottomwear, topwear, hair, shoes.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            f"the sheets in {folder} need Pillow: pip install viewsplice[plot], or give {PREPARED}"
        ) from error
    layers = [[_tile(Image, folder / name / f"{i}.png", pose) for i in range(_N_VALUES)] for name in ATTRIBUTES]
    layers.append([_tile(Image, folder / "shoes" / f"{_SHOES}.png", pose)])
    characters = [Image.new("RGBA", (_SIDE, _SIDE), "black")]
    for layer in layers:
        # Later attributes run fastest, so that the order is that of the numbers.
        characters = [Image.alpha_composite(below, above) for below in characters for above in layer]
    images = np.stack([np.asarray(character)[..., :3] for character in characters])
    return images, np.stack(np.unravel_index(np.arange(len(images)), (_N_VALUES,) * len(ATTRIBUTES)), axis=1)


def _tile(image_module: Any, path: Path, pose: str) -> Any:
    """Return the first frame of a pose on a sheet, as RGBA."""
    row, column = divmod(_FIRST_FRAMES[pose], _SHEET_COLUMNS)
    left, top = column * _SIDE, row * _SIDE
    check_file(path)
    with guarded(path, "a sheet of Sprites"), image_module.open(path) as sheet:
        width, height = sheet.size
        if width != _SHEET_COLUMNS * _SIDE or height < top + _SIDE:
            raise InputFileError(
                f"{path} is {width} x {height} pixels; expected {_SHEET_COLUMNS * _SIDE} in width, {_SHEET_COLUMNS} "
                f"tiles, and at least {top + _SIDE} in height: check that it is a sheet of the repository"
            )
        return sheet.convert("RGBA").crop((left, top, left + _SIDE, top + _SIDE))
