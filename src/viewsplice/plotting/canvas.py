"""What all figures have in common: axes made without pyplot, safe colors, literal text, and PNG bytes."""

from __future__ import annotations

import io

from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's colors without yellow, which is lost on white paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
GRAY = "#BBBBBB"


def axes_or_new(ax: Axes | None, size: tuple[float, float] = (4.2, 3.5)) -> Axes:
    """Return the given axes, or those of a new figure of ``size`` inches."""
    return Figure(figsize=size, layout="constrained").add_subplot() if ax is None else ax


def literal(text: str, longest: int = 40) -> str:
    """Return text that is drawn as it stands: no formulas between dollar signs; overlong names lose their middle."""
    half = longest // 2
    short = text if len(text) <= longest else f"{text[: half - 1]}…{text[-half:]}"
    # A label that starts with an underscore would be left out of the legend.
    return f"{' ' if short.startswith('_') else ''}{short}".replace("$", r"\$")


def to_png(ax: Axes, *, dpi: float = 110) -> bytes:
    """Return the figure that holds ``ax`` as the bytes of a PNG file on a white ground."""
    figure = ax.figure if isinstance(ax.figure, Figure) else ax.figure.figure
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=dpi, facecolor="white")
    return file.getvalue()
