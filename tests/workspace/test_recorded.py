"""A data set whose family only records what it releases: a ledger without a budget."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.main import app
from discreet.core.charge import Charge
from discreet.core.family import Family
from discreet.errors import InputError
from discreet.methods import registry
from discreet.methods.declaration import Spends
from discreet.workspace import DataSet

from .people import YAML, make_people


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """People under a method that records, with one release in the ledger."""
    declared = replace(
        registry.SYNTHETIC, name="decisions", family=Family.SUPPRESSION, spends=Spends.RECORD
    )
    monkeypatch.setitem(registry.METHODS, "decisions", declared)
    folder = make_people(
        tmp_path / "people", yaml=f"family: suppression\nmethod: decisions\n{YAML}"
    )
    dc.load(folder)
    with DataSet.open(folder) as data:
        assert data.ledger().cap() is None
        data.ledger().commit(
            Charge.record("decisions", {"released": "12"}, question="abc"),
            b"x",
            idempotency_key="k",
            user="ana",
            project="atlas",
            data_version="1",
            policy_version="1",
        )
    return folder


@pytest.mark.slow
def test_the_ledger_of_records_claims_no_budget(recorded, tmp_path):
    """Show, verify and export say what was released, and name no budget, sum or ε."""
    with dc.open(recorded) as data:
        facts = data.ledger_facts()
        with pytest.raises(InputError, match="before any sub-cap"):
            data.share("user:ana", epsilon="1", who="cas", reason="a test")
        data.export_ledger(tmp_path / "register.json")
    assert [facts[name] for name in ("cap", "spent", "left", "largest_epsilon")] == [None] * 4
    assert facts["by_version"] == {}
    assert [(entry["kind"], entry["loss"]) for entry in facts["entries"]] == [
        ("open", ""),
        ("record", "recorded, from no budget"),
    ]
    register = json.loads((tmp_path / "register.json").read_text())
    assert (register["budget"], register["spent"]) == (None, None)
    assert register["charges"][0]["parameter_released"] == "12"
    shown = CliRunner().invoke(app, ["ledger", "show", str(recorded)])
    assert shown.exit_code == 0
    assert "recorded, from no budget" in shown.stdout
    assert "ana (atlas)" in shown.stdout
    assert "ε" not in shown.stdout
    verified = CliRunner().invoke(app, ["ledger", "verify", str(recorded), "--json"])
    assert json.loads(verified.stdout)["answers"] == 1


def test_a_lost_ledger_of_records_is_damage(recorded):
    """What was released must be remembered: without its ledger nothing more is answered."""
    with DataSet.open(recorded) as data:
        data.engine()
    for path in recorded.glob("store.sqlite3*"):
        path.unlink()
    with DataSet.open(recorded) as data, pytest.raises(dc.DiscreetError, match="is gone"):
        data.ledger()
    (recorded / "ledger.anchor").unlink()
    with DataSet.open(recorded) as data, pytest.raises(dc.DiscreetError, match="are gone"):
        data.ledger()
