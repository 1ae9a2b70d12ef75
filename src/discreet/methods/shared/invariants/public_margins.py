"""Margins that are public already: the custodian writes their numbers, the release keeps them exactly.

    methods:
      marginals:
        published:
          sex: {F: 268000, M: 261655}
          region × sex: {north: {F: 100000, M: 90000}, south: {F: 168000, M: 171655}}

Any number of margins of any order. The numbers come from the policy, never from the data, so they
cost nothing; they are named in the guarantee as not protected. They fix the number of records, so
neighbours are *replace one* (`core.public_margins`). What they say of variables the question does not use is summed away. Numbers that
contradict each other, the declared number of records or structural zeros are refused when a
question is planned, and so are margins that no table of whole counts is found to keep.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....core.description import Description
from ....core.domain import AxisRef
from ....core.exact import exact
from ....core.margins import merged
from ....core.names import find_axis
from ....core.product import Margin, Reals, Whole, maximal, subsets
from ....core.public_margins import parts_of
from ....errors import InputError
from ..residuals import HARD, Residual, Residuals, centre
from ..workload import Workload
from .joint_table import Step
from .keep_margins import steps_for

MOST_CELLS = 1_000_000
_RECORDS = "the number of records"


@dataclass(frozen=True)
class Published:
    """What is public already over the axes of a workload, found to be free of contradictions."""

    tables: Mapping[Margin, Whole]
    """Only margins that lie in no other one."""
    total: int
    steps: tuple[Step, ...]
    """How a table is brought to keep them all."""

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The margins themselves."""
        return tuple(self.tables)

    def table(self, margin: Margin) -> Whole | None:
        """The public counts of a margin; None where they are not public."""
        for wide, counts in self.tables.items():
            if set(margin) <= set(wide):
                gone = tuple(i for i, a in enumerate(wide) if a not in margin)
                return np.asarray(counts.sum(axis=gone))
        return np.array(self.total, dtype=np.int64) if not margin else None

    @property
    def zeros(self) -> dict[Margin, Reals]:
        """Where nobody can be, because a published count is 0."""
        return {m: (t == 0).astype(np.float64) for m, t in self.tables.items() if (t == 0).any()}


@dataclass(frozen=True)
class _Written:
    """One margin as the policy writes it."""

    name: str
    refs: tuple[AxisRef, ...]
    counts: Whole


def read_published(
    given: Any, workload: Workload, description: Description
) -> tuple[Published | None, int | None]:
    """What is public over the workload's variables, and the public total; checked."""
    if not given:
        return None, description.records
    kept, total = public_tables(given, workload, description)
    if not kept:
        return None, total
    names = [ref.level for ref in workload.refs]
    steps = steps_for(workload.shape, kept, workload.forbidden, names)
    return Published(kept, total, steps), total


def public_tables(
    given: Any, workload: Workload, description: Description
) -> tuple[dict[Margin, Whole], int]:
    """The margins over the workload's variables that lie in no other one, and their total; checked."""
    if not isinstance(given, Mapping) or not all(isinstance(v, Mapping) for v in given.values()):
        raise InputError(
            "published must map variables to their counts, such as sex: {F: 268000, M: 261655} or "
            "region × sex: {north: {F: 1, M: 2}, south: {F: 3, M: 4}}."
        )
    written = [_written(str(name), counts, description) for name, counts in given.items()]
    for one, two in itertools.combinations(written, 2):
        _agree(one, two, description)
    used = [here for one in written if (here := _over(one, workload, description)).refs]
    for one, two in itertools.combinations(used, 2):  # once more where levels were made the same
        _agree(one, two, description)
    total = int(written[0].counts.sum())
    if description.records is not None and total != description.records:
        raise InputError(
            f"Invariants contradict each other: {_RECORDS} is {description.records:,}, "
            f"{written[0].name} adds up to {total:,}."
        )
    if not used:
        return {}, total
    tables = {tuple(workload.refs.index(ref) for ref in one.refs): one for one in used}
    for margin, one in tables.items():
        _possible(margin, one, workload, description)
    return {margin: tables[margin].counts for margin in maximal(tables)}, total


def _written(name: str, counts: Mapping[Any, Any], description: Description) -> _Written:
    refs = tuple(find_axis(description, part) for part in parts_of(name))
    said = f"published.{name}"
    if len({ref.variable for ref in refs}) != len(refs):
        raise InputError(f"{said} names a variable twice. Name each variable once.")
    shape = tuple(len(description.axis(ref).level) for ref in refs)
    if int(np.prod(shape, dtype=object)) > MOST_CELLS:
        raise InputError(f"{said} has more than {MOST_CELLS:,} cells. Publish coarser levels.")
    flat: list[int] = []
    _read(counts, refs, said, description, flat)
    table = np.array(flat, dtype=np.int64).reshape(shape)
    order = sorted(range(len(refs)), key=lambda i: refs[i])
    return _Written(said, tuple(refs[i] for i in order), table.transpose(order))


def _read(
    counts: Any, refs: Sequence[AxisRef], said: str, description: Description, into: list[int]
) -> None:
    """The numbers in order, one level of the mapping for each variable."""
    if not refs:
        number = exact(counts, said, least=0)
        if number.denominator != 1:
            raise InputError(f"{said} must be a whole number, got {counts}.")
        if number > 2**53:
            raise InputError(f"{said} is too large for a count, got {counts}.")
        into.append(int(number))
        return
    level = description.axis(refs[0]).level
    maps = isinstance(counts, Mapping)
    by_text = {str(code): value for code, value in counts.items()} if maps else {}
    if set(by_text) != set(level.codes) or len(by_text) != len(counts):
        got = f"{len(counts)}" if maps else "a number"
        raise InputError(
            f"{said} must give a count for each of the {len(level)} categories of "
            f"{refs[0].level} and for nothing else, got {got}."
        )
    for code in level.codes:
        _read(by_text[code], refs[1:], f"{said}.{code}", description, into)


def _over(one: _Written, workload: Workload, description: Description) -> _Written:
    """The same margin over the workload's variables at its levels, the others summed away."""
    at = {ref.variable: ref for ref in workload.refs}
    counts = one.counts
    refs: list[AxisRef] = []
    for ref in one.refs:
        here = at.get(ref.variable)
        position = len(refs)
        if here is None:
            counts = np.asarray(counts.sum(axis=position))
            continue
        refs.append(here)
        level = description.axis(ref).level
        base = workload.domain.axes[workload.refs.index(here)].level
        places = level.map_to(base)
        if places is None:
            raise InputError(
                f"{one.name} is at level {ref.level}, and this question needs {ref.variable} at "
                f"{here.level}. Ask at {ref.level}, or publish the finer margin."
            )
        others = tuple(i for i in range(counts.ndim) if i != position)
        wrong = np.flatnonzero(counts.any(axis=others) & ~level.held)
        if len(wrong):
            raise InputError(
                f"{one.name} counts records in {ref.level} {level.codes[wrong[0]]}, which holds no "
                "finer category. Write 0 there."
            )
        counts = merged(counts, position, places, len(base))
    order = sorted(range(len(refs)), key=lambda i: workload.refs.index(refs[i]))
    return _Written(one.name, tuple(refs[i] for i in order), counts.transpose(order))


def _agree(one: _Written, two: _Written, description: Description) -> None:
    """Refuse two margins that say different numbers of what they have in common."""
    common = [ref for ref in one.refs if ref in two.refs]
    first = one.counts.sum(axis=tuple(i for i, r in enumerate(one.refs) if r not in common))
    second = two.counts.sum(axis=tuple(i for i, r in enumerate(two.refs) if r not in common))
    second = second.transpose([[r for r in two.refs if r in common].index(ref) for ref in common])
    off = np.argwhere(first != second)
    if len(off) == 0:
        return
    cell = tuple(int(i) for i in off[0])
    where = _cell(common, cell, description)
    raise InputError(
        f"Invariants contradict each other: {one.name} and {two.name} differ at {where}, "
        f"{int(first[cell]):,} and {int(second[cell]):,}."
    )


def _cell(refs: Sequence[AxisRef], cell: Sequence[int], description: Description) -> str:
    parts = [
        f"{ref.level} {description.axis(ref).level.codes[i]}"
        for ref, i in zip(refs, cell, strict=True)
    ]
    return ", ".join(parts) or "the total"


def _possible(margin: Margin, one: _Written, workload: Workload, description: Description) -> None:
    """Refuse a count where a structural zero within the margin allows nobody."""
    for zero, banned in workload.forbidden.items():
        if not set(zero) <= set(margin):
            continue
        wide = banned.reshape([workload.shape[a] if a in zero else 1 for a in margin]) > 0
        off = np.argwhere(np.broadcast_to(wide, one.counts.shape) & (one.counts > 0))
        if len(off):
            cell = tuple(int(i) for i in off[0])
            raise InputError(
                f"Invariants contradict each other: {one.name} is {int(one.counts[cell]):,} at "
                f"{_cell(one.refs, cell, description)}, where structural zeros allow nobody."
            )


def known_exactly(known: dict[Margin, float], published: Published | None) -> None:
    """Mark what is public as known exactly."""
    if published is not None:
        public = {kept for margin in published.margins for kept in subsets(margin)} | {()}
        known |= {margin: HARD for margin in known if margin in public}


def held_exactly(residuals: Residuals, published: Published | None) -> Residuals:
    """The estimates with what is public in its place."""
    if published is None:
        return residuals
    out = dict(residuals)
    for kept in residuals:
        counts = published.table(kept)
        if counts is not None:
            out[kept] = Residual(centre(counts), HARD)
    return out


def forbidden_with(
    forbidden: Mapping[Margin, Reals], published: Published | None
) -> dict[Margin, Reals]:
    """Structural zeros together with the cells a published 0 leaves empty."""
    out = dict(forbidden)
    for margin, empty in ({} if published is None else published.zeros).items():
        out[margin] = np.maximum(out[margin], empty) if margin in out else empty
    return out
