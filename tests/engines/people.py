"""Small data sets for the engine tests: records as plain dicts, and every way to open them."""

from __future__ import annotations

import csv
import hashlib
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from discreet.core.description import Description, Weight
from discreet.core.domain import Category, Count, Level, Variable, variable
from discreet.core.text import Text
from discreet.core.true_values import reveal
from discreet.engines import opening
from discreet.engines.base import Engine
from discreet.engines.code_maps import canonical
from discreet.engines.coding import Coding, Columns, Source
from discreet.engines.duckdb.engine import DuckDBEngine, open_engine
from discreet.engines.duckdb.loading import load
from discreet.engines.duckdb.sharded_engine import ShardedEngine
from discreet.engines.memory.engine import MemoryEngine

from .numpy_engine import NumpyEngine

SALT = b"a salt for tests"
SCALE = 100
Coarser = tuple[Level, str | None]


@dataclass
class People:
    """Records (finest index of every variable, id, weight in units), and their description."""

    variables: tuple[Variable, ...]
    rows: list[tuple[int, ...]]
    weights: list[int] | None = None

    @property
    def description(self) -> Description:
        weight = None if self.weights is None else Weight("w", SCALE)
        return Description("people", Text.of("People"), self.variables, weight=weight)

    @property
    def ids(self) -> list[str]:
        return [f"p{i}" for i in range(len(self.rows))]

    @property
    def coding(self) -> Coding:
        columns = {v.name: Columns(v.name) for v in self.variables}
        return Coding(self.description, columns, "id", salt=SALT)

    def lines(self, order: list[int] | None = None) -> list[list[str]]:
        """Every record as texts: id, codes, weight."""
        lines = []
        for i in order if order is not None else range(len(self.rows)):
            codes = [v.finest.codes[c] for v, c in zip(self.variables, self.rows[i], strict=True)]
            units = 0 if self.weights is None else self.weights[i]
            lines.append([self.ids[i], *codes, f"{units // SCALE}.{units % SCALE:02d}"])
        return lines

    def write(self, path: Path, order: list[int] | None = None) -> Source:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["id", *(v.name for v in self.variables), "w"])
            writer.writerows(self.lines(order))
        return Source("csv", path, None, {"header": "yes", "delimiter": ",", "quote": '"'})

    def duckdb(self, folder: Path, order: list[int] | None = None) -> DuckDBEngine:
        folder.mkdir(parents=True, exist_ok=True)
        load(self.write(folder / "people.csv", order), self.coding, folder / "version")
        return open_engine(folder / "version", self.description)

    def memory(self, folder: Path, order: list[int] | None = None) -> Engine:
        self.duckdb(folder, order).close()
        opened = opening.open_engine(folder / "version", self.description)
        assert isinstance(opened, MemoryEngine)
        return opened

    def long_memory(self, folder: Path) -> Engine:
        """The engine in memory after it has read so many records that it adds in its fast way."""
        opened = self.memory(folder)
        assert isinstance(opened, MemoryEngine)
        opened._read_so_far = 1 << 40
        return opened

    def sharded(self, folder: Path, shards: int = 3) -> ShardedEngine:
        folder.mkdir(parents=True, exist_ok=True)
        source = replace(self.write(folder / "people.csv"), shards=shards)
        load(source, self.coding, folder / "version")
        opened = opening.open_engine(folder / "version", self.description)
        assert isinstance(opened, ShardedEngine)
        return opened

    def numpy(self) -> NumpyEngine:
        table = np.array(self.rows, dtype=np.int64).reshape(len(self.rows), len(self.variables))
        keys = np.array([record_key(SALT, unit) for unit in self.ids], dtype=np.int64)
        return NumpyEngine(
            self.description,
            {v.name: table[:, i] for i, v in enumerate(self.variables)},
            keys[:, 0],
            keys[:, 1],
            None if self.weights is None else np.array(self.weights),
        )

    def brute_force(self, count: Count) -> dict[int, tuple[int, int, int, int]]:
        """Address → (count, low key sum, high key sum, weight sum), record by record."""
        names = [v.name for v in self.variables]
        domain = self.description.domain(count.axes)
        cells: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
        for row, unit, units in zip(
            self.rows, self.ids, self.weights or [0] * len(self.rows), strict=True
        ):
            code = dict(zip(names, row, strict=True))

            def at(name: str, level: str, code: dict[str, int] = code) -> int:
                return self.description.variable(name).level(level).of_finest[code[name]]

            if any(
                self.description.variable(c.variable).level(c.level).codes[at(c.variable, c.level)]
                not in c.codes
                for c in count.where
            ):
                continue
            address = sum(
                at(ref.variable, ref.level) * stride
                for ref, stride in zip(count.axes, domain.strides, strict=True)
            )
            low, high = record_key(SALT, unit)
            for i, value in enumerate((1, low, high, units)):
                cells[address][i] += value
        return {address: tuple(values) for address, values in cells.items()}  # type: ignore[misc]


def record_key(salt: bytes, unit: str) -> tuple[int, int]:
    """The key of a unit by its definition: low and high 32 bits.

    >>> low, high = record_key(b"salt", "42")
    >>> hex(high << 32 | low) == "0x" + hashlib.sha256(b"salt42").hexdigest()[:16]
    True
    """
    digest = hashlib.sha256(salt + canonical(unit).encode()).digest()
    return int.from_bytes(digest[4:8], "big"), int.from_bytes(digest[:4], "big")


def coarser(name: str, column: str | None, codes: tuple[str, ...], up: tuple[int, ...]) -> Coarser:
    """A coarser level, and the column that holds it, if one does."""
    return Level(name, Text.of(name), tuple(Category.of(code) for code in codes), up), column


def coded(
    name: str,
    column: str,
    codes: tuple[str, ...],
    levels: tuple[Coarser, ...] = (),
    missing_index: int | None = None,
    missing_values: tuple[str, ...] = (),
    other_index: int | None = None,
) -> tuple[Variable, Columns]:
    """A variable, and where it lies in the data."""
    made = variable(name, codes)
    of_levels = {level.name: own for level, own in levels if own is not None}
    missing, other = (None if i is None else codes[i] for i in (missing_index, other_index))
    return (
        replace(made, levels=(*made.levels, *(level for level, _ in levels))),
        Columns(column, of_levels, missing, missing_values, other),
    )


def coding_of(
    variables: tuple[tuple[Variable, Columns], ...],
    id_column: str | None = None,
    records_per_unit: int = 1,
    weight: Weight | None = None,
    key_column: str | None = None,
    salt: bytes = b"",
    bound: str = "stop",
) -> Coding:
    """How a source with these variables is coded."""
    description = Description(
        "people",
        Text.of("People"),
        tuple(one for one, _ in variables),
        records_per_unit=records_per_unit,
        weight=weight,
    )
    columns = {one.name: columns for one, columns in variables}
    return Coding(description, columns, id_column, key_column, bound=bound, salt=salt)


def values(table: object) -> dict[int, tuple[int, ...]]:
    """The cells of a true table as plain integers (tests may look)."""
    cells = reveal(table)  # type: ignore[arg-type]
    columns = [cells.counts, cells.key_low, cells.key_high, cells.weights]
    given = [c for c in columns if c is not None]
    return {int(a): tuple(int(c[i]) for c in given) for i, a in enumerate(cells.addresses.tolist())}


def towns() -> People:
    """Forty people in five towns of two regions, with a little of everything."""
    town = variable(
        "town",
        ["a", "b", "c", "d", "007"],
        levels={"region": {"a": "N", "b": "N", "c": "S", "d": "S", "007": "S"}},
    )
    sex = variable("sex", ["f", "m"])
    age = variable("age", [str(i) for i in range(6)])
    generator = np.random.default_rng(7)
    rows = [
        (int(t), int(s), int(a))
        for t, s, a in zip(
            generator.integers(0, 4, 40),
            generator.integers(0, 2, 40),
            generator.integers(0, 6, 40),
            strict=True,
        )
    ]
    return People((town, sex, age), rows, [int(w) for w in generator.integers(0, 500, 40)])
