"""Reading discreet.yaml: the description and policy of a data set, and how its data are coded.

What may stand in the file is in docs/reference/description.md. A key that is not known, a value
of the wrong kind or a code that is not there gets one sentence with file, line and what to do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.description import Budget, Description, Family, Policy, StructuralZero, Weight
from ..core.domain import Condition, Text, Variable
from ..core.exact import exact
from ..errors import DescriptionError, InputError, did_you_mean
from .variable_file import Columns, checked_name, read_variable, text_of
from .yaml_reader import Block, Items, Scalar, read_file

if TYPE_CHECKING:
    from ..engines.coding import Coding, Source

FILE = "discreet.yaml"

KEYS = [
    "dataset",
    "title",
    "synthetic",
    "population",
    "period",
    "unit",
    "records_per_unit",
    "bound",
    "records",
    "licence",
    "contact",
    "attribution",
    "notes",
    "language",
    "source",
    "id",
    "key_column",
    "weight",
    "family",
    "method",
    "methods",
    "rules",
    "budget",
    "reliable",
    "variables",
    "structural_zeros",
]
SOURCE_KEYS = ("file", "database", "table", "delimiter", "encoding", "quote", "escape", "header")
WEIGHT_KEYS = ("column", "decimals", "bound")
BUDGET_KEYS = ("epsilon", "delta", "rho")

DEFAULT_METHODS = {
    Family.CELL_KEY: "cell-key",
    Family.DP: "noise",
    Family.SUPPRESSION: "suppression",
}
FAMILY_OF_METHOD = {
    "cell-key": Family.CELL_KEY,
    "noise": Family.DP,
    "marginals": Family.DP,
    "topdown": Family.DP,
    "suppression": Family.SUPPRESSION,
}


@dataclass(frozen=True)
class DescribedData:
    """What one discreet.yaml says."""

    folder: Path
    description: Description
    policy: Policy
    source_keys: Mapping[str, str]
    columns: Mapping[str, Columns] = field(repr=False)
    id_column: str | None = None
    key_column: str | None = None
    weight_column: str | None = None
    bound: str = "stop"
    files: tuple[Path, ...] = ()
    """Every file that was read, so that a cache knows when to forget."""

    def source(self) -> Source:
        """Where the records come from; a relative path starts at the data set's folder."""
        from ..engines.coding import Source

        keys = dict(self.source_keys)
        where = keys.pop("file", None) or keys.pop("database", None)
        if where is None:
            raise DescriptionError(
                "no source of records is named. Write `source: {file: data.csv}`.",
                file=str(self.folder / FILE),
            )
        table = keys.pop("table", None)
        guess = Source.guess(where)
        path = guess.path if guess.path.is_absolute() else self.folder / guess.path
        kind = Source.guess(path).kind if "://" not in where else guess.kind
        return Source(kind, path, table or guess.table, keys)

    def coding(self, salt: bytes = b"") -> Coding:
        """How the records become integers."""
        from ..engines.coding import Coding, LevelCoding, VariableCoding, WeightCoding

        variables = []
        for variable in self.description.variables:
            columns = self.columns[variable.name]
            coarser = tuple(
                LevelCoding(
                    level.name, columns.levels.get(level.name), level.codes, level.of_finest
                )
                for level in variable.levels[1:]
            )
            index = variable.finest.index
            variables.append(
                VariableCoding(
                    variable.name,
                    columns.finest,
                    variable.finest.codes,
                    coarser,
                    None if columns.missing is None else index[columns.missing],
                    columns.missing_values,
                    None if columns.other is None else index[columns.other],
                )
            )
        weight = self.description.weight
        return Coding(
            tuple(variables),
            self.id_column,
            self.description.records_per_unit,
            WeightCoding(self.weight_column, weight.scale, weight.bound)
            if weight is not None and self.weight_column
            else None,
            self.key_column,
            salt,
            self.bound,
        )


def read(folder: Path) -> DescribedData:
    """Read a data set's discreet.yaml and the category files it names."""
    path = folder / FILE
    if not path.is_file():
        raise InputError(
            f"{folder} has no {FILE}. Make one with `discreet init DATA --into {folder}`."
        )
    top = read_file(path)
    top.only(KEYS)
    name = checked_name(top, "dataset", top.text("dataset") or folder.name, "a data set")
    files = [path]
    variables, columns = _variables(top, folder, files)
    unit_records = top.whole("records_per_unit", 1, least=1) or 1
    weight, weight_column = _weight(top)
    description = Description(
        name=name,
        title=text_of(top, "title") or Text.of(name),
        variables=variables,
        unit=top.text("unit", "person"),
        records_per_unit=unit_records,
        population=top.text("population"),
        period=top.text("period"),
        records=_records(top),
        weight=weight,
        source=top.text("attribution"),
        licence=top.text("licence"),
        contact=top.text("contact"),
        notes=top.texts("notes"),
        synthetic=top.flag("synthetic"),
        language=top.text("language"),
    )
    zeros = _structural_zeros(top, description)
    if zeros:
        description = replace(description, structural_zeros=zeros)
    policy = _policy(top, folder, files)
    _check_rules(top, policy, description)
    id_column = top.text("id") or None
    if unit_records > 1 and id_column is None:
        raise top.error(
            f"records_per_unit is {unit_records}, but no id names the unit. "
            "Write `id: <column>`, or `records_per_unit: 1` where each record is one unit.",
            "records_per_unit",
        )
    return DescribedData(
        folder=folder,
        description=description,
        policy=policy,
        source_keys=_source(top),
        columns=columns,
        id_column=id_column,
        key_column=top.text("key_column") or None,
        weight_column=weight_column,
        bound=top.choice("bound", ("stop", "drop"), "stop"),
        files=tuple(files),
    )


def _variables(
    top: Block, folder: Path, files: list[Path]
) -> tuple[tuple[Variable, ...], dict[str, Columns]]:
    block = top.block("variables")
    if block is None or not block.values:
        raise top.error("no variables are described. List them under `variables:`.", "variables")
    made: list[Variable] = []
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
        made.append(variable)
    return tuple(made), columns


def _records(top: Block) -> int | None:
    if top.text("records", "private") == "private":
        return None
    return top.whole("records", None, least=1)


def _source(top: Block) -> dict[str, str]:
    value = top.get("source")
    if value is None:
        return {}
    if isinstance(value, Scalar):
        return {"file": value.text}
    block = top.block("source")
    assert block is not None
    block.only(SOURCE_KEYS)
    keys = {key: block.text(key) for key in block.values if block.get(key) is not None}
    if ("file" in keys) == ("database" in keys):
        raise top.error("source needs one of file and database.", "source")
    return keys


def _weight(top: Block) -> tuple[Weight | None, str | None]:
    block = top.block("weight")
    if block is None:
        return None, None
    block.only(WEIGHT_KEYS)
    column = block.text("column")
    if not column:
        raise top.error("weight needs the column that holds it: `weight: {column: w}`.", "weight")
    decimals = block.whole("decimals", 0)
    if decimals is None or decimals > 9:
        raise block.error("weight.decimals must be a whole number from 0 to 9.", "decimals")
    bound = _number(block, "bound")
    return Weight(column, 10**decimals, bound), column


def _number(block: Block, key: str, *, below: int | None = None) -> Fraction | None:
    text = block.text(key)
    if not text:
        return None
    return exact(
        text,
        block.path(key),
        above=0,
        below=below,
        error=lambda sentence: block.error(sentence, key),
    )


def _policy(top: Block, folder: Path, files: list[Path]) -> Policy:
    family = Family(
        top.choice("family", tuple(str(known) for known in Family), str(Family.CELL_KEY))
    )
    method = top.text("method", DEFAULT_METHODS[family])
    methods_block = top.block("methods")
    methods = methods_block.plain() if methods_block else {}
    _check_method(top, "method", method, family)
    for name, parameters in methods.items():
        assert methods_block is not None
        _check_method(methods_block, name, name, family)
        if parameters is None:
            methods[name] = {}
        elif not isinstance(parameters, dict):
            raise methods_block.error(
                f"methods.{name} must be a mapping of parameters, got {parameters!r}.", name
            )
        else:
            _with_ptable(methods_block, name, parameters, folder, files)
    for name in dict.fromkeys([method, *methods]):
        _check_settings(top, methods_block, name, methods.get(name, {}))
    rules = top.block("rules")
    reliable = top.block("reliable")
    return Policy(
        family=family,
        method=method,
        methods=methods,
        rules=rules.plain() if rules else {},
        budget=_budget(top, family),
        reliable=reliable.plain() if reliable else {},
    )


def _with_ptable(
    block: Block, name: str, parameters: dict[str, Any], folder: Path, files: list[Path]
) -> None:
    """Put a p-table's text in the place of its file's name: the policy's version is then of both."""
    given = parameters.get("ptable")
    if not isinstance(given, str) or "\n" in given:
        return
    path = folder / given
    if Path(given).is_absolute() or ".." in Path(given).parts or not path.is_file():
        raise block.error(
            f"methods.{name}.ptable must name a file inside the data set's folder, got {given!r}.",
            name,
        )
    try:
        parameters["ptable"] = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise block.error(f"methods.{name}.ptable: {given} cannot be read as text.", name) from None
    files.append(path)


def _check_method(block: Block, key: str, method: str, family: Family) -> None:
    if method not in FAMILY_OF_METHOD:
        raise block.error(
            f"there is no method {method!r}; there are {', '.join(FAMILY_OF_METHOD)}."
            f"{did_you_mean(method, FAMILY_OF_METHOD)}",
            key,
        )
    if FAMILY_OF_METHOD[method] is not family:
        raise block.error(
            f"method {method} belongs to family {FAMILY_OF_METHOD[method]}, this data set to "
            f"{family}: one data set serves one family, because guarantees do not convert.",
            key,
        )


def _check_settings(
    top: Block, methods_block: Block | None, name: str, parameters: Mapping[str, Any]
) -> None:
    """Let the method itself read its parameters; its sentence gets our file and line."""
    try:
        _read_settings(name, json.dumps(parameters, sort_keys=True, ensure_ascii=False))
    except DescriptionError:
        raise
    except InputError as problem:
        where = methods_block if methods_block and name in methods_block.values else top
        key = name if where is methods_block else "method"
        raise where.error(problem.message, key) from None


def _check_rules(top: Block, policy: Policy, description: Description) -> None:
    """Let each rule read its own value; its sentence gets our file and line."""
    from .. import rules

    block = top.block("rules")
    if block is None:
        return
    block.only(tuple(rules.RULES))
    for name in block.values:
        try:
            rules.check_rules(replace(policy, rules={name: policy.rules[name]}), description)
        except InputError as problem:
            raise block.error(problem.message, name) from None


@lru_cache(maxsize=64)
def _read_settings(name: str, parameters: str) -> None:
    from ..methods import registry

    if name in registry.names():
        registry.get(name).settings(json.loads(parameters))


def _budget(top: Block, family: Family) -> Budget | None:
    value = top.get("budget")
    if value is None:
        if family is Family.DP:
            raise top.error(
                'family dp needs a budget, the loss allowed for ever. Write `budget: {epsilon: "1"}`.',
                "family",
            )
        return None
    if family is not Family.DP:
        raise top.error(
            f"a budget is spent by family dp only; this data set is {family}. Remove it.", "budget"
        )
    block = top.block("budget")
    assert block is not None
    block.only(BUDGET_KEYS)
    epsilon, rho = _number(block, "epsilon"), _number(block, "rho")
    delta = _number(block, "delta", below=1)
    if (epsilon is None) == (rho is None) or (rho is not None and delta is not None):
        raise top.error(
            "budget must be {epsilon}, {epsilon, delta} or {rho}, got "
            f"{{{', '.join(block.values)}}}.",
            "budget",
        )
    kind = "zcdp" if rho is not None else "pure" if delta is None else "approximate"
    return Budget(kind, epsilon, delta, rho)


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
    levels = {
        level.name: (variable, level)
        for variable in description.variables
        for level in variable.levels
    }
    levels.update(
        (variable.name, (variable, variable.finest)) for variable in description.variables
    )
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
