"""Words that were meant are found among few and among very many, without comparing them all."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import pytest

from discreet.errors import nearest


def test_near_words_of_fifty_thousand_are_looked_for_among_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrong code among 50,000 is answered at once: no more than 2,000 are compared by letters."""
    compared = []
    plain = difflib.get_close_matches

    def counting(word: str, among: Iterable[str], **named: Any) -> list[str]:
        listed = list(among)
        compared.append(len(listed))
        return plain(word, listed, **named)

    monkeypatch.setattr(difflib, "get_close_matches", counting)
    codes = [f"E{number:08}" for number in range(50_000)]
    assert nearest("E0000001", codes)
    assert nearest("region", ["regoin", "sex"]) == ["regoin"]
    assert compared == [2_000, 2]
