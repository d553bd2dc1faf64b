"""What an experiment reports: rows beside the paper's figures, tables, and what of the paper's is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import mean, stdev
from typing import Any

from scipy.stats import ttest_ind, ttest_rel

# The fewest that say something of the spread over seeds.
_FEWEST_SEEDS = 3
_FACTORS = ("r2_x_AB", "r2_y_AB", "r2_x_BA", "r2_y_BA", "r2_private_A", "r2_private_B")

# The paper's figures: (experiment, method) -> metric -> value; None where it only says "similar".
PAPER: Mapping[tuple[str, str], Mapping[str, float | None]] = {
    ("rotated-mnist", "splice"): {
        "angle_variance": 97.12,
        "digit_accuracy": 90.8,
        "angle_variance_conv": None,
        "angle_variance_lambda_0.1x": 98.28,
        "angle_variance_lambda_1x": 97.12,
        "angle_variance_lambda_10x": 97.89,
    },
    ("rotated-mnist", "splice-step1"): {"angle_variance": 94.83},
    ("sprites", "splice"): {
        "r2_A": 0.956,
        "r2_B": 0.953,
        "angle_variance_A": 99.99,
        "angle_variance_B": 99.99,
        "angle_sd_A": 98.83,
        "angle_sd_B": 98.91,
        "id_variance_A": 99.97,
        "id_variance_B": 99.97,
        "id_sd_A": 98.43,
        "id_sd_B": 98.44,
    },
    ("sprites", "splice-step1"): {
        "r2_A": 0.959,
        "r2_B": 0.962,
        "angle_variance_A": 99.65,
        "angle_variance_B": 99.55,
        "angle_sd_A": 94.15,
        "angle_sd_B": 93.31,
        "id_variance_A": 99.79,
        "id_variance_B": 99.75,
        "id_sd_A": 95.58,
        "id_sd_B": 95.19,
    },
    ("lgn-v1", "splice"): dict.fromkeys(_FACTORS, 0.99),
}


def _sheet(x: float, y: float) -> dict[str, float]:
    """Return one figure for x and one for y beside both directions: it is not said to which they belong."""
    return {"r2_x_AB": x, "r2_y_AB": y, "r2_x_BA": x, "r2_y_BA": y}


# Those of the methods compared with, by the names they have without "-printed" or "-tuned". No run owes them.
PAPER_BASELINES: Mapping[tuple[str, str], Mapping[str, float]] = {
    ("rotated-mnist", "deepcca"): {"digit_accuracy": 90.7},
    ("rotated-mnist", "dccae"): {"digit_accuracy": 78.1},
    ("rotated-mnist", "karakasis"): {"digit_accuracy": 91.3},
    ("rotated-mnist", "lyu"): {"angle_variance": 27.09, "digit_accuracy": 76.1},
    ("rotated-mnist", "dmvae"): {"angle_variance": 84.64, "digit_accuracy": 91.3},
    ("sprites", "lyu"): {
        "r2_A": 0.904,
        "r2_B": 0.895,
        "angle_variance_A": 10.97,
        "angle_variance_B": 22.12,
        "angle_sd_A": 5.67,
        "angle_sd_B": 16.28,
        "id_variance_A": 6.76,
        "id_variance_B": 7.70,
        "id_sd_A": 3.51,
        "id_sd_B": 3.95,
    },
    ("sprites", "dmvae"): {
        "r2_A": 0.885,
        "r2_B": 0.882,
        "angle_variance_A": 98.50,
        "angle_variance_B": 98.31,
        "angle_sd_A": 88.11,
        "angle_sd_B": 87.09,
        "id_variance_A": 99.09,
        "id_variance_B": 98.97,
        "id_sd_A": 94.06,
        "id_sd_B": 93.97,
    },
    ("lgn-v1", "deepcca"): _sheet(0.004, 0.014),
    ("lgn-v1", "dccae"): _sheet(0.0, 0.26),
    ("lgn-v1", "karakasis"): _sheet(0.0, 0.053),
    ("lgn-v1", "dmvae"): {**_sheet(0.0025, 0.0026), "r2_private_A": 0.10, "r2_private_B": 0.27},
}


@dataclass(frozen=True)
class Result:
    """One figure of one seed; higher is better.

    Attributes
    ----------
    experiment, method, metric, value, seed
        What was measured, by which method, and with which seed.
    rows
        Number of rows it was measured on.
    settings_hash
        Changes with any setting of the data or of the estimator.
    """

    experiment: str
    method: str
    metric: str
    value: float
    seed: int
    rows: int
    settings_hash: str

    @property
    def paper(self) -> float | None:
        """Return the paper's figure, if it has one."""
        return paper_figure(self.experiment, self.method, self.metric)

    def to_dict(self) -> dict[str, Any]:
        """Return the row of ``metrics.json``."""
        return {**asdict(self), "paper": self.paper}


@dataclass(frozen=True)
class Table:
    """A table for people: a title, what to know when reading it, names of columns, rows of texts or numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""

    def markdown(self) -> str:
        """Return the table with its title and its note."""
        lines = [f"### {self.title}", ""]
        lines += [self.note, ""] if self.note else []
        lines += [_line(self.columns), "|" + "---|" * len(self.columns), *map(_line, self.rows)]
        return "\n".join(lines)


@dataclass(frozen=True)
class Summary:
    """Everything an experiment found."""

    results: Sequence[Result]
    tables: Sequence[Table] = field(default_factory=tuple)


def paper_figure(experiment: str, method: str, metric: str) -> float | None:
    """Return a figure of the paper, of SPLICE or of a baseline, if it has one."""
    base = method.removesuffix("-printed").removesuffix("-tuned")
    own = PAPER.get((experiment, method), PAPER_BASELINES.get((experiment, base), {}))
    return own.get(metric)


def missing_rows(experiment: str, results: Iterable[Result]) -> list[str]:
    """Return the figures of the paper, as ``"method metric"``, that no row stands for."""
    found = {(result.method, result.metric) for result in results if result.experiment == experiment}
    return [
        f"{method} {metric}"
        for (name, method), metrics in PAPER.items()
        if name == experiment
        for metric in metrics
        if (method, metric) not in found
    ]


def paper_table(experiment: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return each figure of one experiment beside the paper's: mean and SD over seeds.

    Parameters
    ----------
    experiment
        Its name.
    rows
        Rows of ``metrics.json``.
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["experiment"] == experiment:
            groups.setdefault((row["method"], row["metric"]), []).append(row)
    lines = []
    for (method, metric), found in groups.items():
        paper = found[0]["paper"]
        values = [row["value"] for row in found]
        digits = 2 if max(map(abs, values)) > 2 else 4
        seeds = ", ".join(str(row["seed"]) for row in found)
        lines.append([method, metric, "" if paper is None else paper, spread(values, digits), seeds])
    return Table(f"{experiment}: beside the paper", ["method", "figure", "paper", "viewsplice", "seeds"], lines)


def spread(values: Sequence[float | None], digits: int = 4) -> str:
    """Return mean ± SD over seeds; of one value, the value. None is infinity in JSON, as for a ring of one loop."""
    finite = [value for value in values if value is not None]
    if not finite:
        return "infinite"
    told = f"{mean(finite):.{digits}f}" + (f" ± {stdev(finite):.{digits}f}" if len(finite) > 1 else "")
    n_infinite = len(values) - len(finite)
    return f"{told} (infinite in {n_infinite} of {len(values)})" if n_infinite else told


def _line(cells: Sequence[Any]) -> str:
    texts = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells)
    return "| " + " | ".join(text.replace("|", r"\|") for text in texts) + " |"


def p_values(first: Sequence[float], second: Sequence[float]) -> str:
    """Return two-sided p-values of a difference between means over the same seeds, in words."""
    p = welch(first, second)
    if p is None:
        return "too few seeds for a p-value"
    return f"p = {p:.2g} (Welch), p = {ttest_rel(first, second).pvalue:.2g} (paired by seed)"


def welch(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the two-sided p-value of a difference between means, variances unequal; None below three seeds each."""
    if min(len(first), len(second)) < _FEWEST_SEEDS:
        return None
    if len({*first}) == len({*second}) == 1:  # no spread at all: the test has no meaning, the answer has
        return float(first[0] == second[0])
    return float(ttest_ind(first, second, equal_var=False).pvalue)
