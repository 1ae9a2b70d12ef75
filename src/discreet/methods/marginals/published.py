"""A margin that is public already: the custodian writes its numbers, the release keeps them exactly.

    methods:
      marginals:
        published: {sex: {F: 268000, M: 261655}}

The numbers come from the policy, never from the data, so they cost nothing and the guarantee for
everything else stands as it is; they are named in it as not protected. One margin can be kept: a
rounding that keeps several crossed ones exactly need not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.description import Description
from ...core.exact import exact
from ...errors import InputError
from ...recipe import find_axis
from ..rounding import largest_remainder
from .combine import HARD, Residual, Residuals, centre
from .margins import Reals, Rows, Whole
from .model import Targets
from .workload import Workload

Published = tuple[int, Whole]
"""An axis of the workload and the public count of each of its categories."""


def read_published(
    given: Any, workload: Workload, description: Description
) -> tuple[Published | None, int | None]:
    """The public margin, if the workload uses its variable, and the public total; checked."""
    if not given:
        return None, description.records
    if not isinstance(given, Mapping) or not all(isinstance(v, Mapping) for v in given.values()):
        raise InputError(
            "published must map a variable to its counts, such as sex: {F: 268000, M: 261655}."
        )
    totals = {} if description.records is None else {"the number of records": description.records}
    found: list[Published] = []
    for name, counts in given.items():
        ref = find_axis(description, str(name))
        level = description.axis(ref).level
        if set(map(str, counts)) != set(level.codes):
            raise InputError(
                f"published.{name} must give a count for each of the {len(level)} categories of "
                f"{ref.level} and for nothing else, got {len(counts)}."
            )
        numbers = [
            exact(
                counts[code] if code in counts else _by_text(counts, code),
                f"published.{name}.{code}",
                least=0,
            )
            for code in level.codes
        ]
        if any(number.denominator != 1 for number in numbers):
            raise InputError(f"published.{name} must hold whole numbers.")
        whole = np.array([int(number) for number in numbers], dtype=np.int64)
        totals[f"published.{name}"] = int(whole.sum())
        if ref in workload.refs:
            axis = workload.refs.index(ref)
            empty = workload.forbidden.get((axis,))
            if empty is not None and (whole[empty > 0] > 0).any():
                raise InputError(
                    f"Invariants contradict each other: published.{name} is above 0 where "
                    "structural zeros allow nobody."
                )
            found.append((axis, whole))
        elif any(ref.variable == used.variable for used in workload.refs):
            raise InputError(
                f"published.{name} is at level {ref.level}, and this question needs "
                f"{ref.variable} at another one. Ask at {ref.level}, or publish the finer margin."
            )
    if len(set(totals.values())) > 1:
        words = ", ".join(f"{name} {value:,}" for name, value in totals.items())
        raise InputError(f"Invariants contradict each other: the totals are {words}.")
    if len(found) > 1:
        raise InputError(
            f"{len(found)} published margins meet in this question, and only one can be kept "
            "exactly. Leave one of the variables out."
        )
    return (found[0], int(found[0][1].sum())) if found else (None, description.records)


def _by_text(counts: Mapping[Any, Any], code: str) -> Any:
    return next(value for key, value in counts.items() if str(key) == code)


def known_exactly(known: dict[tuple[int, ...], float], published: Published | None) -> None:
    """Mark what is public as known exactly."""
    if published is not None:
        known[()] = HARD
        if (published[0],) in known:
            known[(published[0],)] = HARD


def held_exactly(residuals: Residuals, published: Published | None) -> Residuals:
    """The estimates with the public margin in its place."""
    if published is None or (published[0],) not in residuals:
        return residuals
    axis, counts = published
    return residuals | {(axis,): Residual(centre(counts), HARD)}


def keep_margin(
    rows: Rows, weights: Reals, targets: Targets, published: Published
) -> tuple[Rows, Whole]:
    """Whole counts whose margin over the axis is exactly the public one."""
    axis, counts = published
    for category in np.flatnonzero(counts):
        if not weights[rows[:, axis] == category].any():
            moved = rows.copy()
            moved[:, axis] = category
            fine = np.flatnonzero(targets.allowed(moved) > 0)
            if len(fine) == 0:
                raise InputError(
                    "Invariants contradict each other: a published count is above 0 where "
                    "structural zeros allow nobody."
                )
            rows = np.concatenate([rows, moved[fine[:1]]])
            weights = np.append(weights, 1.0)
    mass = np.bincount(rows[:, axis], weights=weights, minlength=len(counts))
    scale = np.divide(counts, mass, out=np.zeros(len(counts)), where=mass > 0)
    whole = largest_remainder(weights * scale[rows[:, axis]], groups=rows[:, axis])
    return rows, whole
