"""How Postgres writes it: built-ins of version 14, no extension."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..dialect import Dialect
from ..sql import Part, Sql, joined, plain, sql

_BLANKS = Sql(
    r"(SELECT E' \t\n\r\x0b\x0c' || convert_from(decode(CASE "
    "WHEN e = 'UTF8' THEN 'c2a0' WHEN e IN ('KOI8R', 'KOI8U') THEN '9a' WHEN e = 'WIN866' THEN 'ff' "
    "WHEN e = 'EUC_JIS_2004' THEN 'a9a2' WHEN e LIKE 'EUC%' OR e LIKE 'MULE%' THEN '' "
    "ELSE 'a0' END, 'hex'), e) FROM (SELECT getdatabaseencoding()::text) d(e))"
)
"""Blanks at the ends of a text, as `code_maps.canonical` has them: the last is the space that does not
break, whose bytes are other ones in each encoding, and which some do not have. Made once a statement."""


class PostgresDialect(Dialect):
    """Postgres; sessions have `standard_conforming_strings` on, so backslashes are plain."""

    name = "postgres"
    text_type = plain("text")

    def identifier(self, name: str) -> Sql:
        """A name, quoted.

        >>> print(PostgresDialect().identifier('a"b'))
        "a""b"
        """
        return Sql('"' + name.replace('"', '""') + '"')

    def literal(self, text: str) -> Sql:
        """A text, quoted.

        >>> print(PostgresDialect().literal("it's"))
        'it\''s'
        """
        return Sql("'" + text.replace("'", "''") + "'")

    def text(self, column: Sql) -> Sql:
        """Its text: the cast ends padding and folding of case, "C" ends collations that merge."""
        return sql('({x}::text COLLATE "C")', x=column)

    def trimmed(self, column: Sql) -> Sql:
        """By an explicit list: the default is another one on each engine."""
        return sql("btrim({x}, {blanks})", x=self.text(column), blanks=_BLANKS)

    def canonical_id(self, column: Sql, whole: bool) -> Sql:
        """The rule of `code_maps.canonical`; `$` is the very end here."""
        if whole:
            return sql("{x}::text", x=column)
        trimmed = self.trimmed(column)
        return sql(
            "nullif(CASE WHEN strpos({t}, '.0') > 0 "
            "THEN regexp_replace({t}, '^([-+]?[0-9]+)\\.0+$', '\\1') ELSE {t} END, '')",
            t=trimmed,
        )

    def key_halves(self, text: Sql, salt: Sql) -> tuple[Sql, Sql]:
        """By built-ins; no extension is needed."""
        return _halves(sql("sha256({salt} || convert_to({text}, 'UTF8'))", salt=salt, text=text))

    def text_halves(self, text: Sql) -> tuple[Sql, Sql]:
        """The same without a salt."""
        return _halves(sql("sha256(convert_to({text}, 'UTF8'))", text=text))

    def hash_order(self, text: Sql) -> Sql:
        """Raw bytes, which no collation touches."""
        return sql("sha256(convert_to({text}, 'UTF8'))", text=text)

    def matches(self, text: Sql, pattern: str) -> Sql:
        """By the operator for patterns, anchored."""
        return sql("({text} ~ {pattern})", text=text, pattern=self.literal(f"^(?:{pattern})$"))

    def decimal(self, text: Sql) -> Sql:
        """As numeric, which is exact."""
        return sql("{text}::numeric", text=text)

    def stored_half(self, half: Sql) -> Sql:
        """As a signed 32-bit integer: there are no unsigned ones, and its sum needs no numeric."""
        return sql("({half} - 2147483648)::integer", half=half)

    def half_sum(self, column: Sql) -> Sql:
        """The sum, with what storing took away."""
        return sql("(coalesce(sum({x}), 0) + count(*) * 2147483648)::bigint", x=column)

    def kept_half(self, column: Sql) -> Sql:
        """The half as it was."""
        return sql("({x}::bigint + 2147483648)", x=column)

    def values(self, name: Sql, columns: Sequence[Sql], rows: Iterable[Sequence[Part]]) -> Sql:
        """By VALUES; an empty list is a query that gives nothing."""
        lines = joined(", ", (sql("({of})", of=joined(", ", row)) for row in rows))
        return sql(
            "(VALUES {lines}) AS {name}({columns})",
            lines=lines,
            name=name,
            columns=joined(", ", columns),
        )


def _halves(digest: Sql) -> tuple[Sql, Sql]:
    def half(start: int) -> Sql:
        return sql(
            "('x' || encode(substr({digest}, {start}, 4), 'hex'))::bit(32)::bigint",
            digest=digest,
            start=start,
        )

    return half(5), half(1)
