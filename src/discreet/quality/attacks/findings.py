"""What one attack showed, on its baseline and on a policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...languages import Number, number


@dataclass(frozen=True)
class Finding:
    """One attack."""

    group: str
    """differencing, averaging, same set, small cells, suppression, reconstruction, …"""
    about: str
    """What the attacker does, in a sentence."""
    baseline: float
    """How often it succeeds where nothing protects, or what protects is known to fail."""
    baseline_needed: float
    measured: float | None = None
    """How often it succeeds under the policy; None where it does not apply."""
    expected: float | None = None
    """The number that was computed for the policy beforehand."""
    ceiling: float | None = None
    """What may not be exceeded; None where no such bound is claimed."""
    over: bool = False
    """Whether a claim is refuted."""
    says: str = ""
    """The result in words."""
    trials: int = 0

    @property
    def works(self) -> bool:
        """Whether the attack succeeds on its baseline: else it would prove nothing."""
        return self.baseline >= self.baseline_needed

    @property
    def applies(self) -> bool:
        """Whether it could be run against the policy."""
        return self.measured is not None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "works_on_baseline": self.works}


def percent(share: float, digits: int = 1) -> Number:
    """A share in per cent, as sentences say it.

    >>> percent(0.1234).says("de"), percent(0.5, 0)
    ('12,3%', '50%')
    """
    return number(f"{share:.{digits}%}")


def not_applied(group: str, about: str, baseline: float, needed: float, why: str) -> Finding:
    """An attack that the policy's family leaves nothing to."""
    return Finding(group, about, baseline, needed, says=why)
