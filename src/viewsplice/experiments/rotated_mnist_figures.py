"""Pictures of the rotated-MNIST experiment, from the fits of one seed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from sklearn.manifold import TSNE

from viewsplice._types import Array
from viewsplice.baselines.shared_private import SharedPrivateBaseline
from viewsplice.datasets import MultiViewData
from viewsplice.estimator import SPLICE
from viewsplice.experiments.drawing import panels, save, show_images
from viewsplice.experiments.parts import read_arrays, read_values
from viewsplice.plotting import latent_scatter, reconstruction_plot
from viewsplice.plotting.canvas import PALETTE

FACTORS = (0.1, 1.0, 10.0)
WIDTHS = (2, 3, 5, 7, 10)
_N_EMBEDDED = 2_000
N_COMPOSED = 8


def factor_name(factor: float) -> str:
    """Return how the fit with so many times the weight of geometry is called."""
    return f"lambda_geo {factor:g} x"


def width_name(width: int) -> str:
    """Return how the fit with so many private dimensions is called."""
    return f"private width {width}"


def draw(
    folder: Path,
    model: SPLICE,
    test: MultiViewData,
    judged: Mapping[str, Path],
    projections: Path,
    *,
    quick: bool,
) -> None:
    """Write all figures; ``judged`` are the folders of judged fits by name."""
    _reconstructions(model, test, folder / "reconstructions.png", quick)
    _private(judged, folder / "private.png", quick)
    _shared(model, test, read_values(judged["both steps"]), folder / "shared.png", quick)
    _composed(model, test, folder / "composed.png", quick)
    _on_manifold(projections, folder / "on_manifold.png", quick)
    _curves(judged["both steps"], folder / "angle_curves.png", quick)
    _widths(judged, folder / "private_widths.png", quick)


def _reconstructions(model: SPLICE, test: MultiViewData, path: Path, quick: bool) -> None:
    axes = panels(2, 1, size=(7.5, 2.1))
    views = test.views[np.arange(min(len(test), 400))]
    rebuilt = model.reconstruct(views)
    for ax, view in zip(axes, views.names, strict=True):
        label = {"A": "A: upright digit", "B": "B: rotated digit"}[view]
        reconstruction_plot(views[view], rebuilt[view], label=label, ax=ax)
    save(axes[0], path, quick=quick, title="Test digits and their reconstructions")


def _private(judged: Mapping[str, Path], path: Path, quick: bool) -> None:
    names = {
        "Step 1 only": "Step 1 only",
        **{f"lambda_geo {f:g} x": "both steps" if f == 1 else factor_name(f) for f in FACTORS},
    }
    axes = panels(2, len(names), size=(3.4, 2.9))
    for column, (label, name) in enumerate(names.items()):
        arrays = read_arrays(judged[name])
        score = read_values(judged[name])["angle_variance"]
        latent_scatter(
            arrays["private"],
            color=arrays["corrected"],
            kind="circular",
            label=f"{label}: {score:.1%}",
            color_label="corrected angle (degrees)",
            ax=axes[column],
        )
        latent_scatter(
            arrays["private"],
            color=arrays["digit"],
            kind="categorical",
            label=label,
            color_label="digit",
            ax=axes[len(names) + column],
        )
    save(axes[0], path, quick=quick, title="Private space of the rotated view, test digits; with the variance by angle")


def _shared(model: SPLICE, test: MultiViewData, values: Mapping[str, object], path: Path, quick: bool) -> None:
    rows = np.arange(min(len(test), _N_EMBEDDED))
    z = model.transform({"B": test.views["B"][rows]}).shared["B->A"]
    plane = TSNE(perplexity=min(30.0, len(rows) / 4), random_state=0).fit_transform(z)
    axes = panels(1, 2, size=(4.6, 3.6))
    accuracy, angle = values["digit_accuracy"]["B->A"], values["angle_from_shared"]["B->A"]  # type: ignore[index]
    private, chance = values["digit_from_private"], values["digit_by_chance"]
    latent_scatter(
        plane,
        color=test.shared["digit"][rows],
        kind="categorical",
        label=f"digit: {accuracy:.1%} by a linear classifier",
        color_label="digit",
        ax=axes[0],
    )
    latent_scatter(
        plane,
        color=test.private["B"]["angle"][rows],
        kind="circular",
        label=f"angle from shared: R² {angle:.3f}",
        color_label="angle (degrees)",
        ax=axes[1],
    )
    for ax in axes:
        ax.set(xlabel="t-SNE 1", ylabel="t-SNE 2")
    title = f"t-SNE of s_(B->A), test digits. Digit from private: {private:.1%} (chance {chance:.1%})"
    save(axes[0], path, quick=quick, title=title)


def _composed(model: SPLICE, test: MultiViewData, path: Path, quick: bool) -> None:
    axes = panels(1, 1, size=(5.2, 5.4))
    show_images(axes[0], composed(model, test), n_columns=N_COMPOSED + 1)
    save(axes[0], path, quick=quick, title="Identity of the left column, angle of the top row, test digits")


def composed(model: SPLICE | SharedPrivateBaseline, test: MultiViewData) -> Array:
    """Return images, nine in a row: angles in the top row, identities in the left column, both composed in the rest."""
    digits = test.shared["digit"]
    identities = [int(np.flatnonzero(digits == d)[0]) for d in range(10) if (digits == d).any()][:N_COMPOSED]
    angles = np.argsort(test.private["B"]["angle"])[np.linspace(0, len(test) - 1, N_COMPOSED).astype(int)]
    shared, private = np.repeat(identities, len(angles)), np.tile(angles, len(identities))
    made = model.recombine(test.views, shared=shared, private=private)["B"].reshape(
        len(identities), len(angles), 28, 28
    )
    grid: list[Array] = [np.zeros((28, 28)), *test.views["B"][angles]]
    for identity, row in zip(identities, made, strict=True):
        grid += [test.views["A"][identity], *row]
    return np.clip(grid, 0, 1)


def _on_manifold(projections: Path, path: Path, quick: bool) -> None:
    values, arrays = read_values(projections), read_arrays(projections)
    axes = panels(1, len(values), size=(3.4, 2.9))
    for ax, (space, found) in zip(axes, values.items(), strict=True):
        bins = np.linspace(0, max(arrays[f"{space}/made"].max(), arrays[f"{space}/real"].max()), 50).tolist()
        for kind, label, color in (
            ("real", "test digit to nearest", PALETTE[0]),
            ("made", "projection to nearest", PALETTE[1]),
        ):
            ax.hist(arrays[f"{space}/{kind}"], bins=bins, density=True, alpha=0.6, color=color, label=label)
        ax.axvline(found["within_class"], color="black", linestyle="--", label="mean within class")
        ax.set(xlabel="distance", yticks=[])
        ax.set_title(f"{space} varied: {found['closer_than_within_class']:.1%} closer", fontsize="medium")
    axes[0].legend(fontsize="small")
    save(axes[0], path, quick=quick, title="Distance to the nearest test digit")


def _curves(judged: Path, path: Path, quick: bool) -> None:
    arrays = read_arrays(judged)
    curves, shifts = arrays["curves"][:10, :, :2], arrays["shifts"][:10]
    angles = np.arange(curves.shape[1]) * 360 / curves.shape[1]
    axes = panels(2, 2, size=(4.2, 2.3))
    for column, (name, offsets) in enumerate((("before", np.zeros(len(shifts))), ("after", shifts))):
        for dimension in range(2):
            ax = axes[2 * dimension + column]
            for curve, offset in zip(curves, offsets, strict=True):
                order = np.argsort((angles - offset) % 360)
                ax.plot(((angles - offset) % 360)[order], curve[order, dimension], linewidth=0.8)
            ax.set(xlabel="rotation (degrees)", ylabel=f"private {dimension + 1}", xticks=(0, 90, 180, 270, 360))
            ax.set_title(f"{name} alignment", fontsize="medium")
    save(axes[0], path, quick=quick, title="Private latents of ten test digits, each rotated over the full circle")


def _widths(judged: Mapping[str, Path], path: Path, quick: bool) -> None:
    axes = panels(1, len(WIDTHS), size=(2.1, 2.4))
    for ax, width in zip(axes, WIDTHS, strict=True):
        spectrum = np.array(read_values(judged["both steps" if width == 2 else width_name(width)])["private_spectrum"])
        ax.bar(np.arange(1, width + 1), spectrum / spectrum.sum(), color=PALETTE[0])
        ax.set(ylim=(0, 1), xlabel="principal dimension", xticks=range(1, width + 1))
        ax.set_title(f"private width {width}", fontsize="medium")
    axes[0].set_ylabel("share of variance")
    save(axes[0], path, quick=quick, title="More private dimensions than the angle needs stay empty, test digits")
