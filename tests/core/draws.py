"""Draws of any law, as the tests take them."""

from __future__ import annotations

from discreet.core.noise_law import Draws, NoiseLaw
from discreet.core.random_source import RandomSource


def draw(law: NoiseLaw, count: int, source: RandomSource | None = None) -> Draws:
    """So many independent perturbations, exactly from the law."""
    return law.draw(count, source)
