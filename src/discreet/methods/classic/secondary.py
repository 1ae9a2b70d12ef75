"""The fewest further numbers to hide so that the others do not give small counts away.

Fischetti and Salazar's compact form as a mixed-integer programme: for every sensitive number there is
another table with the same published numbers in which it is higher by the protection, and one in which
it is lower (as far as 0 allows). Ties go to smaller counts. Published numbers are sums of the counts of
one finest table (`System`), so that linked tables and totals that are small themselves are one problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import Refusal
from ..shared import solver_output
from .linked import System, grid_system

sparse: Any = import_module("scipy.sparse")
optimize: Any = import_module("scipy.optimize")

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


FURTHEST = 100
"""No number has to move by more than this many times the protection. It is far below what a solver
takes for a whole number (1e-6): with moves as large as a country, numbers left open would move too."""


@dataclass(frozen=True)
class Hidden:
    """Which numbers are hidden, and how far from the fewest that may be."""

    cells: Flags
    gap: float


def hide(counts: Whole, sensitive: Flags, protection: int, seconds: float) -> Hidden:
    """The cells of a two-way table to hide; totals are published."""
    system = grid_system(counts.shape)
    found = hide_numbers(system, counts.ravel(), sensitive.ravel(), protection, seconds)
    return Hidden(found.cells.reshape(counts.shape), found.gap)


def hide_numbers(
    system: System, counts: Whole, sensitive: Flags, protection: int, seconds: float
) -> Hidden:
    """The numbers of a system to hide; `counts` are those of its finest cells."""
    if not sensitive.any():
        return Hidden(sensitive.copy(), 0.0)
    numbers = system.numbers @ counts.astype(np.float64)
    whole = float(max(counts.sum(), 1.0))
    reach = min(whole, float(FURTHEST * protection))
    places = np.flatnonzero(sensitive)
    size, cells, moves = len(numbers), len(counts), 2 * len(places)
    least = np.maximum(-counts.astype(float), -reach)
    lower = np.concatenate([sensitive.astype(float), np.tile(least, moves)])
    upper = np.concatenate([np.ones(size), np.full(cells * moves, reach)])
    with solver_output.kept_apart():
        solved = optimize.milp(
            np.concatenate([1 + 1e-4 * numbers / whole, np.zeros(cells * moves)]),
            constraints=_constraints(system, numbers, reach, places, protection),
            bounds=optimize.Bounds(lower, upper),
            integrality=np.concatenate([np.ones(size), np.zeros(cells * moves)]),
            options={"time_limit": seconds, "mip_rel_gap": 1e-6},
        )
    if solved.x is None:
        raise Refusal(
            "No set of cells was found that protects the small counts of this table in the time "
            "allowed, or there is none.",
            rule="no-secondary-suppression",
            alternatives=("use broader categories", "allow more `seconds` in the policy"),
        )
    gap = getattr(solved, "mip_gap", 0.0) or 0.0
    return Hidden(np.asarray(solved.x[:size] > 0.5), float(gap))


def _constraints(
    system: System, numbers: npt.NDArray[np.float64], reach: float, places: Whole, protection: int
) -> list[Any]:
    """Every move keeps what is always published, moves hidden numbers only, and protects one."""
    moves, size = 2 * len(places), len(numbers)
    every = sparse.identity(moves)
    kept = sparse.kron(every, system.fixed)
    moved = sparse.kron(every, system.numbers)
    copies = np.ones((moves, 1))
    hidden = sparse.identity(size)
    up = sparse.hstack([sparse.kron(copies, -reach * hidden), moved])
    down = sparse.hstack([sparse.kron(copies, sparse.diags(np.minimum(numbers, reach))), moved])
    own = moved.tocsr()[np.arange(moves) * size + np.repeat(places, 2)]
    least = np.full(moves, float(protection))
    least[1::2] = np.minimum(protection, numbers[places])
    signs = sparse.diags(np.tile([1.0, -1.0], len(places)))
    return [
        optimize.LinearConstraint(_beside(kept, size), 0, 0),
        optimize.LinearConstraint(up.tocsr(), -np.inf, 0),
        optimize.LinearConstraint(down.tocsr(), 0, np.inf),
        optimize.LinearConstraint(_beside(signs @ own, size), least, np.inf),
    ]


def _beside(moves: Any, size: int) -> Any:
    """Rows about moves alone, with columns for the choice of numbers before them."""
    return sparse.hstack([sparse.csr_matrix((moves.shape[0], size)), moves]).tocsr()
