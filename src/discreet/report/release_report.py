"""The release report: one HTML page without scripts, in a public and an internal edition."""

from __future__ import annotations

from ..formats.html import template
from .facts import Edition, ReleaseFacts
from .sections import sections, verdict


def render_report(facts: ReleaseFacts, edition: Edition | str = Edition.PUBLIC) -> str:
    """The page."""
    edition = Edition(edition)
    return template("discreet.report", "release.html").render(
        facts=facts,
        internal=edition is Edition.INTERNAL,
        synthetic=any(table.provenance.synthetic for table in facts.tables),
        verdict=verdict(facts),
        sections=sections(facts, edition),
    )
