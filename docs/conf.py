"""Sphinx settings: MyST pages, API pages from the docstrings, no network access."""

from __future__ import annotations

from importlib.metadata import version as installed_version
from typing import Any

from sphinx.application import Sphinx

project = "viewsplice"
author = "The viewsplice developers"
copyright = f"2026, {author}"
version = release = installed_version("viewsplice")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# Docstrings leave the types to the annotations; the signatures show them.
napoleon_google_docstring = False
napoleon_use_ivar = True
autodoc_typehints = "signature"
autodoc_member_order = "bysource"

html_theme = "pydata_sphinx_theme"
html_title = f"viewsplice {version}"
html_show_sourcelink = False
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}


def setup(app: Sphinx) -> None:
    """Leave out what scikit-learn generates, and document a name that several modules export once."""
    documented: set[int] = set()

    def skip_member(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
        if what == "class" and name.startswith("set_") and name.endswith("_request"):
            return True
        if what != "module" or skip or not callable(obj):
            return None
        if id(obj) in documented:
            return True
        documented.add(id(obj))
        return None

    app.connect("autodoc-skip-member", skip_member)
