"""Guessing a description from what a file looks like: every guess says why, the custodian decides.

Which column names the unit, which is a weight, which columns are levels of one another, which are
labels of another's codes, which codes mean missing; and which columns cannot be variables, and why.
Everything is marked `found`.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..core.domain import TOTAL
from .age_bands import add_bands
from .category_file import MOST_CODE, is_code
from .draft import CategoryDraft, Draft, LevelDraft, VariableDraft, WeightDraft
from .label_columns import label_columns
from .proposed_rules import rule_for
from .source_facts import MOST_VALUES
from .unit_columns import FEW, UnitColumns
from .vocabulary import (
    READ_AS_MISSING,
    in_order,
    is_geography,
    is_time,
    missing_codes,
    perhaps_missing,
    pretty,
    safe_names,
)
from .weight_column import find_weight

if TYPE_CHECKING:
    from ..engines.coding import ColumnProfile, Profile

MOST_NUMBERS = 150
"""A column of whole numbers with more values than this needs bands first."""

RECORDS_PER_CATEGORY = 5
"""A text column with fewer records per value than this is nearly an identifier."""

_SINGLE = ("text", "integer", "decimal", "boolean", "date")


def guess(
    profile: Profile,
    units: UnitColumns,
    *,
    dataset: str,
    title: str,
    source: Mapping[str, str],
    weight: str = "",
) -> Draft:
    """A draft of the description of what was profiled; who one unit is, is left open."""
    return _Guess(profile, units, weight).draft(dataset, title, source)


class _Guess:
    def __init__(self, profile: Profile, units: UnitColumns, weight: str) -> None:
        self.profile, self.chosen_weight = profile, weight
        labels = label_columns(profile)
        self.columns = {column.name: column for column in profile.columns}
        self.names = safe_names([column.name for column in profile.columns])
        self.labels = {code: mapping for (code, _), mapping in labels.items()}
        self.label_columns = {label: code for code, label in labels}
        self.left_out: list[tuple[str, str]] = []
        self.hints: list[str] = []
        self.units = units
        self.weight: WeightDraft | None = None
        self.gaps: defaultdict[str, set[str]] = defaultdict(set)
        """For each column those that would be levels above it, but are empty for some of its values."""

    def draft(self, dataset: str, title: str, source: Mapping[str, str]) -> Draft:
        self.weight = find_weight(self.profile.columns, self.chosen_weight)
        derived = [column for column in self.profile.columns if self._derives(column)]
        columns = [c for c in self.profile.columns if c not in derived and self._keep(c)]
        variables = self._variables([column.name for column in columns])
        variables += [made for column in derived if (made := self._derived(column))]
        order = list(self.columns)
        variables.sort(key=lambda variable: order.index(str(variable.levels[0].column)))
        return Draft(
            dataset=dataset,
            title=title,
            source=source,
            variables=variables,
            weight=self.weight,
            rules={"max_variables": 4, "max_cells": 1_000_000},
            left_out=self.left_out,
            hints=self.hints,
        )

    def _keep(self, column: ColumnProfile) -> bool:
        weight = self.weight.column if self.weight else None
        if column.name == weight or column.name in self.label_columns:
            return False
        reason = self._reason_against(column)
        if reason:
            self.left_out.append((column.name, reason))
        return not reason

    def _derives(self, column: ColumnProfile) -> bool:
        """Whether a column holds dates or numbers from which categories must first be made."""
        taken = column.name in self.label_columns or self.units.named(column.name) is not None
        if taken or (self.weight and column.name == self.weight.column) or column.distinct < 2:
            return False
        if column.type == "date":
            return column.distinct > FEW
        if column.type == "decimal":
            return True
        many = column.type == "integer" and column.distinct > MOST_NUMBERS
        nearly_an_id = column.distinct * RECORDS_PER_CATEGORY > column.records
        return many and not nearly_an_id and column.name not in dict(self.profile.parents)

    def _derived(self, column: ColumnProfile) -> VariableDraft | None:
        missing, comments = self._missing(column.name)
        rule, words = rule_for(column, missing)
        name = self.names[column.name]
        levels = {f"{name}_{unit}" for unit in rule.get("dates", ())}
        if levels & set(self.names.values()):
            rule, words = {}, "holds dates, and columns of their months or years stand beside it."
        if not rule:
            self.left_out.append((column.name, words))
            return None
        kind = "time" if column.type == "date" else "classification"
        level = LevelDraft(name, column.name, [])
        return VariableDraft(
            name,
            [level],
            label=pretty(column.name),
            kind=kind,
            missing=missing,
            derive=rule,
            comments=[*comments, words],
        )

    def _reason_against(self, column: ColumnProfile) -> str:  # noqa: PLR0911 - one reason each
        values = column.distinct + (column.nulls > 0)
        if column.type not in _SINGLE:
            kind = "raw bytes" if column.type == "blob" else f"{column.type.split('(')[0]} values"
            return f"holds {kind}; only texts, numbers, dates and yes/no can be coded."
        if values < 2:
            return "has one value only."
        named = self.units.named(column.name)
        if named is not None and (named.person or named.most > 1):
            return "may name the unit: its values stand for people, not for categories."
        if column.unique and column.records > FEW:
            return "has a value of its own in every record: an identifier."
        odd = [code for code, _ in column.values if not is_code(code)]
        if odd:
            return (
                f"has {len(odd):,} values that cannot be codes: line breaks, control characters, "
                f"more than {MOST_CODE} characters, or {TOTAL}. Add a column of short codes."
            )
        if column.distinct <= FEW:
            return ""
        if column.distinct * RECORDS_PER_CATEGORY > column.records:
            return (
                f"has {column.distinct:,} values, on average fewer than {RECORDS_PER_CATEGORY} "
                "records each: nearly an identifier."
            )
        if column.distinct > MOST_VALUES or not column.complete:
            return f"has {column.distinct:,} values, too many for a variable. Add coarser codes."
        return ""

    def _chains(self, kept: list[str]) -> list[list[str]]:
        """Columns as chains, finest first; each column in one chain."""
        above: dict[str, set[str]] = {name: set() for name in kept}
        within: dict[str, set[str]] = {name: set() for name in kept}
        for child, parent in self.profile.parents:
            if child not in above or parent not in above:
                continue
            # where a parent is missing in the data, the child may lie directly under a coarser one
            every = all(self.profile.parent_maps[child, parent].values())
            if every:
                within[child].add(parent)
            if self._size(child) > self._size(parent) > every:  # with a gap, one value is enough
                (above if every else self.gaps)[child].add(parent)
        taken: set[str] = set()
        chains = {}
        for name in sorted(kept, key=lambda name: (-self._size(name), kept.index(name))):
            if name in taken:
                continue
            chain, free = [name], above[name] - taken
            while free:
                # the next level is the largest that still determines the most of the others
                best = max(free, key=lambda one: (len(above[one] & free), self._size(one)))
                chain.append(best)
                free = above[best] & free
            self._with_gaps(chain, within, taken)
            taken.update(chain)
            chains[name] = chain
        return [chains[name] for name in kept if name in chains]

    def _with_gaps(self, chain: list[str], within: Mapping[str, set[str]], taken: set[str]) -> None:
        """Put levels between that some branches skip: each holds what is coarser, as far as it goes."""
        for name in sorted(self.gaps[chain[0]] - taken, key=self._size, reverse=True):
            for place in range(1, len(chain)):
                finer, coarser = chain[1:place], chain[place:]
                below = all(name in within[one] or name in self.gaps[one] for one in finer)
                if below and all(one in within[name] for one in coarser):
                    chain.insert(place, name)
                    break

    def _size(self, name: str) -> int:
        return self.columns[name].distinct

    def _variables(self, kept: list[str]) -> list[VariableDraft]:
        variables = []
        used = set(self.names.values())
        for chain in self._chains(kept):
            finest = self.names[chain[0]]
            name, kind = finest, "classification"
            if any(is_geography(level) for level in chain):
                kind = "geography"
                if len(chain) > 1 and "area" not in used:
                    name = "area"
                    used.add(name)
            elif is_time(chain[0]):
                kind = "time"
            variables.append(self._variable(name, chain, kind))
        return variables

    def _variable(self, name: str, chain: list[str], kind: str) -> VariableDraft:
        missing, comments = self._missing(chain[0], chain)
        levels = [self._level(col, chain[place + 1 :], missing) for place, col in enumerate(chain)]
        if missing and len(chain) > 1:
            self._missing_above(levels, missing[0])
        of_code = {code: label for label, code in self.label_columns.items()}
        comments += [
            f"Labels of {self.names[column]} are from column {of_code[column]}."
            for column in chain
            if column in of_code
        ]
        comments += self._nearly(chain)
        variable = VariableDraft(
            name,
            levels,
            label=pretty(chain[0]) if name != "area" else "Area",
            kind=kind,
            missing=missing,
            comments=comments,
        )
        if len(chain) == 1:
            levels[0].name = name
            if missing and all(c.code != missing[0] for c in levels[0].categories):
                levels[0].categories.append(CategoryDraft(missing[0], "Missing"))
            add_bands(variable, set(self.names.values()))
        else:
            for level, column in zip(levels, chain, strict=True):
                level.label = pretty(column)
            pairs = itertools.pairwise(levels)
            lies = [f"{level.name} lies in one {up.name}" for level, up in pairs]
            variable.comments.append(f"Each {', each '.join(lies)}.")
            variable.comments += self._skipped(chain)
        return variable

    def _skipped(self, chain: list[str]) -> list[str]:
        """Which levels some categories skip, in sentences."""
        told = []
        for name in chain[1:-1]:
            if name in self.gaps[chain[0]]:
                parents = self.profile.parent_maps[chain[0], name]
                none = [code for code, parent in parents.items() if not parent]
                told.append(
                    f"{len(none):,} of {chain[0]} have no {name} ({none[0]}, for one): they lie "
                    f"directly under their {chain[chain.index(name) + 1]}."
                )
        return told

    def _nearly(self, chain: list[str]) -> list[str]:
        """Columns that would be levels of this one but for a few records."""
        comments = []
        for child, parent, records, code in self.profile.nearly:
            if child != chain[0] or parent in self.label_columns or parent in chain:
                continue
            has = "1 record has" if records == 1 else f"{records:,} records have"
            comments.append(
                f"{parent} would be a level above {child}, but {has} another {parent} than the "
                f"rest of their {child} ({code}, for one). Mend them and run init again, or list "
                f"the members of each {parent} as a level without a column."
            )
        self.hints += comments
        return comments

    def _level(self, column: str, ups: list[str], missing: list[str]) -> LevelDraft:
        codes = [code for code, _ in self.columns[column].values]
        gone = [code for code in codes if code in missing[1:]]
        codes = in_order([code for code in codes if code not in gone])
        if missing and missing[0] in codes:
            codes.remove(missing[0])
            codes.append(missing[0])
        parents: dict[str, str] = {}
        for up in reversed(ups):  # the nearest that there is
            found = self.profile.parent_maps.get((column, up), {})
            parents.update({code: parent for code, parent in found.items() if parent})
        labels = self.labels.get(column, {})
        # a sign or a number for missing tells a reader nothing
        unsaid = [c for c in missing[:1] if not re.search(r"[^\W\d_]", c)]
        words = {c: labels.get(c) or ("Missing" if c in unsaid else c) for c in codes}
        categories = [CategoryDraft(c, words[c], parents.get(c)) for c in codes]
        return LevelDraft(self.names[column], column, categories)

    def _missing(self, column: str, chain: Sequence[str] = ()) -> tuple[list[str], list[str]]:
        """The codes for missing, the category first; and what to tell about them.

        A code that readers take for no value gets another, unless something known lies in it.
        """
        profile = self.columns[column]
        codes = [code for code, _ in profile.values]
        missing = missing_codes(codes, self.labels.get(column, {}))
        perhaps = [code for code in perhaps_missing(codes) if code not in missing]
        comments = []
        if perhaps:
            comments.append(
                f"If {' or '.join(perhaps)} means missing, write `missing: [{', '.join(perhaps)}]`."
            )
        if not missing and not profile.nulls:
            return [], comments
        if len(missing) > 1:
            comments.append(f"These codes look like missing and become one: {', '.join(missing)}.")
        elif missing:
            comments.append(f"The code {missing[0]} looks like missing.")
        parents = {
            parent
            for pair in itertools.combinations(chain, 2)
            for code, parent in self.profile.parent_maps.get(pair, {}).items()
            if code not in missing
        }
        missing.sort(key=lambda code: code.casefold() in READ_AS_MISSING)
        unread = missing and missing[0].casefold() in READ_AS_MISSING
        single = len(missing) == 1
        empty = bool(missing) and profile.nulls > 0
        if not missing or (unread and not parents & set(missing)):
            name = next(c for c in ("_U", "missing", "_missing", "not_given") if c not in codes)
            comments.append(
                f"{'It gets' if single else 'They get'} the category {name}: programs that read CSV "
                f"take {missing[0]} for nothing."
                if missing
                else f"Records without a value get the category {name}."
            )
            missing.insert(0, name)
        if empty:
            both = ": let its label say both" if missing[0] in codes else ""
            comments.append(f"Records without a value get the category {missing[0]} too{both}.")
        return [*missing, ""] if profile.nulls else missing, comments

    def _missing_above(self, levels: list[LevelDraft], code: str) -> None:
        """Give the missing category a parent at every level, its own kind where it has none."""
        for level, up in itertools.pairwise(levels):
            entry = next((c for c in level.categories if c.code == code), None)
            if entry is None:
                entry = CategoryDraft(code, "Missing")
                level.categories.append(entry)
            if entry.parent is None:
                known = {category.code for category in up.categories}
                entry.parent = code
                if code not in known:
                    up.categories.append(CategoryDraft(code, "Missing"))
            code = entry.parent
