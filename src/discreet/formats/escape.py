"""Text that spreadsheets would run as a formula, made harmless in CSV.

An apostrophe goes in front of a text that begins with = + - @, tab or a line end, unless it is
a plain number such as the code -9. No two texts become one.
"""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def escaped(text: str) -> str:
    """The text with an apostrophe in front if a spreadsheet would run it; plain numbers stay.

    >>> escaped("=1+1"), escaped("-9"), escaped("North")
    ("'=1+1", '-9', 'North')
    """
    return "'" + text if is_formula(text) else text


def is_formula(text: str) -> bool:
    """Whether the text, after any apostrophes, begins like a formula and is no plain number."""
    return bool(_FORMULA.match(text)) and not _NUMBER.fullmatch(text.lstrip("'"))
