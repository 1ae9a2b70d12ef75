"""Gaussian noise asked by (ε, δ): the most ρ that the noise of a scheme allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from ...core.gaussian_delta import Touch, largest_rho
from ..shared.regions import Regions
from .planner import Planner, Scheme

_MOST_WAYS = 16
"""Ways to touch cells that are looked at one by one."""


def calibrated(planner: Planner, scheme: Scheme, rho: Fraction) -> Scheme:
    """The scheme with the most ρ that keeps the (ε, δ) asked for, by its own cells.

    `rho` keeps them for any Gaussian noise. Where a unit moves every cell by 1 the noise's own δ
    allows more; elsewhere `rho` stays. Which plan is chosen does not depend on it.
    """
    settings, margins = planner.settings, [part.margin for part in scheme.measured]
    if settings.epsilon is None or settings.delta is None:
        return scheme
    regions = Regions.of(margins, planner.description, planner.replace_one)
    parts = [part.one_sided / rho for part in scheme.measured]
    touches = tuple(sorted({_touch(parts, way) for way in regions.moved()}))
    if len(touches) > _MOST_WAYS or any(part.reach != 1 for part in scheme.measured):
        return scheme
    larger = largest_rho(settings.epsilon, settings.delta, touches, rho, settings.rho_most)
    return scheme if larger == rho else planner.scheme(scheme.name, margins, larger)


def _touch(parts: Sequence[Fraction], way: Sequence[int]) -> Touch:
    """The cells a unit moves, those with alike noise together."""
    cells: Counter[Fraction] = Counter()
    for part, many in zip(parts, way, strict=True):
        cells[part] += many
    return tuple(sorted((part, many) for part, many in cells.items() if many))
