"""Reading a recipe from Python values or from a YAML or JSON mapping."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core.description import Description, Policy
from ..core.domain import AxisRef
from ..core.exact import exact, plain, shown
from ..core.names import canonical_conditions, find_axis, find_codes
from ..core.question import Layout, Question, Recipe, TableSpec, Treatment
from ..errors import RecipeError
from ..languages import meant, number, say
from ..methods import registry
from ..methods.declaration import Declaration, Part
from .layouts import KEYS, layout_of
from .workloads import tables_of_workload

_SIDES = ("rows", "columns", "layers")
_TABLE_KEYS = (*_SIDES, "where", "totals", "weighted", "share", "name", *KEYS)
_RECIPE_KEYS = ("dataset", "title", "method", "language", "tables", "workload")
_OTHER_STATISTICS = frozenset(
    ["mean", "median", "sum", "average", "quantile", "measure", "value", "statistic"]
)


def from_mapping(recipe: Mapping[str, Any], description: Description, policy: Policy) -> Recipe:
    """A recipe from a YAML or JSON mapping: one table at the top, or several under `tables`."""
    if not isinstance(recipe, Mapping):
        raise RecipeError(say("A recipe is a mapping with rows and columns, or with tables."))
    single = any(key in recipe for key in _TABLE_KEYS)
    if single and "tables" in recipe:
        raise RecipeError(
            say("A recipe has either rows and columns, or tables; this one has both.")
        )
    method = str(recipe.get("method") or policy.method).strip()
    declared = registry.declaration(method if method in registry.names() else method.casefold())
    settings = _settings_of(recipe, declared)
    raw = (
        recipe.get("tables") if not single else [{k: recipe[k] for k in _TABLE_KEYS if k in recipe}]
    )
    if (line := recipe.get("workload")) is not None:
        if raw:
            raise RecipeError(say("A recipe has either tables or a workload; this one has both."))
        raw = [
            {"rows": [f"{ref.variable}:{ref.level}" for ref in axes]}
            for axes in tables_of_workload(str(line), description)
        ]
    if not isinstance(raw, Sequence) or isinstance(raw, str) or not raw:
        raise RecipeError(say("A recipe needs at least one table. Give rows or columns."))
    if len(raw) > 1000:
        raise RecipeError(
            say("A recipe holds at most 1,000 tables, got {many}. Split it.", many=len(raw))
        )
    dataset = recipe.get("dataset")
    if dataset is not None and dataset != description.name:
        raise RecipeError(
            say(
                "This recipe is for {dataset}, the data set is {name}.",
                dataset=repr(dataset),
                name=repr(description.name),
            )
        )
    language, many = str(recipe.get("language") or ""), len(raw)
    tables = [_table(one, i, many, description, language) for i, one in enumerate(raw, start=1)]
    specs, layouts = [spec for spec, _ in tables], tuple(layout for _, layout in tables)
    _check_shares(specs)
    if len(specs) == 1:
        specs = [replace(specs[0], share=None)]
    values = declared.read(settings)
    question = Question(description.name, tuple(specs), declared.name, values[Part.MEASURED])
    title = str(recipe.get("title") or "")
    return Recipe(question, layouts, title, Treatment(values[Part.TREATED]))


def _settings_of(recipe: Mapping[str, Any], declared: Declaration) -> dict[str, Any]:
    """What a recipe says of its method; other keys than those of recipes and methods are refused."""
    known = (*_RECIPE_KEYS, *_TABLE_KEYS)
    settings = {key: value for key, value in recipe.items() if key not in known}
    if not settings:
        return settings
    of_any_method = {setting.name for one in registry.METHODS.values() for setting in one.settings}
    own = tuple(setting.name for setting in declared.asked())
    _check_keys(
        [key for key in settings if key not in of_any_method], (*known, *own), say("a recipe")
    )
    return settings


def _table(
    table: Any, number: int, many: int, description: Description, language: str
) -> tuple[TableSpec, Layout]:
    of = say(" of table {number}", number=number) if many > 1 else ""
    if not isinstance(table, Mapping):
        raise RecipeError(
            say("Table {number} must be a mapping with rows and columns.", number=number)
        )
    _check_keys(
        table, _TABLE_KEYS, say("table {number}", number=number) if many > 1 else say("a table")
    )
    sides: dict[str, tuple[AxisRef, ...]] = {}
    for side in _SIDES:
        names = _names(table.get(side), side + of)
        sides[side] = tuple(find_axis(description, name) for name in names)
    refs = [ref for side in sides.values() for ref in side]
    seen: dict[str, AxisRef] = {}
    for ref in refs:
        if ref.variable in seen:
            raise RecipeError(
                say(
                    "{variable} is used twice{of}, as {seen} and {ref}. Use each variable once, at "
                    "one level.",
                    variable=ref.variable,
                    of=of,
                    seen=seen[ref.variable],
                    ref=ref,
                )
            )
        seen[ref.variable] = ref
    spec = TableSpec(
        axes=tuple(sorted(refs)),
        where=canonical_conditions(description, _where(table.get("where"), of, description)),
        totals=_yes(table.get("totals"), "totals" + of, True, yes="all", no="none"),
        weighted=_yes(table.get("weighted"), "weighted" + of, False),
        share=(
            None
            if table.get("share") is None
            else exact(table["share"], "share" + of, above=0, most=1, error=RecipeError)
        ),
        name=str(table.get("name") or ""),
    )
    if spec.weighted and description.weight is None:
        raise RecipeError(
            say("{name} has no weights. Leave out weighted{of}.", name=description.name, of=of)
        )
    return spec, layout_of(table, of, sides, spec, description, language)


def _names(value: Any, what: str) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):  # an empty field of a form names nothing
        return [item.strip() for item in value.split(",") if item.strip()]
    if not isinstance(value, Sequence) or not all(isinstance(item, str) for item in value):
        raise RecipeError(
            say(
                "{what} must be a list of variable names, got {name}.",
                what=what,
                name=type(value).__name__,
            )
        )
    if not all(item.strip() for item in value):
        raise RecipeError(
            say("{what} has an empty name. Name a variable or a level, or leave it out.", what=what)
        )
    return [item.strip() for item in value]


def _where(value: Any, of: str, description: Description) -> list[tuple[AxisRef, tuple[str, ...]]]:
    if not value:
        return []
    if not isinstance(value, Mapping):
        raise RecipeError(
            say("where{of} must map a variable to categories, such as sex: [F].", of=of)
        )
    conditions = []
    for name, codes in value.items():
        ref = find_axis(description, str(name))
        level = description.variable(ref.variable).level(ref.level)
        if not isinstance(codes, str | Sequence) or not codes:
            raise RecipeError(
                say(
                    "where{of} names no category of {name}, got {value}. Name one, such as [F, M], "
                    "or leave it out.",
                    of=of,
                    name=str(name)[:60],
                    value=shown(codes) or "–",
                )
            )
        texts = codes if isinstance(codes, str) else [str(code) for code in codes]
        conditions.append((ref, find_codes(level, texts)))
    return conditions


def _yes(value: Any, what: str, default: bool, *, yes: str = "yes", no: str = "no") -> bool:
    if value is None or value == "":
        return default
    if isinstance(value, bool):
        return value
    text = str(value).strip().casefold()
    if text in {yes, "yes", "true", "all", "1"}:
        return True
    if text in {no, "no", "false", "none", "0"}:
        return False
    raise RecipeError(
        say(
            "{what} must be {yes} or {no}, got {value}.",
            what=what,
            yes=yes,
            no=no,
            value=repr(str(value)[:40]),
        )
    )


def _check_keys(keys: Iterable[str], known: Sequence[str], what: str) -> None:
    for key in keys:
        if key not in known:
            if str(key).casefold() in _OTHER_STATISTICS:
                raise RecipeError(
                    say(
                        "discreet publishes counts only; {key} is not offered. Ask for a table of the "
                        "variable in bands instead.",
                        key=repr(key),
                    )
                )
            raise RecipeError(
                say(
                    "{key} is not part of {what}.{key_2} It takes {names}.",
                    key=repr(str(key)[:60]),
                    what=what,
                    key_2=meant(str(key), known),
                    names=", ".join(known),
                )
            )


def _check_shares(specs: Sequence[TableSpec]) -> None:
    shares = [spec.share for spec in specs if spec.share is not None]
    if shares and len(shares) != len(specs):
        raise RecipeError(
            say(
                "{many} of {many_2} tables have a share. Give one to each or to none.",
                many=len(shares),
                many_2=len(specs),
            )
        )
    if shares and sum(shares) != 1:
        raise RecipeError(
            say(
                "Shares must add up to 1, they add up to {shares}.",
                shares=number(plain(sum(shares, start=shares[0] * 0))),
            )
        )
