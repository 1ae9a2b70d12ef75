"""ρ and published margins through the whole flow: policy file, ledger, limits, tables, free tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.errors import InputError, Refusal

from .attacks.people import change, make, records

PAIRS: dict[str, Any] = {"method": "marginals", "workload": "all 2-way of area, sex, job"}


def counts(*names: str) -> Any:
    """The true margin of the made-up records, as a policy would write it."""
    lines = [line.split(",") for line in records()]
    head, rows = lines[0], lines[1:]

    def nested(left: list[list[str]], axes: tuple[str, ...]) -> Any:
        if not axes:
            return len(left)
        at = head.index(axes[0])
        codes = sorted({row[at] for row in rows})
        return {code: nested([r for r in left if r[at] == code], axes[1:]) for code in codes}

    return nested(rows, names)


def test_rho_is_charged_and_said(tmp_path: Path) -> None:
    """A zCDP budget, ρ a question: charged in ρ, refused beyond the cap, free tables follow."""
    folder = make(tmp_path, "dp")
    change(folder, load=True, budget={"rho": "0.5"})
    with dc.open(folder) as data:
        made = data.recipe({**PAIRS, "rho": "0.3"}).release()
        assert data.ledger_facts()["spent"] == "rho = 0.3"
        for table in made.tables:
            assert "ρ = 0.3" in table.guarantee.sentence()
            assert {law.name for law in table.law.laws} == {"gaussian"}
        part = data.table(rows="job", method="marginals").release(free=True)
        assert part.cost == "nothing"
        assert data.ledger_facts()["spent"] == "rho = 0.3"
        with pytest.raises(Refusal):
            data.recipe({**PAIRS, "workload": "all 1-way of area", "rho": "0.3"}).release()
        pure = data.recipe({**PAIRS, "workload": "all 1-way of sex", "epsilon": "0.5"}).release()
        assert {law.name for law in pure.tables[0].law.laws} == {"laplace"}
        assert data.ledger_facts()["spent"] == "rho = 0.425", "ε counts as ε²/2 there"


def test_a_pure_budget_and_a_pure_limit_refuse_rho(tmp_path: Path) -> None:
    """Nothing is charged where ρ has no place: neither in the ledger nor under epsilon_most alone."""
    folder = make(tmp_path, "dp")
    with dc.open(folder) as data:
        with pytest.raises((InputError, Refusal)):
            data.recipe({**PAIRS, "rho": "0.01"}).release()
        assert data.ledger_facts()["spent"] == "epsilon = 0"
    change(
        folder,
        load=True,
        budget={"rho": "0.5"},
        methods={"marginals": {"epsilon_most": "1"}, "noise": {"epsilon_most": "1"}},
    )
    with dc.open(folder) as data:
        for asked in (
            {**PAIRS, "rho": "0.01"},
            {"rows": "sex", "method": "noise", "law": "gaussian", "rho": "0.01"},
        ):
            with pytest.raises(Refusal, match="no rho is as strong"):
                data.recipe(asked).release()
        assert data.ledger_facts()["spent"] == "rho = 0"


def test_published_margins_through_the_policy_file(tmp_path: Path) -> None:
    """Written in discreet.yaml with codes and numbers as YAML reads them; kept, also in free tables."""
    folder = make(tmp_path, "dp")
    known = {"sex × job": counts("sex", "job"), "area": counts("area")}
    change(folder, load=True, methods={"marginals": {"published": known}})
    with dc.open(folder) as data:
        made = data.recipe({**PAIRS, "epsilon": "0.5"}).release()
        again = data.recipe({**PAIRS, "epsilon": "0.5"}).release()
        free = data.table(rows="sex", columns="job", method="marginals").release(free=True)
    sentence = made.tables[0].guarantee.sentence()
    assert "the margin area" in sentence
    assert "the margin job × sex" in sentence
    for table in (*made.tables, *again.tables, free.protected):
        names = table.domain.names
        for cell, value in _cells(table):
            said = dict(zip(names, cell, strict=True))
            if set(said) == {"sex", "job"}:
                assert value == known["sex × job"][said["sex"]][said["job"]]
    (area_sex,) = [t for t in made.tables if set(t.domain.names) == {"area", "sex"}]
    position = area_sex.domain.names.index("area")
    totals = area_sex.values.take(-1, axis=1 - position)[:-1].tolist()
    assert totals == list(known["area"].values())


def _cells(table: Any) -> list[tuple[tuple[str, ...], int]]:
    first, second = table.domain.axes[0].level.codes, table.domain.axes[1].level.codes
    return [
        ((one, two), int(table.values[i, j]))
        for i, one in enumerate(first)
        for j, two in enumerate(second)
    ]


def test_a_published_margin_fixes_the_number_of_records(tmp_path: Path) -> None:
    """Of the data set, for every method: replace one; what does not add up to the data is refused,
    and a margin published after something was spent does not go with what was promised."""
    folder = make(tmp_path, "dp")
    change(folder, load=True, methods={"marginals": {"published": {"area": counts("area")}}})
    with dc.open(folder) as data:
        for asked in ({**PAIRS, "epsilon": "0.5"}, {"rows": "sex", "epsilon": "0.5"}):
            found = data.recipe(asked).release()
            assert found.tables[0].guarantee.neighbours == "replace one"
            assert "the number of records" in found.tables[0].guarantee.sentence()
    wrong = {code: number + 1 for code, number in counts("area").items()}
    change(folder, methods={"marginals": {"published": {"area": wrong}}})
    with pytest.raises(InputError, match="under `published`"):
        dc.open(folder)
    change(folder, methods={})
    with dc.open(folder) as data, pytest.raises(InputError, match="do not add up"):
        data.table(rows="sex", epsilon="0.1").release()
