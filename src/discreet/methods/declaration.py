"""What a method is, declared once: its family, what it spends, and its settings.

From these declarations come the recipe's reader, the forms of the HTTP API, the options of the
command line, `/config` and the tables in the documentation; nothing outside a method's room lists
its settings. Declarations load neither numpy nor the method's work, so `discreet --help` is quick.

A setting is *measured* (it changes what is drawn, so it is part of the question's hash), *treated*
(a function of stored measurements: free, changed at will, never part of that hash) or of the
*policy* (it changes no number: a limit, a word). Policies may write all of them, askers those with
`asked`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from ..core.exact import exact, plain, shown
from ..core.family import Family
from ..errors import RecipeError, did_you_mean
from ..languages import Number, say

Fails = Callable[[str], Exception]
Reader = Callable[[Any, str, Fails], str]
"""A value as somebody wrote it, the setting's name, the error to raise → its canonical text."""


class Part(StrEnum):
    """What a setting changes."""

    MEASURED = "measured"
    TREATED = "treated"
    POLICY = "policy"


class Spends(StrEnum):
    """What an answer of a method uses up."""

    NOTHING = "nothing"
    """Recomputed at will from keys or from records that are no secret."""
    LOSS = "loss"
    """Privacy loss, charged against a budget before anything is answered."""
    RECORD = "record"
    """A record of what was released, on which later answers depend."""


def text(value: Any, name: str, fails: Fails) -> str:
    """Any text as it stands."""
    return str(value).strip()


def number(**bounds: int | None) -> Reader:
    """An exact number within bounds: above, least, below, most.

    >>> number(above=0)("5e-1", "epsilon", ValueError)
    '0.5'
    """

    def read(value: Any, name: str, fails: Fails) -> str:
        return plain(exact(value, name, error=fails, **bounds))

    return read


def whole(least: int = 0, most: int = 10**9) -> Reader:
    """A whole number, however it is written.

    >>> whole()("20.0", "within", ValueError)
    '20'
    """

    def read(value: Any, name: str, fails: Fails) -> str:
        number = exact(value, name, least=least, most=most, error=fails)
        if number.denominator != 1:
            raise fails(
                say(
                    "{name} must be a whole number ≥ {least}, got {number}.",
                    name=name,
                    least=least,
                    number=Number(plain(number)),
                )
            )
        return plain(number)

    return read


def portion(value: Any, name: str, fails: Fails) -> str:
    """A part of the whole, as a number below 1 or in per cent.

    >>> portion("95 %", "of", ValueError)
    '0.95'
    """
    words = str(value).strip()
    percent = words.endswith("%")
    part = exact(words.rstrip("%").strip(), name, above=0, error=fails) / (100 if percent else 1)
    if part >= 1:
        raise fails(
            say(
                "{name} must be below 100 %, got {words}. Write 95% or 0.95.",
                name=name,
                words=shown(words),
            )
        )
    return plain(part)


def one_of(*known: str) -> Reader:
    """One of a few words; case, hyphens and blanks do not matter.

    >>> one_of("none", "least squares")(" Least-Squares", "consistency", ValueError)
    'least squares'
    """
    by_form = {word.replace("-", " "): word for word in known}

    def read(value: Any, name: str, fails: Fails) -> str:
        form = " ".join(str(value).replace("-", " ").replace("_", " ").split()).casefold()
        if form not in by_form:
            raise fails(
                say(
                    "{name} must be one of {names}, got {value}.{form}",
                    name=name,
                    names=", ".join(known),
                    value=shown(value),
                    form=did_you_mean(form, known),
                )
            )
        return by_form[form]

    return read


def yes_or_no(value: Any, name: str, fails: Fails) -> str:
    """Yes or no, in the words YAML and people use."""
    word = str(value).strip().casefold()
    if word in ("yes", "true", "on", "1"):
        return "yes"
    if word in ("no", "false", "off", "0"):
        return "no"
    raise fails(say("{name} must be yes or no, got {value}.", name=name, value=shown(value)))


@dataclass(frozen=True)
class Setting:
    """One setting of a method."""

    name: str
    part: Part
    help: str
    """A phrase for `--help`, `/config` and the documentation."""
    read: Reader = text
    default: str = "none"
    """What holds where nobody says anything, in words that can be said."""
    asked: bool = True
    """Whether an asker may say it, or the policy alone."""
    words: tuple[str, ...] = ()
    """The words it may be, where they are few."""
    exact: bool = False
    """An exact number: text in JSON, because 0.1 as a float is something else."""
    budget: bool = False
    """Whether it says how much a question spends, and nothing else of what is measured."""
    amount: bool = False
    """Whether it is that amount itself: so many times as much of it is the same question, dearer."""

    def to_json(self) -> dict[str, Any]:
        """The declaration as plain values."""
        return {
            "name": self.name,
            "part": str(self.part),
            "help": self.help,
            "default": self.default,
            "asked": self.asked,
            "words": list(self.words),
        }


def choice(name: str, part: Part, help: str, words: tuple[str, ...], default: str) -> Setting:
    """A setting that is one of a few words."""
    return Setting(name, part, help, one_of(*words), default, words=words)


def amount(name: str, help: str, most: int | None = None, part: Part = Part.MEASURED) -> Setting:
    """A loss, exact: what a question spends, or in a policy the most it may."""
    spent = part is not Part.POLICY
    read = number(above=0, most=most)
    return Setting(name, part, help, read, asked=spent, exact=True, budget=spent, amount=spent)


LOSS_LIMITS = (
    amount(
        "epsilon_most", "the most ε a question may ask; alone it holds for ρ too", None, Part.POLICY
    ),
    amount(
        "rho_most", "the most ρ a question may ask; alone it holds for ε too", None, Part.POLICY
    ),
)


@dataclass(frozen=True)
class Declaration:
    """A method before any of it is loaded."""

    name: str
    family: Family
    spends: Spends
    home: tuple[str, str]
    """The module, from the room of methods, and the class in it."""
    summary: str
    settings: tuple[Setting, ...] = ()
    default: bool = False
    """Whether a data set of this family uses it where its policy names none."""
    nothing_to_set: str = ""
    """Why an asker can set nothing about what is measured, where that is so."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """Sentences for names that people try and that this method has no use for."""

    @cached_property
    def by_name(self) -> dict[str, Setting]:
        """All settings, those of the policy included."""
        return {setting.name: setting for setting in self.settings}

    @cached_property
    def budgets(self) -> frozenset[str]:
        """The settings that say how much a question spends."""
        return frozenset(setting.name for setting in self.settings if setting.budget)

    def asked(self, part: Part | None = None) -> tuple[Setting, ...]:
        """What an asker may say, of one part or of all."""
        return tuple(s for s in self.settings if s.asked and part in (None, s.part))

    def read(
        self, given: Mapping[str, Any], fails: Fails = RecipeError
    ) -> dict[Part, dict[str, str]]:
        """What an asker says, in canonical text, by part; what is not a setting is refused."""
        known = {setting.name: setting for setting in self.asked()}
        said: dict[Part, dict[str, str]] = {part: {} for part in Part}
        for name, value in given.items():
            if value is None or value == "":
                continue  # an empty field of a form says nothing
            if name not in known:
                raise fails(self.unknown(name, tuple(known)))
            setting = known[name]
            said[setting.part][name] = setting.read(value, name, fails)
        return said

    def read_policy(self, given: Mapping[str, Any], fails: Fails) -> dict[str, str]:
        """What a policy writes, in canonical text; values that are no text are left out."""
        known = self.by_name
        said = {}
        for name, value in given.items():
            if name not in known:
                raise fails(self.unknown(str(name), tuple(known)))
            if value is not None and not isinstance(value, Mapping):
                said[name] = known[name].read(value, name, fails)
        return said

    def unknown(self, name: str, known: tuple[str, ...]) -> str:
        """What is said of a setting this method does not have, or that the policy alone may say."""
        if name in self.hints:
            return self.hints[name]
        if self.nothing_to_set and not known:
            return say(
                "A {name} table takes no {name_2}: {nothing_to_set}. Leave {name_2} out.",
                name=self.name,
                name_2=name[:40],
                nothing_to_set=self.nothing_to_set,
            )
        if name in self.by_name:
            return say(
                "{name} is set by the policy of the data set, not by who asks. Leave {name} out.",
                name=name,
            )
        fixed = f" ({self.nothing_to_set})" if self.nothing_to_set else ""
        return say(
            "The {name} method has no setting {name_2}{fixed}.{name_3} It has {names}.",
            name=self.name,
            name_2=name[:40],
            fixed=fixed,
            name_3=did_you_mean(name, known),
            names=", ".join(known),
        )
