"""What a custodian may declare about a release, under `report:` in discreet.yaml.

None of it changes a number: it is printed in the release report, as declared and not as computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .yaml_reader import Block

DECLARATIONS: dict[str, str] = {
    "decided_by": "Who decided",
    "purpose": "Purpose",
    "recipients": "Recipients",
    "legal_basis": "Legal basis",
    "safe_people": "Safe people",
    "safe_projects": "Safe projects",
    "safe_settings": "Safe settings",
    "safe_data": "Safe data",
    "safe_outputs": "Safe outputs",
    "records_per_unit": "Records each unit may hold",
    "provenance": "How the data were collected",
    "exclusions": "Exclusions",
    "intruders": "Who might attack",
    "prior_knowledge": "What they may know",
    "harms": "Harm a disclosure would do",
    "other_releases": "Other releases about the same people",
    "alternatives": "Alternatives weighed",
    "structural_zeros": "Structural zeros",
    "attacks_not_tried": "Attacks not tried",
    "uses": "Uses the tables are fit for",
    "side_channels": "Side channels",
    "keys": "Keys and who holds them",
    "roles": "Roles and access",
    "randomness": "Source of randomness",
    "review_date": "Next review",
    "incident_contact": "Contact in case of an incident",
    "withdrawal": "How the release is withdrawn",
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
    words = {key: block.text(key) for key in block.values if key != LOOKED}
    looked = block.flag(LOOKED) if LOOKED in block.values else None
    return Declared(words, looked)
