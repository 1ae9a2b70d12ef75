"""Ways to look at a table, beside the files it can be kept as: an HTML fragment, a picture.

A view is for eyes: it may show a part of the rows, and nothing reads it back.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

from ..core.table import ProtectedTable
from . import html, svg, vegalite
from .base import VIEWS

__all__ = ["VIEWS", "View", "to_bytes"]


@dataclass(frozen=True)
class View:
    """What is shown of a table, and how."""

    first: int = 1
    """The first row, from 1."""
    rows_most: int | None = None
    """How many rows; None: all of a small table, else a page."""
    intervals: bool = False
    heat: bool = False
    chart: str = ""
    """The kind of picture; empty: the one that suits the table."""
    theme: str = "page"
    """Colours: those of the page it stands in, or fixed ones for a file."""

    @property
    def said(self) -> str:
        """All of it in one text, to tell views apart."""
        return "" if self == View() else repr(astuple(self))


def to_bytes(table: ProtectedTable, name: str, view: View) -> bytes:
    """A table as a view of that name."""
    if name == "svg":
        return svg.to_svg(table, view.chart, view.theme).encode()
    if name == "vega-lite":
        return vegalite.to_vegalite(table, view.chart)
    window = html.Window(view.first, view.rows_most, view.intervals, view.heat)
    return html.fragment(table, window).encode()
