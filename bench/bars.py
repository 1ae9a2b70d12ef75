"""Figures and the bars they are held to: one line each, and one table over all benches.

A bench calls `measured` for every figure that has a bar. The line is printed, and where
`python -m bench` started the bench it is kept for the table at the end.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

KEPT_IN = "DISCREET_BENCH_FIGURES"
"""Names the file that `python -m bench` collects a bench's figures from."""

OUT = Path(__file__).parent / "out"


@dataclass(frozen=True)
class Figure:
    """One measured figure; `value` is None where it could not be measured, and `note` says why."""

    what: str
    value: float | None
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def holds(self) -> bool | None:
        """Does it keep its bar? None where nothing was measured.

        >>> Figure("loading", 2.0, "×", at_most=3).holds, Figure("draws", None, at_least=3).holds
        (True, None)
        """
        if self.value is None:
            return None
        low = float("-inf") if self.at_least is None else self.at_least
        high = float("inf") if self.at_most is None else self.at_most
        return low <= self.value <= high

    @property
    def bar(self) -> str:
        parts = [
            f"{sign} {_short(bound)}"
            for sign, bound in (("≥", self.at_least), ("≤", self.at_most))
            if bound is not None
        ]
        return f"{' and '.join(parts)} {self.unit}".strip()

    @property
    def found(self) -> str:
        return "not measured" if self.value is None else f"{_short(self.value)} {self.unit}".strip()

    @property
    def verdict(self) -> str:
        return {True: "yes", False: "NO", None: "—"}[self.holds]


def _short(value: float) -> str:
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def measured(
    what: str,
    value: float | None,
    unit: str = "",
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    note: str = "",
) -> Figure:
    """Print a figure beside its bar, and keep it where a table is being made."""
    figure = Figure(what, value, unit, at_most, at_least, note)
    told = f"  ({note})" if note else ""
    print(f"  {what}: {figure.found}, bar {figure.bar}, holds: {figure.verdict}{told}", flush=True)
    if path := os.environ.get(KEPT_IN):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(figure), ensure_ascii=False) + "\n")
    return figure


def kept(path: Path) -> list[Figure]:
    """The figures one bench kept."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Figure(**json.loads(line)) for line in lines]


def as_plain(figure: Figure) -> dict[str, Any]:
    """A figure for JSON, with its verdict."""
    return {**asdict(figure), "bar": figure.bar, "holds": figure.holds}


def table(rows: Sequence[tuple[str, Figure, str]]) -> str:
    """Bench, figure and load, as an aligned Markdown table."""
    head = ("bench", "what", "measured", "bar", "holds", "load")
    return aligned(
        head, [(name, f.what, f.found, f.bar, f.verdict, load) for name, f, load in rows]
    )


def aligned(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns stand below each other."""
    widths = [max(len(row[i]) for row in (head, *body)) for i in range(len(head))]
    lines = [
        "| " + " | ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)) + " |"
        for row in (head, *body)
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])
