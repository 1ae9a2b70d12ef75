"""The page's price, whatever kind of loss a question has and its budget counts."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from discreet import workspace
from discreet.server import Settings

from ..languages.german import write_stays
from .serving import Served, add_accounts, serving

pytestmark = pytest.mark.slow

BUDGETS = ("{epsilon: 6}", "{epsilon: 6, delta: 0.001}", "{rho: 5}")
ASKED = ("epsilon=0.5", "epsilon=0.5&method=marginals", "epsilon=0.5&delta=0.0001", "rho=0.1")


@pytest.mark.parametrize("budget", BUDGETS)
def test_every_price_is_shown_in_every_kind_of_budget(tmp_path: Path, budget: str) -> None:
    """What the API would answer has its price on the page; what it refuses is refused there too."""
    policy = f"family: dp\nmethod: noise\nbudget: {budget}\n"
    workspace.load(write_stays(tmp_path / "work" / "stays", policy, people=400))
    tokens = add_accounts(tmp_path / "work")
    priced = 0
    with (
        serving(tmp_path / "work", Settings()) as url,
        Served(url, tmp_path / "work", tokens).client("ana") as ana,
    ):
        for asked in ASKED:
            words = {"rows": ["kreis"], **dict(one.split("=") for one in asked.split("&"))}
            said = ana.post("/datasets/stays/tables:check", json=words)
            page = httpx.get(
                f"{url}/build/stays?rows=kreis&{asked}",
                headers={**ana.headers, "Accept-Language": "en"},
                timeout=300,
            )
            if said.status_code == 200 and said.json().get("allowed", True):
                assert page.status_code == 200, page.text
                assert "left after" in page.text
                priced += 1
            else:
                assert "left after" not in page.text
    assert priced >= 2
