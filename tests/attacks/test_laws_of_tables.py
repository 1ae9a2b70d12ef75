"""Every law a table can have, through the real flow: asked, charged, written, read back."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dc
from discreet.core.audit import delta
from discreet.formats.law_files import read_laws

from ..command import run
from .people import change, make

ASKED = {
    "max-entropy": {"law": "Max Entropy", "epsilon": "1", "delta": "0.001"},
    "exponential": {"law": "exponential", "epsilon": "1", "utility": [3, 3, 1, -1, -3, -5, -7]},
}


@pytest.mark.parametrize("law", ASKED)
@pytest.mark.slow
def test_a_law_is_charged_by_its_audit_and_travels_with_the_table(tmp_path: Path, law: str):
    """(ε, δ) charged is what the weights in the file say, both directions; asked again it is free."""
    folder = make(tmp_path, "dp", budget={"epsilon": "10", "delta": "0.5"})
    with dc.open(folder) as data:
        released = data.table(rows="area", columns="sex", **ASKED[law]).release()
        assert data.table(rows="area", columns="sex", **ASKED[law]).standing == "answered"
        charge = released.detail.plan.charge
        released.write(tmp_path / "table.json")
    (found,) = read_laws(tmp_path / "table.json")
    (source,) = found.sources
    assert source.law.name == law
    exactly = delta(source.law, charge.loss.epsilon)
    assert charge.loss.epsilon == 1
    assert 0 < exactly == charge.loss.delta < 1
    place = {"area": 0, "sex": 0}
    assert found.probability(7, 5, place) == source.law.probability(2)
    if law == "exponential":
        assert float(source.law.probability(0)) == pytest.approx(float(source.law.probability(1)))
        assert float(source.law.probability(2) / source.law.probability(1)) == pytest.approx(
            2.718281828459045**-1
        )


def test_spellings_of_one_utility_are_one_question(tmp_path: Path):
    """Up to a constant and a factor, as text or as a list, by who asks or by the policy."""
    folder = make(tmp_path, "dp", budget={"epsilon": "10", "delta": "0.5"})
    words = ["table", str(folder), "--rows", "area", "--epsilon", "1", "--law", "exponential"]
    first = run(*words, "--utility", "0 -1 -2 -4", "--json")
    assert first.returncode == 0, first.stdout
    assert json.loads(first.stdout)["charged"]
    again = run(*words, "--utility", "10, 9.5, 9, 8", "--json")
    assert not json.loads(again.stdout)["charged"]
    change(folder, methods={"noise": {"law": "exponential", "utility": [0, -3, -6, -12]}})
    with dc.open(folder) as data:
        assert data.table(rows="area", epsilon="1").standing == "answered"
        other = data.table(rows="area", epsilon="1", law="laplace")
        assert other.standing == "affordable"  # the policy's utility is for its own law
        assert Fraction(other.preview().plan.question.settings["epsilon"]) == 1
