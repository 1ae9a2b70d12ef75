"""Reading one variable of discreet.yaml: its levels, categories and columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..core.derived import Rule
from ..core.domain import Category, Level, Variable
from ..core.text import Text
from ..engines.coding import Columns
from ..errors import did_you_mean
from .category_file import Listed, read_categories, text_of
from .derived_file import derive_block, derived_levels, listed_rule, makes_categories
from .level_tree import levels_of
from .yaml_reader import Block

VARIABLE_KEYS = (
    "label", "status", "role", "kind", "note", "missing", "other", "column", "categories",
    "parents", "levels", "derive", "group",
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
    derive = derive_block(block)
    missing, other = block.texts("missing"), block.text("other") or None
    rule: Rule | None = None
    parts = {name: block}
    if derive is not None and makes_categories(derive[1]):
        levels, rule = derived_levels(name, block, *derive, _apart(missing, other))
    else:
        parts = _level_blocks(name, block)
        levels = _listed_levels(block, parts, folder, files, missing, other)
        if derive is not None:
            rule = listed_rule(*derive, levels[0], folder, files)
    finest_name = next(iter(parts))
    column = parts[finest_name].text("column")
    if not column:
        raise parts[finest_name].error(
            f"{name} needs the column of the data that holds it: `column: {name}`."
        )
    variable = Variable(
        name,
        text_of(block, "label") or Text.of(name),
        levels,
        role=block.choice("role", ("public", "private"), "public"),
        declared=block.choice("status", ("found", "declared"), "found") == "declared",
        kind=block.choice("kind", KINDS, KINDS[0]),
        note=" ".join(
            filter(None, (block.text("note"), derive[0].text("source") if derive else ""))
        ),
        group=text_of(block, "group") or Text(()),
    )
    coarser = {
        level_name: part.text("column")
        for level_name, part in list(parts.items())[1:]
        if part.text("column")
    }
    gone = tuple(m for m in missing if m)
    return variable, Columns(column, coarser, missing[0] if missing else None, gone, other, rule)


def _apart(missing: Sequence[str], other: str | None) -> list[Category]:
    """The categories of a derived variable that follow from no value."""
    apart = [Category(missing[0], Text.of("Missing"), missing=True)] if missing else []
    if other is not None and other not in missing[:1]:
        apart.append(Category.of(other, "Other"))
    return apart


def _listed_levels(
    block: Block,
    parts: dict[str, Block],
    folder: Path,
    files: list[Path],
    missing: Sequence[str],
    other: str | None,
) -> tuple[Level, ...]:
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
    finest = listed[finest_name]
    if missing and missing[0] not in finest.labels:
        raise block.error(
            f"missing records go to category {missing[0]!r}, which {finest_name} does not have. "
            "Add it to the categories, or name another first.",
            "missing",
        )
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
    return levels_of(parts, listed, missing[0] if missing else None)


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
