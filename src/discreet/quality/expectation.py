"""What a law is expected to cost a table of known counts: sums over the law, no draw needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..core.noise_law import AnyLaw
from ..errors import InputError
from .losses import band

EXPECTED = (
    "l1",
    "l2",
    "l3",
    "on_diagonal",
    "changed",
    "false_zeros",
    "false_positives",
    "bias",
)


def expected(
    law: AnyLaw, counts: Sequence[int] | npt.NDArray[np.int64], *, clip: bool = True
) -> dict[str, float]:
    """Expectations of the losses of `losses.losses`, by distinct count and perturbation.

    Exact but for the last digits of floats. A law may depend on the count.

    >>> from discreet.core.law_builders import laplace
    >>> found = expected(laplace("1", 7), [0, 3, 12])
    >>> round(found["l1"], 3), round(found["changed"], 3)
    (2.098, 0.448)
    """
    numbers, times = np.unique(np.asarray(counts, dtype=np.int64), return_counts=True)
    if not len(numbers):
        raise InputError("A table needs at least one cell, got none.")
    total = np.zeros(len(EXPECTED))
    for a, many in zip(numbers.tolist(), times.tolist(), strict=True):
        start, masses = law.for_count(a).masses()
        b = np.arange(start, start + len(masses)) + a
        if clip:
            b = np.maximum(b, 0)
        here = np.full_like(b, a)
        rows = (
            np.abs(b - a),
            (b - a) ** 2,
            np.abs(np.sqrt(np.maximum(b, 0)) - a**0.5),
            band(b) == band(here),
            b != a,
            (b <= 0) & (a > 0),
            (b > 0) & (a == 0),
            b - a,
        )
        total += many * np.array([float(row @ masses) for row in rows])
    found = dict(zip(EXPECTED, total.tolist(), strict=True))
    cells = int(times.sum())
    return found | {name: found[name] / cells for name in ("on_diagonal", "changed")}
