"""Reading lists of categories: written in discreet.yaml, or in a CSV file of their own."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..core.domain import TOTAL
from ..core.text import Text
from ..errors import DescriptionError, did_you_mean
from .yaml_reader import Block, Items, Scalar, Value

CATEGORY_KEYS = ("label", "parent", "members", "population", "short", "tile")
MOST_CODE = 200
MOST_CATEGORIES = 60_000

_TILE = re.compile(r"[0-9]{1,2}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass
class Listed:
    """The categories of one level as written: labels, and parents or members where given."""

    labels: dict[str, Text]
    parents: dict[str, str] = field(default_factory=dict)
    parents_in: dict[str, dict[str, str]] = field(default_factory=dict)
    """By level, where a category lies in more than one hierarchy: code → parent there."""
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)
    populations: dict[str, int] = field(default_factory=dict)
    shorts: dict[str, Text] = field(default_factory=dict)
    tiles: dict[str, tuple[int, int]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    file: str = ""
    stand_ins: set[str] = field(default_factory=set)
    """Codes of coarser levels that stand here for what lies directly under them."""

    def parent(self, code: str, level: str) -> str | None:
        """The parent of a category as written for that level, or for all."""
        return self.parents_in.get(level, {}).get(code) or self.parents.get(code)

    def error(self, message: str, line: int | str) -> DescriptionError:
        """A sentence about a line of the file, or about the line of a code."""
        at = self.lines[line] if isinstance(line, str) else line
        return DescriptionError(message, file=self.file, line=at)


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


def read_categories(part: Block, folder: Path, files: list[Path]) -> Listed | None:
    """The categories a level lists, in a mapping, a list or a file; None where it lists none."""
    value: Value | None = part.get("categories")
    if value is None:
        return None
    if isinstance(value, Scalar):
        listed = _category_file(part, value.text, folder, files)
    elif isinstance(value, Items):
        listed = Listed({}, file=part.file)
        for item in value.values:
            if not isinstance(item, Scalar):
                raise part.error("a list of categories holds codes only.", "categories")
            _add(listed, item.text, Text.of(item.text), item.line)
    else:
        listed = _inline(value)
    mapping = part.text("parents")
    if mapping:
        _parents_file(part, listed, mapping, folder, files)
    if not listed.labels:
        raise part.error("the list of categories is empty.", "categories")
    return listed


def _inline(block: Block) -> Listed:
    listed = Listed({}, file=block.file)
    for code, value in block.values.items():
        line = block.lines[code]
        if isinstance(value, Scalar):
            _add(listed, code, Text.of(code if value.empty else value.text), line)
            continue
        entry = block.block(code)
        assert entry is not None
        if not set(entry.values) & set(CATEGORY_KEYS):
            label = text_of(block, code)  # a label by language
        else:
            entry.only(CATEGORY_KEYS)
            label = text_of(entry, "label")
        _add(listed, code, label or Text.of(code), line)
        by_level = entry.get("parent")
        if isinstance(by_level, Block):
            for level in by_level.values:
                listed.parents_in.setdefault(level, {})[code] = by_level.text(level)
        elif entry.text("parent"):
            listed.parents[code] = entry.text("parent")
        if "members" in entry.values:
            listed.members[code] = entry.texts("members")
        population = entry.whole("population")
        if population is not None:
            listed.populations[code] = population
        _show(listed, code, text_of(entry, "short"), list(entry.texts("tile")))
    return listed


def _show(listed: Listed, code: str, short: Text | None, tile: list[str]) -> None:
    """How a category is shown where room is scarce, and where its tile lies."""
    if short is not None and any(words for _, words in short.by_language):
        listed.shorts[code] = short
    if not tile:
        return
    if len(tile) != 2 or not all(_TILE.fullmatch(part) for part in tile):
        raise listed.error(
            f"tile of {code!r} must be two whole numbers from 0 to 99, column and row, such as "
            f"[3, 2]; got {', '.join(tile)[:40]!r}.",
            code,
        )
    place = (int(tile[0]), int(tile[1]))
    taken = next((other for other, at in listed.tiles.items() if at == place), None)
    if taken is not None:
        raise listed.error(f"the tile {list(place)} is that of {taken!r} and of {code!r}.", code)
    listed.tiles[code] = place


def is_code(text: str) -> bool:
    """Whether a category may have this code.

    >>> is_code("E06000001"), is_code("two\\nlines"), is_code(" x")
    (True, False, False)
    """
    well_formed = bool(text) and text == text.strip() and len(text) <= MOST_CODE
    return well_formed and not _CONTROL.search(text) and text != TOTAL


def _add(listed: Listed, code: str, label: Text, line: int) -> None:
    problem = ""
    if code == TOTAL:
        problem = f"the code {TOTAL} means a total; no category may use it."
    elif not is_code(code):
        problem = (
            f"a category code must be 1 to {MOST_CODE} characters without blanks at its ends or "
            f"control characters, got {code[:40]!r}."
        )
    elif code in listed.labels:
        problem = f"category {code!r} is listed twice (first on line {listed.lines[code]})."
    elif len(listed.labels) >= MOST_CATEGORIES:
        problem = (
            f"more than {MOST_CATEGORIES:,} categories: that is an identifier, not a variable. "
            "Leave it out, or give it coarser categories."
        )
    if problem:
        raise listed.error(problem, line)
    listed.labels[code] = label
    listed.lines[code] = line


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


def csv_rows(
    part: Block, key: str, name: str, folder: Path, files: list[Path]
) -> tuple[list[list[str]], partial[DescriptionError]]:
    """The rows of a CSV file that a key names, and how to complain about one of its lines."""
    rows = _rows(part, key, name, folder, files)
    return rows, partial(DescriptionError, file=str(folder / name))


def _category_file(part: Block, name: str, folder: Path, files: list[Path]) -> Listed:
    rows = _rows(part, "categories", name, folder, files)
    listed = Listed({}, file=str(folder / name))
    header = [word.strip() for word in rows[0]] if rows else []
    languages = [word.removeprefix("label:") for word in header if word.startswith("label:")]
    labels = [f"label:{language}" for language in languages]
    parents = [word for word in header if word.startswith("parent:")]
    shorts = [word for word in header if word == "short" or word.startswith("short:")]
    allowed = {"code", "label", "parent", "population", "tile", *labels, *parents, *shorts}
    if "code" not in header or not set(header) <= allowed or len(set(header)) != len(header):
        raise listed.error(
            "the first line must be code,label,parent (label and parent may be left out; "
            "label:fr for a language, parent:region for one hierarchy of several, population for "
            "public counts, short for a shorter label, tile for a place's tile such as 3 2), "
            f"got {','.join(header)[:60]!r}.",
            1,
        )
    for line, row in enumerate(rows[1:], 2):
        if not row:
            continue
        if len(row) != len(header):
            raise listed.error(f"{len(row)} fields where the first line has {len(header)}.", line)
        cells = dict(zip(header, row, strict=True))
        label: str | dict[str, str] = cells.get("label") or cells["code"]
        if languages:
            default = {"": cells["label"]} if cells.get("label") else {}
            label = {**default, **{language: cells[f"label:{language}"] for language in languages}}
        _add(listed, cells["code"], Text.of(label), line)
        if cells.get("parent"):
            listed.parents[cells["code"]] = cells["parent"]
        for word in parents:
            if cells[word]:
                by_level = listed.parents_in.setdefault(word.removeprefix("parent:"), {})
                by_level[cells["code"]] = cells[word]
        if cells.get("population"):
            if not cells["population"].isdecimal() or len(cells["population"]) > 15:
                raise listed.error(
                    f"population must be a whole number, got {cells['population'][:40]!r}.", line
                )
            listed.populations[cells["code"]] = int(cells["population"])
        short = {word.partition(":")[2]: cells[word] for word in shorts if cells[word]}
        tile = cells.get("tile", "").replace(",", " ").split()
        _show(listed, cells["code"], Text.of(short) if short else None, tile)
    return listed


def _parents_file(part: Block, listed: Listed, name: str, folder: Path, files: list[Path]) -> None:
    """A mapping file: two columns, the code here and the code one level up; first line is a head."""
    for line, row in enumerate(_rows(part, "parents", name, folder, files), 1):
        if line == 1 or not row:
            continue
        problem = ""
        if len(row) != 2:
            problem = f"a mapping file has two columns, code and parent; got {len(row)}."
        elif row[0] not in listed.labels:
            problem = f"{row[0]!r} is not a category.{did_you_mean(row[0], listed.labels)}"
        elif listed.parents.setdefault(*row) != row[1]:
            code, parent = row
            problem = (
                f"{code!r} has two parents, {listed.parents[code]!r} and {parent!r}; "
                "each child has one."
            )
        if problem:
            raise DescriptionError(problem, file=str(folder / name), line=line)
