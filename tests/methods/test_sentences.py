"""Every number in the sentences of a guarantee, against enumeration over all neighbours."""

from __future__ import annotations

import itertools
import math
import random
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.description import Weight
from discreet.core.domain import variable
from discreet.core.guarantee import Guarantee
from discreet.methods.marginals.design import design_of
from discreet.methods.marginals.method import MarginalsMethod

from .brute_force import Losses, of_profile, profile_of
from .marginals.people import described, facts_of, question
from .noise.conftest import World

A = variable("a", ["0", "1", "2"], levels={"pair": {"0": "x", "1": "x", "2": "y"}})
B = variable("b", ["0", "1"])
CELLS = list(itertools.product(A.finest.codes, B.finest.codes))
_CLOSE = 1e-8
_SURE = (
    r"10 % sure becomes at most ([\d.]+) % sure(?:, except in (1 of every [\d,]+|most) releases)?"
)
_MEMBER = re.compile(
    r"after ([\d.]+) of 100 possible releases if \S+ \S+ not, and after ([\d.]+) if"
)
_GUESS = re.compile(r"in the data that was " + _SURE)
_CATEGORY = re.compile(r"apart after ([\d.]+) of 100 possible releases; a guess that was " + _SURE)


def rounded_up(text: str, true: float) -> bool:
    """Is `text` the true figure, rounded up at its last digit?"""
    scale = 10 ** len(text.partition(".")[2])
    return float(text) * scale in {math.ceil(true * scale + tiny) for tiny in (-_CLOSE, 0, _CLOSE)}


class Told:
    """What the sentences of one guarantee say, held against the enumerated losses."""

    def __init__(self, promise: Guarantee, neighbours: list[Losses], category: list[Losses]):
        self.promise, self.neighbours, self.category = promise, neighbours, category
        self.checked = 0

    def check(self, *, exact: bool) -> int:
        """All numbers; where not `exact`, figures are bounds and may only be too large."""
        self.exact = exact
        self._spent()
        self._points()
        membership = [words for words in self.promise.odds if _MEMBER.search(words)]
        guesses = [words for words in self.promise.odds if _GUESS.search(words)]
        comes_and_goes = self.promise.neighbours == "add or remove one"
        assert len(membership) == len(guesses) == (comes_and_goes and not self.promise.invariants)
        if membership:
            wrong, right = _MEMBER.search(membership[0]).groups()
            best = max(one.rightly for one in self.neighbours)
            self._up(right, 100 * best)
            assert float(wrong) == pytest.approx(100 - float(right))
            self._guess(_GUESS.search(guesses[0]).groups(), self.neighbours)
        about = [found for words in self.promise.odds if (found := _CATEGORY.search(words))]
        assert len(about) == bool(self.category)
        if about:
            right, *guess = about[0].groups()
            self._up(right, 100 * max(one.rightly for one in self.category))
            self._guess(guess, self.category)
        assert len(self.promise.odds) == len(membership) + len(guesses) + len(about)
        return self.checked

    def _up(self, text: str, true: float) -> None:
        self.checked += 1
        assert float(text) >= true - _CLOSE
        assert rounded_up(text, true) or not self.exact

    def _guess(self, said, pairs: list[Losses]) -> None:
        sure, rarely = said
        if self.promise.rho is not None:
            assert rarely == "1 of every 1,000,000"
            ends = [max(p.exceeded(1e-6 * (1 + s)) for p in pairs) for s in (1e-7, -1e-7)]
            figures = [100 * math.exp(t) / (9 + math.exp(t)) for t in ends]
            assert float(sure) >= min(figures) - _CLOSE
            assert any(rounded_up(sure, figure) for figure in figures) or not self.exact
            self.checked += 2
            return
        most = math.exp(max(one.most for one in pairs))
        self._up(sure, 100 * most / (9 + most))
        failing = max(one.failing for one in pairs)
        assert (rarely is None) == (failing == 0)
        if rarely is None:
            return
        self.checked += 1
        often = 2 if rarely == "most" else int(rarely.removeprefix("1 of every ").replace(",", ""))
        assert often <= 1 / failing or rarely == "most"
        assert not self.exact or rarely == "most" or often == math.floor(1 / failing)
        assert (rarely == "most") == (2 * failing > 1)

    def _spent(self) -> None:
        """ε or ρ as it stands: attained where it says =, not exceeded where it says ≤."""
        said = self.promise.sentence()
        letter, sign, number = re.search(r"with ([ερ]) ([=≤]) ([\d./]+)", said).groups()
        assert ("Zero-concentrated" in said) == (letter == "ρ")
        self.checked += 1
        if letter == "ρ":
            return
        delta = re.search(r"δ ≤ ([\d.e-]+)", said)
        most = max(one.most for one in self.neighbours)
        if delta is None:
            assert most <= float(Fraction(number)) + _CLOSE
            assert sign == "≤" or most == pytest.approx(float(Fraction(number)), abs=_CLOSE)
            return
        self.checked += 1
        true = max(one.delta(float(Fraction(number))) for one in self.neighbours)
        assert sign == "≤"
        assert true <= float(delta.group(1)) * (1 + _CLOSE)

    def _points(self) -> None:
        """Every (ε, δ) beside the charge holds, and a last digit less of ε or δ does not."""
        for epsilon, delta in self.promise.composition:
            self.checked += 1
            true = max(one.delta(float(epsilon)) for one in self.neighbours)
            assert true <= float(delta) * (1 + 1e-6) + 1e-13
            if epsilon == 0:
                continue  # no smaller one: δ alone bears it
            unit = 10.0 ** (math.floor(math.log10(float(epsilon))) - 3)
            less = max(one.delta(float(epsilon) - unit) for one in self.neighbours)
            tight = 10.0 ** (math.floor(math.log10(float(delta))) - 3)
            assert not self.exact or less > float(delta) or true > float(delta) - 2 * tight


# -- noise ----------------------------------------------------------------------------------


def _noise_release(rng: random.Random) -> tuple[Guarantee, list[Losses], list[Losses], bool]:
    """A random plan of independent noise over six cells, and what all its neighbours show."""
    replaced = rng.random() < 0.4
    records = rng.choice([1, 1, 1, 2])
    weighted = records == 1 and rng.random() < 0.25
    law = rng.choice(["laplace", "gaussian", "truncated laplace", "truncated normal"])
    facts: dict = {"records_per_unit": records, "unit": rng.choice(["person", "household"])}
    if replaced:
        facts["records"] = 50
    if weighted:
        facts["weight"] = Weight("w", 1, Fraction(rng.choice([2, 3, 5])))
    world = World([A, B], **facts)
    plan = world.plan(*_tables(rng, world, weighted), **_budget(rng, law), plan=_plan(rng))
    units = _units(records, (1, int(facts["weight"].bound)) if weighted else (1,))
    other = [(one, two) for one, two in itertools.product(units, units) if one != two]
    alone = [((), unit) for unit in units]
    measured = plan.detail.scheme.measured
    totals = any(p.margin.weighted and not p.margin.axes for p in measured)
    between = _noise_losses(world, measured, other)
    found = between if replaced else _noise_losses(world, measured, alone)
    bound = totals or (records > 1 and law == "truncated normal")  # two records may share each cell
    return plan.guarantee, found, between, plan.detail.scheme.exact and not bound


def _plan(rng: random.Random) -> str:
    return rng.choice(["best", "wanted", "everything"])


def _tables(rng: random.Random, world: World, weighted: bool) -> list:
    s = world.spec
    kinds = [
        [s("a", "b")],
        [s("a"), s("b")],
        [s("a:pair", "b"), s("a")],
        [s("b", where={"a": ["0"]}), s("b", where={"a": ["1"]})],
        [s("b", where={"a": ["0", "1"]}), s("b", where={"a": ["1", "2"]})],
        [s(where={"a": ["0"]}), s(where={"a": ["1"]}), s("b")],
        [s("a", "b", totals=False), s("a")],
    ]
    if weighted:
        kinds = [
            [s("a", weighted=True)],
            [s("a", weighted=True), s("b")],
            [s("b", weighted=True), s()],
        ]
    return rng.choice(kinds)


def _budget(rng: random.Random, law: str) -> dict[str, str]:
    amount = str(Fraction(rng.randint(2, 40), 20))
    if law == "laplace":
        return {"epsilon": amount}
    if law == "gaussian":
        return {"law": "gaussian", "rho": str(Fraction(rng.randint(1, 20), 20))}
    kind = law.partition(" ")[2]
    if rng.random() < 0.5:
        return {"law": kind, "epsilon": amount, "delta": rng.choice(["0.001", "0.00001", "1e-7"])}
    return {"law": kind, "epsilon": amount, "max_perturbation": str(rng.randint(12, 30))}


def _units(records: int, weights: tuple[int, ...]) -> list[tuple]:
    one = list(itertools.product(CELLS, weights))
    return list(itertools.combinations_with_replacement(one, records))


def _noise_losses(world: World, measured, pairs) -> list[Losses]:
    """The losses of all pairs of units, the first leaving and the second entering."""
    places: dict = {}

    def counted(unit, number):
        if (unit, number) not in places:
            margin = measured[number].margin
            out = np.zeros(world.description.domain(margin.axes).shape, dtype=np.int64)
            for cell, weight in unit:
                if world.passes(margin.where, cell):
                    at = tuple(world.index(ref, cell) for ref in margin.axes)
                    out[at] += weight if margin.weighted else 1
            places[unit, number] = out
        return places[unit, number]

    profiles = {
        profile_of(
            (part.law, counted(added, i) - counted(removed, i)) for i, part in enumerate(measured)
        )
        for removed, added in pairs
    }
    return [of_profile(profile) for profile in sorted(profiles, key=repr) if profile]


# -- marginals ------------------------------------------------------------------------------


def _marginals_release(rng: random.Random) -> tuple[Guarantee, list[Losses], list[Losses], bool]:
    """A random plan of consistent margins, some with a margin or the number of records public."""
    shape = rng.choice([(2, 2, 3), (3, 2, 4), (2, 2, 2), (2, 2, 2, 2), (4, 3)])
    names = [f"v{i}" for i in range(len(shape))]
    facts: dict = {}
    if rng.random() < 0.4:
        facts["records"] = 60
    if rng.random() < 0.2:
        facts["records_per_unit"] = 2
    published: dict = {}
    if len(shape) > 2 and rng.random() < 0.4:
        each = 60 // shape[0]
        published = {"v0": {f"c{i}": each for i in range(shape[0])}}
    budget = {"epsilon": str(Fraction(rng.randint(4, 40), 20))}
    if rng.random() < 0.3 and len(shape) < 4:
        budget = {"rho": str(Fraction(rng.randint(1, 20), 20))}
    made = described(shape, **facts)
    tables = [list(pair) for pair in itertools.combinations(names, 2)][: rng.randint(1, 3)]
    policy = facts_of(made, **({"published": published} if published else {}))
    plan = MarginalsMethod().plan(*question(made, tables, **budget), policy)
    design, k = design_of(plan), made.records_per_unit
    used = [ref.variable for ref in design.workload.refs]
    cells = list(itertools.product(*(range(n) for n in design.shape)))
    others = list(itertools.permutations(cells, 2))
    still = [used.index("v0")] if published and "v0" in used else []
    fixed = [(a, b) for a, b in others if all(a[i] == b[i] for i in still)]

    def losses(pairs) -> list[Losses]:
        measured = design.allocation.measured

        def counted(cell, one):
            out = np.zeros([design.shape[axis] for axis in one.margin], dtype=np.int64)
            if cell is not None:
                out[tuple(cell[axis] for axis in one.margin)] = k
            return one.of(out)

        found = {
            profile_of((one.law, counted(b, one) - counted(a, one)) for one in measured)
            for a, b in pairs
        }
        return [of_profile(profile) for profile in sorted(found, key=repr) if profile]

    replaced = plan.guarantee.neighbours == "replace one"
    alone = losses([(None, cell) for cell in cells])
    return plan.guarantee, losses(others) if replaced else alone, losses(fixed), True


# -- all ------------------------------------------------------------------------------------


PARTS = [pytest.param(20, part, marks=pytest.mark.proof) for part in range(1, 11)]
"""Two hundred releases, in ten parts."""


@pytest.mark.parametrize(("number", "part"), [(9, 0), *PARTS])
@pytest.mark.slow
def test_no_number_in_a_sentence_is_wrong(number: int, part: int, record_property) -> None:
    """Random releases (one table, several, ρ, truncated, weighted, invariants): every ε, δ, chance and guess is right to its last digit.

    Held against the losses of all pairs of neighbours, enumerated. A figure said to be a bound is
    never too small.
    """
    rng = random.Random(20261116 + part)
    checked = 0
    for turn in range(number):
        made = _marginals_release if turn % 3 == 2 else _noise_release
        promise, neighbours, category, exact = made(rng)
        checked += Told(promise, neighbours, category).check(exact=exact)
    record_property("releases", number)
    record_property("numbers", checked)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("and after 74 if", "and after 73 if"),
        ("and after 74 if", "and after 75 if"),
        ("at most 24 % sure", "at most 23 % sure"),
        ("apart after 74 of", "apart after 73 of"),
        ("at most 46 % sure", "at most 47 % sure"),
    ],
)
def test_a_wrong_digit_is_found(old: str, new: str) -> None:
    """The comparison above rejects a figure that is one off, either way."""
    world = World([A, B])
    plan = world.plan(world.spec("a", "b", totals=False), epsilon="1")
    measured, units = plan.detail.scheme.measured, _units(1, (1,))
    alone = _noise_losses(world, measured, [((), unit) for unit in units])
    between = _noise_losses(world, measured, itertools.permutations(units, 2))
    told = " ".join(plan.guarantee.odds)
    assert old in told
    assert Told(plan.guarantee, alone, between).check(exact=True) == 5
    wrong = replace(plan.guarantee, odds=tuple(w.replace(old, new) for w in plan.guarantee.odds))
    with pytest.raises(AssertionError):
        Told(wrong, alone, between).check(exact=True)
