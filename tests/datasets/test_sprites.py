"""A pair shows one character at two angles; characters never change parts; sheets are composited in order."""

from __future__ import annotations

import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

from viewsplice._types import Array
from viewsplice.datasets import rotated_sprites, sprites
from viewsplice.io.problems import InputFileError

PREPARED = "sprites_first_frames.npz"
REAL = Path(os.environ.get("VIEWSPLICE_DATA") or Path(__file__).parents[3] / "shared" / "data")
needs_sprites = pytest.mark.skipif(
    not (REAL / PREPARED).is_file(), reason=f"{PREPARED} is not here: set VIEWSPLICE_DATA to its folder"
)
N_CHARACTERS = 40
ATTRIBUTES = ("body", "bottomwear", "topwear", "hair")
# Where the repository's frames of number 0 are: row and column of a sheet.
TILES = {
    "spellcard_left": (1, 0),
    "spellcard_front": (2, 0),
    "spellcard_right": (3, 0),
    "walk_left": (9, 8),
    "walk_front": (10, 8),
    "walk_right": (11, 8),
    "slash_left": (13, 0),
    "slash_front": (14, 0),
    "slash_right": (15, 0),
}


def stand_in_arrays() -> dict[str, Array]:
    rng = np.random.default_rng(5)
    return {
        "images": rng.integers(0, 256, (2, N_CHARACTERS, 64, 64, 3), dtype=np.uint8),
        "attributes": rng.integers(0, 6, (N_CHARACTERS, 4), dtype=np.uint8),
        "poses": np.array(["slash_left", "walk_front"]),
    }


def write(folder: Path, **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {name: x for name, x in {**stand_in_arrays(), **changes}.items() if x is not None}
    np.savez(folder / PREPARED, **arrays)
    return folder


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIEWSPLICE_DATA", raising=False)


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    return write(tmp_path / "files")


@pytest.fixture(params=[pytest.param("sprites", marks=needs_sprites), "stand-in"])
def folder(request: pytest.FixtureRequest, stand_in: Path) -> Path:
    """The real file where there is one, and a generated one always."""
    return REAL if request.param == "sprites" else stand_in


# The data set


def test_both_views_show_the_character_at_their_own_angle(
    folder: Path, reference_rotation: Callable[[Array, float], Array]
) -> None:
    data = rotated_sprites(6, 2, 2, data=folder)
    with np.load(folder / PREPARED) as file:
        images = file["images"][list(file["poses"]).index("walk_front")]
        attributes = file["attributes"]
    names = ["character", *ATTRIBUTES, "A/angle", "B/angle"]
    assert (len(data), list(data.factors())) == (10, names)
    character = data.shared["character"]
    np.testing.assert_array_equal(data.groups, character)
    for i, name in enumerate(ATTRIBUTES):
        np.testing.assert_array_equal(data.shared[name], attributes[character, i])
    for view, pixels in data.views.arrays.items():
        assert (pixels.shape, pixels.dtype) == ((10, 64, 64, 3), np.float32)
        angle = data.private[view]["angle"]
        assert np.all((angle >= 0) & (angle < 360))
        for i in range(10):
            upright = images[character[i]] / 255
            expected = np.stack([reference_rotation(upright[..., c], angle[i]) for c in range(3)], axis=-1)
            np.testing.assert_allclose(pixels[i], expected, atol=1e-4)
    np.testing.assert_allclose(data.details["upright"], images / 255, atol=1e-6)
    np.testing.assert_array_equal(data.details["attributes"], attributes)


def without_rotation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the images out: factors and split alone are fast at any size."""
    monkeypatch.setattr(sprites, "_rotated", lambda upright, character, angle, size: np.zeros((len(character), 1)))


@needs_sprites
def test_the_paper_s_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    without_rotation(monkeypatch)
    data = rotated_sprites(data=REAL)
    assert {part: len(rows) for part, rows in data.split.items()} == {
        "train": 20_000,
        "validation": 5_000,
        "test": 5_000,
    }
    characters = {part: set(data.rows(part).shared["character"]) for part in data.split}
    assert {part: len(members) for part, members in characters.items()} == {
        "train": 1037,
        "validation": 129,
        "test": 130,
    }
    assert len(set.union(*characters.values())) == 1296
    digits = np.stack([data.shared[name] for name in ATTRIBUTES])
    np.testing.assert_array_equal(np.array([216, 36, 6, 1]) @ digits, data.shared["character"])


def test_characters_keep_to_one_part_and_are_drawn_alike(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_rotation(monkeypatch)
    data = rotated_sprites(8000, 2000, 2000, data=stand_in)
    counts = {part: np.bincount(data.rows(part).groups, minlength=N_CHARACTERS) for part in data.split}
    np.testing.assert_array_equal(np.sum([count > 0 for count in counts.values()], axis=0), 1)
    assert [np.count_nonzero(count) for count in counts.values()] == [32, 4, 4]
    for count in counts.values():
        drawn = count[count > 0]
        assert np.all(np.abs(drawn - drawn.mean()) < 5 * np.sqrt(drawn.mean()))


def test_angles_are_uniform_and_independent(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_rotation(monkeypatch)
    data = rotated_sprites(4000, 1000, 1000, data=stand_in)
    a, b = (data.private[view]["angle"] for view in "AB")
    for angle in (a, b, (a - b) % 360):
        assert kstest(angle / 360, "uniform").pvalue > 0.001
    assert len(np.unique(a)) == 6000


def test_the_first_pairs_of_a_part_do_not_depend_on_their_number(stand_in: Path) -> None:
    small, large = (rotated_sprites(*sizes, data=stand_in) for sizes in ((3, 2, 4), (7, 9, 5)))
    for part in small.split:
        few, many = small.rows(part), large.rows(part)
        for name, factor in few.factors().items():
            np.testing.assert_array_equal(factor, many.factors()[name][: len(few)])
        np.testing.assert_allclose(few.views["B"], many.views["B"][: len(few)], atol=1e-6)


def test_the_seed_decides_characters_angles_and_split(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_rotation(monkeypatch)
    first, again, other = (rotated_sprites(900, 90, 90, data=stand_in, random_state=seed) for seed in (0, 0, 1))
    for name, factor in first.factors().items():
        np.testing.assert_array_equal(factor, again.factors()[name])
    assert not np.any(first.private["A"]["angle"] == other.private["A"]["angle"])
    assert set(first.rows("test").groups) != set(other.rows("test").groups)
    # Not the last characters in file order.
    assert set(first.rows("test").groups) != set(range(36, 40))


@pytest.mark.parametrize("size", [32, 16, 1])
def test_smaller_images_are_averages_of_squares(size: int, stand_in: Path) -> None:
    full, small = (rotated_sprites(3, 1, 1, data=stand_in, size=side) for side in (64, size))
    k = 64 // size
    for view in "AB":
        expected = np.zeros((5, size, size, 3))
        for row in range(k):
            for column in range(k):
                expected += full.views[view][:, row::k, column::k] / k**2
        assert (small.views[view].shape, small.views[view].dtype) == (expected.shape, np.float32)
        np.testing.assert_allclose(small.views[view], expected, atol=1e-5)


def test_memory_is_that_of_the_result(stand_in: Path) -> None:
    tracemalloc.start()
    try:
        data = rotated_sprites(1200, 50, 50, data=stand_in)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    result = sum(x.nbytes for x in data.views.arrays.values())
    assert result == 1300 * 2 * 64 * 64 * 3 * 4
    assert peak < result + 30e6  # a view is 64 MB


def test_blocks_join_without_a_seam(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rotated_sprites(9, 1, 1, data=stand_in)
    monkeypatch.setattr(sprites, "_BLOCK_PAIRS", 4)
    np.testing.assert_allclose(rotated_sprites(9, 1, 1, data=stand_in).views["A"], whole.views["A"], atol=1e-6)


def test_another_pose(stand_in: Path) -> None:
    data = rotated_sprites(1, 1, 1, data=stand_in, pose="slash_left")
    np.testing.assert_allclose(data.details["upright"], stand_in_arrays()["images"][0] / 255, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_train": 0}, "n_train is 0; expected at least 1"),
        ({"n_validation": -1}, "n_validation is -1"),
        ({"n_test": 0}, "n_test is 0"),
        ({"size": 48}, "size is 48; expected 64 or a divisor"),
        ({"size": 128}, "size is 128"),
        ({"size": 0}, "size is 0"),
        ({"pose": "walk_back"}, "pose is 'walk_back'; expected one of walk_front, "),
    ],
)
def test_impossible_arguments_raise(arguments: dict[str, Any], message: str, stand_in: Path) -> None:
    with pytest.raises(ValueError, match=message):
        rotated_sprites(**{"n_train": 2, "n_validation": 1, "n_test": 1, **arguments}, data=stand_in)


def test_a_size_that_is_no_integer_raises(stand_in: Path) -> None:
    with pytest.raises(TypeError, match="integer"):
        rotated_sprites(7.0, 1, 1, data=stand_in)


# The prepared file


def test_the_file_is_found(stand_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rotated_sprites(2, 1, 1, data=stand_in).views["A"]
    monkeypatch.setenv("VIEWSPLICE_DATA", str(stand_in))
    np.testing.assert_array_equal(rotated_sprites(2, 1, 1).views["A"], expected)
    monkeypatch.setenv("VIEWSPLICE_DATA", str(tmp_path / "nowhere"))
    np.testing.assert_array_equal(rotated_sprites(2, 1, 1, data=str(stand_in / PREPARED)).views["A"], expected)


@pytest.mark.parametrize("variable", [None, ""], ids=["unset", "empty"])
def test_without_data_the_error_says_what_to_give(variable: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if variable is not None:
        monkeypatch.setenv("VIEWSPLICE_DATA", variable)
    with pytest.raises(ValueError, match=f"no data are given: pass data=, .*VIEWSPLICE_DATA.*Sprites.*{PREPARED}"):
        rotated_sprites()


def test_a_folder_without_sprites_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"data is '.*nowhere', which does not exist; expected a clone of"):
        rotated_sprites(data=tmp_path / "nowhere")
    monkeypatch.setenv("VIEWSPLICE_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"VIEWSPLICE_DATA is '.*', which has neither the sheets nor sprites_first"):
        rotated_sprites()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": None}, "lacks images; expected the arrays images, attributes, poses"),
        ({"images": np.zeros((2, 40, 64, 64, 3))}, r"images are float64; expected bytes, 0 to 255 \(uint8\)"),
        ({"images": np.zeros((40, 64, 64, 3), np.uint8)}, r"images has shape \(40, 64, 64, 3\); expected \(poses, "),
        ({"images": np.zeros((2, 40, 64, 32, 3), np.uint8)}, r"expected \(2, 40, 64, 64, 3\)"),
        ({"attributes": np.zeros((39, 4))}, r"attributes has shape \(39, 4\); expected \(40, 4\)"),
        ({"poses": np.array(["walk_front"])}, r"poses has shape \(1,\); expected \(2,\)"),
        ({"poses": np.array(["slash_left", "run"])}, "has no pose 'walk_front'; expected one of slash_left, run"),
        ({"poses": np.array(["walk_front", None])}, "cannot be read as a NumPy .npz file"),
    ],
)
def test_wrong_files_raise(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=message) as caught:
        rotated_sprites(2, 1, 1, data=write(tmp_path, **changes))
    assert PREPARED in str(caught.value)


@pytest.mark.parametrize(("content", "message"), [(b"", "is empty"), (b"<html>", "cannot be read as a NumPy .npz")])
def test_damaged_files_raise(content: bytes, message: str, stand_in: Path) -> None:
    (stand_in / PREPARED).write_bytes(content)
    with pytest.raises(InputFileError, match=message):
        rotated_sprites(2, 1, 1, data=stand_in)


# The sheets


def sheet(rng: np.random.Generator) -> Array:
    """Return a sheet whose 16 x 13 tiles have a color and an opacity each, brighter to the right and downward."""
    tiles = rng.integers(0, 130, (16, 13, 4))
    tiles[..., 3] = rng.choice([0, 90, 255], (16, 13))
    pixels = np.repeat(np.repeat(tiles, 64, axis=0), 64, axis=1)
    across, down = np.tile(np.arange(64), 13), np.tile(np.arange(64), 16)
    pixels[..., 0] += across
    pixels[..., 1] += down[:, None]
    return pixels.astype(np.uint8)


@pytest.fixture(scope="session")
def sheets() -> dict[str, Array]:
    rng = np.random.default_rng(8)
    named = {f"{name}/{i}": sheet(rng) for name in ATTRIBUTES for i in range(6)}
    return {**named, "shoes/1": sheet(rng)}


@pytest.fixture(scope="session")
def sheets_folder(sheets: dict[str, Array], tmp_path_factory: pytest.TempPathFactory) -> Path:
    images = pytest.importorskip("PIL.Image")
    folder = tmp_path_factory.mktemp("sheets") / "Sprites"
    for name, pixels in sheets.items():
        path = folder / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        images.fromarray(pixels).save(path, compress_level=1)
    (folder / "hair" / "6.png").write_text("there are more colors of hair than are used")
    return folder


@pytest.fixture
def clone(sheets_folder: Path, tmp_path: Path) -> Path:
    """A clone whose files may be replaced."""
    for path in sheets_folder.rglob("*.png"):
        link = tmp_path / "clone" / path.relative_to(sheets_folder)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    return tmp_path / "clone"


def composed(sheets: dict[str, Array], digits: Array, pose: str) -> Array:
    """Return one character in bytes: c = a top + (1 - a) below, layer by layer."""
    row, column = TILES[pose]
    names = [f"{name}/{digit}" for name, digit in zip(ATTRIBUTES, digits, strict=True)]
    out = np.zeros((64, 64, 3))
    for name in (*names, "shoes/1"):
        tile = sheets[name][64 * row : 64 * row + 64, 64 * column : 64 * column + 64].astype(float)
        alpha = tile[..., 3:] / 255
        out = alpha * tile[..., :3] + (1 - alpha) * out
    return out


@pytest.mark.parametrize("pose", TILES)
def test_characters_are_composed_of_the_sheets(pose: str, sheets: dict[str, Array], sheets_folder: Path) -> None:
    data = rotated_sprites(2, 1, 1, data=sheets_folder, pose=pose)
    upright, attributes = data.details["upright"], data.details["attributes"]
    assert upright.shape == (1296, 64, 64, 3)
    np.testing.assert_array_equal(attributes @ [216, 36, 6, 1], np.arange(1296))
    for i in (0, 1, 6, 36, 216, 777, 1295):
        # Each of the five layers is rounded to bytes.
        np.testing.assert_allclose(upright[i] * 255, composed(sheets, attributes[i], pose), atol=3)
    np.testing.assert_array_equal(data.shared["hair"], attributes[data.groups, 3])


def test_a_folder_may_hold_the_clone(sheets_folder: Path) -> None:
    inside, itself = (rotated_sprites(2, 1, 1, data=path) for path in (sheets_folder.parent, sheets_folder))
    np.testing.assert_array_equal(inside.views["A"], itself.views["A"])


def test_sheets_without_alpha_hide_what_is_below(clone: Path) -> None:
    images = pytest.importorskip("PIL.Image")
    (clone / "shoes" / "1.png").unlink()
    images.new("P", (832, 1024), 0).convert("RGB").save(clone / "shoes" / "1.png")
    np.testing.assert_array_equal(rotated_sprites(1, 1, 1, data=clone).details["upright"], 0)


def test_a_missing_sheet_is_named(clone: Path) -> None:
    (clone / "topwear" / "4.png").unlink()
    with pytest.raises(InputFileError, match=r"topwear.4\.png does not exist"):
        rotated_sprites(data=clone)


def test_a_sheet_that_is_no_image_raises(clone: Path) -> None:
    (clone / "body" / "0.png").unlink()
    (clone / "body" / "0.png").write_text("version https://git-lfs.github.com/spec/v1")
    with pytest.raises(InputFileError, match=r"0\.png cannot be read as a sheet of Sprites"):
        rotated_sprites(data=clone)


@pytest.mark.parametrize("shape", [(831, 1344), (896, 1344), (832, 703)], ids=str)
def test_a_sheet_of_another_size_raises(shape: tuple[int, int], clone: Path) -> None:
    images = pytest.importorskip("PIL.Image")
    (clone / "hair" / "3.png").unlink()
    images.new("RGBA", shape).save(clone / "hair" / "3.png")
    with pytest.raises(InputFileError, match=rf"is {shape[0]} x {shape[1]} pixels; expected 832 .* at least 704"):
        rotated_sprites(data=clone)


def test_without_pillow_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*ATTRIBUTES, "shoes"):
        (tmp_path / name).mkdir()
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=rf"need Pillow.*: pip install viewsplice\[plot\], or give {PREPARED}"):
        rotated_sprites(data=tmp_path)
