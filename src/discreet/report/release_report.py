"""The release report: one HTML page without scripts, in a public and an internal edition."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from .facts import Edition, ReleaseFacts
from .sections import Tag, sections, verdict

if TYPE_CHECKING:
    from jinja2 import Template


def render_report(facts: ReleaseFacts, edition: Edition | str = Edition.PUBLIC) -> str:
    """The page. The public edition is built from facts that never saw true data."""
    edition = Edition(edition)
    usable = facts.for_edition(edition)
    return _template().render(
        facts=usable,
        internal=edition is Edition.INTERNAL,
        synthetic=any(table.provenance.synthetic for table in facts.tables),
        verdict=verdict(usable),
        sections=sections(usable, edition),
        tags=tuple(Tag),
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("discreet.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("release.html")
