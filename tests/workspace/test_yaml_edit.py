"""One value of a YAML file is changed, and nothing else: no comment, no order, no other value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.workspace.writer import scalar
from discreet.workspace.yaml_edit import with_value
from discreet.workspace.yaml_reader import read_text

FILE = "discreet.yaml"


@pytest.mark.parametrize(
    ("before", "path", "value", "after"),
    [
        ("budget: {epsilon: 1} # why\n", ["budget"], {"rho": "2"}, 'budget: {rho: "2"}\n'),
        (
            "budget:\n  epsilon: 1\n\n  delta: 1e-9\n\n# rules\nrules: {}\n",
            ["budget"],
            {"epsilon": "2"},
            'budget: {epsilon: "2"}\n\n# rules\nrules: {}\n',
        ),
        ("'budget': {epsilon: 1}", ["budget"], {"epsilon": "2"}, 'budget: {epsilon: "2"}\n'),
        ("a:\n  s: found # x\n", ["a", "s"], "declared", "a:\n  s: declared # x\n"),
        ("a:\n  's': 'found'\n", ["a", "s"], "declared", "a:\n  's': declared\n"),
        ("a: {s: found, t: found}\n", ["a", "t"], "declared", "a: {s: found, t: declared}\n"),
        ("a:\n  # x\n  t: 1\n", ["a", "s"], "declared", "a:\n  # x\n  s: declared\n  t: 1\n"),
        ("b: {a: {t: 1}}\n", ["b", "a", "s"], "declared", "b: {a: {s: declared, t: 1}}\n"),
    ],
)
def test_a_value_is_changed_in_its_place(before, path, value, after) -> None:
    assert with_value(before, path, value, FILE) == after


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("budget: {\nepsilon: 1\n}\n", ["budget"]),  # ends where a new key would begin
        ("a:\n  s: >-\n    found\n", ["a", "s"]),  # the word stands on a line without its key
    ],
)
def test_what_cannot_be_changed_in_its_place_is_refused(text: str, path: list[str]) -> None:
    with pytest.raises(InputError, match="by hand"):
        with_value(text, path, {"epsilon": "2"} if path == ["budget"] else "declared", FILE)


WORDS = st.text("abc :#'\"{}[],é-", min_size=1, max_size=6)


@given(st.dictionaries(WORDS, st.dictionaries(WORDS, WORDS, min_size=1), min_size=1), st.data())
def test_no_other_value_ever_changes(blocks: dict[str, dict[str, str]], data) -> None:
    """Any keys and texts, in lines or in braces: changed alone, or refused."""
    text = ""
    for name, block in blocks.items():
        pairs = [f"{scalar(key)}: {scalar(value)}" for key, value in block.items()]
        if data.draw(st.booleans()):
            text += f"{scalar(name)}: {{{', '.join(pairs)}}}\n"
        else:
            text += f"{scalar(name)}: # {name[:1]}\n" + "".join(f"  {pair}\n" for pair in pairs)
    name = data.draw(st.sampled_from(sorted(blocks)))
    key = data.draw(st.sampled_from([*sorted(blocks[name]), "status"]))
    wished = {**blocks, name: {**blocks[name], key: "declared"}}
    try:
        after = with_value(text, [name, key], "declared", FILE)
    except InputError:
        return
    assert read_text(after).plain() == wished
