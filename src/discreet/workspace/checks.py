"""`discreet check`: is a data set sound, and what stands in the way of declaring its variables?

Findings are for the custodian, who may see counts; none of them is part of a public answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from ..core.control import Control
from ..core.family import Family
from ..errors import Cancelled, DiscreetError
from ..file_names import CHANGED, DESCRIPTION, REMOTE, SECRETS, STORE, VERSIONS
from . import loading, origins, secrets, served_laws, versions
from .description_file import DescribedData, read
from .featured_file import featured_findings
from .file_modes import mode_findings
from .finding import SEVERITIES, Finding
from .source_checks import source_findings
from .unit_checks import strong_keys, undecided

if TYPE_CHECKING:
    from ..store.ledger_store import LedgerStore

NARROW = 1 << 16
"""Keys within this of one another are narrow: pairs of records often have the same sum."""
DENSE = 4
"""More than one in so many of the numbers they span: a numbering, not keys."""
SHARED = 0.9
"""Fewer different keys than this for each unit: units share them."""


def check(folder: str | Path, control: Control | None = None) -> list[Finding]:
    """Everything found about the data set in `folder`, worst first.

    folder    the folder of the data set
    control   progress and cancelling

        for finding in dc.check("work/people"):
            print(finding)
    """
    folder = Path(folder)
    control = control or Control()
    versions.sweep_left_overs(folder)
    try:
        described = read(folder)
    except DiscreetError as problem:
        return [Finding("error", problem.message, DESCRIPTION)]
    findings = [
        *undecided(described),  # to be said before anything can be loaded
        *_told(SECRETS, _secret(folder)),
        *_told(VERSIONS, _version(folder, described)),
        *_told(VERSIONS, _on_its_server(folder, described, control)),
        *_told(DESCRIPTION, _served(folder, described)),
        *_told(STORE, _ledger(folder, described)),
        *same_people(folder, described),
        *_laws(folder, described),
        *small_keys(folder, described),
        *_policy(described),
        *_not_private(described),
        *_labels(described),
        *featured_findings(described),
        *mode_findings(folder),
        *source_findings(described, control),
    ]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def _told(where: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Findings as far as they come; what stops them is one too."""
    try:
        yield from findings
    except Cancelled:
        raise
    except DiscreetError as problem:
        yield Finding("error", problem.message, where)


def _secret(folder: Path) -> Iterator[Finding]:
    if versions.every(folder):
        secrets.read(folder)
    for path in secrets.open_to_others(folder):
        yield Finding(
            "warning",
            "others on this machine may read it; with it and the published tables the noise of "
            "cell keys can be taken away.",
            str(path.relative_to(folder)),
            f"Run `chmod {'700' if path.is_dir() else '600'} {path}`.",
        )


def _version(folder: Path, described: DescribedData) -> Iterator[Finding]:
    again = f"Run `discreet load {quote(str(folder))}`."
    current = versions.current(folder)
    if current is None:
        yield Finding("to do", "described but not loaded yet.", VERSIONS, again)
        return
    version, manifest = current
    try:
        origins.verified(folder, version, manifest, described.policy.family)
    except DiscreetError as problem:
        yield Finding("error", problem.message, DESCRIPTION)
        return
    if versions.file_digest(versions.data_file(version)) != manifest.data_digest:
        yield Finding(
            "error",
            f"{version.name} is not as it was loaded: its digest differs.",
            VERSIONS,
            f"Restore it from a backup, or remove it and load again. {again}",
        )
    if loading.coding_digest(described.coding) != manifest.coding:
        yield Finding(
            "error",
            "columns, levels, categories, id, unit's records or weight were changed after loading.",
            DESCRIPTION,
            again,
        )
    declared = described.description.records
    if declared is not None and declared != manifest.records:
        yield Finding(
            "error",
            f"{declared:,} records are declared, but {manifest.records:,} are loaded.",
            DESCRIPTION,
            "Write the right number, or `records: private` and no margin under `published`.",
        )
    if manifest.dropped:
        yield Finding(
            "note",
            f"{manifest.dropped:,} records were left out by the bound on records per unit.",
            version.name,
        )
    if manifest.id_column is None and manifest.origin is None:
        yield Finding(
            "note",
            f"record keys were drawn at load ({manifest.epoch}); new data begin a new key epoch, "
            "and unchanged cells then get other noise.",
            DESCRIPTION,
            "Name the column of ids: `id: <column>`.",
        )


def _on_its_server(folder: Path, described: DescribedData, control: Control) -> Iterator[Finding]:
    """Whether records that stay on a server can be counted now, and are those that were loaded."""
    current = versions.current(folder)
    if current is None or not (current[0] / REMOTE).exists():
        return
    version, manifest = current
    again = f"Run `discreet load {quote(str(folder))}`."
    if (
        not (version / CHANGED).exists()
        and loading.coding_digest(described.coding) == manifest.coding
    ):
        from ..engines.remote_engine import open_remote

        engine = open_remote(version, described.description, secrets.read(folder).record_salt())
        try:
            engine.check(control)
        except Cancelled:
            raise
        except DiscreetError as problem:
            if not (version / CHANGED).exists():
                what = f"the records cannot be counted where they are. {problem.message}"
                yield Finding("error", what, VERSIONS, f"Once that is settled: {again}")
        finally:
            engine.close()
    if (version / CHANGED).exists():
        yield Finding(
            "error",
            "the records on the server are not those that were loaded: their number or their keys "
            "differ. Nothing is counted any more.",
            VERSIONS,
            f"Find out what changed there. {again}",
        )


def _served(folder: Path, described: DescribedData) -> Iterator[Finding]:
    from .dataset import served

    served(folder, described.description, described.policy.family)
    yield from ()


def _ledger(folder: Path, described: DescribedData) -> Iterator[Finding]:
    from ..store import has_ledger, open_ledger, verify

    if not has_ledger(folder, described.description.name):
        return
    verify(folder)
    with open_ledger(folder, dataset=described.description.name) as ledger:
        now = versions.current(folder)
        before = 0 if now is None else _answered_anew(ledger, described, now[1].data_version)
        problems = [
            problem for problem in (ledger.anchor_problem, ledger.rights_problem) if problem
        ]
    for problem in problems:
        yield Finding("warning", problem, STORE)
    if before:
        yield Finding(
            "warning",
            "structural zeros, the number of records or a weight's bound were changed after "
            f"{before:,} questions about them were answered: these count as new ones when they are "
            "asked again, get new noise and are charged again.",
            DESCRIPTION,
            "Undo the change if the old answers should go on.",
        )


def _answered_anew(ledger: LedgerStore, described: DescribedData, data_version: str) -> int:
    """How many questions answered on these data were measured on other public facts."""
    from ..methods.base import Facts, Measurements, question_hash

    policy = described.policy
    facts = Facts(described.description, policy, data_version, policy.version)
    answers = 0
    for answer in ledger.history(data_version=data_version).answers:
        question = Measurements.from_bytes(answer.measurements, answer.form).question
        answers += question is not None and question_hash(question, facts) != answer.question
    return answers


def same_people(folder: Path, described: DescribedData) -> Iterator[Finding]:
    """Other data sets beside this one that are made from the same source."""
    try:
        mine = described.source()
    except DiscreetError:
        return
    for other in sorted(folder.resolve().parent.glob(f"*/{DESCRIPTION}")):
        if other.parent.resolve() == folder.resolve():
            continue
        try:
            theirs = read(other.parent)
            source = theirs.source()
        except DiscreetError:
            continue
        if source.same_place(mine):
            yield Finding(
                "warning",
                f"{other.parent.name} (family {theirs.policy.family}) has the same source: what "
                "is published from one is not counted in the guarantees of the other, and the "
                "two together tell more about the same people.",
                DESCRIPTION,
                "Publish from one of them only, or count the people's loss over both.",
            )


def _laws(folder: Path, described: DescribedData) -> Iterator[Finding]:
    others = served_laws.others(folder, described.policy)
    if others:
        yield Finding(
            "warning",
            f"tables were made under {others} other {'law' if others == 1 else 'laws'} (p-table, "
            "keys or sameness) before: with this one the same cells are answered again, and under "
            "classical keys the values together can give a count away.",
            DESCRIPTION,
            "Go back to the law that was published, unless readers may have both.",
        )


def small_keys(folder: Path, described: DescribedData) -> Iterator[Finding]:
    """Strong cell keys made from a key column whose keys are few or small."""
    column = described.coding.key_column
    if column is None or not strong_keys(described):
        return
    try:
        current = versions.current(folder)
    except DiscreetError:
        return
    why = current and _unfit_keys(current[0], described.description.records_per_unit)
    if why:
        yield Finding(
            "warning",
            f"strong cell keys are made from the column {column}, which {why}: cells of different "
            "people then often get the same noise, and who knows some counts can undo it in others.",
            DESCRIPTION,
            "Make record keys from ids (`id:`, without `key_column:`), or fill the column with "
            "random numbers below 2^32.",
        )


def _unfit_keys(version: Path, records_per_unit: int) -> str:
    """Why the keys of a loaded version give cells of other people the same noise, or nothing.

    A strong cell key is made from the sum of its records' keys and their number. Keys made from ids
    have 64 bits, so two cells of other people practically never agree in it. Keys of a column may
    be few or close together, as those that published systems fold: then cells of other people with
    the same count get the same noise, and who knows some of these counts can undo it in the others.
    """
    from ..engines.duckdb.keys import key_spread

    records, distinct, span = key_spread(version) or (0, 0, 0)
    if records < 2:
        return ""
    if distinct * records_per_unit < SHARED * records:
        return f"has {distinct:,} different keys for {records:,} records"
    if span < max(NARROW, DENSE * distinct):
        return f"has keys within {span:,} of one another"
    return ""


def _policy(described: DescribedData) -> Iterator[Finding]:
    description, policy = described.description, described.policy
    if description.undeclared and not policy.family.shows_found:
        names = " ".join(description.undeclared)
        yield Finding(
            "to do",
            f"family {policy.family} refuses questions about {', '.join(description.undeclared)}, and a "
            "server shows them to custodians only: their categories were found in the data, so the "
            "list itself is about people.",
            DESCRIPTION,
            "Read what is said of each below, then declare those whose lists are public knowledge: "
            f"`discreet declare {quote(str(described.folder))} {names}`.",
        )
    if description.weight and description.weight.bound is None and policy.family is Family.DP:
        yield Finding(
            "warning",
            "the weight has no bound, so weighted tables are refused under differential privacy.",
            DESCRIPTION,
            "Write the largest weight allowed, as a public rule: `weight: {…, bound: 20}`.",
        )
    if policy.family is Family.CELL_KEY and len(description.variables) < 2:
        yield Finding("note", "there is one variable only.", DESCRIPTION)


def _not_private(described: DescribedData) -> Iterator[Finding]:
    """Attributes whose counts are protected by stars and which may stand on an axis all the same."""
    policy = described.policy
    if policy.family is not Family.SUPPRESSION:
        return
    attributes = policy.parameters(policy.method).get("attributes", {})
    for variable in described.description.variables:
        if variable.name in attributes and variable.role != "private":
            yield Finding(
                "to do",
                f"family {policy.family} refuses every question about {variable.name}: it is counted as "
                "a private attribute and not declared to be one.",
                DESCRIPTION,
                f"Write `role: private` with {variable.name} under `variables:`.",
            )


def _labels(described: DescribedData) -> Iterator[Finding]:
    for variable in described.description.variables:
        for level in variable.levels:
            counts = Counter(str(category.label) for category in level.categories)
            twice = [label for label, n in counts.items() if n > 1]
            if twice:
                yield Finding(
                    "warning",
                    f"the label {twice[0]!r} stands for {counts[twice[0]]} categories of "
                    f"{level.name}; readers cannot tell them apart.",
                    DESCRIPTION,
                    "Make labels differ.",
                )
