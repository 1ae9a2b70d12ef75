"""Further questions from the same measurements: a fit with other tables, at no cost."""

from __future__ import annotations

from dataclasses import replace

from ...core.description import Description
from ...core.margins import Sources
from ...core.question import Question
from .planner import Planner, Scheme


def derived(
    scheme: Scheme, question: Question, description: Description, planner: Planner
) -> tuple[Planner, Scheme] | None:
    """Planner and scheme that fit `question` from what `scheme` measured; None if it cannot.

    The planner's own consistency is what follows, as it would after a measurement of its own.
    """
    asked = replace(
        Planner.of(question.tables, description, planner.settings), consistency=planner.consistency
    )
    measured = scheme.measured
    sources = Sources([part.margin for part in measured], description)
    closed = asked.agreements(measured)
    targets = {}
    for margin in asked.all_targets():
        found = sources.of(margin)
        if not found and not asked.is_known(margin):
            return None
        targets[margin] = asked.target(margin, measured, found, closed)
    made = replace(scheme, targets=targets, closed=closed)
    asked.check_agreement(made)
    return asked, made
