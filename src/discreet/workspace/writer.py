"""Writing discreet.yaml: one readable file with comments that teach."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core.description import RECORD, UNDECIDED
from ..durable import make_folder, replace_text
from ..file_names import CATEGORIES, DESCRIPTION
from . import unit_comments
from .draft import CategoryDraft, Draft, LevelDraft, VariableDraft

INLINE = 30
"""Longer lists of categories go to a file of their own."""

_PLAIN = re.compile(r"[^\W_][\w .()/+<>=–%-]*", re.UNICODE)
_MISREAD = re.compile(
    r"y|n|yes|no|on|off|true|false|null|~|0\d+|[\d_]+[.eE][\deE.+-]*|\d{4}-\d\d?-\d\d?.*|\d+_[\d_]*|0x\w+|0b\w+|0o\w+",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"0|[1-9]\d{0,17}")


def scalar(text: str) -> str:
    """A text as YAML that any reader takes for that text.

    >>> scalar("Yorkshire and the Humber"), scalar("NO"), scalar("a: b"), scalar("12")
    ('Yorkshire and the Humber', '"NO"', '"a: b"', '12')
    >>> print(scalar("no\\x81break\\u2028"))
    "no\\u0081break\\u2028"
    """
    plain = _PLAIN.fullmatch(text) and text == text.strip() and not _MISREAD.fullmatch(text)
    if plain or _WHOLE.fullmatch(text):
        return text
    if '"' in text and "'" not in text and text.isprintable():
        return f"'{text}'"
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in quoted)


def _escaped(sign: str) -> str:
    """A sign that YAML does not allow or that cannot be seen, by its number."""
    return f"\\u{ord(sign):04x}" if ord(sign) <= 0xFFFF else f"\\U{ord(sign):08x}"


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quoted(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(part) for part in value) + "]"
    return _quoted(value)


def _said(**parts: Any) -> dict[str, Any]:
    return {name: value for name, value in parts.items() if value is not None}


def _quoted(value: object) -> str:
    """A scalar inside a flow list or mapping, where commas and brackets matter."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return scalar("" if value is None else str(value))


class _Page:
    """Lines with indentation; comments are wrapped."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def put(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def key(self, depth: int, key: str, value: Any, unsaid: Any = None) -> None:
        """A line `key: value`; none where nothing is said, or only what holds unsaid."""
        if value and value != unsaid:
            self.put(depth, f"{key}: {_flow(value)}")

    def say(self, *sentences: str, depth: int = 0) -> None:
        for sentence in sentences:
            words, width = " ".join(sentence.split()), unit_comments.WIDTH - 2 * depth
            for line in unit_comments.commented(words, width):
                self.put(depth, line)

    def gap(self) -> None:
        self.lines.append("")

    def mapping(self, depth: int, key: str, value: Mapping[str, Any]) -> None:
        self.put(depth, f"{scalar(key)}:")
        for name, part in value.items():
            if isinstance(part, Mapping) and part and depth < 3:
                self.mapping(depth + 1, str(name), part)
            else:
                self.put(depth + 1, f"{scalar(str(name))}: {_flow(part)}")

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def write(draft: Draft, folder: Path) -> None:
    """Write discreet.yaml and its category files into `folder`, the YAML last and in one step."""
    for name, content in category_files(draft).items():
        make_folder((folder / name).parent)
        replace_text(folder / name, content)
    replace_text(folder / DESCRIPTION, page(draft))


def page(draft: Draft) -> str:
    """The text of discreet.yaml."""
    out = _Page()
    out.say(
        f"{draft.dataset}: what this data set is, how it is coded and how it is protected.",
        "Labels, notes and rules may be edited; columns, levels and categories are those of the "
        "release. All keys: docs/reference/description.md."
        if draft.family == "synthetic"
        else "Edit this file, then run `discreet check` here. After a change of columns, levels or "
        "categories run `discreet load`. All keys: docs/reference/description.md.",
    )
    if draft.synthetic:
        out.say("Synthetic data: no real person is in it.")
    out.gap()
    _about(out, draft)
    _where(out, draft)
    _protection(out, draft)
    out.say(
        "Variables. Levels go from finest to coarsest; a code list longer than "
        f"{INLINE} lies in categories/.",
        "status: found = the codes were taken from the data, so the list itself tells something "
        "about people; declared = you vouch that this list is public knowledge (a standard "
        "classification, a published code list). `discreet check` says what makes declaring "
        "unsafe; `discreet declare` does it.",
    )
    out.put(0, "variables:")
    for variable in draft.variables:
        _variable(out, variable)
    if draft.left_out:
        out.gap()
        out.say("Columns left out:")
        for column, reason in draft.left_out:
            out.say(f"- {column}: {reason}")
    if draft.structural_zeros:
        out.gap()
        out.say("Combinations that cannot exist; never published, never given noise.")
        out.put(0, "structural_zeros:")
        for where, reason in draft.structural_zeros:
            out.put(1, f"- where: {_flow(where)}")
            out.put(1, f"  reason: {scalar(reason)}")
    if draft.featured:
        out.gap()
        out.say("Tables readers see first. The words are yours: let them be true of what is shown.")
        out.put(0, "featured:")
        for title, says, recipe in draft.featured:
            out.put(1, f"- title: {scalar(title)}")
            out.put(1, f"  says: {scalar(says)}")
            out.put(1, f"  recipe: {_flow(recipe)}")
    return out.text()


def _about(out: _Page, draft: Draft) -> None:
    out.put(0, f"dataset: {scalar(draft.dataset)}")
    out.put(0, f"title: {_flow(draft.title)}")
    worth_adding = ("population", "period", "licence", "contact")
    for key in ("synthetic", "language", *worth_adding, "attribution"):
        out.key(0, key, getattr(draft, key))
    missing = [key for key in worth_adding if not getattr(draft, key)]
    if missing:
        out.say("Worth adding, shown with every table: " + ", ".join(missing) + ".")
    if draft.notes:
        out.put(0, "notes:")
        for note in draft.notes:
            out.put(1, f"- {scalar(note) if isinstance(note, str) else _flow(note)}")
    out.gap()


def _where(out: _Page, draft: Draft) -> None:
    out.say("Where the records come from; a relative path starts at this folder.")
    out.put(0, "source:")
    for key, value in draft.source.items():
        out.put(1, f"{key}: {scalar(value)}")
    out.gap()
    _unit(out, draft)
    if draft.weight is not None:
        weight = draft.weight
        out.say(
            "Survey weight, in exact decimals. bound is the largest weight one record may have, "
            "as a public rule, not as found in the data."
        )
        mark = None if weight.mark == "." else weight.mark
        parts = {"column": weight.column, "decimals": str(weight.decimals)}
        out.put(0, f"weight: {_flow(_said(**parts, bound=weight.bound, mark=mark))}")
    out.say(
        "The number of records: private, or a number you publish as exact. A published number "
        "changes what differential privacy compares (replace one person, not add or remove one)."
    )
    out.put(0, f"records: {draft.records or 'private'}")
    out.gap()


def _unit(out: _Page, draft: Draft) -> None:
    out.say(
        "Whom the guarantee protects: the unit, and how many records one unit may have "
        "(more stop the load; with `bound: drop` only so many are kept, by a public rule)."
    )
    if draft.unit == UNDECIDED:
        columns = ", ".join(one.column for one in draft.units.candidates)
        out.say(unit_comments.UNDECIDED_UNIT.format(columns=columns))
    if draft.unit == RECORD:
        out.say(unit_comments.ONE_RECORD)
    out.put(0, f"unit: {scalar(draft.unit) if isinstance(draft.unit, str) else _flow(draft.unit)}")
    out.put(0, f"records_per_unit: {draft.records_per_unit}")
    if draft.records_from_data:
        out.say(
            "That is the most that was found in the data, which every guarantee says. Better: a rule "
            "you can publish, without this line, and `bound: drop` if units may have more."
        )
        out.put(0, "records_per_unit_from: data")
    out.key(0, "bound", draft.bound, unsaid="stop")
    if draft.family == "synthetic":
        out.say("Synthetic records have no ids.")
    elif draft.id is None and draft.unit != UNDECIDED:
        out.say(unit_comments.NO_ID)
    else:
        out.say(unit_comments.WITH_ID)
    out.put(0, f"id: {scalar(draft.id)}" if draft.id else unit_comments.PLACEHOLDER)


def _protection(out: _Page, draft: Draft) -> None:
    if draft.family == "synthetic":
        out.say(
            "Protection. These records were made from protected measurements and are counted as "
            "they are; every table carries the guarantee of that release, which is sealed in "
            "versions/. Nothing else can be loaded here, and no other family served."
        )
        out.put(0, "family: synthetic")
        out.gap()
        return
    out.say(
        "Protection. One data set serves one family: cell-key (the same noise for the same people, "
        "no differential privacy) or dp (differential privacy under a budget)."
    )
    out.put(0, f"family: {draft.family}")
    out.put(0, f"method: {draft.method}")
    if "cell-key" in draft.methods:
        out.say(
            "cell-key: no count changes by more than max_perturbation; variance is that of the "
            "change. `discreet ptable design` shows what a choice means."
        )
    if draft.methods:
        out.mapping(0, "methods", draft.methods)
    if draft.family == "dp":
        out.say("The loss allowed for ever, over all tables, versions and policies. Exact numbers.")
        out.put(0, f"budget: {_flow(draft.budget or {})}")
    if draft.rules:
        out.say("Rules every question must keep, decided without looking at the data.")
        out.mapping(0, "rules", draft.rules)
    out.gap()


def _variable(out: _Page, variable: VariableDraft) -> None:
    out.gap()
    out.put(1, f"{scalar(variable.name)}:")
    out.say(*variable.comments, depth=2)
    out.key(2, "label", variable.label)
    out.put(2, f"status: {'declared' if variable.declared else 'found'}")
    out.key(2, "role", variable.role, unsaid="public")
    out.key(2, "group", variable.group)
    out.key(2, "kind", variable.kind, unsaid="classification")
    out.key(2, "missing", variable.missing)
    out.key(2, "other", variable.other)
    out.key(2, "note", variable.note)
    if variable.derive:
        out.key(2, "column", variable.levels[0].column)
        out.put(2, f"derive: {_flow(variable.derive)}")
        return
    if len(variable.levels) == 1 and variable.levels[0].name == variable.name:
        _level(out, 2, variable.levels[0])
        return
    out.put(2, "levels:")
    for level in variable.levels:
        out.put(3, f"{scalar(level.name)}:")
        out.key(4, "label", level.label)
        _level(out, 4, level)


def _level(out: _Page, depth: int, level: LevelDraft) -> None:
    out.key(depth, "column", level.column)
    out.key(depth, "of", level.of)
    if _in_file(level):
        out.put(depth, f"categories: {CATEGORIES}/{level.name}.csv")
        return
    out.put(depth, "categories:")
    for category in level.categories:
        out.put(depth + 1, f"{scalar(category.code)}: {_category(category)}")


def _in_file(level: LevelDraft) -> bool:
    """Whether a level's categories go to a file of their own; members are written in place."""
    return len(level.categories) > INLINE and level.of is None


def _category(category: CategoryDraft) -> str:
    label, members = category.label or category.code, category.members or None
    tile = None if category.tile is None else [str(part) for part in category.tile]
    more = _said(
        members=members,
        parent=category.parent,
        population=category.population,
        short=category.short or None,
        tile=tile,
    )
    return scalar(label) if isinstance(label, str) and not more else _flow({"label": label, **more})


def category_files(draft: Draft) -> dict[str, str]:
    """The long code lists: file name → content."""
    return {
        f"{CATEGORIES}/{level.name}.csv": _table(level.categories)
        for variable in draft.variables
        for level in variable.levels
        if _in_file(level)
    }


def _table(categories: list[CategoryDraft]) -> str:
    """A code list as CSV; a column that nobody fills is left out."""
    labels = [c.label if isinstance(c.label, dict) else {} for c in categories]
    languages = dict.fromkeys(language for label in labels for language in label)
    columns = {"code": [c.code for c in categories]}
    for language in languages:
        named = zip(labels, columns["code"], strict=True)
        columns[f"label:{language}"] = [label.get(language, code) for label, code in named]
    if not languages:
        columns["label"] = [str(c.label) or c.code for c in categories]
    if any(c.parent is not None for c in categories):
        columns["parent"] = [c.parent or "" for c in categories]
    if any(c.population is not None for c in categories):
        columns["population"] = [
            "" if c.population is None else str(c.population) for c in categories
        ]
    if any(c.short for c in categories):
        columns["short"] = [c.short for c in categories]
    if any(c.tile is not None for c in categories):
        columns["tile"] = ["" if c.tile is None else "{} {}".format(*c.tile) for c in categories]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue()
