"""The levels of a variable from its lists of categories: hierarchies as they are.

Each level is made of a finer one, so a variable may have several hierarchies (by region and by
type). A category's parent may lie further up than the next level: at every level between, what lies
directly under that parent is one category, which stands in under the parent's code. So every level
sorts all records, and every level below adds up to the one above it.
"""

from __future__ import annotations

from ..core.domain import Category, Level
from ..core.text import Text
from ..errors import did_you_mean
from .category_file import Listed, text_of
from .yaml_reader import Block


def levels_of(
    parts: dict[str, Block], listed: dict[str, Listed], missing: str | None
) -> tuple[Level, ...]:
    """The levels, finest first; `missing` is the finest category for records without a value."""
    return _Tree(parts, listed).levels(missing)


class _Tree:
    def __init__(self, parts: dict[str, Block], listed: dict[str, Listed]) -> None:
        self.parts, self.listed, self.names = parts, listed, list(parts)
        self.below: dict[str, str] = {}
        for place, name in enumerate(self.names[1:], 1):
            below = parts[name].text("of") or self.names[place - 1]
            if below not in self.names[:place]:
                raise parts[name].error(
                    f"level {name} is made of {below!r}, which is not a finer level. "
                    f"Finer levels: {', '.join(self.names[:place])}.",
                    "of",
                )
            self.below[name] = below
        self.labels = {
            name: text_of(part, "label") or Text.of(name) for name, part in parts.items()
        }

    def levels(self, missing: str | None) -> tuple[Level, ...]:
        made: dict[str, Level] = {}
        finest = self.listed[self.names[0]]
        is_missing = [code == missing for code in finest.labels]
        for name in self.names:
            here = self.listed[name]
            of_finest = tuple(range(len(finest.labels)))
            if name in self.below:
                below = self.below[name]
                up = self._parents(name, below, made)
                index = {code: i for i, code in enumerate(here.labels)}
                step = [index[up[code]] for code in self.listed[below].labels]
                _add_up(here, self.listed[below], up)
                of_finest = tuple(step[i] for i in made[below].of_finest)
            inside: dict[int, bool] = {}
            for place, holder in enumerate(of_finest):
                inside[holder] = inside.get(holder, True) and is_missing[place]
            categories = tuple(
                Category(
                    code,
                    label,
                    inside.get(i, False),
                    here.populations.get(code),
                    code in here.stand_ins,
                    here.shorts.get(code),
                    here.tiles.get(code),
                )
                for i, (code, label) in enumerate(here.labels.items())
            )
            made[name] = Level(name, self.labels[name], categories, of_finest)
        return tuple(made.values())

    def _above(self, name: str) -> list[str]:
        """The levels made of this one, directly or by way of others, nearest first."""
        above: list[str] = []
        for later in self.names[self.names.index(name) + 1 :]:
            if self.below[later] in (name, *above):
                above.append(later)
        return above

    def _parents(self, name: str, below: str, made: dict[str, Level]) -> dict[str, str]:
        """For each category of the level below, its parent in this level; each has exactly one."""
        here, child = self.listed[name], self.listed[below]
        members = self._members(name, below, made)
        up: dict[str, str] = {}
        for code in child.labels:
            if code in child.stand_ins:
                parent: str | None = code
            elif here.members:
                parent = members.get(code) or self._holder_above(code, name)
            else:
                parent = child.parent(code, name) or self._holder_above(code, name)
            if parent is None:
                raise child.error(
                    f"category {code!r} of {below} has no parent in {name}. Give it one: "
                    f"`parent` in {below}'s categories, or `members` in {name}'s; where {name} has "
                    "none for it, a category further up.",
                    code,
                )
            if parent not in here.labels:
                self._stand_in(name, below, code, parent)
            up[code] = parent
        return up

    def _members(self, name: str, below: str, made: dict[str, Level]) -> dict[str, str]:
        """Members written in this level: for each category below, its parent."""
        here, child = self.listed[name], self.listed[below]
        up: dict[str, str] = {}
        for code, members in here.members.items():
            for member in members:
                if member not in child.labels:
                    if self._directly_under(code, member, below, made):
                        continue
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
        return up

    def _directly_under(self, code: str, member: str, below: str, made: dict[str, Level]) -> bool:
        """Whether a member is of a finer level still and lies below in what stands in for `code`."""
        middle, level = made[below], below
        while level in self.below:
            level = self.below[level]
            fine = made[level]
            if member in fine.index:
                places = {
                    middle.codes[middle.of_finest[i]]
                    for i, holder in enumerate(fine.of_finest)
                    if holder == fine.index[member]
                }
                return places <= {code}
        return False

    def _holder_above(self, code: str, name: str) -> str | None:
        """The category of a level above this one that names a code among its members."""
        for level in self._above(name):
            for holder, members in self.listed[level].members.items():
                if code in members:
                    return holder
        return None

    def _stand_in(self, name: str, below: str, code: str, parent: str) -> None:
        """Give this level a category for what lies directly under a coarser one."""
        here, child = self.listed[name], self.listed[below]
        for level in self._above(name):
            if parent in self.listed[level].labels:
                break
        else:
            coarser = [one for level in self._above(name) for one in self.listed[level].labels]
            several = (
                f" Where {below} has several hierarchies, write `parent: {{{name}: …}}`."
                if list(self.below.values()).count(below) > 1
                else ""
            )
            raise child.error(
                f"category {code!r} of {below} has the parent {parent!r}, which {name} does "
                f"not have.{did_you_mean(parent, [*here.labels, *coarser])}{several}",
                code,
            )
        words = self.listed[level].labels[parent]
        own = self.labels[name]
        here.labels[parent] = Text(
            tuple((lang, f"{text} ({own.says(lang)}: –)") for lang, text in words.by_language)
        )
        here.lines[parent] = child.lines[code]
        here.stand_ins.add(parent)


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
