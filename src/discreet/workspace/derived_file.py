"""Reading `derive:` of a variable: categories that follow from a public rule instead of a list."""

from __future__ import annotations

import calendar
import datetime
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

from ..core.derived import (
    FORMATS,
    UNITS,
    Bands,
    Dates,
    Groups,
    Prefixes,
    Rule,
    coarser_units,
    number_text,
)
from ..core.domain import Category, Level
from ..core.exact import exact
from ..core.text import Text
from ..engines.code_maps import canonical
from ..errors import DescriptionError, InputError, did_you_mean
from .category_file import MOST_CATEGORIES, csv_rows, text_of
from .yaml_reader import Block, Scalar

KINDS = ("dates", "bands", "cuts", "groups", "prefix")
DERIVE_KEYS = (*KINDS, "first", "last", "format", "from", "to", "open", "mark", "source")
_OF_KIND = {
    "dates": ("first", "last", "format"),
    "bands": ("from", "to", "open", "mark"),
    "cuts": ("open", "mark"),
    "groups": (),
    "prefix": (),
}
_UNIT_WORDS = {
    "de": {
        "day": "Tag",
        "month": "Monat",
        "quarter": "Quartal",
        "year": "Jahr",
        "weekday": "Wochentag",
    }
}
"""What a part of a date is called in labels of other languages than English."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_OPEN = ("above", "below", "both", "no")
_PERIOD = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")


def derive_block(block: Block) -> tuple[Block, str] | None:
    """The rule a variable is derived by, and its kind; None where its values are codes."""
    rule = block.block("derive")
    if rule is None:
        return None
    rule.only(DERIVE_KEYS)
    kinds = [kind for kind in KINDS if kind in rule.values]
    if len(kinds) != 1:
        raise block.error(
            f"derive has one of {', '.join(KINDS)}, got {' and '.join(kinds) or 'none'}.", "derive"
        )
    allowed = (*_OF_KIND[kinds[0]], kinds[0], "source")
    for key in rule.values:
        if key not in allowed:
            raise rule.error(f"{key} does not go with {kinds[0]}; leave it out.", key)
    return rule, kinds[0]


def makes_categories(kind: str) -> bool:
    """Whether the rule itself says which categories there are."""
    return kind not in ("groups", "prefix")


def derived_levels(
    name: str, block: Block, rule: Block, kind: str, apart: Sequence[Category]
) -> tuple[tuple[Level, ...], Rule]:
    """The levels that dates or bands make, finest first, and the rule.

    The categories `apart`, for what is missing or other, stand last at every level.
    """
    for key in ("categories", "levels", "parents"):
        if key in block.values:
            raise block.error(
                f"{name} gets its categories from derive: {kind}; leave {key} out.", key
            )
    plain: list[_Plain]
    read: Rule
    plain, read = _dates(name, rule) if kind == "dates" else _bands(name, rule, kind)
    levels = []
    own = text_of(block, "label") or Text.of(name)
    for level_name, codes, labels, of_finest in plain:
        for one in apart:
            if one.code in codes:
                raise block.error(
                    f"{one.code!r} is a category that {name} derives; take another code for missing "
                    "or other.",
                )
        categories = [Category.of(c, label) for c, label in zip(codes, labels, strict=True)]
        categories += apart
        more = range(len(codes), len(categories))
        label = _level_label(own, level_name.removeprefix(name).removeprefix("_"))
        levels.append(Level(level_name, label, tuple(categories), (*of_finest, *more)))
    if len(levels[0]) > MOST_CATEGORIES:
        raise rule.error(
            f"derive makes {len(levels[0]):,} categories of {name}, most is {MOST_CATEGORIES:,}. "
            "Take a coarser unit or wider bands.",
            kind,
        )
    return tuple(levels), read


def _level_label(label: Text, part: str) -> Text:
    """A variable's label with the unit or width of one of its levels, in every language it has.

    >>> str(_level_label(Text.of("Admitted"), "month")), _level_label(Text.of({"de": "Tag"}), "year").says("de")
    ('Admitted (month)', 'Tag (Jahr)')
    """
    if not part:
        return label
    words = [(code, _UNIT_WORDS.get(code, {}).get(part, part)) for code, _ in label.by_language]
    return Text(tuple((code, f"{label.says(code)} ({word})") for code, word in words))


_Plain = tuple[str, list[str], list[str], list[int]]


def _dates(name: str, rule: Block) -> tuple[list[_Plain], Dates]:
    units = rule.texts("dates")
    for unit in units:
        if unit not in UNITS:
            raise rule.error(
                f"a date becomes a {', '.join(UNITS[:-1])} or {UNITS[-1]}, got {unit!r}."
                f"{did_you_mean(unit, UNITS)}",
                "dates",
            )
    if not units or len(set(units)) < len(units) or not set(units) <= set(coarser_units(units[0])):
        raise rule.error(
            f"dates lists units from finest to coarsest, each once, such as [month, quarter, year]; "
            f"got {', '.join(units) or 'nothing'}. A weekday follows from a day only.",
            "dates",
        )
    form = rule.choice("format", FORMATS, FORMATS[0])
    first, last = datetime.date.min, datetime.date.max
    if units[0] != "weekday":
        first, last = _day(rule, "first", end=False), _day(rule, "last", end=True)
        if first > last:
            raise rule.error(f"first ({first}) is after last ({last}).", "first")
        if units[0] == "day" and (last - first).days >= MOST_CATEGORIES:
            raise rule.error(f"there are more than {MOST_CATEGORIES:,} days in between.", "last")
    elif {"first", "last"} & set(rule.values):
        raise rule.error("a weekday has no first and last; leave them out.", "dates")
    read = Dates(units[0], first, last, form)
    levels = []
    for unit in units:
        codes, of_finest = read.coarser(unit) if unit != units[0] else (list(read.codes), [])
        labels = list(WEEKDAYS) if unit == "weekday" else codes
        own = name if len(units) == 1 else f"{name}_{unit}"
        levels.append((own, codes, labels, of_finest or list(range(len(codes)))))
    return levels, read


def _day(rule: Block, key: str, *, end: bool) -> datetime.date:
    text = rule.text(key)
    match = _PERIOD.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        year, month, day = (int(part) if part else None for part in match.groups())
        assert year is not None
        month = month or (12 if end else 1)
        last = calendar.monthrange(year, month)[1] if year and 1 <= month <= 12 else 0
        return datetime.date(year, month, day or (last if end else 1))
    except ValueError:
        raise rule.error(
            f"dates need {key}: a year, a month or a day such as 2019, 2019-01 or 2019-01-31, got "
            f"{text[:40]!r}. It is public: what the data may hold, not what they hold.",
            key if key in rule.values else "dates",
        ) from None


def _bands(name: str, rule: Block, kind: str) -> tuple[list[_Plain], Bands]:
    opened = rule.choice("open", _OPEN, "above")
    below, above = opened in ("below", "both"), opened in ("above", "both")
    mark = rule.choice("mark", (".", ","), ".")
    widths = [""]
    if kind == "cuts":
        bands = [Bands(_cuts(rule), below, above, mark)]
    else:
        widths = list(rule.texts("bands"))
        first, last = _number(rule, "from", "0"), _number(rule, "to", "")
        bands = [Bands(_even(rule, width, first, last), below, above, mark) for width in widths]
    if not bands:
        raise rule.error("bands needs a width such as 5, or several such as [5, 10].", kind)
    if not bands[0].codes:
        raise rule.error("cuts makes no band: give two numbers, or open ends.", kind)
    levels = []
    for width, each in zip(widths, bands, strict=True):
        up = bands[0].coarser(each)
        if up is None:
            raise rule.error(
                f"bands of {width} cut through those of {widths[0]}; each width is a multiple of the "
                "first.",
                kind,
            )
        own = name if len(bands) == 1 else f"{name}_{width.replace('.', '_')}"
        levels.append((own, list(each.codes), [_label(code) for code in each.codes], up))
    return levels, bands[0]


def _label(code: str) -> str:
    """A band for readers, with a dash between its ends."""
    return re.sub(r"(?<=[0-9])-(?=[-<0-9])", "–", code, count=1)


def _number(rule: Block, key: str, default: str) -> Fraction:
    text = rule.text(key, default)
    if not text:
        raise rule.error(f"bands needs `{key}`, the end of the last band, such as 90.", "bands")
    try:
        return exact(text, key)
    except InputError as problem:
        raise rule.error(problem.message, key) from None


def _even(rule: Block, width: str, first: Fraction, last: Fraction) -> tuple[Fraction, ...]:
    try:
        step = exact(width, "a width", above=0)
    except InputError as problem:
        raise rule.error(problem.message, "bands") from None
    count = (last - first) / step
    if count.denominator != 1 or count < 1:
        raise rule.error(
            f"bands of {width} from {number_text(first)} to {number_text(last)} do not come out even: "
            "they would leave a gap. Change `to`, or list `cuts`.",
            "bands",
        )
    if count > MOST_CATEGORIES:
        raise rule.error(
            f"bands of {width} are {int(count):,}, most is {MOST_CATEGORIES:,}.", "bands"
        )
    return tuple(first + step * n for n in range(int(count) + 1))


def _cuts(rule: Block) -> tuple[Fraction, ...]:
    try:
        cuts = tuple(exact(text, "a cut") for text in rule.texts("cuts"))
    except InputError as problem:
        raise rule.error(problem.message, "cuts") from None
    for low, high in itertools.pairwise(cuts):
        if low >= high:
            raise rule.error(
                f"cuts go up, got {number_text(low)} before {number_text(high)}: the bands would "
                "overlap.",
                "cuts",
            )
    if not cuts:
        raise rule.error("cuts is empty; list where bands begin, such as [0, 18, 65].", "cuts")
    return cuts


def listed_rule(rule: Block, kind: str, finest: Level, folder: Path, files: list[Path]) -> Rule:
    """Groups or beginnings, for categories that are listed."""
    places: dict[str, int] = {}
    for text, code, error in _entries(rule, kind, folder, files):
        if code not in finest.index:
            raise error(
                f"{text!r} belongs to {code!r}, which {finest.name} does not have."
                f"{did_you_mean(code, finest.index)}"
            )
        if places.setdefault(text, finest.index[code]) != finest.index[code]:
            raise error(f"{text!r} belongs to two categories; it can belong to one.")
    if not places:
        raise rule.error(f"{kind} is empty.", kind)
    return Groups(places) if kind == "groups" else Prefixes(places)


def _entries(
    rule: Block, kind: str, folder: Path, files: list[Path]
) -> Iterator[tuple[str, str, Callable[[str], DescriptionError]]]:
    """Each text with its category, and how to complain about it."""
    value = rule.get(kind)
    if isinstance(value, Scalar):
        rows, error = csv_rows(rule, kind, value.text, folder, files)
        for line, row in enumerate(rows, 1):
            if line > 1 and row:
                if len(row) != 2:
                    raise error(
                        f"two columns are needed, text and code; got {len(row)}.", line=line
                    )
                yield canonical(row[0]), row[1].strip(), partial(error, line=line)
        return
    block = rule.block(kind)
    assert block is not None
    for code in block.values:
        for text in block.texts(code):
            yield canonical(text), code, partial(block.error, key=code)
