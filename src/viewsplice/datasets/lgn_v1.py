"""Simulated LGN and V1 populations: a bar seen by both, and a position on a track of each one's own.

A bar is the outer product of two 1-D profiles, and so is every Gaussian and every axis-aligned Gabor. Each response
is therefore a product of two 1-D dot products, and no image is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewsplice._random import RandomState, numpy_generator, root_seed
from viewsplice._types import Array
from viewsplice.datasets.base import MultiViewData, mix_parts, random_split
from viewsplice.views import Views


@dataclass(frozen=True)
class LGNV1Design:
    """Sizes of the simulation, in pixels unless said otherwise.

    Attributes
    ----------
    field_size
        Side of the square visual field. Pixel i covers [i, i + 1).
    bar_width, bar_height
        Sides of the bar.
    grid
        Receptive-field centers per side, at (i + 1/2) field_size / grid.
    receptive_field
        Side of the square a receptive field is cut to.
    dog_sigmas
        SDs of center and surround of an LGN field.
    gabor_sigma, gabor_wavelength
        SD of the isotropic envelope and period of the grating of a V1 field.
    place_width
        SD of a place field, as a fraction of the track.

    Notes
    -----
    Other bar and filter sizes change the true geometry of the sheet: where centers do not cover the field, its
    border collapses to a point.
    """

    field_size: int = 100
    bar_width: float = 10.0
    bar_height: float = 20.0
    grid: int = 20
    receptive_field: int = 30
    dog_sigmas: tuple[float, float] = (5.0, 8.0)
    gabor_sigma: float = 6.0
    gabor_wavelength: float = 20.0
    place_width: float = 0.1

    def __post_init__(self) -> None:
        sizes = {name: value for name, value in vars(self).items() if name != "dog_sigmas"}
        sizes.update(zip(("dog_sigmas[0]", "dog_sigmas[1]"), self.dog_sigmas, strict=True))
        for name, value in sizes.items():
            if not 0 < value < np.inf:
                raise ValueError(f"{name} is {value}; expected a finite number above 0")
        if max(self.bar_width, self.bar_height) >= self.field_size:
            raise ValueError(
                f"the bar is {self.bar_width} x {self.bar_height} pixels; expected less than "
                f"field_size={self.field_size}, so that it can move: make the bar smaller or the field larger"
            )


def lgn_v1(
    n_trials: int = 18900,
    *,
    noise: float = 0.0,
    private_to_shared: float = 6.0,
    random_state: RandomState = 0,
    design: LGNV1Design | None = None,
) -> MultiViewData:
    """Simulate trials of 400 LGN and 800 V1 neurons that see the same bar.

    Neuron j of population v responds with a_v <field_j, bar(x, y)> + b_v exp(-(p_v - c_j)² / (2 width²)), plus
    noise if asked. The bar lies anywhere fully inside the visual field, with exact coverage of partly covered
    pixels; p_v is uniform on [0, 1]; place-field centers c_j are uniform on the track.

    Parameters
    ----------
    n_trials
        Number of trials (rows).
    noise
        Variance of i.i.d. Gaussian noise as a fraction of the population's mean signal variance.
    private_to_shared
        Variance of the private over that of the shared part, averaged over neurons; exact on the trials drawn.
    random_state
        Seed; bar, positions, place fields, noise and split each derive their own generator from it.
    design
        Sizes of stimulus and fields.

    Returns
    -------
    MultiViewData
        Views "lgn" (n, grid²) and "v1" (n, 2 grid²: vertical fields, then horizontal ones), float32; shared factors
        "x" and "y" (center of the bar in pixels), one private "position" per view; a 64/16/20 % split. ``details``:
        "centers" of the fields and "corners" (first pixels) of their patches, (grid², 2) as (x, y); "lgn_fields"
        and "v1_fields", (neurons, r, r) as (y, x), before the edge of the visual field cuts them;
        "lgn_place_centers" and "v1_place_centers".

    Notes
    -----
    A field's patch is the r x r pixels (r: ``receptive_field``) whose centers lie in [c - r/2, c + r/2). An LGN
    field is the difference of two Gaussians, each summing to 1 over its full patch. A V1 field is a cosine grating
    under a Gaussian of peak 1: vertical fields vary along x. Beyond the edge of the visual field there is nothing
    to see: what a patch has there is lost, without renormalization.
    """
    design = design or LGNV1Design()
    if n_trials < 2:
        raise ValueError(f"n_trials is {n_trials}; expected at least 2")
    seed = root_seed(random_state)
    bar = numpy_generator(seed, "lgn_v1", "bar")
    x = bar.uniform(design.bar_width / 2, design.field_size - design.bar_width / 2, n_trials)
    y = bar.uniform(design.bar_height / 2, design.field_size - design.bar_height / 2, n_trials)
    views: dict[str, Array] = {}
    positions: dict[str, Array] = {}
    place_centers: dict[str, Array] = {}
    for name, responses in _bar_responses(x, y, design).items():
        positions[name] = numpy_generator(seed, "lgn_v1", name, "position").uniform(size=n_trials)
        centers = numpy_generator(seed, "lgn_v1", name, "place fields").uniform(size=responses.shape[1:])
        place_centers[f"{name}_place_centers"] = centers
        views[name] = mix_parts(
            responses,
            _place_responses(positions[name], centers, design.place_width),
            private_to_shared=private_to_shared,
            noise=noise,
            generator=numpy_generator(seed, "lgn_v1", name, "noise"),
        )
    return MultiViewData(
        views=Views(views),
        shared={"x": x, "y": y},
        private={name: {"position": position} for name, position in positions.items()},
        groups=None,
        split=random_split(n_trials, generator=numpy_generator(seed, "lgn_v1", "split")),
        details={**_field_details(design), **place_centers},
    )


def _bar_responses(x: Array, y: Array, design: LGNV1Design) -> dict[str, Array]:
    """Return the responses of each population to the bar, (n, neurons)."""
    fields = {name: _on_the_field(factor, design) for name, factor in _factors(design).items()}
    bar_x, bar_y = _profile(x, design.bar_width, design), _profile(y, design.bar_height, design)
    along_x = {name: bar_x @ field.T for name, field in fields.items()}  # (n, grid)
    along_y = {name: bar_y @ field.T for name, field in fields.items()}
    lgn = _outer(along_y["center"], along_x["center"])
    lgn -= _outer(along_y["surround"], along_x["surround"])
    vertical = _outer(along_y["envelope"], along_x["grating"])
    horizontal = _outer(along_y["grating"], along_x["envelope"])
    return {"lgn": lgn, "v1": np.concatenate([vertical, horizontal], axis=1)}


def _place_responses(position: Array, centers: Array, width: float) -> Array:
    """Return exp(-(p - c)² / (2 width²)), (n, neurons)."""
    scaled = (position / width).astype(np.float32)[:, None] - (centers / width).astype(np.float32)
    np.square(scaled, out=scaled)
    scaled *= np.float32(-0.5)
    result: Array = np.exp(scaled, out=scaled)
    return result


def _profile(middle: Array, length: float, design: LGNV1Design) -> Array:
    """Return how much of each pixel the segment [middle - length/2, middle + length/2] covers, (n, field_size)."""
    pixel = np.arange(design.field_size)
    low, high = middle[:, None] - length / 2, middle[:, None] + length / 2
    covered: Array = np.clip(np.minimum(high, pixel + 1) - np.maximum(low, pixel), 0, 1)
    return covered


def _centers(design: LGNV1Design) -> Array:
    result: Array = (np.arange(design.grid) + 0.5) * design.field_size / design.grid
    return result


def _patch_pixels(design: LGNV1Design) -> Array:
    """Return the pixels of each center's patch along one axis, inside the visual field or not, (grid, patch)."""
    first = np.ceil(_centers(design) - (design.receptive_field + 1) / 2).astype(np.intp)
    result: Array = first[:, None] + np.arange(design.receptive_field)
    return result


def _factors(design: LGNV1Design) -> dict[str, Array]:
    """Return the 1-D factors of all fields on their full patches, each (grid, patch)."""
    offset = _patch_pixels(design) + 0.5 - _centers(design)[:, None]
    center, surround, envelope = (
        np.exp(-(offset**2) / (2 * sigma**2)) for sigma in (*design.dog_sigmas, design.gabor_sigma)
    )
    return {
        "center": center / center.sum(axis=1, keepdims=True),
        "surround": surround / surround.sum(axis=1, keepdims=True),
        "envelope": envelope,
        "grating": envelope * np.cos(2 * np.pi * offset / design.gabor_wavelength),
    }


def _on_the_field(factor: Array, design: LGNV1Design) -> Array:
    """Return patches placed on the axis of the visual field, cut at its ends, (grid, field_size)."""
    pixels = _patch_pixels(design)
    inside = (pixels >= 0) & (pixels < design.field_size)
    placed = np.zeros((design.grid, design.field_size))
    placed[np.nonzero(inside)[0], pixels[inside]] = factor[inside]
    return placed


def _outer(along_y: Array, along_x: Array) -> Array:
    """Return all products of two 1-D responses or factors, (n, grid²) from (n, grid): x runs fastest."""
    product = along_y.astype(np.float32)[:, :, None] * along_x.astype(np.float32)[:, None, :]
    return product.reshape(len(product), -1)


def _field_details(design: LGNV1Design) -> dict[str, Array]:
    factors = _factors(design)
    place_x, place_y = np.tile(np.arange(design.grid), design.grid), np.repeat(np.arange(design.grid), design.grid)

    def patches(along_y: str, along_x: str) -> Array:
        fields = factors[along_y][place_y][:, :, None] * factors[along_x][place_x][:, None, :]
        return fields.astype(np.float32)

    centers, corners = _centers(design), _patch_pixels(design)[:, 0]
    return {
        "centers": np.column_stack([centers[place_x], centers[place_y]]),
        "corners": np.column_stack([corners[place_x], corners[place_y]]),
        "lgn_fields": patches("center", "center") - patches("surround", "surround"),
        "v1_fields": np.concatenate([patches("envelope", "grating"), patches("grating", "envelope")]),
    }
