"""Reading one variable of discreet.yaml: its levels, categories and columns."""

from __future__ import annotations

import re
from pathlib import Path

from ..core.domain import Category, Level, Text, Variable
from ..engines.coding import Columns
from ..errors import did_you_mean
from .category_file import Listed, read_categories, text_of
from .yaml_reader import Block

VARIABLE_KEYS = (
    "label", "status", "role", "kind", "note", "missing", "other", "column", "categories",
    "parents", "levels",
)  # fmt: skip
LEVEL_KEYS = ("label", "column", "categories", "parents", "of")
KINDS = ("classification", "geography", "time")

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def checked_name(block: Block, key: str, name: str, what: str) -> str:
    """A name of letters, digits, _ and -, or one sentence."""
    if not _NAME.fullmatch(name):
        raise block.error(
            f"the name of {what} must begin with a letter and hold letters, digits, _ and - only "
            f"(64 at most), got {name[:70]!r}.",
            key,
        )
    return name


def read_variable(
    name: str, block: Block, folder: Path, files: list[Path]
) -> tuple[Variable, Columns]:
    """A variable and the columns it is coded from; category files read are added to `files`."""
    block.only(VARIABLE_KEYS)
    parts = _level_blocks(name, block)
    listed: dict[str, Listed] = {}
    for level_name, part in parts.items():
        categories = read_categories(part, folder, files)
        if categories is None:
            raise part.error(
                f"level {level_name} has no categories. Write `categories:` with code: label, "
                f"or name a file: `categories: categories/{level_name}.csv`."
            )
        listed[level_name] = categories
    finest_name = next(iter(parts))
    missing = block.texts("missing")
    finest = listed[finest_name]
    if missing and missing[0] not in finest.labels:
        raise block.error(
            f"missing records go to category {missing[0]!r}, which {finest_name} does not have. "
            "Add it to the categories, or name another first.",
            "missing",
        )
    other = block.text("other") or None
    if other is not None and other not in finest.labels:
        near = did_you_mean(other, finest.labels)
        raise block.error(
            f"other codes go to category {other!r}, which {finest_name} does not have.{near}",
            "other",
        )
    for code in missing[1:]:
        if code in finest.labels:
            raise block.error(
                f"{code!r} is a category and also a code for missing. Keep one of the two.",
                "missing",
            )
    column = parts[finest_name].text("column")
    if not column:
        raise parts[finest_name].error(
            f"{name} needs the column of the data that holds it: `column: {name}`."
        )
    variable = Variable(
        name,
        text_of(block, "label") or Text.of(name),
        _levels(parts, listed, missing[0] if missing else None),
        role=block.choice("role", ("public", "private"), "public"),
        declared=block.choice("status", ("found", "declared"), "found") == "declared",
        kind=block.choice("kind", KINDS, KINDS[0]),
        note=block.text("note"),
    )
    coarser = {
        level_name: part.text("column")
        for level_name, part in list(parts.items())[1:]
        if part.text("column")
    }
    return variable, Columns(
        column, coarser, missing[0] if missing else None, tuple(m for m in missing if m), other
    )


def _level_blocks(name: str, block: Block) -> dict[str, Block]:
    levels = block.get("levels")
    if levels is None:
        return {name: block}
    for key in ("column", "categories", "parents"):
        if key in block.values:
            raise block.error(f"{name} has levels, so {key} belongs to one of them; move it.", key)
    blocks = block.block("levels")
    assert blocks is not None
    parts: dict[str, Block] = {}
    for level_name in blocks.values:
        checked_name(blocks, level_name, level_name, "a level")
        part = blocks.block(level_name)
        if part is None:
            raise blocks.error(f"level {level_name} is empty. Give it categories.", level_name)
        part.only(LEVEL_KEYS)
        parts[level_name] = part
    if not parts:
        raise block.error(f"{name} has no levels; remove the key or list them, finest first.")
    return parts


def _levels(
    parts: dict[str, Block], listed: dict[str, Listed], missing: str | None
) -> tuple[Level, ...]:
    names = list(parts)
    finer: dict[str, Level] = {}
    is_missing: list[bool] = []
    for position, name in enumerate(names):
        part, here = parts[name], listed[name]
        if position == 0:
            of_finest = tuple(range(len(here.labels)))
            is_missing = [code == missing for code in here.labels]
        else:
            below = part.text("of") or names[position - 1]
            if below not in finer:
                raise part.error(
                    f"level {name} is made of {below!r}, which is not a finer level. "
                    f"Finer levels: {', '.join(finer)}.",
                    "of",
                )
            up = _parents(name, here, below, listed[below])
            index = {code: i for i, code in enumerate(here.labels)}
            codes = list(listed[below].labels)
            step = [index[up[code]] for code in codes]
            _add_up(here, listed[below], up)
            of_finest = tuple(step[i] for i in finer[below].of_finest)
        inside: dict[int, bool] = {}
        for finest, place in enumerate(of_finest):
            inside[place] = inside.get(place, True) and is_missing[finest]
        categories = tuple(
            Category(code, label, inside.get(i, False), here.populations.get(code))
            for i, (code, label) in enumerate(here.labels.items())
        )
        finer[name] = Level(name, text_of(part, "label") or Text.of(name), categories, of_finest)
    return tuple(finer.values())


def _add_up(here: Listed, below: Listed, up: dict[str, str]) -> None:
    """Public populations not written for a level are the sums of those below, where all are known."""
    sums: dict[str, int | None] = dict.fromkeys(here.labels, 0)
    for code, parent in up.items():
        so_far, more = sums[parent], below.populations.get(code)
        sums[parent] = None if so_far is None or more is None else so_far + more
    if below.populations:
        for code, total in sums.items():
            if total is not None:
                here.populations.setdefault(code, total)


def _parents(name: str, here: Listed, below: str, child: Listed) -> dict[str, str]:
    """For each category of the level below, its parent in this level; each has exactly one."""
    up: dict[str, str] = {}
    if here.members:
        for code, members in here.members.items():
            for member in members:
                if member not in child.labels:
                    near = did_you_mean(member, child.labels)
                    raise here.error(
                        f"{code!r} of {name} has the member {member!r}, which {below} does not "
                        f"have.{near}",
                        code,
                    )
                if up.setdefault(member, code) != code:
                    raise here.error(
                        f"{member!r} of {below} has two parents, {up[member]!r} and {code!r}; "
                        "each child has one.",
                        code,
                    )
    else:
        up = child.parents
    for code in child.labels:
        if code not in up:
            raise child.error(
                f"category {code!r} of {below} has no parent in {name}. Give it one: "
                f"`parent` in {below}'s categories, or `members` in {name}'s.",
                code,
            )
        if up[code] not in here.labels:
            near = did_you_mean(up[code], here.labels)
            raise child.error(
                f"category {code!r} of {below} has the parent {up[code]!r}, which {name} does "
                f"not have.{near}",
                code,
            )
    return {code: up[code] for code in child.labels}
