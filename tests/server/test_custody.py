"""What waits for a custodian, what people learnt, and the ledger in words; by API and by page."""

from __future__ import annotations

import html
import os
import re
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import httpx
import pytest

import discreet as dc
from discreet.server import Settings
from discreet.server.charges_so_far import Segment
from discreet.web.custody.gauge import WIDTH, gauge

from .serving import Served, add_accounts, serving

DP, KEYED = "/datasets/deaths-dp", "/datasets/deaths"


@pytest.fixture
def fresh(demo: Path, tmp_path: Path) -> Iterator[Served]:
    """A workspace of its own: nothing was asked, nothing waits."""
    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    with serving(workspace, Settings(public=("*",), calls_per_minute=10**6)) as url:
        yield Served(url, workspace, tokens)


def home(served: Served, who: str = "cas", language: str = "en") -> str:
    headers = {"Authorization": f"Bearer {served.tokens[who]}", "Accept-Language": language}
    page = httpx.get(f"{served.url}/custodian", headers=headers, timeout=300)
    assert page.status_code == 200, page.text
    return html.unescape(re.sub(r"<[^>]+>", " ", page.text))


def waits(served: Served) -> list[tuple[str, str]]:
    with served.client("cas") as cas:
        listed = cas.get("/decisions").json()["decisions"]
    return [(one["kind"], one["dataset"]) for one in listed]


def test_what_waits_is_listed_until_it_is_decided(fresh: Served):
    """A proposal, a request, a found variable and a newer source, each there and then gone."""
    assert waits(fresh) == []
    assert "Nothing waits for a decision." in home(fresh)
    with fresh.client("dora") as dora, fresh.client("ana") as ana, fresh.client("cas") as cas:
        wish = {"dataset": "deaths-dp", "epsilon": "12", "reason": "a bulletin from January"}
        proposal = dora.post("/proposals", json=wish).json()["id"]
        asked = ana.post(f"{KEYED}/requests", json={"words": "Areas by month, please"}).json()["id"]
        assert waits(fresh) == [("proposal", "deaths-dp"), ("request", "deaths")]
        page = home(fresh)
        assert "a bulletin from January" in page
        assert "Areas by month, please" in page
        assert cas.post(f"/proposals/{proposal}/accept").status_code == 200
        assert cas.post(f"{KEYED}/requests/{asked}/answer", json={"words": "Yes."}).is_success
    assert waits(fresh) == []
    source = fresh.workspace / "deaths-dp" / "source" / "records.parquet"
    later = source.stat().st_mtime + 10**6
    os.utime(source, (later, later))
    assert waits(fresh) == [("source", "deaths-dp")]


def test_charges_are_told_in_words_with_their_error_and_loss(fresh: Served):
    """The line of a charge has the question's variables, cells, ± as announced, and the exact loss."""
    asked = {"rows": ["region"], "columns": ["sex"], "epsilon": "0.25"}
    with fresh.client("ana") as ana, fresh.client("odo") as odo:
        announced = ana.post(f"{DP}/tables:check", json=asked).json()
        ana.post(f"{DP}/tables", json=asked)
        ana.post(f"{DP}/tables", json={"rows": ["age"], "epsilon": "0.5"})
        facts = odo.get(f"{DP}/ledger/lines?kind=charge").json()
        newest, line = facts["lines"]
        assert (line["words"], line["who"]) == ("Region × Sex", "ana")
        assert line["loss"] == {"kind": "pure", "epsilon": "0.25"}
        assert line["cells"] == announced["cells"]
        assert str(line["within"]) in str(announced)
        assert newest["words"] == "Age at death"
        german = odo.get(f"{DP}/ledger/lines?kind=charge", headers={"Accept-Language": "de"})
        assert german.status_code == 200
        first = odo.get(f"{DP}/ledger/lines?most=1").json()
        second = odo.get(f"{DP}/ledger/lines?most=1&before={first['next']}").json()
        assert [one["lines"][0]["number"] for one in (first, second)] == [
            newest["number"],
            line["number"],
        ]
        assert odo.get(f"{DP}/ledger/lines?user=ben").json()["lines"] == []
        assert odo.get(f"{KEYED}/ledger/lines").status_code == 404
    page = home(fresh)
    assert "Region × Sex" in page
    assert f"±{line['within']}" in page
    assert "spent ε 0.75" in page
    assert "ausgegeben ε 0,75" in home(fresh, language="de")


def test_segments_add_up_to_what_was_spent(fresh: Served):
    """One segment a charge; shares are exact and their sum is what was spent of the budget."""
    with fresh.client("ana") as ana, fresh.client("cas") as cas:
        for number, epsilon in enumerate(("0.1", "0.3", "1/3")):
            rows = ["region", "sex", "month"][number]
            ana.post(f"{DP}/tables", json={"rows": [rows], "epsilon": epsilon})
        facts = cas.get(f"{DP}/budget").json()
        shares = [Fraction(one["share"]) for one in facts["charges"]]
        figures = facts["standings"][0]["figures"]
        whole = Fraction(figures["cap"]["epsilon"])
        assert sum(shares) * whole == Fraction(figures["spent"]["epsilon"])
        assert len(shares) == 3
        assert ana.get(f"{DP}/budget").json()["charges"] == []
        assert ana.get(f"{DP}/budget").json()["best_guesser"] == ""


def test_the_best_guesser_is_told_of_one_fixed_plan_only(fresh: Served):
    """After one charge it is the sentence of that table's own guarantee; after two it is not told."""
    with fresh.client("ana") as ana, fresh.client("cas") as cas:
        assert cas.get(f"{DP}/budget").json()["best_guesser"] == ""
        ana.post(f"{DP}/tables", json={"rows": ["region"], "epsilon": "1"})
        with dc.open(fresh.workspace / "deaths-dp") as data:
            promised = data.table(rows=["region"], epsilon="1").guarantee.odds[0]
        assert cas.get(f"{DP}/budget").json()["best_guesser"] == promised
        assert promised in home(fresh)
        ana.post(f"{DP}/tables", json={"rows": ["sex"], "epsilon": "0.1"})
        assert "cannot be told" in cas.get(f"{DP}/budget").json()["best_guesser"]


def test_what_was_refused_is_told_by_rule(fresh: Served):
    """The rule in words, how often, and what was wanted."""
    with fresh.client("ana") as ana:
        for epsilon in ("12", "20"):
            asked = {"rows": ["region"], "columns": ["cause"], "epsilon": epsilon}
            assert ana.post(f"{DP}/tables", json=asked).status_code == 403
    page = home(fresh)
    assert "Asked and refused" in page
    assert re.search(r"Region × .*at ε 20", page)


def test_a_gauge_is_as_wide_as_what_was_spent():
    """Bars lie one after the other and end where the spent part ends; thousands stay drawable."""
    from discreet.core.loss import PureLoss

    parts = [Segment(n, Fraction(1, 1000)) for n in range(400)]
    drawn = gauge(parts, PureLoss("7"))
    assert len(drawn.bars) == 400
    assert drawn.bars[-1].x + drawn.bars[-1].width <= 0.4 * WIDTH + 1
    assert [tick.words for tick in drawn.ticks][-1] == "7"
