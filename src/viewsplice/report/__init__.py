"""One self-contained HTML page about a fitted model (needs the extra ``plot``)."""

from viewsplice.report.page import report as report

__all__ = ["report"]
