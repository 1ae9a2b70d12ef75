"""What the suppression method is and which settings it has."""

from __future__ import annotations

import re
from typing import Any

from ...core.exact import shown
from ...core.family import Family
from ...errors import InputError
from ...languages import say
from ..declaration import (
    Declaration,
    Fails,
    Part,
    Setting,
    Spends,
    number,
    one_of,
    whole,
    yes_or_no,
)

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
MOST_BINS = 1000
_BINS = whole(2, MOST_BINS)


def name_of_variable(value: Any, name: str, fails: Fails) -> str:
    """The name of a variable; case does not matter.

    >>> name_of_variable(" Gene", "attribute", ValueError)
    'gene'
    """
    text = str(value).strip().casefold()
    if not _NAME.fullmatch(text):
        raise fails(f"{name} must be the name of a private attribute, got {str(value)[:40]!r}.")
    return text


def number_of_bins(value: Any, name: str, fails: Fails) -> str:
    """How many bins categories are joined to at most: for all axes, or for each variable.

    >>> number_of_bins("Hair=3, eyes=2", "bins", ValueError), number_of_bins(4, "bins", ValueError)
    ('eyes=2,hair=3', '4')
    """
    text = str(value).strip().casefold()
    if text in ("no", "none", "false"):
        return "no"
    found: dict[str, int] = {}
    for part in text.split(","):
        variable, _, many = (word.strip() for word in part.rpartition("="))
        try:
            bins = int(_BINS(many, name, InputError))
        except InputError:
            bins = 0
        if not bins or variable in found:
            raise fails(
                say(
                    "{name} must be a number from 2 to {most}, or one for each variable like "
                    "eyes=2,hair=3, got {value}.",
                    name=name,
                    most=MOST_BINS,
                    value=shown(value),
                )
            )
        found[variable] = bins
    if "" in found:
        return str(found[""]) if len(found) == 1 else number_of_bins("", name, fails)
    return ",".join(f"{variable}={many}" for variable, many in sorted(found.items()))


ORDERS = ("smallest risk", "rows")
RULES = ("spending", "share")

DECLARATION = Declaration(
    name="suppression",
    family=Family.SUPPRESSION,
    spends=Spends.RECORD,
    home=(".suppression.method", "SuppressionMethod"),
    summary="exact counts of a private attribute or a star, decided without looking",
    default=True,
    settings=(
        Setting(
            "attribute",
            Part.MEASURED,
            "the private attribute that is counted",
            name_of_variable,
            default="the only one there is",
        ),
        Setting(
            "cells",
            Part.MEASURED,
            "whether the cells are decided too, or the totals alone",
            yes_or_no,
            "yes",
            words=("yes", "no"),
        ),
        Setting(
            "bins",
            Part.MEASURED,
            "to how many bins categories are joined at most, split while δ bears it",
            number_of_bins,
            "no",
        ),
        Setting(
            "epsilon",
            Part.POLICY,
            "how far a reader's belief about one person may move, as a part of it",
            number(above=0, below=1),
            asked=False,
            exact=True,
        ),
        Setting(
            "delta",
            Part.POLICY,
            "the chance that it moves further, for everything ever released about one attribute",
            number(above=0, below=1),
            asked=False,
            exact=True,
        ),
        Setting(
            "order",
            Part.POLICY,
            "which cell is decided next",
            one_of(*ORDERS),
            ORDERS[0],
            asked=False,
            words=ORDERS,
        ),
        Setting(
            "rule",
            Part.POLICY,
            "spending: while δ lasts; share: at most δ / number of cells and totals for each",
            one_of(*RULES),
            RULES[0],
            asked=False,
            words=RULES,
        ),
        Setting(
            "priorities",
            Part.POLICY,
            "categories whose cells are decided first, a public list",
            asked=False,
        ),
        Setting(
            "populations",
            Part.POLICY,
            "the public file of how many people there are of each kind, and its source",
            asked=False,
        ),
        Setting(
            "attributes",
            Part.POLICY,
            "for each private attribute what counts, its prior with source, related ones",
            asked=False,
        ),
        Setting(
            "other_people",
            Part.POLICY,
            "earlier data versions declared to be of other people",
            asked=False,
        ),
    ),
)
