"""What discreet.yaml says in comments beside the unit, and what of it goes once it is no longer so.

Only comments that `init` wrote are changed, and only where they stand as they were written.
"""

from __future__ import annotations

import re
import textwrap

WIDTH = 96
"""How long a line of a comment is at most, without its mark."""

PLACEHOLDER = "# id: <column>"
"""Where the column that names the unit will stand."""

UNDECIDED_UNIT = (
    "While it is undecided, strong cell keys and differential privacy refuse: say which column names "
    "the unit ({columns}), what one unit is, and how many records of one unit count. `discreet check` "
    "says what was found, `discreet declare --unit WORD --id COLUMN` writes it here."
)
ONE_RECORD = (
    "Nobody said whom a record is about, so guarantees speak of one record. Write person or household "
    "where that is what one record is; where one has several records, name the column that tells them "
    "apart as `id`."
)
NO_ID = (
    "No column names the unit, so record keys were drawn when the data were loaded; a later load "
    "cannot match records and begins a new key epoch. If there is such a column, name it here."
)
WITH_ID = (
    "The column that names the unit. Record keys are made from it, so the same person keeps the same "
    "key in every version. It is never published and never stored."
)


def with_unit_said(text: str) -> str:
    """The file without the comments on a unit that nobody has said yet.

    >>> with_unit_said("# Mine.\\n# Nobody said whom a record is about, so guarantees speak of one "
    ...     "record. Write person or\\n# household where that is what one record is; where one has "
    ...     "several records, name the\\n# column that tells them apart as `id`.\\nunit: person\\n")
    '# Mine.\\nunit: person\\n'
    """
    for words in (UNDECIDED_UNIT, ONE_RECORD):
        text = _written(words).sub("", text, count=1)
    return text


def with_id_named(text: str, line: str) -> str:
    """The file with the line of its id in the place that was kept for it, and what is now so above it."""
    there = re.compile(rf"^{re.escape(PLACEHOLDER)}$", re.MULTILINE)
    if not there.search(text):
        return text
    comment = "".join(f"{one}\n" for one in commented(WITH_ID))
    text = _written(NO_ID).sub(lambda _: comment, text, count=1)
    return there.sub(lambda _: line, text, count=1)


def commented(words: str, width: int = WIDTH) -> list[str]:
    """A sentence as lines of a comment."""
    return [f"# {line}" for line in textwrap.wrap(words, width, break_on_hyphens=False)]


def _written(words: str) -> re.Pattern[str]:
    """A comment however its lines were broken; whatever stands where {columns} does."""
    between = r"(?: |\n# )"
    columns = r"\([^()]*\),"
    parts = [columns if "{columns}" in word else re.escape(word) for word in words.split()]
    return re.compile(f"^# {between.join(parts)}\n", re.MULTILINE)
