"""Printing for people: the console, progress bars and small key–value tables."""

from __future__ import annotations

import json
import re
import shlex
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..core.control import Control, Progress

if TYPE_CHECKING:
    from rich.console import Console

SECONDS_BETWEEN_LINES = 2.0
"""How often progress is told where standard error is no terminal."""


def console(*, error: bool = False) -> Console:
    """The terminal, without colours where it is not one."""
    from rich.console import Console

    return Console(stderr=error, highlight=False, soft_wrap=False)


def command(*words: object) -> None:
    """Print a command to paste: on a line of its own, never broken, whatever the width."""
    line = shlex.join(str(word) for word in words)
    console().print(f"  {line}", soft_wrap=True, markup=False)


def advice(text: str, *, indent: int = 0) -> None:
    """Print prose; a command in backticks gets a line of its own, so that it can be pasted."""
    parts = re.split(r"`((?:discreet|chmod) [^`]*)`", text)
    for place, part in enumerate(parts):
        if place % 2:
            console().print(f"{' ' * indent}  {part}", soft_wrap=True, markup=False)
            continue
        words = part.strip() if not place else part.lstrip(" .,;").rstrip()
        if words:
            before_command = place + 1 < len(parts)
            prose(words.removesuffix(":") + ":" if before_command else words, indent=indent)


def prose(text: str, *, indent: int = 0, style: str = "") -> None:
    """Print a paragraph in the width of the terminal; words are not broken."""
    out = console()
    for line in wrapped(text, out.width - indent):
        out.print(" " * indent + line, style=style, soft_wrap=True, markup=False)


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most this width; a path or a command that is longer stays whole."""
    filler = textwrap.TextWrapper(max(width, 20), break_long_words=False, break_on_hyphens=False)
    return [line for part in text.splitlines() for line in filler.wrap(part)] or [""]


def as_json(facts: Mapping[str, Any] | None = None, **more: Any) -> None:
    """Print one JSON object."""
    json.dump({**(facts or {}), **more}, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Control]:
    """A progress bar on standard error where that is a terminal; else a line now and then."""
    if quiet:
        yield Control()
        return
    if not sys.stderr.isatty():
        yield Control(_lines())
        return
    from rich import progress as rich_progress

    bar = rich_progress.Progress(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TextColumn("{task.percentage:>3.0f} %"),
        rich_progress.TimeRemainingColumn(compact=True),
        console=console(error=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("starting", total=1.0)
        yield Control(lambda share, doing: bar.update(task, completed=share, description=doing))


def _lines() -> Progress:
    """Progress as lines of a log: none for quick work, then one every few seconds."""
    start = last = time.monotonic()

    def tell(share: float, doing: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LINES:
            last = now
            left = (now - start) * (1 - share) / share if share > 0.05 else 0.0
            more = f", about {left:.0f} s left" if left >= 1 else ""
            print(f"{share:4.0%}  {doing}{more}", file=sys.stderr, flush=True)

    return tell


def pairs(*rows: tuple[str, object]) -> None:
    """Print two columns: what, and its value; a long path or command in it is not broken."""
    from rich.text import Text

    out = console()
    start = max((len(name) for name, _ in rows), default=0) + 2
    for name, value in rows:
        for number, line in enumerate(wrapped(str(value), out.width - start)):
            label = Text(("" if number else name).ljust(start), style="dim")
            out.print(Text.assemble(label, line), soft_wrap=True)


def grid(
    title: str, columns: Iterable[str], rows: Iterable[Iterable[object]], *, tight: bool = False
) -> None:
    """Print a plain table with a heading.

    Columns that start with > are numbers: never broken, their headings are. Those that start with
    | are never broken at all.
    """
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    if tight:
        table.padding, table.pad_edge = (0, 1, 0, 0), False
    texts = [[str(value) for value in row] for row in rows]
    for place, column in enumerate(columns):
        whole, right = column.startswith("|"), column.startswith(">")
        table.add_column(
            (heading := column.lstrip(">|")),
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=whole,
        )
        if right:
            unbroken = [*heading.split(), *(row[place] for row in texts)]
            table.columns[-1].min_width = max(map(len, unbroken), default=1)
    for row in texts:
        table.add_row(*row)
    out = console()
    if out.measure(table, options=out.options.update_width(10_000)).maximum > out.width:
        for one in table.columns:
            one.width = one.min_width
    out.print(table)


def study(
    json: bool,
    facts: Mapping[str, Any],
    title: str,
    columns: Iterable[str],
    rows: Iterable[Iterable[object]],
    *,
    picture: object | None = None,
) -> bool:
    """Print what was found: one JSON object, or a table for people. Whether it was for people."""
    if json:
        as_json(facts)
        return False
    grid(title, columns, rows, tight=True)
    if picture is not None:
        console().print(f"[dim]Picture: {picture}[/dim]")
    return True
