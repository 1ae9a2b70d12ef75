"""Shards: the records of one version in several files, divided by their keys.

`data.duckdb` is the first, `shard-001.duckdb` the next. Each says which of how many it is, so that
one that is missing, or of another version, is found out before anything is counted.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...errors import DataError, EngineError
from ...file_names import DATA, SHARD
from ..coding import MOST_RECORDS
from ..sql import sql
from .quoting import literal
from .statements import Runner

_MOST_OWN_KEYS = (1 << 32) - 1
"""So many keys below 2^32 of the custodian's own add up to less than 2^64."""


def shard_file(folder: Path, number: int) -> Path:
    """The file of a shard."""
    return folder / (SHARD.replace("NNN", f"{number:03d}") if number else DATA)


def shard_files(folder: Path) -> list[Path]:
    """The files of all shards of a version, in order; of one that has none, its only file."""
    files = [folder / DATA]
    while (further := shard_file(folder, len(files))).is_file():
        files.append(further)
    if len(files) - 1 != len(list(folder.glob(SHARD.replace("NNN", "*")))):
        raise EngineError(
            f"A shard of version {folder.name} is missing. Restore the version from a backup, or load "
            "again."
        )
    return files


def most_records(shards: int, own_keys: bool) -> int:
    """How many records a version in so many shards may have."""
    most = MOST_RECORDS * shards
    return min(most, _MOST_OWN_KEYS) if own_keys else most


def split(runner: Runner, said: dict[str, Any], target: Path, shards: int) -> None:
    """Divide the table `records` of a load: a unit's records all go to the shard of its key."""
    for number in range(shards):
        share = 0.95 + 0.03 * number / shards
        file = literal(str(shard_file(target, number).absolute()))
        runner.run(sql("ATTACH {file} AS shard", file=file), doing="dividing")
        runner.run(
            sql(
                "CREATE TABLE shard.records AS SELECT * FROM records WHERE k_lo % {of} = {number}",
                of=shards,
                number=number,
            ),
            doing="dividing",
            share=(share, share),
        )
        ((records,),) = runner.run("SELECT count(*) FROM shard.records", doing="dividing")
        if records > MOST_RECORDS:
            raise DataError(
                f"A shard would have more than {MOST_RECORDS:,} records. Write a larger number of "
                "`shards`."
            )
        text = json.dumps(
            {**said, "records": records, "shard": [number, shards]}, ensure_ascii=False
        )
        runner.run(
            "CREATE TABLE shard.about AS SELECT $text AS about", {"text": text}, doing="dividing"
        )
        runner.run("CHECKPOINT shard", doing="dividing")
        runner.run("DETACH shard", doing="dividing")
