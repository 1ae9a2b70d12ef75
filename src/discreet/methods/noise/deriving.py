"""Further questions from the same measurements: a fit with other tables, at no cost."""

from __future__ import annotations

from dataclasses import replace

from ...core.description import Description
from ...core.question import Question
from .margins import Sources
from .plans import Planner, Scheme


def derived(
    scheme: Scheme, question: Question, description: Description, planner: Planner
) -> tuple[Planner, Scheme] | None:
    """Planner and scheme that fit `question` from what `scheme` measured; None if it cannot."""
    asked = Planner.of(question.tables, description, planner.settings)
    measured = scheme.measured
    sources = Sources([part.margin for part in measured], description)
    targets = {}
    for margin in asked.all_targets():
        found = sources.of(margin)
        if not found and not asked.is_known(margin):
            return None
        targets[margin] = asked.target(margin, measured, found, {})
    return asked, replace(scheme, targets=targets, closed={})
