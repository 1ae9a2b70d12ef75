"""Reading one variable of discreet.yaml: its levels, categories and columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..core.domain import TOTAL, Category, Level, Text, Variable
from ..errors import DescriptionError, did_you_mean
from .yaml_reader import Block, Items, Scalar, Value

VARIABLE_KEYS = [
    "label",
    "status",
    "role",
    "kind",
    "note",
    "missing",
    "other",
    "column",
    "categories",
    "parents",
    "levels",
]
LEVEL_KEYS = ("label", "column", "categories", "parents", "of")
CATEGORY_KEYS = ("label", "parent", "members", "population")
KINDS = ("classification", "geography", "time")
MOST_CODE = 200
MOST_CATEGORIES = 60_000

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Columns:
    """Where a variable's codes lie in the data, and where odd ones go."""

    finest: str
    levels: Mapping[str, str] = field(default_factory=dict)
    missing: str | None = None
    missing_values: tuple[str, ...] = ()
    other: str | None = None


@dataclass
class Listed:
    """The categories of one level as written: labels, and parents or members where given."""

    labels: dict[str, Text]
    parents: dict[str, str] = field(default_factory=dict)
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)
    populations: dict[str, int] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    file: str = ""


def checked_name(block: Block, key: str, name: str, what: str) -> str:
    """A name of letters, digits, _ and -, or one sentence."""
    if not _NAME.fullmatch(name):
        raise block.error(
            f"the name of {what} must begin with a letter and hold letters, digits, _ and - only "
            f"(64 at most), got {name[:70]!r}.",
            key,
        )
    return name


def text_of(block: Block, key: str) -> Text | None:
    """A text, plain or by language."""
    value = block.get(key)
    if value is None:
        return None
    if isinstance(value, Scalar):
        return Text.of(value.text)
    if isinstance(value, Block) and value.values:
        return Text.of({language: value.text(language) for language in value.values})
    raise block.error(
        f"{block.path(key)} must be a text, or texts by language such as {{en: …, fr: …}}.", key
    )


def read_variable(
    name: str, block: Block, folder: Path, files: list[Path]
) -> tuple[Variable, Columns]:
    """A variable and the columns it is coded from; category files read are added to `files`."""
    block.only(VARIABLE_KEYS)
    parts = _level_blocks(name, block)
    listed: dict[str, Listed] = {}
    for level_name, part in parts.items():
        found = _categories(part, folder, files)
        if found is None:
            raise part.error(
                f"level {level_name} has no categories. Write `categories:` with code: label, "
                f"or name a file: `categories: categories/{level_name}.csv`."
            )
        listed[level_name] = found
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
    found = block.block("levels")
    assert found is not None
    parts: dict[str, Block] = {}
    for level_name in found.values:
        checked_name(found, level_name, level_name, "a level")
        part = found.block(level_name)
        if part is None:
            raise found.error(f"level {level_name} is empty. Give it categories.", level_name)
        part.only(LEVEL_KEYS)
        parts[level_name] = part
    if not parts:
        raise block.error(f"{name} has no levels; remove the key or list them, finest first.")
    return parts


def _categories(part: Block, folder: Path, files: list[Path]) -> Listed | None:
    value: Value | None = part.get("categories")
    if value is None:
        return None
    if isinstance(value, Scalar):
        made = _category_file(part, value.text, folder, files)
    elif isinstance(value, Items):
        made = Listed({}, file=part.file)
        for item in value.values:
            if not isinstance(item, Scalar):
                raise part.error("a list of categories holds codes only.", "categories")
            _add(made, item.text, Text.of(item.text), item.line)
    else:
        made = _inline(value)
    mapping = part.text("parents")
    if mapping:
        _parents_file(part, made, mapping, folder, files)
    if not made.labels:
        raise part.error("the list of categories is empty.", "categories")
    return made


def _inline(block: Block) -> Listed:
    made = Listed({}, file=block.file)
    for code, value in block.values.items():
        line = block.lines[code]
        if isinstance(value, Scalar):
            _add(made, code, Text.of(code if value.empty else value.text), line)
            continue
        entry = block.block(code)
        assert entry is not None
        if not set(entry.values) & set(CATEGORY_KEYS):
            label = text_of(block, code)  # a label by language
        else:
            entry.only(CATEGORY_KEYS)
            label = text_of(entry, "label")
        _add(made, code, label or Text.of(code), line)
        if entry.text("parent"):
            made.parents[code] = entry.text("parent")
        if "members" in entry.values:
            made.members[code] = entry.texts("members")
        population = entry.whole("population")
        if population is not None:
            made.populations[code] = population
    return made


def _add(made: Listed, code: str, label: Text, line: int) -> None:
    problem = ""
    if not code or code != code.strip() or len(code) > MOST_CODE or _CONTROL.search(code):
        problem = (
            f"a category code must be 1 to {MOST_CODE} characters without blanks at its ends or "
            f"control characters, got {code[:40]!r}."
        )
    elif code == TOTAL:
        problem = f"the code {TOTAL} means a total; no category may use it."
    elif code in made.labels:
        problem = f"category {code!r} is listed twice (first on line {made.lines[code]})."
    elif len(made.labels) >= MOST_CATEGORIES:
        problem = (
            f"more than {MOST_CATEGORIES:,} categories: that is an identifier, not a variable. "
            "Leave it out, or give it coarser categories."
        )
    if problem:
        raise DescriptionError(problem, file=made.file, line=line)
    made.labels[code] = label
    made.lines[code] = line


def _rows(part: Block, key: str, name: str, folder: Path, files: list[Path]) -> list[list[str]]:
    path = folder / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise part.error(f"{key} must name a file inside the data set's folder, got {name!r}.", key)
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.reader(stream, strict=True))
    except OSError as problem:
        raise part.error(f"{name} cannot be read ({problem.strerror}).", key) from None
    except (UnicodeDecodeError, csv.Error) as problem:
        raise DescriptionError(
            f"not a UTF-8 CSV file ({problem}). Write code,label,parent.", file=str(path)
        ) from None
    files.append(path)
    return rows


def _category_file(part: Block, name: str, folder: Path, files: list[Path]) -> Listed:
    rows = _rows(part, "categories", name, folder, files)
    made = Listed({}, file=str(folder / name))
    header = [word.strip() for word in rows[0]] if rows else []
    languages = [word.removeprefix("label:") for word in header if word.startswith("label:")]
    allowed = {
        "code",
        "label",
        "parent",
        "population",
        *(f"label:{language}" for language in languages),
    }
    if "code" not in header or not set(header) <= allowed or len(set(header)) != len(header):
        raise DescriptionError(
            "the first line must be code,label,parent (label and parent may be left out; "
            "label:fr for a language, population for public counts), "
            f"got {','.join(header)[:60]!r}.",
            file=made.file,
            line=1,
        )
    for line, row in enumerate(rows[1:], 2):
        if not row:
            continue
        if len(row) != len(header):
            raise DescriptionError(
                f"{len(row)} fields where the first line has {len(header)}.",
                file=made.file,
                line=line,
            )
        cells = dict(zip(header, row, strict=True))
        label: str | dict[str, str] = cells.get("label") or cells["code"]
        if languages:
            default = {"": cells["label"]} if cells.get("label") else {}
            label = {**default, **{language: cells[f"label:{language}"] for language in languages}}
        _add(made, cells["code"], Text.of(label), line)
        if cells.get("parent"):
            made.parents[cells["code"]] = cells["parent"]
        if cells.get("population"):
            if not cells["population"].isdecimal() or len(cells["population"]) > 15:
                raise DescriptionError(
                    f"population must be a whole number, got {cells['population'][:40]!r}.",
                    file=made.file,
                    line=line,
                )
            made.populations[cells["code"]] = int(cells["population"])
    return made


def _parents_file(part: Block, made: Listed, name: str, folder: Path, files: list[Path]) -> None:
    """A mapping file: two columns, the code here and the code one level up; first line is a head."""
    for line, row in enumerate(_rows(part, "parents", name, folder, files), 1):
        if line == 1 or not row:
            continue
        file = str(folder / name)
        if len(row) != 2:
            raise DescriptionError(
                f"a mapping file has two columns, code and parent; got {len(row)}.",
                file=file,
                line=line,
            )
        code, parent = row
        if code not in made.labels:
            raise DescriptionError(
                f"{code!r} is not a category.{did_you_mean(code, made.labels)}",
                file=file,
                line=line,
            )
        if made.parents.setdefault(code, parent) != parent:
            raise DescriptionError(
                f"{code!r} has two parents, {made.parents[code]!r} and {parent!r}; "
                "each child has one.",
                file=file,
                line=line,
            )


def _levels(
    parts: dict[str, Block], listed: dict[str, Listed], missing: str | None
) -> tuple[Level, ...]:
    names = list(parts)
    made: dict[str, Level] = {}
    is_missing: list[bool] = []
    for position, name in enumerate(names):
        part, here = parts[name], listed[name]
        if position == 0:
            of_finest = tuple(range(len(here.labels)))
            is_missing = [code == missing for code in here.labels]
        else:
            below = part.text("of") or names[position - 1]
            if below not in made:
                raise part.error(
                    f"level {name} is made of {below!r}, which is not a finer level. "
                    f"Finer levels: {', '.join(made)}.",
                    "of",
                )
            up = _parents(part, name, here, below, listed[below])
            index = {code: i for i, code in enumerate(here.labels)}
            codes = list(listed[below].labels)
            step = [index[up[code]] for code in codes]
            _add_up(here, listed[below], up)
            of_finest = tuple(step[i] for i in made[below].of_finest)
        inside: dict[int, bool] = {}
        for finest, place in enumerate(of_finest):
            inside[place] = inside.get(place, True) and is_missing[finest]
        categories = tuple(
            Category(code, label, inside.get(i, False), here.populations.get(code))
            for i, (code, label) in enumerate(here.labels.items())
        )
        made[name] = Level(name, text_of(part, "label") or Text.of(name), categories, of_finest)
    return tuple(made.values())


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


def _parents(part: Block, name: str, here: Listed, below: str, child: Listed) -> dict[str, str]:
    """For each category of the level below, its parent in this level; each has exactly one."""
    up: dict[str, str] = {}
    if here.members:
        for code, members in here.members.items():
            for member in members:
                if member not in child.labels:
                    near = did_you_mean(member, child.labels)
                    raise DescriptionError(
                        f"{code!r} of {name} has the member {member!r}, which {below} does not "
                        f"have.{near}",
                        file=here.file,
                        line=here.lines[code],
                    )
                if up.setdefault(member, code) != code:
                    raise DescriptionError(
                        f"{member!r} of {below} has two parents, {up[member]!r} and {code!r}; "
                        "each child has one.",
                        file=here.file,
                        line=here.lines[code],
                    )
    else:
        up = child.parents
    for code in child.labels:
        if code not in up:
            raise DescriptionError(
                f"category {code!r} of {below} has no parent in {name}. Give it one: "
                f"`parent` in {below}'s categories, or `members` in {name}'s.",
                file=child.file,
                line=child.lines[code],
            )
        if up[code] not in here.labels:
            near = did_you_mean(up[code], here.labels)
            raise DescriptionError(
                f"category {code!r} of {below} has the parent {up[code]!r}, which {name} does "
                f"not have.{near}",
                file=child.file,
                line=child.lines[code],
            )
    return {code: up[code] for code in child.labels}
