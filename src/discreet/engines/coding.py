"""Where data come from and how they become integers: what loading is told.

A `Source` names a file or a database table. A `Coding` says which columns hold the variables of a
description, the unit, the weight and record keys; the description says which code gets which
number, at every level. Loading carries it out, once; afterwards every table is a GROUP BY on small
integers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from ..core.derived import Rule
from ..core.description import Description
from ..core.domain import Level, Variable
from ..errors import DataError, InputError
from .address import SCHEMES, Address

FILE_KINDS = ("csv", "parquet", "duckdb", "sqlite", "xlsx")
KINDS = (*FILE_KINDS, "postgres", "spark")
"""What can be read: files, and tables of a database server or a cluster."""

OPTIONS = ("delimiter", "encoding", "quote", "escape", "header")
"""What may be said about a CSV file; what is not said is found out. `header` is yes or no."""

COUNTING = ("loaded", "coded", "read-only")
"""Where records of a server are counted: here, once they were streamed in; there, in a coded table
that discreet makes and owns; or there, in the table itself, with the right to SELECT alone."""

MOST_CATEGORIES = 1_000_000
"""The most categories a variable may have at any level: beyond, it is an identifier."""

MOST_RECORDS = (1 << 31) - 1
"""The most records of one version: a sum of 32-bit key halves then always fits 63 bits."""

MOST_SHARDS = 64
"""The most shards of one version: each is a process where it is counted."""

_CONNECTION = re.compile(r"\b(host|dbname|user|password|service)\s*=")
"""A connection as Postgres' own programs take it; it may hold a password."""

_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
}


@dataclass(frozen=True)
class Source:
    """A file or a database table that holds the records.

    >>> Source.guess("deaths.csv").kind, Source.guess("sqlite:///old/people.db?table=staff").table
    ('csv', 'staff')
    """

    kind: str
    path: Path
    table: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    address: Address | None = None
    """Of a server or a cluster: `path` is then only what to call it."""
    counting: str = "loaded"
    """Where its records are counted: one of COUNTING."""
    kept_in: str = ""
    """Where coded tables are kept: a schema of Postgres, a folder of the cluster's files."""
    timeout: int = 0
    """The most seconds that one count may take on a server; 0 for as many as it allows."""
    shards: int = 1
    """In how many files, each counted by a process of its own, records that are loaded lie."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"A source is one of {', '.join(KINDS)}, got {self.kind!r}.")
        if self.counting not in COUNTING:
            raise InputError(f"counting is one of {', '.join(COUNTING)}, got {self.counting!r}.")
        if not 1 <= self.shards <= MOST_SHARDS:
            raise InputError(f"shards must be from 1 to {MOST_SHARDS}, got {self.shards}.")
        unknown = sorted(set(self.options) - set(OPTIONS))
        if unknown:
            raise InputError(f"A source has no option {unknown[0]!r}; it has {', '.join(OPTIONS)}.")

    @classmethod
    def guess(cls, text: str | Path) -> Source:
        """The source a path or a database URL means.

        A database table is `duckdb:///folder/file.db?table=name` (three slashes: a path from here;
        four: from the root), `sqlite:///…`, or `file.duckdb::name`; a sheet `book.xlsx::name`; of a
        server `postgresql://user@host/database?table=name`, of a cluster `sc://host:port` (Spark
        Connect). Other URLs are refused.

        >>> source = Source.guess("shop.duckdb::orders")
        >>> source.kind, source.path.name, source.table
        ('duckdb', 'shop.duckdb', 'orders')
        >>> Source.guess("mysql://host/db")
        Traceback (most recent call last):
        discreet.errors.InputError: 'mysql' databases cannot be read, only postgresql, sc (Spark Connect), duckdb and sqlite. Export the table to Parquet.
        """
        words = str(text)
        if not words.strip():
            raise InputError("A source needs a path, got an empty text. Name a file or a table.")
        if "://" in words:
            return cls._of_url(words)
        if _CONNECTION.search(words) and not Path(words).exists():
            raise InputError(
                "A database is given by its address, postgresql://user@host/database, not by "
                "host=… dbname=…. Leave the password out: it is read from PGPASSWORD or ~/.pgpass."
            )
        name, mark, table = words.partition("::")
        path = Path(name)
        kind = _SUFFIXES.get(path.suffix.lower()) or _by_first_bytes(path) or "csv"
        if mark and kind in ("csv", "parquet"):
            raise InputError(f"{path.name} is a {kind} file: it has no table {table!r}.")
        return cls(kind, path, table or None)

    @classmethod
    def _of_url(cls, url: str) -> Source:
        try:
            parts = urlsplit(url)
        except ValueError:
            raise InputError(
                "An address cannot be read: its brackets or host are wrong. Write "
                "postgresql://user@host/database."
            ) from None
        if parts.scheme in SCHEMES:
            return cls._of_server(url, parts.query)
        if parts.scheme not in ("duckdb", "sqlite", "file"):
            raise InputError(
                f"{parts.scheme!r} databases cannot be read, only postgresql, sc (Spark Connect), "
                "duckdb and sqlite. Export the table to Parquet."
            )
        if parts.netloc:
            raise InputError(
                f"A {parts.scheme} address has three slashes and a path, got a host "
                f"{parts.hostname!r}. Write {parts.scheme}:///path."
            )
        path = unquote(parts.path)
        if parts.scheme == "file":
            return cls.guess(Path(path))
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        table = query.pop("table", None)
        if query:
            raise InputError(
                f"A {parts.scheme} address takes ?table=name only, got {', '.join(sorted(query))}."
            )
        return cls(parts.scheme, Path(path[1:] if path.startswith("/") else path), table or None)

    @classmethod
    def _of_server(cls, url: str, query: str) -> Source:
        words = parse_qsl(query, keep_blank_values=True)
        tables = [value for key, value in words if key == "table"]
        if tables:
            kept = urlencode([one for one in words if one[0] != "table"], quote_via=quote)
            url = url.partition("?")[0] + (f"?{kept}" if kept else "")
        address = Address.of(url)
        return cls(
            address.kind, Path(address.database), tables[-1] if tables else None, address=address
        )

    def same_place(self, other: Source) -> bool:
        """Whether two sources are the same table or file."""
        if self.address is not None or other.address is not None:
            return (self.address, self.table) == (other.address, other.table)
        return (self.path.resolve(), self.table) == (other.path.resolve(), other.table)

    def opened_with(self, secret: str) -> Source:
        """The same source of a server, with the password that opens it."""
        if not secret or self.address is None:
            return self
        return replace(self, address=replace(self.address, secret=secret))

    @property
    def name(self) -> str:
        """What to call it in a sentence: the file's own name, with the table's where there is one."""
        return f"{self.path.name}::{self.table}" if self.table else self.path.name


def _by_first_bytes(path: Path) -> str | None:
    """What a file is by its first bytes, where it can be read and its name does not say."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError:
        return None
    starts = {"parquet": (0, b"PAR1"), "sqlite": (0, b"SQLite format 3"), "duckdb": (8, b"DUCK")}
    return next((kind for kind, (at, mark) in starts.items() if head.startswith(mark, at)), None)


@dataclass(frozen=True)
class Columns:
    """Where a variable's codes lie in the data, and where odd ones go.

    A value is compared as canonical text: trimmed, whole numbers without `.0`. NULL, the empty
    text and `missing_values` are missing and go to the category `missing`; a value outside the
    codes goes to `other`. Where these are None, such a value stops the load. Where a coarser level
    has a column, loading checks that every record's parent is the declared one.
    """

    finest: str
    levels: Mapping[str, str] = field(default_factory=dict)
    missing: str | None = None
    missing_values: tuple[str, ...] = ()
    other: str | None = None
    rule: Rule | None = None
    """How a value becomes a place among the finest categories, where it is not a code itself."""


@dataclass(frozen=True)
class Coding:
    """How one source becomes integers.

    `id_column` names the unit; record keys are then the first 64 bits of SHA-256(salt ‖ id).
    `bound` says what happens to a unit with more records than the description allows: *stop* the
    load, or *drop* all but that many, chosen by a public rule. `key_column` holds the custodian's
    own classical keys, whole numbers below 2^32 or fractions of eight decimals, instead. A weight
    is read from the column of its name as exact decimals and held in whole units; one that is
    negative, above its bound or not a whole number of units stops the load.
    """

    description: Description
    columns: Mapping[str, Columns] = field(repr=False)
    id_column: str | None = None
    key_column: str | None = None
    weight_mark: str = "."
    """The decimal mark of the weights in the source: a point or a comma."""
    bound: str = "stop"
    salt: bytes = field(default=b"", repr=False)
    checked_against: str = ""
    """A digest of the public facts that the records were compared with at load."""

    def __post_init__(self) -> None:
        for variable in self.description.variables:
            size = len(variable.finest)
            if not size:
                raise DataError(
                    f"Variable {variable.name} has no categories; it needs at least one."
                )
            if size > MOST_CATEGORIES:
                raise DataError(
                    f"Variable {variable.name} has {size:,} categories, most is "
                    f"{MOST_CATEGORIES:,}. Leave it out, or group its codes into a level."
                )
            for level in variable.levels:
                _check_level(level, size)
        if self.bound not in ("stop", "drop"):
            raise DataError(f"bound is stop or drop, got {self.bound!r}.")

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables in the order they are coded in."""
        return self.description.variables

    @cached_property
    def source_columns(self) -> tuple[str, ...]:
        """Every column of the source that is read, once each, in order."""
        names = [self.id_column] if self.id_column is not None else []
        return tuple(dict.fromkeys((*names, *self.value_columns)))

    @cached_property
    def value_columns(self) -> tuple[str, ...]:
        """The columns whose values are needed; of the id, only the key made from it is."""
        weight = self.description.weight
        names = [self.key_column, weight.name if weight else None]
        for variable in self.variables:
            columns = self.columns[variable.name]
            names.append(columns.finest)
            names.extend(columns.levels.get(level.name) for level in variable.levels[1:])
        return tuple(dict.fromkeys(name for name in names if name is not None))


def _check_level(level: Level, size: int) -> None:
    """Every code stands once, and every category of the finest level goes to one of them."""
    if len(level.index) < len(level):
        twice = next(code for i, code in enumerate(level.codes) if level.index[code] != i)
        raise DataError(f"{level.name} lists {twice!r} twice; each code stands once.")
    if len(level.of_finest) != size:
        raise DataError(
            f"Level {level.name} maps {len(level.of_finest)} categories, but the variable has {size}."
        )
    if any(not 0 <= i < len(level) for i in level.of_finest):
        raise DataError(
            f"Level {level.name} sends a category to a place outside its {len(level)} codes."
        )


@dataclass(frozen=True)
class LoadReport:
    """What loading did; for the custodian only, its numbers are true counts."""

    records: int = field(repr=False)
    dropped: int = field(default=0, repr=False)
    """Records left out by the bound on records per unit, those without an id included."""
    other: Mapping[str, int] = field(default_factory=dict, repr=False)
    """Per variable: records whose code was outside the declared ones and went to other."""
    missing: Mapping[str, int] = field(default_factory=dict, repr=False)
    """Per variable: records that went to the missing category."""
    seconds: float = field(default=0.0, compare=False)
    fingerprint: str = ""
    """Of records that a server sent: a digest of what they were coded to, in any order."""


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written."""

    delimiter: str
    encoding: str
    quote: str
    header: bool
    escape: str = ""
    blank_lines: int = 0
    """Empty lines before the first that holds something; found again at every reading."""

    def options(self) -> dict[str, str]:
        """As the options of a `Source`."""
        options = {name: getattr(self, name) for name in ("delimiter", "encoding", "quote")}
        options["header"] = "yes" if self.header else "no"
        return {**options, "escape": self.escape} if self.escape else options


@dataclass(frozen=True)
class ColumnProfile:
    """One column as found; for the custodian only."""

    name: str
    type: str
    """text, integer, decimal, boolean or date; else what the source calls a column of no single
    values, such as a list."""
    records: int = field(repr=False)
    nulls: int = field(repr=False)
    """Records with NULL or the empty text."""
    distinct: int = field(repr=False)
    """Distinct values that are not null; exact up to the limit, else estimated."""
    exact: bool = True
    values: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    """Canonical text and count, most frequent first; every value where `complete`."""
    complete: bool = False
    minimum: str | None = field(default=None, repr=False)
    maximum: str | None = field(default=None, repr=False)
    decimals: int | None = None
    """The most decimals of a number seen; None for a column that holds no numbers."""
    mark: str = "."
    """The decimal mark of a decimal column."""
    years: tuple[str, str] | None = field(default=None, repr=False)
    """The first and the last year of a column of dates; empty where years have two digits."""

    @property
    def unique(self) -> bool:
        """Whether every record has a value of its own: an identifier."""
        return self.exact and self.nulls == 0 and 1 < self.distinct == self.records


@dataclass(frozen=True)
class Profile:
    """What a source looks like; for the custodian only."""

    source: Source
    records: int = field(repr=False)
    columns: tuple[ColumnProfile, ...]
    dialect: Dialect | None = None
    parents: tuple[tuple[str, str], ...] = ()
    """(child, parent) columns: each value of the child goes with one value of the parent, which has
    fewer values, or is there where the child is missing."""
    parent_maps: Mapping[tuple[str, str], Mapping[str, str]] = field(
        default_factory=dict, repr=False
    )
    """For each of `parents` and `twins`: the second's value for every value of the first, as
    canonical text; empty where it is missing."""
    twins: tuple[tuple[str, str], ...] = ()
    """Pairs of columns that say the same in other words (a code and its label), one to one."""
    nearly: tuple[tuple[str, str, int, str], ...] = ()
    """(child, parent, records, code): would be one of `parents` but for so many records; a child
    value that has several parents."""

    def column(self, name: str) -> ColumnProfile:
        """The column of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise InputError(f"{self.source.name} has no column {name!r}.")
