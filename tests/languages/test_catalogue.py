"""Sentences are said in the reader's language; a language's file is checked, and says what it lacks."""

from __future__ import annotations

import datetime
import pickle
from pathlib import Path

import pytest

from discreet.core.text import Text
from discreet.errors import Bug, InputError
from discreet.languages import (
    catalogue,
    check,
    counted,
    known,
    language_of,
    listed,
    number,
    po_file,
    say,
    says,
    speaker,
    together,
)

HEADER = """msgid ""
msgstr ""
"Language: xx\\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2);\\n"
"X-Name: Test\\n"
"X-Decimal: ,\\n"
"X-Thousands: space\\n"
"X-Date: {year}-{month}-{day}\\n"
"X-Months: a b c d e f g h i j k l\\n"
"""
WANTED = {
    one.english: one
    for one in (
        check.Found("{n} cell of {table}", "{n} cells of {table}", "a.py"),
        check.Found("Hello {name}", "", "b.py"),
    )
}
GOOD = """
msgid "{n} cell of {table}"
msgid_plural "{n} cells of {table}"
msgstr[0] "{n} A {table}"
msgstr[1] "{n} B {table}"
msgstr[2] "{n} C "
"{table}"

msgid "Hello {name}"
msgstr "Hallo {name}"
"""


def written(tmp_path: Path, text: str) -> po_file.PoFile:
    file = tmp_path / "xx.po"
    file.write_text(text, "utf-8")
    return po_file.read(file)


def faults(tmp_path: Path, text: str) -> list[str]:
    return list(check.problems(written(tmp_path, HEADER + text), WANTED))


@pytest.fixture(scope="module")
def wanted() -> dict[str, check.Found]:
    """Every sentence there is."""
    return check.sentences()


def test_every_language_says_every_sentence(wanted: dict[str, check.Found]) -> None:
    """German is complete: run `python -m discreet.languages --write` and fill in what is missing."""
    assert set(known()) >= {"en", "de"}
    for language in known()[1:]:
        file = po_file.read(catalogue.FOLDER / f"{language}.po")
        catalogue.from_file(file)
        assert list(check.problems(file, wanted)) == []


def test_files_are_in_the_order_that_the_tool_writes(wanted: dict[str, check.Found]) -> None:
    """So that two people who add sentences to different files do not meet."""
    for file in catalogue.FOLDER.glob("*.po"):
        assert check.rewritten(file, wanted) == file.read_text("utf-8")


def test_a_sentence_is_english_and_can_be_said_later() -> None:
    """It compares, hashes and pickles as its English, and keeps what it was made of."""
    total = say("Total")
    assert {total: 1}["Total"] == 1
    for same in (total, pickle.loads(pickle.dumps(total))):
        assert (same.says("de"), same.says("fr"), same.says()) == ("Insgesamt", "Total", "Total")
    both = together(total, Text.of({"en": "Sex", "de": "Geschlecht"}), between=": ")
    assert (str(both), both.says("de")) == ("Total: Sex", "Insgesamt: Geschlecht")
    assert listed(["a", "b", total]).says("de-AT") == "a, b und Insgesamt"
    assert says("name", "de") == "name"


def test_numbers_and_dates_are_written_the_language_s_way() -> None:
    """Whole numbers are grouped; a name that looks like one is left alone."""
    pair = say("{first} and {last}", first=1234567, last=number("0.05"))
    assert (str(pair), pair.says("de")) == ("1,234,567 and 0.05", "1.234.567 und 0,05")
    assert say("{first} and {last}", first="1.5", last="x").says("de") == "1.5 und x"
    day = datetime.date(2026, 3, 1)
    assert (speaker("en").date(day), speaker("de").date(day)) == ("1 March 2026", "1. März 2026")
    with pytest.raises(Bug, match=r"float for {last}"):
        say("{first} and {last}", first="a", last=0.5)
    with pytest.raises(Bug, match=r"no value for {last}"):
        say("{first} and {last}", first="a")


def test_plurals_follow_the_language_s_rule(tmp_path: Path) -> None:
    """Three forms where a language has three, two in English."""
    spoken = catalogue.from_file(written(tmp_path, HEADER + GOOD))
    one = WANTED["{n} cell of {table}"]
    forms = [spoken.pattern(one.english, one.plural, n)[4] for n in (1, 3, 5, 11, 22)]
    assert forms == ["A", "B", "C", "C", "B"]
    assert spoken.number("1,234.5") == "1\u202f234,5"
    assert counted("{n} cell", "{n} cells", 0) == "0 cells"
    assert language_of("DE-ch") == "de"


def test_a_good_file_has_no_fault(tmp_path: Path) -> None:
    """Plural forms, texts over several lines and all."""
    assert faults(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ('msgid "Hello {name}"\nmsgstr "Hallo {name}"\n', "", "xx.po: no entry for 'Hello {name}' (b.py)."),
        ("Hallo {name}", "Hallo", "line 18: the translation of 'Hello {name}' has no {name}."),
        ("Hallo {name}", "{name} {you}", "line 18: the translation of 'Hello {name}' has an unknown {you}."),
        ("Hallo {name}", "{name} {", "has a brace that is no {name}."),
        ("Hallo {name}", "Hallo {name} ", "begins or ends with a space."),
        ('"Hallo {name}"', '""', "line 18: 'Hello {name}' is not translated."),
        ('msgid "Hello', '#, fuzzy\nmsgid "Hello', "is not translated (fuzzy)."),
        ('msgid "Hello {name}"', 'msgid "Bye {name}"', "'Bye {name}' is said nowhere; remove it."),
        ('msgstr[1] "{n} B {table}"\n', "", "needs 3 plural forms, got 2."),
        ('msgid_plural "{n} cells of {table}"\n', "", "msgid_plural must be"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, good: str, bad: str, words: str) -> None:
    """One sentence each: which file, which line, what."""
    assert any(words in fault for fault in faults(tmp_path, GOOD.replace(good, bad)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEADER.replace('"X-Decimal: ,\\n"\n', ""), "xx.po: the header has no X-Decimal."),
        (HEADER.replace("a b c", "a b"), "X-Months must name 12 months, got 11."),
        (HEADER.replace("nplurals=3", "nplurals=2"), "Plural-Forms must be such as"),
        (HEADER + GOOD + GOOD, "this sentence is there twice, first on line 11."),
        (HEADER + "\nmsgid Hello\n", "expected msgid, msgstr or a text in double quotes"),
        (HEADER + '\nmsgid "a"b"\n', 'a double quote within a text is written \\"'),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """With its line where it has one."""
    with pytest.raises(InputError) as refused:
        catalogue.from_file(written(tmp_path, text))
    assert words in refused.value.message


def test_sentences_are_found_in_code_and_templates(tmp_path: Path) -> None:
    """Those written out; one that is put together elsewhere is refused with its line."""
    (tmp_path / "a.py").write_text(
        'from .languages import say, counted\nsay("One "\n    "two")\ncounted("{n} a", "{n} b", 2)\n'
    )
    (tmp_path / "b.html").write_text('{{ say("Three") }} {{ say.counted("{n} c", "{n} d", n) }}')
    (tmp_path / "c.py").write_text("progress.say(words)\n")
    assert [(one.english, one.plural) for one in check.sentences(tmp_path).values()] == [
        ("One two", ""), ("{n} a", "{n} b"), ("Three", ""), ("{n} c", "{n} d"),
    ]  # fmt: skip
    (tmp_path / "d.py").write_text("from ..languages import say\nsay(words)\n")
    with pytest.raises(InputError, match=r"d.py, line 2: a sentence must be written out"):
        check.sentences(tmp_path)
