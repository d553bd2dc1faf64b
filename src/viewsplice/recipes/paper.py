"""Recipe ``"paper"``: Algorithms 1 and 2, literally, with the widths the user gives."""

from __future__ import annotations

from viewsplice.geometry.targets import as_targets
from viewsplice.recipes.problem import Problem, Solution
from viewsplice.recipes.stages import measure_geometry, new_model, train_stage
from viewsplice.training.loop import History


def solve_paper(problem: Problem, history: History) -> Solution:
    """Fit: disentangle, estimate geodesics once, fine-tune with fresh optimizers."""
    settings = problem.settings
    widths = {space: width for space, width in problem.widths.items() if width is not None}
    model = new_model(problem, widths, settings.networks, name="networks")
    train_stage("disentangle", model, problem, history)
    if settings.geometry is None:
        return Solution(model, {}, history)
    geometry = measure_geometry(model, problem, settings.geometry)
    targets = as_targets(geometry, settings.geometry.lambda_geo, next(iter(problem.data.views.values())))
    train_stage("geometry", model, problem, history, targets=targets)
    return Solution(model, geometry, history)
