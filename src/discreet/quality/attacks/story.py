"""One story a reader remembers: a made-up victim, found by subtraction; and the same attempt again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .twin import Twin

VICTIM, VILLAGE = "Ada Quill", "Lower Wick"
COLUMNS = ("asthma", "flu", "migraine", "epilepsy")
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

    def sentences(self) -> tuple[str, ...]:
        """The story; everybody in it is made up."""
        row = ", ".join(f"{name} {n}" for name, n in zip(COLUMNS, self.small_rule, strict=False))
        kept = ", ".join(f"{name} {n}" for name, n in zip(COLUMNS, self.protected, strict=False))
        parts = " − ".join(self.small_rule[:-2])
        total = self.small_rule[-1]
        noisy = " − ".join(str(n) for n in self.protected[:-2])
        return (
            f"{VICTIM} lives in {VILLAGE} (both are made up). A clinic publishes a table and hides every "
            f"count from 1 to {HIDDEN_BELOW - 1}: {row}; total {total}.",
            f"A neighbour subtracts: {total} − {parts} = {self.recovered}. One person in {VILLAGE} has "
            f"epilepsy, and the neighbour knows who was seen at that clinic: {VICTIM}.",
            f"Under this policy the same row reads: {kept}; total {self.protected[-1]}. The same "
            f"subtraction gives {self.protected[-1]} − {noisy} = {self.guess}.",
            f"Over {TRIES:,} releases that nobody made, the subtraction hits the truth in "
            f"{self.hits:.0%}; the neighbour cannot know in which.",
        )


def story(twin: Twin) -> Story:
    """Tell it: the rule's row is exact, the policy's is drawn."""
    counts = np.array([*COUNTS, sum(COUNTS)])
    shown = tuple("*" if 0 < n < HIDDEN_BELOW else str(n) for n in counts.tolist())
    recovered = int(counts[-1]) - sum(int(n) for n in shown[:-1] if n != "*")
    released = twin.release(np.repeat(counts[None, :], TRIES, axis=0))
    guesses = released[:, -1] - released[:, :3].sum(axis=1)
    wrong = np.flatnonzero(guesses != COUNTS[-1])
    first = int(wrong[0]) if len(wrong) else 0
    return Story(
        shown,
        recovered,
        tuple(int(n) for n in released[first]),
        int(guesses[first]),
        float((guesses == COUNTS[-1]).mean()),
    )
