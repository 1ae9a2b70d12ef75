"""What protection costs a table, for many protected versions of it at once (rinott §4.2, ons §5).

`before` are the true counts of a table's cells, `after` the protected ones with a row for each draw.
Negatives are shown as 0 unless `clip` is false. Every function gives one number a draw, by name:

    l1, l2, l3        Σ|a − b|, Σ(a − b)², Σ|√a − √b| (rinott §4.2)
    L2, hellinger     √ℓ2 and √½Σ(√a − √b)² (ons §5)
    on_diagonal       share of cells that stay in their band of ons Tables 6 and 7
    changed           share of cells that are not as they were
    false_zeros       cells with somebody that are published as 0
    false_positives   empty cells that are published with somebody
    bias              Σ(b − a)
    turned            share of pairs among the largest cells whose order is turned
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core.noise_law import Floats
from ..errors import InputError
from .association import association, moments, two_way
from .measures import BANDS, ENDS

Whole = npt.NDArray[np.signedinteger]

LEAST_CELLS = 2
"""A table of fewer cells is not measured."""
RANKED = 30
"""So many of the largest cells are ranked."""


def losses(
    before: Whole, after: Whole, shape: tuple[int, ...] = (), *, clip: bool = True
) -> dict[str, Floats]:
    """Every loss of each draw; with a shape of two axes or more, Cramér's V and p-values too.

    >>> found = losses(np.array([0, 4]), np.array([[1, 4], [-1, 0]]))
    >>> found["l1"].tolist(), found["false_zeros"].tolist(), found["false_positives"].tolist()
    ([1.0, 4.0], [0.0, 1.0], [1.0, 0.0])
    """
    a, b = _checked(before, after)
    if clip:
        b = np.maximum(b, 0)
    moved = (b - a).astype(np.float64)
    roots = np.abs(np.sqrt(np.maximum(b, 0)) - np.sqrt(a))
    squares = (moved**2).sum(axis=1)
    found = {
        "l1": np.abs(moved).sum(axis=1),
        "l2": squares,
        "l3": roots.sum(axis=1),
        "L2": np.sqrt(squares),
        "hellinger": np.sqrt((roots**2).sum(axis=1) / 2),
        "on_diagonal": (band(b) == band(a)).mean(axis=1),
        "changed": (b != a).mean(axis=1),
        "false_zeros": ((b <= 0) & (a > 0)).sum(axis=1).astype(np.float64),
        "false_positives": ((b > 0) & (a == 0)).sum(axis=1).astype(np.float64),
        "bias": moved.sum(axis=1),
        "turned": turned(a, b),
    }
    return found | associations(b, shape)


def associations(after: Whole, shape: tuple[int, ...]) -> dict[str, Floats]:
    """Cramér's V, p-value and moments of whole tables of two axes or more; else nothing."""
    if len(shape) < 2:
        return {}
    tables = two_way(after, shape)
    together = association(tables)
    found = {"cramers_v": together.cramers_v, "p_value": together.p_value}
    return found | vars(moments(tables))


def band(counts: Whole) -> npt.NDArray[np.intp]:
    """The band of each count; what is below 0 counts as 0."""
    return np.searchsorted(ENDS, np.maximum(counts, 0))


def turned(before: Whole, after: Whole) -> Floats:
    """The share of pairs among the largest true cells that are published in the other order.

    >>> turned(np.array([9, 5, 1]), np.array([[8, 6, 2], [4, 6, 1]])).tolist()
    [0.0, 0.3333333333333333]
    """
    largest = np.argsort(-before, kind="stable")[:RANKED]
    a, b = before[largest], after[:, largest]
    first, second = np.triu_indices(len(largest), 1)
    apart = a[first] > a[second]
    if not apart.any():
        return np.zeros(len(b))
    return np.asarray((b[:, first[apart]] < b[:, second[apart]]).mean(axis=1))


def transitions(before: Whole, after: Whole) -> Floats:
    """From which band to which band cells go: the mean number over the draws, before by after."""
    a, b = _checked(before, after)
    many = len(BANDS)
    flat = band(a) * many + band(b)
    return np.bincount(flat.ravel(), minlength=many * many).reshape(many, many) / len(b)


@dataclass(frozen=True)
class Bias:
    """The mean of b − a in a group of cells, its standard error over the draws, how many cells."""

    group: str
    cells: int
    mean: float
    error: float


def bias_by_band(before: Whole, after: Whole, *, clip: bool = True) -> list[Bias]:
    """The bias of a cell by the size of its true count."""
    a, b = _checked(before, after)
    places = band(a)
    return _biases(a, np.maximum(b, 0) if clip else b, places, BANDS)


def bias_by_category(
    before: Whole, after: Whole, shape: tuple[int, ...], axis: int, names: Sequence[str]
) -> list[Bias]:
    """The bias of a cell by its category of one variable."""
    a, b = _checked(before, after)
    places = np.indices(shape)[axis].ravel()
    return _biases(a, np.maximum(b, 0), places, names)


def _biases(a: Whole, b: Whole, places: npt.NDArray[np.intp], names: Sequence[str]) -> list[Bias]:
    found = []
    for place, name in enumerate(names):
        inside = places == place
        if inside.any():
            means = (b[:, inside] - a[inside]).mean(axis=1)
            error = float(means.std(ddof=1) / len(means) ** 0.5) if len(means) > 1 else 0.0
            found.append(Bias(name, int(inside.sum()), float(means.mean()), error))
    return found


def distances(before: Whole, after: Whole) -> Mapping[str, dict[str, float]]:
    """Quantiles of cellKey's d1 = |a − b|, d2 = d1 ÷ a where a > 0, d3 = |√a − √b|."""
    a, b = _checked(before, after)
    b = np.maximum(b, 0)
    d1 = np.abs(b - a).astype(np.float64)
    some = a > 0
    d3 = np.abs(np.sqrt(b) - np.sqrt(a))
    levels = (0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
    return {
        name: {f"{level:g}": float(np.quantile(values, level)) for level in levels}
        for name, values in (("d1", d1), ("d2", d1[:, some] / a[some]), ("d3", d3))
        if values.size
    }


def _checked(before: Whole, after: Whole) -> tuple[Whole, Whole]:
    a, b = np.asarray(before).ravel(), np.atleast_2d(np.asarray(after))
    if a.size != b.shape[-1]:
        raise InputError(
            f"Tables to be compared must have one shape, got {a.size} and {b.shape[-1]} cells."
        )
    if a.size < LEAST_CELLS or not (a > 0).any():
        raise InputError(
            f"A table is measured with {LEAST_CELLS} cells and one record at least; this one has too "
            "few. Name other variables."
        )
    return a, b
