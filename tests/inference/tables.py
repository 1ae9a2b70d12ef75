"""Protected tables for the tests of inference: drawn counts behind any law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.core.cell_law import CellLaw, MarginLaw, Source
from discreet.core.count_law import CountLaw
from discreet.core.gaussian import DiscreteGaussian
from discreet.core.law_builders import laplace, max_entropy, normal
from discreet.core.noise_law import AnyLaw
from discreet.core.pure_laplace import PureLaplace
from discreet.core.table import ProtectedTable, Status
from discreet.inference.channel import AS_DRAWN, HIDDEN, LOW, Channel, Treatment, channel
from discreet.methods.cellkey.design import design

from ..formats.tables import axis, make

NAMES = ("region", "cause", "sex", "year")


def ptable(reach: int, variance: str, blocked: int = 0) -> CountLaw:
    """The rows of a designed p-table."""
    return design(reach, variance, blocked_below=blocked).law


LAWS: dict[str, AnyLaw] = {
    "laplace 0.1, 10": laplace("0.1", 10),
    "pure laplace 0.5": PureLaplace.of("0.5"),
    "normal 0.5, 10": normal("0.5", 10),
    "gaussian 25": DiscreteGaussian.of("25"),
    "max entropy 5, 2": max_entropy(5, "2"),
    "p-table 5, 2": ptable(5, "2"),
    "p-table 8, 4, blocked 2": ptable(8, "4", 2),
}
TREATMENTS = {
    "as drawn": AS_DRAWN,
    "clipped": Treatment(least=0),
    "threshold 5": Treatment(least=5),
    "hidden below 3": Treatment(hidden_below=3),
    "low below 4": Treatment(hidden_below=0, display_floor=4),
}


def cell_law(law: AnyLaw, treatment: Treatment = AS_DRAWN, **more: Any) -> CellLaw:
    """One draw in every cell, and this treatment."""
    least = treatment.least
    return CellLaw(
        (Source("cell", law),),
        (MarginLaw(None, 0),),
        negatives="keep" if least is None else "threshold" if least else "clip",
        threshold=least or None,
        hidden_below=treatment.hidden_below,
        display_floor=treatment.display_floor,
        **more,
    )


def table(
    values: Any, law: CellLaw, *, totals: Sequence[bool] | bool = False, **more: Any
) -> ProtectedTable:
    """A protected table of released symbols."""
    symbols = np.asarray(values, dtype=np.int64)
    status = np.zeros(symbols.shape, dtype=np.uint8)
    status[symbols == HIDDEN] = Status.BELOW_THRESHOLD
    status[symbols == LOW] = Status.LOW
    has = (totals,) * symbols.ndim if isinstance(totals, bool) else tuple(totals)
    axes = [
        axis(NAMES[i], [f"{NAMES[i]} {k}" for k in range(n - has[i])])
        for i, n in enumerate(symbols.shape)
    ]
    return make(
        axes, has, values=np.where(symbols <= LOW, 0, symbols), status=more.pop("status", status),
        law=law, noise=False, **more,
    )  # fmt: skip


def released(
    law: AnyLaw, means: Any, seed: int = 1, treatment: Treatment = AS_DRAWN
) -> tuple[Any, Channel]:
    """Symbols drawn from Poisson means, and their channel."""
    random = np.random.default_rng(seed)
    made = channel(law, 1, treatment)
    return made.release(random.poisson(np.asarray(means)), random), made
