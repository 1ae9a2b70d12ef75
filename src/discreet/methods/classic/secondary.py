"""The fewest further cells to hide so that totals do not give small counts away.

Fischetti and Salazar's compact form as a mixed-integer programme: for every sensitive cell there is
another table with the same totals, different in hidden cells only, in which it is higher by the
protection, and one in which it is lower (as far as 0 allows). Ties go to smaller counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import Refusal

sparse: Any = import_module("scipy.sparse")
optimize: Any = import_module("scipy.optimize")

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Hidden:
    """Which cells are hidden, and how far from the fewest that may be."""

    cells: Flags
    gap: float


def hide(counts: Whole, sensitive: Flags, protection: int, seconds: float) -> Hidden:
    """The cells of a two-way table to hide; totals are published."""
    if not sensitive.any():
        return Hidden(sensitive.copy(), 0.0)
    places = np.flatnonzero(sensitive.ravel())
    size, moves = counts.size, 2 * len(places)
    flat = counts.ravel().astype(np.float64)
    reach = float(max(flat.sum(), 1.0))
    lower, upper = np.zeros(size * (1 + moves)), np.ones(size * (1 + moves))
    lower[places] = 1
    for k in range(moves):
        block = slice(size * (1 + k), size * (2 + k))
        lower[block], upper[block] = -flat, reach
        cell = size * (1 + k) + int(places[k // 2])
        if k % 2 == 0:
            lower[cell] = protection
        else:
            upper[cell] = -min(protection, flat[places[k // 2]])
    solved = optimize.milp(
        np.concatenate([1 + 1e-4 * flat / reach, np.zeros(size * moves)]),
        constraints=_constraints(counts.shape, flat, reach, moves),
        bounds=optimize.Bounds(lower, upper),
        integrality=np.concatenate([np.ones(size), np.zeros(size * moves)]),
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
    return Hidden((solved.x[:size] > 0.5).reshape(counts.shape), float(gap))


def _constraints(
    shape: tuple[int, ...], flat: npt.NDArray[np.float64], reach: float, moves: int
) -> list[Any]:
    """Every move keeps all totals and moves hidden cells only."""
    rows, columns = shape
    size = rows * columns
    sums = sparse.vstack(
        [
            sparse.kron(sparse.identity(rows), np.ones((1, columns))),
            sparse.kron(np.ones((1, rows)), sparse.identity(columns)),
        ]
    )
    one = sparse.identity(size)
    totals = sparse.hstack(
        [
            sparse.csr_matrix((sums.shape[0] * moves, size)),
            sparse.kron(sparse.identity(moves), sums),
        ]
    )
    copies = np.ones((moves, 1))
    every = sparse.kron(sparse.identity(moves), one)
    up = sparse.hstack([sparse.kron(copies, -reach * one), every])
    down = sparse.hstack([sparse.kron(copies, sparse.diags(flat)), every])
    return [
        optimize.LinearConstraint(totals.tocsr(), 0, 0),
        optimize.LinearConstraint(up.tocsr(), -np.inf, 0),
        optimize.LinearConstraint(down.tocsr(), 0, np.inf),
    ]
