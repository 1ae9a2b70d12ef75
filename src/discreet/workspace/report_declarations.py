"""What a custodian may declare about a release, under `report:` in discreet.yaml.

None of it changes a number: it is printed in the release report, as declared and not as computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..languages import say
from .category_file import text_of
from .yaml_reader import Block

DECLARATIONS: dict[str, str] = {
    "decided_by": say("Who decided"),
    "purpose": say("Purpose"),
    "recipients": say("Recipients"),
    "legal_basis": say("Legal basis"),
    "safe_people": say("Safe people"),
    "safe_projects": say("Safe projects"),
    "safe_settings": say("Safe settings"),
    "safe_data": say("Safe data"),
    "safe_outputs": say("Safe outputs"),
    "records_per_unit": say("Records each unit may hold"),
    "provenance": say("How the data were collected"),
    "exclusions": say("Exclusions"),
    "intruders": say("Who might attack"),
    "prior_knowledge": say("What they may know"),
    "harms": say("Harm a disclosure would do"),
    "other_releases": say("Other releases about the same people"),
    "alternatives": say("Alternatives weighed"),
    "structural_zeros": say("Structural zeros"),
    "attacks_not_tried": say("Attacks not tried"),
    "uses": say("Uses the tables are fit for"),
    "side_channels": say("Side channels"),
    "keys": say("Keys and who holds them"),
    "roles": say("Roles and access"),
    "randomness": say("Source of randomness"),
    "review_date": say("Next review"),
    "incident_contact": say("Contact in case of an incident"),
    "withdrawal": say("How the release is withdrawn"),
}
"""What a custodian may declare, and how the report calls it."""

LOOKED = "chosen_by_looking"
"""Whether parameters were chosen after a trial on true data: yes or no."""


@dataclass(frozen=True)
class Declared:
    """What was declared; what was not is missing here and said to be so in the report."""

    words: Mapping[str, str] = field(default_factory=dict)
    chosen_by_looking: bool | None = None


def read_declared(top: Block) -> Declared:
    """The block `report:` of discreet.yaml."""
    block = top.block("report")
    if block is None:
        return Declared()
    block.only((*DECLARATIONS, LOOKED))
    texts = {key: text_of(block, key) for key in block.values if key != LOOKED}
    words = {key: text.sentence() for key, text in texts.items() if text is not None}
    looked = block.flag(LOOKED) if LOOKED in block.values else None
    return Declared(words, looked)
