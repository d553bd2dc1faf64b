"""What all figures have in common: axes made without pyplot, safe colors, literal text, and PNG or SVG files."""

from __future__ import annotations

import io
import re
import warnings

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's colors without yellow, which is lost on white paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
GRAY = "#BBBBBB"
GRID = "#E6E6E6"
_RASTER_DPI = 144
_PX_PER_PT = 4 / 3


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
    file = io.BytesIO()
    _figure(ax).savefig(file, format="png", dpi=dpi, facecolor="white")
    return file.getvalue()


def to_svg(ax: Axes) -> str:
    """Return the figure that holds ``ax`` as an ``<svg>`` element for the inside of an HTML page.

    Text stays text. Black is the color of the text around the element, and the palette and the grays are the CSS
    variables ``--c0``, ``--c1``, ..., ``--gray`` and ``--grid`` where the page has them, so that figures follow the
    page from light to dark. The same figure gives the same text each time.
    """
    file = io.StringIO()
    # Browsers have glyphs that the font by which text is measured lacks, such as emoji.
    with warnings.catch_warnings(), rc_context({"svg.fonttype": "none", "svg.hashsalt": "viewsplice"}):
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        _figure(ax).savefig(file, format="svg", dpi=_RASTER_DPI, transparent=True, metadata={"Date": None})
    text = file.getvalue()
    text = re.sub("<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    head, body = text.split(">", 1)
    view = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head)
    assert view is not None, "every figure has a size"
    width, height = (f"{_PX_PER_PT * float(length):.0f}" for length in view.groups())
    body = re.sub(r"<g id=\"[^\"]*\"", "<g", body)
    return f'<svg {view.group(0)} width="{width}" height="{height}">{_themed(body)}'


def _themed(svg: str) -> str:
    """Return an SVG text with variables in place of the colors that depend on the ground."""
    names = {color: f"--c{i}" for i, color in enumerate(PALETTE[:-1])} | {GRAY: "--gray", GRID: "--grid"}
    for color, name in names.items():
        # The ground of a hatch is an attribute, where variables are not allowed.
        svg = re.sub(f'fill="{color}"', f'style="fill: {color}"', svg, flags=re.IGNORECASE)
        svg = re.sub(f"(?<=: ){color}\\b", f"var({name}, {color})", svg, flags=re.IGNORECASE)
    return re.sub(r"(?<=: )#000000\b", "currentColor", svg)


def _figure(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure
