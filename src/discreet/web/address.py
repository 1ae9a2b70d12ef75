"""Where a reader is in the builder: an address is a question, its layout and a view, and no more.

Every change of a table is a link to another address, made here. The question part is the API's
short form, so it can be copied into a command; parameters stand in one order, so equal states have
equal addresses. What is not known is refused by name, never left out silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from ..core.description import Description
from ..core.domain import AxisRef
from ..core.names import find_axis
from ..errors import RecipeError
from ..recipe import Recipe, query_mapping, query_of, to_mapping

SIDES = ("rows", "columns", "layers")
VIEW = ("view", "chart", "show", "a", "b", "choose", "from")
"""What an address says of the view alone, in their order."""
VIEWS = ("table", "chart", "notes", "code")
SHOWN = ("intervals", "heat")
LONGEST = 1_800
"""A longer address may be cut by other programs: the page advises to save the table."""


@dataclass(frozen=True)
class Place:
    """One state of the builder. Changes give another one; `address` is its link."""

    dataset: str
    sides: Mapping[str, tuple[str, ...]]
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    said: Mapping[str, Any] = field(default_factory=dict)
    """The rest of the recipe: percentages, method and its settings."""
    view: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The shortest name of every level of every variable."""

    @classmethod
    def of(
        cls,
        dataset: str,
        recipe: Recipe,
        method: str,
        description: Description,
        view: Mapping[str, str],
    ) -> Place:
        """The place a recipe of one table is at; `method` is the one nobody has to name."""
        mapping = to_mapping(recipe)
        names = short_names(description)
        sides = {
            side: tuple(names.get(name, name) for name in mapping.pop(side, ())) for side in SIDES
        }
        where = {
            names.get(name, name): tuple(codes) for name, codes in mapping.pop("where", {}).items()
        }
        if mapping.get("method") == method:
            del mapping["method"]
        return cls(dataset, sides, where, mapping, dict(view), names)

    @property
    def empty(self) -> bool:
        """Whether nothing is chosen."""
        return not self.where and not any(self.sides.values())

    @property
    def question(self) -> str:
        """The part that the API understands as it stands."""
        mapping: dict[str, Any] = {s: list(n) for s, n in self.sides.items() if n}
        if self.where:
            mapping["where"] = {name: list(codes) for name, codes in self.where.items()}
        if not mapping:
            return ""
        return query_of(mapping | dict(self.said))

    @property
    def query(self) -> str:
        """The whole address after its question mark."""
        parts = [(name, self.view[name]) for name in VIEW if self.view.get(name)]
        return "&".join(p for p in (self.question, urlencode(parts, safe=":,")) if p)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The same as fields of a form."""
        return parse_qsl(self.query, keep_blank_values=True)

    @property
    def address(self) -> str:
        """The link to this place."""
        query = self.query
        return f"/build/{quote(self.dataset)}" + (f"?{query}" if query else "")

    @property
    def long(self) -> bool:
        """Whether other programs may cut the address."""
        return len(self.address) > LONGEST

    @property
    def showing(self) -> frozenset[str]:
        """What is shown beside the numbers."""
        return frozenset(filter(None, self.view.get("show", "").split(",")))

    # -- changes of what is seen ------------------------------------------------------------

    def seen(self, **view: str) -> Place:
        """The same table seen otherwise; an empty text takes a word of the address away."""
        return replace(self, view={**self.view, **{k.rstrip("_"): v for k, v in view.items()}})

    def toggled(self, what: str) -> Place:
        """The same table with something shown beside its numbers, or no longer."""
        shown = self.showing ^ {what}
        return self.seen(show=",".join(name for name in SHOWN if name in shown))

    def saying(self, **said: Any) -> Place:
        """The same table under another setting or layout; None takes one away."""
        merged = {**self.said, **said}
        return replace(self, said={k: v for k, v in merged.items() if v not in (None, "")})

    # -- changes of what is asked -----------------------------------------------------------

    def _asking(
        self, sides: Mapping[str, Iterable[str]], where: Mapping[str, tuple[str, ...]] | None = None
    ) -> Place:
        """Another question; what belonged to the old table's cells and shape goes."""
        new = {side: tuple(names) for side, names in sides.items()}
        kept = {k: v for k, v in self.view.items() if k not in ("a", "b", "choose", "from")}
        said = {k: v for k, v in self.said.items() if k not in ("sort", "title", "name")}
        lacks = {"rows": "columns", "columns": "rows", "layers": "layers"}.get(
            str(said.get("percent"))
        )
        if (lacks and not new[lacks]) or not any(new.values()):
            said.pop("percent", None)
        conditions = self.where if where is None else where
        return replace(self, sides=new, where=conditions, said=said, view=kept)

    def side_of(self, variable: Sequence[str]) -> tuple[str, int] | None:
        """The side and position a variable stands at, by the names of its levels."""
        for side, names in self.sides.items():
            for position, name in enumerate(names):
                if name in variable:
                    return side, position
        return None

    def without(self, names: Sequence[str]) -> Place:
        """Without a variable among rows, columns and layers."""
        return self._asking({s: [n for n in at if n not in names] for s, at in self.sides.items()})

    def moved(self, name: str, side: str, names: Sequence[str]) -> Place:
        """With a variable at the end of a side, at one of its levels, wherever it stood."""
        sides = {s: [n for n in at if n not in names] for s, at in self.sides.items()}
        sides[side].append(name)
        return self._asking(sides)

    def at_level(self, name: str, names: Sequence[str]) -> Place:
        """With a variable at another of its levels, where it stands."""
        return self._asking(
            {s: [name if n in names else n for n in at] for s, at in self.sides.items()}
        )

    def shifted(self, side: str, position: int, by: int) -> Place:
        """With a variable earlier or later on its side."""
        names = list(self.sides[side])
        names.insert(position + by, names.pop(position))
        return self._asking({**self.sides, side: names})

    def turned(self) -> Place:
        """Rows and columns swapped, percentages with them: the same question."""
        sides = {**self.sides, "rows": self.sides["columns"], "columns": self.sides["rows"]}
        percent = {"rows": "columns", "columns": "rows"}.get(str(self.said.get("percent")))
        turned = self._asking(sides)
        return turned.saying(percent=percent) if percent else turned

    def only(self, name: str, codes: Sequence[str], names: Sequence[str]) -> Place:
        """With a variable filtered to these categories; to none takes its filter away."""
        where = {level: chosen for level, chosen in self.where.items() if level not in names}
        if codes:
            where[name] = tuple(codes)
        return self._asking(self.sides, where)


def short_names(description: Description) -> dict[str, str]:
    """For each full name of a level the shortest one that means it."""
    names = {}
    for variable in description.variables:
        for level in variable.levels:
            ref = AxisRef(variable.name, level.name)
            try:
                short = level.name if find_axis(description, level.name) == ref else str(ref)
            except RecipeError:
                short = str(ref)
            names[str(ref)] = names[f"{ref.variable}:{ref.level}"] = short
    return names


def read(pairs: Sequence[tuple[str, str]]) -> tuple[dict[str, Any], dict[str, str]]:
    """What an address says: a recipe's mapping, names not yet looked up, and the view.

    >>> read([("rows", "sex"), ("view", "notes")])
    ({'rows': 'sex'}, {'view': 'notes'})
    """
    if len(pairs) > 100:
        raise RecipeError(f"An address holds at most 100 parameters, got {len(pairs)}.")
    view: dict[str, str] = {}
    for name, text in pairs:
        if name in VIEW:
            if name in view:
                raise RecipeError(f"{name} is given twice. Write it once.")
            view[name] = text[:2000]
    _known("view", view.get("view", ""), ("", *VIEWS))
    for word in filter(None, view.get("show", "").split(",")):
        _known("show", word, SHOWN)
    if not view.get("from", "1").isdecimal() or len(view.get("from", "")) > 9:
        raise RecipeError(f"from must be the number of a row, got {view['from'][:40]!r}.")
    mapping = query_mapping(urlencode([pair for pair in pairs if pair[0] not in VIEW]))
    return mapping, {name: text for name, text in view.items() if text}


def _known(name: str, text: str, words: Sequence[str]) -> None:
    if text not in words:
        allowed = ", ".join(word for word in words if word)
        raise RecipeError(f"{name} must be one of {allowed}, got {text[:40]!r}.")
