"""ons §4 method 2 and §5: the top-down method, its bias, transition matrices, utility."""

from __future__ import annotations

from .bench import Bench, Section, not_yet


def section(bench: Bench) -> Section:
    """Nothing yet."""
    figures = (
        not_yet("Tables 6 and 7: transition matrices", "11 × 11 bands"),
        not_yet("Tables 8 to 11: counts before and after, with and without zeros", "top-down"),
        not_yet("Table 12: where the bias comes from", "ten cells"),
        not_yet("Figures 3 to 6: on-diagonal share, L1, L2, Hellinger", "top-down, over ε"),
    )
    return Section("ons", "§4 method 2 and §5: top-down", figures)
