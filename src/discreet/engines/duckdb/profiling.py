"""Profiling: what a source looks like before anything about it is declared.

Everything here is for the custodian only: values, counts, extremes, which column identifies a
record, and which column is a parent of which. Values are given as the canonical text that loading
compares with codes, so a description made from a profile loads.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import duckdb
import numpy as np
import numpy.typing as npt

from ...core.control import Control
from ...errors import Cancelled
from ..coding import ColumnProfile, Profile, Source
from ..sql import Sql, joined, sql
from .canonical import canonical_sql, single_valued, type_words
from .reading import Choice, Wanted
from .relation import RELATION, Opened
from .scratch import profile_folder, scratch_connection
from .sources import opened
from .statements import Runner

Whole = npt.NDArray[np.int64]

_MOST_CHILDREN = 100_000
_SAMPLE_RECORDS = 20_000
_GLANCES = (512, 4_096)
"""How many records of the sample are looked at before all of them."""


def profile(
    source: Source,
    control: Control | None = None,
    *,
    most_values: int = 2_000,
    only: Choice | None = None,
    parents: bool = True,
) -> Profile:
    """Look at every column of a source; at most `most_values` values of each are kept.

    `only` chooses columns from the names there are; without `parents` no hierarchies are looked
    for. Temporary files, which hold records while the profile is made, lie in a private folder.
    """
    with profile_folder() as folder:
        connection = scratch_connection(None, folder)
        runner = Runner(connection, source.name, folder, control or Control())
        wanted = Wanted() if only is None else Wanted(only)
        try:
            with opened(runner, source, folder, wanted) as relation:
                made = _profile(runner, relation, most_values)
                return _with_parents(runner, relation, made) if parents else made
        except KeyboardInterrupt:
            raise Cancelled("Stopped while profiling; nothing was lost.") from None
        finally:
            connection.close()


def _profile(runner: Runner, relation: Opened, most_values: int) -> Profile:
    records = relation.counted(runner)
    chosen = relation.wanted.columns(relation.names)
    columns = []
    for place, name in enumerate(chosen):
        share = 0.1 + 0.7 * place / len(chosen)
        runner.run("SELECT 1", doing=f"looking at {name}", share=(share, share))
        i = relation.position(name)
        columns.append(_column(runner, i, name, relation.types[i], records, most_values))
    source = relation.source
    if relation.dialect is not None:
        source = replace(source, options=relation.dialect.options())
    return Profile(source, records, tuple(columns), relation.dialect)


_SHAPES = (
    "SELECT count(v), coalesce(sum(n) FILTER (v IS NULL), 0)::BIGINT, "
    "count(*) FILTER (regexp_full_match(v, '[-+]?[0-9]+')), "
    "count(*) FILTER (regexp_full_match(v, "
    "'[-+]?([0-9]+(\\.[0-9]+)?|\\.[0-9]+)([eE][-+]?[0-9]+)?')), "
    "count(*) FILTER (regexp_full_match(v, '[-+]?([0-9]+(,[0-9]+)?|,[0-9]+)')), "
    "count(*) FILTER (regexp_full_match(v, "
    "'[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:.]+.*)?|[0-9]{1,2}([./-])[0-9]{1,2}[./-]"
    "([0-9]{2}|[0-9]{4})([ T][0-9:.]+.*)?')), "
    "count(*) FILTER (regexp_full_match(v, '0[0-9]+')), "
    "arg_min(v, TRY_CAST(replace(v, ',', '.') AS DOUBLE)), "
    "arg_max(v, TRY_CAST(replace(v, ',', '.') AS DOUBLE)), "
    "min(v), max(v), "
    "max(length(regexp_extract(v, '^[-+]?[0-9]*[.,]([0-9]+)$', 1))), "
    "min(regexp_extract(v, '[0-9]{4}')), max(regexp_extract(v, '[0-9]{4}')) FROM discreet_values"
)
"""Of one column: how many values look like what, and the ends of its range."""


def _column(
    runner: Runner, i: int, name: str, kind: str, records: int, most_values: int
) -> ColumnProfile:
    if not single_valued(kind):
        return ColumnProfile(name, type_words(kind), records, 0, 0, exact=False)
    doing = f"looking at {name}"
    runner.run(
        sql(
            "CREATE OR REPLACE TEMP TABLE discreet_values AS SELECT {text} AS v, sum(n)::BIGINT AS n "
            "FROM (SELECT s.c{i} AS raw, count(*) AS n FROM {source} s GROUP BY raw) GROUP BY v",
            text=canonical_sql(sql("raw"), kind),
            i=i,
            source=RELATION,
        ),
        doing=doing,
    )
    ((distinct, nulls, wholes, numbers, commas, dates, padded, *ends),) = runner.run(
        _SHAPES, doing=doing
    )
    low, high, first, last, decimals, *years = ends
    values = runner.run(
        sql(
            "SELECT v, n FROM discreet_values WHERE v IS NOT NULL ORDER BY n DESC, v LIMIT {most}",
            most=most_values,
        ),
        doing=doing,
    )
    # 007 is a code, not a number: leading zeros mean something to whoever wrote them.
    number = distinct and not padded and distinct in (wholes, numbers, commas)
    if number:
        type_ = "integer" if wholes == distinct else "decimal"
    elif distinct and dates == distinct:
        type_ = "date"
    else:
        type_ = "boolean" if kind.upper() == "BOOLEAN" else "text"
    return ColumnProfile(
        name,
        type_,
        records,
        nulls,
        distinct,
        values=tuple((str(v), int(n)) for v, n in values),
        complete=distinct <= most_values,
        minimum=low if number else first,
        maximum=high if number else last,
        decimals=(decimals or 0) if number else None,
        mark="," if number and distinct not in (wholes, numbers) else ".",
        years=(years[0], years[1]) if type_ == "date" else None,
    )


def _with_parents(runner: Runner, relation: Opened, profile: Profile) -> Profile:
    """Which columns are parents of which, and which say the same in other words."""
    usable = [
        (relation.position(column.name), column)
        for column in profile.columns
        if column.distinct + bool(column.nulls) >= 2
        and column.distinct <= min(_MOST_CHILDREN, max(2, profile.records // 2))
    ]
    texts = {i: canonical_sql(sql("s.c{i}", i=i), relation.types[i]) for i, _ in usable}
    if len(usable) < 2:
        return profile
    sample = _sample(runner, texts)
    tolerated = {i: _tolerated(column, sample.records) for i, column in usable}
    parents: list[tuple[str, str]] = []
    twins: list[tuple[str, str]] = []
    nearly: list[tuple[str, str, int, str]] = []
    maps: dict[tuple[str, str], dict[str, str]] = {}
    pairs = [
        (child, parent)
        for child, parent in itertools.permutations(usable, 2)
        if (
            child[1].distinct > parent[1].distinct
            or (child[1].distinct == parent[1].distinct and child[0] < parent[0])
            or child[1].nulls  # a level that some branches skip may have fewer values
        )
        and sample.may_lie_in(child[0], parent[0], tolerated[parent[0]])
    ]
    for place, ((c, child), (p, parent)) in enumerate(pairs):
        share = 0.85 + 0.15 * place / len(pairs)
        doing = f"looking whether each {child.name} lies in one {parent.name}"
        runner.run("SELECT 1", doing=doing, share=(share, share))
        records, code = _broken(runner, texts[c], texts[p])
        if records:
            if records <= _tolerated(parent, profile.records):
                nearly.append((child.name, parent.name, records, code))
            continue
        rows = runner.run(
            sql(
                "SELECT {child} AS a, any_value({parent}) FROM {source} s "
                "WHERE {child} IS NOT NULL GROUP BY a ORDER BY a",
                child=texts[c],
                parent=texts[p],
                source=RELATION,
            ),
            doing=doing,
        )
        found = {str(a): "" if b is None else str(b) for a, b in rows}
        one_to_one = len(set(found.values())) == child.distinct == parent.distinct
        if one_to_one and c > p:
            continue  # said from the other side
        (twins if one_to_one else parents).append((child.name, parent.name))
        maps[child.name, parent.name] = found
    return replace(
        profile, parents=tuple(parents), twins=tuple(twins), parent_maps=maps, nearly=tuple(nearly)
    )


@dataclass(frozen=True)
class _Sample:
    """Some records as numbers: for each column, which of its values a record has; -1 for none."""

    records: int = field(repr=False)
    codes: dict[int, Whole] = field(repr=False)
    values: dict[int, int] = field(repr=False)

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
