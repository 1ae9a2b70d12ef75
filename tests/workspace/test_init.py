"""`init` finds what a custodian would have written, marks it found, and says why it left things out."""

from __future__ import annotations

import csv
import random
import sqlite3
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from discreet.core.domain import AxisRef, Count
from discreet.core.true_values import reveal
from discreet.demo import deaths, draft
from discreet.errors import DataError, DiscreetError, InputError
from discreet.workspace import DataSet, UnitChoice, init
from discreet.workspace.description_file import read


def put(path: Path, rows: Iterable[Iterable[object]], **options: str) -> Path:
    with path.open("w", newline="", encoding=options.pop("encoding", "utf-8")) as stream:
        csv.writer(stream, **options).writerows(rows)  # type: ignore[arg-type]
    return path


def write_deaths(path: Path, *, labels: bool) -> None:
    """The demo's records as CSV, with `labels` a `<column>_label` beside each code."""
    frame = deaths.table().to_pandas()
    levels = [level for variable in draft("deaths").variables for level in variable.levels]
    for level in levels if labels else ():
        words = {category.code: category.label for category in level.categories}
        frame[f"{level.name}_label"] = frame[level.name].map(words)
    frame.to_csv(path, index=False)


@pytest.mark.slow
@pytest.mark.parametrize("labels", [False, True])
def test_init_on_the_demo_deaths_finds_what_is_shipped(tmp_path: Path, labels: bool) -> None:
    """Variables, levels, categories, parents, missing codes and, where written, labels."""
    write_deaths(tmp_path / "deaths.csv", labels=labels)
    init(tmp_path / "deaths.csv", tmp_path / "found")
    got, shipped = read(tmp_path / "found"), draft("deaths")
    assert got.coding.id_column == shipped.id
    assert [v.name for v in got.description.variables] == [v.name for v in shipped.variables]
    for variable, meant in zip(got.description.variables, shipped.variables, strict=True):
        assert not variable.declared
        assert variable.kind == meant.kind
        assert [level.name for level in variable.levels] == [level.name for level in meant.levels]
        missing = {c.code for c in variable.finest.categories if c.missing}
        assert missing == set(meant.missing)
        for level, wanted in zip(variable.levels, meant.levels, strict=True):
            assert set(level.codes) == {c.code for c in wanted.categories}
            if labels:
                found = {c.code: str(c.label) for c in level.categories}
                assert found == {c.code: c.label for c in wanted.categories}
        for below, level, wanted in zip(
            [None, *variable.levels], variable.levels, [None, *meant.levels], strict=False
        ):
            if below is not None and wanted is not None:
                up = {
                    variable.finest.codes[i]: level.codes[place]
                    for i, place in enumerate(level.of_finest)
                }
                if below is variable.finest:
                    assert up == {c.code: c.parent for c in wanted.categories}
    with DataSet.open(tmp_path / "found") as opened:
        assert opened.description.domain(()).size == 1


def adult_like(path: Path) -> Path:
    """Integer-coded columns with awkward names, like a well-known census extract."""
    names = [
        "age", "workclass", "fnlwgt", "education-num", "marital-status", "occupation",
        "relationship", "race", "sex", "capital-gain", "hours-per-week", "native-country",
        "income>50K",
    ]  # fmt: skip
    sizes = (74, 9, 100, 16, 7, 15, 6, 5, 2, 20, 98, 42, 2)
    chance = random.Random(1)
    rows = [[chance.randrange(size) for size in sizes] for _ in range(5_000)]
    return put(path, [names, *rows])


@pytest.mark.slow
def test_an_integer_coded_file_is_usable_as_it_is(tmp_path: Path) -> None:
    started = init(adult_like(tmp_path / "adult.csv"), tmp_path / "adult")
    with started.dataset() as opened:
        names = [variable.name for variable in opened.description.variables]
    assert len(names) == 13
    assert {"education_num", "income_50k", "hours_per_week"} <= set(names)
    assert started.draft.id is None
    assert started.draft.weight is None
    age = opened.description.variable("age")
    assert [level.name for level in age.levels] == ["age", "age_5", "age_10"]
    assert age.level("age_10").codes[:2] == ("0-9", "10-19")
    assert opened.description.variable("hours_per_week").kind == "classification"


def people(n: int = 400) -> list[list[object]]:
    chance = random.Random(2)
    head = ["Person ID", "shop", "shop_name", "town", "state", "answer", "w", "born", "pay", "note"]
    rows: list[list[object]] = [[*head]]
    for number in range(n):
        shop = chance.randrange(12)
        rows.append(
            [
                f"x{number}",
                f"s{shop}",
                f"Shop {shop}",
                f"t{shop // 2}",
                f"z{shop // 6}",
                chance.choice(["1", "2", "3", "-9", ""]),
                f"{chance.randrange(100, 900) / 100:.2f}",
                f"19{chance.randrange(30, 99)}-0{chance.randrange(1, 9)}-1{chance.randrange(9)}",
                chance.randrange(20_000, 90_000),
                f"free text {chance.random()}",
            ]
        )
    rows[0][6] = "weight"
    return rows


DELIMITERS = (",", ";", "\t", "|")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252")


@pytest.mark.parametrize(
    ("delimiter", "encoding"),
    [
        pytest.param(delimiter, encoding, marks=() if i == j else pytest.mark.slow)
        for i, delimiter in enumerate(DELIMITERS)
        for j, encoding in enumerate(ENCODINGS)
    ],
)
def test_ids_weights_levels_labels_and_missing_codes_are_guessed(
    tmp_path: Path, delimiter: str, encoding: str
) -> None:
    rows = people()
    for row in rows[1:]:
        row[2] = f"{row[2]}é"
    path = put(tmp_path / "data.csv", rows, delimiter=delimiter, encoding=encoding)
    made = init(path, tmp_path / "into").draft
    assert made.id == "Person ID"
    assert made.weight is not None
    assert (made.weight.column, made.weight.decimals) == ("weight", 2)
    area, answer, born = made.variables
    assert [level.name for level in area.levels] == ["shop", "town", "state"]
    assert (area.name, area.kind) == ("area", "geography")
    assert {c.code: c.label for c in area.levels[0].categories}["s7"] == "Shop 7é"
    assert answer.missing == ["-9", ""]
    assert born.derive == {"dates": ["month", "quarter", "year"], "first": "1930", "last": "1998"}
    assert {name for name, _ in made.left_out} == {"pay", "note"}
    said = read(tmp_path / "into").folder / "discreet.yaml"
    assert "nearly an identifier" in said.read_text() or "identifier" in said.read_text()


@pytest.mark.slow
def test_a_table_of_a_database_and_a_parquet_file(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = people()
    names = [str(name).replace(" ", "_") for name in rows[0]]
    connection = sqlite3.connect(tmp_path / "old.db")
    connection.execute(f"CREATE TABLE staff ({', '.join(names)})")
    connection.executemany(f"INSERT INTO staff VALUES ({', '.join('?' * 10)})", rows[1:])
    connection.commit()
    connection.close()
    columns = list(zip(*rows[1:], strict=True))
    table = pa.table({name: pa.array(values) for name, values in zip(names, columns, strict=True)})
    pq.write_table(table, tmp_path / "data.parquet")
    for name, source in (
        ("a", f"sqlite:///{tmp_path / 'old.db'}?table=staff"),
        ("b", tmp_path / "data.parquet"),
    ):
        made = init(source, tmp_path / name)
        assert [v.name for v in made.draft.variables] == ["area", "answer", "born"]
        made.dataset().close()
        assert read(tmp_path / name).source().path.exists()


def test_several_records_of_a_unit_are_bounded(tmp_path: Path) -> None:
    rows = [["patient_id", "ward"], *([f"p{n // 3}", "abcd"[n % 4]] for n in range(300))]
    chosen = UnitChoice(id="patient_id")
    made = init(put(tmp_path / "visits.csv", rows), tmp_path / "visits", unit=chosen)
    assert (made.draft.id, made.draft.records_per_unit) == ("patient_id", 3)
    description = made.dataset().description
    assert (description.unit, description.records_per_unit) == ("person", 3)
    assert description.bound_from_data


def test_missing_children_go_to_a_missing_parent(tmp_path: Path) -> None:
    rows = [["id", "ward", "side"]]
    rows += [[str(n), *[("a", "n"), ("b", "n"), ("c", "s"), ("", "")][n % 4]] for n in range(200)]
    made = init(put(tmp_path / "x.csv", rows), tmp_path / "x")
    (area,) = made.dataset().description.variables
    assert area.finest.codes == ("a", "b", "c", "_U")
    assert area.levels[1].codes == ("n", "s", "_U")
    assert area.levels[1].of_finest == (0, 0, 1, 2)


def test_codes_that_readers_take_for_missing_get_another(tmp_path: Path) -> None:
    """`NA` and its like become `_U`, at every level; one that has a name of its own stays."""
    rows = [["id", "ward", "side", "answer", "land", "land_label"]]
    places = [("a", "n"), ("b", "n"), ("c", "s"), ("NA", "NA")]
    lands = [("NA", "Namibia"), ("DE", "Germany"), ("FR", "France")]
    answers = ["yes", "no", "nan", "N/A", "null"]
    rows += [[str(n), *places[n % 4], answers[n % 5], *lands[n % 3]] for n in range(300)]
    made = init(put(tmp_path / "x.csv", rows), tmp_path / "x")
    with made.dataset() as data:
        area, answer, land = data.description.variables
        assert area.finest.codes == ("a", "b", "c", "_U")
        assert area.levels[1].codes == ("n", "s", "_U")
        assert set(answer.finest.codes) == {"yes", "no", "_U"}
        assert not any(category.missing for category in land.finest.categories)
        (table,) = data.engine().count([Count((AxisRef("answer", "answer"),))])
        cells = reveal(table)
        places = zip(cells.addresses.tolist(), cells.counts.tolist(), strict=True)
        assert {answer.finest.codes[place]: n for place, n in places}["_U"] == 180


def test_what_lies_with_a_code_for_missing_is_said(tmp_path: Path) -> None:
    """Records without a value become one category with a code for missing: a comment says so."""
    answers = ["yes", "no", "refused", ""] * 30
    (tmp_path / "x.csv").write_text("\n".join(["ward,asked", *(f"w,{a}" for a in answers)]) + "\n")
    (asked,) = init(tmp_path / "x.csv", tmp_path / "x").draft.variables
    assert asked.missing == ["refused", ""]
    assert asked.comments == [
        "The code refused looks like missing.",
        "Records without a value get the category refused too: let its label say both.",
    ]


def test_a_code_for_missing_that_holds_something_known_stays(tmp_path: Path) -> None:
    rows = [["id", "ward", "side"]]
    rows += [
        [str(n), *[("a", "n"), ("b", "n"), ("c", "NA"), ("NA", "NA")][n % 4]] for n in range(200)
    ]
    with init(put(tmp_path / "x.csv", rows), tmp_path / "x").dataset() as data:
        (area,) = data.description.variables
        assert area.levels[1].codes == ("n", "NA")


def test_a_long_code_is_written_so_that_it_reads_back(tmp_path: Path) -> None:
    """Up to the longest a code may be, on a line of its own."""
    codes = ["x" * 119, "y" * 120, "z: " + "z" * 197]
    rows = [["id", "answer"], *([str(n), codes[n % 3]] for n in range(90))]
    with init(put(tmp_path / "x.csv", rows), tmp_path / "x").dataset() as data:
        (answer,) = data.description.variables
        assert set(answer.finest.codes) == set(codes)


@pytest.mark.slow
def test_awkward_names_and_codes_survive(tmp_path: Path) -> None:
    """Quotes, colons, hashes, formulas and letters of any script, in names and in codes."""
    names = ['a "b"', "c: d", "#e", "=1+1", "żółć", "no", "it's long", "age_5", "age"]
    codes = ["yes", "~", "=HYPERLINK(x)", "a: b", "- x", "#1", "'q'", '"q"', "{}", "null", "é"]
    chance = random.Random(3)
    rows = [[*(chance.choice(codes) for _ in range(8)), n % 60] for n in range(660)]
    known = {"delimiter": ",", "quote": '"', "encoding": "utf-8", "header": "yes"}
    made = init(put(tmp_path / "x.csv", [names, *rows]), tmp_path / "x", options=known)
    with made.dataset() as opened:
        assert len(opened.description.variables) == 9 - len(made.draft.left_out)
        for variable in opened.description.variables[:-1]:
            assert set(variable.finest.codes) >= set(codes) - {"null"}
        assert len(opened.description.variables[-1].levels) == 1  # age_5 is a column of its own


def test_a_parent_that_is_missing_in_the_data_makes_no_level(tmp_path: Path) -> None:
    rows = [["id", "ward", "side"]]
    rows += [[str(n), *[("a", "n"), ("b", "n"), ("c", "s"), ("d", "")][n % 4]] for n in range(200)]
    made = init(put(tmp_path / "x.csv", rows), tmp_path / "x")
    names = [variable.name for variable in made.dataset().description.variables]
    assert names == ["ward", "side"]


@pytest.mark.slow
def test_a_level_that_some_branches_skip_is_found(tmp_path: Path) -> None:
    """A hospital directly under a region: three levels, said why, and the counts are the file's."""
    chance = random.Random(3)
    tree = {
        "h1": ("t1", "N"),
        "h2": ("t1", "N"),
        "h3": ("t2", "N"),
        "h4": ("", "N"),
        "h5": ("", "I"),
    }
    tree |= {"h6": ("t3", "S"), "h7": ("t3", "S"), "h8": ("", "I")}
    rows = [["hospital", "trust", "region", "day", "cost"]]
    for _ in range(600):
        hospital = chance.choice(list(tree))
        day = f"{chance.randrange(1, 29):02}.{chance.randrange(1, 13):02}.{chance.choice([2020, 2021])}"
        rows.append([hospital, *tree[hospital], day, f"{chance.randrange(1, 9000) / 10:.1f}"])
    made = init(put(tmp_path / "x.csv", rows), tmp_path / "x")
    place, day, cost = made.draft.variables
    assert [level.name for level in place.levels] == ["hospital", "trust", "region"]
    assert any("3 of hospital have no trust (h4, for one)" in said for said in place.comments)
    assert (day.derive["dates"], day.derive["format"]) == (["month", "quarter", "year"], "D.M.Y")
    assert (day.derive["first"], day.derive["last"]) == ("2020", "2021")
    assert cost.derive == {"bands": "100", "from": "0", "to": "800"}
    with made.dataset() as data:
        levels = data.description.variable(place.name).levels
        assert levels[1].codes == ("t1", "t2", "t3", "N", "I")
        for column, level in enumerate(levels):
            (table,) = data.engine().count([Count((AxisRef(place.name, level.name),))])
            cells = reveal(table)
            places = zip(cells.addresses.tolist(), cells.counts.tolist(), strict=True)
            found = {level.codes[place]: n for place, n in places}
            truth = Counter(row[column] or row[2] for row in rows[1:])
            assert found == dict(truth)


@pytest.mark.slow
def test_what_is_there_is_never_overwritten(tmp_path: Path) -> None:
    path = put(tmp_path / "x.csv", people())
    init(path, tmp_path / "x")
    with pytest.raises(InputError, match="described already"):
        init(path, tmp_path / "x")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="needs a folder"):
        init(path, tmp_path / "file")


@pytest.mark.slow
def test_a_dp_data_set_begins_with_a_budget(tmp_path: Path) -> None:
    made = init(put(tmp_path / "x.csv", people()), tmp_path / "x", family="dp")
    assert made.dataset().policy.budget is not None
    with pytest.raises(InputError, match="no family 'pd'; there are cell-key, dp"):
        init(put(tmp_path / "x.csv", people()), tmp_path / "y", family="pd")
    with pytest.raises(InputError, match="public populations and a prior"):
        init(put(tmp_path / "x.csv", people()), tmp_path / "y", family="suppression")
    assert not (tmp_path / "y").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"a,b\n",
        b"a,a\n1,2\n",
        b"a,,c\n1,2,3\n",
        b"a,b\n1,2\n3\n4,5,6\n",
        b"a,b\n1,\xff\xfe\x00\xd8\n",
        b'a,b\n1,"2\n',
        b"\x00\x01\x02\x03",
        b"id\n" + b"".join(b"%d\n" % i for i in range(100)),
    ],
)
def test_bad_files_get_one_sentence_and_leave_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(DiscreetError) as caught:
        init(path, tmp_path / "into")
    assert caught.value.exit_code == 2
    assert "\n" not in caught.value.message
    assert not (tmp_path / "into" / "discreet.yaml").exists()


def test_no_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.csv"):
        init(tmp_path / "nothing.csv", tmp_path / "into")


@pytest.mark.slow
def test_70_000_categories_are_left_out_with_the_reason(tmp_path: Path) -> None:
    rows = [["town", "sex"], *([f"t{n % 70_000}", "fm"[n % 2]] for n in range(400_000))]
    made = init(put(tmp_path / "x.csv", rows), tmp_path / "x")
    assert [v.name for v in made.draft.variables] == ["sex"]
    ((name, reason),) = made.draft.left_out
    assert name == "town"
    assert "too many for a variable" in reason


def test_a_missing_code_among_ages_is_no_age(tmp_path):
    """999 read as missing is not put into a band of ages."""
    lines = ["id,age"] + [f"{i},{999 if i % 40 == 0 else i % 95}" for i in range(2000)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    with init(tmp_path / "people.csv", tmp_path / "people").dataset() as data:
        age = data.description.variable("age")
        assert [level.name for level in age.levels] == ["age", "age_5", "age_10"]
        for level in age.levels[1:]:
            assert not any(code.startswith("99") and "-" in code for code in level.codes)
