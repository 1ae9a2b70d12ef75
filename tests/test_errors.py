"""Words that were meant are found among few and among very many, without comparing them all."""

from __future__ import annotations

import difflib

import pytest

from discreet.errors import nearest


def test_near_words_of_fifty_thousand_are_looked_for_among_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrong code among 50,000 is answered at once: few are compared letter by letter, the right ones."""
    compared = []
    plain = difflib.SequenceMatcher.set_seq1

    def counting(matcher: difflib.SequenceMatcher[str], word: str) -> None:
        compared.append(word)
        plain(matcher, word)

    monkeypatch.setattr(difflib.SequenceMatcher, "set_seq1", counting)
    codes = [f"E{number:08}" for number in range(50_000)]
    assert nearest("E00043x21", codes) == ["E00043921", "E00043821", "E00043721"]
    assert nearest("E0O043721", codes)[0] == "E00043721"  # a letter for a digit
    assert nearest("e0043721", codes)[0] == "E00043721"  # a digit lost
    assert nearest("F00043721", codes)[0] == "E00043721"  # another beginning
    assert len([word for word in compared if word]) <= 4 * 500
    assert nearest("region", ["regoin", "sex"]) == ["regoin"]
