"""rinott §4 and §5: δ of the laws, Table 2, expected losses, matching normal laws."""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import Any

import discreet as dc

from .bench import Bench, Figure, Grid, Section, all_equal, compare, differs, holds

TABLE_2 = {
    ("laplace", "1.5", 7): (
        "0.82 0.96 0.99 1.00 1.00 0.64 0.96 0.99 1.00 1.00 0.64 0.92 0.99 1.00 1.00 "
        "0.64 0.92 0.98 1.00 1.00 0.64 0.92 0.98 1.00 1.00 0.64 0.92 0.98 1.00 1.00"
    ),
    ("laplace", "0.5", 7): (
        "0.63 0.78 0.87 0.93 0.96 0.25 0.78 0.87 0.93 0.96 0.25 0.55 0.87 0.93 0.96 "
        "0.25 0.55 0.74 0.93 0.96 0.25 0.55 0.74 0.85 0.96 0.25 0.55 0.74 0.85 0.92"
    ),
    ("normal", "1.5", 12): (
        "0.57 0.70 0.81 0.89 0.94 0.14 0.70 0.81 0.89 0.94 0.14 0.40 0.81 0.89 0.94 "
        "0.14 0.40 0.62 0.89 0.94 0.14 0.40 0.62 0.78 0.94 0.14 0.40 0.62 0.78 0.88"
    ),
    ("normal", "0.5", 10): (
        "0.54 0.63 0.71 0.78 0.84 0.09 0.63 0.71 0.78 0.84 0.09 0.26 0.71 0.78 0.84 "
        "0.09 0.26 0.42 0.78 0.84 0.09 0.26 0.42 0.57 0.84 0.09 0.26 0.42 0.57 0.69"
    ),
}
_CUT = {"0.0016": "0.00166 was cut, not rounded"}
MATCHED = {"0.1": "8", "0.5": "10", "1": "12", "1.5": "12", "2": "13", "3": "14"}


def section(bench: Bench) -> Section:
    """Everything rinott prints about laws of one cell."""
    figures = [*_deltas(bench), *_evidence(bench)]
    grids = []
    for key in TABLE_2:
        figure, grid = _table_2(bench, *key)
        figures.append(figure)
        grids.append(grid)
    figures += [
        _same_delta(bench, "1.5", 12),
        _same_delta(bench, "0.5", 10),
        _hellinger(bench),
        _utility(),
    ]
    figures += [*_losses(), *_matched(bench)]
    return Section(
        "rinott", "§4 and §5: laws, Table 2, losses", tuple(figures), bench.commands(), tuple(grids)
    )


def _audited(bench: Bench, law: str, epsilon: str, m: int) -> dict[str, Any]:
    words = ("law", "audit", "--law", law, "--epsilon", epsilon, "-m", str(m), "--at", epsilon)
    row: dict[str, Any] = bench.run(*words)["rows"][0]
    return row


def _deltas(bench: Bench) -> list[Figure]:
    printed = [
        ("laplace", "1", 10, "0.00002"),
        ("laplace", "0.5", 10, "0.0016"),
        ("normal", "1", 10, "0.001"),
        ("normal", "0.5", 10, "0.008"),
        ("laplace", "1.5", 7, "0.00002"),
        ("laplace", "0.5", 7, "0.008"),
        ("normal", "1.5", 12, "0.00002"),
    ]
    rows = [(*one, _audited(bench, *one[:3])) for one in printed]
    found = [
        compare(f"δ of {law}, ε = {epsilon}, m = {m}", figure, row["delta"], _CUT.get(figure, ""))
        for law, epsilon, m, figure, row in rows
    ]
    both = all(row["probabilistic_delta"] >= row["delta"] for *_, row in rows)
    words = "(4.5), Lemma 1: probabilistic DP implies DP(ε, δ)"
    return [
        *found,
        holds(words, "its δ is no smaller", both, f"in {len(rows)} of {len(rows)} laws"),
    ]


def _evidence(bench: Bench) -> list[Figure]:
    rows = bench.run("law", "audit", "--epsilon", "1", "--at", "0.1,2.3,2.31")["rows"]
    return [
        compare("§4.1: likelihood ratio at ε = 0.1", "1.1", rows[0]["likelihood_ratio"]),
        compare("§4.1: evidence at ε = ln 10 = 2.3", "limited evidence", rows[1]["evidence"]),
    ]


def _table_2(bench: Bench, law: str, epsilon: str, m: int) -> tuple[Figure, Grid]:
    words = ("law", "losses", "--law", law, "--epsilon", epsilon, "-m", str(m))
    rows = bench.run(*words, "--counts", "0:5", "--within", "0:4")["rows"][1:]
    found = [row["within"][str(k)] for row in rows for k in range(5)]
    printed = TABLE_2[law, epsilon, m].split()
    name = f"{law} m = {m}, ε = {epsilon}"
    lines = tuple(
        (
            f"{'≥ ' if row['count'] == 5 else ''}{row['count']}",
            *tuple(f"{row['within'][str(k)]:.2f}" for k in range(5)),
            *tuple(f"{row[loss]:.3f}" for loss in ("absolute", "squared", "bias", "unchanged")),
        )
        for row in rows
    )
    within = tuple(f"± {k}" for k in range(5))
    header = ("true", *within, "E\\|b − a\\|", "E(b − a)²", "bias", "unchanged")
    grid = Grid(f"Table 2, {name}, with the losses of each count (≥ 5: of 5)", header, lines)
    return all_equal(f"Table 2: {name}", list(zip(printed, found, strict=True))), grid


def _same_delta(bench: Bench, epsilon: str, m: int) -> Figure:
    one, other = (
        _audited(bench, law, epsilon, cut) for law, cut in (("laplace", 7), ("normal", m))
    )
    found = f"Laplace {one['delta']:.4g}, normal {other['delta']:.4g}"
    return differs(
        f"Table 2: δ fixed for ε = {epsilon}",
        "the same for both laws",
        found,
        "equal only as rounded to one digit",
    )


def _hellinger(bench: Bench) -> Figure:
    words = ("law", "losses", "--law", "hellinger", "--epsilon", "1.5", "--counts", "5")
    near = bench.run(*words)["rows"][0]["within"]["4"]
    return holds(
        "§5.5: Hellinger, within ± 4 of 5 at ε = 1.5",
        "considerably worse than 0.88",
        near < 0.5,
        f"{near:.2f}",
    )


def _utility() -> Figure:
    """(5.4) as an exponential mechanism of its own utility, to 64 bits."""
    from decimal import Context

    root = Context(prec=90).sqrt
    rows = dc.exponential_counts(lambda a, b: -abs(root(a) - root(b)), "1", 4, 30)
    same = dc.hellinger("1", 4, 30)
    alike = all(rows.row(a) == same.row(a) for a in range(5))
    name = "(4.6), (4.7): the mechanism of the utility u3"
    return holds(name, "(5.4)", alike, "the same weights over 2^64, counts 0 to 4")


def _losses() -> list[Figure]:
    found = []
    for epsilon, m in (("0.5", 7), ("1", 10)):
        a, loss = exp(-float(epsilon)), dc.losses(dc.laplace(epsilon, m))
        c = 1 + 2 * (a - a ** (m + 1)) / (1 - a)
        formula = 2 * a * (m * a ** (m + 1) - (m + 1) * a**m + 1) / (c * (a - 1) ** 2)
        name = f"§5.6.1: E of the size of b − a, Laplace ε = {epsilon}, m = {m}, by the formula"
        found.append(compare(name, f"{formula:.9f}", loss.absolute))
    a = exp(-0.5)
    half = a / ((1 + 2 * a / (1 - a)) * (a - 1) ** 2)
    whole = dc.losses(dc.laplace("0.5")).absolute
    found.append(
        compare(
            "§5.6.1: the same, untruncated, ε = 0.5",
            f"{half:.6f}",
            whole,
            "the printed formula gives half of it; times 2 it is equal",
        )
    )
    squares = [exp(-0.5 * k * k / 21) for k in range(-10, 11)]
    normal = sum(k * k * p for k, p in zip(range(-10, 11), squares, strict=True)) / sum(squares)
    name = "§5.6.1: E(b − a)², normal ε = 0.5, m = 10, by the formula"
    found.append(compare(name, f"{normal:.9f}", dc.losses(dc.normal("0.5", 10)).squared))
    laws = [dc.laplace("0.5", 7), dc.laplace("0.5"), dc.normal("0.5", 10)]
    clipped = [dc.losses(law, 1, clip=True) for law in laws]
    improved = all(
        one.absolute < dc.losses(law).absolute and one.squared < dc.losses(law).squared
        for law, one in zip(laws, clipped, strict=True)
    )
    words = ", ".join(
        f"{float(one.absolute / dc.losses(law).absolute):.3f}"
        for law, one in zip(laws, clipped, strict=True)
    )
    name = "§5.6.1: negatives replaced by zero"
    found.append(holds(name, "the loss improves", improved, f"a true 1: times {words}"))
    return found


def _matched(bench: Bench) -> list[Figure]:
    epsilons = ",".join(MATCHED)
    rows = bench.run("law", "match", "--epsilon", epsilons, "-m", "7")["rows"]
    found = []
    for row, (epsilon, printed) in zip(rows, MATCHED.items(), strict=True):
        ratio = dc.delta(dc.normal(epsilon, int(printed)), Fraction(epsilon)) / dc.delta(
            dc.laplace(epsilon, 7), Fraction(epsilon)
        )
        found.append(
            compare(
                f"§5.6.2: normal m at the δ of Laplace m = 7, ε = {epsilon}",
                printed,
                row["max_perturbation"]["normal"],
                f"with m = {printed} δ is {float(ratio):.2f} times that of Laplace",
            )
        )
    return found
