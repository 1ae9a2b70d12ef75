"""The contract of methods: every registered method runs through every test here.

A method that is registered and has no case below fails the first test.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.control import Control
from discreet.core.description import Description, Policy
from discreet.core.guarantee import Guarantee, Kind
from discreet.core.loss import PureLoss
from discreet.core.origin import Origin
from discreet.core.question import Question, TableSpec, Treatment
from discreet.core.table import ProtectedTable, Status
from discreet.errors import DiscreetError, RecipeError, Refusal
from discreet.methods import registry
from discreet.methods.base import Derives, Facts, KeepsPlan, Measurements, Plan
from discreet.methods.declaration import Part, Setting, Spends
from discreet.recipe import from_mapping

from ..engines.numpy_engine import NumpyEngine
from ..facts import people
from .cellkey.world import FixedSecrets
from .ration.declaration import DECLARATION as RATION

TABLES = [
    {"rows": ["region"], "columns": ["sex"]},
    {"rows": ["age"], "columns": ["work"], "where": {"sex": ["F"]}},
    {"rows": ["age", "sex"], "totals": "none"},
]
WHOLE = [{"rows": ["region"], "columns": ["sex"]}, {"rows": ["age"], "columns": ["sex"]}]
"""Tables that classic marginals can take: no filters."""


FILTERED = [{"rows": ["region"], "columns": ["age"], "where": {"sex": ["F"]}}]
KINDS = [(f"a{i}", age, sex) for i in range(1, 7) for age in ("0", "15", "65") for sex in "FM"]
SUPPRESSED = {
    "epsilon": "0.8",
    "delta": "0.3",
    "populations": {
        "text": "area,age,sex,population\n" + "".join(f"{','.join(k)},60\n" for k in KINDS),
        "source": "a census",
    },
    "attributes": {
        "work": {"counts": ["o"], "prior": {"value": "0.3", "source": "a survey of other people"}}
    },
}
"""Public populations and a prior: which work people have is private."""


@dataclass(frozen=True)
class Case:
    """A method asked in one way, under a policy."""

    method: str
    said: dict[str, Any]
    policy: dict[str, Any]
    tables: list[dict[str, Any]]

    def __str__(self) -> str:
        return " ".join([self.method, *(f"{k}={v}" for k, v in self.said.items())])


def case(method: str, said: dict[str, Any] | None = None, policy: Any = None, tables: Any = None):
    return Case(method, said or {}, policy or {}, tables or TABLES)


CASES = [
    case("noise", {"epsilon": "0.5"}),
    case("noise", {"epsilon": "3", "plan": "everything", "consistency": "integers"}),
    case("noise", {"within": "20", "of": "95%"}),
    case("noise", {"law": "gaussian", "rho": "0.1", "negatives": "clip"}),
    case("noise", {"law": "gaussian", "epsilon": "1", "delta": "1e-6"}),
    case("noise", {"law": "normal", "epsilon": "3", "max_perturbation": "40"}),
    case("noise", {"law": "max-entropy", "epsilon": "3", "max_perturbation": "40"}),
    case("noise", {"law": "max-entropy", "variance": "30", "max_perturbation": "40"}),
    case("noise", {"law": "hellinger", "epsilon": "3", "max_count": "12", "max_value": "30"}),
    case("noise", {"law": "exponential", "epsilon": "3", "utility": "0 -1 -2 -4 -6 -9"}),
    case("noise", {}, {"epsilon": "0.25", "negatives": "threshold", "threshold": "2"}),
    case("marginals", {"epsilon": "2"}),
    case("marginals", {"rho": "0.5", "one_way_share": "0.25"}),
    case("marginals", {"epsilon": "2", "records_about": "400"}),
    case("marginals", {"epsilon": "9", "mode": "classic"}, tables=WHOLE),
    case("marginals", {"epsilon": "9", "mode": "classic", "noise_on": "cells"}, tables=WHOLE),
    case("topdown", {"epsilon": "2"}),
    case("topdown", {"rho": "0.5", "tree": "area", "levels": "region"}),
    case("topdown", {"epsilon": "1", "records_about": "400"}),
    case("topdown", {"epsilon": "2", "mode": "pilot"}),
    case("topdown", {"rho": "2", "mode": "pilot", "first": "geography", "level_shares": "equal"}),
    case("cell-key", {}, {"max_perturbation": "5", "variance": "2"}),
    case("cell-key", {}, {"epsilon": "1", "delta": "1e-4", "threshold": "4", "additive": "yes"}),
    case("suppression", {}, SUPPRESSED, tables=WHOLE[1:]),
    case("suppression", {"attribute": "work", "cells": "no"}, SUPPRESSED, tables=FILTERED),
    case("classic", {}, {"threshold": "3"}, tables=[*WHOLE, *FILTERED]),
    case("synthetic"),
    case("ration", {"step": "5"}),
]


@pytest.fixture(autouse=True)
def _ration(monkeypatch: pytest.MonkeyPatch) -> None:
    """The contract holds for a method that nothing in `src` knows of."""
    monkeypatch.setitem(registry.METHODS, RATION.name, RATION)


SLOW = (CASES[2], CASES[4])
"""Those that search long for their amount: in `make test` only."""


@pytest.fixture(
    params=[pytest.param(one, marks=[pytest.mark.slow] if one in SLOW else []) for one in CASES],
    ids=str,
)
def asked(request: pytest.FixtureRequest) -> Asked:
    return Asked(request.param)


class Asked:
    """A case in a small world: records in memory, counted by a plain engine."""

    def __init__(self, case: Case) -> None:
        self.case, self.method = case, registry.get(case.method)
        self.description = people()
        if case.method == "suppression":
            self.description = replace(
                self.description,
                variables=tuple(
                    replace(v, role="private") if v.name == "work" else v
                    for v in self.description.variables
                ),
            )
        rng = np.random.default_rng(3)
        size = 400
        codes = {v.name: rng.integers(0, len(v.finest), size) for v in self.description.variables}
        codes["work"] = np.where(codes["age"] == 0, 2, codes["work"])  # children do not work
        keys = rng.integers(0, 1 << 32, size), rng.integers(0, 1 << 32, size)
        self.engine = NumpyEngine(self.description, codes, *keys)
        self.facts = self.facts_of(case.policy)

    def facts_of(self, parameters: dict[str, Any], **changes: Any) -> Facts:
        declared = self.method.declaration
        policy = Policy(
            declared.family,
            declared.name,
            {declared.name: parameters},
            budget=PureLoss(100) if declared.spends is Spends.LOSS else None,
            **changes,
        )
        promise = Guarantee(Kind.DP, "person", "add or remove one", Fraction(1), Fraction(0))
        origin = Origin("people", "0" * 64, promise, "1" * 64)
        kept = origin if declared.name == "synthetic" else None
        return Facts(self.description, policy, "data 1", policy.version, origin=kept)

    def recipe(self, said: dict[str, Any] | None = None, tables: Any = None):
        whole = {"tables": tables or self.case.tables, "method": self.case.method}
        chosen = self.case.said if said is None else said
        return from_mapping({**whole, **chosen}, self.description, self.facts.policy)

    def plan(self, said: dict[str, Any] | None = None, tables: Any = None, facts=None) -> Plan:
        made = self.recipe(said, tables)
        return self.method.plan(made.question, made.treatment, facts or self.facts)

    def measure(self, plan: Plan) -> Measurements:
        counted = self.engine.count(plan.counts, keys=plan.needs_keys)
        secrets = FixedSecrets()
        measured = self.method.measure(plan, counted, secrets, Control())
        return Measurements.from_bytes(measured.to_bytes())

    def fit(self, plan: Plan, measured: Measurements) -> tuple[ProtectedTable, ...]:
        if isinstance(self.method, KeepsPlan):
            plan = self.method.measured(plan, measured, self.facts)
        return self.method.fit(plan, measured, self.facts, Control())


def numbers(tables: tuple[ProtectedTable, ...]) -> list[Any]:
    """Everything that is a number in some tables."""
    found: list[Any] = []
    for table in tables:
        found += [table.values.tolist(), table.status.tolist()]
        found += [{name: values.tolist() for name, values in table.extra.items()}]
        if table.noise is not None:
            noise = table.noise
            found += [noise.sd.tolist(), noise.lower.tolist(), noise.upper.tolist()]
    return found


def same_question(one: Plan, two: Plan) -> bool:
    """Whether two plans measure the same thing for the same charge."""
    return (
        one.question_hash == two.question_hash
        and one.question.canonical() == two.question.canonical()
        and set(one.counts) == set(two.counts)
        and one.charge == two.charge
        and one.guarantee == two.guarantee
    )


def spellings(setting: Setting, value: Any) -> list[Any]:
    """Other ways to write one value of a setting."""
    text = str(value)
    found: list[Any] = [f" {text} ", text.upper(), text.title()]
    if setting.words:
        found += [text.replace(" ", "-"), text.replace(" ", "  "), text.replace("-", " ")]
    try:
        number = Fraction(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return found
    whole = number.denominator == 1
    found = [f"{number.numerator}/{number.denominator}", f" {text}", f"+{text}".rstrip("%")]
    if not text.endswith("%"):
        found += [
            f"{float(number):.12e}",
            text if "e" in text else f"{text}.0" if whole else f"{text}0",
        ]
        found += [int(number)] if whole and not setting.exact else []
    else:
        found = [f"{float(number)}", f"{number.numerator}/{number.denominator}", f" {text[:-1]} %"]
    return found


def treatments(asked: Asked) -> list[dict[str, str]]:
    """Some of everything a treatment may be, that goes together and with the policy."""
    choices = {
        "negatives": ["keep", "clip", "threshold 3"],
        "consistency": ["none", "least squares", "integers"],
        "threshold": ["5"],
        "display_floor": ["7"],
        "additive": ["yes", "no"],
        "objective": ["largest", "total in margins"],
        "hide_zeros": ["yes", "no"],
    }
    declared = [s.name for s in asked.method.declaration.asked(Part.TREATED)]
    unknown = set(declared) - set(choices)
    assert not unknown, f"give examples of {unknown}"
    found = []
    names = [n for n in declared if not (n == "threshold" and "negatives" in declared)]
    for chosen in itertools.product(*([None, *choices[name]] for name in names)):
        said = {n: v for n, v in zip(names, chosen, strict=True) if v is not None}
        base = {k: v for k, v in asked.case.said.items() if k not in declared}
        try:
            asked.plan({**base, **said})
        except (RecipeError, Refusal):
            continue  # does not go together, or is weaker than the policy
        found.append(said)
    return found


def test_every_registered_method_is_tried() -> None:
    """A method without a case is a method without a contract."""
    assert {case.method for case in CASES} == set(registry.names())


def test_a_plan_is_pure(asked: Asked) -> None:
    """The same question on the same public facts: the same plan, whatever happened in between."""
    first = asked.plan()
    asked.fit(first, asked.measure(first))
    second = asked.plan()
    assert same_question(first, second)
    assert (first.errors, first.warnings, first.treatment) == (
        second.errors,
        second.warnings,
        second.treatment,
    )
    assert first.question.resolved
    assert len(first.question_hash) == 64


def test_every_spelling_of_every_setting_is_one_question(asked: Asked) -> None:
    """Case, blanks, hyphens, decimals, fractions and per cent: one hash, one charge."""
    plain = asked.plan()
    known = asked.method.declaration.by_name
    for name, value in asked.case.said.items():
        for spelled in spellings(known[name], value):
            other = asked.plan({**asked.case.said, name: spelled})
            assert same_question(plain, other), (name, spelled)
            assert plain.treatment == other.treatment


def test_a_default_said_is_a_default_left_out(asked: Asked) -> None:
    """Whoever says what would hold anyway asks the same question."""
    plain = asked.plan()
    for setting in asked.method.declaration.asked():
        if setting.name in asked.case.said or setting.default in ("none", "not known"):
            continue
        try:
            other = asked.plan({**asked.case.said, setting.name: setting.default})
        except (RecipeError, Refusal):
            continue  # words that describe a default, or a setting this question cannot have
        if setting.part is Part.TREATED:
            assert plain.question_hash == other.question_hash
        else:
            assert same_question(plain, other), setting.name


def test_what_the_policy_says_need_not_be_said(asked: Asked) -> None:
    """A setting written into the policy and one said by the asker are one question.

    A budget in a policy is for each table, so that is tried with one table.
    """
    measured = asked.method.declaration.asked(Part.MEASURED)
    names = {setting.name for setting in measured} & set(asked.case.said)
    parameters = {**asked.case.policy, **{n: asked.case.said[n] for n in names}}
    rest = {n: v for n, v in asked.case.said.items() if n not in names}
    one = asked.case.tables[:1]
    by_policy = asked.plan(rest, one, asked.facts_of(parameters))
    assert same_question(asked.plan(tables=one), by_policy)


def test_the_order_of_tables_axes_and_words_does_not_matter(asked: Asked) -> None:
    """Tables in any order, rows for columns, labels for codes, prefixes: one question."""
    plain = asked.plan()
    turned = [
        {**table, "rows": table.get("columns", []), "columns": table["rows"][::-1]}
        for table in asked.case.tables
    ]
    for tables in (asked.case.tables[::-1], turned, turned[::-1]):
        assert same_question(plain, asked.plan(tables=tables))
    worded = [
        {**table, "where": {"Sex": "female"}} if "where" in table else table
        for table in asked.case.tables
    ]
    assert same_question(plain, asked.plan(tables=worded))


def test_a_resolved_question_is_resolved_to_itself(asked: Asked) -> None:
    """Read back from what is stored and planned again, also under another policy's defaults."""
    plan = asked.plan()
    stored = Question.from_canonical(plan.question.canonical())
    again = asked.method.plan(stored, Treatment(), asked.facts)
    assert same_question(plan, again)
    if asked.method.declaration.spends is Spends.LOSS:
        other = asked.facts_of({"epsilon": "7"})
        assert asked.method.plan(stored, Treatment(), other).question_hash == plan.question_hash


def test_measurements_are_whole_numbers(asked: Asked) -> None:
    """64-bit integers, and the same after a trip through bytes."""
    plan = asked.plan()
    counted = asked.engine.count(plan.counts, keys=plan.needs_keys)
    measured = asked.method.measure(plan, counted, FixedSecrets(), Control())
    back = Measurements.from_bytes(measured.to_bytes())
    assert measured.arrays.keys() == back.arrays.keys()
    for name, values in measured.arrays.items():
        assert values.dtype == np.int64
        assert np.array_equal(values, back.arrays[name])


def test_an_old_answer_is_fitted_to_the_same_numbers(asked: Asked) -> None:
    """By the plan that made it, by one planned again from what is stored, and twice over."""
    plan = asked.plan()
    measured = asked.measure(plan)
    first = numbers(asked.fit(plan, measured))
    recipe = asked.recipe()
    stored = Question.from_canonical(plan.question.canonical())
    by_table = {repr(table.canonical()): table for table in stored.tables}
    again = replace(
        stored, tables=tuple(by_table[repr(t.canonical())] for t in recipe.question.tables)
    )
    replanned = asked.method.plan(again, recipe.treatment, asked.facts)
    assert numbers(asked.fit(replanned, measured)) == first
    assert numbers(asked.fit(plan, measured)) == first


def test_a_treatment_changes_nothing_that_is_measured(asked: Asked) -> None:
    """Under every treatment the same hash, counts and charge; each is had from old measurements."""
    base = {
        name: value
        for name, value in asked.case.said.items()
        if asked.method.declaration.by_name[name].part is Part.MEASURED
    }
    plain = asked.plan(base)
    measured = asked.measure(plain)
    for treatment in treatments(asked):
        treated = asked.plan({**base, **treatment})
        assert same_question(plain, treated), treatment
        fresh = asked.fit(treated, asked.measure(treated))
        later = asked.fit(treated, measured)
        assert [t.shape for t in fresh] == [t.shape for t in later]
        assert numbers(later) == numbers(asked.fit(treated, measured))


def test_deriving_a_question_is_releasing_it(asked: Asked) -> None:
    """What an earlier release gives of its own question is what it gave, treatment and all."""
    method = asked.method
    if not isinstance(method, Derives):
        assert asked.method.declaration.spends is not Spends.LOSS
        return
    plan = asked.plan()
    measured = asked.measure(plan)
    recipe = asked.recipe()
    own = method.plan(Question.from_canonical(plan.question.canonical()), Treatment(), asked.facts)
    derived = method.derive(own, recipe.question, recipe.treatment, asked.facts)
    assert derived is not None
    assert derived.treatment == plan.treatment
    released, read_off = (
        asked.fit(plan, measured),
        method.fit(derived, measured, asked.facts, Control()),
    )
    for one, two in zip(released, read_off, strict=True):
        assert np.array_equal(one.values, two.values)


def test_a_method_marks_no_number_unreliable_by_its_noise(asked: Asked) -> None:
    """That rule is judged after the fit, in one place, for every method alike."""
    plan = asked.plan()
    for table in asked.fit(plan, asked.measure(plan)):
        if table.noise is not None:
            assert not (table.status == Status.UNRELIABLE).any()


def test_settings_of_other_methods_get_one_sentence(asked: Asked) -> None:
    """What another method has, this one refuses by name, before anything is planned."""
    own = {setting.name for setting in asked.method.declaration.asked()}
    for name in registry.asked_settings():
        if name not in own:
            with pytest.raises(RecipeError) as caught:
                asked.plan({**asked.case.said, name: "1"})
            assert name in str(caught.value)
            assert "\n" not in str(caught.value)


def test_rules_limits_and_reliability_are_no_part_of_a_question(asked: Asked) -> None:
    """Raising a limit or changing what counts as reliable leaves the hash as it is."""
    plain = asked.plan()
    for changes in (
        {"rules": {"max_cells": "9999"}},
        {"reliable": {"noise_sd_over_count": "1/3"}},
    ):
        other = asked.plan(facts=asked.facts_of(asked.case.policy, **changes))
        assert same_question(plain, other)
    if "epsilon_most" in asked.method.declaration.by_name:
        looser = {**asked.case.policy, "epsilon_most": "90", "rho_most": "90"}
        assert same_question(plain, asked.plan(facts=asked.facts_of(looser)))


def test_what_is_measured_on_is_part_of_a_question(asked: Asked) -> None:
    """Other data, another promise or another structural zero over its variables: another hash."""
    plain = asked.plan()
    facts = asked.facts
    changed: list[Description] = [
        replace(facts.description, unit="household"),
        replace(facts.description, records_per_unit=2),
        replace(facts.description, structural_zeros=()),
    ]
    hashes = {plain.question_hash}
    for description in changed:
        try:
            hashes.add(asked.plan(facts=replace(facts, description=description)).question_hash)
        except DiscreetError:
            hashes.add(repr(description))
    hashes.add(asked.plan(facts=replace(facts, data_version="data 2")).question_hash)
    assert len(hashes) == 4 + ("work" in plain.question.variables)  # the zero is of age and work


def test_a_zero_over_other_variables_changes_no_question() -> None:
    """A structural zero between variables the question does not use leaves it as it is."""
    asked = Asked(
        case("noise", {"epsilon": "1"}, tables=[{"rows": ["region"], "columns": ["sex"]}])
    )
    without = replace(asked.facts, description=replace(asked.description, structural_zeros=()))
    assert same_question(asked.plan(), asked.plan(facts=without))


def test_the_twin_that_looks_at_its_treatment_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method whose plan depended on the treatment would not pass: the comparison can fail."""
    asked = Asked(case("noise", {"epsilon": "1"}))
    plan = asked.plan()
    other = asked.plan({"epsilon": "1", "plan": "everything"})
    assert not same_question(plan, other)


def test_table_specs_say_shares_once() -> None:
    """A share of a lone table is all of it, said or not."""
    asked = Asked(case("noise", {"epsilon": "1"}))
    table = {"rows": ["sex"]}
    assert same_question(asked.plan(tables=[table]), asked.plan(tables=[{**table, "share": "1.0"}]))
    assert isinstance(asked.recipe(tables=[table]).question.tables[0], TableSpec)
