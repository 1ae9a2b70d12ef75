"""Whether a promise to a unit can be made at all."""

from __future__ import annotations

from ...core.description import UNDECIDED, Description
from ...errors import Refusal
from ...languages import say


def check_unit(description: Description) -> None:
    """Refuse where nobody has said who one unit is: a guarantee would name the wrong one."""
    if description.unit != UNDECIDED:
        return
    raise Refusal(
        say(
            "Who one unit of {name} is, and how many records one unit may have, is not "
            "decided yet, so nobody can be promised anything.",
            name=description.name,
        ),
        rule="declared-unit",
        alternatives=(
            say("`discreet check DIR` tells the custodian which columns may name the unit."),
            say("`discreet declare DIR --unit WORD --id COLUMN` says it."),
        ),
    )
