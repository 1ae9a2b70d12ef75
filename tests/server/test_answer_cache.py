"""Finished answers in memory: bounded by all that they take, the longest unused gone first."""

from __future__ import annotations

from discreet.server.answer_cache import Answer, AnswerCache


def answer(tag: str, size: int) -> Answer:
    return Answer(tag, "d", "1", "q", "v", 1, "text/csv", "en", {}, b"x" * size)


def test_small_answers_count_with_what_lies_beside_them() -> None:
    """Ten thousand answers of a few bytes do not take twenty times the room agreed."""
    room = 1 << 20
    cache = AnswerCache(room)
    for number in range(10_000):
        cache.put(answer(str(number), 10))
    left = [number for number in range(10_000) if cache.get(str(number)) is not None]
    assert left == list(range(10_000 - len(left), 10_000))
    assert 0 < len(left) * 2048 <= room


def test_one_answer_put_again_counts_once_and_a_huge_one_is_not_kept() -> None:
    cache = AnswerCache(1 << 20)
    for _ in range(1_000):
        cache.put(answer("same", 100_000))
    cache.put(answer("huge", 1 << 20))
    assert cache.get("same") is not None
    assert cache.get("huge") is None
    cache.put(answer("other", 100_000))
    assert cache.get("same") is not None
