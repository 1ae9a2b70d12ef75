"""Profiling: types, missing values, identifiers, dialects and hierarchies are found."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.control import Control
from discreet.engines.coding import Profile, Source
from discreet.engines.duckdb import column_relations
from discreet.engines.duckdb.loading import load
from discreet.engines.duckdb.profiling import profile
from discreet.engines.duckdb.statements import Runner
from discreet.errors import Cancelled, DataError

from .people import coarser, coded, coding_of

ROWS = [
    ("p1", "a", "Alfa", "N", "1", "1.5", "2020-01-31", "007"),
    ("p2", "b", "Beta", "N", "2", "2.25", "2020-02-01", "010"),
    ("p3", "c", "Gama", "S", "2.0", "", "2021-02-01", "007"),
    ("p4", "a", "Alfa", "N", "3", "0.5", "2021-02-01", "007"),
    ("p5", "c", "Gama", "S", "1", "-1", "2021-12-01", "010"),
    ("p6", "b", "Beta", "N", " 1 ", "1.125", "2021-12-01", "011"),
]
NAMES = ("id", "town", "town_name", "region", "n", "w", "day", "code")


def people(folder: Path, delimiter: str = ",", encoding: str = "utf-8") -> Profile:
    lines = [delimiter.join(row) for row in (NAMES, *ROWS)]
    path = folder / "a.csv"
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return profile(Source.guess(path))


def test_columns_are_described(tmp_path: Path) -> None:
    found = people(tmp_path)
    assert found.records == 6
    assert {c.name: c.type for c in found.columns} == {
        "id": "text",
        "town": "text",
        "town_name": "text",
        "region": "text",
        "n": "integer",
        "w": "decimal",
        "day": "date",
        "code": "text",
    }
    n, w = found.column("n"), found.column("w")
    assert n.values == (("1", 3), ("2", 2), ("3", 1))
    assert (n.minimum, n.maximum, n.distinct, n.complete) == ("1", "3", 3, True)
    assert (w.nulls, w.minimum, w.maximum, w.decimals) == (1, "-1", "2.25", 3)
    assert [c.name for c in found.columns if c.unique] == ["id"]


def test_hierarchies_and_twins_are_found(tmp_path: Path) -> None:
    """A child has one parent; a code and its label say the same."""
    found = people(tmp_path)
    assert ("town", "region") in found.parents
    assert ("region", "town") not in found.parents
    assert ("town", "town_name") in found.twins
    assert found.parent_maps["town", "region"] == {"a": "N", "b": "N", "c": "S"}
    assert found.parent_maps["town", "town_name"] == {"a": "Alfa", "b": "Beta", "c": "Gama"}


cells_of_columns = st.lists(
    st.tuples(st.integers(0, 5), *(st.integers(0, 3) for _ in range(2))), min_size=12, max_size=40
)


@settings(max_examples=15)
@given(cells_of_columns, st.permutations(range(7)), st.sampled_from([None, 0, 5]))
def test_relations_are_those_of_brute_force(rows: Any, order: list[int], gap: int | None) -> None:
    """Columns in any order, said in other words, coarser, or with gaps: each relation, and no other."""
    made = [
        (
            f"a{a}",
            f"z{5 - a}",
            f"m{(a * 5 + 3) % 7}",
            f"up{a // 2}",
            f"b{b}",
            f"c{c}",
            f"w{a // 2 + 4}",
        )
        for a, b, c in rows
    ]
    names = [f"v{i}" for i in range(7)]
    columns = {
        names[place]: ["" if i == gap and not n % 5 else row[i] for n, row in enumerate(made)]
        for place, i in enumerate(order)
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        lines = zip(*columns.values(), strict=True)
        path.write_text("\n".join([",".join(columns), *map(",".join, lines)]) + "\n")
        found = profile(Source.guess(path))
    said = {**dict.fromkeys(found.parents, False), **dict.fromkeys(found.twins, True)}
    assert said == brute_force(columns)
    for (child, parent), values in found.parent_maps.items():
        pairs = zip(columns[child], columns[parent], strict=True)
        assert values == {a: b for a, b in pairs if a}
        assert list(values) == sorted(values)


def brute_force(columns: dict[str, list[str]]) -> dict[tuple[str, str], bool]:
    """Which columns lie in which, and whether one to one; said once, from the first of two."""
    found = {}
    records = len(next(iter(columns.values())))
    kinds = {name: set(filter(None, column)) for name, column in columns.items()}
    gaps = {name: "" in column for name, column in columns.items()}
    usable = [
        name
        for name in columns
        if len(kinds[name]) + gaps[name] >= 2 and len(kinds[name]) <= max(2, records // 2)
    ]
    for child, parent in itertools.permutations(usable, 2):
        fewer, same = (
            len(kinds[parent]) < len(kinds[child]),
            len(kinds[parent]) == len(kinds[child]),
        )
        if not (fewer or gaps[child] or (same and child < parent)):
            continue
        pairs = {(a, b) for a, b in zip(columns[child], columns[parent], strict=True) if a}
        if len(pairs) != len(kinds[child]):
            continue
        one_to_one = same and len({b for _, b in pairs}) == len(kinds[child])
        if not (one_to_one and child > parent):
            found[child, parent] = one_to_one
    return found


def test_one_exception_breaks_a_hierarchy(tmp_path: Path) -> None:
    """A hierarchy that holds in a sample is verified on every record."""
    path = tmp_path / "a.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT i % 50 AS child, CASE WHEN i = 77 THEN 9 ELSE i % 50 % 5 END AS parent, "
            f"i % 50 // 10 AS good FROM range(300000) t(i)) TO '{path}'"
        )
    found = profile(Source.guess(path))
    assert found.parents == (("child", "good"),)


@pytest.mark.parametrize(
    ("delimiter", "encoding"),
    [
        pytest.param(",", "utf-8-sig", marks=pytest.mark.slow),
        (";", "utf-16"),
        pytest.param("\t", "cp1252", marks=pytest.mark.slow),
        pytest.param("|", "utf-8", marks=pytest.mark.slow),
    ],
)
def test_dialects_are_found_and_serve_to_load(
    delimiter: str, encoding: str, tmp_path: Path
) -> None:
    """What a profile found loads as it is: the same dialect, the same canonical codes."""
    found = people(tmp_path, delimiter, encoding)
    assert found.dialect is not None
    assert (found.dialect.delimiter, found.dialect.header) == (delimiter, True)
    town, region = found.column("town"), found.column("region")
    codes, coarse = (tuple(v for v, _ in c.values) for c in (town, region))
    up = found.parent_maps["town", "region"]
    level = coarser("region", "region", coarse, tuple(coarse.index(up[c]) for c in codes))
    n = coded("n", "n", tuple(v for v, _ in found.column("n").values))
    coding = coding_of((coded("town", "town", codes, (level,)), n), "id", salt=b"s")
    assert load(found.source, coding, tmp_path / "v").records == 6


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("sex,town\nf,a\nm,b\n", True),
        ("age,w\n1,2.5\n3,4.5\n", True),
        ("1,2.5\n3,4.5\n", False),
        ("f,a\nm,b\nf,a\nm,a\n", False),
        ("E01,3,m\nE02,4,f\n", False),
    ],
)
def test_headers_are_told_from_records(text: str, header: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    found = profile(Source.guess(path))
    assert found.dialect is not None
    assert found.dialect.header is header
    assert (found.columns[0].name == "column1") is not header


def test_long_columns_keep_their_most_frequent_values(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x\n" + "".join(f"v{i}\n" for i in range(100)) + "v7\n")
    found = profile(Source.guess(path), most_values=5)
    (x,) = found.columns
    assert (x.values[0], len(x.values), x.complete, x.distinct) == (("v7", 2), 5, False, 100)


def test_a_profile_shows_nothing_by_itself(tmp_path: Path) -> None:
    shown = repr(people(tmp_path))
    assert "Alfa" not in shown
    assert "2021" not in shown


def test_bad_sources_and_stops(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="no records"):
        profile(Source("csv", tmp_path / "a.csv", None, {"header": "yes"}))
    with pytest.raises(DataError, match="no file"):
        profile(Source.guess(tmp_path / "b.csv"))
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(Cancelled):
        profile(Source.guess(tmp_path / "a.csv"), Control(cancelled=lambda: True))


def test_columns_without_hierarchies_cost_a_few_statements_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the columns, twice the statements: pairs are rejected by a glance, without any.

    None of those about one column reads the view of all of them, which is bound whole each time.
    """
    asked = []
    run = Runner.run

    def counting(self: Runner, *given: Any, **named: Any) -> Any:
        asked.append(given[0])
        return run(self, *given, **named)

    monkeypatch.setattr(Runner, "run", counting)
    statements = []
    for columns in (8, 16, 32):
        draw = np.random.default_rng(columns)
        rows = draw.integers(0, 9, (600, columns))
        head = ",".join(f"v{i}" for i in range(columns))
        lines = [head, *(",".join(map(str, row)) for row in rows.tolist())]
        path = tmp_path / f"{columns}.csv"
        path.write_text("\n".join(lines))
        asked.clear()
        profile(Source.guess(path))
        statements.append(len(asked))
        assert sum("discreet_source" in str(statement) for statement in asked) <= 3
    first, second, third = statements
    assert third - second <= 2 * (second - first) + 2


def test_most_pairs_of_columns_are_rejected_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many columns few pairs are looked at one at a time, and what lies in what is found all the same."""
    looks: list[tuple[int, int]] = []
    look = column_relations._Sample._broken

    def counted(sample: column_relations._Sample, child: int, parent: int, first: int) -> int:
        looks.append((child, parent))
        return look(sample, child, parent, first)

    monkeypatch.setattr(column_relations._Sample, "_broken", counted)
    drawn = np.random.default_rng(5).integers(0, 9, (1500, 60))
    lines = [",".join(map(str, [*row, row[7] // 3])) for row in drawn]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([",".join(f"v{i}" for i in range(61)), *lines]) + "\n")
    assert profile(Source.guess(path)).parents == (("v7", "v60"),)
    assert len(set(looks)) <= 61
