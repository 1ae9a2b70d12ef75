"""SQL for what is decided record by record on a server: keys and weights.

The table is always called `s`, so that a column may have any name.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..core.description import Weight
from ..errors import DataError
from .database import RemoteTable, Session
from .dialect import Dialect
from .sql import Sql, sql

_DIGITS = "[0-9]{1,12}"
_NUMBER = f"[+]?({_DIGITS}([.]{_DIGITS}0*)?|[.]{_DIGITS}0*)"
_MOST_SUM = 1 << 62


@dataclass(frozen=True)
class WeightColumn:
    """A weight in a table: its column, what kind that is, units of 1/scale, its decimal mark."""

    column: str
    kind: str
    scale: int
    mark: str = "."

    def text(self, dialect: Dialect) -> Sql:
        """Its text with a point; a floating-point number as the server writes it."""
        text = dialect.trimmed(_of_record(dialect, self.column))
        return sql("replace({text}, ',', '.')", text=text) if self.mark == "," else text

    def number(self, dialect: Dialect) -> Sql:
        """The exact number, NULL where the text is none."""
        text = self.text(dialect)
        return sql(
            "CASE WHEN {plain} THEN {number} END",
            plain=dialect.matches(text, _NUMBER),
            number=dialect.decimal(text),
        )

    def units(self, dialect: Dialect) -> Sql:
        """The weight in whole units, once it was checked."""
        return sql(
            "CAST({number} * {scale} AS BIGINT)", number=self.number(dialect), scale=self.scale
        )


@dataclass(frozen=True)
class KeyColumn:
    """The id of a table: its column, what kind that is, and the salt as SQL."""

    column: str
    kind: str
    salt: Sql = field(repr=False)

    def text(self, dialect: Dialect) -> Sql:
        """The id as its canonical text; NULL where there is none."""
        return dialect.canonical_id(_of_record(dialect, self.column), self.kind == "BIGINT")

    def halves(self, dialect: Dialect) -> tuple[Sql, Sql]:
        """Low and high half of the key; NULL where there is no id."""
        return dialect.key_halves(self.text(dialect), self.salt)


def _of_record(dialect: Dialect, column: str) -> Sql:
    return sql("s.{column}", column=dialect.identifier(column))


def check_weights(
    session: Session, dialect: Dialect, table: RemoteTable, weight: Weight, of: WeightColumn
) -> None:
    """Every weight is a plain decimal number that units hold, within its bound and its sum."""
    text, column, source = of.text(dialect), of.column, table.known
    found = session.fetch(
        sql(
            "SELECT count(*) AS n, count(t) AS given, "
            "sum(CASE WHEN t LIKE '-%' THEN 1 ELSE 0 END) AS negative, "
            "sum(CASE WHEN x IS NULL AND t IS NOT NULL AND t NOT LIKE '-%' THEN 1 ELSE 0 END) AS odd, "
            "sum(CASE WHEN x * {scale} <> floor(x * {scale}) THEN 1 ELSE 0 END) AS finer, "
            "CAST(max(x) AS {text_type}) AS most, "
            "CAST(sum(floor(x * {scale})) AS {text_type}) AS total "
            "FROM (SELECT {text} AS t, {number} AS x FROM {table} s) r",
            scale=of.scale,
            text_type=dialect.text_type,
            text=text,
            number=of.number(dialect),
            table=table.relation,
        )
    ).to_pylist()[0]
    units = f"of 1/{of.scale}" if of.scale > 1 else "(whole numbers)"
    for count, what, then in (
        (found["n"] - found["given"], "are missing", "Give every record a weight."),
        (found["negative"], "are negative", "Weights are 0 or more."),
        (found["odd"], "are not plain decimal numbers", 'Write them as 12.5; `mark: ","` is for 12,5.'),
        (found["finer"], f"have more decimals than units {units} hold", "Raise the weight's `decimals`."),
    ):  # fmt: skip
        if count:
            raise DataError(
                f"{int(count):,} weights in column {column!r} of {source} {what}. {then}"
            )
    from fractions import Fraction

    if weight.bound is not None and found["most"] and Fraction(found["most"]) > weight.bound:
        raise DataError(
            f"Column {column!r} of {source} holds a weight above the declared bound {weight.bound}. "
            "Raise the bound or mend the data."
        )
    if found["total"] and Fraction(found["total"]) > _MOST_SUM:
        raise DataError(
            f"The weights in column {column!r} of {source} add up to more than 2^62 units {units}. "
            "Lower the weight's `decimals`."
        )
