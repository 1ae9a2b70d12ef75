"""Derived variables are what anybody would compute from the column, whatever is written in it."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.core.derived import OUTSIDE, UNREADABLE, Bands, Dates, part_of_date
from discreet.core.domain import AxisRef, Count
from discreet.core.true_values import reveal
from discreet.errors import DataError, DescriptionError
from discreet.workspace import DataSet
from discreet.workspace.description_file import read

from ..examples import examples

CHAPTERS = {
    "I": ["A", "B"],
    "II": ["C", "D0", "D1", "D2", "D3", "D4"],
    "III": ["D5", "D6", "D7", "D8"],
}


def described(folder: Path, variables: Mapping[str, Any], source: str = "stays.csv") -> Path:
    """A data set folder over a file beside its description."""
    folder.mkdir(exist_ok=True)
    page = {
        "dataset": "stays",
        "title": "Stays",
        "source": {"file": source, "delimiter": ";", "header": "yes"},
        "unit": "stay",
        "family": "cell-key",
        "method": "cell-key",
        "variables": variables,
    }
    (folder / "discreet.yaml").write_text(yaml.safe_dump(page, sort_keys=False))
    return folder


def counts(folder: Path, name: str) -> dict[str, int]:
    """The true counts of every level of a variable by code."""
    with DataSet.open(folder) as data:
        variable = data.description.variable(name)
        found: dict[str, int] = {}
        for level in variable.levels:
            (table,) = data.engine().count([Count((AxisRef(name, level.name),))])
            cells = reveal(table)
            for place, number in zip(cells.addresses, cells.counts, strict=True):
                found[f"{level.name}:{level.codes[place]}"] = int(number)
        return found


def some_records(records: int, seed: int) -> list[dict[str, str]]:
    """Dates with leap days and year ends, ages below zero and far above, decimals, codes, gaps."""
    random_ = random.Random(seed)
    odd_days = [datetime.date(2020, 2, 29), datetime.date(2019, 12, 31), datetime.date(2020, 1, 1)]
    rows = []
    for _ in range(records):
        day = datetime.date(2018, 1, 1) + datetime.timedelta(random_.randrange(1461))
        day = random_.choice(odd_days) if random_.random() < 0.1 else day
        age = random_.choice([-9, -1, 0, 4, 5, 89, 90, 112, random_.randrange(100)])
        wage = Fraction(random_.randrange(-500, 9000), 10)
        code = random_.choice("ABCD") + str(random_.randrange(100)).zfill(2)
        rows.append(
            {
                "day": "" if random_.random() < 0.05 else day.strftime("%d.%m.%Y"),
                "age": str(age),
                "wage": f"{float(wage):.1f}".replace(".", ","),
                "icd": "?" if random_.random() < 0.02 else code,
            }
        )
    return rows


VARIABLES: dict[str, Any] = {
    "day": {
        "column": "day",
        "missing": ["NA", ""],
        "derive": {
            "dates": ["day", "month", "quarter", "year", "weekday"],
            "first": "2018",
            "last": "2021",
            "format": "D.M.Y",
        },
    },
    "age": {
        "column": "age",
        "missing": ["NA", "-9"],
        "derive": {"bands": ["5", "10"], "from": "0", "to": "90", "open": "both"},
    },
    "wage": {
        "column": "wage",
        "derive": {"cuts": ["0", "12.5", "450", "800.1"], "open": "both", "mark": ","},
    },
    "chapter": {
        "column": "icd",
        "other": "other",
        "categories": {"I": "Infections", "II": "Neoplasms", "III": "Blood", "other": "Other"},
        "derive": {"prefix": CHAPTERS, "source": "ICD-10, WHO 2019"},
    },
}


def expected(rows: list[dict[str, str]]) -> dict[str, Counter[str]]:
    """The same by an independent way: the calendar's own words, comparisons of fractions."""
    found: dict[str, Counter[str]] = {name: Counter() for name in VARIABLES}
    for row in rows:
        if row["day"]:
            day = datetime.datetime.strptime(row["day"], "%d.%m.%Y").date()
            parts = {
                "day": day.strftime("%Y-%m-%d"),
                "month": day.strftime("%Y-%m"),
                "quarter": f"{day.year}-Q{1 + (day.month - 1) // 3}",
                "year": str(day.year),
                "weekday": str(day.weekday() + 1),
            }
        else:
            parts = dict.fromkeys(("day", "month", "quarter", "year", "weekday"), "NA")
        found["day"].update(f"day_{unit}:{code}" for unit, code in parts.items())
        age = int(row["age"])
        for width in (5, 10):
            start = age - age % width
            band = "NA" if age == -9 else "<0" if age < 0 else "90+" if age >= 90 else ""
            found["age"][f"age_{width}:{band or f'{start}-{start + width - 1}'}"] += 1
        wage = Fraction(row["wage"].replace(",", "."))
        ends = [Fraction(0), Fraction("12.5"), Fraction(450), Fraction("800.1")]
        names = ["<0", "0-<12.5", "12.5-<450", "450-<800.1", "800.1+"]
        found["wage"]["wage:" + names[sum(wage >= end for end in ends)]] += 1
        begins = [c for c, some in CHAPTERS.items() if any(row["icd"].startswith(p) for p in some)]
        found["chapter"]["chapter:" + (begins[0] if begins else "other")] += 1
    return found


def check_all(folder: Path, rows: list[dict[str, str]]) -> None:
    folder.mkdir(exist_ok=True)
    text = ["day;age;wage;icd", *(";".join(row.values()) for row in rows)]
    (folder / "stays.csv").write_text("\n".join(text) + "\n")
    described(folder, VARIABLES)
    dc.load(folder)
    for name, counter in expected(rows).items():
        assert counts(folder, name) == dict(counter), name


@pytest.mark.slow
def test_every_rule_gives_what_is_computed_by_hand(tmp_path: Path):
    """Dates, bands, cuts and beginnings over every level."""
    check_all(tmp_path / "stays", some_records(4_000, 1))


@pytest.mark.proof
def test_a_million_derived_records(tmp_path: Path):
    """Derived variables equal an independent computation on a million records."""
    check_all(tmp_path / "stays", some_records(1_000_000, 2))


@examples(200)
@given(
    cuts=st.lists(
        st.fractions(-1000, 1000, max_denominator=40), min_size=2, max_size=6, unique=True
    ),
    numbers=st.lists(st.decimals(-2000, 2000, places=4), min_size=1, max_size=30),
    below=st.booleans(),
    above=st.booleans(),
)
@pytest.mark.slow
def test_bands_are_exact(cuts: list[Fraction], numbers: list[Any], below: bool, above: bool):
    """Each number, and every cut itself, lies where fractions say."""
    bands = Bands(tuple(sorted(cuts)), below, above)
    texts = [str(number) for number in numbers] + [str(float(cut)) for cut in cuts]
    for text, place in zip(texts, bands.places(texts), strict=True):
        at = sum(Fraction(text) >= cut for cut in cuts)
        inside = (at > 0 or below) and (at < len(cuts) or above)
        assert place == (at - (not below) if inside else OUTSIDE), text


@given(st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 12, 31)))
@settings(max_examples=25)  # each makes 73,000 days a few times
@pytest.mark.slow
def test_dates_are_read_in_every_form(day: datetime.date):
    """With and without leading zeros and a time of day; what is no day is unreadable."""
    first, last = datetime.date(1900, 1, 1), datetime.date(2100, 12, 31)
    for form, texts in {
        "Y-M-D": [f"{day:%Y-%m-%d}", f"{day:%Y-%m-%d} 23:59:59.5", f"{day:%Y-%m-%d}T00:00:00Z"],
        "D.M.Y": [f"{day:%d.%m.%Y}", f"{day.day}.{day.month}.{day.year}"],
        "M/D/Y": [f"{day:%m/%d/%Y}"],
        "YMD": [f"{day:%Y%m%d}"],
    }.items():
        rule = Dates("month", first, last, form)
        codes = [rule.codes[place] for place in rule.places(texts)]
        assert codes == [part_of_date(day, "month")] * len(texts)
    rule = Dates("day", day, day)
    assert list(rule.places(["2021-02-29", "tomorrow", "2020-1", "1.2.2020", "1899-12-31"])) == [
        UNREADABLE,
        UNREADABLE,
        UNREADABLE,
        UNREADABLE,
        OUTSIDE,
    ]


def written(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    page: dict[str, Any] = yaml.safe_load(yaml.safe_dump(VARIABLES))
    change(page)
    return page


@pytest.mark.parametrize(
    ("variable", "derive", "words"),
    [
        ("day", {"dates": "month"}, "dates need first: a year, a month or a day"),
        (
            "day",
            {"dates": "moon", "first": "2018", "last": "2019"},
            "got 'moon'. Did you mean month",
        ),
        ("day", {"dates": "month", "first": "2018-13", "last": "2019"}, "got '2018-13'"),
        ("day", {"dates": "month", "first": "2020", "last": "2019"}, "is after last"),
        (
            "day",
            {"dates": ["year", "month"], "first": "2018", "last": "2019"},
            "finest to coarsest",
        ),
        (
            "day",
            {"dates": ["month", "weekday"], "first": "2018", "last": "2019"},
            "from a day only",
        ),
        ("day", {"dates": "weekday", "first": "2018"}, "no first and last"),
        ("age", {"bands": "7", "to": "90"}, "leave a gap"),
        ("age", {"bands": ["5", "15"], "to": "90"}, ""),
        ("age", {"bands": ["10", "15"], "to": "90"}, "cut through those of 10"),
        ("age", {"bands": "5"}, "bands needs `to`"),
        ("wage", {"cuts": ["0", "5", "3"]}, "the bands would overlap"),
        ("wage", {"cuts": ["0"], "open": "no"}, "makes no band"),
        ("wage", {"cuts": ["a"]}, "a cut must be a number"),
        ("wage", {"cuts": ["0"], "first": "2018"}, "first does not go with cuts"),
        ("wage", {"cuts": ["0"], "bands": "5"}, "got bands and cuts"),
        ("chapter", {"prefix": {"IV": ["E"]}}, "which chapter does not have"),
        ("chapter", {"groups": {"I": ["A"], "II": ["A"]}}, "belongs to two categories"),
        ("chapter", {"groups": "no.csv"}, "cannot be read"),
    ],
)
def test_a_rule_that_cannot_be_is_told_in_one_sentence(
    tmp_path: Path, variable: str, derive: Any, words: str
):
    """With file and line, before anything is read."""

    def change(page: dict[str, Any]) -> None:
        page[variable]["derive"] = derive

    folder = described(tmp_path / "stays", written(change))
    if not words:
        read(folder)
        return
    with pytest.raises(DescriptionError, match=r"discreet\.yaml, line") as told:
        read(folder)
    assert words in str(told.value)


@pytest.mark.parametrize(
    ("column", "text", "words"),
    [
        ("day", "31.02.2020", "1 text that is no date written D.M.Y, for example '31.02.2020'"),
        ("day", "01.01.1999", "1 text day has no place for, for example '01.01.1999'"),
        ("age", "old", "1 text that is no number, for example 'old'"),
    ],
)
def test_a_value_without_a_place_stops_the_load(tmp_path: Path, column: str, text: str, words: str):
    """Nothing is loaded, and the value is named to the custodian."""
    folder = tmp_path / "stays"
    folder.mkdir()
    row = {"day": "01.02.2020", "age": "3", "wage": "1,5", "icd": "A01"}
    lines = ["day;age;wage;icd", ";".join(row.values()), ";".join((row | {column: text}).values())]
    (folder / "stays.csv").write_text("\n".join(lines) + "\n")
    described(folder, VARIABLES)
    with pytest.raises(DataError) as told:
        dc.load(folder)
    assert words in str(told.value)


def test_a_changed_rule_is_another_version(tmp_path: Path):
    """What a record becomes decides the version, so old answers are not taken for new ones."""
    folder = tmp_path / "stays"
    folder.mkdir()
    rows = some_records(200, 3)
    lines = ["day;age;wage;icd", *(";".join(row.values()) for row in rows)]
    (folder / "stays.csv").write_text("\n".join(lines) + "\n")
    described(folder, VARIABLES)
    first = dc.load(folder)
    assert dc.load(folder).unchanged

    def change(page: dict[str, Any]) -> None:
        page["chapter"]["derive"]["prefix"]["I"] = ["A"]

    described(folder, written(change))
    second = dc.load(folder)
    assert not second.unchanged
    assert second.manifest.data_version != first.manifest.data_version


def test_places_are_fast_enough_to_be_made_in_python():
    """A hundred thousand different numbers are placed at once, the exact ones among them."""
    numbers = np.random.default_rng(5).integers(0, 10**6, 100_000)
    bands = Bands((Fraction(0), Fraction("333333.3"), Fraction(500_000)), False, True)
    places = bands.places([str(n) for n in numbers])
    assert np.array_equal(places, (numbers >= 333_334).astype(int) + (numbers >= 500_000))
