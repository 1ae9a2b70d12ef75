"""A protected table as an HTML fragment: real headings, totals set apart, notes below it."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..core.table import ProtectedTable, Status
from .flat import Flat, flatten
from .notes import Note, notes
from .terminal_grid import shown_as

if TYPE_CHECKING:
    from jinja2 import Template

MOST_CELLS = 20_000
_STYLE = (
    "<style>figure.discreet{margin:0}"
    ".discreet caption{text-align:left;font-weight:600;padding-bottom:.3em}"
    ".discreet td,.discreet thead th{text-align:right!important;"
    "font-variant-numeric:tabular-nums;white-space:nowrap;vertical-align:top}"
    ".discreet thead th{white-space:normal;vertical-align:bottom}"
    ".discreet td,.discreet thead th{padding-left:1em}"
    ".discreet thead th:first-child{text-align:left!important;padding-left:0}"
    ".discreet th[scope=row]{text-align:left!important;font-weight:normal;vertical-align:top}"
    ".discreet td small{opacity:.6}"
    ".discreet figcaption p{margin:.2em 0}</style>"
)
"""How a table looks in a notebook; a page has a style sheet of its own."""


@cache
def template(package: str, name: str) -> Template:
    """A page's template from a package's folder `templates`; what it is given is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def fragment(table: ProtectedTable, *, intervals: bool = False) -> str:
    """The table as `<figure>`, with every label escaped; large ones show their first rows.

    With `intervals`, the noise interval stands under each number that has one.
    """
    flat = flatten(table)
    layers, rows, columns = table.sides
    down = layers + rows
    shape = flat.shape
    across = int(np.prod(shape[down:], dtype=np.int64)) if columns else 1
    height = len(flat) // across if across else 0
    most = max(1, MOST_CELLS // max(across, 1))
    heads = [axis.label for axis in flat.axes[:down]]
    out = [f'<figure class="discreet"><table><caption>{escape(table.title)}</caption><thead>']
    repeat = 1
    for level, axis in enumerate(flat.axes[down:]):
        inner = int(np.prod(shape[down + level + 1 :], dtype=np.int64))
        out.append("<tr>")
        last = level == len(flat.axes) - down - 1
        for head in heads:
            out.append(f"<th scope=col>{escape(head) if last else ''}</th>")
        span = f" colspan={inner}" if inner > 1 else ""
        scope = "colgroup" if inner > 1 else "col"
        once = "".join(f"<th scope={scope}{span}>{escape(x)}</th>" for x in axis.labels)
        out.append(once * repeat + "</tr>")
        repeat *= len(axis)
    if not columns:
        out.append("<tr>" + "".join(f"<th scope=col>{escape(head)}</th>" for head in heads))
        out.append(f"<th scope=col>{escape(flat.measure)}</th></tr>")
    out.append("</thead><tbody>")
    values, status = flat.values.tolist(), flat.status.tolist()
    for row in range(min(height, most)):
        at = row
        labels: list[str] = []
        for axis in reversed(flat.axes[:down]):
            labels.append(axis.labels[at % len(axis)])
            at //= len(axis)
        cells = "".join(f"<th scope=row>{escape(label)}</th>" for label in reversed(labels))
        for i in range(row * across, (row + 1) * across):
            below = _interval(flat, i) if intervals else ""
            part = f"<br>{flat.percent.at(i)}" if flat.percent and flat.percent.shown[i] else ""
            cells += f"<td>{escape(shown_as(values[i], Status(status[i])))}{part}{below}</td>"
        out.append(f"<tr>{cells}</tr>")
    out.append("</tbody></table>")
    if height > most:
        out.append(f"<p>{height - most:,} more rows: write the table to a file.</p>")
    return "".join(out) + f"<figcaption>{_notes(notes(table, flat))}</figcaption></figure>"


def notebook(table: ProtectedTable) -> str:
    """The table for a notebook: numbers aligned right, their noise intervals quiet below them."""
    return _STYLE + fragment(table, intervals=True)


def _notes(said: list[Note]) -> str:
    """The first depth as lines; the rest folded."""
    lines = "".join(f"<p>{escape(note.words)}</p>" for note in said if note.depth == 1)
    rest = [f"<p>{escape(note.words)}</p>" for note in said if note.depth > 1]
    if not rest:
        return lines
    many = "1 more note" if len(rest) == 1 else f"{len(rest)} more notes"
    return f"{lines}<details><summary>{many}</summary>{''.join(rest)}</details>"


def _interval(flat: Flat, cell: int) -> str:
    if flat.lower is None or flat.upper is None or not flat.shown[cell]:
        return ""
    low, high = int(flat.lower[cell]), int(flat.upper[cell])
    return "" if low == high else f"<br><small>{low:,} to {high:,}</small>"
