"""Canonical text in SQL, for what is decided record by record: ids and profiles.

The rule is that of `engines.code_maps.canonical`, and the tests hold one against the other. Record
keys are made of canonical ids, so this rule is part of their definition and may not change.
"""

from __future__ import annotations

from ..sql import Sql, plain, sql

_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_WHOLE_TYPES = frozenset((*_SIGNED, *(f"U{name}" for name in _SIGNED)))
_NO_SINGLE_VALUE = ("BLOB", "STRUCT", "MAP", "UNION", "BIT", "VARIANT", "GEOMETRY")


def single_valued(column_type: str) -> bool:
    """Whether a column of this DuckDB type holds one text, number, date or yes/no.

    >>> single_valued("ENUM('[', 'MAP')"), single_valued("VARCHAR[]"), single_valued("MAP(INT, INT)")
    (True, False, False)
    """
    kind = column_type.upper()
    if kind.endswith("]"):
        return False
    return kind.startswith("ENUM") or not kind.startswith(_NO_SINGLE_VALUE)


def type_words(column_type: str) -> str:
    """A type for a sentence; a server's own name of one without a text stands after BLOB.

    >>> type_words("VARCHAR[]"), type_words("BLOB bytea")
    ('varchar[]', 'bytea')
    """
    return column_type.removeprefix("BLOB ").lower()


def text_sql(expression: Sql, column_type: str) -> Sql:
    """SQL for a value as text, however it is written; not-a-number is NULL."""
    if column_type.upper() in ("FLOAT", "DOUBLE"):
        # By its text: isnan() is folded away where a Parquet file's statistics leave NaN out.
        return sql("nullif(CAST({x} AS VARCHAR), 'nan')", x=expression)
    return sql("CAST({x} AS VARCHAR)", x=expression)


def one_zero_sql(expression: Sql, column_type: str) -> Sql:
    """SQL for a variable's value as it is, but that a floating-point zero has no sign.

    The two zeros are equal, so which of them stands for both would be chance. Ids keep theirs.
    """
    kind = column_type.upper()
    if kind not in ("FLOAT", "DOUBLE"):
        return expression
    return sql("CAST({x} + CAST(0 AS {kind}) AS {kind})", x=expression, kind=plain(kind))


def canonical_sql(expression: Sql, column_type: str) -> Sql:
    """SQL for the canonical form of a column; missing (NULL, not-a-number, blank) is NULL."""
    kind = column_type.upper()
    if kind in _WHOLE_TYPES:
        return sql("CAST({x} AS VARCHAR)", x=expression)
    trimmed = sql(
        "trim({x}, ' ' || chr(9) || chr(10) || chr(13) || chr(11) || chr(12) || chr(160))",
        x=text_sql(expression, column_type),
    )
    # Few values hold '.0', so the pattern is tried on those only.
    return sql(
        "nullif(CASE WHEN contains({trimmed}, '.0') "
        "THEN regexp_replace({trimmed}, '^([-+]?[0-9]+)\\.0+$', '\\1') "
        "ELSE {trimmed} END, '')",
        trimmed=trimmed,
    )


def without_exponent_sql(text: Sql) -> Sql:
    """SQL for a number's text with a small number's exponent written out, as in 1e-05."""
    return sql(
        "CASE WHEN regexp_full_match({text}, '[0-9.]+[eE]-[0-9]+') "
        "THEN format('{:.18f}', TRY_CAST({text} AS DOUBLE)) ELSE {text} END",
        text=text,
    )
