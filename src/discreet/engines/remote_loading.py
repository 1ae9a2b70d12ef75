"""Loading in place: the records stay on their server, coded into a table of ours or left as they are.

Dictionaries and coding see one snapshot where the server has them; where it has none, a record that
came or went in between is found out. What is written here is `remote.json`, which knows where the
records are, how they were coded, and their fingerprint.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from ..core.control import Control
from ..errors import Cancelled, DataError, DiscreetError
from .background import in_background
from .coded_file import about, column
from .coding import MOST_RECORDS, Coding, LoadReport, Source
from .database import Database, RemoteTable, Session
from .dialect import Dialect
from .fingerprint import Fingerprint
from .lost import retried
from .place_maps import PlaceMaps, column_kind, place_maps
from .record_sql import KeyColumn, WeightColumn, check_weights
from .remote_engine import open_remote
from .remote_version import RemoteVersion
from .servers import open_database
from .sql import Part, Sql, joined, plain, sql


def load(
    source: Source, coding: Coding, target: Path, control: Control | None = None, *, name: str
) -> LoadReport:
    """Code the records of a server where they are; `name` is what a coded table is called."""
    started, control = time.monotonic(), control or Control()
    _check_coding(source, coding)
    database = open_database(source)
    names: list[str] = []

    def once() -> tuple[RemoteVersion, LoadReport]:
        # nobody knows whether a lost attempt is there, or is still being written
        names.append(f"{name}_again" if names else name)
        return _Loading(database, source, coding, control).run(names[-1], names[:-1])

    try:
        version, report = retried(once)
    finally:
        database.close()
    version.write(target)
    digest = version.fingerprint.digest()
    return replace(report, seconds=time.monotonic() - started, fingerprint=digest)


def discard(folder: Path, secret: str = "") -> None:
    """Remove the coded table of a version that is not kept."""
    version = RemoteVersion.read(folder)
    if version.coded:
        database = open_database(version.source.opened_with(secret))
        try:
            with database.session(write=True) as session:
                session.drop(version.coded)
        finally:
            database.close()


def counted_alike(version: Path, filled: Path, coding: Coding, secret: str = "") -> bool:
    """Whether a version's records are where those just loaded into `filled` are, and can be counted."""
    if RemoteVersion.read(version).source != RemoteVersion.read(filled).source:
        return False
    try:
        with closing(open_remote(version, coding.description, coding.salt, secret)) as engine:
            engine.check()
    except Cancelled:
        raise
    except DiscreetError:
        return False
    return True


def _check_coding(source: Source, coding: Coding) -> None:
    if coding.key_column or not coding.id_column:
        raise DataError(
            f"Counting {source.name} in place needs an `id` and no `key_column`: keys are made from "
            "ids there. Name the column that is the id, or set `counting: loaded`."
        )
    if source.counting == "read-only" and coding.bound == "drop":
        raise DataError(
            "`bound: drop` leaves records out, which a table that is only read cannot. Set "
            "`counting: coded` or `counting: loaded`."
        )


class _Loading:
    """One load of one table."""

    def __init__(
        self, database: Database, source: Source, coding: Coding, control: Control
    ) -> None:
        self._database, self._source, self._coding = database, source, coding
        self._dialect: Dialect = database.dialect
        self._control = control

    def run(self, name: str, left: Sequence[str] = ()) -> tuple[RemoteVersion, LoadReport]:
        """Look at every value, code, and take the fingerprint, in one snapshot.

        `left` are coded tables that an attempt may have made whose connection was lost.
        """
        coded = self._source.counting == "coded"
        with self._database.session(write=coded, control=self._control) as session:

            def work() -> tuple[RemoteVersion, LoadReport]:
                for one in left if coded else ():
                    session.drop(one)
                return self._within(session, name if coded else "")

            return in_background(work, session.cancel, self._control, "loading", self._tell)

    def _tell(self) -> None:
        self._control.step(*self._now)

    _now: tuple[float, str] = (0.0, "looking at the table")

    def _within(self, session: Session, name: str) -> tuple[RemoteVersion, LoadReport]:
        table, coding = session.table(self._source), self._coding
        weight, key = self._columns(session, table)
        records = _number(session, table.relation)
        if not records:
            raise DataError(f"{table.known} has no records, only column names.")
        if records > MOST_RECORDS:
            raise DataError(
                f"{table.known} has {records:,} records, most is {MOST_RECORDS:,}. Load a part."
            )
        self._now = 0.1, "looking at the variables"
        maps = place_maps(session, self._dialect, table, coding)
        if weight is not None and coding.description.weight is not None:
            check_weights(session, self._dialect, table, coding.description.weight, weight)
        self._now = 0.4, "checking units"
        nobody = self._check_units(session, table, key)
        self._now = 0.5, "coding" if name else "making sure of the records"
        query = self._query(table, maps, weight, key)
        if name:
            session.create(name, query)
        relation = session.coded(name) if name else sql("({query}) x", query=query)
        found = _coded_fingerprint(session, self._dialect, relation, self._names())
        if coding.bound == "stop" and found.records != records:
            raise _changed(table)
        dropped = records - found.records
        if dropped < nobody:
            raise _changed(table)
        said = about(coding, found.records)
        source = replace(self._source, table=table.known)
        version = RemoteVersion(source, said, found, name)
        if not name:
            of = None if weight is None else (weight.column, weight.kind, weight.scale, weight.mark)
            version = replace(version, maps=maps.of, weight=of, id=(key.column, key.kind))
        report = LoadReport(found.records, dropped, maps.other, maps.missing)
        return version, report

    def _columns(
        self, session: Session, table: RemoteTable
    ) -> tuple[WeightColumn | None, KeyColumn]:
        coding, weight = self._coding, None
        if (described := coding.description.weight) is not None:
            kind = column_kind(table, described.name)
            weight = WeightColumn(described.name, kind, described.scale, coding.weight_mark)
        assert coding.id_column is not None
        kind = column_kind(table, coding.id_column)
        if kind in ("FLOAT", "DOUBLE"):
            raise DataError(
                f"Column {coding.id_column!r} of {table.known} holds floating-point numbers, which "
                "have no exact text to make keys from. Name an id of whole numbers or text."
            )
        return weight, KeyColumn(coding.id_column, kind, session.salt(coding.salt))

    def _check_units(self, session: Session, table: RemoteTable, key: KeyColumn) -> int:
        """How many records have no id; too many of one unit stop the load, unless they are dropped."""
        coding, dialect = self._coding, self._dialect
        text = key.text(dialect)
        keyed = sql("SELECT {text} AS u FROM {table} s", text=text, table=table.relation)
        nobody = _number(session, sql("({keyed}) r WHERE u IS NULL", keyed=keyed))
        if nobody and coding.bound == "stop":
            raise DataError(
                f"{nobody:,} records of {table.known} have no id in column {key.column!r}. Give them "
                "one, or set `bound: drop` to leave them out."
            )
        most = coding.description.records_per_unit
        if coding.bound == "drop":
            return nobody
        many = _number(
            session,
            sql(
                "(SELECT u FROM ({keyed}) r GROUP BY u HAVING count(*) > {most}) s",
                keyed=keyed,
                most=most,
            ),
        )
        if many:
            raise DataError(
                f"{many:,} {'ids' if many > 1 else 'id'} in column {key.column!r} of {table.known} have "
                f"more than {most} {'records' if most > 1 else 'record'}. Raise `records_per_unit`, or "
                "set `bound: drop` to keep that many of each."
            )
        return 0

    def _names(self) -> list[str]:
        """The columns of a coded record, in the order that its text has them."""
        names = [
            column((i, j))
            for i, variable in enumerate(self._coding.variables)
            for j in range(len(variable.levels))
        ]
        return [*names, *(["w"] if self._coding.description.weight else []), "k_lo", "k_hi"]

    def _query(
        self, table: RemoteTable, maps: PlaceMaps, weight: WeightColumn | None, key: KeyColumn
    ) -> Sql:
        """Coded records, each unit held to its number by the rule of `duckdb/units.py`."""
        dialect, coding = self._dialect, self._coding
        select: list[Sql] = []
        joins: list[Sql] = []
        for i, variable in enumerate(coding.variables):
            places = maps.of[variable.name].places
            own = sql("s.{of}", of=dialect.identifier(maps.of[variable.name].column))
            rows: list[tuple[Part, ...]] = [
                (dialect.literal(text), *(int(level.of_finest[place]) for level in variable.levels))
                for text, place in places.items()
                if text is not None
            ] or [(dialect.literal(""), *(0 for _ in variable.levels))]
            names = [sql("raw"), *(sql("i{j}", j=j) for j in range(len(variable.levels)))]
            listed = dialect.values(sql("m{i}", i=i), names, rows)
            text = dialect.text(own)
            joins.append(
                sql("LEFT JOIN {listed} ON {text} = m{i}.raw", listed=listed, text=text, i=i)
            )
            for j, level in enumerate(variable.levels):
                value = sql("m{i}.i{j}", i=i, j=j)
                if None in places:
                    value = sql(
                        "CASE WHEN {own} IS NULL THEN {gone} ELSE {value} END",
                        own=own,
                        gone=int(level.of_finest[places[None]]),
                        value=value,
                    )
                kind = sql("SMALLINT") if len(level) < 1 << 15 else sql("INTEGER")
                select.append(
                    sql("CAST({value} AS {kind}) AS {name}", value=value, kind=kind, name=plain(column((i, j))))
                )  # fmt: skip
        if weight is not None:
            select.append(sql("{units} AS w", units=weight.units(dialect)))
        low, high = key.halves(dialect)
        select += [sql("{low} AS k_lo", low=low), sql("{high} AS k_hi", high=high)]
        query = sql(
            "SELECT {select} FROM {table} s {joins}",
            select=joined(", ", select),
            table=table.relation,
            joins=joined(" ", joins),
        )
        names = [plain(name) for name in self._names()]
        if coding.bound == "drop":
            query = self._bounded(query, names)
        stored = [
            sql("{half} AS {name}", half=dialect.stored_half(name), name=name)
            if name in ("k_lo", "k_hi")
            else name
            for name in names
        ]
        return sql("SELECT {stored} FROM ({query}) q", stored=joined(", ", stored), query=query)

    def _bounded(self, query: Sql, names: list[Sql]) -> Sql:
        dialect = self._dialect
        every = joined(", ", names)
        casts = (sql("CAST({n} AS {text})", n=name, text=dialect.text_type) for name in names)
        codes = joined(" || ',' || ", casts)
        numbered = sql(
            "SELECT {every}, {codes} AS codes, row_number() OVER (PARTITION BY {every} ORDER BY 1) "
            "AS copy FROM ({query}) a WHERE k_lo IS NOT NULL",
            every=every,
            codes=codes,
            query=query,
        )
        order = dialect.hash_order(
            sql(
                "(codes || CASE WHEN copy > 1 THEN ',' || CAST(copy AS {text}) ELSE '' END)",
                text=dialect.text_type,
            )
        )
        return sql(
            "SELECT {every} FROM (SELECT {every}, row_number() OVER (PARTITION BY k_hi, k_lo "
            "ORDER BY {order}) AS place FROM ({numbered}) b) c WHERE place <= {most}",
            every=every,
            order=order,
            numbered=numbered,
            most=self._coding.description.records_per_unit,
        )


def _coded_fingerprint(
    session: Session, dialect: Dialect, relation: Sql, names: list[str]
) -> Fingerprint:
    """Of a coded table; a code that is not there means that the source changed under us."""
    parts = [
        sql(
            "CAST({of} AS {text})",
            of=dialect.kept_half(plain(name)) if name in ("k_lo", "k_hi") else plain(name),
            text=dialect.text_type,
        )
        for name in names
    ]
    hash_low, hash_high = dialect.text_halves(sql("t"))
    found = session.fetch(
        sql(
            "SELECT count(*) AS n, count(t) AS whole, {low} AS a, {high} AS b, "
            "CAST(coalesce(sum({hash_low}), 0) AS BIGINT) AS c, "
            "CAST(coalesce(sum({hash_high}), 0) AS BIGINT) AS d "
            "FROM (SELECT k_lo, k_hi, {text} AS t FROM {relation}) r",
            low=dialect.half_sum(plain("k_lo")),
            high=dialect.half_sum(plain("k_hi")),
            hash_low=hash_low,
            hash_high=hash_high,
            text=joined(" || ',' || ", parts),
            relation=relation,
        )
    ).to_pylist()[0]
    if found["n"] != found["whole"]:
        raise DataError("The table changed while it was read. Load again when it is at rest.")
    return Fingerprint(*(int(found[name] or 0) for name in ("n", "a", "b", "c", "d")))


def _number(session: Session, of: Sql) -> int:
    return int(session.fetch(sql("SELECT count(*) AS n FROM {of}", of=of))["n"][0].as_py())


def _changed(table: RemoteTable) -> DataError:
    return DataError(f"{table.known} changed while it was read. Load again when it is at rest.")
