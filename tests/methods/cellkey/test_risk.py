"""The three risk numbers: by enumeration, and as measured on tables that were served."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from scipy.stats import binom

from discreet.core.count_law import Row
from discreet.core.description import Description
from discreet.core.design import design as design_law
from discreet.core.domain import variable
from discreet.core.law_builders import max_entropy
from discreet.core.question import Treatment
from discreet.core.text import Text
from discreet.methods.cellkey.design import design
from discreet.methods.cellkey.method import CellKeyMethod
from discreet.methods.cellkey.ptable import PTable
from discreet.methods.cellkey.risk import (
    SAMENESS,
    Prior,
    hired_today,
    matching,
    normal_estimate,
    queries_to_recover,
    real_three,
    recovery,
    risk,
    true_share,
    two_laws,
)

from .world import World, spec, ten_five

EXAMPLE_1 = {"epsilon": "0.5", "delta": "1e-4"}
FALSE_POSITIVE = 1e-8


def fits(hits: int, tries: int, chance: float) -> bool:
    """Two-sided exact binomial test at FALSE_POSITIVE."""
    tail = FALSE_POSITIVE / 2
    return binom.cdf(hits, tries, chance) > tail and binom.sf(hits - 1, tries, chance) > tail


def test_hired_today_of_example_1_is_0_960():
    """sadeghi's Example 1: 1 − Σ p(z)p(z+1) = 0.960, and no false alarm."""
    table = PTable.from_law(design_law("0.5", "1e-4", rule="sadeghi").law)
    found = hired_today(table, 5)
    assert float(found.success) == pytest.approx(0.960, abs=5e-4)
    assert found.false_alarm == 0


def test_the_numbers_are_those_of_a_plain_enumeration():
    """Both attacks over all pairs of perturbations, for rows that differ."""
    table = design(3, "1")
    for n in range(6):
        a, b = table.row(n).pmf, table.row(n + 1).pmf
        differ = sum(p * q for v, p in a.items() for w, q in b.items() if n + v != n + 1 + w)
        same = sum(p * q for v, p in a.items() for w, q in a.items() if v == w)
        for mode in SAMENESS:
            assert hired_today(table, n, mode).success == differ
            assert matching(table, n, mode).equal_by_chance == same
        assert hired_today(table, n, SAMENESS[1]).false_alarm == 1 - same
        assert matching(table, n).posterior == 1 / (1 + same)
        assert matching(table, n, SAMENESS[1]).posterior == Fraction(1, 2)


def test_recovery_is_a_convolution():
    """Three queries of two parts against a full enumeration of six perturbations."""
    row = Row.of([(-1, 1), (0, 2), (1, 1)])
    laws = np.array([1, 2, 1]) / 4
    total = np.array([1.0])
    for _ in range(6):
        total = np.convolve(total, laws)
    assert recovery(row, 3) == pytest.approx(total[5:8].sum(), abs=1e-12)  # |sum| < 1.5


def test_queries_to_recover():
    """Uniform noise on −2 … 2 in 2-part splits: about 63; the normal estimate is near."""
    row = Row.of([(z, 1) for z in range(-2, 3)])
    queries = queries_to_recover(row)
    assert queries == 63
    assert recovery(row, queries) >= 0.95 > recovery(row, queries - 2)
    assert abs(normal_estimate(row) - queries) <= 2
    assert queries_to_recover(Row.of([(1, 1)])) == 1  # a known shift hides nothing
    assert queries_to_recover(Row.of([(z + 1, 1) for z in range(-2, 3)])) == 63
    assert queries_to_recover(Row((0,), (256,))) == 1


def test_the_second_mode_trades_one_risk_for_another():
    """Fresh noise per description: false alarms, no matching, and half the queries to average."""
    table = design(5, "2")
    first, second = risk(table, SAMENESS[0]), risk(table, SAMENESS[1])
    assert first.hired_today.false_alarm == 0 < second.hired_today.false_alarm
    assert first.matching.posterior > second.matching.posterior == Fraction(1, 2)
    assert first.splitting.queries > second.splitting.queries
    assert len(first.sentences()) == len(second.sentences()) == 3


def test_rounding_by_rule_is_no_shelter():
    """The 10-5 rule is deterministic, but splits meet all its rows: as uniform noise on −2 … 2."""
    found = risk(ten_five())
    assert found.splitting.queries == 63
    assert found.hired_today.success == 1
    world, _ = firms({"ptable": ten_five()}, 10)
    plan = world.plan(spec("firm"))
    assert plan.guarantee.odds[1].startswith("Of 100 large cells, about 80 ")
    assert plan.errors[0].totals_sd[""] == pytest.approx(sqrt(2))


def test_a_real_three():
    """Of 100 published 3s, by Bayes over the transition matrix; blocked 3s are never published."""
    table = design(3, "1")
    p = [table.row(n).pmf.get(3 - n, Fraction(0)) for n in range(8)]
    assert true_share(table, 3, Prior()) == p[3] / sum(p)
    half = Prior(Fraction(1, 2))
    assert true_share(table, 3, half) == p[3] / 8 / sum(x / 2**n for n, x in enumerate(p))
    assert real_three(table, Prior()).startswith("Of 100 published 3s, about 40 are true 3s")
    assert real_three(design(5, "5", 3), Prior()) == "No cell is ever published as 3."


# On served tables --------------------------------------------------------------------------------


def firms(parameters: dict, number: int, seed: int = 3) -> tuple[World, np.ndarray]:
    """Firms of 5 to 40 people; in each, one was hired today, and earns well in half of them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 40, number)
    firm = np.repeat(np.arange(number), sizes)
    pay = rng.integers(0, 2, firm.size)
    new = np.zeros(firm.size, int)
    first = np.r_[0, np.cumsum(sizes)[:-1]]
    pay[first] = rng.integers(0, 2, number)  # the person hired today
    pay[first + 1] = 1  # so that nobody's "earns well" is empty without the new one
    new[first] = 1
    variables = (
        variable("firm", [str(i) for i in range(number)]),
        variable("pay", ["low", "high"]),
        variable("tenure", ["before", "today"]),
    )
    description = Description("staff", Text.of("Staff"), variables)
    world = World(description, {"firm": firm, "pay": pay, "tenure": new}, parameters, seed=seed)
    return world, pay[first] == 1


def ask(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Well-paid people of every firm, and those of them who were not hired today."""
    all_ = world.values(spec("firm", where=[("pay", "high")], totals=False))
    before = world.values(spec("firm", where=[("pay", "high"), ("tenure", "before")], totals=False))
    return all_, before


SIZES = [4_000, pytest.param(200_000, marks=pytest.mark.proof)]


@pytest.mark.parametrize("number", SIZES)
def test_hired_today_on_served_tables(number):
    """Measured success is binomial with the computed chance 0.960 (1e-8); false alarms are none."""
    world, earns = firms(EXAMPLE_1, number)
    computed = world.plan(spec("firm")).detail.ready.risk.hired_today
    all_, before = ask(world)
    hits = int((all_ != before)[earns].sum())
    assert fits(hits, int(earns.sum()), float(computed.success))
    assert not (all_ != before)[~earns].any()


def test_hired_today_twin_noise_that_is_shared_is_noticed(monkeypatch):
    """The twin: were the noise the same in both answers, they would always differ; rejected."""
    from discreet.methods.cellkey.keys import StrongKeys

    honest = StrongKeys.cell_keys

    def shared(self, sums, counts, descriptions, family=1):
        order = np.arange(sums.size, dtype=np.uint64)
        return honest(self, order, np.ones(sums.size, np.int64), order)

    world, earns = firms(EXAMPLE_1, 4_000)
    computed = world.plan(spec("firm")).detail.ready.risk.hired_today
    monkeypatch.setattr(StrongKeys, "cell_keys", shared)
    all_, before = ask(world)
    hits = int((all_ != before)[earns].sum())
    assert not fits(hits, int(earns.sum()), float(computed.success))


@pytest.mark.parametrize("number", SIZES)
@pytest.mark.parametrize("sameness", SAMENESS)
def test_false_alarms_of_the_second_mode_on_served_tables(number, sameness):
    """Same people, two descriptions: the answers differ with the computed chance, 0 or 1 − Σp²."""
    world, earns = firms({**EXAMPLE_1, "sameness": sameness}, number)
    computed = world.plan(spec("firm")).detail.ready.risk.hired_today
    all_, before = ask(world)
    alarms = int((all_ != before)[~earns].sum())
    assert fits(alarms, int((~earns).sum()), float(computed.false_alarm))


@pytest.mark.parametrize("number", SIZES)
def test_same_set_matching_on_served_tables(number):
    """Different firms of one size show one number with the computed chance; the posterior follows."""
    world, _ = firms(EXAMPLE_1, number)
    shape = spec("firm", totals=False)
    true, values = world.true(shape), world.values(shape)
    equal = pairs = 0
    for size in np.unique(true):
        here = values[true == size]
        half = here.size // 2
        equal += int((here[:half] == here[half : 2 * half]).sum())
        pairs += half
    computed = world.plan(shape).detail.ready.risk.matching
    assert fits(equal, pairs, float(computed.equal_by_chance))
    assert computed.posterior == 1 / (1 + computed.equal_by_chance)


@pytest.mark.parametrize("number", [1_500, pytest.param(30_000, marks=pytest.mark.proof)])
def test_split_averaging_on_served_tables(number):
    """Averaging the computed number of splits recovers counts with the computed chance (1e-8).

    Half as many splits are the twin: their success must be told apart from the computed chance.
    """
    rng = np.random.default_rng(5)
    table = PTable.from_law(max_entropy(2, "0.8"))
    queries = queries_to_recover(table.rows[0])
    assert queries is not None
    size = 40
    group = np.repeat(np.arange(number), size)
    codes = {"group": group}
    variables = [variable("group", [str(i) for i in range(number)])]
    for q in range(queries):
        codes[f"s{q}"] = rng.integers(0, 2, group.size)
        variables.append(variable(f"s{q}", ["0", "1"]))
    description = Description("g", Text.of("G"), tuple(variables))
    world = World(description, codes, {"ptable": table}, seed=5)
    sums = np.zeros(number, dtype=np.int64)
    halfway = 0
    for q in range(queries):
        sums += world.values(spec("group", f"s{q}", totals=False)).sum(axis=1)
        if q + 1 == queries // 2:
            halfway = int((np.rint(sums / (q + 1)) == size).sum())
    hits = int((np.abs(sums - size * queries) * 2 < queries).sum())
    chance = recovery(table.rows[0], queries)
    assert fits(hits, number, chance)
    assert not fits(halfway, number, chance)
    assert chance >= 0.95 > chance - 3 / sqrt(queries)


# Another p-table for the same data ---------------------------------------------------------------

BEFORE = {"max_perturbation": 3, "variance": "1"}
AFTER = {"max_perturbation": 10, "variance": "10"}


def test_two_laws_are_those_of_a_plain_enumeration():
    """Cell key by cell key on two tables of 256 keys: the best guess after seeing both values."""
    one, two = (PTable.from_law(max_entropy(d, v, key_bits=8)) for d, v in ((3, "1"), (6, "5")))
    shared, fresh = Counter(), Counter()
    for key in range(256):
        shared[one.large.at(key), two.large.at(key)] += 256
        for other in range(256):
            fresh[one.large.at(key), two.large.at(other)] += 1

    def named(pairs: Counter) -> Fraction:
        """Values a + n and b + n show a − b; the likeliest a of those names n."""
        best: dict[int, int] = {}
        for (a, b), times in pairs.items():
            best[a - b] = max(best.get(a - b, 0), times)
        return Fraction(sum(best.values()), 256 * 256)

    found = two_laws(one, two)
    assert (found.fresh, found.shared) == (named(fresh), named(shared))
    assert found.alone == max(one.large.pmf.values())
    assert two_laws(one, one).shared == found.alone  # the same table again tells nothing new


def two_answers(number: int, keys: str = "strong") -> tuple[np.ndarray, ...]:
    """Noise of the same cells of 12 to 40 people, under one p-table and then under another."""
    rng = np.random.default_rng(8)
    sizes = rng.integers(12, 40, number)
    group = np.repeat(np.arange(number), sizes)
    groups = (variable("group", [str(i) for i in range(number)]),)
    description = Description("staff", Text.of("Staff"), groups)
    rule = {} if keys == "strong" else {"keys": keys}
    worlds = [World(description, {"group": group}, law | rule, seed=8) for law in (BEFORE, AFTER)]
    shape = spec("group", totals=False)
    return tuple(world.values(shape) - world.true(shape) for world in worlds)


def named_rightly(first: np.ndarray, second: np.ndarray, *, shared: bool) -> int:
    """How often the best reader of both values names the count; the laws are public."""
    one, two = design(3, "1").large, design(10, "10").large
    chance: dict[int, tuple[Fraction, int]] = {}
    for a, low, high in one.intervals:
        for b, other_low, other_high in two.intervals:
            p = Fraction(high - low, one.keys) * Fraction(other_high - other_low, two.keys)
            if shared:
                p = Fraction(min(high, other_high) - max(low, other_low), one.keys)
            chance[a - b] = max(chance.get(a - b, (Fraction(0), 0)), (p, a))
    guess = np.array([chance[d][1] for d in (first - second).tolist()])
    return int((guess == first).sum())


@pytest.mark.parametrize("number", [3_000, pytest.param(100_000, marks=pytest.mark.proof)])
@pytest.mark.slow
def test_another_p_table_is_another_answer_and_no_more(number):
    """Served under two p-tables, cells are named as two independent answers allow (1e-8)."""
    first, second = two_answers(number)
    computed = two_laws(design(3, "1"), design(10, "10"))
    assert fits(named_rightly(first, second, shared=False), number, float(computed.fresh))
    # and the reader for whom the keys were the same does no better than he should
    assert named_rightly(first, second, shared=True) < float(computed.shared) * number * 0.8


def test_another_p_table_twin_shared_keys_give_counts_away():
    """The twin: classical keys are the same under every p-table, and the count comes out (1e-8)."""
    first, second = two_answers(3_000, "sadeghi")
    computed = two_laws(design(3, "1"), design(10, "10"))
    assert fits(named_rightly(first, second, shared=True), 3_000, float(computed.shared))
    assert not fits(named_rightly(first, second, shared=True), 3_000, float(computed.fresh))


def test_the_guarantee_counts_earlier_laws():
    """Said where tables were made under other laws before, and worse for classical keys."""
    number = 20
    world = firms({**BEFORE}, number)[0]
    assert not [c for c in world.plan(spec("firm")).guarantee.caveats if "answered" in c]
    question = world.plan(spec("firm")).question
    facts = replace(world.facts, earlier_laws=2)
    told = world.method.plan(question, Treatment(), facts).guarantee.caveats[-1]
    assert (
        "2 other laws before: a cell may have been answered 3 times. Each answer has noise" in told
    )
    classic = firms({**BEFORE, "keys": "sadeghi"}, number)[0]
    facts = replace(classic.facts, earlier_laws=1)
    told = classic.method.plan(question, Treatment(), facts).guarantee.caveats[-1]
    assert "1 other law before: a cell may have been answered 2 times. All come from one" in told


def test_what_makes_a_law_another_one():
    """The p-table, the keys and the sameness; not what is shown, nor how the law was asked for."""
    version = CellKeyMethod().law_version
    base = version({})
    assert version({"threshold": 10, "display_floor": 3, "additive": "yes"}) == base
    assert version({"max_perturbation": "5", "variance": "2.0"}) == base
    others = [{"variance": "3", "max_perturbation": "5"}, {"sameness": SAMENESS[1]}]
    others += [{"keys": "sadeghi"}, {"keys": "sadeghi", "big_n": "65521"}, {"key_bits": "32"}]
    assert len({base, *(version(other) for other in others)}) == 6
