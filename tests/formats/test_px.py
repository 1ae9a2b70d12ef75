"""PX files are well formed, hold every number and word, and pyaxis reads them."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from pyaxis import pyaxis

from discreet import formats
from discreet.arrangement import laid_out
from discreet.core.table import ProtectedTable, Status
from discreet.core.text import Text
from discreet.formats import px
from discreet.formats.flat import flatten
from discreet.formats.px import LINE, SYMBOLS, plain_text
from discreet.languages import say
from discreet.recipe import Layout

from ..examples import examples
from .tables import axis, deaths, make, tables

GRAND_TOTAL = make([], (), values=[1234])


def parsed(text: str) -> dict[str, Any]:
    """A reader of PX by its grammar: KEYWORD(subkeys)=values; with texts in double quotes.

    Adjacent texts are one text, as PX says; a list is separated by commas.
    """
    found: dict[str, Any] = {}
    statements = re.findall(r'((?:"[^"]*"|[^";])*);', text)
    for statement in statements:
        keyword, _, value = _split_once(statement)
        assert keyword not in found, f"{keyword} stands twice"
        if keyword == "DATA":
            found[keyword] = value.split()
        elif '"' in value:
            items = [
                "".join(re.findall(r'"([^"]*)"', item))
                for item in re.findall(r'(?:\s*"[^"]*"\s*)+', value)
            ]
            found[keyword] = items
        else:
            found[keyword] = value.strip()
    return found


def _split_once(statement: str) -> tuple[str, str, str]:
    match = re.match(r'\s*((?:"[^"]*"|[^"=])*)=(.*)', statement, re.DOTALL)
    assert match is not None, statement
    return match[1].strip(), "=", match[2]


def expected_data(table: ProtectedTable) -> list[str]:
    """The symbols DATA must have, by a plain loop over cells."""
    made = []
    for cell in np.ndindex(*table.shape):
        status = Status(int(table.status[cell]))
        number = str(int(table.values[cell]))
        made.append(number if status.value in (0, 1, 7) else f'"{SYMBOLS[status]}"')
    return made


def read_by_pyaxis(table: ProtectedTable, path: Path, **named: Any) -> dict[str, Any]:
    formats.write(table, path, "px", **named)
    read: dict[str, Any] = pyaxis.parse(str(path), encoding="utf-8")
    return read


@pytest.mark.slow
@examples(150)
@example(table=deaths())
@example(table=GRAND_TOTAL)
@given(table=tables())
def test_a_px_file_is_well_formed_and_holds_every_cell(table: ProtectedTable) -> None:
    """Each keyword stands once, lines are short, names are unique, DATA has every cell."""
    text = formats.to_bytes(table, "px").decode()
    found = parsed(text)
    assert found["DATA"] == expected_data(table)
    names = found.get("STUB", []) + found.get("HEADING", [])
    assert len(names) == len(set(names)) == max(1, len(table.domain.axes))
    for position in range(len(table.domain.axes)):
        values = found[f'VALUES("{names[position]}")']
        codes = found[f'CODES("{names[position]}")']
        assert len(values) == len(set(values)) == table.shape[position]
        assert len(codes) == len(set(codes)) == table.shape[position]
        for value, label in zip(values, table.labels(position), strict=True):
            assert value.startswith(plain_text(label))
    assert found["AGGREGALLOWED"] == "NO"
    assert found["CODEPAGE"] == ["utf-8"]
    assert text.startswith('CHARSET="ANSI";\r\nAXIS-VERSION="2013";')
    for line in text.split("\r\n"):
        assert "\n" not in line
        assert len(line) <= 256 or len(max(re.findall(r'"[^"]*"', line), key=len)) > LINE // 2


@pytest.mark.slow
@examples(80)
@example(table=deaths())
@example(table=GRAND_TOTAL)
@given(table=tables())
def test_pyaxis_reads_the_same_cells(
    table: ProtectedTable, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An independent reader finds the same labels and numbers; hidden cells hold none."""
    path = tmp_path_factory.mktemp("px") / "t.px"
    formats.write(table, path, "px")
    text = path.read_bytes().decode()
    # pyaxis cuts at the first DATA= wherever it stands, tidies brackets in names, and takes text
    # longer than its line for two; none of these is PX.
    assume(text.count("DATA=") == 1 and "( " not in text and " )" not in text)
    names = [
        text for axis in flatten(table).axes for text in (axis.label, *axis.labels, *axis.codes)
    ]
    assume(max(map(len, names), default=0) < LINE // 2 - 20)
    frame = pyaxis.parse(str(path), encoding="utf-8")["DATA"]
    assert len(frame) == table.cells
    labels = [table.labels(i) for i in range(len(table.domain.axes))]
    for row, cell in zip(
        frame.itertuples(index=False, name=None), np.ndindex(*table.shape), strict=True
    ):
        status = Status(int(table.status[cell]))
        for at, place in enumerate(cell):
            assert row[at].startswith(plain_text(labels[at][place]))
        got = row[-1]
        if status in (Status.OK, Status.UNRELIABLE, Status.DERIVED):
            assert int(got) == int(table.values[cell])
        elif status is Status.SUPPRESSED:
            assert isinstance(got, float)
            assert math.isnan(got)
        else:
            assert got == ("" if status is Status.NOT_RELEASED else f'"{SYMBOLS[status]}"')


def test_double_quotes_become_apostrophes_and_the_note_says_so(tmp_path: Path) -> None:
    """Labels lose their double quotes, nothing else, and the file admits it; others do not say it."""
    read = read_by_pyaxis(deaths(), tmp_path / "t.px")["METADATA"]
    assert "The 'South'" in read["VALUES(Region)"]
    assert "=HYPERLINK('x')" in read["VALUES(Region)"]
    assert "PX cannot hold double quotes: in 2 texts" in " ".join(read["NOTE"])
    plain = make([axis("sex", ["F", "M"])], (True,))
    assert "double quotes" not in formats.to_bytes(plain, "px").decode()
    title = say("{title} by sex", title=Text.of({"en": 'The "other"', "de": "Andere"}))
    quoted = replace(plain, title=title)
    assert "double quotes: in 1 text" in formats.to_bytes(quoted, "px").decode()
    assert "Anführungszeichen" not in formats.to_bytes(quoted.in_language("de"), "px").decode()


def test_every_word_is_in_the_file(tmp_path: Path) -> None:
    """Guarantee, footnotes, hash, versions and citation are there, as PX can hold them."""
    table = deaths()
    read = read_by_pyaxis(table, tmp_path / "t.px")["METADATA"]
    said = " ".join([*read["NOTE"], *read["NOTEX"]]).replace("#", " ")
    for sentence in (
        *formats.footnote(table),
        formats.citation(table),
        table.provenance.question_hash,
        table.provenance.data_version,
        table.provenance.policy_version,
        "noise interval (lower, upper) of every cell are in the CSV",
    ):
        assert plain_text(sentence) in said, sentence
    must = " ".join(read["NOTEX"]).replace("#", " ")
    assert plain_text(table.guarantee.sentence()) in must
    assert "Synthetic data" in must
    assert read["TITLE"] == [table.title]
    assert read["ELIMINATION(Region)"] == ["Total"]
    assert "need not be the sum" in " ".join(read["VALUENOTE(Region,Total)"])
    assert read["DATASYMBOL3"] == ["[c]"]


def test_unreliable_numbers_keep_their_value_and_get_a_mark() -> None:
    """The mark names the cell by its codes; a cell that is reliable has none."""
    status = [Status.OK, Status.UNRELIABLE, Status.OK]
    table = make(
        [axis("sex", ["F", "M"], codes=["f", "m"])], (True,), values=[9, 2, 11], status=status
    )
    found = parsed(formats.to_bytes(table, "px").decode())
    assert [key for key in found if key.startswith("DATANOTECELL")] == ['DATANOTECELL("m")']
    assert found["DATA"] == ["9", "2", "11"]


def test_very_many_unreliable_numbers_are_told_in_one_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(px, "MOST_CELL_NOTES", 1)
    status = [Status.UNRELIABLE, Status.UNRELIABLE, Status.OK]
    table = make([axis("sex", ["F", "M"])], (True,), values=[1, 2, 11], status=status)
    found = parsed(formats.to_bytes(table, "px").decode())
    assert not [key for key in found if key.startswith("DATANOTECELL")]
    assert "2 numbers are unreliable" in "".join(found["NOTE"])


def test_a_code_that_px_reads_as_all_codes_marks_no_other_cell() -> None:
    status = [Status.UNRELIABLE, Status.OK]
    table = make(
        [axis("sex", ["F", "M"], codes=["*", "m"])], (False,), values=[1, 2], status=status
    )
    found = parsed(formats.to_bytes(table, "px").decode())
    assert not [key for key in found if key.startswith("DATANOTECELL")]


@pytest.mark.parametrize(
    ("codes", "said"),
    [
        (["2019", "2020"], 'TIMEVAL("period")=TLIST(A1),"2019","2020";'),
        (["2020-Q1", "2020Q4"], 'TIMEVAL("period")=TLIST(Q1),"20201","20204";'),
        (["2020-01", "2020M12"], 'TIMEVAL("period")=TLIST(M1),"202001","202012";'),
        (["2020-W01", "2020W53"], 'TIMEVAL("period")=TLIST(W1),"202001","202053";'),
        (["2020", "2020-01"], None),
        (["2020-13", "2020-01"], None),
        (["2020H1", "2020S2"], 'TIMEVAL("period")=TLIST(H1),"20201","20202";'),
        (["2021", "2020"], None),
        (["2020-01", "2020M01"], None),
        (["٢٠٢٠", "٢٠٢١"], None),
        (["2020-01-01", "2020-01-02"], None),
    ],
)
def test_periods_are_told(codes: list[str], said: str | None) -> None:
    """Readers know a variable of time by them; where one is none, nothing is claimed."""
    made = axis("period", codes, codes=codes)
    timed = replace(made, variable=replace(made.variable, kind="time"))
    for total in (False, True):
        table = make([timed], (total,), values=[1, 2, 3][: 2 + total])
        text = formats.to_bytes(table, "px").decode()
        lines = [line for line in text.split("\r\n") if line.startswith("TIMEVAL")]
        assert lines == ([said] if said and not total else [])


@pytest.mark.parametrize("size", [200, 246, 247, 248, 249, 250, 251, 252, 500, 1001])
def test_long_labels_keep_within_lines(size: int) -> None:
    label = "".join(chr(97 + i % 26) for i in range(size))
    table = make([axis("sex", [label, "M", label + "!"])], (False,), values=[1, 2, 3])
    text = formats.to_bytes(table, "px").decode()
    assert max(map(len, text.split("\r\n"))) <= 256
    assert parsed(text)['VALUES("sex")'] == [label, "M", label + "!"]


@pytest.mark.parametrize("name", ["p" * size for size in range(1, 12)])
def test_many_periods_keep_within_lines(name: str) -> None:
    codes = [f"{2000 + i // 12}-{i % 12 + 1:02d}" for i in range(120)]
    made = axis(name, codes, codes=codes)
    table = make(
        [replace(made, variable=replace(made.variable, kind="time"))],
        (False,),
        values=[*range(120)],
    )
    text = formats.to_bytes(table, "px").decode()
    assert max(map(len, text.split("\r\n"))) <= 256
    assert len(parsed(text)[f'TIMEVAL("{name}")']) == 120


@pytest.mark.parametrize("size", [100, 149, 150, 151, 250, 600])
def test_long_names_and_codes_keep_within_lines(size: int) -> None:
    """Names are shortened, two that then are equal stay two, and a note says so."""
    names = ["L" * size + "a", "L" * size + "b"]
    code = "c" * min(size, 200)
    status = np.full(9, Status.UNRELIABLE, dtype=np.uint8)
    axes = [
        axis(f"v{i}", ["x", "y"], codes=[code + "1", code + "2"], label=name)
        for i, name in enumerate(names)
    ]
    table = make(axes, (True, True), values=[*range(9)], status=status)
    text = formats.to_bytes(table, "px").decode()
    assert max(map(len, text.split("\r\n"))) <= 256
    found = parsed(text)
    variables = [*found.get("STUB", ()), *found.get("HEADING", ())]
    assert len(set(variables)) == 2
    assert all(f'VALUES("{name}")' in found for name in variables)
    assert (variables == names) == (size < 150)
    assert ("were shortened" in text.replace('"\r\n"', "")) == (size >= 150)
    assert len([key for key in found if key.startswith("DATANOTECELL")]) == 9


def test_a_layout_decides_stub_and_heading() -> None:
    table = deaths()
    layout = Layout(rows=("sex",), columns=("region",))
    found = parsed(formats.to_bytes(laid_out(table, layout), "px").decode())
    assert (found["STUB"], found["HEADING"]) == (["Sex"], ["Region"])
    turned = np.array(expected_data(table), dtype=object).reshape(table.shape).T.reshape(-1)
    assert found["DATA"] == turned.tolist()


def test_equal_and_empty_labels_are_told_apart_by_codes() -> None:
    """PX finds values by their texts, so no two may be equal; the file says what was done."""
    table = make([axis("area", ["Other", "Other", ""], codes=["a", "b", "c"])], (False,))
    found = parsed(formats.to_bytes(table, "px").decode())
    assert found['VALUES("area")'] == ["Other (a)", "Other (b)", "c"]
    assert "told apart by their codes" in "".join(found["NOTE"])
    assert found['ELIMINATION("area")'] == "NO"


def test_the_language_is_that_of_the_labels() -> None:
    """A language the labels do not have is not claimed."""
    label = {"fr": "Sexe", "de": "Geschlecht"}
    table = make([axis("sex", ["F", "M"], label=label)], (False,))
    for wanted, said, stub in (
        ("", "fr", "Sexe"),
        ("de", "de", "Geschlecht"),
        ("en", "fr", "Sexe"),
    ):
        found = parsed(formats.to_bytes(table.in_language(wanted), "px").decode())
        assert (found["LANGUAGE"], found["STUB"]) == ([said], [stub])


def test_what_is_hidden_leaves_no_number() -> None:
    """Neither the value nor its interval of a hidden cell is in the file."""
    table = make(
        [axis("sex", ["F", "M"])],
        (False,),
        values=[777_123, 5],
        status=[Status.BELOW_THRESHOLD, Status.OK],
        extra={"additive": np.array([777_123, 5])},
    )
    text = formats.to_bytes(table, "px").decode()
    assert not any(str(777_123 + shift) in text for shift in (-6, 0, 6))


def test_one_file_holds_one_table() -> None:
    with pytest.raises(formats.base.InputError, match="A px file holds one table, got 2"):  # type: ignore[attr-defined]
        formats.to_bytes([deaths(), GRAND_TOTAL], "px")


def test_a_number_sign_in_a_note_is_no_line_end() -> None:
    """PX breaks a note's lines at #, so one in a sentence is written wide."""
    table = replace(deaths(), notes=("Ward #7 was closed.",))
    text = formats.to_bytes(table, "px").decode()
    assert "Ward \N{FULLWIDTH NUMBER SIGN}7 was closed." in " ".join(text.replace('"', "").split())
