"""Small pieces of HTML: tables, figures, and the names of latent spaces. What comes from users is escaped here."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template

from viewsplice.views import endpoints, is_arrow


def fill_page(title: str, sections: Iterable[str]) -> str:
    """Return the whole page; the title is plain text, the sections are HTML."""
    template = Template(files("viewsplice.report").joinpath("template.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(title), body="\n".join(sections))


def symbol(space: str) -> str:
    """Return a latent space in the paper's symbols, as HTML."""
    letter, index = ("s", "→".join(endpoints(space))) if is_arrow(space) else ("z", space)
    return f"<i>{letter}</i><sub>{escape(index)}</sub>"


def words(space: str) -> str:
    """Return what a latent space is, as HTML."""
    if not is_arrow(space):
        return f"private to {escape(space)}"
    source, target = endpoints(space)
    return f"shared, from {escape(source)} to rebuild {escape(target)}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the cells are HTML, and the first of each row is its heading."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>' for first, *rest in rows
    )
    lines = f"<thead><tr>{top}</tr></thead>" if head else ""
    return f'<div class="table"><table>{lines}<tbody>{body}</tbody></table></div>'


def figure(png: bytes, caption: str, description: str) -> str:
    """Return an image with its caption; both texts are HTML, the second without tags."""
    data = base64.b64encode(png).decode()
    image = f'<img alt="{description}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def panels(figures: Iterable[str]) -> str:
    """Return figures side by side, as many as the window has room for."""
    return f'<div class="panels">{"".join(figures)}</div>'
