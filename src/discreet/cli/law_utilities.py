"""`discreet law exponential`: the exponential mechanism for a utility that a file gives."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from ..errors import LawError
from .laws import (
    PLAINLY,
    Delta,
    Epsilon,
    KeyBits,
    Quantiser,
    Telling,
    law_facts,
    print_law,
    tell,
    told,
)

_COLUMNS = (["perturbation", "utility"], ["count", "value", "utility"])
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")


def add_to(app: typer.Typer) -> None:
    """Add the command of this room."""
    app.command("exponential")(exponential)


@told
def exponential(
    epsilon: Epsilon,
    utility: Annotated[
        Path, Option(help="CSV: perturbation,utility or count,value,utility.", metavar="FILE")
    ],
    count: Annotated[int, Option(help="Of a utility by count: show this count's law.")] = 0,
    delta: Delta = None,
    key_bits: KeyBits = 64,
    quantiser: Quantiser = "symmetric",
    telling: Telling = PLAINLY,
) -> None:
    """The exponential mechanism for any utility: likelier values are those that are worth more.

    [bold]discreet law exponential --epsilon 1 --utility worth.csv[/bold]   (rinott 4.6, 4.7)

    A file of perturbation,utility makes one law for every count (Theorem 4.2); one of
    count,value,utility makes a law for each count over the same values, with δ = 0 (Theorem 4.1).
    """
    from ..core.law_builders import exponential as by_perturbation
    from ..core.law_utilities import exponential_counts

    table = _read(utility)
    if all(len(place) == 1 for place in table):
        worth = {place[0]: number for place, number in table.items()}
        reach = min(-min(worth), max(worth))
        law = by_perturbation(
            worth, epsilon, reach, delta=delta, key_bits=key_bits, quantiser=quantiser
        )
        tell(law, telling)
        return
    if delta is not None or quantiser != "symmetric":
        raise LawError("--delta and --quantiser go with a utility of the perturbation alone.")
    pairs = {(place[0], place[1]): number for place, number in table.items()}
    most, largest = max(a for a, _ in pairs), max(b for _, b in pairs)
    rows = exponential_counts(pairs, epsilon, most, largest, key_bits=key_bits)
    if not 0 <= count <= most:
        raise LawError(f"count must be a whole number from 0 to {most}, got {count}.")
    shown = {
        **law_facts(rows.row(count)),
        "name": rows.name,
        "parameters": {**rows.parameters, "count": str(count)},
        "key_bits": key_bits,
    }
    print_law(rows, shown, rows.row(count).pmf, (), telling)


def _read(path: Path) -> dict[tuple[int, ...], str]:
    """Utilities as exact text, by (perturbation,) or by (count, value)."""
    try:
        lines = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError):
        raise LawError(
            f"{path} cannot be read as a utility. Give a CSV file with the columns "
            "perturbation,utility or count,value,utility."
        ) from None
    header = [name.strip().lower() for name in lines[0]] if lines else []
    if header not in _COLUMNS or len(lines) == 1:
        raise LawError(
            f"A utility has the columns {' or '.join(map(','.join, _COLUMNS))} and a line for each, "
            f"got {','.join(header) or 'an empty file'}."
        )
    found: dict[tuple[int, ...], str] = {}
    for number, line in enumerate(lines[1:], 2):
        *where, worth = line or [""]
        numerals = [one.strip() for one in where]
        if len(line) != len(header) or not all(map(_WHOLE.fullmatch, numerals)):
            raise LawError(f"Line {number} of {path.name} is not {','.join(header)}.")
        place = tuple(map(int, numerals))
        if place in found:
            raise LawError(f"Line {number} of {path.name} repeats an earlier one.")
        found[place] = worth.strip()
    return found
