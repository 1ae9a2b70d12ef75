"""YAML is read as text with lines; what is hostile or ambiguous is refused in one sentence."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DescriptionError
from discreet.workspace import yaml_reader
from discreet.workspace.writer import scalar
from discreet.workspace.yaml_reader import Block, read_file, read_text


def test_scalars_stay_text() -> None:
    """NO is a country, 0.10 keeps its zero, 007 is a code, null a word."""
    got = read_text("a: NO\nb: 0.10\nc: 007\nd: null\ne: ~\nf:\ng: 1e400\nh: 2001-01-01").plain()
    assert got == {
        "a": "NO",
        "b": "0.10",
        "c": "007",
        "d": "null",
        "e": None,
        "f": None,
        "g": "1e400",
        "h": "2001-01-01",
    }


def test_an_unknown_key_names_line_and_nearest() -> None:
    block = read_text("# head\ntitle: x\nregoin: y\n", "d.yaml")
    with pytest.raises(DescriptionError, match=r"d\.yaml, line 3: unknown key 'regoin'.*region"):
        block.only(("title", "region"))


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "written twice (first on line 1)"),
        ("a: &x 1\nb: *x\n", 1, "anchors"),
        ("a: 1\nb: *x\n", 2, "alias"),
        ("a: !!python/object/apply:os.system [ls]\n", 1, "tags"),
        ("a: !!int 3\n", 1, "tags"),
        ("a: 1\n---\nb: 2\n", 2, "one YAML document"),
        ("a: 1\n  b: 2\n", 2, "not valid YAML"),
        ("a: [1, 2\n", 2, "not valid YAML"),
        ("\ta: 1\n", 1, "not valid YAML"),
        ("? [x]\n: 1\n", 1, "a key must be a text"),
        ("- a\n- b\n", 1, "a mapping (key: value) is expected, got a list"),
        ("just words\n", 1, "a mapping (key: value) is expected"),
        ("", 1, "an empty file"),
    ],
)
def test_what_cannot_be_a_description_gets_one_sentence(text: str, line: int, says: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        read_text(text)
    assert says in caught.value.message
    assert caught.value.line == line
    assert "\n" not in caught.value.message


def steps(text: str, *, refused: bool = False) -> int:
    """How many calls of functions, in Python or C, reading a text takes."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    with pytest.raises(DescriptionError) if refused else contextlib.nullcontext():
        sys.setprofile(count)
        try:
            read_text(text)
        finally:
            sys.setprofile(None)
    return calls


def test_hostile_files_cost_no_more_than_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deep nesting, an alias bomb and many nodes take at most four times the steps for each
    character that a plain file takes."""
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(24)
    )
    monkeypatch.setattr(yaml_reader, "MOST_NODES", 4_000)
    plain = "".join(f"k{i}: [x, x]\n" for i in range(900))
    most = 4 * steps(plain) / len(plain)
    for text in ("a: " + "[" * 5_000 + "]" * 5_000, bomb, "a: [" + "1," * 5_000 + "1]"):
        assert steps(text, refused=True) <= most * len(text)


def test_a_file_that_is_not_utf8_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "discreet.yaml"
    path.write_bytes(b"a: 1\nb: \xff\xfe\n")
    with pytest.raises(DescriptionError, match=r"line 2: the file is not UTF-8"):
        read_file(path)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda b: b.text("list"), "list must be a text, got a list"),
        (lambda b: b.whole("word"), "word must be a whole number ≥ 0, got 'x'"),
        (lambda b: b.whole("half"), "half must be a whole number"),
        (lambda b: b.flag("word"), "word must be yes or no"),
        (lambda b: b.block("word"), "word must be a mapping"),
        (lambda b: list(b.blocks("word")), "word must be a list"),
        (lambda b: b.choice("word", ("found", "declared"), "found"), "must be found or declared"),
        (lambda b: b.texts("map"), "map must be a list of texts"),
    ],
)
def test_a_value_of_the_wrong_kind_gets_one_sentence(call: object, says: str) -> None:
    block = read_text("list: [1]\nword: x\nhalf: 1.5\nmap: {a: b}\n")
    with pytest.raises(DescriptionError) as caught:
        call(block)  # type: ignore[operator]
    assert says in caught.value.message


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=60))
def test_any_text_written_reads_back_the_same(text: str) -> None:
    """As a value, as a key, and inside a flow list."""
    got = read_text(f"{scalar('k' + text)}: {scalar(text)}\nl: [{scalar(text)}, x]\n")
    assert isinstance(got, Block)
    assert got.plain() == {"k" + text: text, "l": [text, "x"]}
