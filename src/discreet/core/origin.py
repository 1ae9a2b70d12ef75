"""Where synthetic records come from: a release of protected measurements, and what it promised.

Counts of such records may be published as they are, because whatever is computed from protected
measurements alone keeps their guarantee. Counts of any other records may not. So an `Origin` is
made in one place only (`workspace.synthetic`), sealed into the version's manifest, and verified
whenever the data set is opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .guarantee import Guarantee


@dataclass(frozen=True)
class Origin:
    """The release that synthetic records were made from."""

    dataset: str
    """The data set that was measured."""
    release: str
    """The hash of the release's question."""
    guarantee: Guarantee
    """What the release promised: it holds for everything made from it."""
    records: str
    """Digest of the synthetic records."""
    measured: tuple[tuple[tuple[str, ...], float], ...] = ()
    """Variables that were measured together, and the standard error of one cell before the fit."""
    languages: tuple[str, ...] = ()
    """Further languages that the guarantee's words are kept in."""

    def measured_with(self, variables: set[str]) -> tuple[tuple[str, ...], float] | None:
        """The fewest variables measured together that hold all these; None where there are none."""
        holders = [one for one in self.measured if variables <= set(one[0])]
        return min(holders, key=lambda one: (len(one[0]), one[1]), default=None)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "dataset": self.dataset,
            "release": self.release,
            "guarantee": self.guarantee.to_stored(self.languages),
            "records": self.records,
            "measured": [[list(names), sd] for names, sd in self.measured],
        }

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> Origin:
        """Read back what `to_json` wrote."""
        return cls(
            dataset=str(facts["dataset"]),
            release=str(facts["release"]),
            guarantee=Guarantee.from_json(facts["guarantee"]),
            records=str(facts["records"]),
            measured=tuple(
                (tuple(str(name) for name in names), float(sd)) for names, sd in facts["measured"]
            ),
        )
