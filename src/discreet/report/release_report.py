"""The release report: one HTML page without scripts, in a public and an internal edition.

Its thirteen sections are lines that say where each statement comes from. The page is in the language
of the tables it is about.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.exact import plain, rounded_up
from ..core.guarantee import Kind, neighbours_words, unit_words
from ..core.table import ProtectedTable, Status
from ..formats.footnote import citation, method_words
from ..formats.html import template
from ..formats.notes import SYNTHETIC, footnote, three_digits, typical_error
from ..languages import counted, number, say, speaker, together
from ..workspace.report_declarations import DECLARATIONS
from . import charts
from .facts import Edition, PlannedError, ReleaseFacts
from .risk_picture import risk_map
from .sections import TAGS, Grid, Line, Picture, Section, Tag, in_language
from .utility_pictures import errors_beside

MISSING = say("not declared")
NOT_DECLARED = say("Not declared")


def render_report(facts: ReleaseFacts, edition: Edition | str = Edition.PUBLIC) -> str:
    """The page."""
    edition = Edition(edition)
    language = facts.language
    return template("discreet.report", "release.html").render(
        say=speaker(language),
        tags=TAGS,
        facts=facts,
        internal=edition is Edition.INTERNAL,
        synthetic=any(table.provenance.synthetic for table in facts.tables),
        verdict=_verdict(facts),
        sections=in_language(_sections(facts, edition), language),
    )


def _sections(facts: ReleaseFacts, edition: Edition) -> tuple[Section, ...]:
    """All thirteen, in order."""
    keys = list(DECLARATIONS)
    context = keys[keys.index("purpose") : keys.index("safe_outputs") + 1]
    made = (
        _front(facts),
        _declared(2, say("Context"), facts, *context),
        _data(facts),
        _declared(
            4, say("Threats"), facts, "intruders", "prior_knowledge", "harms", "other_releases"
        ),
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
    says: list[str] = [together(*(line.about for line in missing), between=", ")]
    if edition is Edition.INTERNAL:
        says.append(say("Say it in discreet.yaml, most of it under `report:`."))
    kept = [line for line in section.lines if line not in missing]
    gathered = Line(NOT_DECLARED, tuple(says), Tag.DECLARED, missing=True)
    return replace(section, lines=(*kept, gathered))


def _verdict(facts: ReleaseFacts) -> str:
    """The release in one paragraph, from computed facts only."""
    cells = sum(table.cells for table in facts.tables)
    hidden = sum(int((~table.shown).sum()) for table in facts.tables)
    doubtful = sum(int((table.status == Status.UNRELIABLE).sum()) for table in facts.tables)
    said = counted(
        "{n} table with {cells} cells, of which {doubtful} unreliable and {hidden} not shown.",
        "{n} tables with {cells} cells, of which {doubtful} unreliable and {hidden} not shown.",
        len(facts.tables),
        cells=cells,
        doubtful=doubtful,
        hidden=hidden,
    )
    synthetic = any(table.provenance.synthetic for table in facts.tables)
    return together(said, facts.guarantee.sentence(), SYNTHETIC if synthetic else "")


def _said(about: str, *says: str) -> Line:
    return Line(about, tuple(filter(None, says)) or (say("none"),), Tag.COMPUTED)


def _asked(facts: ReleaseFacts, key: str) -> Line:
    return _given(DECLARATIONS[key], facts.declared.get(key, ""))


def _given(about: str, words: str) -> Line:
    said = bool(words.strip())
    return Line(about, (words if said else MISSING,), Tag.DECLARED, not said)


def _declared(number: int, title: str, facts: ReleaseFacts, *keys: str) -> Section:
    return Section(number, title, tuple(_asked(facts, key) for key in keys))


def _every(facts: ReleaseFacts, name: str) -> tuple[str, ...]:
    """The different values of one item of provenance over the tables."""
    values = (getattr(table.provenance, name) for table in facts.tables)
    return tuple(dict.fromkeys(together(value) for value in values if value))


def _joined(facts: ReleaseFacts, name: str) -> str:
    return together(*_every(facts, name), between="; ")


def _front(facts: ReleaseFacts) -> Section:
    return Section(
        1,
        say("What this is"),
        (
            _said(say("Tables"), *(table.title for table in facts.tables)),
            _asked(facts, "decided_by"),
            _given(say("Release"), facts.release),
            _given(say("Date"), facts.date),
            _said(say("Data version"), *_every(facts, "data_version")),
            _said(say("Policy version"), *_every(facts, "policy_version")),
            _said(say("Question hash"), *_every(facts, "question_hash")),
        ),
    )


def _data(facts: ReleaseFacts) -> Section:
    lines = [
        _given(say("Data set"), _joined(facts, "dataset_title")),
        _given(
            say("Unit of protection"),
            together(
                *dict.fromkeys(unit_words(table.provenance.unit) for table in facts.tables),
                between="; ",
            ),
        ),
        _given(say("Population"), _joined(facts, "population")),
        _given(say("Period"), _joined(facts, "period")),
        _given(say("Source"), _joined(facts, "source")),
        *(_asked(facts, key) for key in ("records_per_unit", "provenance", "exclusions")),
    ]
    return Section(3, say("Data"), tuple(lines))


def _method(facts: ReleaseFacts) -> Section:
    lines = [_said(say("Method"), *dict.fromkeys(map(method_words, _every(facts, "method"))))]
    for name, pmf in facts.laws.items():
        lines.append(_said(say("Law {name}", name=name), charts.law_summary(pmf)))
    lines += [
        _said(say("Published exactly and not protected"), *facts.guarantee.invariants),
        _asked(facts, "structural_zeros"),
        _asked(facts, "alternatives"),
    ]
    policy = Grid(
        say("Policy in force"),
        (say("Setting"), say("Value")),
        tuple(facts.policy.items()),
        Tag.DECLARED,
    )
    pictures = tuple(
        Picture(charts.to_svg(charts.law_chart(pmf, name), facts.language), charts.law_summary(pmf))
        for name, pmf in facts.laws.items()
    )
    maps = [found for table in facts.tables if (found := risk_map(table)) is not None]
    pictures += tuple(Picture(charts.to_svg(spec, facts.language), words) for spec, words in maps)
    return Section(5, say("Method"), tuple(lines), (policy,) if facts.policy else (), pictures)


def _guarantee(facts: ReleaseFacts) -> Section:
    promise = facts.guarantee
    kinds = {
        Kind.DP: say("differential privacy: composes over releases, and is charged"),
        Kind.LAW: say(
            "law: the exact figures of one cell asked once; no differential privacy is claimed"
        ),
        Kind.SEMANTIC: say("semantic: suppression, against readers who hold the stated prior"),
        Kind.NONE: say("none"),
    }
    lines = [
        _said(say("In words"), promise.sentence()),
        _said(say("Kind"), kinds[promise.kind]),
    ]
    if promise.epsilon is not None:
        lines.append(_said("ε", number(plain(promise.epsilon))))
    if promise.delta is not None:
        least = number(rounded_up(promise.delta, 6))
        lines.append(_said("δ", together("≤", least) if promise.delta else "0"))
    if promise.rho is not None:
        lines.append(_said("ρ", number(plain(promise.rho))))
    lines += [
        _said(
            say("Neighbours"),
            say(
                "{neighbours} {unit}",
                neighbours=neighbours_words(promise.neighbours),
                unit=unit_words(promise.unit),
            ),
        ),
        _said(say("Exact or bound"), say("exact") if promise.exact else say("an upper bound")),
        _said(say("Scope"), promise.scope),
    ]
    if promise.odds:
        lines.append(_said(say("In odds"), *promise.odds))
    if as_one := promise.counted_as_one():
        lines.append(_said(say("Counted as one"), as_one))
    looked = {
        None: MISSING,
        True: say(
            "Yes: parameters were chosen after a trial on true data. That choice is not covered by "
            "the guarantee."
        ),
        False: say("No: parameters were set without looking at the data."),
    }[facts.chosen_by_looking]
    missing = facts.chosen_by_looking is None
    lines.append(Line(say("Chosen by looking at the data"), (looked,), Tag.DECLARED, missing))
    return Section(6, say("Guarantee"), tuple(lines))


def _attacks(facts: ReleaseFacts, edition: Edition) -> Section:
    public = edition is Edition.PUBLIC
    words = (say("None is reported in this edition."),) if public else facts.attacks
    none = say("No attack was run. Run `discreet attack`.")
    lines = (_said(say("Attacks run"), *(words or (none,))), _asked(facts, "attacks_not_tried"))
    return Section(7, say("Attacks"), lines)


def _quality(facts: ReleaseFacts, edition: Edition) -> Section:
    rows = tuple(_quality_row(table) for table in facts.tables)
    header = (
        *(say("Table"), say("Cells"), say("Shown"), say("Unreliable"), say("Below zero")),
        *(say("Noise sd"), say("Typical error")),
    )
    grids = [Grid(say("What the tables hold"), header, rows)]
    if facts.planned_errors:
        head = (say("Table"), say("Margin"), say("Noise sd"), say("Within"), say("Unchanged"))
        planned = tuple(map(_planned_row, facts.planned_errors))
        grids.append(Grid(say("Error announced before anything was drawn"), head, planned))
    pictures = _announced(facts)
    lines = [_asked(facts, "uses")]
    if edition is Edition.INTERNAL:
        none = say("No comparison on true data was run. Run `discreet compare`.")
        lines.append(_said(say("Compared on true data"), *(facts.rehearsed or (none,))))
    return Section(8, say("Quality"), tuple(lines), tuple(grids), pictures)


def _planned_row(error: PlannedError) -> tuple[str, ...]:
    within = say("±{within} in 95 % of releases", within=error.within)
    return (
        error.table,
        error.margin,
        "–" if error.instead else number(three_digits(error.noise_sd)),
        error.instead or within,
        "–" if error.unchanged is None else number(f"{100 * error.unchanged:.1f} %"),
    )


def _announced(facts: ReleaseFacts) -> tuple[Picture, ...]:
    """The noise announced of every table beside each other, coarsest levels first as planned."""
    known = {one.table: one.noise_sd for one in facts.planned_errors if not one.instead}
    if len(known) < 2:
        return ()
    told: str = say("announced")
    rows = {name: {told: sd} for name, sd in sorted(known.items(), key=lambda row: row[1])}
    words = say("standard deviation of a cell's noise")
    spec = errors_beside(rows, say("Noise by table"), words)
    return (Picture(charts.to_svg(spec, facts.language), spec["description"]),)


def _quality_row(table: ProtectedTable) -> tuple[str, ...]:
    shown = table.shown
    below = int((shown & (table.values < 0)).sum())
    doubtful = int((table.status == Status.UNRELIABLE).sum())
    spread: str = say("not known")
    if table.noise is not None and shown.any():
        sd = np.broadcast_to(table.noise.sd, table.shape)[shown]
        low, high = number(three_digits(sd.min())), number(three_digits(sd.max()))
        spread = low if low == high else say("{low} to {high}", low=low, high=high)
    return (
        table.title,
        number(table.cells),
        number(int(shown.sum())),
        number(doubtful),
        number(below),
        spread,
        typical_error(table) or say("not known"),
    )


def _reading(facts: ReleaseFacts) -> Section:
    lines = [_said(table.title or say("Table"), *footnote(table)) for table in facts.tables]
    lines.append(_said(say("Cite as"), *map(citation, facts.tables)))
    return Section(9, say("How to read the numbers"), tuple(lines))


def _limits(facts: ReleaseFacts) -> Section:
    promises = [facts.guarantee, *(table.guarantee for table in facts.tables)]
    known = [words for one in promises for words in (*one.notices, *one.caveats, *one.risks)]
    lines = (
        _said(say("Known limits"), *dict.fromkeys(known)),
        _asked(facts, "side_channels"),
    )
    return Section(10, say("Known limits"), lines)


def _security(facts: ReleaseFacts) -> Section:
    lines = [_said(say("Software"), *_every(facts, "software"))]
    lines += [_said(name, version) for name, version in facts.software.items()]
    lines += [_asked(facts, key) for key in ("keys", "roles", "randomness")]
    return Section(11, say("Security"), tuple(lines))


def _governance(facts: ReleaseFacts) -> Section:
    lines: list[Line] = []
    grids: list[Grid] = []
    ledger = facts.ledger
    if ledger is None:
        nothing = say("This method charges nothing: no ledger row exists.")
        lines.append(_said(say("Ledger"), nothing))
    else:
        lines += [
            _said(say("Budget"), ledger.budget),
            _said(say("Spent"), ledger.spent),
            _said(say("Left"), ledger.left),
            _said(say("Head of the ledger's chain"), ledger.chain_head),
        ]
        if ledger.charges:
            head = (say("When"), say("What for"), say("Charge"))
            grids.append(Grid(say("Ledger extract"), head, ledger.charges))
    lines.append(Line(say("Approvals"), (say("not attested"),), Tag.ATTESTED, missing=True))
    lines += [_asked(facts, key) for key in ("review_date", "incident_contact", "withdrawal")]
    return Section(12, say("Governance"), tuple(lines), tuple(grids))


def _reproduce(facts: ReleaseFacts) -> Section:
    head = (say("File"), "SHA-256")
    sums = Grid(say("SHA-256 of the files"), head, tuple(facts.checksums.items()))
    lines = (_said(say("Commands"), *facts.commands),)
    return Section(13, say("Reproduce"), lines, (sums,) if facts.checksums else ())
