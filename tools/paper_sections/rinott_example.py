"""rinott §3: Table 1, shipped as an example; §5.6 on it, as far as the law alone says it."""

from __future__ import annotations

import discreet as dc

from .bench import Bench, Grid, Section, compare, holds

NORMAL_M = {"0.1": 8, "0.5": 10, "1": 12, "1.5": 12, "2": 13, "3": 14}


def section(bench: Bench) -> Section:
    """Table 1 as shipped, and the expected losses behind Figure 1."""
    table = dc.uk_census()
    rows, better = [], []
    for epsilon, m in NORMAL_M.items():
        losses = {
            name: bench.run(
                "law", "losses", "--law", name, "--epsilon", epsilon, "-m", str(cut), "--example"
            )["example"]["clipped"]
            for name, cut in (("laplace", 7), ("normal", m))
        }
        for name, found in losses.items():
            figures = (found["absolute"], found["squared"], found["root"])
            rows.append(
                (epsilon, name, *(f"{one:.1f}" for one in figures), f"{found['unchanged']:.3f}")
            )
        better += [
            losses["laplace"][one] < losses["normal"][one]
            for one in ("absolute", "squared", "root")
        ]
    header = ("ε", "law", "ℓ1", "ℓ2", "ℓ3", "share of cells unchanged")
    figures = (
        compare("Table 1: cells", "132", len(table.counts)),
        compare("Table 1: age groups", "12", len(table.ages)),
        compare("Table 1: occupations", "11", len(table.occupations)),
        holds(
            "§5.6.2: losses on Table 1",
            "in all cases Laplace shows higher utility, even for ℓ2",
            all(better),
            f"smaller expected loss in {sum(better)} of {len(better)} cases",
        ),
    )
    grid = Grid("Expected losses over Table 1, negatives shown as 0", header, tuple(rows))
    return Section("rinott", "§3 and §5.6.2: the example", figures, bench.commands(), (grid,))
