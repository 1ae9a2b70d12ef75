"""What the ration method is and which settings it has."""

from __future__ import annotations

from discreet.core.family import Family
from discreet.methods.declaration import Declaration, Part, Setting, Spends, whole, yes_or_no

DECLARATION = Declaration(
    name="ration",
    family=Family.SUPPRESSION,
    spends=Spends.RECORD,
    home=("tests.methods.ration.method", "RationMethod"),
    summary="counts to the nearest step for the first few questions, stars for all later ones",
    default=True,
    settings=(
        Setting("step", Part.MEASURED, "what counts are rounded to", whole(1), "10"),
        Setting("hide_zeros", Part.TREATED, "show zeros as low", yes_or_no, "no"),
        Setting("questions", Part.POLICY, "how many get numbers", whole(0), "2", asked=False),
    ),
)
