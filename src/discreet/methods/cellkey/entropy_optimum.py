"""The maximum-entropy law of one row to forty digits: the same p-table on every machine.

Floats know the optimum to about 1e-12, and what follows is up to the processor. Cut into 2^64 keys
that would be another p-table on another machine: another law, other questions in the ledger, other
numbers for some cells. So floats only say which constraints hold with equality. Given those, the
optimum is p = exp(y₀ + y₁·v + y₂·v²) where nothing binds (over outcomes that are tied, the mean of
the exponents), and Newton's method finds at most three numbers in decimal arithmetic, which is
defined to the last digit. The result is held to the conditions that only the optimum fulfils;
where one fails, its constraint is exchanged and the rest solved again. The answer is rounded to 2^-120.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction

from ...core.product import Reals

_DIGITS = 60
_BITS = 120
_SMALL = Decimal(10) ** -38
_MOST_STEPS = 300
_MOST_EXCHANGES = 200

Numbers = list[Decimal]


@dataclass(frozen=True)
class Problem:
    """One row: what it may add, and what binds it."""

    perturbations: tuple[int, ...]
    variance: Fraction
    exact_variance: bool
    monotone: bool
    stay: Fraction | None
    floor: Fraction

    @property
    def chain(self) -> int:
        """How many outcomes must rise towards 0: those not above it."""
        return sum(v <= 0 for v in self.perturbations) if self.monotone else 0

    @property
    def zero(self) -> int | None:
        """Where the outcome 0 stands that p_stay is about."""
        wanted = self.stay is not None and 0 in self.perturbations
        return self.perturbations.index(0) if wanted else None


@dataclass
class Binding:
    """Which constraints hold with equality: floors, ties with the next outcome, p_stay, variance."""

    floor: set[int] = field(default_factory=set)
    tied: set[int] = field(default_factory=set)
    stay: bool = False
    variance: bool = False

    @classmethod
    def of(cls, problem: Problem, p: Reals) -> Binding:
        """As floats tell: within what they are good for."""
        v = problem.perturbations
        floor = {i for i, x in enumerate(p) if x < float(problem.floor) * 1.001}
        tied = {
            i
            for i in range(problem.chain - 1)
            if i not in floor and p[i + 1] - p[i] <= 1e-7 * p[i + 1]
        }
        zero = problem.zero
        stay = zero is not None and p[zero] < float(problem.stay or 0) + 1e-8
        spread = sum(float(x) * z * z for x, z in zip(p, v, strict=True))
        close = spread > float(problem.variance) * (1 - 1e-8)
        return cls(floor, tied, stay, problem.exact_variance or close)


@dataclass(frozen=True)
class Group:
    """Outcomes of one probability, which is given or to be found."""

    members: tuple[int, ...]
    given: Decimal | None


def optimum(problem: Problem, start: Reals) -> list[Fraction] | None:
    """The probabilities of a row, from floats near them; None where no exchange ends.

    >>> import numpy as np
    >>> from .entropy import FLOOR, maximum_entropy
    >>> p = maximum_entropy([-1, 0, 1, 2, 3], 1.0)
    >>> row = Problem((-1, 0, 1, 2, 3), Fraction(1), False, True, None, Fraction(1, 10**8))
    >>> [f"{float(x):.15f}" for x in optimum(row, p)][:3]
    ['0.369882177873317', '0.369882177873317', '0.171060399140149']
    """
    with localcontext() as context:
        context.prec = _DIGITS
        binding = Binding.of(problem, start)
        tried: set[tuple[object, ...]] = set()
        for _ in range(_MOST_EXCHANGES):
            state = (*map(frozenset, (binding.floor, binding.tied)), binding.stay, binding.variance)
            solved = None if state in tried else _solve(problem, binding, start)
            if solved is None:
                return None
            tried.add(state)
            if not _exchange(problem, binding, *solved):
                scale = Decimal(2) ** _BITS
                return [
                    Fraction(int((x * scale).to_integral_value()), 1 << _BITS) for x in solved[0]
                ]
    return None


def _groups(problem: Problem, binding: Binding) -> list[Group]:
    """Outcomes that are tied together, floors by themselves."""
    runs: list[list[int]] = []
    for i in range(len(problem.perturbations)):
        joined = runs and i - 1 in binding.tied and i - 1 not in binding.floor
        if joined and i not in binding.floor:
            runs[-1].append(i)
        else:
            runs.append([i])
    zero, groups = problem.zero, []
    for run in runs:
        given = _decimal(problem.floor) if run[0] in binding.floor else None
        if binding.stay and zero in run and problem.stay is not None:
            given = _decimal(problem.stay)
        groups.append(Group(tuple(run), given))
    return groups


def _solve(problem: Problem, binding: Binding, start: Reals) -> tuple[Numbers, Numbers] | None:
    """Probabilities and multipliers where just these constraints bind; None where nothing fits."""
    v = problem.perturbations
    groups = _groups(problem, binding)
    free = [group for group in groups if group.given is None]
    equations = min(3 if binding.variance else 2, len(free))
    sides = [Decimal(1), Decimal(0), _decimal(problem.variance)][:equations]
    for group in groups:
        for k in range(equations) if group.given is not None else ():
            sides[k] -= (group.given or 0) * sum(v[i] ** k for i in group.members)
    sums = [[Decimal(sum(v[i] ** k for i in g.members)) for k in range(equations)] for g in free]
    sizes = [len(group.members) for group in free]
    y = _first(sums, sizes, [Decimal(float(start[g.members[0]])).ln() for g in free], equations)
    shares: Numbers = []
    for _ in range(_MOST_STEPS):
        if y is None:
            return None
        shares = [_exponent(y, s, n).exp() for s, n in zip(sums, sizes, strict=True)]
        off = [
            side - sum((s[k] * p for s, p in zip(sums, shares, strict=True)), Decimal(0))
            for k, side in enumerate(sides)
        ]
        if all(abs(x) < _SMALL * _SMALL ** Decimal("0.25") for x in off):
            break
        matrix = [
            [
                sum(
                    (s[j] * s[k] * p / n for s, n, p in zip(sums, sizes, shares, strict=True)),
                    Decimal(0),
                )
                for k in range(equations)
            ]
            for j in range(equations)
        ]
        step = _linear(matrix, off)
        if step is None:
            return None
        bent = max(abs(_exponent(step, s, n)) for s, n in zip(sums, sizes, strict=True))
        y = [a + b / max(bent, Decimal(1)) for a, b in zip(y, step, strict=True)]
    else:
        return None
    p = [Decimal(0)] * len(v)
    found = iter(shares)
    for group in groups:
        value = next(found) if group.given is None else group.given
        for i in group.members:
            p[i] = value
    return p, [*y, *[Decimal(0)] * (3 - equations)]


def _exponent(y: Numbers, sums: Numbers, size: int) -> Decimal:
    """The logarithm of a group's probability: the mean over its outcomes."""
    return sum((a * b for a, b in zip(y, sums, strict=True)), Decimal(0)) / size


def _first(sums: list[Numbers], sizes: list[int], logs: Numbers, equations: int) -> Numbers | None:
    """The multipliers whose exponents are nearest to what floats found."""
    matrix = [
        [
            sum((s[j] * s[k] / (n * n) for s, n in zip(sums, sizes, strict=True)), Decimal(0))
            for k in range(equations)
        ]
        for j in range(equations)
    ]
    right = [
        sum((s[j] / n * x for s, n, x in zip(sums, sizes, logs, strict=True)), Decimal(0))
        for j in range(equations)
    ]
    return _linear(matrix, right)


Fault = tuple[Decimal, str, int]
"""By how much a condition fails, what mends it, and at which outcome."""


def _exchange(problem: Problem, binding: Binding, p: Numbers, y: Numbers) -> bool:
    """Exchange the constraint that fails most; False where all of the optimum's conditions hold."""
    faults = [*_broken(problem, binding, p), *_not_needed(problem, binding, p, y)]
    if not faults:
        return False
    _, kind, i = max(faults)
    {
        "floor": lambda: binding.floor.add(i),
        "no floor": lambda: binding.floor.discard(i),
        "tie": lambda: binding.tied.add(i),
        "untie": lambda: binding.tied.discard(i),
        "stay": lambda: setattr(binding, "stay", True),
        "no stay": lambda: setattr(binding, "stay", False),
        "variance": lambda: setattr(binding, "variance", True),
        "loose": lambda: setattr(binding, "variance", False),
    }[kind]()
    return True


def _broken(problem: Problem, binding: Binding, p: Numbers) -> Iterator[Fault]:
    """Constraints that were left out and do not hold."""
    floor = _decimal(problem.floor)
    for i, x in enumerate(p):
        if i not in binding.floor and x < floor * (1 - _SMALL):
            yield 1 - x / floor, "floor", i
    for i in range(problem.chain - 1):
        if i not in binding.tied and p[i] > p[i + 1] * (1 + _SMALL):
            yield p[i] / p[i + 1] - 1, "tie", i
    if problem.zero is not None and not binding.stay:
        short = _decimal(problem.stay or Fraction(0)) - p[problem.zero]
        if short > _SMALL:
            yield short, "stay", 0
    if not binding.variance:
        squares = (x * z * z for x, z in zip(p, problem.perturbations, strict=True))
        over = sum(squares, Decimal(0)) / _decimal(problem.variance) - 1
        if over > _SMALL:
            yield over, "variance", 0


def _not_needed(problem: Problem, binding: Binding, p: Numbers, y: Numbers) -> Iterator[Fault]:
    """Constraints that bind and push the wrong way: without them there is more entropy."""
    v = problem.perturbations
    pull = [x.ln() - y[0] - y[1] * z - y[2] * z * z for x, z in zip(p, v, strict=True)]
    rest = Decimal(0)
    for i in sorted(binding.floor, reverse=True):  # ties among floors may carry a floor further out
        rest = pull[i] + (rest if i + 1 in binding.floor and i + 1 < problem.chain else 0)
        if rest < -_SMALL:
            yield -rest, "no floor", i
    for group in _groups(problem, binding):
        held = Decimal(0)
        for i in group.members[:-1]:
            held -= pull[i]
            if held < -_SMALL:
                yield -held, "untie", i
        over = pull[group.members[-1]] - held
        if binding.stay and group.members[-1] == problem.zero and over < -_SMALL:
            yield -over, "no stay", 0
    if binding.variance and not problem.exact_variance and y[2] > _SMALL:
        yield y[2], "loose", 0


def _linear(matrix: Sequence[Sequence[Decimal]], right: Sequence[Decimal]) -> Numbers | None:
    """A small linear system by elimination; None where it has no one solution."""
    rows = [[*row, side] for row, side in zip(matrix, right, strict=True)]
    size = len(rows)
    for k in range(size):
        pivot = max(range(k, size), key=lambda r: abs(rows[r][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        if abs(rows[k][k]) < _SMALL:
            return None
        for r in range(size):
            if r != k:
                ratio = rows[r][k] / rows[k][k]
                rows[r] = [a - ratio * b for a, b in zip(rows[r], rows[k], strict=True)]
    return [row[-1] / row[k] for k, row in enumerate(rows)]


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
