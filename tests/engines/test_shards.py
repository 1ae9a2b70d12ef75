"""Shards: one version in several files, each counted by a process of its own; cells add up exactly."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

import discreet as dc
from discreet.core.control import Control
from discreet.core.domain import AxisRef, Count, variable
from discreet.engines.duckdb import sharded_engine, shards
from discreet.engines.duckdb.engine import open_engine as open_whole
from discreet.engines.duckdb.loading import load
from discreet.engines.duckdb.sharded_engine import ShardedEngine, added, open_engine
from discreet.engines.opening import open_engine as open_any
from discreet.errors import Cancelled, DataError, EngineError, InputError, StoreError
from discreet.workspace import DataSet, init
from discreet.workspace import load as load_version
from discreet.workspace.unit_choice import UnitChoice

from ..patience import wait_until
from .people import SALT, People, coding_of, towns, values

BOTH = Count((AxisRef("town", "town"), AxisRef("age", "age")))


def own_processes() -> list[psutil.Process]:
    """The processes of shards that this one started."""
    return [
        child
        for child in psutil.Process().children()
        if any("shard_worker" in word for word in child.cmdline())
    ]


@pytest.mark.parametrize("number", [2, 5])
def test_every_unit_lies_in_one_shard(tmp_path: Path, number: int) -> None:
    """All records are there once, those of a unit together, and the cells are those of the whole."""
    people = People((variable("town", ["a", "b", "c"]),), [(i % 3,) for i in range(300)])
    people_of_40 = tmp_path / "people.csv"
    source = people.write(people_of_40)
    lines = people_of_40.read_text().splitlines()
    of_units = [f"u{i % 40}," + line.partition(",")[2] for i, line in enumerate(lines[1:])]
    people_of_40.write_text("\n".join([lines[0], *of_units]) + "\n")
    described = replace(people.description, records_per_unit=8)
    coding = replace(people.coding, description=described)
    load(source, coding, tmp_path / "whole")
    load(replace(source, shards=number), coding, tmp_path / "divided")
    files = shards.shard_files(tmp_path / "divided")
    assert len(files) == number
    import duckdb

    keys = []
    for path in files:
        with duckdb.connect(str(path), read_only=True) as connection:
            rows = connection.execute("SELECT k_lo, k_hi, count(*) FROM records GROUP BY ALL")
            keys.append({(low, high): times for low, high, times in rows.fetchall()})
    assert sum(len(one) for one in keys) == len(set().union(*keys)) == 40
    assert sum(sum(one.values()) for one in keys) == 300
    count = Count((AxisRef("town", "town"),))
    found = []
    for name in ("whole", "divided"):
        engine = open_any(tmp_path / name, described)
        found.append(values(engine.count([count], keys=True)[0]))
        engine.close()
    assert found[0] == found[1]


def test_a_lost_process_is_started_again_and_then_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between two counts: the next one is right. Killed twice: one sentence, and no more."""
    people = towns()
    engine = people.sharded(tmp_path)
    (before,) = engine.count([BOTH], keys=True)
    for process in own_processes():
        process.kill()
    (after,) = engine.count([BOTH], keys=True)
    assert (
        values(before) == values(after) == {a: v[:3] for a, v in people.brute_force(BOTH).items()}
    )
    real = sharded_engine._Worker.ask

    def killed(self: sharded_engine._Worker, statement: str) -> None:
        real(self, statement)
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    monkeypatch.setattr(sharded_engine._Worker, "ask", killed)
    monkeypatch.setattr(sharded_engine._Worker, "answer", _cut_off(sharded_engine._Worker.answer))
    with pytest.raises(EngineError, match="was lost, twice"):
        engine.count([BOTH], keys=True)
    monkeypatch.undo()
    assert values(engine.count([BOTH], keys=True)[0]) == values(before)
    engine.close()
    assert own_processes() == []
    with pytest.raises(EngineError, match="closed"):
        engine.count([BOTH])


def _cut_off(real):  # type: ignore[no-untyped-def]
    """Whatever a killed process had written is thrown away, as when it dies in the middle."""

    def answer(self):  # type: ignore[no-untyped-def]
        self._out.read()
        return real(self)

    return answer


def test_a_stop_ends_the_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count that is given up is given up in all processes; the next one is whole."""
    engine = towns().sharded(tmp_path)
    (before,) = engine.count([BOTH], keys=True)
    statement = engine._statement

    def endless(*args):  # type: ignore[no-untyped-def]
        statement(*args)
        return "SELECT count(*) AS a, count(*) AS n FROM range(1000000) x, range(1000000) y"

    monkeypatch.setattr(engine, "_statement", endless)
    asked = iter(range(10**9))
    with pytest.raises(Cancelled):
        engine.count([BOTH], control=Control(cancelled=lambda: next(asked) > 10))
    wait_until(lambda: own_processes() == [], "the processes to end")
    monkeypatch.undo()
    assert values(engine.count([BOTH], keys=True)[0]) == values(before)
    engine.close()


def test_shards_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    """One missing, one of another division, one that is no file of ours, the first alone."""
    people = towns()
    people.sharded(tmp_path / "three").close()
    people.sharded(tmp_path / "two", 2).close()
    version = tmp_path / "three" / "version"
    kept = {path.name: path.read_bytes() for path in version.iterdir()}
    other = (tmp_path / "two" / "version" / "shard-001.duckdb").read_bytes()
    for name, content, words in (
        ("shard-001.duckdb", None, "holds no|missing"),
        ("shard-002.duckdb", None, "do not belong together"),
        ("shard-001.duckdb", other, "do not belong together"),
        ("shard-001.duckdb", b"no database", "do not belong together"),
    ):
        path = version / name
        path.unlink() if content is None else path.write_bytes(content)
        with pytest.raises(EngineError, match=words):
            _counted(version, people)
        for each, body in kept.items():
            (version / each).write_bytes(body)
    with pytest.raises(EngineError, match="missing"):
        open_whole(version, people.description)


def _counted(version: Path, people: People) -> None:
    engine = open_any(version, people.description)
    try:
        engine.count([BOTH])
    finally:
        engine.close()


def test_sums_past_64_bits(tmp_path: Path) -> None:
    """Key sums of more than 2^31 records go round at 2^64, as cell keys take them; weights never do."""
    domain = towns().description.domain((AxisRef("sex", "sex"),))
    large = (1 << 63) - 5
    part = {name: np.array([value], dtype=np.int64) for name, value in
            {"a": 1, "n": 7, "lo": large, "hi": large, "w": 3}.items()}  # fmt: skip
    cells = added([part, part, part], domain)
    assert cells.key_low is not None
    assert int(cells.key_low.view(np.uint64)[0]) == 3 * large % (1 << 64)
    assert (cells.counts.tolist(), cells.weights.tolist()) == ([21], [9])  # type: ignore[union-attr]
    heavy = {**part, "w": np.array([1 << 62], dtype=np.int64)}
    with pytest.raises(EngineError, match="too large for 64 bits"):
        added([heavy, heavy], domain)


def test_the_most_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards hold more than one file may; a shard never does, nor more keys than add up to 2^64."""
    assert shards.most_records(3, own_keys=False) == 3 * ((1 << 31) - 1)
    assert shards.most_records(3, own_keys=True) == (1 << 32) - 1
    people = towns()
    source = people.write(tmp_path / "people.csv")
    records = len(people.rows)
    monkeypatch.setattr(shards, "MOST_RECORDS", records // 2)
    with pytest.raises(DataError, match="divide them into more"):
        load(source, people.coding, tmp_path / "one")
    load(replace(source, shards=6), people.coding, tmp_path / "six")
    monkeypatch.setattr(shards, "MOST_RECORDS", -(-records // 6))
    with pytest.raises(DataError, match="A shard would have more"):
        load(replace(source, shards=6), people.coding, tmp_path / "three")
    assert list((tmp_path / "three").iterdir()) == []


def csv_of_people(path: Path) -> None:
    lines = [f"p{i},T{i % 7},{'fm'[i % 2]},{i % 5}" for i in range(2000)]
    path.write_text("\n".join(["id,town,sex,age", *lines]) + "\n")


def test_a_data_set_in_shards_is_the_same_data_set(tmp_path: Path) -> None:
    """`shards: 3` in discreet.yaml: the same version, the same file byte for byte; damage is found."""
    csv_of_people(tmp_path / "people.csv")
    folder = tmp_path / "data"
    init(str(tmp_path / "people.csv"), folder, unit=UnitChoice("person", "id"))

    def released() -> tuple[bytes, str]:
        with dc.open(folder) as data:
            rows = list(data.variables)[:2]
            path = tmp_path / "table.csv"
            data.table(rows=rows[:1], columns=rows[1:]).release().write(path)
        with DataSet.open(folder) as data:
            return path.read_bytes(), data.manifest.data_version

    whole = released()
    described = folder / "discreet.yaml"
    text = described.read_text()
    line = next(line for line in text.splitlines() if line.strip().startswith("file:"))
    described.write_text(text.replace(line, line + "\n  shards: 3"))
    again = load_version(folder)
    assert not again.unchanged
    assert len(again.manifest.shards) == 2
    assert load_version(folder).unchanged
    with DataSet.open(folder) as data:
        assert isinstance(data.engine(), ShardedEngine)
    assert released() == whole
    described.write_text(text)
    assert load_version(folder).unchanged  # the whole one is there still
    assert released() == whole
    described.write_text(text.replace(line, line + "\n  shards: 65"))
    with pytest.raises(InputError, match="from 1 to 64"):
        load_version(folder)
    described.write_text(text.replace(line, line + "\n  shards: 3"))
    load_version(folder)
    shard = again.version / "shard-002.duckdb"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(StoreError, match="shard of version"):
        DataSet.open(folder)
    shard.unlink()
    with pytest.raises(StoreError, match="shard of version"):
        DataSet.open(folder)


def test_drawn_keys_and_many_threads(tmp_path: Path) -> None:
    """Records without an id are divided by their drawn keys; threads ask at once."""
    from concurrent.futures import ThreadPoolExecutor

    people = towns()
    source = replace(people.write(tmp_path / "people.csv"), shards=4)
    coding = coding_of(
        tuple((v, people.coding.columns[v.name]) for v in people.variables), salt=SALT
    )
    load(source, coding, tmp_path / "v")
    engine = open_engine(tmp_path / "v", coding.description)
    wanted = {a: v[:1] for a, v in people.brute_force(BOTH).items()}
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: values(engine.count([BOTH])[0]), range(8)))
    assert found == [wanted] * 8
    engine.close()
