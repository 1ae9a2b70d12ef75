"""How two variables hang together in a table, for many protected versions of it at once.

Every function takes tables of one shape with draws first, `(draws, rows, columns)`, negatives already
shown as 0. A table over more than two variables is read as its first against all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.noise_law import Floats
from ..errors import InputError

Tables = npt.NDArray[np.generic]


def two_way(tables: Tables, shape: tuple[int, ...]) -> Floats:
    """Flat tables, draws first, as rows by columns; negatives become 0.

    >>> two_way(np.array([[1, -2, 3, 4]]), (2, 2)).tolist()
    [[[1.0, 0.0], [3.0, 4.0]]]
    """
    if len(shape) < 2:
        raise InputError(
            f"An association needs a table of at least two variables, got {len(shape)}. "
            "Compare one more variable."
        )
    clipped = np.maximum(np.asarray(tables, dtype=np.float64), 0)
    return np.asarray(clipped.reshape(len(clipped), shape[0], -1))


@dataclass(frozen=True)
class Association:
    """χ² of independence, its degrees of freedom, p-value and Cramér's V, for each draw.

    Empty rows and columns are skipped. Where fewer than two of either are left nothing can be
    said, and all but the degrees of freedom are not a number.
    """

    chi_square: Floats
    df: Floats
    p_value: Floats
    cramers_v: Floats


def association(tables: Floats) -> Association:
    """The ordinary test of independence, as if the numbers were counts.

    >>> found = association(np.array([[[10.0, 0.0], [0.0, 10.0]]]))
    >>> found.chi_square.tolist(), found.cramers_v.tolist()
    ([20.0], [1.0])
    """
    special: Any = import_module("scipy.special")
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    total = rows.sum(axis=1)
    many = (rows > 0).sum(axis=1) - 1.0, (columns > 0).sum(axis=1) - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(tables > 0, tables**2 / rows[:, :, None] / columns[:, None, :], 0.0)
        chi_square = total * (share.sum(axis=(1, 2)) - 1)
        df = many[0] * many[1]
        least = np.minimum(*many)
        good = (least > 0) & (total > 0)
        chi_square = np.where(good, np.maximum(chi_square, 0), np.nan)
        cramers_v = np.where(good, np.sqrt(chi_square / (total * least)), np.nan)
        p_value = np.where(good, special.chdtrc(np.maximum(df, 1), chi_square), np.nan)
    return Association(chi_square, df, p_value, cramers_v)


@dataclass(frozen=True)
class Moments:
    """Means, variances, covariance and slope of two variables scored 0, 1, 2 … by category."""

    row_mean: Floats
    column_mean: Floats
    row_variance: Floats
    column_variance: Floats
    covariance: Floats
    slope: Floats
    """Of the column's score on the row's, by least squares."""


def moments(tables: Floats) -> Moments:
    """The moments of each draw; not a number where a table is empty.

    >>> found = moments(np.array([[[5.0, 0.0], [0.0, 5.0]]]))
    >>> found.row_mean.tolist(), found.covariance.tolist(), found.slope.tolist()
    ([0.5], [0.25], [1.0])
    """
    i, j = np.arange(tables.shape[1]), np.arange(tables.shape[2])
    with np.errstate(divide="ignore", invalid="ignore"):
        p = tables / tables.sum(axis=(1, 2), keepdims=True)
        rows, columns = p.sum(axis=2), p.sum(axis=1)
        means = rows @ i, columns @ j
        spread = rows @ i**2 - means[0] ** 2, columns @ j**2 - means[1] ** 2
        together = np.einsum("dij,i,j->d", p, i, j) - means[0] * means[1]
        slope = together / np.where(spread[0] > 0, spread[0], np.nan)
    return Moments(*means, *spread, together, slope)
