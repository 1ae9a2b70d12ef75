"""ons §2 and §3: two neighbouring laws, and the share of cells that noise leaves alone."""

from __future__ import annotations

from math import e, exp, log, sqrt

from .bench import Bench, Grid, Picture, Section, all_equal, differs, holds

EPSILONS = ("0.1", "1", "2", "5", "10")
TABLES = {
    "rounded_laplace": ("Table 1", "0.0488 0.3935 0.6321 0.9179 0.9933"),
    "rounded_gaussian": ("Table 2", "0.0157 0.1562 0.3065 0.6755 0.9512"),
    "discrete_laplace": ("Table 3", "0.05 0.4621 0.7616 0.9866 0.9999"),
}


def section(bench: Bench) -> Section:
    """Figure 1 and Tables 1 to 3."""
    words = ("law", "unchanged", "--epsilon", ",".join(EPSILONS), "-m", "5", "--variance", "3")
    found = bench.run(*words)
    two = bench.draw("ons-figure-1.svg", "law", "neighbours", "--epsilon", "1", "--count", "10")
    ratios = [row["ratio"] for row in two["rows"]]
    figures = [
        holds(
            "Figure 1: ratio of the two laws, ε = 1",
            "always at most exp(ε)",
            max(ratios) <= e * (1 + 1e-12) and min(ratios) >= (1 - 1e-12) / e,
            f"{min(ratios):.4f} to {max(ratios):.4f}",
        )
    ]
    for law, (table, printed) in TABLES.items():
        pairs = list(zip(printed.split(), (row[law] for row in found["rows"]), strict=True))
        figures.append(all_equal(f"{table}: unaltered, {law.replace('_', ' ')}", pairs))
    figures += [
        differs(
            "Table 1: row labels",
            "exp(−ε/2) is 0.0488 at ε = 0.1",
            f"exp(−0.05) = {exp(-0.05):.4f}",
            "the two labels are exchanged",
        ),
        differs(
            "Table 2: σ of the Gaussian",
            "δ is not said",
            f"σ = {sqrt(2 * log(25)):.3f}/ε",
            "the figures are those of δ = 0.05 in √(2 ln(1.25/δ))/ε",
        ),
    ]
    rows = tuple(
        (f"{row['epsilon']:g}", *(f"{row[law]:.4f}" for law in TABLES)) for row in found["rows"]
    )
    grid = Grid(
        "Share of cells left unchanged; the law of a cell-key table (± 5, variance 3) leaves "
        f"{found['cell_key']['unchanged']:.4f}",
        ("ε", "Laplace, rounded", "Gaussian, rounded", "discrete Laplace"),
        rows,
    )
    picture = Picture("ons-figure-1.svg", "Figure 1: what may be published of 10 and of 11 people")
    return Section(
        "ons", "§2 and §3: shares unchanged", tuple(figures), bench.commands(), (grid,), (picture,)
    )
