"""The simulation equals filters times images, and its sheet is a sheet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.manifold import Isomap

from viewsplice._types import Array
from viewsplice.datasets import LGNV1Design, lgn_v1

DESIGN = LGNV1Design()
SMALL = LGNV1Design(
    field_size=30, bar_width=4.5, bar_height=7, grid=4, receptive_field=9, dog_sigmas=(2, 3), gabor_sigma=2
)


def image(x: float, y: float, design: LGNV1Design) -> Array:
    """Return the bar, pixel by pixel, rows are y."""
    canvas = np.zeros((design.field_size, design.field_size))
    left, right = x - design.bar_width / 2, x + design.bar_width / 2
    top, bottom = y - design.bar_height / 2, y + design.bar_height / 2
    for row in range(design.field_size):
        for column in range(design.field_size):
            covered_x = max(0.0, min(right, column + 1) - max(left, column))
            covered_y = max(0.0, min(bottom, row + 1) - max(top, row))
            canvas[row, column] = covered_x * covered_y
    return canvas


def filters(design: LGNV1Design) -> dict[str, Array]:
    """Return the fields of the LGN and of V1 as full images, from their two-dimensional formulas."""
    margin = design.receptive_field
    pixel = np.arange(-margin, design.field_size + margin) + 0.5
    seen = slice(margin, margin + design.field_size)
    spacing = design.field_size / design.grid
    lgn, vertical, horizontal = [], [], []
    for i in range(design.grid * design.grid):
        dx = (pixel - (i % design.grid + 0.5) * spacing)[None, :]
        dy = (pixel - (i // design.grid + 0.5) * spacing)[:, None]
        half = design.receptive_field / 2
        cut = (dx >= -half) & (dx < half) & (dy >= -half) & (dy < half)
        assert cut.sum() == design.receptive_field**2
        center, surround = (np.exp(-(dx**2 + dy**2) / (2 * sigma**2)) * cut for sigma in design.dog_sigmas)
        envelope = np.exp(-(dx**2 + dy**2) / (2 * design.gabor_sigma**2)) * cut
        lgn.append(center / center.sum() - surround / surround.sum())
        vertical.append(envelope * np.cos(2 * np.pi * dx / design.gabor_wavelength))
        horizontal.append(envelope * np.cos(2 * np.pi * dy / design.gabor_wavelength))
    return {name: np.stack(f)[:, seen, seen] for name, f in (("lgn", lgn), ("v1", vertical + horizontal))}


@pytest.mark.parametrize("design", [DESIGN, SMALL], ids=["default", "small"])
def test_responses_are_filters_times_images(design: LGNV1Design) -> None:
    data = lgn_v1(6, private_to_shared=0.0, design=design)
    images = np.stack([image(x, y, design) for x, y in zip(data.shared["x"], data.shared["y"], strict=True)])
    np.testing.assert_allclose(images.sum(axis=(1, 2)), design.bar_width * design.bar_height)
    for name, fields in filters(design).items():
        direct = np.einsum("nyx,fyx->nf", images, fields)
        direct /= np.sqrt(direct.var(axis=0).mean())
        np.testing.assert_allclose(data.views[name], direct, atol=1e-5 * np.abs(direct).max())


@pytest.mark.parametrize("design", [DESIGN, SMALL], ids=["default", "small"])
def test_details_hold_the_fields(design: LGNV1Design) -> None:
    details = lgn_v1(10, design=design).details
    size = design.receptive_field
    for name, fields in filters(design).items():
        patches = details[f"{name}_fields"]
        assert patches.shape == (len(fields), size, size)
        for i in (0, 1, design.grid + 2, len(fields) - 1):
            x, y = details["corners"][i % design.grid**2]
            canvas = np.zeros((design.field_size + 2 * size,) * 2)
            canvas[y + size : y + 2 * size, x + size : x + 2 * size] = patches[i]
            np.testing.assert_allclose(canvas[size:-size, size:-size], fields[i], atol=1e-6)
    np.testing.assert_allclose(details["centers"][:2, 0], design.field_size / design.grid * np.array([0.5, 1.5]))
    np.testing.assert_allclose(details["centers"][:2, 1], design.field_size / design.grid * 0.5)


def test_default_centers_and_unit_sums() -> None:
    details = lgn_v1(10).details
    np.testing.assert_array_equal(np.unique(details["centers"]), 5 * np.arange(20) + 2.5)
    np.testing.assert_allclose(details["lgn_fields"].sum(axis=(1, 2)), 0.0, atol=1e-5)


def test_sizes_names_and_ranges() -> None:
    data = lgn_v1(200)
    assert {name: data.views[name].shape for name in data.views.names} == {"lgn": (200, 400), "v1": (200, 800)}
    assert {data.views[name].dtype for name in data.views.names} == {np.dtype(np.float32)}
    assert list(data.factors()) == ["x", "y", "lgn/position", "v1/position"]
    assert {name: len(rows) for name, rows in data.split.items()} == {"train": 128, "validation": 32, "test": 40}
    assert data.groups is None
    x, y = data.shared["x"], data.shared["y"]
    assert 5 <= x.min() < 7
    assert 93 < x.max() <= 95
    assert 10 <= y.min() < 12
    assert 88 < y.max() <= 90


def test_private_part_is_a_place_field_of_the_populations_own_position() -> None:
    data = lgn_v1(300, private_to_shared=1e12)
    for name in ("lgn", "v1"):
        position, centers = data.private[name]["position"], data.details[f"{name}_place_centers"]
        direct = np.exp(-((position[:, None] - centers) ** 2) / (2 * 0.1**2))
        direct /= np.sqrt(direct.var(axis=0).mean())
        np.testing.assert_allclose(data.views[name], direct, atol=1e-4)
    assert abs(np.corrcoef(data.private["lgn"]["position"], data.private["v1"]["position"])[0, 1]) < 0.2


def test_variance_ratio_is_exact_and_parts_add() -> None:
    mixed, shared, private = (lgn_v1(300, private_to_shared=ratio) for ratio in (6.0, 0.0, 1e12))
    for name in ("lgn", "v1"):
        s, z = (data.views[name].astype(float) for data in (shared, private))
        np.testing.assert_allclose(mixed.views[name], np.sqrt(1 / 7) * s + np.sqrt(6 / 7) * z, atol=1e-4)
        np.testing.assert_allclose(s.var(axis=0).mean(), z.var(axis=0).mean(), rtol=1e-5)


def test_noise_has_the_same_sd_for_all_neurons() -> None:
    clean, noisy = lgn_v1(2000), lgn_v1(2000, noise=0.4)
    for name in ("lgn", "v1"):
        noise = (noisy.views[name] - clean.views[name]).astype(float)
        expected = 0.4 * clean.views[name].astype(float).var(axis=0).mean()
        np.testing.assert_allclose(noise.var(axis=0).mean(), expected, rtol=0.01)
        assert noise.var(axis=0).std() < 0.05 * expected


def test_seeds_are_local_and_named() -> None:
    first, again, other = lgn_v1(20), lgn_v1(20), lgn_v1(20, random_state=1)
    np.testing.assert_array_equal(first.views["v1"], again.views["v1"])
    assert not np.allclose(first.shared["x"], other.shared["x"])
    noisy = lgn_v1(20, noise=0.1)
    np.testing.assert_array_equal(first.private["v1"]["position"], noisy.private["v1"]["position"])


@pytest.mark.parametrize("name", ["lgn", "v1"])
def test_the_shared_sheet_is_flat(name: str) -> None:
    data = lgn_v1(1000, private_to_shared=0.0)
    # The dense solver needs no random start, which would come from the global generator.
    sheet = Isomap(n_neighbors=10, n_components=3, eigen_solver="dense").fit(data.views[name].astype(float))
    for factor in ("x", "y"):
        coordinates, truth = sheet.embedding_[:, :2], data.shared[factor]
        assert LinearRegression().fit(coordinates, truth).score(coordinates, truth) > 0.99
    spectrum = sheet.kernel_pca_.eigenvalues_
    assert spectrum[2] / spectrum[0] < 0.03


def test_impossible_sizes_raise() -> None:
    with pytest.raises(ValueError, match="gabor_sigma is 0"):
        replace(DESIGN, gabor_sigma=0)
    with pytest.raises(ValueError, match=r"dog_sigmas\[1\] is -1"):
        replace(DESIGN, dog_sigmas=(5, -1))
    with pytest.raises(ValueError, match=r"the bar is 10.0 x 100 pixels"):
        replace(DESIGN, bar_height=100)
    with pytest.raises(ValueError, match="n_trials is 1"):
        lgn_v1(1)
