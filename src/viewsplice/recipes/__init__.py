"""Recipes: which stages run with which settings, and what is chosen between them."""

from __future__ import annotations

from dataclasses import replace

import torch

from viewsplice.recipes.auto import solve_auto
from viewsplice.recipes.paper import solve_paper
from viewsplice.recipes.problem import Choice as Choice
from viewsplice.recipes.problem import Problem as Problem
from viewsplice.recipes.problem import Settings as Settings
from viewsplice.recipes.problem import Solution as Solution
from viewsplice.recipes.problem import doubts as doubts
from viewsplice.recipes.settings import choose_settings as choose_settings
from viewsplice.training.loop import History, restarting


@torch.enable_grad()
def solve(problem: Problem) -> Solution:
    """Fit; a fit that diverges or collapses starts over with a derived seed, up to ``max_restarts`` times."""
    history: History = []
    solve_once = solve_auto if problem.settings.recipe == "auto" else solve_paper
    return restarting(
        lambda seed: solve_once(replace(problem, seed=seed), history),
        history,
        seed=problem.seed,
        max_restarts=problem.settings.training.max_restarts,
    )
