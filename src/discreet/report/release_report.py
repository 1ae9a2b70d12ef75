"""The release report: one HTML page without scripts, in a public and an internal edition."""

from __future__ import annotations

from ..formats.html import template
from .facts import Edition, ReleaseFacts
from .sections import Tag, sections, verdict


def render_report(facts: ReleaseFacts, edition: Edition | str = Edition.PUBLIC) -> str:
    """The page. The public edition is built from facts that never saw true data."""
    edition = Edition(edition)
    usable = facts.for_edition(edition)
    return template("discreet.report", "release.html").render(
        facts=usable,
        internal=edition is Edition.INTERNAL,
        synthetic=any(table.provenance.synthetic for table in facts.tables),
        verdict=verdict(usable),
        sections=sections(usable, edition),
        tags=tuple(Tag),
    )
