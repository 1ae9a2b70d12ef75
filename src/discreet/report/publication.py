"""A release published as a folder: tables, manifest with checksums, report, register.

The one way to publish, for command line, Python and HTTP.

out/
  tables/<name>.csv, .xlsx, …      publish
  report.html                      publish
  microdata.parquet, .csv          publish: synthetic records (consistent margins)
  measurements.parquet, .csv       publish: the noisy numbers they were fitted to
  manifest.json                    publish: question, guarantee, receipt, checksums
  register.json                    publish: what has ever been spent on these people
  report-internal.html             keep inside
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import formats, rules
from ..core.cell_law import CellLaw
from ..core.control import Control
from ..core.exact import plain
from ..core.loss import Loss, in_words
from ..core.noise_law import AnyLaw, NoiseLaw
from ..durable import OWN, SHARED, SHARED_FOLDER, make_folder, replace_text
from ..errors import InputError
from ..formats.notes import three_digits
from ..languages import counted, number, say, together
from ..release import Release
from ..synthesis import synthesis_of
from ..version import __version__
from ..workspace import rehearsed
from ..workspace.versions import file_digest
from .facts import Edition, LedgerSummary, PlannedError, ReleaseFacts
from .release_report import render_report

if TYPE_CHECKING:
    from ..store import LedgerStore
    from ..workspace import DataSet


MICRODATA = ("parquet", "csv")
"""What synthetic records and measurements can be written as."""
_MOST_LAWS = 6
_DRAWN = ("laplace", "normal", "gaussian", "max-entropy", "exponential")
_SIGNS = ("epsilon", "sigma2", "max_perturbation", "sensitivity")
"""The settings of a law that the report tells."""


REPORT, INTERNAL, MANIFEST, REGISTER = (
    *("report.html", "report-internal.html"),
    *("manifest.json", "register.json"),
)
DOCUMENTS = (REPORT, MANIFEST, REGISTER)
"""What lies beside the tables and may be published with them."""


@dataclass(frozen=True)
class Publication:
    """What was written: files relative to the folder, and where all tables are one file."""

    files: tuple[str, ...]
    together: Mapping[str, str]
    """By the name of a format, the file that holds all tables."""


def publish(
    data: DataSet,
    release: Release,
    folder: Path,
    wanted: Sequence[str],
    *,
    together: bool = False,
    microdata: Sequence[str] = ("parquet",),
    control: Control | None = None,
) -> Publication:
    """Write a release into `folder`: tables, manifest, report in two editions, register.

    With `together`, a format that can hold all tables gets one file of them.
    """
    kinds = [formats.by_name(name.strip()) for name in wanted if name.strip()]
    if not kinds:
        raise InputError(f"Name a format for the tables: {', '.join(formats.FORMATS)}.")
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; a release needs a folder.")
    beside = microdata_kinds(microdata)
    make_folder(folder / "tables", mode=SHARED_FOLDER)
    files: list[Path] = []
    whole: dict[str, str] = {}
    for kind in kinds:
        if together and (kind.many or len(release.tables) == 1):
            whole[kind.name] = f"tables{kind.extension}"
            files += formats.write(release.tables, folder / whole[kind.name], kind.name)
            continue
        for place, table in enumerate(release.tables):
            target = folder / "tables" / f"{file_name(release, place)}{kind.extension}"
            files += formats.write(table, target, kind.name)
    control = control or Control()
    synthesis = synthesis_of(data, release.plan, control) if beside else None
    if synthesis is not None:  # the records behind consistent margins, and what they were fitted to
        made_from = synthesis.plan, synthesis.measurements
        files += synthesis.method.synthetic_files(*made_from, folder, beside, control)
    checksums = {str(path.relative_to(folder)): file_digest(path) for path in files}
    facts = _facts(data, release, checksums)
    pages = {
        REPORT: render_report(facts, Edition.PUBLIC),
        INTERNAL: render_report(facts, Edition.INTERNAL),
        MANIFEST: _json(_manifest(release, checksums)),
    }
    if release.plan.charge is not None:
        pages[REGISTER] = _json(data.ledger().export_register())
    for name, text in pages.items():
        replace_text(folder / name, text, mode=OWN if name == INTERNAL else SHARED)
    return Publication((*checksums, *pages), whole)


def microdata_kinds(names: Sequence[str]) -> list[str]:
    """Which of Parquet and CSV are wanted for synthetic records; `none` alone is neither.

    >>> microdata_kinds(["CSV", "parquet"]), microdata_kinds(["none"])
    (['csv', 'parquet'], [])
    """
    wanted = [name.strip().lower() for name in names if name.strip()]
    if wanted == ["none"]:
        return []
    for name in wanted:
        if name not in MICRODATA:
            raise InputError(
                f"Synthetic records are written as {' or '.join(MICRODATA)}, or none; got {name!r}."
            )
    return list(dict.fromkeys(wanted))


def file_name(release: Release, number: int) -> str:
    """A file name for a table: its own, or its variables; the same name gets a number."""
    names = []
    for spec in release.recipe.question.tables:
        words = spec.name or "-".join(ref.level for ref in spec.axes) or "total"
        if not spec.name and spec.where:
            words += "-" + "-".join(condition.variable for condition in spec.where)
        names.append(re.sub(r"[^\w.-]+", "-", words).strip(".-")[:80] or "table")
    name = names[number]
    before = names[:number].count(name)
    return f"{name}-{before + 1}" if before else name


def _manifest(release: Release, checksums: dict[str, str]) -> dict[str, Any]:
    provenance = release.tables[0].provenance
    return {
        "form": "discreet release 1",
        "title": release.recipe.title,
        "dataset": provenance.dataset,
        "question": provenance.question,
        "treatment": dict(release.plan.treatment),
        "question_hash": release.plan.question_hash,
        "data_version": provenance.data_version,
        "policy_version": provenance.policy_version,
        "method": release.plan.method,
        "software": f"discreet {__version__}",
        "guarantee": release.plan.guarantee.to_json(),
        "charge": None if release.plan.charge is None else release.plan.charge.to_json(),
        "receipt": dict(release.receipt),
        "synthetic": provenance.synthetic,
        "sha256": checksums,
    }


def _facts(data: DataSet, release: Release, checksums: dict[str, str]) -> ReleaseFacts:
    description, policy, plan = data.description, data.policy, release.plan
    language = release.tables[0].layout.language
    ledger = None
    when = ""
    if plan.charge is not None:
        book = data.ledger()
        spent, stored = book.spent(), book.find(plan.question_hash)
        when = "" if stored is None else stored.at[:10]  # asked again, a release keeps its date
        ledger = LedgerSummary(
            budget=say("none") if spent is None else _in_words(book.cap()),
            spent=say("only records, from no budget") if spent is None else in_words(spent),
            left=book.left_in_words() or say("no budget is needed"),
            charges=_charges(book),
            chain_head=str(release.receipt.get("hash", "")),
        )
    declared: dict[str, str] = {
        "records_per_unit": together(
            description.records_per_unit, *description.counted, between="; "
        ),
        "randomness": say(
            "AES-256 in counter mode, keyed by the operating system, fresh for every draw"
        ),
    }
    zeros = [zero.reason or say("declared") for zero in description.structural_zeros]
    if zeros:
        declared["structural_zeros"] = together(*zeros, between="; ")
    declared |= data.described.declared.words
    made = counted(
        "{title}: {n} table", "{title}: {n} tables", len(release.tables), title=description.title
    )
    return ReleaseFacts(
        title=release.recipe.title or made,
        tables=release.tables,
        guarantee=plan.guarantee,
        release=plan.question_hash[:12],
        date=when,
        declared=declared,
        policy={
            say("family"): str(policy.family),
            say("method"): plan.method,
            say("policy version"): policy.version,
            say("rules"): together(*rules.in_words(policy), between="; "),
        },
        ledger=ledger,
        planned_errors=_planned_errors(release),
        laws=_laws(release),
        software={"discreet": __version__},
        commands=(
            f"discreet ledger verify {data.name}",
            together(
                f"discreet release {data.name} RECIPES.yaml -o FOLDER   #",
                say("costs nothing: asked before"),
            ),
        ),
        checksums=checksums,
        attacks=rehearsed.kept(data, "attack", language),
        rehearsed=rehearsed.kept(data, "compare", language),
        chosen_by_looking=rehearsed.ever(data) or data.described.declared.chosen_by_looking,
    )


def _planned_errors(release: Release) -> tuple[PlannedError, ...]:
    """What the plan announced of each table, where it announced anything."""
    plan = release.plan
    planned = []
    for error, table in zip(plan.errors, release.tables, strict=bool(plan.errors)):
        if math.isinf(error.noise_sd):
            continue  # follows from a model: nothing was announced
        labels = [axis.level.label for axis in table.domain.axes]
        name = together(*labels, between=" × ") if labels else say("total")
        unknown = error.note and table.noise is None
        mean = number(three_digits(error.noise_sd))
        instead = say("{note} ({mean})", note=error.note, mean=mean) if unknown else ""
        planned.append(
            PlannedError(
                name, say("cells"), error.noise_sd, error.half_width, error.share_unchanged, instead
            )
        )
    return tuple(planned)


def _in_words(cap: Loss | None) -> str:
    """A budget as people read it."""
    return say("none") if cap is None else in_words(cap)


def _charges(ledger: LedgerStore) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (entry.at[:19], charge.question[:12], charge.in_words())
        for entry in ledger.entries()
        for charge in entry.charges
    )


def _laws(release: Release) -> dict[str, Any]:
    """The laws behind the tables, as pictures want them; at most six."""
    laws: dict[str, Any] = {}
    for law, share in [used for table in release.tables for used in _used(table.law)]:
        asked = {key: law.parameters[key] for key in _SIGNS if key in law.parameters}
        if law.name not in _DRAWN or not asked:
            continue
        settings = together(*(_setting(key, value) for key, value in asked.items()), between=", ")
        name = together(law.name, settings, between=", ")
        name = say("{law} ({share})", law=name, share=share) if share else name
        if name not in laws and len(laws) < _MOST_LAWS:
            laws[name] = _probabilities(law.for_count(0))
    return laws


def _setting(key: str, written: str) -> str:
    """A setting of a law as the report says it."""
    value = number(_short(written))
    if key == "max_perturbation":
        return say("at most ±{value}", value=value)
    if key == "sensitivity":
        return say("where a unit moves a cell by up to {value}", value=value)
    sign = {"epsilon": "ε", "sigma2": "σ²"}[key]
    return together(sign, value if value.startswith("≈") else together("=", value))


def _used(law: CellLaw) -> list[tuple[AnyLaw, str]]:
    """The law of a table's cells; of all laws behind an estimate, narrowest, middle and widest.

    Each of these says how many of the measurements it is of: tables, or coefficients.
    """
    if law.consistency != "synthetic table":
        inside = [part.source for part in law.cells[:1]]  # the interior comes first
        return [
            (source.law, "")
            for place, source in enumerate(law.sources)
            if not inside or place in inside
        ]
    every = sorted(law.sources, key=lambda source: float(source.law.for_count(0).variance))
    whole = sum(source.tables for source in every)
    if len(every) == 1:
        one = counted("one measurement", "all {n} measurements", whole)
        return [(every[0].law, one)]
    places = {
        len(every) // 2: "",
        len(every) - 1: say("the widest law"),
        0: say("the narrowest law"),
    }
    return [
        (every[at].law, together(_part(every[at].tables, whole), words, between="; "))
        for at, words in sorted(places.items())
    ]


def _part(tables: int, whole: int) -> str:
    return say("{tables} of {whole} measurements", tables=tables, whole=whole)


def _short(number: str) -> str:
    """A setting as people read it; long fractions by four digits.

    >>> _short("9/10"), _short("12345/987654"), _short("7")
    ('0.9', '≈ 0.0125', '7')
    """
    value = Fraction(number)
    text = plain(value)
    return text if len(text) <= 8 and "/" not in text else f"≈ {float(value):.4g}"


def _probabilities(law: NoiseLaw) -> dict[int, Fraction]:
    """The law itself; one without ends as far as 99.9 % of it."""
    start, masses = law.masses()
    width = law.half_width("0.999")
    first, last = law.ends or (-width, width)
    return {z: Fraction(float(masses[z - start])) for z in range(first, last + 1)}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
