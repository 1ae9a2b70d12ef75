"""SQL put together: whatever a text holds, it stays a name or a value."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.engines.duckdb.quoting import identifier, literal
from discreet.engines.sql import Sql, joined, plain, sql
from discreet.errors import Bug

CONNECTION = duckdb.connect()
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=40)


@given(TEXT | st.sampled_from(["'; DROP TABLE t --", '"; DROP TABLE t --', "{a}", "$a", "\\'"]))
def test_quoted_texts_come_back_as_they_are(text: str):
    """A literal is that text, an identifier that name, in any statement."""
    statement = sql("SELECT {text} AS {name}", text=literal(text), name=identifier(text or "x"))
    found = CONNECTION.execute(statement)
    assert found.description[0][0] == (text or "x")
    assert found.fetchall() == [(text,)]


@pytest.mark.parametrize("part", ["records", "1; DROP TABLE t", 1.5, True, None, b"x", ["x"]])
def test_other_texts_do_not_get_into_a_statement(part: object):
    """What was not made here is refused, wherever it would go."""
    with pytest.raises(Bug):
        sql("SELECT {part}", part=part)  # type: ignore[arg-type]
    with pytest.raises(Bug):
        joined(", ", [part])  # type: ignore[list-item]


@pytest.mark.parametrize("name", ["", "a b", "a;b", "a.", ".a", "1a", 'a"', "a--", "é", "a\n"])
def test_plain_names_are_plain(name: str):
    """A name that would need quotes is no plain one."""
    with pytest.raises(Bug):
        plain(name)


def test_places_and_parts_go_together():
    """A place without a part, or a part without a place, is our mistake; patterns are no places."""
    with pytest.raises(Bug):
        sql("SELECT {a}")
    with pytest.raises(Bug):
        sql("SELECT 1", a=1)
    assert sql("'[0-9]{1,9}' {a} {'b': 1}", a=Sql("{a}")) == "'[0-9]{1,9}' {a} {'b': 1}"


def test_engines_put_no_statement_together_elsewhere():
    """Nothing that looks like SQL is an f-string in the engines."""
    made = re.compile(
        r"""f["'][^"']*\b(SELECT|FROM|WHERE|CAST|CREATE|JOIN|INSERT|DELETE|UPDATE)\b"""
    )
    for path in (Path(__file__).parents[2] / "src" / "discreet" / "engines").rglob("*.py"):
        assert not made.search(path.read_text("utf-8")), path.name
