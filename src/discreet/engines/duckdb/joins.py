"""How the maps of variables meet the records: all at once, or some at a time where they are many.

Every join carries all columns that come after it, and the order of many is long looked for: the work
of one statement grows with the cube of its joins. Above some, records are kept with a number each,
coded some variables at a time, and put together by that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core.domain import Variable
from ..coding import Coding
from ..sql import Sql, joined, sql
from .relation import Opened
from .statements import Runner

AT_ONCE = 32
"""Variables that are joined in one statement."""


@dataclass(frozen=True)
class Joined:
    """A source of records and what is joined to it, with the columns of all variables."""

    source: Sql
    parameters: dict[str, object]
    joins: Sql
    columns: tuple[Sql, ...]


def with_maps(runner: Runner, relation: Opened, coding: Coding) -> Joined:
    """The relation with the indices of every variable at every level."""
    source, parameters = relation.keyed
    numbered = list(enumerate(coding.variables))
    if len(numbered) <= AT_ONCE:
        at_once = joined(" ", (_join(relation, coding, *one) for one in numbered))
        return Joined(source, parameters, at_once, tuple(_columns(numbered)))
    _number_records(runner, relation, source, parameters)
    joins: list[Sql] = []
    columns: list[Sql] = []
    for start in range(0, len(numbered), AT_ONCE):
        some, part = numbered[start : start + AT_ONCE], start // AT_ONCE
        runner.run(
            sql(
                "CREATE OR REPLACE TEMP TABLE discreet_part{part} AS SELECT s.discreet_row, {columns} "
                "FROM discreet_rows s {joins}",
                part=part,
                columns=joined(", ", _columns(some)),
                joins=joined(" ", (_join(relation, coding, *one) for one in some)),
            ),
            doing="coding",
        )
        joins.append(
            sql("JOIN discreet_part{p} p{p} ON p{p}.discreet_row = s.discreet_row", p=part)
        )
        columns.append(sql("p{p}.* EXCLUDE (discreet_row)", p=part))
    return Joined(sql("discreet_rows"), {}, joined(" ", joins), tuple(columns))


def forget(runner: Runner, coding: Coding) -> None:
    """Drop what was kept to put parts together."""
    if len(coding.variables) > AT_ONCE:
        for part in range(-(-len(coding.variables) // AT_ONCE)):
            runner.run(sql("DROP TABLE discreet_part{part}", part=part), doing="coding")
        runner.run("DROP TABLE discreet_rows", doing="coding")


def _number_records(
    runner: Runner, relation: Opened, source: Sql, parameters: dict[str, object]
) -> None:
    """The wanted columns of the records, each record with a number; never the id itself."""
    columns = [sql("s.c{i}", i=i) for i in relation.kept()]
    if relation.wanted.id is not None:
        columns.append(sql("s.u"))
    runner.run(
        sql(
            "CREATE OR REPLACE TEMP TABLE discreet_rows AS "
            "SELECT {columns}, row_number() OVER () AS discreet_row FROM {source} s",
            columns=joined(", ", columns),
            source=source,
        ),
        parameters,
        doing="coding",
    )


def _join(relation: Opened, coding: Coding, i: int, variable: Variable) -> Sql:
    raw = relation.raw(coding.columns[variable.name].finest)
    return sql("JOIN discreet_map{i} m{i} ON {raw} IS NOT DISTINCT FROM m{i}.raw", i=i, raw=raw)


def _columns(variables: Sequence[tuple[int, Variable]]) -> list[Sql]:
    columns = []
    for i, variable in variables:
        columns.append(sql("m{i}.i0 AS v{i}", i=i))
        levels = range(1, len(variable.levels))
        columns.extend(sql("m{i}.i{j} AS v{i}_{j}", i=i, j=j) for j in levels)
    return columns
