"""What a policy says to the suppression method: ε, δ, the public populations and priors."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from ...core.exact import exact
from ...core.question import digest
from ...errors import InputError
from .declaration import DECLARATION

POPULATION = "population"
NEAREST = Fraction(1, 10**12)
"""A prior nearer to 0 or 1 would be taken as certain, and records against it found only when asked."""
_ATTRIBUTE_KEYS = ("counts", "integers", "prior", "related")
_PRIOR_KEYS = ("file", "text", "value", "low", "high", "source")


@dataclass(frozen=True)
class PublicFile:
    """A public table: its columns, its rows, where it is from."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    source: str
    name: str = ""


@dataclass(frozen=True)
class Prior:
    """What readers may think of people before any release: one for all, or by type."""

    source: str
    file: PublicFile | None = None
    low: Fraction | None = None
    high: Fraction | None = None


@dataclass(frozen=True)
class Attribute:
    """A private attribute: what counts, its prior, the attributes related to it."""

    name: str
    prior: Prior
    counts: tuple[str, ...] = ()
    integers: bool = False
    related: tuple[str, ...] = ()
    """All that share its δ, whichever of them declares it."""


@dataclass(frozen=True)
class Settings:
    """All of it, read."""

    epsilon: Fraction
    delta: Fraction
    populations: PublicFile
    attributes: Mapping[str, Attribute]
    order: str
    rule: str
    priorities: tuple[str, ...] = ()
    other_people: tuple[str, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict)
    """What holds where an asker says nothing: the attribute, whether cells are decided, bins."""
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    """By attribute a digest of populations and prior: what may not change after a release."""


def read(parameters: Mapping[str, Any]) -> Settings:
    """Read and check a policy's parameters; what is wrong gets one sentence."""
    plain = {k: v for k, v in parameters.items() if not isinstance(v, Mapping | list)}
    said = DECLARATION.read_policy(plain, InputError)
    for name in parameters:
        if name not in DECLARATION.by_name:
            raise InputError(DECLARATION.unknown(name, tuple(DECLARATION.by_name)))
    for name in ("epsilon", "delta"):
        if name not in said:
            raise InputError(f'Suppression needs {name}, above 0 and below 1: `{name}: "0.2"`.')
    populations = _populations(parameters.get("populations"))
    attributes = parameters.get("attributes")
    if not isinstance(attributes, Mapping) or not attributes:
        raise InputError(
            "Suppression needs `attributes:` with what counts and a prior for each private attribute."
        )
    found = {str(name): _attribute(str(name), part) for name, part in attributes.items()}
    for one in found.values():
        for other in one.related:
            if other not in found:
                raise InputError(
                    f"attributes.{one.name}.related names {other}, which is not under `attributes:`."
                )
    found = _all_related(found)
    return Settings(
        epsilon=Fraction(said["epsilon"]),
        delta=Fraction(said["delta"]),
        populations=populations,
        attributes=found,
        order=said.get("order", "smallest risk"),
        rule=said.get("rule", "spending"),
        priorities=_texts(parameters.get("priorities"), "priorities"),
        other_people=_texts(parameters.get("other_people"), "other_people"),
        asked={name: said[name] for name in ("attribute", "cells", "bins") if name in said},
        fingerprints={
            name: digest(
                {"populations": _form(parameters["populations"]), "attribute": _form(part)}
            )
            for name, part in attributes.items()
        },
    )


def _all_related(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """Relations as they hold: both ways, and of what is related to a related one too.

    Else two attributes could spend a δ each on one that is related to both.
    """
    groups = [{one.name, *one.related} for one in attributes.values()]
    return {
        name: replace(one, related=tuple(sorted(joined_groups({name}, groups) - {name})))
        for name, one in attributes.items()
    }


def joined_groups(some: set[str], groups: Sequence[Iterable[str]]) -> set[str]:
    """Some names with all that share a group with one of them, with those of these, and on.

    >>> sorted(joined_groups({"a"}, [("b", "c"), ("a", "b"), ("d", "e")]))
    ['a', 'b', 'c']
    """
    joined = set(some)
    while more := {n for group in groups if joined & {*group} for n in group} - joined:
        joined |= more
    return joined


def _form(part: Any) -> Any:
    """A parameter as plain values, file names and sources apart: they change nothing."""
    if isinstance(part, Mapping):
        return {str(k): _form(v) for k, v in part.items() if k not in ("file", "source", "related")}
    if isinstance(part, list | tuple):
        return [_form(one) for one in part]
    return str(part)


def _texts(value: Any, name: str) -> tuple[str, ...]:
    if value is None or value == "none":
        return ()
    if isinstance(value, str | int):
        return (str(value),)
    if not isinstance(value, list | tuple):
        raise InputError(f"{name} must be a list, got {str(value)[:40]!r}.")
    return tuple(str(one) for one in value)


def _populations(value: Any) -> PublicFile:
    if not isinstance(value, Mapping) or not value.get("text") or not value.get("source"):
        raise InputError(
            "Suppression needs the public number of people of each kind and where it is from: "
            "`populations: {file: populations.csv, source: Census 2021}`. Never count them from the "
            "records that are protected."
        )
    file = _file(value, "populations")
    if POPULATION not in file.columns or len(file.columns) < 2:
        raise InputError(
            f"The populations need a column {POPULATION} and one for each public variable, got "
            f"{', '.join(file.columns)[:80]}."
        )
    return file


def _file(value: Mapping[str, Any], what: str) -> PublicFile:
    rows = [row for row in csv.reader(io.StringIO(str(value["text"]))) if row]
    if len(rows) < 2:
        raise InputError(f"The file of {what} holds no rows. Give it a header and a row a kind.")
    columns = tuple(name.strip() for name in rows[0])
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(columns):
            raise InputError(
                f"The file of {what}, line {number}, has {len(row)} values for {len(columns)} columns."
            )
    return PublicFile(
        columns,
        tuple(tuple(word.strip() for word in row) for row in rows[1:]),
        str(value["source"]),
        str(value.get("file", "")),
    )


def _attribute(name: str, part: Any) -> Attribute:
    if not isinstance(part, Mapping):
        raise InputError(f"attributes.{name} must say what counts and give a prior.")
    for key in part:
        if key not in _ATTRIBUTE_KEYS:
            raise InputError(
                f"attributes.{name} has no key {key}; it has {', '.join(_ATTRIBUTE_KEYS)}."
            )
    integers = str(part.get("integers", "no")).casefold() in ("yes", "true")
    counts = _texts(part.get("counts"), f"attributes.{name}.counts")
    if integers == bool(counts):
        raise InputError(
            f"attributes.{name} needs one of `counts: [codes that count as one]` and "
            "`integers: yes` (its codes are whole numbers from 0 on)."
        )
    return Attribute(
        name,
        _prior(name, part.get("prior")),
        counts,
        integers,
        _texts(part.get("related"), f"attributes.{name}.related"),
    )


def _prior(name: str, part: Any) -> Prior:
    said = f"attributes.{name}.prior"
    if isinstance(part, str) and "data" in part.casefold():
        raise InputError(
            f"{said} cannot be estimated from the data that are released: what readers are assumed to "
            "know already would then tell them about these people. Take it from a public source."
        )
    if not isinstance(part, Mapping) or not part.get("source"):
        raise InputError(
            f"{said} needs a value, an interval or a file by type, and its source: "
            "`prior: {low: 0.2, high: 0.4, source: a survey of 2020}`. It is never estimated from "
            "the data that are released."
        )
    for key in part:
        if key not in _PRIOR_KEYS:
            raise InputError(f"{said} has no key {key}; it has {', '.join(_PRIOR_KEYS)}.")
    source = str(part["source"])
    if "text" in part:
        return Prior(source, _file(part, f"the prior of {name}"))
    if "value" in part:
        value = chance(part["value"], f"{said}.value")
        return Prior(source, None, value, value)
    if "low" not in part or "high" not in part:
        raise InputError(f"{said} needs `value`, or `low` and `high`, or a `file`.")
    low, high = chance(part["low"], f"{said}.low"), chance(part["high"], f"{said}.high")
    if low > high:
        raise InputError(f"{said} has low above high. Write the smaller one as low.")
    return Prior(source, None, low, high)


def chance(value: Any, name: str, *, of_several: bool = False) -> Fraction:
    """A probability: 0, 1, or one that floats tell from both well enough to count with.

    One `of_several` values may be as small as it likes.
    """
    found = exact(str(value), name, least=0, most=1, error=InputError)
    near = 1 - found if of_several else min(found, 1 - found)
    if 0 < near < NEAREST:
        raise InputError(
            f"{name} must be 0, 1 or no nearer to either than {float(NEAREST):g}, got "
            f"{float(found):.3g}. Write 0 or 1 if nobody, or everybody, has the value."
        )
    return found


def names_of(columns: Sequence[str], reserved: Sequence[str]) -> tuple[str, ...]:
    """The columns that name variables."""
    return tuple(name for name in columns if name not in reserved)
