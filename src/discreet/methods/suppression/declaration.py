"""What the suppression method is and which settings it has."""

from __future__ import annotations

import re
from typing import Any

from ...core.family import Family
from ..declaration import Declaration, Fails, Part, Setting, Spends, number, one_of, yes_or_no

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def name_of_variable(value: Any, name: str, fails: Fails) -> str:
    """The name of a variable; case does not matter.

    >>> name_of_variable(" Gene", "attribute", ValueError)
    'gene'
    """
    text = str(value).strip().casefold()
    if not _NAME.fullmatch(text):
        raise fails(f"{name} must be the name of a private attribute, got {str(value)[:40]!r}.")
    return text


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
