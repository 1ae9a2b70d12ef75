"""nabar: suppression that leaks nothing by its own choices."""

from __future__ import annotations

from .bench import Bench, Section, not_yet


def section(bench: Bench) -> Section:
    """Nothing yet."""
    figures = (
        not_yet("Figures 3 to 5: cells suppressed by size, ε and δ", "simulatable suppression"),
        not_yet("Theorem 2: wrong releases", "at most δ / T"),
    )
    return Section("nabar", "Suppression", figures)
