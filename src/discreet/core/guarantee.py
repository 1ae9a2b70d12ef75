"""What a table promises, of which kind, to whom; and how that is said.

Kinds never convert: *dp* composes and is charged; *law* is the exact (ε, δ) of one cell's
perturbation asked once, all that cell-key tables can claim; *semantic* is suppression's, against
readers who hold the stated prior; *none* is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

from ..languages import Number, Sentence, known, listed, number, say, says, together
from .exact import exact, plain, rounded_up
from .loss import ZcdpLoss
from .portrait import Portrait, Portrayed
from .text import Text

SAID_DELTA = Fraction(1, 10**6)
"""δ at which a ρ guarantee is said in ε."""


_NUMBERS = ("epsilon", "delta", "rho")
_TEXTS = ("invariants", "notices", "caveats", "odds", "risks")
_WORDS = ("unit", "neighbours", "scope", *_TEXTS)


class Kind(StrEnum):
    """Of which kind a guarantee is."""

    DP = "dp"
    LAW = "law"
    SEMANTIC = "semantic"
    NONE = "none"


@dataclass(frozen=True, repr=False)
class Guarantee(Portrayed):
    """A promise with its kind, unit and neighbours; `exact` or a bound.

    `invariants` are what is published exactly, outside the promise. `composition` are (ε, δ) that
    the release keeps besides, its plan being fixed before anything was drawn; never what is charged.
    """

    kind: Kind
    unit: str
    neighbours: str
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    exact: bool = True
    scope: str = say("this table")
    invariants: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    """What a reader must know before using a number: it stands under every table."""
    caveats: tuple[str, ...] = ()
    odds: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    """What known attacks on the method achieve, computed: for the guarantee's details."""
    composition: tuple[tuple[Fraction, Fraction], ...] = ()

    def portrait(self) -> Portrait:
        """The promise, its odds, and what limits it."""
        named = (
            ("odds", self.odds),
            ("limits", (*self.notices, *self.caveats)),
            ("risks", self.risks),
        )
        facts = [
            ("" if number else name, words)
            for name, texts in named
            for number, words in enumerate(
                (*texts, self.counted_as_one()) if name == "odds" else texts
            )
            if words
        ]
        return Portrait(self.sentence(), [(name or " ", words) for name, words in facts])

    def sentence(self) -> Sentence:
        """The guarantee in one sentence, ε and δ never rounded down.

        >>> Guarantee(Kind.DP, "person", "add or remove one", Fraction(1, 2), Fraction(0)).sentence()
        'Differentially private with ε = 0.5 (neighbours: add or remove one person), for this table.'
        """
        if self.kind is Kind.NONE:
            return say("No guarantee of privacy is given.")
        if not self.invariants:
            return self._promise()
        exactly = say(
            "Published exactly and not protected: {what}.",
            what=together(*self.invariants, between=", "),
        )
        return together(self._promise(), exactly)

    def _promise(self) -> Sentence:
        facts = {
            "numbers": self._numbers(),
            "how": say(
                "neighbours: {neighbours} {unit}",
                neighbours=neighbours_words(self.neighbours),
                unit=unit_words(self.unit),
            ),
            "scope": self.scope,
        }
        if self.kind is Kind.DP and self.rho is None:
            return say("Differentially private with {numbers} ({how}), for {scope}.", **facts)
        if self.kind is Kind.DP:
            return say(
                "Zero-concentrated differentially private with {numbers} ({how}), for {scope}.",
                **facts,
            )
        if self.kind is Kind.LAW and self.epsilon is None:
            return say(
                "No differential privacy is claimed for this table, nor for one cell of it: no "
                "finite ε covers its perturbation ({how}).",
                **facts,
            )
        if self.kind is Kind.LAW:
            return say(
                "No differential privacy is claimed for this table: one cell, asked once, is "
                "perturbed with {numbers} ({how}); many cells or many questions together are not "
                "covered by that figure.",
                **facts,
            )
        return say(
            "Semantic privacy with {numbers} against readers who hold the stated prior, for "
            "{scope}.",
            **facts,
        )

    def brief(self) -> Sentence:
        """The sentence, or its first clause where no promise is made: for one line under a table.

        >>> Guarantee(Kind.LAW, "person", "add or remove one").brief()
        'No differential privacy is claimed for this table.'
        """
        if self.kind is Kind.LAW and not self.invariants:
            return say("No differential privacy is claimed for this table.")
        return self.sentence()

    def _numbers(self) -> Sentence:
        sign = "=" if self.exact else "≤"
        if self.rho is not None:
            return say(
                "ρ {sign} {rho}, so ε ≤ {epsilon} with δ = {delta}",
                sign=sign,
                rho=_short(self.rho),
                epsilon=number(rounded_up(self.epsilon_of_rho, 4)),
                delta=number(plain(SAID_DELTA)),
            )
        if self.epsilon is None:
            return say("no finite ε")
        text = together(f"ε {sign}", _short(self.epsilon))
        if self.delta:
            text = together(text, together("δ ≤", number(rounded_up(self.delta, 4))), between=", ")
        return text

    @property
    def epsilon_of_rho(self) -> Fraction:
        """What ρ keeps in ε at δ = 0.000001: of this plan where that is known, else of any."""
        for epsilon, delta in self.composition:
            if delta == SAID_DELTA:
                return epsilon
        return ZcdpLoss(self.rho or 0).to_approximate(SAID_DELTA).epsilon

    def counted_as_one(self) -> Sentence | None:
        """What the plan keeps when all its draws are counted as one, where that is less.

        >>> point = Fraction(9, 10), Fraction(1, 10**6)
        >>> Guarantee(Kind.DP, "person", "replace one", Fraction(1), composition=(point,)).counted_as_one()
        'All draws of this plan counted as one keep ε ≤ 0.9 with δ ≤ 0.000001; it is charged as said.'
        """
        if self.rho is not None or not self.composition:
            return None
        points = [
            say("ε ≤ {epsilon} with δ ≤ {delta}", epsilon=_short(e), delta=_short(d))
            for e, d in self.composition
        ]
        return say(
            "All draws of this plan counted as one keep {points}; it is charged as said.",
            points=listed(points),
        )

    def to_json(self, language: str = "") -> dict[str, Any]:
        """The guarantee as plain values, its words in a language; exact numbers as text."""
        return {
            "kind": str(self.kind),
            "epsilon": None if self.epsilon is None else plain(self.epsilon),
            "delta": None if self.delta is None else rounded_up(self.delta, 12),
            "rho": None if self.rho is None else plain(self.rho),
            "unit": says(unit_words(self.unit), language),
            "neighbours": says(neighbours_words(self.neighbours), language),
            "exact": self.exact,
            "scope": says(self.scope, language),
            **{name: [says(words, language) for words in getattr(self, name)] for name in _TEXTS},
            "composition": [
                {"epsilon": rounded_up(epsilon, 12), "delta": rounded_up(delta, 12)}
                for epsilon, delta in self.composition
            ],
            "sentence": self.sentence().says(language),
        }

    def to_stored(self, languages: Iterable[str] = ()) -> dict[str, Any]:
        """As `to_json`, with its words in further languages where they are others there.

        >>> made = Guarantee(Kind.DP, "patient", "replace one", Fraction(1))
        >>> Guarantee.from_json(made.to_stored(["de"])).unit.says("de")
        'Patient'
        """
        own, others = self.to_json(), {}
        for language in dict.fromkeys((*known(), *languages)):
            told = self.to_json(language)
            if words := {name: told[name] for name in _WORDS if told[name] != own[name]}:
                others[language] = words
        return own | ({"languages": others} if others else {})

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Guarantee:
        """Read back what `to_json` wrote; its δ was rounded up, so nothing is understated.

        >>> made = Guarantee(Kind.DP, "person", "add or remove one", Fraction(1, 3), Fraction(0))
        >>> Guarantee.from_json(made.to_json()) == made
        True
        """
        facts = {**facts, **_all_words(facts)}
        given: dict[str, Any] = {n: facts[n] for n in ("exact", "scope") if n in facts}
        given |= {n: exact(facts[n], n) for n in _NUMBERS if facts.get(n) is not None}
        given |= {n: tuple(facts.get(n, ())) for n in _TEXTS}
        given["composition"] = tuple(
            (exact(point["epsilon"], "epsilon"), exact(point["delta"], "delta"))
            for point in facts.get("composition", ())
        )
        return cls(Kind(facts["kind"]), facts["unit"], facts["neighbours"], **given)

    def for_scope(self, scope: str) -> Guarantee:
        """The same promise said of another scope."""
        return replace(self, scope=scope)


def _all_words(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Words that were stored in several languages, as texts that are said later."""
    others: Mapping[str, Mapping[str, Any]] = facts.get("languages", {})

    def text(own: str, by_language: dict[str, str]) -> str:
        return Text.of({"": own, **by_language}).sentence()

    words: dict[str, Any] = {}
    for name in _WORDS:
        told = {language: said[name] for language, said in others.items() if name in said}
        if told and name in _TEXTS:
            lines = enumerate(facts[name])
            words[name] = [text(own, {lang: told[lang][i] for lang in told}) for i, own in lines]
        elif told:
            words[name] = text(facts[name], told)
    return words


def unit_words(unit: str) -> str:
    """A unit of protection as it is said: the usual ones are there in every language.

    >>> unit_words("household").says("de"), unit_words("Betrieb")
    ('Haushalt', 'Betrieb')
    """
    return _UNITS.get(unit, unit) if type(unit) is str else unit


def neighbours_words(words: str) -> str:
    """What makes two data sets neighbours, as it is said."""
    return _NEIGHBOURS.get(words, words) if type(words) is str else words


_UNITS = {
    str(words): words
    for words in (
        *(say("person"), say("people"), say("record"), say("household"), say("case")),
        *(say("patient"), say("employee"), say("pupil"), say("student"), say("company")),
        *(say("event"), say("stay"), say("death"), say("birth")),
    )
}
_NEIGHBOURS = {
    str(words): words for words in (say("add or remove one"), say("replace one"), say("not used"))
}


def _short(exactly: Fraction) -> Number:
    """A number as it is where that is short, else in five digits, rounded up."""
    text = plain(exactly)
    return number(text if len(text) <= 8 else rounded_up(exactly, 5))
