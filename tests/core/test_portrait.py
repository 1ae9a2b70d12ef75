"""What Python shows of laws, audits, odds and promises: facts and pictures, never a wall of digits."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet import errors
from discreet.core.count_law import CountLaw, Row
from discreet.core.gaussian import DiscreteGaussian
from discreet.core.gaussian_delta import delta_bound
from discreet.core.guarantee import Guarantee, Kind
from discreet.core.portrait import WIDTH, Portrait, Portrayed

LAW = dc.laplace(epsilon="0.5", max_perturbation=7)
SHOWN: dict[str, Portrayed] = {
    "a law": LAW,
    "pure noise": dc.laplace("0.1"),
    "a wide law": dc.laplace("0.001"),
    "Gaussian noise": DiscreteGaussian.of("40"),
    "a p-table": dc.ptable(5, "3"),
    "a long p-table": CountLaw(256, tuple(Row((0,), (256,)) for _ in range(751)), cycle=250),
    "a design": dc.design(epsilon="0.5", delta="1e-4"),
    "an audit": dc.audit(LAW),
    "odds": dc.odds(LAW, category=True),
    "a promise": Guarantee(Kind.DP, "person", "add or remove one", Fraction(1, 3), Fraction(0)),
}


@pytest.mark.parametrize("name", SHOWN)
def test_nothing_is_a_wall_of_digits(name: str) -> None:
    """No number of more than ten digits, no fraction, no line too long; HTML says the same."""
    thing = SHOWN[name]
    text, page = repr(thing), thing._repr_html_()
    assert not re.search(r"\d{11}|Fraction\(", text)
    assert max(map(len, text.splitlines())) <= WIDTH
    portrait = thing.portrait()
    words = re.sub(r"<style>.*?</style>|<[^>]+>", " ", page)
    for fact in (portrait.title, *(value for _, value in portrait.facts)):
        assert " ".join(fact.split()) in " ".join(words.split())


def test_a_law_draws_its_probabilities() -> None:
    """A bar for each perturbation, the longest at 0, and the share beside it."""
    lines = repr(LAW).splitlines()
    assert lines[0] == "laplace law (epsilon 0.5, max_perturbation 7)"
    bars = {line.split()[0]: line for line in lines[-15:]}
    assert [int(name) for name in bars] == list(range(-7, 8))
    assert "25.1 %" in bars["0"]
    assert max(bars.values(), key=len) == bars["0"]


def test_labels_are_escaped() -> None:
    """What somebody called a law is text, on a page too."""
    page = Portrait("<b>x", [("<i>", "a & b")], None, ("<u>",), [("<s>",)]).to_html()
    assert not re.search(r"<(b>x|i|u|s)>", page)
    assert "a &amp; b" in page


@pytest.mark.parametrize("level", ["0.5", "0.9", "0.95", "0.999"])
def test_intervals_hold_at_any_level_and_are_the_least(level: str) -> None:
    """P(inside) ≥ level, and one step less is below it."""
    for law in (LAW, dc.laplace("0.5"), DiscreteGaussian.of("9")):
        low, high = law.interval(level)
        assert low == -high
        assert 1 - law.tail(high) >= Fraction(level)
        assert 1 - law.tail(high - 1) < Fraction(level)


def test_whatever_has_an_audit_is_audited() -> None:
    """A design at the ε wanted, a p-table as it audits itself, Gaussian noise at an ε; else a sentence."""
    design = dc.design(epsilon="0.5", delta="1e-4")
    assert dc.audit(design) == design.audit
    table = dc.ptable(5, "3")
    assert str(dc.audit(table)) == str(table.audit())
    noise = DiscreteGaussian.of("4")
    found = dc.audit(noise, "1", cells=3)
    assert found.delta == Fraction(delta_bound(Fraction(1), [(Fraction(4), 3)]))
    assert not found.exact
    with pytest.raises(dc.LawError, match="say which"):
        dc.audit(noise)
    for other in ("laplace", 7, None):
        with pytest.raises(dc.LawError, match="needs a law, a p-table or a list of laws"):
            dc.audit(other)  # type: ignore[arg-type]


def test_every_exception_that_is_documented_is_there() -> None:
    """The tree at the top of errors.py, name by name, as `dc.Name`."""
    tree = re.findall(r"[─ ] ?([A-Z]\w+) ", errors.__doc__ or "")
    named = {name for name in tree if hasattr(errors, name)}
    assert len(named) > 12
    assert [name for name in sorted(named) if getattr(dc, name) is not getattr(errors, name)] == []
    assert named <= set(dc.__all__)


@pytest.mark.slow
def test_a_preview_shows_price_error_and_promise(fresh_demo: Path) -> None:
    """Before anything is spent, as text and as HTML; a refusal says what would work."""
    with dc.open(fresh_demo / "deaths-dp") as deaths:
        draft = deaths.table(rows=["region"], columns=["sex"], epsilon="0.5")
        text = repr(draft.preview())
        for words in ("epsilon = 0.5", "epsilon = 10", "42", "within ±", "Differentially private"):
            assert words in text
        assert "within ±" in draft._repr_html_()
        refused = deaths.table(
            rows=["region", "cause"], columns=["sex", "age", "month"], epsilon="1"
        )
        assert "refused" in repr(refused.preview())
        assert "would work" in repr(refused.preview())
        table = draft.release()
        page = table._repr_html_()
        assert "text-align:right" in page
        assert "<details>" in page
        assert "Random noise" in table.notes
        assert "Random noise" not in repr(table)


def test_help_shows_parameters_and_an_example() -> None:
    """Of every callable that a methodologist or a custodian starts with."""
    from discreet.api import DataSet

    assert 'epsilon="0.5"' in (DataSet.table.__doc__ or "")
    assert "ptable(3" in (dc.ptable.__doc__ or "")
    assert dc.ptable.__name__ == "ptable"
