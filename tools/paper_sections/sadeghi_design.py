"""sadeghi III: δ curves, the rule for γ, the design guide and Example 1."""

from __future__ import annotations

import itertools
from fractions import Fraction

import discreet as dc

from .bench import Bench, Figure, Grid, Picture, Section, compare, differs, holds

EXAMPLE_1 = {
    0: "0.056895481243871",
    1: "0.056320120792644",
    2: "0.054628714970934",
    24: "0.000163117271714",
    25: "0.000099129808160",
}


def section(bench: Bench) -> Section:
    """Figures 1 to 3 and Example 1."""
    figures = [*_curves(bench), *_rule(bench), *_example(bench), *_many_cells(bench)]
    rows = bench.run("law", "least-delta", "-m", "11,15", "--epsilon", "0.5:3:0.5")["rows"]
    lines = tuple(
        (
            f"{row['epsilon']:g}",
            str(row["max_perturbation"]),
            f"{row['rule']['variance']:.3f}",
            f"{row['rule']['delta']:.3e}",
            f"{row['variance']:.3f}",
            f"{row['delta']:.3e}",
            f"{row['unchanged']:.3f}",
        )
        for row in rows
    )
    header = ("ε", "D", "V by (28)", "δ by (29)", "V with the least δ", "least δ", "unchanged")
    grid = Grid("Figure 2 in figures", header, lines)
    pictures = (
        Picture("sadeghi-figure-1.svg", "Figure 1: δ over ε, with plateaus"),
        Picture("sadeghi-figure-2.svg", "Figure 2: δ and variance by the rule, and the least δ"),
        Picture("sadeghi-figure-3.svg", "Figure 3: the law of Example 1"),
    )
    return Section(
        "sadeghi", "III: curves and design", tuple(figures), bench.commands(), (grid,), pictures
    )


def _curves(bench: Bench) -> list[Figure]:
    words = ("law", "curve", "--law", "max-entropy", "-m", "11,15", "--variance", "4,10")
    curves = bench.draw("sadeghi-figure-1.svg", *words, "--at", "0.05:4:0.05")["curves"]
    deltas = {one["law"]: [point["delta"] for point in one["points"]] for one in curves}
    flat = all(found[-1] == found[-2] for found in deltas.values())
    crossed = (
        deltas["max-entropy ±11, V = 10"][9] < deltas["max-entropy ±11, V = 4"][9]
        and deltas["max-entropy ±11, V = 10"][-1] > deltas["max-entropy ±11, V = 4"][-1]
    )
    gammas = {v: _gamma(v) for v in ("4", "10")}
    return [
        compare("Fig. 1: γ for D = 11, V = 4", "0.125", gammas["4"]),
        compare("Fig. 1: γ for D = 11, V = 10", "0.0498", gammas["10"]),
        holds("Fig. 1: large ε", "δ hits a plateau", flat, "in all four curves at ε = 4"),
        holds(
            "Fig. 1: variance 10 against 4, D = 11",
            "lower δ before the plateau, not after",
            crossed,
            "lower at ε = 0.5, higher at ε = 4",
        ),
    ]


def _gamma(variance: str) -> float:
    """γ from two neighbouring probabilities: p(0)/p(1) = e^γ."""
    from math import log

    pmf = dc.max_entropy(11, variance).pmf
    return log(pmf[0] / pmf[1])


def _rule(bench: Bench) -> list[Figure]:
    words = ("law", "least-delta", "-m", "11,15", "--epsilon", "0.1:3:0.1")
    rows = bench.draw("sadeghi-figure-2.svg", *words)["rows"]
    gaps = [1 - row["delta"] / row["rule"]["delta"] for row in rows]
    falling = all(
        one["rule"]["delta"] > other["rule"]["delta"]
        for one, other in itertools.pairwise(rows)
        if one["max_perturbation"] == other["max_perturbation"]
    )
    return [
        holds("Fig. 2a: the rule", "the plateaus have disappeared", falling, "δ falls all the way"),
        holds(
            "Fig. 2a: rule against the best γ",
            "the gaps vary from being small to zero",
            min(gaps) == 0 and max(gaps) < 0.35,
            f"0 to {max(1 / (1 - g) - 1 for g in gaps):.0%} above the least δ, which itself "
            "falls by nine powers of ten",
        ),
    ]


def _example(bench: Bench) -> list[Figure]:
    words = ("law", "max-entropy", "--epsilon", "0.5", "-m", "25")
    law = bench.draw("sadeghi-figure-3.svg", *words)
    found = bench.run("law", "design", "--epsilon", "0.5", "--delta", "1e-4")
    smallest = _smallest_support()
    iota = Fraction(1, 10) * 2 * Fraction(1, 2) / (4 * 25 * 25 - 1)
    literal = dc.discrete_normal(1 / (2 * (Fraction(1, 98) + iota)), 25)
    held = dc.audit(literal).epsilon
    assert held is not None
    return [
        compare("Example 1: smallest D by (32)", "25", smallest),
        compare("Example 1: δ", "0.0000991", law["delta"]),
        compare("Example 1: V", "49.00", law["variance"]),
        compare("Example 1: −ι", "0.00004", iota),
        *(compare(f"(35): p({z})", p, law["pmf"][str(z)]) for z, p in EXAMPLE_1.items()),
        compare("(35): p(12)", "0.016632589297126", law["pmf"]["12"], "what is printed is p(11)"),
        compare("(35): p(11), printed as p(12)", "0.016632589297126", law["pmf"]["11"]),
        differs(
            "(30): exponent ε/(2D − 1) − ι with ι < 0",
            "ε = 0.5",
            f"read literally ε = {float(held):.5f}",
            "Example 1 uses ε/(2D − 1) minus the size of ι",
        ),
        holds(
            "III-D: `law design` keeps (0.5, 0.0001)",
            "D at most 25",
            found["to"] <= 25 and found["delta"] <= 1e-4,
            f"D = {found['to']}, V = {found['variance']:.4f}, δ = {found['delta']:.4g}",
        ),
    ]


def _many_cells(bench: Bench) -> list[Figure]:
    """(ε, δ) of a single static query says nothing across cells."""
    found = []
    for cells in (16, 100):
        words = ("law", "max-entropy", "--epsilon", "0.5", "-m", "25", "--cells", str(cells))
        figure = bench.run(*words)["delta"]
        found.append(
            differs(
                f"δ at ε = 0.5 for the {cells} cells that one person touches",
                "0.0000991, of one cell",
                f"{figure:.4f}",
                "a single static query says nothing across cells or queries",
            )
        )
    return found


def _smallest_support() -> int:
    return next(
        d
        for d in range(1, 100)
        if dc.audit(dc.max_entropy_for("0.5", d)).delta <= Fraction(1, 10_000)
    )
