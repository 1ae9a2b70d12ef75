"""What the synthetic method is: it has no settings."""

from __future__ import annotations

from ...core.family import Family
from ..declaration import Declaration, Spends

DECLARATION = Declaration(
    name="synthetic",
    family=Family.SYNTHETIC,
    spends=Spends.NOTHING,
    home=(".synthetic.method", "SyntheticMethod"),
    summary="counts of records that were made from a release, as they are",
    default=True,
    nothing_to_set="nothing is spent or added",
)
