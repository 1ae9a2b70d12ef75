"""Profiling: what a source looks like before anything about it is declared.

Everything here is for the custodian only: values, counts, extremes, which column identifies a
record, and which column is a parent of which. Values are given as the canonical text that loading
compares with codes, so a description made from a profile loads.
"""

from __future__ import annotations

from dataclasses import replace

from ...core.control import Control
from ...errors import Cancelled
from ..coding import ColumnProfile, Profile, Source
from ..sql import sql
from .canonical import canonical_sql, one_zero_sql, single_valued, type_words
from .column_relations import with_parents
from .reading import Choice, Wanted
from .relation import Opened
from .scratch import profile_folder, scratch_connection
from .sources import opened
from .statements import Runner


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
                return with_parents(runner, relation, made) if parents else made
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
        columns.append(_column(runner, relation, name, records, most_values))
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
    runner: Runner, relation: Opened, name: str, records: int, most_values: int
) -> ColumnProfile:
    i = relation.position(name)
    kind = relation.types[i]
    if not single_valued(kind):
        return ColumnProfile(name, type_words(kind), records, 0, 0, exact=False)
    doing = f"looking at {name}"
    runner.run(
        sql(
            "CREATE OR REPLACE TEMP TABLE discreet_values AS SELECT {text} AS v, sum(n)::BIGINT AS n "
            "FROM (SELECT s.c{i} AS raw, count(*) AS n FROM {source} s GROUP BY raw) GROUP BY v",
            text=canonical_sql(one_zero_sql(sql("raw"), kind), kind),
            i=i,
            source=relation.table,
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
