"""Records as arrays: counted as from disk, and never from a file that is not as it was written."""

from __future__ import annotations

import itertools
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from discreet.core.control import Control
from discreet.core.domain import AxisRef, Condition, Count, variable
from discreet.engines.base import Engine
from discreet.engines.memory import adding, arrays, engine
from discreet.engines.memory.arrays import Arrays
from discreet.engines.opening import open_engine
from discreet.errors import Cancelled, EngineError
from discreet.file_names import ARRAYS

from .people import People, towns, values


def many(records: int = 3_000) -> People:
    """Enough records for several rounds where few are looked at together."""
    draw = np.random.default_rng(7)
    sides = (variable("a", "abcdefg"), variable("b", [f"{i}" for i in range(300)]))
    rows = [(int(draw.integers(7)), int(draw.integers(300) ** 2 // 300)) for _ in range(records)]
    return People(sides, rows, [int(draw.integers(0, 10**6)) for _ in range(records)])


WAYS = [(way, at_once) for way in ("numpy", "sparse") for at_once in (1, 7, 1_000, 2_999, 10_000)]


def test_each_way_to_add_is_brute_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy's and scipy's sums, one thread's and five threads', with filters as axes and apart."""
    people = many()
    opened = people.memory(tmp_path)
    assert isinstance(opened, engine.MemoryEngine)
    assert adding.sparse_product() is not None, "this scipy has its product elsewhere"
    opened._threads = 5
    monkeypatch.setattr(engine, "_WORTH_A_THREAD", 1)
    axes = (AxisRef("b", "b"), AxisRef("a", "a"))
    where = (Condition("a", "a", ("a", "c", "g")), Condition("b", "b", ("0", "7", "299")))
    asked = [Count(axes), Count(axes[1:]), Count((), where), Count(axes[1:], where)]
    right = [people.brute_force(count) for count in asked]
    for way, at_once in WAYS:
        monkeypatch.setattr(engine, "_AT_ONCE", at_once)
        opened._read_so_far = 0 if way == "numpy" else engine._WORTH_AN_IMPORT
        opened._product = None
        for narrow in (0, 7, 1 << 16):
            monkeypatch.setattr(adding, "_NARROW", narrow)
            for count, cells in zip(asked, right, strict=True):
                (table,) = opened.count([count], keys=True, weights=True)
                assert values(table) == cells
        assert (opened._product is None) == (way == "numpy")


def elsewhere(*asked: object) -> None:
    """A product that wants to be asked otherwise."""
    raise TypeError


@pytest.mark.parametrize(
    "product", [None, elsewhere, lambda *asked: None], ids=["gone", "otherwise", "idle"]
)
def test_a_scipy_without_that_product_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, product: Callable[..., None] | None
) -> None:
    """It is no public part of scipy: where it is gone or is another, numpy adds, however long."""
    monkeypatch.setattr("scipy.sparse._sparsetools.csc_matvec", product)
    people = towns()
    opened = people.long_memory(tmp_path)
    count = Count((AxisRef("town", "town"), AxisRef("sex", "sex")))
    (table,) = opened.count([count], keys=True, weights=True)
    assert values(table) == people.brute_force(count)


def test_threads_have_sums_of_so_many_cells_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many threads as there are, until their sums would take too much memory."""
    people = many()
    opened = people.memory(tmp_path)
    assert isinstance(opened, engine.MemoryEngine)
    opened._threads, opened._read_so_far = 5, 1 << 40
    monkeypatch.setattr(engine, "_WORTH_A_THREAD", 1)
    monkeypatch.setattr(engine, "_MOST_SUMS", 1_000)
    sums: list[int] = []

    class Noted(adding.Adder):
        def __init__(self, axes, apart, columns, size, *how):  # type: ignore[no-untyped-def]
            sums.append(size)
            super().__init__(axes, apart, columns, size, *how)

    monkeypatch.setattr(engine, "Adder", Noted)
    for axes, threads in ((("a",), 5), (("b",), 3), (("b", "a"), 1)):
        count = Count(tuple(AxisRef(name, name) for name in axes))
        (table,) = opened.count([count], keys=True, weights=True)
        assert values(table) == people.brute_force(count)
        assert len(sums) == threads
        sums.clear()


def test_too_little_memory_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by the engine that reads from disk, and without what numpy says of its arrays."""
    opened = towns().memory(tmp_path)

    def full(*asked: object) -> None:
        raise MemoryError("Unable to allocate 32.0 MiB for an array with shape (4194305,)")

    monkeypatch.setattr(engine, "Adder", full)
    with pytest.raises(EngineError, match=r"^Counting needs more memory than there is to spare\."):
        opened.count([Count((AxisRef("sex", "sex"),))])


@pytest.mark.parametrize("wide", [(255,), (256,), (65_535,), (65_536,), (65_537,), (256, 256)])
def test_as_many_places_as_a_code_has_bits_for(tmp_path: Path, wide: tuple[int, ...]) -> None:
    """Lengths at and beside what 8 and 16 bits hold, alone and below a variable of one category."""
    lengths = (1, *wide, 2)
    draw = np.random.default_rng(sum(wide))
    sides = tuple(
        variable(f"v{number}", [f"c{code}" for code in range(length)])
        for number, length in enumerate(lengths)
    )
    rows = [tuple(int(draw.integers(length)) for length in lengths) for _ in range(200)]
    rows += [tuple(length - 1 for length in lengths), tuple(0 for _ in lengths)]
    people = People(sides, rows, [1] * len(rows))
    opened = people.memory(tmp_path)
    assert isinstance(opened, engine.MemoryEngine)
    names = [side.name for side in sides]
    for way in ("numpy", "sparse"):
        opened._read_so_far = 0 if way == "numpy" else engine._WORTH_AN_IMPORT
        for axes in (names, names[:-1], names[1:], names[1:-1], names[::-1]):
            count = Count(tuple(AxisRef(name, name) for name in axes))
            (table,) = opened.count([count], keys=True, weights=True)
            assert values(table) == people.brute_force(count)


def test_a_code_of_no_category_is_refused(tmp_path: Path) -> None:
    """Nothing is added outside of the sums, whatever a file says with right checksums."""
    people = many(300)
    people.memory(tmp_path).close()
    path = tmp_path / "version" / ARRAYS
    whole = Arrays(path)
    types = {name: np.dtype(said["type"]) for name, said in whole._columns.items()}
    columns = {name: whole.column(name).copy() for name in types}
    columns["v0"][17] = 7  # there are seven: 0 to 6
    path.unlink()
    arrays.write(path, whole.about, types, [columns])
    opened = open_engine(path.parent, people.description)
    for count in (Count((AxisRef("a", "a"),)), Count((), (Condition("a", "a", ("c",)),))):
        with pytest.raises(EngineError, match="codes of no category"):
            opened.count([count])


def overwrite(path: Path, at: int, with_bytes: bytes) -> None:
    """Write into a file that is there, as `cp` does."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(with_bytes)


@pytest.mark.parametrize("column", ["v0", "v1", "k_lo", "k_hi", "w"])
def test_what_is_written_over_a_served_file_is_never_counted(tmp_path: Path, column: str) -> None:
    """Bytes that change after they were checked are refused; put back, they are counted again."""
    people = many()
    opened = people.memory(tmp_path)
    path = tmp_path / "version" / ARRAYS
    whole = path.read_bytes()
    count = Count((AxisRef("a", "a"), AxisRef("b", "b")))
    right = people.brute_force(count)
    assert isinstance(opened, engine.MemoryEngine)
    assert opened._arrays is not None
    at = opened._arrays._columns[column]["start"]
    for read_so_far in (0, 1 << 40):
        opened._read_so_far = read_so_far
        (table,) = opened.count([count], keys=True, weights=True)
        assert values(table) == right
        overwrite(path, at, b"\xff" * 500)
        errors = []
        for _ in range(2):
            with pytest.raises(EngineError, match="not as it was written") as refused:
                opened.count([count], keys=True, weights=True)
            errors.append(refused.value)
        assert errors[0] is not errors[1]  # one that is raised again holds on to all it passed
        overwrite(path, 0, whole)
        (table,) = opened.count([count], keys=True, weights=True)
        assert values(table) == right


def test_a_file_that_was_cut_while_served_is_refused(tmp_path: Path) -> None:
    """Whoever reads a mapped file where it ended is ended by the system; it is never read."""
    people = many()
    opened = people.memory(tmp_path)
    path = tmp_path / "version" / ARRAYS
    whole = path.read_bytes()
    opened.count([Count(())], keys=True)
    for size in (0, 100, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(EngineError, match="not as it was written"):
            opened.count([Count((AxisRef("a", "a"),))], keys=True)
    path.write_bytes(whole)
    (table,) = opened.count([Count(())], keys=True, weights=True)
    assert values(table) == people.brute_force(Count(()))


def test_bytes_that_change_under_a_count_spoil_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a count: refused. With nothing to tell it by: no place outside of the sums."""
    people = many()
    opened = people.memory(tmp_path)
    assert isinstance(opened, engine.MemoryEngine)
    path = tmp_path / "version" / ARRAYS
    whole = path.read_bytes()
    axes = (AxisRef("a", "a"), AxisRef("b", "b"))
    counts = [Count(axes), Count((), (Condition("a", "a", ("c",)),)), Count(axes[1:], (Condition("a", "a", ("c",)),))]  # fmt: skip
    monkeypatch.setattr(engine, "_AT_ONCE", 100)
    monkeypatch.setattr(engine, "_MOST_PLACES", 100)
    for count, way in itertools.product(counts, (0, 1 << 40)):
        opened._read_so_far, opened._product = way, None
        (table,) = opened.count([count], keys=True)
        asked = iter(range(10**6))
        facts = path.stat()

        def written_over(asked: Iterator[int] = asked) -> bool:
            if next(asked) == 5:
                overwrite(path, 0, b"\xff" * 2_000)
            return False

        with pytest.raises(EngineError, match=r"not as it was written|codes of no category"):
            opened.count([count], keys=True, control=Control(cancelled=written_over))
        os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        with pytest.raises(EngineError, match="codes of no category"):
            opened.count([count], keys=True)
        overwrite(path, 0, whole)
        (again,) = opened.count([count], keys=True)
        assert values(again) == values(table)


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    """Right marks and checksums around what are no arrays, or not of whole numbers."""
    people = towns()
    people.memory(tmp_path).close()
    path = tmp_path / "version" / ARRAYS
    sound = Arrays(path)
    changed = {
        "k_lo": {**sound._columns["k_lo"], "type": "float32"},
        "k_hi": {**sound._columns["k_hi"], "start": -1},
        "v0": {"type": "uint8"},
    }
    records = path.read_bytes()
    about = {"about": sound.about, "columns": {**sound._columns, **changed}}
    for said in ([], {"about": sound.about}, {"about": {}, "columns": {}}, about):
        text = json.dumps(said).encode()
        end = arrays._END.pack(len(text), zlib.crc32(text), arrays.MARK)
        path.write_bytes(records + text + end)
        for name in (*changed, "no such column"):
            with pytest.raises(EngineError, match="not as it was written"):
                Arrays(path).column(name)


@pytest.mark.slow
def test_some_at_a_time_is_all_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = many()
    opened = people.memory(tmp_path)
    axes = (AxisRef("b", "b"), AxisRef("a", "a"))
    where = (Condition("a", "a", ("a", "c", "g")), Condition("b", "b", ("0", "7", "299")))
    for count in (Count(axes), Count(axes, where), Count((), where), Count(axes[:1], where[:1])):
        for at_once in (1, 7, 1_000, 2_999, 3_000, 10_000):
            monkeypatch.setattr(engine, "_AT_ONCE", at_once)
            (table,) = opened.count([count], keys=True, weights=True)
            assert values(table) == people.brute_force(count)


@pytest.mark.parametrize("places", [0, 7, 2_100, 1 << 20])
def test_filters_as_axes_or_apart_count_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: int
) -> None:
    """No filter, the first, and both as an axis of its own: the cells of brute force each time."""
    people = many(800)
    opened = people.memory(tmp_path)
    monkeypatch.setattr(engine, "_MOST_PLACES", places)
    sides = (AxisRef("b", "b"), AxisRef("a", "a"))
    where = (Condition("a", "a", ("a", "c", "g")), Condition("b", "b", ("0", "7", "299")))
    for axes in (sides, sides[:1], sides[1:], ()):
        for count in (Count(axes, where), Count(axes, where[::-1]), Count(axes, where[:1])):
            (table,) = opened.count([count], keys=True, weights=True)
            assert values(table) == people.brute_force(count)


def test_a_table_of_very_many_cells_is_read_from_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = many(200)
    opened = people.memory(tmp_path)
    monkeypatch.setattr(engine, "MOST_CELLS", 2_000)
    count = Count((AxisRef("b", "b"), AxisRef("a", "a")))
    (table,) = opened.count([count], keys=True)
    assert values(table) == {a: v[:3] for a, v in people.brute_force(count).items()}
    opened.close()
    with pytest.raises(EngineError, match="closed"):
        opened.count([count])


def test_the_other_engine_is_opened_once_and_never_after_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many who need it at once share one; who asked before a close and comes to it after is refused."""
    people = towns()
    opened = people.memory(tmp_path)
    assert isinstance(opened, engine.MemoryEngine)
    monkeypatch.setattr(engine, "MOST_CELLS", 1)
    open_other, opens = opened._open_other, []

    def slowly() -> Engine:
        opens.append(open_other())
        time.sleep(0.05)
        return opens[-1]

    opened._open_other = slowly
    count = Count((AxisRef("sex", "sex"),))
    with ThreadPoolExecutor(4) as askers:
        tables = list(askers.map(lambda _: opened.count([count])[0], range(4)))
    assert {str(values(table)) for table in tables} == {str(values(tables[0]))}
    assert len(opens) == 1
    closing = people.memory(tmp_path / "again")
    assert isinstance(closing, engine.MemoryEngine)
    closing._open_other = slowly
    closing.close()
    with pytest.raises(EngineError, match="closed"):
        closing._elsewhere()
    assert len(opens) == 1


def test_a_changed_byte_anywhere_is_found_or_harmless(tmp_path: Path) -> None:
    """Every byte of the file in turn: no count that differs is ever given."""
    people = towns()
    people.memory(tmp_path).close()
    path = tmp_path / "version" / ARRAYS
    whole = path.read_bytes()
    count = Count((AxisRef("town", "town"), AxisRef("sex", "sex")))
    right = people.brute_force(count)
    found = 0
    for at in itertools.chain(range(0, len(whole), 5), range(len(whole) - 20, len(whole))):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x21]) + whole[at + 1 :])
        try:
            opened = open_engine(path.parent, people.description)
            (table,) = opened.count([count], keys=True, weights=True)
        except EngineError:
            found += 1
            continue
        assert values(table) == right
    assert found > len(whole) // 20


@pytest.mark.parametrize("size", [0, 1, 15, 16, 100])
@pytest.mark.slow
def test_a_cut_file_is_refused(tmp_path: Path, size: int) -> None:
    people = towns()
    people.memory(tmp_path).close()
    path = tmp_path / "version" / ARRAYS
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(EngineError, match="not as it was written"):
        Arrays(path)


def test_categories_of_another_description_are_refused(tmp_path: Path) -> None:
    people = towns()
    people.memory(tmp_path).close()
    other = People((variable("sex", "mf"), *people.variables[1:]), people.rows, people.weights)
    with pytest.raises(EngineError):
        open_engine(tmp_path / "version", other.description)


@pytest.mark.slow
def test_counting_stops_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = many().memory(tmp_path)
    assert isinstance(opened, engine.MemoryEngine)
    monkeypatch.setattr(engine, "_WORTH_A_THREAD", 1)
    for threads in (1, 4):
        opened._threads, opened._read_so_far = threads, engine._WORTH_AN_IMPORT
        with pytest.raises(Cancelled):
            opened.count([Count(())], control=Control(cancelled=lambda: True))


def test_no_value_in_a_repr(tmp_path: Path) -> None:
    opened = towns().memory(tmp_path)
    assert repr(opened) == "<engine in memory of people>"
    assert repr(Arrays(tmp_path / "version" / ARRAYS)) == "<arrays of records; values sealed>"


@pytest.mark.slow
def test_too_large_or_too_heavy_records_have_no_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of weights that might not fit 64 bits are left to the engine that checks them."""
    heavy = People((variable("a", "ab"),), [(0,), (1,)], [500, 501])
    monkeypatch.setattr("discreet.engines.duckdb.loading._MOST_SUM", 1001)
    opened = heavy.memory(tmp_path / "heavy")
    assert "w" not in Arrays(tmp_path / "heavy" / "version" / ARRAYS)
    count = Count((AxisRef("a", "a"),))
    (table,) = opened.count([count], keys=True, weights=True)
    assert values(table) == heavy.brute_force(count)
    monkeypatch.setattr("discreet.engines.duckdb.loading.MOST_BYTES", 100)
    people = towns()
    people.duckdb(tmp_path / "large").close()
    assert not (tmp_path / "large" / "version" / ARRAYS).exists()
    assert arrays.MOST_BYTES > 100
