"""Small pieces of HTML: tables, figures, notes, names of latent spaces. What comes from users is escaped here."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape, unescape
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import Any

from viewsplice.trust.symbols import plain_symbol, symbol_parts
from viewsplice.views import endpoints, is_arrow

# In the order in which they need each other.
_SCRIPTS = ("data", "colors", "points", "axes", "gestures", "panel", "legend", "maps", "main")
# Cells beyond this are sentences, which may be broken.
_LONGEST_NUMBER = 40
# View names beyond this would push the numbers of a table out of the window.
_LONGEST_INDEX = 24


def fill_page(title: str, head: str, sections: Iterable[str], data: str) -> str:
    """Return the whole page; the title is plain text, everything else HTML.

    The policy of the page names the hash of its one script, so that nothing else can run, and allows no request.
    """
    script = "(() => {\n" + "\n".join(["'use strict';", *(_static(f"{name}.js") for name in _SCRIPTS)]) + "})();"
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_read("template.html")).substitute(
        title=escape(title),
        head=head,
        body="\n".join(sections),
        data=data,
        style=_static("page.css"),
        script=script,
        hash=digest,
        version=version("viewsplice"),
    )


def _read(name: str) -> str:
    return files("viewsplice.page").joinpath(name).read_text(encoding="utf-8")


def _static(name: str) -> str:
    return _read(f"static/{name}")


def symbol(space: str) -> str:
    """Return a latent space in the paper's symbols, as HTML; overlong names lose their middle, which a title tells."""
    letter, views = symbol_parts(space)
    index, short = "→".join(views), "→".join(_shortened(view) for view in views)
    title = "" if short == index else f' title="{escape(index)}"'
    return f"<i>{letter}</i><sub{title}>{escape(short)}</sub>"


def _shortened(name: str) -> str:
    half = _LONGEST_INDEX // 2
    return name if len(name) <= _LONGEST_INDEX else f"{name[: half - 1]}…{name[-half:]}"


def typeset(text: str, spaces: Iterable[str]) -> str:
    """Return a plain sentence as HTML, with latent spaces in the symbols that the page uses everywhere.

    ``spaces`` are the names it may speak of: a shared one is found by its name, a private one by its plain symbol,
    since its name is also that of a view.
    """
    written = {form: space for space in spaces for form in _forms(space)}
    if not written:
        return escape(text)
    # Longer ones first: one name may begin like another.
    forms = sorted(map(re.escape, written), key=len, reverse=True)
    pieces = re.split(rf"(?<!\w)({'|'.join(forms)})(?!\w)", text)
    return "".join(symbol(written[piece]) if piece in written else escape(piece) for piece in pieces)


def _forms(space: str) -> list[str]:
    """Return how sentences may write a space."""
    plain = plain_symbol(space)
    return [plain, space, plain.partition(" ")[2]] if is_arrow(space) else [plain]


def words(space: str) -> str:
    """Return what a latent space is, as HTML."""
    if not is_arrow(space):
        return f"private to {escape(space)}"
    source, target = endpoints(space)
    return f"shared, from {escape(source)} to rebuild {escape(target)}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, is_text: bool = False) -> str:
    """Return a table; the cells are HTML, the first of each row is its heading. Text may be broken, numbers not."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    cell = _text_cell if is_text else "<td>{}</td>".format
    body = "".join(f'<tr><th scope="row">{first}</th>{"".join(map(cell, rest))}</tr>' for first, *rest in rows)
    lines = f"<thead><tr>{top}</tr></thead>" if head else ""
    kind = "table text" if is_text else "table"
    # Wide tables scroll by themselves, so the keyboard must reach them.
    named = escape(", ".join(unescape(re.sub("<.*?>", "", cell)) for cell in head))
    label = f"table: {named}" if head else "table"
    start = f'<div class="{kind}" tabindex="0" role="group" aria-label="{label}">'
    return f"{start}<table>{lines}<tbody>{body}</tbody></table></div>"


def _text_cell(cell: str) -> str:
    """Return a cell; one that holds a sentence is marked, so that it keeps room for some words per line."""
    is_sentence = len(cell) > _LONGEST_NUMBER and "<table>" not in cell
    return f'<td class="sentence">{cell}</td>' if is_sentence else f"<td>{cell}</td>"


def figure(svg: str, caption: str, description: str, *, is_wide: bool = False) -> str:
    """Return a figure with its caption, which is HTML, and a description for those who do not see it, plain text."""
    picture = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(description)}" ', 1)
    start = '<figure class="wide">' if is_wide else "<figure>"
    return f"{start}{picture}<figcaption>{caption}</figcaption></figure>"


def fixed(value: float, digits: int = 2) -> str:
    """Return a number with so many digits after the point; what rounds to zero has no sign."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def percent(value: float) -> str:
    """Return a fraction in whole percent; what rounds to zero has no sign."""
    return f"{round(100 * value)} %"


def joined(parts: Sequence[str]) -> str:
    """Return parts as one enumeration: commas, and "and" before the last."""
    *others, last = parts
    return f"{', '.join(others)} and {last}" if others else last


def panels(figures: Iterable[str], *, is_paired: bool = False) -> str:
    """Return figures side by side, as many as the window has room for; those of pairs two by two."""
    shown = list(figures)
    # Three and a lonely fourth look like a mistake.
    kind = "panels pairs" if is_paired or len(shown) == 4 else "panels"
    return f'<div class="{kind}">{"".join(shown)}</div>'


def note(kind: str, text: str) -> str:
    """Return a marked sentence: ``"good"``, ``"warn"`` or ``"bad"``, said in a word as well; the text is HTML."""
    word = {"good": "Fine", "warn": "Careful", "bad": "Wrong"}[kind]
    return f'<p class="note {kind}"><b>{word}.</b> {text}</p>'


def count_doubts(html: str) -> int:
    """Return how many of the notes in a piece of HTML are not fine."""
    return sum(html.count(f'<p class="note {kind}">') for kind in ("warn", "bad"))


def listing(value: Any) -> str:
    """Return any JSON value as HTML: lists of equal mappings as a table, mappings by name, the rest as text."""
    if isinstance(value, Mapping):
        return table([], [[escape(_spaced(name)), listing(item)] for name, item in value.items()], is_text=True)
    if isinstance(value, list | tuple) and value and all(isinstance(item, Mapping) for item in value):
        names = list(dict.fromkeys(name for item in value for name in item))
        cells = [[_inline(item.get(name)) for name in names] for item in value]
        is_text = any(len(cell) > _LONGEST_NUMBER for row in cells for cell in row)
        return table([escape(_spaced(name)) for name in names], cells, is_text=is_text)
    if isinstance(value, list | tuple):
        return ", ".join(listing(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else escape(str(value))


def _inline(value: Any) -> str:
    """Return a cell: a mapping on one line, since a table inside a row would push the next row far down."""
    if isinstance(value, Mapping):
        return "; ".join(f"{escape(_spaced(name))}: {listing(item)}" for name, item in value.items())
    return listing(value)


def _spaced(name: Any) -> str:
    return str(name).replace("_", " ")
