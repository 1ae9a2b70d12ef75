"""The demo genes: a table, a refusal, a second question."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import discreet as dc
from discreet.demo import genes
from discreet.errors import Refusal
from discreet.workspace import check

DIGEST = "a9b0723d5111d0ff38b30029ecee0999dc7a12e30bc33d43779955dc2d16f451"


def test_the_people_are_the_same_on_every_machine() -> None:
    """A digest of the records; it changes only when the demo is changed on purpose."""
    assert hashlib.sha256(genes.records().encode()).hexdigest() == DIGEST


@pytest.mark.slow
def test_a_table_a_refusal_and_a_second_question(fresh_demo: Path) -> None:
    """One town comes out, both together are refused from then on, the other town comes out too."""
    folder = fresh_demo / "genes"
    assert [f for f in check(folder) if f.severity != "note"] == []
    table = {"rows": "eyes", "columns": "hair"}
    with dc.open(folder) as data:
        first = data.table(**table, where={"town": "north"}).release().protected
        assert first.shown.all()
        with pytest.raises(Refusal) as caught:
            _ = data.table(**table).standing
        assert caught.value.rule == "overlapping-table"
        second = data.table(**table, where={"town": "south"}).release().protected
    assert second.values[-1, -1] != first.values[-1, -1]
