"""The release report: one HTML page without scripts, in a public and an internal edition.

Its thirteen sections are lines that say where each statement comes from.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from ..core.exact import plain, rounded_up
from ..core.guarantee import Kind
from ..core.table import ProtectedTable, Status
from ..formats.footnote import citation
from ..formats.html import template
from ..formats.notes import SYNTHETIC, footnote, three_digits, typical_error
from ..workspace.report_declarations import DECLARATIONS
from . import charts
from .facts import Edition, ReleaseFacts
from .risk_picture import risk_map

MISSING = "not declared"
NOT_DECLARED = "Not declared"


class Tag(StrEnum):
    """Where a statement comes from."""

    COMPUTED = "computed"
    DECLARED = "declared"
    ATTESTED = "attested"


@dataclass(frozen=True)
class Line:
    """One statement: what about, what, and who says so."""

    about: str
    says: tuple[str, ...]
    tag: Tag
    missing: bool = False


@dataclass(frozen=True)
class Grid:
    """A small table in a section."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tag: Tag = Tag.COMPUTED


@dataclass(frozen=True)
class Picture:
    """An inline SVG and its text alternative."""

    svg: str
    alternative: str


@dataclass(frozen=True)
class Section:
    """A numbered part of the report."""

    number: int
    title: str
    lines: tuple[Line, ...]
    grids: tuple[Grid, ...] = ()
    pictures: tuple[Picture, ...] = field(default=(), repr=False)


def render_report(facts: ReleaseFacts, edition: Edition | str = Edition.PUBLIC) -> str:
    """The page."""
    edition = Edition(edition)
    return template("discreet.report", "release.html").render(
        facts=facts,
        internal=edition is Edition.INTERNAL,
        synthetic=any(table.provenance.synthetic for table in facts.tables),
        verdict=_verdict(facts),
        sections=_sections(facts, edition),
    )


def _sections(facts: ReleaseFacts, edition: Edition) -> tuple[Section, ...]:
    """All thirteen, in order."""
    keys = list(DECLARATIONS)
    context = keys[keys.index("purpose") : keys.index("safe_outputs") + 1]
    made = (
        _front(facts),
        _declared(2, "Context", facts, *context),
        _data(facts),
        _declared(4, "Threats", facts, "intruders", "prior_knowledge", "harms", "other_releases"),
        _method(facts),
        _guarantee(facts),
        _attacks(facts, edition),
        _quality(facts, edition),
        _reading(facts),
        _limits(facts),
        _security(facts),
        _governance(facts),
        _reproduce(facts),
    )
    return tuple(_gathered(section, edition) for section in made)


def _gathered(section: Section, edition: Edition) -> Section:
    """The section with all that was not declared in one line, and where to declare it."""
    missing = [line for line in section.lines if line.missing and line.tag is Tag.DECLARED]
    if not missing:
        return section
    says = [", ".join(line.about for line in missing)]
    if edition is Edition.INTERNAL:
        says.append("Say it in discreet.yaml, most of it under `report:`.")
    kept = [line for line in section.lines if line not in missing]
    gathered = Line(NOT_DECLARED, tuple(says), Tag.DECLARED, missing=True)
    return replace(section, lines=(*kept, gathered))


def _verdict(facts: ReleaseFacts) -> str:
    """The release in one paragraph, from computed facts only."""
    cells = sum(table.cells for table in facts.tables)
    hidden = sum(int((~table.shown).sum()) for table in facts.tables)
    doubtful = sum(int((table.status == Status.UNRELIABLE).sum()) for table in facts.tables)
    many = "1 table" if len(facts.tables) == 1 else f"{len(facts.tables)} tables"
    text = (
        f"{many} with {cells:,} cells, of which {doubtful:,} unreliable and {hidden:,} not shown. "
    )
    text += facts.guarantee.sentence()
    if any(table.provenance.synthetic for table in facts.tables):
        text += f" {SYNTHETIC}"
    return text


def _said(about: str, *says: str) -> Line:
    return Line(about, tuple(filter(None, says)) or ("none",), Tag.COMPUTED)


def _asked(facts: ReleaseFacts, key: str) -> Line:
    return _given(DECLARATIONS[key], facts.declared.get(key, "").strip())


def _given(about: str, words: str) -> Line:
    return Line(about, (words or MISSING,), Tag.DECLARED, not words)


def _declared(number: int, title: str, facts: ReleaseFacts, *keys: str) -> Section:
    return Section(number, title, tuple(_asked(facts, key) for key in keys))


def _every(facts: ReleaseFacts, name: str) -> tuple[str, ...]:
    """The different values of one item of provenance over the tables."""
    values = (str(getattr(table.provenance, name)) for table in facts.tables)
    return tuple(dict.fromkeys(value for value in values if value))


def _front(facts: ReleaseFacts) -> Section:
    return Section(
        1,
        "What this is",
        (
            _said("Tables", *(table.title for table in facts.tables)),
            _asked(facts, "decided_by"),
            _given("Release", facts.release),
            _given("Date", facts.date),
            _said("Data version", *_every(facts, "data_version")),
            _said("Policy version", *_every(facts, "policy_version")),
            _said("Question hash", *_every(facts, "question_hash")),
        ),
    )


def _data(facts: ReleaseFacts) -> Section:
    lines = [
        _given("Data set", "; ".join(_every(facts, "dataset_title"))),
        _given("Unit of protection", "; ".join(_every(facts, "unit"))),
        _given("Population", "; ".join(_every(facts, "population"))),
        _given("Period", "; ".join(_every(facts, "period"))),
        _given("Source", "; ".join(_every(facts, "source"))),
        *(_asked(facts, key) for key in ("records_per_unit", "provenance", "exclusions")),
    ]
    return Section(3, "Data", tuple(lines))


def _method(facts: ReleaseFacts) -> Section:
    lines = [_said("Method", *_every(facts, "method"))]
    for name, pmf in facts.laws.items():
        lines.append(_said(f"Law {name}", charts.law_summary(pmf)))
    lines += [
        _said("Published exactly and not protected", *facts.guarantee.invariants),
        _asked(facts, "structural_zeros"),
        _asked(facts, "alternatives"),
    ]
    policy = Grid(
        "Policy in force",
        ("Setting", "Value"),
        tuple((str(key), str(value)) for key, value in facts.policy.items()),
        Tag.DECLARED,
    )
    pictures = tuple(
        Picture(charts.to_svg(charts.law_chart(pmf, name)), charts.law_summary(pmf))
        for name, pmf in facts.laws.items()
    )
    maps = [found for table in facts.tables if (found := risk_map(table)) is not None]
    pictures += tuple(Picture(charts.to_svg(spec), words) for spec, words in maps)
    return Section(5, "Method", tuple(lines), (policy,) if facts.policy else (), pictures)


def _guarantee(facts: ReleaseFacts) -> Section:
    promise = facts.guarantee
    kinds = {
        Kind.DP: "differential privacy: composes over releases, and is charged",
        Kind.LAW: "law: the exact figures of one cell asked once; no differential privacy is claimed",
        Kind.SEMANTIC: "semantic: suppression, against readers who hold the stated prior",
        Kind.NONE: "none",
    }
    lines = [_said("In words", promise.sentence()), _said("Kind", kinds[promise.kind])]
    if promise.epsilon is not None:
        lines.append(_said("ε", plain(promise.epsilon)))
    if promise.delta is not None:
        lines.append(_said("δ", "0" if not promise.delta else f"≤ {rounded_up(promise.delta, 6)}"))
    if promise.rho is not None:
        lines.append(_said("ρ", plain(promise.rho)))
    lines += [
        _said("Neighbours", f"{promise.neighbours} {promise.unit}"),
        _said("Exact or bound", "exact" if promise.exact else "an upper bound"),
        _said("Scope", promise.scope),
    ]
    if promise.odds:
        lines.append(_said("In odds", *promise.odds))
    if counted := promise.counted_as_one():
        lines.append(_said("Counted as one", counted))
    looked = {
        None: MISSING,
        True: "Yes: parameters were chosen after a trial on true data. That choice is not covered "
        "by the guarantee.",
        False: "No: parameters were set without looking at the data.",
    }[facts.chosen_by_looking]
    missing = facts.chosen_by_looking is None
    lines.append(Line("Chosen by looking at the data", (looked,), Tag.DECLARED, missing))
    return Section(6, "Guarantee", tuple(lines))


def _attacks(facts: ReleaseFacts, edition: Edition) -> Section:
    public = edition is Edition.PUBLIC
    words = ("None is reported in this edition.",) if public else facts.attacks
    none = "No attack was run. Run `discreet attack`."
    lines = (_said("Attacks run", *(words or (none,))), _asked(facts, "attacks_not_tried"))
    return Section(7, "Attacks", lines)


def _quality(facts: ReleaseFacts, edition: Edition) -> Section:
    rows = tuple(_quality_row(table) for table in facts.tables)
    header = ("Table", "Cells", "Shown", "Unreliable", "Below zero", "Noise sd", "Typical error")
    grids = [Grid("What the tables hold", header, rows)]
    if facts.planned_errors:
        planned = tuple(
            (
                error.table,
                error.margin,
                "–" if error.instead else three_digits(error.noise_sd),
                error.instead or f"±{error.within:,} in 95 % of releases",
                "–" if error.unchanged is None else f"{100 * error.unchanged:.1f} %",
            )
            for error in facts.planned_errors
        )
        head = ("Table", "Margin", "Noise sd", "Within", "Unchanged")
        grids.append(Grid("Error announced before anything was drawn", head, planned))
    lines = [_asked(facts, "uses")]
    if edition is Edition.INTERNAL:
        none = "No comparison on true data was run. Run `discreet compare`."
        lines.append(_said("Compared on true data", *(facts.rehearsed or (none,))))
    return Section(8, "Quality", tuple(lines), tuple(grids))


def _quality_row(table: ProtectedTable) -> tuple[str, ...]:
    shown = table.shown
    below = int((shown & (table.values < 0)).sum())
    doubtful = int((table.status == Status.UNRELIABLE).sum())
    spread = "not known"
    if table.noise is not None and shown.any():
        sd = np.broadcast_to(table.noise.sd, table.shape)[shown]
        low, high = three_digits(sd.min()), three_digits(sd.max())
        spread = low if low == high else f"{low} to {high}"
    return (
        table.title,
        f"{table.cells:,}",
        f"{int(shown.sum()):,}",
        f"{doubtful:,}",
        f"{below:,}",
        spread,
        typical_error(table) or "not known",
    )


def _reading(facts: ReleaseFacts) -> Section:
    lines = [_said(table.title or "Table", *footnote(table)) for table in facts.tables]
    lines.append(_said("Cite as", *map(citation, facts.tables)))
    return Section(9, "How to read the numbers", tuple(lines))


def _limits(facts: ReleaseFacts) -> Section:
    promises = [facts.guarantee, *(table.guarantee for table in facts.tables)]
    known = [words for one in promises for words in (*one.notices, *one.caveats, *one.risks)]
    lines = (
        _said("Known limits", *dict.fromkeys(known)),
        _asked(facts, "side_channels"),
    )
    return Section(10, "Known limits", lines)


def _security(facts: ReleaseFacts) -> Section:
    lines = [_said("Software", *_every(facts, "software"))]
    lines += [_said(name, version) for name, version in facts.software.items()]
    lines += [_asked(facts, key) for key in ("keys", "roles", "randomness")]
    return Section(11, "Security", tuple(lines))


def _governance(facts: ReleaseFacts) -> Section:
    lines: list[Line] = []
    grids: list[Grid] = []
    ledger = facts.ledger
    if ledger is None:
        lines.append(_said("Ledger", "This method charges nothing: no ledger row exists."))
    else:
        lines += [
            _said("Budget", ledger.budget),
            _said("Spent", ledger.spent),
            _said("Left", ledger.left),
            _said("Head of the ledger's chain", ledger.chain_head),
        ]
        if ledger.charges:
            grids.append(Grid("Ledger extract", ("When", "What for", "Charge"), ledger.charges))
    lines.append(Line("Approvals", ("not attested",), Tag.ATTESTED, missing=True))
    lines += [_asked(facts, key) for key in ("review_date", "incident_contact", "withdrawal")]
    return Section(12, "Governance", tuple(lines), tuple(grids))


def _reproduce(facts: ReleaseFacts) -> Section:
    sums = Grid("SHA-256 of the files", ("File", "SHA-256"), tuple(facts.checksums.items()))
    lines = (_said("Commands", *facts.commands),)
    return Section(13, "Reproduce", lines, (sums,) if facts.checksums else ())
