"""What classic suppression is and which settings it has."""

from __future__ import annotations

from ...core.family import Family
from ..declaration import Declaration, Part, Setting, Spends, whole, yes_or_no

DECLARATION = Declaration(
    name="classic",
    family=Family.CLASSIC,
    spends=Spends.RECORD,
    home=(".classic.method", "ClassicMethod"),
    summary="small counts hidden, and as few further cells as protect them; no guarantee",
    default=True,
    nothing_to_set="its rule is set by the policy",
    settings=(
        Setting(
            "threshold",
            Part.POLICY,
            "counts up to this are hidden",
            whole(1, 10**6),
            "5",
            asked=False,
        ),
        Setting(
            "zeros",
            Part.POLICY,
            "whether a count of 0 is hidden too",
            yes_or_no,
            "yes",
            asked=False,
            words=("yes", "no"),
        ),
        Setting(
            "protection",
            Part.POLICY,
            "how far above and below a hidden small count readers must not be able to exclude",
            whole(1, 10**6),
            "1",
            asked=False,
        ),
        Setting(
            "seconds",
            Part.POLICY,
            "how long the fewest cells are looked for; the gap left is said",
            whole(1, 3600),
            "60",
            asked=False,
        ),
    ),
)
