"""Whether a promise to a unit can be made at all."""

from __future__ import annotations

from ...core.description import UNDECIDED, Description
from ...errors import Refusal


def check_unit(description: Description) -> None:
    """Refuse where nobody has said who one unit is: a guarantee would name the wrong one."""
    if description.unit != UNDECIDED:
        return
    raise Refusal(
        f"Who one unit of {description.name} is, and how many records one unit may have, is not "
        "decided yet, so nobody can be promised anything.",
        rule="declared-unit",
        alternatives=(
            "`discreet check DIR` tells the custodian which columns may name the unit.",
            "`discreet declare DIR --unit WORD --id COLUMN` says it.",
        ),
    )
