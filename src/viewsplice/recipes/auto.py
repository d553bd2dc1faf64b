"""Recipe ``"auto"``: scout, geometry, compact.

Training a narrow latent space from scratch is slow: it tears and folds, and heals only after thousands of epochs.
Geodesics, however, live in observation space, on the decoded submanifolds, so the network that provides them may be
as wide as it likes.

1. *Scout*: Algorithm 1 with over-complete latents.
2. *Geometry*: distances along the scout's submanifolds; landmark MDS shows how many dimensions each space has, and
   its coordinates are targets in closed form.
3. *Compact*: networks of the final widths start from the scout's weights, learn the coordinates by regression, and
   are then trained by Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch

from viewsplice._types import Networks
from viewsplice.exceptions import TrainingDivergedError
from viewsplice.geometry.bridges import BRIDGED
from viewsplice.geometry.submanifolds import project
from viewsplice.geometry.targets import SpaceGeometry, as_coordinates, as_targets, encode_rows
from viewsplice.metrics import is_collapsed, torn_rows
from viewsplice.model import SpliceNet
from viewsplice.networks import ResidualNetworks
from viewsplice.recipes.independence import check_independence
from viewsplice.recipes.prediction import check_prediction, predicted_share
from viewsplice.recipes.problem import Choice, Problem, Solution
from viewsplice.recipes.relevance import Relevance, relevances
from viewsplice.recipes.settings import explain_settings
from viewsplice.recipes.stages import measure_geometry, new_model, train_regression, train_stage
from viewsplice.recipes.widths import LEADING, check_given, choose_widths, filled
from viewsplice.training.loop import History, snapshot
from viewsplice.views import is_arrow

_MOST_ROWS = 2000
# Rows among which tears are looked for, and torn ones, on both sides, that are no accident: the ends of a line through
# a ring are few rows, however many there are, but one outlier that strays back makes no tear.
_TEAR_ROWS, _TEAR_LEAST_ROWS, _TEAR_LEAST = 500, 50, 3
# The weight of disentangling unless it was set; and, where a line predicts better, that and the input noise to try.
DEFAULT_LAMBDA_DIS, _NOISY_LAMBDA_DIS, _NOISY_INPUT = 1.0, 100.0, 3.0


def solve_auto(problem: Problem, history: History) -> Solution:
    """Fit with given widths, or with those the data show; ``geometry=None`` trains the compact networks alone."""
    settings = problem.settings
    choices = explain_settings(settings, len(problem.data.train))
    if settings.geometry is None:
        widths = {space: width for space, width in problem.widths.items() if width is not None}
        model = new_model(problem, widths, settings.networks, name="compact")
        for space in model.private_spaces:
            model.scale_latents(space, 0.0)  # what begins tangled tears; a point unfolds
        train_stage("compact", model, problem, history)
        choices |= _check_sharing(model, problem)
        return Solution(model, {}, history, choices)
    scout = _train_scout("scout", problem, history)
    scout, problem, for_noise = _withstand_noise(scout, problem, history)
    choices |= for_noise
    relevance, geometry = _examine(scout, problem)
    wider = filled(scout.n_private, problem.widths, geometry, relevance)
    if wider:
        scout = _train_scout("scout-wide", problem, history, wider)
        relevance, geometry = _examine(scout, problem)
    found = choose_widths(problem.widths, geometry, relevance)
    if "input_noise" in choices:
        found = _doubt_absence(found)
    given = check_given(problem.widths, geometry, relevance)
    choices |= given
    leading = {name.removeprefix(LEADING): int(x.value) for name, x in given.items() if name.startswith(LEADING)}
    widths = {space: width if width is not None else int(found[space].value) for space, width in problem.widths.items()}
    geometry = {space: geometry[space] for space, width in widths.items() if width and space in geometry}
    model = new_model(problem, widths, settings.networks, name="compact")
    model.start_from(scout)
    _learn_coordinates(model, scout, problem, history, geometry, leading)
    del scout  # what it knew is in the coordinates now; its room is needed
    like = next(iter(problem.data.views.values()))
    targets = as_targets(geometry, settings.geometry.lambda_geo, like, leading)
    train_stage("compact", model, problem, history, targets=targets)
    _check_spread(model, problem, history, relevance)
    choices |= {f"n_{'shared' if is_arrow(space) else 'private'}/{space}": choice for space, choice in found.items()}
    choices |= _explain_geometry(geometry) | _find_tears(model, problem, geometry)
    choices |= _check_sharing(model, problem)
    return Solution(model, geometry, history, choices)


def _train_scout(name: str, problem: Problem, history: History, wider: Mapping[str, int] | None = None) -> SpliceNet:
    settings, training = problem.settings, problem.settings.training
    widths = {**scout_widths(problem), **(wider or {})}
    scout = new_model(problem, widths, _scout_networks(settings.networks), name="scout")
    train_stage(name, scout, problem, history, config=replace(training, epochs=training.scout_epochs))
    return scout


def _withstand_noise(
    scout: SpliceNet, problem: Problem, history: History
) -> tuple[SpliceNet, Problem, dict[str, Choice]]:
    """Train the scout again for strong noise if a line predicts better than it does; keep the one that predicts better.

    A private space sees its own view, noise and all. Where noise is strong, keeping what is shared saves it more
    reconstruction error than being predictable costs, since that cost is at most the small part of variance that
    anything predicts: so disentangling weighs more. And input noise keeps networks from learning rows by heart.
    """
    data, seed, settings = problem.data, problem.seed, problem.settings
    is_set = problem.lambda_dis != DEFAULT_LAMBDA_DIS
    if is_set or not scout.measurers or not check_prediction(scout, data, problem.widths, seed):
        return scout, problem, {}
    noise = max(settings.training.input_noise, _NOISY_INPUT)
    training = replace(settings.training, input_noise=noise)
    noisy = replace(problem, lambda_dis=_NOISY_LAMBDA_DIS, settings=replace(settings, training=training))
    again = _train_scout("scout-noise", noisy, history)
    before, after = (predicted_share(model, data, seed) for model in (scout, again))
    told = (
        f"a line predicted held-out rows better than shared spaces, which told {before:.1%} of the variance; with "
        f"lambda_dis {_NOISY_LAMBDA_DIS:g} and input noise {noise:g} they told {after:.1%}"
    )
    if after <= before:
        return scout, problem, {"lambda_dis": Choice(problem.lambda_dis, told)}
    chosen = {"lambda_dis": noisy.lambda_dis, "input_noise": noise}
    return again, noisy, {name: Choice(value, told) for name, value in chosen.items()}


def _doubt_absence(found: Mapping[str, Choice]) -> dict[str, Choice]:
    """Return the same widths; that a private space is absent is weak evidence after much disentangling."""
    doubt = f"; weak evidence: lambda_dis {_NOISY_LAMBDA_DIS:g} may have removed what is private, too"
    return {
        space: replace(choice, reason=choice.reason + doubt, is_weak=True)
        if not is_arrow(space) and not choice.value
        else choice
        for space, choice in found.items()
    }


def scout_widths(problem: Problem) -> dict[str, int]:
    """Return the scout's widths: over-complete, but 0 where the user says 0, and no wider than the views.

    A private space given more dimensions than a scout has begins with the scout's: the wider it is, the better it hides
    what is shared in dimensions of little extent.
    """
    training, features = problem.settings.training, {name: x.shape[1] for name, x in problem.data.views.items()}
    widths = {}
    for space, width in problem.widths.items():
        wanted = training.scout_shared if is_arrow(space) else training.scout_private
        most = min(wanted, *(features[view] for view in space.split("->")))
        widths[space] = 0 if width == 0 else max(most, width or 1) if is_arrow(space) else most
    return widths


def _examine(scout: SpliceNet, problem: Problem) -> tuple[dict[str, Relevance], dict[str, SpaceGeometry]]:
    assert problem.settings.geometry is not None
    relevance = relevances(scout, problem.data, problem.seed)
    return relevance, measure_geometry(scout, problem, problem.settings.geometry)


def _scout_networks(networks: Networks) -> Networks:
    """Return the same networks without Fourier features: wide latents vary slowly, and are not yet of unit variance."""
    return replace(networks, n_frequencies=0) if isinstance(networks, ResidualNetworks) else networks


def _learn_coordinates(
    model: SpliceNet,
    scout: SpliceNet,
    problem: Problem,
    history: History,
    geometry: Mapping[str, SpaceGeometry],
    leading: Mapping[str, int],
) -> None:
    """Place all rows by the geometry, and train towards their places."""
    training = problem.settings.training
    if not training.regression_epochs or not geometry:
        return
    for space in geometry:
        model.scale_latents(space, 0.0)  # from the origin no coordinate is far
    widths = {**model.n_private, **model.n_shared}
    latents = encode_rows(scout, problem.data.views, problem.data.train).spaces()
    coordinates = as_coordinates(geometry, widths, problem.data.train.cpu().numpy(), latents, leading)
    del latents
    config = replace(training, epochs=training.regression_epochs)
    train_regression(model, problem, history, config=config, coordinates=coordinates)


def _check_spread(model: SpliceNet, problem: Problem, history: History, relevance: Mapping[str, Relevance]) -> None:
    """Raise if a space that the scout found full has ended as a point or a few outliers."""
    rows = problem.data.train[:: max(1, len(problem.data.train) // _MOST_ROWS)]
    latents = encode_rows(model, problem.data.views, rows).spaces()
    for space in model.spaces:
        if relevance[space].share > 0 and is_collapsed(latents[space].cpu().numpy()):
            raise TrainingDivergedError("compact", len(history), f"latent space {space}", history, snapshot(model))


def _check_sharing(model: SpliceNet, problem: Problem) -> dict[str, Choice]:
    """Return weak choices where what is shared is not all in shared spaces, or not only there."""
    found = check_prediction(model, problem.data, problem.widths, problem.seed)
    return found | check_independence(model, problem.data)


@torch.no_grad()
def _find_tears(model: SpliceNet, problem: Problem, geometry: Mapping[str, SpaceGeometry]) -> dict[str, Choice]:
    """Return a choice that is weak for every space in which neighbors on its submanifold lie far apart."""
    views, train = problem.data.views, problem.data.train
    rows = train[:: max(1, len(train) // _TEAR_ROWS)]
    latents = encode_rows(model, views, rows)
    torn = {}
    for space, found in geometry.items():
        anchor = encode_rows(model, views, torch.as_tensor(found.anchors[:1], device=train.device))
        z = latents.spaces()[space]
        points = project(model, z, space, anchor)
        is_torn = torn_rows(points.cpu().numpy(), z.cpu().numpy(), least=_TEAR_LEAST)
        n_torn = int(is_torn.sum()) if len(z) >= _TEAR_LEAST_ROWS else 0
        if n_torn >= _TEAR_LEAST:
            reason = (
                f"{n_torn} of {len(z)} rows have neighbors on the submanifold that lie as far away in the latent space "
                "as any row: a ring taken for a line, a torn sheet, or one that bends back upon itself; compare "
                "another seed, or one dimension more"
            )
            torn[f"torn/{space}"] = Choice(n_torn / len(z), reason, is_weak=True)
    return torn


def _explain_geometry(geometry: Mapping[str, SpaceGeometry]) -> dict[str, Choice]:
    choices = {}
    for space, found in geometry.items():
        value = found.n_neighbors if found.n_neighbors is not None else "own distance"
        reason = f"the smallest connected graph; anchors differ by {found.disagreement:.1%} of the mean distance"
        if found.bridging > BRIDGED:
            reason += (
                "; sparse points bridge what is far apart: for one pair of points in ten, a way around them is "
                f"{found.bridging:.1f} times longer than usual, so what lies close together need not be alike; "
                "compare with GeometryConfig(distance=DenseGeodesics())"
            )
        choices[f"n_neighbors/{space}"] = Choice(value, reason, is_weak=found.bridging > BRIDGED)
    return choices
