"""Weights as exact whole numbers of units: decimals are never rounded, and no sum can overflow."""

from __future__ import annotations

from ...core.description import Weight
from ...errors import DataError
from ..sql import Sql, sql
from .canonical import without_exponent_sql
from .quoting import literal
from .relation import RELATION, Opened
from .statements import Runner

_DECIMALS = 12
_DIGITS = "[0-9]{1,12}"
_MOST_SUM = 1 << 62


def weight_sql(runner: Runner, relation: Opened, weight: Weight, mark: str) -> Sql:
    """SQL for a record's weight in units of 1/scale, after every weight has been checked.

    A weight is a plain decimal number of at most twelve digits before and after the point.
    """
    source, column = relation.source.name, weight.name
    written = relation.text(column)
    if mark == ",":
        written = sql("replace({text}, ',', '.')", text=written)
    text = without_exponent_sql(written)
    digits = literal(f"\\+?({_DIGITS}(\\.{_DIGITS}0*)?|\\.{_DIGITS}0*)")
    number = sql("regexp_full_match({text}, {digits})", text=text, digits=digits)
    scaled = sql(
        "CAST(TRY_CAST({text} AS DECIMAL(38, {decimals})) * {tiny} AS HUGEINT) * {scale}",
        text=text,
        decimals=_DECIMALS,
        tiny=10**_DECIMALS,
        scale=weight.scale,
    )
    ((missing, negative, odd, finer, most, total),) = runner.run(
        sql(
            "SELECT count(*) FILTER (t IS NULL), count(*) FILTER (starts_with(t, '-')), "
            "count(*) FILTER (t IS NOT NULL AND NOT plain AND NOT starts_with(t, '-')), "
            "count(*) FILTER (x % {tiny} <> 0), max(x), sum(x // {tiny}) "
            "FROM (SELECT {text} AS t, coalesce({number}, false) AS plain, "
            "CASE WHEN {number} THEN {scaled} END AS x FROM {source} s)",
            tiny=10**_DECIMALS,
            text=text,
            number=number,
            scaled=scaled,
            source=RELATION,
        ),
        doing="checking weights",
    )
    units = f"of 1/{weight.scale}" if weight.scale > 1 else "(whole numbers)"
    for count, what, then in (
        (missing, "are missing", "Give every record a weight."),
        (negative, "are negative", "Weights are 0 or more."),
        (odd, "are not plain decimal numbers", 'Write them as 12.5; `mark: ","` is for 12,5.'),
        (finer, f"have more decimals than units {units} hold", "Raise the weight's `decimals`."),
    ):
        if count:
            raise DataError(f"{count:,} weights in column {column!r} of {source} {what}. {then}")
    if weight.bound is not None and most is not None:
        limit = weight.bound * weight.scale * 10**_DECIMALS
        if int(most) > limit:
            raise DataError(
                f"Column {column!r} of {source} holds a weight above the declared bound "
                f"{weight.bound}. Raise the bound or mend the data."
            )
    if total is not None and int(total) > _MOST_SUM:
        raise DataError(
            f"The weights in column {column!r} of {source} add up to more than 2^62 units {units}. "
            "Lower the weight's `decimals`."
        )
    return sql("CAST(({scaled}) // {tiny} AS BIGINT)", scaled=scaled, tiny=10**_DECIMALS)
