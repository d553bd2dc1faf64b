"""The page as one file: all sections, the data they need, and the script that draws them."""

from __future__ import annotations

from pathlib import Path

from viewsplice.io import write_atomic
from viewsplice.page.belief import belief_section
from viewsplice.page.blocks import Blocks
from viewsplice.page.content import Content
from viewsplice.page.covariates import covariates
from viewsplice.page.features import features
from viewsplice.page.look import look_section
from viewsplice.page.markup import count_doubts, fill_page, joined, typeset
from viewsplice.page.provenance import provenance_section
from viewsplice.page.scatter import spaces_data, themes_data
from viewsplice.page.summary import summary_section


def write_page(content: Content, path: Path, title: str | None = None) -> Path:
    """Write the page and return its path; without a title, it has one that names the views."""
    title = title or f"What {joined(content.model.view_names_)} share"
    blocks = Blocks()
    is_sampled = len(content.drawn) < len(content.views)
    data = {
        "n_rows": len(content.drawn),
        "rows": blocks.add(content.drawn, "u4") if is_sampled else None,
        "spaces": spaces_data(content, blocks),
        "covariates": covariates(content, blocks),
        "features": features(content, blocks),
        "themes": themes_data(blocks),
    }
    believed = belief_section(content)
    # The first answer tells how many doubts there are before the reader has seen any of them.
    sections = [
        summary_section(content, count_doubts(believed)),
        look_section(content, data),
        believed,
        provenance_section(content),
    ]
    head = "".join(f'<p class="about">{typeset(note, content.spaces)}</p>' for note in content.run.notes)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, fill_page(title, head, sections, blocks.html(data)).encode())
    return path
