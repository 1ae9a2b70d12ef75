"""Loading: a source becomes one table of small integers, once.

`load` writes `data.duckdb` into a new folder: for variable i the finest level's index as column
`vi` and coarser level j as `vi_j`, record keys as `k_lo` and `k_hi`, the weight in whole units as
`w`; beside it the same as arrays (`memory/arrays.py`). Every value is looked at: a code outside the declared ones, a missing value without a place, a
child with two parents, a unit with too many records or a weight that is not exact stops the load
with one sentence. What loading counted is for the custodian only.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from ...core.control import Control
from ...durable import OWN_FOLDER, owner_only, sync_file, sync_folder
from ...errors import Cancelled, DataError, StoreError
from ...file_names import ARRAYS, DATA
from ..coded_file import about
from ..coding import Coding, LoadReport, Source
from ..fingerprint import Fingerprint
from ..memory.arrays import MOST_BYTES, room_for
from ..memory.arrays import write as write_arrays
from ..sql import joined, plain, sql
from .code_maps import dictionary
from .joins import forget, with_maps
from .keys import drawn_keys, own_key
from .reading import Wanted
from .relation import Opened
from .scratch import SPILL, scratch_connection
from .shards import most_records, shard_file, split
from .sources import opened
from .statements import Runner, sentence
from .units import bound
from .weights import weight_sql

_BATCH = 100_000
_MOST_SUM = (1 << 63) - 1
_TYPES: dict[str, np.dtype[Any]] = {
    "UTINYINT": np.dtype(np.uint8),
    "USMALLINT": np.dtype(np.uint16),
    "UINTEGER": np.dtype(np.uint32),
    "BIGINT": np.dtype(np.int64),
}
"""What the columns of records are made of, as arrays."""


def load(
    source: Source, coding: Coding, target: Path, control: Control | None = None
) -> LoadReport:
    """Code a source into `target`, a new empty folder; on any failure nothing is left in it."""
    started = time.monotonic()
    control = control or Control()
    file = target / DATA
    try:
        target.mkdir(parents=True, exist_ok=True, mode=OWN_FOLDER)
        if any(target.iterdir()):
            raise StoreError(f"{target.name} is not empty; a version is loaded into a new folder.")
        file.touch(mode=0o600)
        file.unlink()
    except OSError:
        raise StoreError(
            f"{target.name} cannot be written to. Give write access to the folder and load again."
        ) from None
    done = False
    try:
        with owner_only():
            report = _load(source, coding, target, control)
        for number in range(source.shards):
            sync_file(shard_file(target, number))
        sync_folder(file.parent)
        done = True
    except KeyboardInterrupt:
        raise Cancelled("Stopped while loading; nothing was lost.") from None
    except (OSError, duckdb.Error) as error:
        raise sentence(error, source.name, target.name) from None
    finally:
        for scratch in (SPILL, "scratch"):
            shutil.rmtree(target / scratch, ignore_errors=True)
        if not done:
            for left in (*target.glob("*.duckdb"), *target.glob("*.wal"), target / ARRAYS):
                left.unlink(missing_ok=True)
    return replace(report, seconds=time.monotonic() - started)


def _load(source: Source, coding: Coding, target: Path, control: Control) -> LoadReport:
    whole = target / SPILL / DATA if source.shards > 1 else target / DATA
    connection = scratch_connection(whole, target)
    runner = Runner(connection, source.name, target, control)
    try:
        wanted = Wanted(lambda _: coding.value_columns, coding.id_column, coding.salt)
        with opened(runner, source, target, wanted) as relation:
            records, other, missing = _code(runner, relation, coding)
        dropped = bound(runner, relation, coding) if coding.id_column else 0
        said = about(coding, records - dropped)
        if source.shards > 1:
            split(runner, said, target, source.shards)
        else:
            text = json.dumps(said, ensure_ascii=False)
            runner.run(
                "CREATE TABLE about AS SELECT $text AS about", {"text": text}, doing="writing"
            )
            runner.run("CHECKPOINT", doing="writing")
            _write_arrays(runner, said, target / ARRAYS)
        found = _fingerprint(runner, said) if source.address else ""
    except BaseException:
        # Closing would write out a version nobody wants; an error here must not hide the cause.
        with contextlib.suppress(duckdb.Error):
            connection.close()
        raise
    connection.close()
    return LoadReport(records - dropped, dropped, other, missing, fingerprint=found)


def _code(
    runner: Runner, relation: Opened, coding: Coding
) -> tuple[int, dict[str, int], dict[str, int]]:
    """Write the table `records`; how many, and how many values went to other and to missing."""
    for column in coding.source_columns:
        relation.raw(column)
    records = relation.counted(runner)
    most = most_records(relation.source.shards, coding.key_column is not None)
    if records > most:
        raise DataError(
            f"{relation.source.name} has {records:,} records, most is {most:,}. Load a part, or "
            "divide them into more `shards`."
        )
    other: dict[str, int] = {}
    missing: dict[str, int] = {}
    for i, variable in enumerate(coding.variables):
        columns, share = coding.columns[variable.name], 0.1 + 0.3 * i / len(coding.variables)
        counts = dictionary(runner, relation, i, variable, columns, share)
        other[variable.name], missing[variable.name] = counts
    mapped = with_maps(runner, relation, coding)
    select = list(mapped.columns)
    if weight := coding.description.weight:
        units = weight_sql(runner, relation, weight, coding.weight_mark)
        select.append(sql("{of} AS w", of=units))
    with contextlib.ExitStack() as stack:
        unit = sql("s.u") if coding.id_column else None
        if coding.key_column:
            key = own_key(runner, relation, coding.key_column)
            if unit is not None:
                select.append(sql("{of} AS u", of=unit))
        else:
            key = unit or stack.enter_context(drawn_keys(runner.connection))
        select.append(sql("{of} AS k", of=key))
        runner.run(
            sql(
                "CREATE TABLE records AS SELECT * EXCLUDE (k), "
                "CAST(k & 4294967295 AS UINTEGER) AS k_lo, CAST(k >> 32 AS UINTEGER) AS k_hi FROM "
                "(SELECT {columns} FROM {source} s {joins})",
                columns=joined(", ", select),
                source=mapped.source,
                joins=mapped.joins,
            ),
            mapped.parameters,
            doing="coding",
            share=(0.4, 0.95),
            records=records,
        )
    forget(runner, coding)
    ((coded,),) = runner.run("SELECT count(*) FROM records", doing="counting records")
    if coded != records:
        raise DataError(
            f"{relation.source.name} changed while it was read. Load again when it is at rest."
        )
    return records, _above_zero(other), _above_zero(missing)


def _fingerprint(runner: Runner, said: dict[str, Any]) -> str:
    """The digest of what was coded; drawn keys are no part of it."""
    names = [str(row[0]) for row in runner.run("DESCRIBE records", doing="writing")]
    drawn = said["keys"] == "drawn"
    hashed = [plain(name) for name in names if not (drawn and name in ("k_lo", "k_hi"))]
    keys = sql("0, 0") if drawn else sql("sum(k_lo)::HUGEINT, sum(k_hi)::HUGEINT")
    ((records, *sums),) = runner.run(
        sql(
            "SELECT count(*), {keys}, sum(CAST('0x' || substr(h, 9, 8) AS UINTEGER))::HUGEINT, "
            "sum(CAST('0x' || substr(h, 1, 8) AS UINTEGER))::HUGEINT FROM "
            "(SELECT k_lo, k_hi, sha256(concat_ws(',', {names})) AS h FROM records)",
            keys=keys,
            names=joined(", ", hashed),
        ),
        doing="making sure of the records",
        share=(0.95, 0.98),
    )
    return Fingerprint(int(records), *(int(one or 0) for one in sums)).digest()


def _above_zero(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _write_arrays(runner: Runner, said: dict[str, Any], path: Path) -> None:
    """The same records as arrays, where there is memory for them and their sums fit 64 bits."""
    records = int(said["records"])
    described = runner.run("DESCRIBE records", doing="writing")
    types = {row[0]: _TYPES[row[1]] for row in described}
    if "w" in types:
        ((low, high),) = runner.run("SELECT min(w), max(w) FROM records", doing="writing")
        if max(abs(low or 0), abs(high or 0)) * records > _MOST_SUM:
            del types["w"]
    if not records or room_for(types, records) > MOST_BYTES:
        return
    names = joined(", ", (plain(name) for name in types))
    reader = runner.connection.sql(sql("SELECT {names} FROM records", names=names)).to_arrow_reader(
        _BATCH
    )
    batches = (
        {name: batch.column(name).to_numpy(zero_copy_only=False) for name in types}
        for batch in reader
    )
    write_arrays(path, said, types, batches)
