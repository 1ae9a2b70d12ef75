"""Weights as exact whole numbers of units: decimals are never rounded, and no sum can overflow."""

from __future__ import annotations

from ..errors import DataError
from .canonical import without_exponent_sql
from .coding import WeightCoding
from .running import Runner
from .sources import RELATION, Opened

_DECIMALS = 12
_MOST_SUM = 1 << 62


def weight_sql(runner: Runner, relation: Opened, weight: WeightCoding) -> str:
    """SQL for a record's weight in units of 1/scale, after every weight has been checked.

    A weight is a plain decimal number of at most twelve digits before and after the point.
    """
    source, column = relation.source.name, weight.column
    text = without_exponent_sql(relation.text(column))
    digits = f"[0-9]{{1,{_DECIMALS}}}"
    plain = f"regexp_full_match({text}, '\\+?({digits}(\\.{digits}0*)?|\\.{digits}0*)')"
    tiny = f"CAST(TRY_CAST({text} AS DECIMAL(38, {_DECIMALS})) * {10**_DECIMALS} AS HUGEINT)"
    scaled = f"{tiny} * {weight.scale}"
    ((missing, negative, odd, finer, most, total),) = runner.run(
        f"SELECT count(*) FILTER (t IS NULL), count(*) FILTER (starts_with(t, '-')), "
        f"count(*) FILTER (t IS NOT NULL AND NOT plain AND NOT starts_with(t, '-')), "
        f"count(*) FILTER (x % {10**_DECIMALS} <> 0), max(x), sum(x // {10**_DECIMALS}) "
        f"FROM (SELECT {text} AS t, coalesce({plain}, false) AS plain, "
        f"CASE WHEN {plain} THEN {scaled} END AS x FROM {RELATION} s)",
        doing="checking weights",
    )
    units = f"of 1/{weight.scale}" if weight.scale > 1 else "(whole numbers)"
    for count, what, then in (
        (missing, "are missing", "Give every record a weight."),
        (negative, "are negative", "Weights are 0 or more."),
        (odd, "are not plain decimal numbers", "Write them as 12.5, without exponents."),
        (finer, f"have more decimals than units {units} hold", "Raise the weight's `scale`."),
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
            "Lower the weight's `scale`."
        )
    return f"CAST(({scaled}) // {10**_DECIMALS} AS BIGINT)"
