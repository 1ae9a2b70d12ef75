"""What is public about a data set: its variables, unit, invariants, structural zeros; and its policy.

A `Description` and a `Policy` are the *public facts* from which check, plans, refusals and error
texts are made (rule 2). Both are read from discreet.yaml by `workspace`; neither has seen a record
once its variables are declared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..errors import RecipeError, Refusal, did_you_mean
from ..languages import counted, known, one_of_several, say
from . import zeros
from .domain import Axis, AxisRef, Condition, Count, Domain, Flags, Variable
from .family import Family
from .guarantee import unit_words
from .loss import Loss
from .neighbours import Neighbours
from .text import Text

UNDECIDED = "undecided"
"""The unit of a description whose custodian has not said yet who one unit is."""

RECORD = "record"
"""The unit where nobody said whom a record is about: a guarantee for it promises nothing to a person."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A survey weight, held in whole units of 1/`scale`; `bound` is public (largest weight)."""

    name: str
    scale: int
    bound: Fraction | None = None


@dataclass(frozen=True, slots=True)
class StructuralZero:
    """A combination that cannot exist, declared: records meeting all conditions at once."""

    conditions: tuple[Condition, ...]
    reason: str = ""


@dataclass(frozen=True)
class Featured:
    """A table a custodian puts in front of readers, with a headline of the custodian's own."""

    title: Text
    says: Text | None
    recipe: str
    """The recipe as JSON; its names are looked up when it is asked for."""

    @property
    def mapping(self) -> dict[str, Any]:
        """The recipe as a mapping."""
        return dict(json.loads(self.recipe))


@dataclass(frozen=True)
class Description:
    """The public facts about a data set."""

    name: str
    title: Text
    variables: tuple[Variable, ...]
    unit: str = "person"
    records_per_unit: int = 1
    bounded: bool = False
    """Records of a unit beyond that number are left out, not refused."""
    bound_from_data: bool = False
    """That number was chosen by looking at the data."""
    population: str = ""
    period: str = ""
    records: int | None = None
    """The number of records where it is public (an invariant), else None: declared by the custodian,
    or the sum of a margin that the policy publishes (`public_margins.under`)."""
    published: tuple[str, ...] = ()
    """The variables of such margins."""
    sample_rate: Fraction | None = None
    """The probability with which each unit was drawn by itself, where who was drawn is secret."""
    about: int | None = None
    """Roughly how many records there are, declared and not counted: for advice only."""
    weight: Weight | None = None
    structural_zeros: tuple[StructuralZero, ...] = ()
    source: str = ""
    licence: str = ""
    contact: str = ""
    notes: tuple[str, ...] = ()
    synthetic: bool = False
    language: str = ""
    featured: tuple[Featured, ...] = ()

    def askable(self, family: Family) -> Description:
        """The same with the variables that tables may be by: not what suppression counts.

        >>> from discreet.core.domain import variable
        >>> gene = replace(variable("gene", ["no", "yes"]), role="private")
        >>> people = Description("people", Text.of("People"), (variable("eyes", ["blue"]), gene))
        >>> [one.name for one in people.askable(Family.SUPPRESSION).variables]
        ['eyes']
        """
        if family is not Family.SUPPRESSION:
            return self
        kept = tuple(variable for variable in self.variables if variable.role != "private")
        return replace(self, variables=kept)

    def public(self, family: Family) -> Description:
        """What anybody may be told under a family: the one rule of what is public before protection.

        Where found categories are not shown, a variable that is not declared is not there at all,
        nor is a structural zero that names it, nor a weight without a declared bound: which columns
        `init` took for what, and what it made of their codes, may hang on one person.

        >>> from discreet.core.domain import variable
        >>> people = Description("people", Text.of("People"), (
        ...     variable("sex", ["f", "m"]), variable("disease", ["flu", "kuru"], declared=False)))
        >>> [known.name for known in people.public(Family.DP).variables]
        ['sex']
        """
        if family.shows_found:
            return self
        hidden = self.undeclared
        zeros = (
            zero
            for zero in self.structural_zeros
            if not any(part.variable in hidden for part in zero.conditions)
        )
        return replace(
            self,
            variables=tuple(variable for variable in self.variables if variable.declared),
            structural_zeros=tuple(zeros),
            weight=None if self.weight is None or self.weight.bound is None else self.weight,
        )

    def require_declared(self, names: Collection[str]) -> None:
        """Refuse variables whose categories were found in the data: under a budget these tell too."""
        for name in names:
            self.variable(name)
        found = [name for name in self.undeclared if name in names]
        if found:
            raise Refusal(
                f"The categories of {', '.join(found)} were found in the data and are not declared: "
                "which categories occur already tells something about people.",
                rule="declared-domain",
                alternatives=(
                    "`discreet check DIR` lists what was found and not yet declared.",
                    f"If the lists are public knowledge: `discreet declare DIR {' '.join(found)}`.",
                ),
            )

    @cached_property
    def _by_name(self) -> dict[str, Variable]:
        return {variable.name: variable for variable in self.variables}

    def variable(self, name: str) -> Variable:
        """The variable of exactly that name."""
        try:
            return self._by_name[name]
        except KeyError:
            raise RecipeError(
                f"{self.name} has no variable {name!r}.{did_you_mean(name, self._by_name)}"
            ) from None

    @cached_property
    def axes_by_name(self) -> dict[str, AxisRef]:
        """Every level of every variable by its full names; the first of two is meant."""
        named: dict[str, AxisRef] = {}
        for variable in self.variables:
            for level in variable.levels:
                ref = AxisRef(variable.name, level.name)
                named.setdefault(str(ref), ref)
                named.setdefault(f"{ref.variable}:{ref.level}", ref)
        return named

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages its texts are in, its own first; none where it does not say any."""
        codes = dict.fromkeys([self.language])
        for text in self.texts():
            codes |= dict.fromkeys(code for code, _ in text.by_language)
        return tuple(code for code in codes if code)

    def texts(self) -> Iterator[Text]:
        """Every title and label."""
        yield self.title
        for variable in self.variables:
            yield variable.label
            for level in variable.levels:
                yield level.label
                yield from (category.label for category in level.categories)

    def language_named(self, asked: str) -> str:
        """The language among those there are that is meant: `FR` and `fr-CA` mean fr.

        There are those its labels are in, and those that sentences are in: a total, a note and a
        guarantee are then said in it, and labels stay in the data set's own language. Any other is
        refused; nothing asked is "".
        """
        there = {code.casefold(): code for code in (*known(), *self.languages)}
        for code in (asked.casefold(), asked.casefold().partition("-")[0]):
            if code in there:
                return there[code]
        if not asked:
            return ""
        raise RecipeError(
            say(
                "{name} is not available in the language {asked}. Choose {there}.",
                name=self.name,
                asked=repr(asked[:20]),
                there=one_of_several(dict.fromkeys((*self.languages, *known()))),
            )
        )

    @property
    def own_language(self) -> str:
        """The language it is read in where nobody asks for another; empty where it says none."""
        return next(iter(self.languages), "")

    def axis(self, ref: AxisRef) -> Axis:
        """The axis a question's reference means."""
        variable = self.variable(ref.variable)
        return Axis(variable, variable.level(ref.level))

    def domain(self, axes: tuple[AxisRef, ...]) -> Domain:
        """The domain over these axes."""
        return Domain(tuple(self.axis(ref) for ref in axes))

    @property
    def neighbours(self) -> Neighbours:
        """Replace-one where the number of records is public, else add or remove one."""
        return Neighbours.ADD_REMOVE if self.records is None else Neighbours.REPLACE_ONE

    @property
    def protects(self) -> str:
        """Whom a guarantee speaks of: the unit, or one record where that is undecided."""
        return RECORD if self.unit == UNDECIDED else self.unit

    @property
    def counted(self) -> tuple[str, ...]:
        """What readers must know of the records that count, in sentences; mostly nothing."""
        most, unit = self.records_per_unit, unit_words(self.protects)
        said = []
        if self.unit == UNDECIDED:
            said.append(
                say(
                    "Whom one unit stands for is not decided: nothing is said about several records "
                    "of one person together."
                )
            )
        if self.bounded:
            said.append(
                counted(
                    "At most {n} record of each {unit} is counted.",
                    "At most {n} records of each {unit} are counted.",
                    most,
                    unit=unit,
                )
            )
        if self.bound_from_data:
            said.append(
                say(
                    "That one {unit} has at most {most} records was chosen after looking at the data.",
                    unit=unit,
                    most=most,
                )
            )
        return tuple(said)

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Variables whose categories were found in the data and not yet declared."""
        return tuple(variable.name for variable in self.variables if not variable.declared)

    def zero_mask(self, count: Count) -> Flags | None:
        """Which cells of a count cannot hold a record; None where all can.

        Those in a category that holds nothing, those outside the count's own filter, and
        structural zeros: a cell is one only if *every* finest cell within it is declared
        impossible.
        """
        return zeros.mask(self._span(count), self.zero_rules)

    @cached_property
    def zero_rules(self) -> tuple[tuple[Condition, ...], ...]:
        """What the structural zeros say together, however many rules they were written as."""
        written = [zero.conditions for zero in self.structural_zeros]
        return zeros.largest_rules(written, self.variable)

    def zero_tables(self, axes: tuple[Axis, ...]) -> dict[tuple[int, ...], Flags]:
        """The same for all records as tables over few axes each, by their positions."""
        return zeros.tables(zeros.Span(axes, (), self.variable), self.zero_rules)

    def ruled_codes(self, zero: StructuralZero, axes: tuple[AxisRef, ...]) -> zeros.Ruled | None:
        """A structural zero said by codes of these axes; None where it cannot be said there."""
        return zeros.ruled_codes(self._span(Count(axes)), zero.conditions)

    def kept(self, count: Count) -> tuple[Flags | None, ...]:
        """For each axis, which categories the count's own filter lets records into; None: all."""
        return zeros.filtered(self._span(count))

    def _span(self, count: Count) -> zeros.Span:
        return zeros.Span(self.domain(count.axes).axes, count.where, self.variable)


@dataclass(frozen=True)
class Policy:
    """Family, methods with their parameters, rules and budget of a data set.

    Method parameters and rules are kept as the plain mappings of discreet.yaml, already checked
    by the method (`Method.settings`) and by `rules`; the version is the hash of all of it.
    """

    family: Family
    method: str
    methods: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)
    budget: Loss | None = None
    """What may be spent on the data set, for ever."""
    reliable: Mapping[str, Any] = field(default_factory=dict)
    impossible: tuple[StructuralZero, ...] = ()
    """The description's structural zeros: they change published numbers without a new load."""
    approval: str = "one"
    """How many custodians a release needs: `one`, or `two`, who make and approve it."""

    def parameters(self, method: str) -> Mapping[str, Any]:
        """The parameters written for a method; empty where none are."""
        return self.methods.get(method, {})

    @cached_property
    def version(self) -> str:
        """A digest of everything in the policy that can change a published number."""
        facts: dict[str, Any] = {
            "family": str(self.family),
            "method": self.method,
            "methods": self.methods,
            "rules": self.rules,
            "reliable": self.reliable,
        }
        if self.impossible:
            facts["impossible"] = sorted(
                sorted([part.variable, part.level, *part.codes] for part in zero.conditions)
                for zero in self.impossible
            )
        text = json.dumps(facts, sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
