"""Designing a p-table: maximum-entropy rows, and beforehand whether there are any.

Row i may reach j = max(0, i − D) … i + D except the blocked results 1 … blocked_below; its mean
perturbation is 0 and its variance at most (or exactly) V. Row 0 stays 0. There are D rows beyond
row 0, or D + blocked_below + 1 where something is blocked; the last serves every larger count.

What R ptable finds out by failing is told first. A row i ≤ blocked_below cannot stay where it is,
so it needs V > i·(blocked_below + 1 − i): over all rows, V > ⌊(blocked_below + 1)² / 4⌋. R lowers
`p_stay` by itself until V is met; here it is a bound that holds, and the achieved variance is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np

from ...core.count_law import Row, check_keys
from ...core.design import design as design_law
from ...core.exact import Exact, exact, plain, rounded_down, rounded_up, shown
from ...core.law import check_key_bits
from ...errors import Bug, LawError
from .entropy import FLOOR, maximum_entropy
from .entropy_optimum import Problem, optimum
from .ptable import PTable
from .quantisers import quantised

MOST_PERTURBATION = 50
_FLOOR = Fraction(1, 10**8)
_NEARLY = Fraction(1, 1 << 100)


def ptable(
    max_perturbation: int,
    variance: Exact,
    blocked_below: int = 0,
    p_stay: Exact | Sequence[Exact | None] | None = None,
    monotone: bool | Sequence[bool] = True,
    exact_variance: bool = False,
    *,
    key_bits: int = 64,
    keys: int | None = None,
    quantiser: str = "unbiased",
) -> PTable:
    """The maximum-entropy p-table with these parameters, or `LawError` naming row and remedy.

    `max_perturbation` is D, `variance` V, `blocked_below` js. `p_stay` and `monotone` are one
    value, or one for each row 1, 2, …. With `exact_variance` every row has the variance itself.
    `keys` overrides 2^key_bits. With the default quantiser
    every row's mean is exactly 0 wherever whole weights allow it (they do in all but rows of two
    or three outcomes that are not neighbours; `PTable.bias` says what is left).

    >>> table = ptable(3, "1", key_bits=64)
    >>> [round(float(p), 6) for p in table.rows[1].pmf.values()]
    [0.369882, 0.369882, 0.17106, 0.068704, 0.020471]
    >>> table.bias
    Fraction(0, 1)
    """
    d = _whole(max_perturbation, "max_perturbation", 1, MOST_PERTURBATION)
    js = _whole(blocked_below, "blocked_below", 0, MOST_PERTURBATION)
    v = exact(variance, "variance", above=0, error=LawError)
    cut = check_keys(1 << check_key_bits(key_bits) if keys is None else keys)
    last = d + js + 1 if js else d
    stays = _per_row(p_stay, last, "p_stay")
    chains = _per_row(monotone, last, "monotone")
    wanted = [
        None if p is None else exact(p, "p_stay", above=0, below=1, error=LawError) for p in stays
    ]
    _check_blocked(d, js)
    reaches = [outcomes(count, d, js) for count in range(1, last + 1)]
    for count, (reach, stay) in enumerate(zip(reaches, wanted, strict=True), 1):
        _check_stay(count, reach, stay)
    if exact_variance:
        most = d * (d + 1) / 3 - 0.001
        ranges = [_variance_range(*row) for row in zip(reaches, wanted, chains, strict=True)]
        ranges = [(low, min(high, most)) for low, high in ranges]
        _check_exact(v, shown(variance), ranges, any(chains), any(p is not None for p in wanted))
    _check_feasible(d, v, js, shown(variance))
    rows = [Row((0,), (cut,))]
    for count, (reach, stay, chain) in enumerate(zip(reaches, wanted, chains, strict=True), 1):
        shares = _solve(count, reach, v, stay, bool(chain), exact_variance)
        weights = quantised(reach, shares, cut, quantiser, Fraction(0))
        rows.append(Row.of(list(zip(reach, weights, strict=True))))
    parameters = {
        "max_perturbation": str(d),
        "variance": plain(v),
        "blocked_below": str(js),
        "exact_variance": str(bool(exact_variance)).lower(),
    }
    return PTable(cut, tuple(rows), 1, "maximum entropy", parameters, ((0,), *map(tuple, reaches)))


design = ptable
"""The same by the name it has beside `design_for`."""


def design_for(
    epsilon: Exact, delta: Exact, *, rule: str = "smallest", key_bits: int = 64
) -> PTable:
    """The p-table that keeps (ε, δ) for every count, 0 included, and publishes nothing below 0.

    One law for every count, with the smallest support D and then the least variance (`rule` as in
    `core.design`). What would fall below 0 is published as 0: a post-process, so (ε, δ) hold, but
    counts below D come out too large on average (`PTable.rows[n].mean` says by how much).

    >>> table = design_for("1", "1e-3")
    >>> table.max_perturbation, table.max_count, round(float(table.rows[0].mean), 3)
    (9, 9, 1.063)
    """
    law = design_law(epsilon, delta, rule=rule, key_bits=key_bits).law
    return PTable.from_law(law, negatives="clipped")


def _check_blocked(d: int, js: int) -> None:
    if js and js >= d:
        raise LawError(
            f"blocked_below must be below max_perturbation, got {js} and {d}: row {js + 1} could only "
            f"grow, and its mean must be 0. Use max_perturbation {js + 1} or more."
        )


def outcomes(count: int, max_perturbation: int, blocked_below: int) -> list[int]:
    """The perturbations a row may use.

    >>> outcomes(1, 2, 1)
    [-1, 1, 2]
    """
    reach = range(max(0, count - max_perturbation), count + max_perturbation + 1)
    return [j - count for j in reach if not 1 <= j <= blocked_below]


def least_variance(blocked_below: int) -> int:
    """What the variance must exceed: ⌊(blocked_below + 1)² / 4⌋.

    >>> [least_variance(js) for js in range(5)]
    [0, 1, 2, 4, 6]
    """
    return (blocked_below + 1) ** 2 // 4


def _check_feasible(d: int, v: Fraction, js: int, given: str) -> None:
    """Refuse what no row can have, before anything is solved."""
    most = Fraction(d * (d + 1), 3)
    if v >= most:
        raise LawError(
            f"variance must be below D(D+1)/3 = {rounded_down(most, 6)} for max_perturbation {d}, "
            f"got {given}: row {d} spreads no further. The nearest variance that can be had is "
            f"{rounded_down(most - Fraction(1, 1000), 6)}; or use a larger max_perturbation."
        )
    for count in range(1, js + 1):
        least = _least_with_floor(outcomes(count, d, js))
        if least is not None and v >= least:
            continue
        row = max(range(1, js + 1), key=lambda i: (i * (js + 1 - i), -i))
        whole = _least_with_floor(outcomes(row, d, js))
        next_up = int((least_variance(js) if whole is None else whole) * 1000) + 1
        blocked = "result 1 is" if js == 1 else f"results 1 to {js} are"
        raise LawError(
            f"variance must exceed {least_variance(js)} where {blocked} blocked, "
            f"got {plain(v)}: row {row} cannot stay where it is. "
            f"The nearest variance that can be had is {plain(Fraction(next_up, 1000))}."
        )
    floor, row = max((_least_with_floor(outcomes(i, d, js)) or 0, i) for i in range(1, d + 1))
    if v < floor:
        raise LawError(
            f"variance must be at least {rounded_up(Fraction(floor), 4)}, got {given}: no outcome of "
            f"row {row} is less likely than 1e-8. The nearest variance that can be had is "
            f"{rounded_up(Fraction(floor), 4)}; or use a smaller max_perturbation."
        )


def _least_with_floor(reach: Sequence[int]) -> Fraction | None:
    """The least variance of a row of mean 0 whose every outcome has at least the floor; exact.

    A linear programme with two equalities has an answer on at most two outcomes above the floor.
    """
    mass = 1 - len(reach) * _FLOOR
    shift = -_FLOOR * sum(reach)
    base = _FLOOR * sum(z * z for z in reach)
    best: Fraction | None = None
    for low, high in combinations(reach, 2):
        upper = (shift - low * mass) / (high - low)
        lower = mass - upper
        if upper < 0 or lower < 0:
            continue
        found = base + lower * low * low + upper * high * high
        best = found if best is None or found < best else best
    return best


def _check_stay(count: int, reach: list[int], stay: Fraction | None) -> None:
    """Refuse a p_stay that leaves a row's other outcomes nothing."""
    if stay is not None and 0 in reach and stay > 1 - (len(reach) - 1) * _FLOOR:
        raise LawError(
            f"p_stay must leave every other outcome 1e-8, got {plain(stay)} in row {count}. "
            f"Use at most {rounded_down(1 - len(reach) * _FLOOR, 8)}."
        )


def _check_exact(
    v: Fraction, given: str, ranges: Sequence[tuple[float, float]], chain: bool, stay: bool
) -> None:
    """Refuse an exact variance that some row cannot have; the nearest is one that all can."""
    low, needs = max((low, -row) for row, (low, _) in enumerate(ranges, 1))
    high, has = min((high, row) for row, (_, high) in enumerate(ranges, 1))
    if low < v < high:
        return
    least, most = rounded_up(Fraction(low), 5), rounded_down(Fraction(high), 5)
    why = [*["a monotone negative side"] * chain, *["this p_stay"] * stay]
    because = f" with {' and '.join(why)}" if why else ""
    if Fraction(least) >= Fraction(most):
        raise LawError(
            f"No exact variance fits every row{because}: row {-needs} has {least} or more, row "
            f"{has} at most {most}, got {given}. Let the variance be a bound."
        )
    row, bound = (has, f"at most {most}") if v >= high else (-needs, f"{least} or more")
    nearest = most if v >= high else least
    raise LawError(
        f"Row {row} can have a variance of {bound}{because}, got exactly {given}. The nearest "
        f"variance that all rows can have is {nearest}; or let the variance be a bound."
    )


def _variance_range(reach: list[int], stay: Fraction | None, chain: bool) -> tuple[float, float]:
    """The least and greatest variance of a row, by linear programming, drawn in by 1e-7."""
    from scipy.optimize import linprog  # type: ignore[attr-defined]

    v = np.array(reach, dtype=np.float64)
    bounds = [(FLOOR, 1.0)] * len(reach)
    if stay is not None and 0 in reach:
        bounds[reach.index(0)] = (float(stay), 1.0)
    above = []
    if chain:
        side = [i for i, z in enumerate(reach) if z <= 0]
        for outer, inner in pairwise(side):
            step = np.zeros_like(v)
            step[outer], step[inner] = 1.0, -1.0
            above.append(step)
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(  # type: ignore[no-untyped-call]
            sign * v * v,
            A_ub=np.array(above) if above else None,
            b_ub=np.zeros(len(above)) if above else None,
            A_eq=np.array([np.ones_like(v), v]),
            b_eq=np.array([1.0, 0.0]),
            bounds=bounds,
            method="highs",
        )
        if not found.success:
            return 1.0, 0.0
        ends.append(sign * float(found.fun))
    return ends[0] + 1e-7, ends[1] - 1e-7


def _solve(
    count: int,
    reach: list[int],
    v: Fraction,
    stay: Fraction | None,
    chain: bool,
    exact_variance: bool,
) -> list[Fraction]:
    found = maximum_entropy(
        reach,
        float(v),
        exact_variance=exact_variance,
        monotone=chain,
        p_stay=None if stay is None else float(stay),
    )
    problem = Problem(tuple(reach), v, exact_variance, chain, stay, _FLOOR)
    shares = None if found is None else optimum(problem, found)
    if shares is None:
        raise LawError(
            f"Row {count} has no law with variance {plain(v)} and these constraints. "
            "Use a larger variance, a smaller p_stay, or a larger max_perturbation."
        )
    if abs(sum(shares, Fraction(0)) - 1) > Fraction(1, 10**9) or min(shares) < _FLOOR / 2:
        raise Bug(f"The law of row {count} was not solved.")
    mirrored = list(zip(shares, reversed(shares), strict=True))
    symmetric = [-z for z in reversed(reach)] == reach
    if symmetric and all(abs(p - q) < _NEARLY for p, q in mirrored):
        return [(p + q) / 2 for p, q in mirrored]  # symmetric by definition: to the last bit
    return shares


def _per_row(value: object, last: int, name: str) -> list:  # type: ignore[type-arg]
    if isinstance(value, list | tuple):
        if len(value) != last:
            raise LawError(
                f"{name} must be one value or {last}, one for each row from 1 on, got {len(value)}."
            )
        return list(value)
    return [value] * last


def _whole(value: object, name: str, least: int, most: int) -> int:
    number = exact(value, name, error=LawError)
    if number.denominator != 1 or not least <= number <= most:
        raise LawError(
            f"{name} must be a whole number from {least} to {most}, got {str(value)[:40]}."
        )
    return int(number)
