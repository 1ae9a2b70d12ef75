"""What a description says of private attributes: facts that records are compared with, shared columns."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from ..core.description import Policy
from ..core.exact import exact
from ..engines.coding import Columns
from ..errors import DescriptionError, InputError
from ..file_names import DESCRIPTION


def public_facts(policy: Policy) -> str:
    """A digest of the public facts that records are compared with when they are loaded.

    The populations, and every prior that is certain of somebody's value.
    """
    parameters = policy.parameters(policy.method)
    populations = parameters.get("populations")
    text = populations.get("text", "") if isinstance(populations, dict) else ""
    if text:
        for name, one in sorted(_attributes(policy).items()):
            prior = one.get("prior") if isinstance(one, dict) else None
            if isinstance(prior, dict) and _rules_out(prior):
                text += f"\n{name}\n{prior.get('text', ' '.join(_ends(prior)))}"
    return hashlib.sha256(text.encode()).hexdigest() if text else ""


_CHANCE = re.compile(r"p[0-9]*|low|high")


def _rules_out(prior: dict[str, Any]) -> bool:
    """Whether a prior gives a value of somebody no chance, or all of it."""
    header, *rows = list(csv.reader(io.StringIO(str(prior.get("text", ""))))) or [[]]
    columns = [k for k, name in enumerate(header) if _CHANCE.fullmatch(name.strip())]
    said = [row[k] for row in rows for k in columns if k < len(row)]
    return any(map(_is_certain, [*said, *_ends(prior)]))


def _ends(prior: dict[str, Any]) -> list[str]:
    return [str(prior[key]) for key in ("value", "low", "high") if key in prior]


def _is_certain(said: str) -> bool:
    """Whether this is 0 or 1, however it is written.

    >>> [_is_certain(said) for said in ("0.0", "1e0", "7/7", "0.5", "?")]
    [True, True, True, False, False]
    """
    try:
        return exact(said, "a chance") in (0, 1)
    except InputError:
        return False


def check_columns(policy: Policy, columns: Mapping[str, Columns]) -> None:
    """Attributes that are counted from one column share one δ: refuse those not declared related."""
    attributes = _attributes(policy)
    groups: list[set[str]] = []
    for name, part in attributes.items():
        mine = _related(name, part)
        joined = [group for group in groups if group & mine]
        groups = [group for group in groups if group not in joined] + [mine.union(*joined)]
    for one, two in combinations(sorted(name for name in attributes if name in columns), 2):
        together = any({one, two} <= group for group in groups)
        if not together and _sources(columns[one]) & _sources(columns[two]):
            raise DescriptionError(
                f"{one} and {two} are private attributes of the same column, so they must share one δ. "
                f"Write `related: [{two}]` with {one} under `attributes:`.",
                file=DESCRIPTION,
            )


def _attributes(policy: Policy) -> Mapping[str, Any]:
    found = policy.parameters(policy.method).get("attributes")
    return found if isinstance(found, dict) else {}


def _related(name: str, part: Any) -> set[str]:
    """An attribute and those it is declared related to."""
    said = part.get("related") if isinstance(part, dict) else None
    if said is None or said == "none":
        return {name}
    return {name, *(map(str, said) if isinstance(said, list | tuple) else [str(said)])}


def _sources(columns: Columns) -> set[str]:
    """The columns of the source that a variable is read from."""
    return {columns.finest, *columns.levels.values()}
