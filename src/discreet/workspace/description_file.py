"""Reading discreet.yaml: the description and policy of a data set, and how its data are coded.

What may stand in the file is in docs/reference/description.md. A key that is not known, a value
of the wrong kind or a code that is not there gets one sentence with file, line and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from ..core.description import Description, Policy, StructuralZero, Weight
from ..core.domain import Condition, Level, Variable
from ..core.public_margins import under
from ..core.text import Text
from ..engines.address import Address
from ..engines.coding import COUNTING, MOST_SHARDS, Coding, Columns, Source
from ..errors import DescriptionError, InputError, did_you_mean
from ..file_names import DESCRIPTION
from .attribute_facts import check_columns, public_facts
from .category_file import text_of
from .featured_file import read_featured
from .policy_file import check_rules, number, read_policy
from .report_declarations import Declared, read_declared
from .variable_file import checked_name, read_variable
from .yaml_reader import Block, Items, Scalar, read_file

KEYS = (
    "dataset", "title", "synthetic", "population", "period", "unit", "records_per_unit",
    "records_per_unit_from", "bound", "records", "about", "sample", "licence", "contact",
    "attribution", "notes", "language", "source", "id",
    "key_column", "weight", "family", "method", "methods", "rules", "budget", "reliable",
    "variables", "structural_zeros", "report", "featured", "approval",
)  # fmt: skip
SOURCE_KEYS = (
    "file", "database", "table", "delimiter", "encoding", "quote", "escape", "header", "shards",
)  # fmt: skip
SERVER_KEYS = ("database", "table", "counting", "kept_in", "timeout", "frozen", "shards")
SAMPLE_KEYS = ("rate", "secret")
WEIGHT_KEYS = ("column", "decimals", "bound", "mark")


@dataclass(frozen=True)
class DescribedData:
    """What one discreet.yaml says."""

    folder: Path
    coding: Coding = field(repr=False)
    """The description, and how the records become integers; the salt is put in at load."""
    policy: Policy
    source_keys: Mapping[str, str]
    declared: Declared = field(default_factory=Declared)
    """What the custodian declares for release reports."""
    files: tuple[Path, ...] = ()
    """Every file that was read, so that a cache knows when to forget."""

    @property
    def description(self) -> Description:
        """The public facts."""
        return self.coding.description

    def source(self) -> Source:
        """Where the records come from; a relative path starts at the data set's folder."""
        keys = dict(self.source_keys)
        where = keys.pop("file", None) or keys.pop("database", None)
        if where is None:
            raise DescriptionError(
                "no source of records is named. Write `source: {file: data.csv}`.",
                file=str(self.folder / DESCRIPTION),
            )
        table, shards = keys.pop("table", None), int(keys.pop("shards", "1"))
        guess = Source.guess(where)
        if guess.address is not None:
            return replace(
                guess,
                table=table or guess.table,
                counting=keys.get("counting", "loaded"),
                kept_in=keys.get("kept_in", ""),
                timeout=int(keys.get("timeout", "0")),
                shards=shards,
            )
        path = guess.path if guess.path.is_absolute() else self.folder / guess.path
        kind = Source.guess(path).kind if "://" not in where else guess.kind
        return Source(kind, path, table or guess.table, keys, shards=shards)


def read(folder: Path, *, instead: Block | None = None) -> DescribedData:
    """Read a data set's discreet.yaml and the category files it names.

    With `instead` what it says of the policy is replaced, key by key, by a draft's.
    """
    top = _top(folder, instead)
    name = checked_name(top, "dataset", top.text("dataset") or folder.name, "a data set")
    files = [folder / DESCRIPTION]
    variables, columns = _variables(top, folder, files)
    weight, weight_mark = _weight(top)
    id_column = top.text("id") or None
    bound = top.choice("bound", ("stop", "drop"), "stop")
    description = Description(
        name=name,
        title=text_of(top, "title") or Text.of(name),
        variables=variables,
        unit=_words(top, "unit") or "person",
        records_per_unit=_unit_records(top, id_column),
        bounded=bound == "drop" and id_column is not None,
        bound_from_data=_from_data(top),
        population=_words(top, "population"),
        period=_words(top, "period"),
        records=_records(top),
        sample_rate=_sample(top),
        about=top.whole("about", None, least=1),
        weight=weight,
        source=_words(top, "attribution"),
        licence=_words(top, "licence"),
        contact=_words(top, "contact"),
        notes=_notes(top),
        synthetic=top.flag("synthetic"),
        language=top.text("language"),
        featured=read_featured(top),
    )
    zeros = _structural_zeros(top, description)
    description = replace(description, structural_zeros=zeros)
    policy = replace(read_policy(top, folder, files), impossible=zeros)
    description = under(policy, description)
    check_rules(top, policy, description)
    check_columns(policy, columns)
    return DescribedData(
        folder=folder,
        coding=Coding(
            description,
            columns,
            id_column,
            top.text("key_column") or None,
            weight_mark,
            bound,
            checked_against=public_facts(policy),
        ),
        policy=policy,
        source_keys=_source(top),
        declared=read_declared(top),
        files=tuple(files),
    )


def _top(folder: Path, draft: Block | None) -> Block:
    """The file's mapping; a draft's keys stand in the place of what is written."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise InputError(
            f"{folder} has no {DESCRIPTION}. Make one with `discreet init DATA --into {folder}`."
        )
    top = read_file(path)
    top.only(KEYS)
    if draft is not None:
        if "family" in draft.values:  # what is written for another family does not go with it
            for key in ("method", "methods", "budget"):
                top.values.pop(key, None)
        top.values |= draft.values
        top.lines |= draft.lines
        top.file = draft.file
    return top


def _words(top: Block, key: str) -> str:
    """A text for readers, plain or by language."""
    text = text_of(top, key)
    return "" if text is None else text.sentence() if text.by_language[0][0] else str(text)


def _notes(top: Block) -> tuple[str, ...]:
    """Notes for readers: a list of texts, each plain or by language; a single one is a list of one."""
    value = top.get("notes")
    if isinstance(value, Block):
        return (_words(top, "notes"),)
    if isinstance(value, Items) and any(isinstance(item, Block) for item in value.values):
        return tuple(
            Text.of({code: item.text(code) for code in item.values}).sentence()
            if isinstance(item, Block)
            else item.text
            for item in value.values
            if isinstance(item, Block | Scalar)
        )
    return top.texts("notes")


def _variables(
    top: Block, folder: Path, files: list[Path]
) -> tuple[tuple[Variable, ...], dict[str, Columns]]:
    block = top.block("variables")
    if block is None or not block.values:
        raise top.error("no variables are described. List them under `variables:`.", "variables")
    variables: list[Variable] = []
    columns: dict[str, Columns] = {}
    owner: dict[str, str] = {}
    for name in block.values:
        part = block.block(name)
        if part is None:
            raise block.error(f"variable {name} is empty. Give it a column and categories.", name)
        checked_name(block, name, name, "a variable")
        variable, columns[name] = read_variable(name, part, folder, files)
        for word in dict.fromkeys([name, *(level.name for level in variable.levels)]):
            if word in owner:
                raise block.error(
                    f"the name {word!r} is used by {owner[word]} and by {name}. "
                    "Names of variables and levels must differ; rename one.",
                    name,
                )
            owner[word] = name
        variables.append(variable)
    return tuple(variables), columns


def _unit_records(top: Block, id_column: str | None) -> int:
    """How many records one unit may have: more than one where an id tells whose they are."""
    most = top.whole("records_per_unit", 1, least=1) or 1
    if most > 1 and id_column is None:
        raise top.error(
            f"records_per_unit is {most}, but no id names the unit. "
            "Write `id: <column>`, or `records_per_unit: 1` where each record is one unit.",
            "records_per_unit",
        )
    return most


def _from_data(top: Block) -> bool:
    """Whether the number of records of a unit was taken from the data, not from a rule."""
    return top.choice("records_per_unit_from", ("rule", "data"), "rule") == "data"


def _records(top: Block) -> int | None:
    if top.text("records", "private") == "private":
        return None
    return top.whole("records", None, least=1)


def _sample(top: Block) -> Fraction | None:
    """The rate of a random sample whose members are secret; None where either is not said."""
    block = top.block("sample")
    if block is None:
        return None
    block.only(SAMPLE_KEYS)
    rate = number(block, "rate")
    if rate is None or not 0 < rate < 1:
        raise top.error(
            "sample needs its rate, above 0 and below 1: `sample: {rate: 0.1, secret: true}`.",
            "sample",
        )
    return rate if block.flag("secret") else None


def _source(top: Block) -> dict[str, str]:
    value = top.get("source")
    if value is None:
        return {}
    if isinstance(value, Scalar):
        return {"file": value.text}
    block = top.block("source")
    assert block is not None
    block.only((*SOURCE_KEYS, *SERVER_KEYS[2:]))
    keys = {key: block.text(key) for key in block.values if block.get(key) is not None}
    _check_shards(block, keys)
    if ("file" in keys) == ("database" in keys):
        raise top.error("source needs one of file and database.", "source")
    address = Source.guess(keys["database"]).address if "database" in keys else None
    if address is None:
        block.only(SOURCE_KEYS)
        return keys
    _check_server(block, address)
    if "timeout" in keys:
        keys["timeout"] = str(block.whole("timeout", 0))
    return keys


def _check_shards(block: Block, keys: dict[str, str]) -> None:
    """In how many files loaded records lie, as plain digits from here on."""
    shards = block.whole("shards", 1, least=1) or 1
    if shards > MOST_SHARDS:
        raise block.error(f"shards must be from 1 to {MOST_SHARDS}, got {shards}.", "shards")
    if shards > 1 and keys.get("counting", "loaded") != "loaded":
        raise block.error(
            "shards are for records that are loaded here. Leave them out, or write "
            "`counting: loaded`.",
            "shards",
        )
    if "shards" in keys:
        keys["shards"] = str(shards)


def _check_server(block: Block, address: Address) -> None:
    """What may be said of a server; never its password."""
    block.only(SERVER_KEYS)
    if address.secret:
        raise block.error(
            "source.database holds a password. Take it out, change it, and give the new one in "
            "PGPASSWORD or ~/.pgpass (for Spark in SPARK_CONNECT_AUTHENTICATE_TOKEN).",
            "database",
        )
    counting = block.choice("counting", COUNTING, "loaded")
    if counting == "read-only" and not block.flag("frozen"):
        raise block.error(
            "counting: read-only counts the table itself, which must then never change: answers are "
            "given once and for ever. Write `frozen: yes` if nobody writes to it, else "
            "`counting: loaded`.",
            "counting",
        )
    if counting == "coded" and address.kind == "spark" and not block.text("kept_in"):
        raise block.error(
            "counting: coded on Spark needs `kept_in:`, the folder on the cluster for coded tables.",
            "counting",
        )


def _weight(top: Block) -> tuple[Weight | None, str]:
    """The weight, and the decimal mark it is written with."""
    block = top.block("weight")
    if block is None:
        return None, "."
    block.only(WEIGHT_KEYS)
    column = block.text("column")
    if not column:
        raise top.error("weight needs the column that holds it: `weight: {column: w}`.", "weight")
    decimals = block.whole("decimals", 0)
    if decimals is None or decimals > 9:
        raise block.error("weight.decimals must be a whole number from 0 to 9.", "decimals")
    bound = number(block, "bound")
    mark = block.choice("mark", (".", ","), ".")
    return Weight(column, 10**decimals, bound), mark


def _structural_zeros(top: Block, description: Description) -> tuple[StructuralZero, ...]:
    zeros = []
    for entry in top.blocks("structural_zeros"):
        entry.name = "structural_zeros"
        entry.only(("where", "reason"))
        where = entry.block("where")
        if where is None or not where.values:
            raise entry.error("a structural zero needs `where: {variable: [codes]}`.")
        conditions = tuple(_condition(where, key, description) for key in where.values)
        zeros.append(StructuralZero(tuple(sorted(conditions)), entry.text("reason")))
    return tuple(zeros)


def _condition(where: Block, key: str, description: Description) -> Condition:
    levels: dict[str, tuple[Variable, Level]] = {}
    for variable in description.variables:
        levels |= {level.name: (variable, level) for level in variable.levels}
        levels[variable.name] = (variable, variable.finest)
    if key not in levels:
        raise where.error(f"there is no variable or level {key!r}.{did_you_mean(key, levels)}", key)
    variable, level = levels[key]
    value = where.get(key)
    codes = where.texts(key) if isinstance(value, Scalar | Items) else ()
    if not codes:
        raise where.error(f"{key} needs a list of codes.", key)
    for code in codes:
        if code not in level.index:
            raise where.error(
                f"{key} has no category {code!r}.{did_you_mean(code, level.index)}", key
            )
    return Condition(variable.name, level.name, tuple(sorted(codes)))
