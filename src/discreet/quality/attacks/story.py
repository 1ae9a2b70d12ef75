"""One story a reader remembers: a made-up victim, found by subtraction; and the same attempt again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...languages import Sentence, say, together
from .findings import percent
from .twin import Twin

VICTIM, VILLAGE = "Ada Quill", "Lower Wick"
COLUMNS = (say("asthma"), say("flu"), say("migraine"), say("epilepsy"))
COUNTS = (24, 31, 18, 1)
HIDDEN_BELOW = 6
TRIES = 2_000


@dataclass(frozen=True)
class Story:
    """What the village reads, and what follows."""

    small_rule: tuple[str, ...]
    """The row as the small-number rule publishes it, the total last."""
    recovered: int
    protected: tuple[int, ...]
    """The row as the policy publishes it, the total last."""
    guess: int
    hits: float
    """In how many of so many releases the same subtraction hits the truth."""
    tries: int = TRIES

    def sentences(self) -> tuple[str, ...]:
        """The story; everybody in it is made up."""
        parts, total = self.small_rule[:-2], self.small_rule[-1]
        noisy = [str(n) for n in self.protected]
        return (
            say(
                "{victim} lives in {village} (both are made up). A clinic publishes a table and hides "
                "every count from 1 to {most}: {row}; total {total}.",
                victim=VICTIM,
                village=VILLAGE,
                most=HIDDEN_BELOW - 1,
                row=_row(self.small_rule),
                total=total,
            ),
            say(
                "A neighbour subtracts: {total} − {parts} = {found}. One person in {village} has epilepsy, "
                "and the neighbour knows who was seen at that clinic: {victim}.",
                total=total,
                parts=" − ".join(parts),
                found=self.recovered,
                village=VILLAGE,
                victim=VICTIM,
            ),
            say(
                "Under this policy the same row reads: {row}; total {total}. The same subtraction gives "
                "{total} − {parts} = {found}.",
                row=_row(noisy),
                total=noisy[-1],
                parts=" − ".join(noisy[:-2]),
                found=str(self.guess),
            ),
            say(
                "Over {tries} releases that nobody made, the subtraction hits the truth in {hits}; the "
                "neighbour cannot know in which.",
                tries=self.tries,
                hits=percent(self.hits, 0),
            ),
        )


def _row(counts: Sequence[str]) -> Sentence:
    cells = (together(name, n) for name, n in zip(COLUMNS, counts, strict=False))
    return together(*cells, between=", ")


def story(twin: Twin, tries: int = TRIES) -> Story:
    """Tell it: the rule's row is exact, the policy's is drawn."""
    counts = np.array([*COUNTS, sum(COUNTS)])
    shown = tuple("*" if 0 < n < HIDDEN_BELOW else str(n) for n in counts.tolist())
    recovered = int(counts[-1]) - sum(int(n) for n in shown[:-1] if n != "*")
    released = twin.release(np.repeat(counts[None, :], tries, axis=0))
    guesses = released[:, -1] - released[:, :3].sum(axis=1)
    wrong = np.flatnonzero(guesses != COUNTS[-1])
    first = int(wrong[0]) if len(wrong) else 0
    return Story(
        shown,
        recovered,
        tuple(int(n) for n in released[first]),
        int(guesses[first]),
        float((guesses == COUNTS[-1]).mean()),
        tries,
    )
