"""Which columns are parents of which, and which say the same in other words.

A column lies in another where each of its values goes with one of the other's. Columns that say the
same lie in the same others, so only the first of them is asked about: what holds for it is told of all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import duckdb
import numpy as np
import numpy.typing as npt

from ..coding import ColumnProfile, Profile
from ..sql import Sql, joined, sql
from .canonical import canonical_sql, one_zero_sql
from .relation import RELATION, Opened
from .statements import Runner

Whole = npt.NDArray[np.int64]
Values = dict[str, str]
"""For each value of a column the value of another one, "" where it has none."""

_MOST_CHILDREN = 100_000
_SAMPLE_RECORDS = 20_000
_GLANCE = 1_024
"""How many records of it are looked at first, with all parents of a column at once."""
_GLANCES = (512, 4_096)
"""How many are then looked at, a pair of columns at a time, before all of them."""


def with_parents(runner: Runner, relation: Opened, profile: Profile) -> Profile:
    """A profile with the relations between its columns."""
    usable = {
        relation.position(column.name): column
        for column in profile.columns
        if column.distinct + bool(column.nulls) >= 2
        and column.distinct <= min(_MOST_CHILDREN, max(2, profile.records // 2))
    }
    if len(usable) < 2:
        return profile
    texts = {}
    for i in usable:
        kind = relation.types[i]
        texts[i] = canonical_sql(one_zero_sql(sql("s.c{i}", i=i), kind), kind)
    search = _Search(runner, profile.records, usable, texts, _sample(runner, texts))
    alike = search.alike()
    found = sorted(search.relations(alike), key=lambda one: (one.child, one.parent))
    told: dict[bool, list[tuple[str, str]]] = {True: [], False: []}
    nearly: list[tuple[str, str, int, str]] = []
    maps: dict[tuple[str, str], Values] = {}
    for one in found:
        child, parent = usable[one.child], usable[one.parent]
        if one.records:
            nearly.append((child.name, parent.name, one.records, one.code))
            continue
        one_to_one = len(set(one.values.values())) == child.distinct == parent.distinct
        if one_to_one and one.child > one.parent:
            continue  # said from the other side
        told[one_to_one].append((child.name, parent.name))
        maps[child.name, parent.name] = one.values
    return replace(
        profile,
        parents=tuple(told[False]),
        twins=tuple(told[True]),
        parent_maps=maps,
        nearly=tuple(nearly),
    )


@dataclass(frozen=True)
class _Relation:
    """A column that lies in another one, but for some records; a value that is in several."""

    child: int
    parent: int
    values: Values = field(default_factory=dict, repr=False)
    records: int = field(default=0, repr=False)
    code: str = field(default="", repr=False)

    def told_of(self, child: int, parent: int, to: Mapping[int, Values]) -> _Relation:
        """The same of a column that says what the child says, and one that says what the parent does."""
        down, up = to.get(child), to.get(parent)
        values = {down[a] if down else a: up[b] if up else b for a, b in self.values.items()}
        code = down[self.code] if down and self.code else self.code
        return _Relation(child, parent, dict(sorted(values.items())), self.records, code)


@dataclass(frozen=True)
class _Alike:
    """Columns that say the same: the first of each kind with all others, and their values by its."""

    others: dict[int, list[int]]
    values: dict[int, Values] = field(repr=False)


@dataclass(frozen=True)
class _Search:
    runner: Runner
    records: int = field(repr=False)
    columns: dict[int, ColumnProfile] = field(repr=False)
    texts: dict[int, Sql] = field(repr=False)
    sample: _Sample

    def alike(self) -> _Alike:
        """Columns without gaps that are one to one, each beside the first of its kind."""
        found = _Alike({}, {})
        firsts: dict[tuple[int, bytes], list[int]] = {}
        for i, column in self.columns.items():
            kind = (column.distinct, self.sample.codes[i].tobytes())
            known = [] if column.nulls else firsts.setdefault(kind, [])
            first = next((other for other in known if not self._broken(other, i)[0]), None)
            if first is None:
                known.append(i)
                found.others[i] = [i]
            else:
                found.others[first].append(i)
                found.values[i] = self._values(first, i)
        return found

    def relations(self, alike: _Alike) -> Iterator[_Relation]:
        """All relations; of columns that say the same only the first is asked about."""
        firsts = list(alike.others)
        tolerated = [_tolerated(self.columns[i], self.sample.records) for i in firsts]
        glance = self.sample.glance(firsts)
        pairs = [
            (child, firsts[place])
            for at, child in enumerate(firsts)
            for place in np.flatnonzero(glance.in_the_way(at) <= 2 * np.array(tolerated)).tolist()
            if place != at
            and self._in_order(child, firsts[place])
            and self.sample.may_lie_in(child, firsts[place], tolerated[place])
        ]
        for place, (c, p) in enumerate(pairs):
            share = 0.85 + 0.15 * place / len(pairs)
            self.runner.run("SELECT 1", doing=self._doing(c, p), share=(share, share))
            records, code = self._broken(c, p)
            if records > _tolerated(self.columns[p], self.records):
                continue
            one = _Relation(c, p, records=records, code=code)
            if not records:
                one = _Relation(c, p, self._values(c, p))
            for child, parent in itertools.product(alike.others[c], alike.others[p]):
                if self._in_order(child, parent):
                    yield one.told_of(child, parent, alike.values)
        for first, others in alike.others.items():
            same = {value: value for value in alike.values.get(others[-1], {})}
            one = _Relation(first, first, same)
            for child, parent in itertools.combinations(others, 2):
                yield one.told_of(child, parent, alike.values)

    def _in_order(self, c: int, p: int) -> bool:
        """Whether the second may be the parent, and is not better asked about from the other side."""
        child, parent = self.columns[c], self.columns[p]
        return (
            child.distinct > parent.distinct
            or (child.distinct == parent.distinct and c < p)
            or bool(child.nulls)  # a level that some branches skip may have fewer values
        )

    def _doing(self, c: int, p: int) -> str:
        return f"looking whether each {self.columns[c].name} lies in one {self.columns[p].name}"

    def _broken(self, c: int, p: int) -> tuple[int, str]:
        return _broken(self.runner, self.texts[c], self.texts[p])

    def _values(self, c: int, p: int) -> Values:
        rows = self.runner.run(
            sql(
                "SELECT {child} AS a, any_value({parent}) FROM {source} s "
                "WHERE {child} IS NOT NULL GROUP BY a ORDER BY a",
                child=self.texts[c],
                parent=self.texts[p],
                source=RELATION,
            ),
            doing=self._doing(c, p),
        )
        return {str(a): "" if b is None else str(b) for a, b in rows}


@dataclass(frozen=True)
class _Sample:
    """Some records as numbers: for each column, which of its values a record has; -1 for none.

    Values are numbered as they come, so columns that say the same have the same numbers.
    """

    records: int = field(repr=False)
    codes: dict[int, Whole] = field(repr=False)
    values: dict[int, int] = field(repr=False)

    def glance(self, columns: list[int]) -> _Glance:
        """The first records of these columns."""
        codes = np.empty((min(_GLANCE, self.records), len(columns)), dtype=np.int16)
        for place, i in enumerate(columns):
            codes[:, place] = self.codes[i][:_GLANCE]
        return _Glance(codes)

    def may_lie_in(self, child: int, parent: int, tolerated: float) -> bool:
        """Whether at most so many records are in the way.

        Further records never take away from those in the way, so a glance rejects most pairs.
        """
        return all(
            self._broken(child, parent, first) <= tolerated
            for first in (*_GLANCES, self.records)
            if first <= self.records
        )

    def _broken(self, child: int, parent: int, first: int) -> int:
        """Records whose child value goes with another parent more often; no parent is one too."""
        a, b = self.codes[child][:first], self.codes[parent][:first] + 1
        known = a >= 0
        rows, width = self.values[child], self.values[parent] + 1
        cells = a[known] * width + b[known]
        if rows * width <= max(4 * len(cells), 1024):
            counts = np.bincount(cells, minlength=rows * width).reshape(rows, width)
            return int(len(cells) - counts.max(axis=1).sum())
        pairs, counts = np.unique(cells, return_counts=True)
        most = np.zeros(rows, dtype=np.int64)
        np.maximum.at(most, pairs // width, counts)
        return int(len(cells) - most.sum())


@dataclass(frozen=True)
class _Glance:
    """A few records as numbers, a row for each: all parents of a child are tried at once."""

    codes: npt.NDArray[np.int16] = field(repr=False)

    def in_the_way(self, child: int) -> Whole:
        """For each column as the parent, at most twice the records that are in the way of it.

        Of records with one child value, neighbours with different parents are counted: each record in
        the way is in at most two such pairs.
        """
        order = np.argsort(self.codes[:, child], kind="stable")
        rows = self.codes[order[self.codes[order, child] >= 0]]
        same = rows[1:, child] == rows[:-1, child]
        others: Whole = np.count_nonzero((rows[1:] != rows[:-1])[same], axis=0)
        return others


def _sample(runner: Runner, texts: Mapping[int, Sql]) -> _Sample:
    """A sample that is the same every time; most pairs of columns are no levels already there."""
    runner.run(
        sql(
            "CREATE OR REPLACE TEMP TABLE discreet_sample AS SELECT {chosen} FROM {source} s "
            "USING SAMPLE reservoir({most} ROWS) REPEATABLE (1)",
            chosen=joined(", ", (sql("{of} AS c{i}", of=of, i=i) for i, of in texts.items())),
            source=RELATION,
            most=_SAMPLE_RECORDS,
        ),
        doing="looking for hierarchies",
        share=(0.8, 0.85),
    )
    try:
        table = runner.connection.sql("FROM discreet_sample").to_arrow_table()
    except duckdb.Error as error:
        raise runner.sentence(error) from None
    codes, values = {}, {}
    for i in texts:
        coded = table.column(f"c{i}").combine_chunks().dictionary_encode()
        codes[i] = coded.indices.fill_null(-1).to_numpy().astype(np.int64)
        values[i] = len(coded.dictionary)
    return _Sample(table.num_rows, codes, values)


def _broken(runner: Runner, child: Sql, parent: Sql) -> tuple[int, str]:
    """Records whose child value goes with another parent elsewhere, and such a child value.

    For each child value the most frequent parent is taken to be right; 0 where nothing is wrong.
    """
    ((records, code),) = runner.run(
        sql(
            "SELECT coalesce(sum(n - most), 0)::BIGINT, min(a) FILTER (n > most) FROM "
            "(SELECT a, sum(n) AS n, max(n) AS most FROM (SELECT {child} AS a, {parent} AS b, "
            "count(*) AS n FROM {source} s WHERE {child} IS NOT NULL GROUP BY ALL) GROUP BY a)",
            child=child,
            parent=parent,
            source=RELATION,
        ),
        doing="looking for hierarchies",
    )
    return int(records), str(code)


def _tolerated(parent: ColumnProfile, records: int) -> float:
    """How many records may be in the way where columns were meant as levels all the same.

    At most one in a hundred, and one in ten of those outside the parent's largest category: nearly
    all of any column "lies in" a parent that nearly everybody has.
    """
    outside = parent.records - max((n for _, n in parent.values), default=0)
    share = records / max(parent.records, 1)
    return min(records / 100, outside * share / 10)
