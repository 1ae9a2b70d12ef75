"""The attacks over HTTP: the same games, asked of a live server as an analyst asks.

An attack can be judged only where the truth is known. So the server serves a twin: a workspace of
made-up people under the custodian's policy, one data set for every table that a game asks for.
`write_twin` writes it, `discreet serve` serves it, and a `ServedTwin` asks that server's public API and
nothing else. Attacks that need more than an analyst has (new data, erased records) stay in process.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ...core.guarantee import Guarantee
from ...core.table import ProtectedTable
from ...errors import BudgetExceeded, InputError
from ...languages import counted, number, say
from .blocks import block
from .counts import averaging, category, differencing, membership, same_set, small_cells
from .findings import Finding
from .game import Whole
from .service import CAP, SPELLINGS, USERS
from .story import Story, story
from .tables import hidden_cells, reconstruction
from .twin import CELL, Twin

MORE = "more"
"""The variable of a data set of pairs that has one person more in every category."""
AGAIN, SHARED = "twin-again", "twin-users"
"""Data sets for whoever asks one table often, and for many who ask at once."""
TRIES = 200
TIMES = 12

Ask = Callable[[str, Mapping[str, Any]], ProtectedTable]
"""Asks a data set of the server, by its name and a recipe, as an analyst would."""

SERVED: Mapping[str, Callable[[Twin], Finding]] = {
    "differencing": partial(differencing, rounds=2_000),
    "averaging": partial(averaging, rounds=60),
    "same-set": partial(same_set, rounds=2_000),
    "small-cells": partial(small_cells, rounds=2_000),
    "hidden-cells": partial(hidden_cells, rounds=500),
    "membership": partial(membership, rounds=4_000),
    "category": partial(category, rounds=4_000),
}
"""Games on what one table says; rounds are fewer than in process, because every cell has records."""
KEYED: Mapping[str, Callable[[Twin], Finding]] = {
    "reconstruction": reconstruction,
    "block": partial(block, blocks=10),
}
"""Played on tables by cell keys alone: under dp their noise is that of one question over all tables."""


def games(twin: Twin) -> Mapping[str, Callable[[Twin], Finding]]:
    """The attacks that go over HTTP against a policy."""
    return {**SERVED, **(KEYED if twin.method == "cell-key" else {})}


@dataclass(frozen=True)
class Sheet:
    """What one data set of the twin holds: people in each category, pairs with one more or not."""

    name: str
    counts: Whole = field(repr=False)
    pairs: bool = False


@dataclass
class _Names:
    """Data sets in the order in which a game asks for them; the same counts again are another."""

    seen: Counter[str] = field(default_factory=Counter)

    def next(self, counts: Whole, epsilon: str, *, pairs: bool = False) -> str:
        flat = counts.astype("<i8")
        about = f"{flat.shape} {pairs} {epsilon} ".encode() + flat.tobytes()
        digest = hashlib.sha256(about).hexdigest()[:16]
        self.seen[digest] += 1
        return f"twin-{digest}-{self.seen[digest]}"


@dataclass(frozen=True)
class PlannedTwin(Twin):
    """A twin that notes every table it is asked for: what a served twin has to hold."""

    sheets: list[Sheet] = field(default_factory=list)
    names: _Names = field(default_factory=_Names)

    def release(self, counts: Whole) -> Whole:
        """Answered in process, and noted."""
        self.sheets.append(Sheet(self.names.next(counts, self.epsilon), counts.ravel()))
        return super().release(counts)

    def with_one_more(self, sets: Whole) -> tuple[Whole, Whole]:
        """The same for sets and sets with one more."""
        name = self.names.next(sets, self.epsilon, pairs=True)
        self.sheets.append(Sheet(name, sets.ravel(), pairs=True))
        return super().with_one_more(sets)


def sheets(twin: Twin, wanted: Sequence[str] = ()) -> list[Sheet]:
    """Every data set that the games need, from playing them once in process."""
    planned = PlannedTwin(twin.description, twin.policy, twin.epsilon)
    for name, game in games(twin).items():
        if not wanted or name in wanted:
            game(planned)
    story(planned, TRIES)
    return planned.sheets


@dataclass(frozen=True)
class ServedTwin(Twin):
    """A twin that a live server answers for."""

    ask: Ask = field(repr=False, kw_only=True)
    names: _Names = field(default_factory=_Names)

    def release(self, counts: Whole) -> Whole:
        """What the server publishes of these people."""
        name = self.names.next(counts, self.epsilon)
        return self._asked(name, CELL, counts.size).reshape(counts.shape)

    def with_one_more(self, sets: Whole) -> tuple[Whole, Whole]:
        """The same people by two descriptions, the second with one more in every set."""
        name = self.names.next(sets, self.epsilon, pairs=True)
        first, second = (self._asked(name, column, sets.size) for column in (CELL, MORE))
        return first.reshape(sets.shape), second.reshape(sets.shape)

    def _asked(self, name: str, column: str, cells: int) -> Whole:
        table = self.ask(name, {"rows": [column], "totals": "none", **self._spends()})
        self._check(table.guarantee)
        values = np.asarray(table.values, dtype=np.int64).ravel()[:cells]  # nobody's cell is last
        if values.size != cells:
            raise InputError(
                f"The server's data set {name} has {values.size:,} cells where the twin has {cells:,}. "
                "Write the twin again with --keep-twin, and serve that."
            )
        return values

    def _spends(self) -> dict[str, str]:
        return {} if self.method == "cell-key" else {"epsilon": self.epsilon}

    def _check(self, said: Guarantee) -> None:
        """What the server promises is what is held against it."""
        own = self.guarantee()
        if (said.kind, said.epsilon, said.rho) != (own.kind, own.epsilon, own.rho):
            raise InputError(
                "The server promises something else than this policy: its twin was made under another. "
                "Write the twin again with --keep-twin, and serve that."
            )

    def story(self) -> Story:
        """The victim's, told from the server's answers."""
        return story(self, TRIES)


def repeated(twin: ServedTwin) -> Finding:
    """One table asked again and again over HTTP, in every spelling."""
    about = say(
        "Ask one table again and again: turned, by labels, in other letters, by other users."
    )
    more = {} if twin.method == "cell-key" else {"epsilon": "0.5"}
    seen: set[bytes] = set()
    for turn in range(TIMES):
        table = twin.ask(AGAIN, {**SPELLINGS[turn % len(SPELLINGS)], **more})
        names = [axis.variable.name for axis in table.domain.axes]
        seen.add(np.ascontiguousarray(table.values.transpose(np.argsort(names))).tobytes())
    words = counted(
        "{times} ways to ask one table gave {n} answer.",
        "{times} ways to ask one table gave {n} answers.",
        len(seen),
        times=TIMES,
    )
    fresh = (len(seen) - 1) / (TIMES - 1)
    return Finding(say("repetition"), about, 1.0, 0.9, fresh, 0.0, 0.0, fresh > 0, words, TIMES)


def together_at_once(twin: ServedTwin) -> Finding:
    """Many requests at once for different tables of one data set with a small budget."""
    about = say(
        "{users} users ask different tables at once, each as if the others were not there.",
        users=USERS,
    )
    if twin.method == "cell-key":
        why = say(
            "Cell keys spend nothing: users together have what one has, the same numbers for ever."
        )
        return Finding(say("many users"), about, 1.0, 1.0, 0.0, None, None, False, why, USERS)
    asked = [
        (f"0.{user + 11}", rows)
        for user in range(USERS)
        for rows in (["town"], ["job"], ["town", "job"])
    ]

    def spent(one: tuple[str, list[str]]) -> Fraction:
        try:
            twin.ask(SHARED, {"rows": one[1], "epsilon": one[0]})
        except BudgetExceeded:
            return Fraction(0)
        return Fraction(one[0])

    with ThreadPoolExecutor(USERS) as pool:
        losses = list(pool.map(spent, asked))
    total, alone = sum(losses, Fraction(0)), sum((Fraction(e) for e, _ in asked), Fraction(0))
    words = say(
        "{answered} of {asked} tables were answered before the budget of the data set, ε = {cap}, was "
        "spent ({spent}); the rest was refused, whoever asked.",
        answered=sum(loss > 0 for loss in losses),
        asked=len(asked),
        cap=str(CAP),
        spent=number(f"{float(total):.4g}"),
    )
    return Finding(
        say("many users"), about, float(alone > CAP), 1.0, float(total / CAP), None, 1.0, total > CAP,
        words, len(asked),
    )  # fmt: skip


ASKED: Mapping[str, Callable[[ServedTwin], Finding]] = {
    "many-users": together_at_once,
    "repetition": repeated,
}
"""Attacks on the service itself."""
