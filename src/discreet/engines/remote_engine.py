"""Counting where the records are: one engine for every server that has a dialect.

A *coded* table is counted as on DuckDB, by one GROUP BY of addresses. A table that is only *read* is
grouped by its raw texts, and the groups are coded here. Each call is one snapshot, in which the number
of records and the sums of their keys are held against those of the load: what changed is not
counted, then or later, and whoever asked learns only that it is unavailable.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..core.control import Control
from ..core.description import Description
from ..core.domain import Condition, Count, Domain, Level
from ..core.table import TrueTable
from ..core.true_values import Cells, Counts, seal
from ..durable import own_file
from ..errors import EngineError, InputError, did_you_mean
from ..file_names import CHANGED
from .background import in_background
from .coded_file import column, places
from .database import Database, Session
from .fingerprint import Fingerprint
from .lost import retried
from .place_maps import column_kind
from .projection import Projections, domain_of, summed
from .record_sql import KeyColumn, WeightColumn
from .remote_version import RemoteVersion
from .servers import open_database
from .sql import Sql, joined, plain, sql

UNAVAILABLE = "The data set is unavailable. Its custodian learns why from `discreet check`."
_INT32_CELLS = 1 << 31
Counting = Callable[[], dict[int, Cells]]


class RemoteEngine:
    """Counts records on a server. Safe to share between threads."""

    def __init__(
        self, folder: Path, description: Description, database: Database, salt: bytes = b""
    ) -> None:
        self._folder, self._description, self._database = folder, description, database
        self._version = RemoteVersion.read(folder)
        self._places = places(self._version.about, folder.name, description)
        self._salt = salt
        self.name = database.name

    def __repr__(self) -> str:
        return f"<engine on {self.name} of {self._description.name}>"

    def count(
        self,
        counts: Sequence[Count],
        *,
        keys: bool = False,
        weights: bool = False,
        control: Control | None = None,
    ) -> list[TrueTable]:
        """A true table for each count, in order; only non-empty cells are held."""
        if weights and self._version.about["weight_scale"] is None:
            raise InputError(
                f"{self._description.name} has no weights. Ask for counts, or declare a weight."
            )
        if control is not None:
            control.step(0.0, "counting")
        domains = [domain_of(count, self._description) for count in counts]
        wheres = [[self._wanted(condition) for condition in count.where] for count in counts]
        projection = Projections(counts, domains)
        read = [i for i in projection.order if projection.source[i] is None]
        cells = self._hiding_why(
            lambda: self._read(counts, domains, wheres, read, weights, control)
        )
        for i in projection.order:
            source = projection.source[i]
            if source is not None:
                cells[i] = projection.project(cells[source], i)
        return [seal(domain, _asked(cells[i], keys)) for i, domain in enumerate(domains)]

    def _read(
        self,
        counts: Sequence[Count],
        domains: Sequence[Domain],
        wheres: Sequence[Sequence[frozenset[int]]],
        read: Sequence[int],
        weights: bool,
        control: Control | None,
    ) -> dict[int, Cells]:
        """The cells of those counts that are read, from one snapshot."""

        def once() -> dict[int, Cells]:
            with self._database.session(control=control) as session:

                def work() -> dict[int, Cells]:
                    reader = _Reader(self._version, self._description, self._places, session, self._database, self._salt)  # fmt: skip
                    found = {
                        i: reader.cells(counts[i], domains[i], wheres[i], weights)
                        for i in sorted(read, key=lambda i: not counts[i].where)
                    }
                    # whole counts come last and are all looked at: Spark has no snapshots
                    whole = [_total(found[i]) for i in read if not counts[i].where]
                    for seen in whole or [reader.fingerprint()]:
                        if not seen.same_records(self._version.fingerprint):
                            raise _Changed
                    return found

                return in_background(work, session.cancel, control, "counting")

        self.check_served()
        try:
            return retried(once)
        except _Changed:
            with contextlib.suppress(OSError):
                own_file(self._folder / CHANGED)
            raise EngineError(UNAVAILABLE) from None

    def check_served(self) -> None:
        """Records that were found changed are not counted, nor is what was counted before told."""
        if (self._folder / CHANGED).exists():
            raise EngineError(UNAVAILABLE)

    def check(self, control: Control | None = None) -> None:
        """Count all records once; whatever stands in the way is told, to the custodian only."""
        every = Count(())
        self._read([every], [domain_of(every, self._description)], [[]], [0], False, control)

    def _hiding_why(self, counting: Counting) -> dict[int, Cells]:
        try:
            return counting()
        except (InputError, EngineError):  # rights, table or server are gone, said with its address
            raise EngineError(UNAVAILABLE) from None

    def _wanted(self, condition: Condition) -> frozenset[int]:
        """The places that a condition lets pass, at its level."""
        level = self._description.variable(condition.variable).level(condition.level)
        for code in condition.codes:
            if code not in level.index:
                raise InputError(
                    f"{condition.variable} has no category {code!r}."
                    f"{did_you_mean(code, level.codes)}"
                )
        return frozenset(level.index[code] for code in condition.codes)

    def close(self) -> None:
        """Let go of connections."""
        self._database.close()


class _Changed(Exception):
    """The records are not those that were loaded."""


class _Reader:
    """Reads the cells of counts within one snapshot."""

    def __init__(
        self,
        version: RemoteVersion,
        description: Description,
        places: dict[tuple[str, str], tuple[int, int]],
        session: Session,
        database: Database,
        salt: bytes,
    ) -> None:
        self._version, self._description, self._places = version, description, places
        self._session, self._dialect = session, database.dialect
        self._key: KeyColumn | None = None
        if version.coded:
            self._relation = session.coded(version.coded)
        else:
            assert version.id is not None
            table = session.table(version.source)
            for one in version.maps.values():
                column_kind(table, one.column)  # one that is gone is told, whoever asks for it
            self._relation = table.relation
            self._key = KeyColumn(*version.id, session.salt(salt))

    def cells(
        self, count: Count, domain: Domain, where: Sequence[frozenset[int]], weights: bool
    ) -> Cells:
        """The non-empty cells of a count, with their keys."""
        read = self._coded if self._version.coded else self._grouped
        return read(count, domain, where, weights)

    def fingerprint(self) -> Fingerprint:
        """Number of records and key sums of the whole table."""
        found = self._session.fetch(
            sql(
                "SELECT count(*) AS n, {low} AS lo, {high} AS hi FROM {of}",
                low=self._low(),
                high=self._high(),
                of=self._records([], False),
            )
        )
        numbers = (found[name][0].as_py() for name in ("n", "lo", "hi"))
        return Fingerprint(*(int(number or 0) for number in numbers))

    def _low(self) -> Sql:
        return self._sum("k_lo")

    def _high(self) -> Sql:
        return self._sum("k_hi")

    def _sum(self, name: str) -> Sql:
        if self._version.coded:
            return self._dialect.half_sum(plain(name))
        return sql("CAST(sum({x}) AS BIGINT)", x=plain(name))

    def _records(self, texts: Sequence[Sql], weights: bool, where: Sql | None = None) -> Sql:
        """The records: a coded table as it is, another with keys made on the way."""
        if self._key is None:
            return self._relation
        low, high = self._key.halves(self._dialect)
        select = [*texts, sql("{x} AS k_lo", x=low), sql("{x} AS k_hi", x=high)]
        if weights and self._version.weight is not None:
            units = WeightColumn(*self._version.weight).units(self._dialect)
            select.append(sql("{x} AS w", x=units))
        return sql(
            "(SELECT {select} FROM {of} s{where}) r",
            select=joined(", ", select),
            of=self._relation,
            where=where or sql(""),
        )

    def _sums(self, weights: bool) -> Sql:
        sums = sql("count(*) AS n, {low} AS lo, {high} AS hi", low=self._low(), high=self._high())
        if weights:
            sums = sql("{sums}, CAST(sum(w) AS BIGINT) AS w, count(w) AS nw", sums=sums)
        return sums

    def _coded(
        self, count: Count, domain: Domain, where: Sequence[frozenset[int]], weights: bool
    ) -> Cells:
        kind = sql("INTEGER") if domain.size < _INT32_CELLS else sql("BIGINT")
        parts = [
            sql("CAST({v} AS {kind}) * {stride}", v=self._column(ref.variable, ref.level), kind=kind, stride=stride)
            for ref, stride in zip(count.axes, domain.strides, strict=True)
        ]  # fmt: skip
        tests = [
            sql(
                "{v} IN ({places})",
                v=self._column(condition.variable, condition.level),
                places=joined(", ", sorted(wanted)),
            )
            if wanted
            else sql("1 = 0")
            for condition, wanted in zip(count.where, where, strict=True)
        ]
        address = joined(" + ", parts or [0])
        found = self._session.fetch(
            sql(
                "SELECT {address} AS a, {sums} FROM {of}{where}{end}",
                address=address,
                sums=self._sums(weights),
                of=self._relation,
                where=_where(tests),
                end=sql(" GROUP BY {a}", a=address) if parts else sql(" HAVING count(*) > 0"),
            )
        )
        return _cells(found, _whole(found, "a") if len(found) else np.zeros(0, dtype=np.int64))

    def _column(self, variable: str, level: str) -> Sql:
        return plain(column(self._places[variable, level]))

    def _grouped(
        self, count: Count, domain: Domain, where: Sequence[frozenset[int]], weights: bool
    ) -> Cells:
        texts, names = [], []
        for i, ref in enumerate(count.axes):
            text = self._text(ref.variable)
            texts.append(sql("{text} AS t{i}", text=text, i=i))
            names.append(sql("t{i}", i=i))
        tests = [
            self._passing(condition, wanted)
            for condition, wanted in zip(count.where, where, strict=True)
        ]
        found = self._session.fetch(
            sql(
                "SELECT {names}{sums} FROM {of}{end}",
                names=joined("", (sql("{n}, ", n=name) for name in names)),
                sums=self._sums(weights),
                of=self._records(texts, weights, _where(tests)),
                end=sql(" GROUP BY {names}", names=joined(", ", names))
                if names
                else sql(" HAVING count(*) > 0"),
            )
        )
        addresses = np.zeros(len(found), dtype=np.int64)
        for i, (ref, stride) in enumerate(zip(count.axes, domain.strides, strict=True)):
            level = self._description.variable(ref.variable).level(ref.level)
            addresses += self._coded_texts(found, f"t{i}", ref.variable, level) * stride
        return summed(addresses, domain.size, _cells(found, addresses))

    def _text(self, variable: str) -> Sql:
        own = self._dialect.identifier(self._version.maps[variable].column)
        return self._dialect.text(sql("s.{own}", own=own))

    def _passing(self, condition: Condition, wanted: frozenset[int]) -> Sql:
        """Whether a record's text is one of those whose place passes."""
        level = self._description.variable(condition.variable).level(condition.level)
        map_ = self._version.maps[condition.variable]
        texts = [text for text, place in map_.places.items() if level.of_finest[place] in wanted]
        listed = [self._dialect.literal(text) for text in texts if text is not None]
        text = self._text(condition.variable)
        tests = [sql("{text} IN ({list})", text=text, list=joined(", ", listed))] if listed else []
        tests += [sql("{text} IS NULL", text=text)] if None in texts else []
        return sql("({any})", any=joined(" OR ", tests)) if tests else sql("1 = 0")

    def _coded_texts(self, found: pa.Table, name: str, variable: str, level: Level) -> Counts:
        """The places of a column of texts; one that the load did not see means a change."""
        if not len(found):
            return np.zeros(0, dtype=np.int64)
        known = self._version.maps[variable].places
        texts = found[name].cast(pa.string()).combine_chunks()
        coded = texts.dictionary_encode(null_encoding="encode")
        if isinstance(coded, pa.ChunkedArray):
            coded = coded.combine_chunks()
        try:
            of = [level.of_finest[known[text]] for text in coded.dictionary.to_pylist()]
        except KeyError:
            raise _Changed from None
        places: Counts = np.asarray(of, dtype=np.int64)
        indices: Counts = coded.indices.to_numpy()
        return places[indices]


def _where(tests: Sequence[Sql]) -> Sql:
    return sql(" WHERE {all}", all=joined(" AND ", tests)) if tests else sql("")


def _cells(found: pa.Table, addresses: Counts) -> Cells:
    counts, low, high = (_whole(found, name) for name in ("n", "lo", "hi"))
    weights = None
    if "w" in found.column_names:
        if not np.array_equal(_whole(found, "nw"), counts):
            raise _Changed  # a record without a weight, which the load did not let pass
        weights = _whole(found, "w")
    return Cells(addresses, counts, low, high, weights)


def _whole(found: pa.Table, name: str) -> Counts:
    """A column of whole numbers; nothing else comes from an engine."""
    values = found[name]
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    if values.null_count or not pa.types.is_integer(values.type):
        raise EngineError("The engine returned numbers that are not whole.")
    return np.ascontiguousarray(values.cast(pa.int64()).to_numpy(), dtype=np.int64)


def _total(cells: Cells) -> Fingerprint:
    """Number of records and key sums of a count of all records."""
    assert cells.key_low is not None
    assert cells.key_high is not None
    sums = (cells.counts, cells.key_low, cells.key_high)
    return Fingerprint(*(int(part.sum()) for part in sums))


def _asked(cells: Cells, keys: bool) -> Cells:
    if keys:
        return cells
    return Cells(cells.addresses, cells.counts, weights=cells.weights)


def open_remote(
    folder: Path, description: Description, salt: bytes, secret: str = ""
) -> RemoteEngine:
    """The engine of a version whose records are on a server."""
    source = RemoteVersion.read(folder).source.opened_with(secret)
    return RemoteEngine(folder, description, open_database(source), salt)
