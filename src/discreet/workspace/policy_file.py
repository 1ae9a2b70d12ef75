"""Reading the policy part of discreet.yaml: family, methods with their parameters, rules, budget."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..core.description import Description, Policy
from ..core.exact import exact
from ..core.family import Family
from ..core.loss import ApproxLoss, Loss, PureLoss, ZcdpLoss
from ..errors import DescriptionError, InputError, did_you_mean
from ..methods import registry
from ..methods.declaration import Spends
from .yaml_reader import Block

BUDGET_KEYS = ("epsilon", "delta", "rho")


def number(block: Block, key: str, *, below: int | None = None) -> Fraction | None:
    """An exact number above 0; None where it is not written."""
    text = block.text(key)
    if not text:
        return None
    said = block.path(key)
    return exact(text, said, above=0, below=below, error=lambda words: block.error(words, key))


def read_policy(top: Block, folder: Path, files: list[Path]) -> Policy:
    """The policy, with method parameters and rules read by those they belong to."""
    known = tuple(str(family) for family in registry.families())
    family = Family(top.choice("family", known, str(Family.CELL_KEY)))
    method = top.text("method", registry.of_family(family)[0])
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
            _with_files(methods_block, name, parameters, folder, files)
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
        approval=top.choice("approval", ("one", "two"), "one"),
    )


def _with_ptable(
    block: Block, name: str, parameters: dict[str, Any], folder: Path, files: list[Path]
) -> None:
    """Put a p-table's text in the place of its file's name: the policy's version is then of both."""
    given = parameters.get("ptable")
    if isinstance(given, str) and "\n" not in given:
        parameters["ptable"] = _file_text(block, name, "ptable", given, folder, files)


def _with_files(
    block: Block, name: str, parameters: dict[str, Any], folder: Path, files: list[Path]
) -> None:
    """Put the text of every `file:` below the parameters beside its name, likewise."""
    for key, part in parameters.items():
        if not isinstance(part, dict):
            continue
        if isinstance(part.get("file"), str):
            part["text"] = _file_text(block, name, f"{key}.file", part["file"], folder, files)
        _with_files(block, f"{name}.{key}", part, folder, files)


def _file_text(
    block: Block, name: str, key: str, given: str, folder: Path, files: list[Path]
) -> str:
    """The text of a file that a method's parameters name."""
    path, said = folder / given, f"methods.{name}.{key}"
    line = name.partition(".")[0]
    if Path(given).is_absolute() or ".." in Path(given).parts or not path.is_file():
        raise block.error(
            f"{said} must name a file inside the data set's folder, got {given!r}.", line
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise block.error(f"{said}: {given} cannot be read as text.", line) from None
    files.append(path)
    return text


def _check_method(block: Block, key: str, method: str, family: Family) -> None:
    if method not in registry.names():
        raise block.error(
            f"there is no method {method!r}; there are {', '.join(registry.names())}."
            f"{did_you_mean(method, registry.names())}",
            key,
        )
    declared = registry.declaration(method)
    if declared.family is not family:
        raise block.error(
            f"method {method} belongs to family {declared.family}, this data set to "
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


def check_rules(top: Block, policy: Policy, description: Description) -> None:
    """Let each rule read its own value; its sentence gets our file and line."""
    from .. import protected_rules, rules

    reliable = top.block("reliable")
    if reliable is not None:
        reliable.only(protected_rules.RELIABLE_KEYS)
        try:
            protected_rules.reliable_limit(policy)
        except InputError as problem:
            raise reliable.error(problem.message, protected_rules.RELIABLE_KEYS[0]) from None
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
    registry.get(name).settings(json.loads(parameters))


def _budget(top: Block, family: Family) -> Loss | None:
    value = top.get("budget")
    spends = {registry.declaration(name).spends for name in registry.of_family(family)}
    if value is None:
        if Spends.LOSS in spends:
            raise top.error(
                f"family {family} needs a budget, the loss allowed for ever. "
                'Write `budget: {epsilon: "1"}`.',
                "family",
            )
        return None
    if Spends.LOSS not in spends:
        raise top.error(
            f"a budget is spent by family dp only; this data set is {family}. Remove it.", "budget"
        )
    block = top.block("budget")
    assert block is not None
    block.only(BUDGET_KEYS)
    epsilon, rho = number(block, "epsilon"), number(block, "rho")
    delta = number(block, "delta", below=1)
    if (epsilon is None) == (rho is None) or (rho is not None and delta is not None):
        raise top.error(
            "budget must be {epsilon}, {epsilon, delta} or {rho}, got "
            f"{{{', '.join(block.values)}}}.",
            "budget",
        )
    if rho is not None:
        return ZcdpLoss(rho)
    assert epsilon is not None
    return ApproxLoss(epsilon, delta) if delta else PureLoss(epsilon)
