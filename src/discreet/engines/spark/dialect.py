"""How Spark writes it: sessions have ANSI on, so a sum that does not fit raises instead of wrapping."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..dialect import BLANKS, Dialect
from ..sql import Part, Sql, joined, plain, sql

_NOT_HARMLESS = re.compile(r"[^A-Za-z0-9 _.,:;+*/()<>=-]")


class SparkDialect(Dialect):
    """Spark; its literals read backslashes and `${…}`, so other signs are given by number."""

    name = "spark"
    text_type = plain("STRING")

    def identifier(self, name: str) -> Sql:
        """A name, quoted.

        >>> print(SparkDialect().identifier("a`b"))
        `a``b`
        """
        return Sql("`" + name.replace("`", "``") + "`")

    def literal(self, text: str) -> Sql:
        r"""A text; every sign but the plainest is given by its number, so none can end it.

        >>> print(SparkDialect().literal("plain"), SparkDialect().literal("\\'"))
        'plain' '\u005C\u0027'
        """
        return Sql(f"'{_NOT_HARMLESS.sub(_numbered, text)}'")

    def text(self, column: Sql) -> Sql:
        """Its text, compared by bytes; bytes that are no text stop the statement."""
        return sql("(validate_utf8(CAST({x} AS STRING)) COLLATE UTF8_BINARY)", x=column)

    def trimmed(self, column: Sql) -> Sql:
        """By an explicit list: the default is another one on each engine."""
        return sql("btrim({x}, {blanks})", x=self.text(column), blanks=self.literal(BLANKS))

    def canonical_id(self, column: Sql, whole: bool) -> Sql:
        r"""The rule of `code_maps.canonical`; `\z`, because `$` also comes before a last line end."""
        if whole:
            return sql("CAST({x} AS STRING)", x=column)
        return sql(
            "nullif(CASE WHEN contains({t}, '.0') "
            "THEN regexp_replace({t}, r'^([-+]?[0-9]+)\\.0+\\z', '$1') ELSE {t} END, '')",
            t=self.trimmed(column),
        )

    def key_halves(self, text: Sql, salt: Sql) -> tuple[Sql, Sql]:
        """By built-ins."""
        return _halves(
            sql("sha2(concat({salt}, encode({text}, 'UTF-8')), 256)", salt=salt, text=text)
        )

    def text_halves(self, text: Sql) -> tuple[Sql, Sql]:
        """The same without a salt."""
        return _halves(sql("sha2({text}, 256)", text=text))

    def stored_half(self, half: Sql) -> Sql:
        """As it is."""
        return half

    def half_sum(self, column: Sql) -> Sql:
        """The sum."""
        return sql("CAST(coalesce(sum({x}), 0) AS BIGINT)", x=column)

    def kept_half(self, column: Sql) -> Sql:
        """As it is."""
        return column

    def hash_order(self, text: Sql) -> Sql:
        """As hexadecimal, which sorts as its bytes do."""
        return sql("sha2({text}, 256)", text=text)

    def matches(self, text: Sql, pattern: str) -> Sql:
        """By RLIKE, anchored at the very ends."""
        return sql(
            "({text} RLIKE {pattern})", text=text, pattern=self.literal(rf"\A(?:{pattern})\z")
        )

    def decimal(self, text: Sql) -> Sql:
        """So many digits that a product with a scale loses none."""
        return sql("CAST({text} AS DECIMAL(26, 12))", text=text)

    def values(self, name: Sql, columns: Sequence[Sql], rows: Iterable[Sequence[Part]]) -> Sql:
        """By VALUES."""
        return sql(
            "(VALUES {lines}) AS {name}({columns})",
            lines=joined(", ", (sql("({of})", of=joined(", ", row)) for row in rows)),
            name=name,
            columns=joined(", ", columns),
        )


def _numbered(sign: re.Match[str]) -> str:
    number = ord(sign[0])
    return f"\\u{number:04X}" if number < 1 << 16 else f"\\U{number:08X}"


def _halves(digest: Sql) -> tuple[Sql, Sql]:
    def half(start: int) -> Sql:
        return sql(
            "CAST(conv(substr({digest}, {start}, 8), 16, 10) AS BIGINT)", digest=digest, start=start
        )

    return half(9), half(1)
