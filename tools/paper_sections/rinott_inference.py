"""rinott §6: tests that know the noise."""

from __future__ import annotations

from .bench import Bench, Section, not_yet


def section(bench: Bench) -> Section:
    """Nothing yet."""
    figures = (
        not_yet("Table 3: level and power, naive and by likelihood ratio", "independence, 10 × 10"),
        not_yet("Figure 4: 2 log(likelihood ratio)", "H0: p = 0.5, N = 100"),
    )
    return Section("rinott", "§6: tests that know the noise", figures)
