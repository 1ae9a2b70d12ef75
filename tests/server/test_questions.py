"""What a hash stands for, what was refused, and what people ask of a custodian."""

from __future__ import annotations

import httpx
import pytest

import discreet as dc

from .serving import PASSWORD, Served

DP, KEYED = "/datasets/deaths-dp", "/datasets/deaths"
REFUSED = {"rows": ["ccg", "age", "sex"], "columns": ["cause", "marital"]}


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        (DP, {"rows": ["sex"], "columns": ["month"], "where": {"age": ["85+"]}, "epsilon": "0.25"}),
        (KEYED, {"rows": ["region"], "columns": ["sex"], "totals": "none"}),
        ("/datasets/genes", {"rows": ["eyes"], "columns": ["hair"], "where": {"town": ["north"]}}),
    ],
)
def test_a_hash_reads_back_as_its_question(served: Served, path: str, asked: dict):
    """Title, cells and a recipe that is the same question; for auditors too, and no number with it."""
    with served.client("ana") as ana, served.client("odo") as odo:
        answer = ana.post(f"{path}/tables", json=asked)
        name = answer.headers["discreet-question"]
        for who in (ana, odo):
            seen = who.get(f"{path}/questions/{name}")
            assert seen.status_code == 200, seen.text
            facts = seen.json()
            assert facts["title"].startswith("Synthetic")
            assert facts["cells"] > 0
            assert "value" not in facts
        again = ana.post(f"{path}/tables", json=facts["recipe"])
        assert again.headers["discreet-question"] == name
        assert again.headers["discreet-charged"] == "no"
        said, first = (sorted(one.json()["value"], key=str) for one in (again, answer))
        assert said == first


@pytest.mark.parametrize("name", ["0" * 64, "f" * 63, "..%2fledger", "Z" * 64])
def test_an_unknown_hash_is_nothing(served: Served, name: str):
    """What is not there, or no hash at all, is not found or not of the form."""
    with served.client("ana") as ana:
        assert ana.get(f"{KEYED}/questions/{name}").status_code in (404, 422)


def test_refused_questions_are_kept_for_the_custodian(served: Served):
    """Asked and refused: counted by rule and by question with its recipe; looking alone counts not,
    and only overseers read them."""
    with served.client("ana") as ana, served.client("cas") as cas, served.client("odo") as odo:
        ana.post(f"{KEYED}/tables:check", json=REFUSED)
        assert cas.get("/audit?group=question&dataset=deaths").json()["groups"] == []
        for _ in range(2):
            assert ana.post(f"{KEYED}/tables", json=REFUSED).status_code == 403
        for who in (cas, odo):
            (rule,) = who.get("/audit?group=rule&dataset=deaths").json()["groups"]
            assert (rule["rule"], rule["times"]) == ("max_variables", 2)
            (one,) = who.get("/audit?group=question&dataset=deaths").json()["groups"]
            assert (one["times"], one["rule"]) == (2, "max_variables")
            assert one["recipe"]["rows"] == ["area:ccg", "age", "sex"]
            facts = who.get(f"{KEYED}/questions/{one['question']}").json()
            assert (facts["answered"], facts["rule"]) == (False, "max_variables")
            rows = who.get("/audit?rule=max_variables&dataset=deaths").json()["rows"]
            assert {row["question"] for row in rows} == {one["question"]}
            assert who.get("/audit?group=question&rule=budget").json()["groups"] == []
        assert ana.get("/audit?group=question").status_code == 403
        assert ana.get(f"{KEYED}/questions/{one['question']}").status_code == 404
        assert cas.get("/audit?group=user").status_code == 422


def test_people_ask_and_custodians_answer(served: Served):
    """A request has words and a recipe, is read by its author and by custodians, answered once."""
    words = "May we have areas by month? <script>"
    with served.client("ana") as ana, served.client("ben") as ben, served.client("cas") as cas:
        made = ana.post(f"{DP}/requests", json={"words": words, "recipe": {"rows": ["ccg"]}}).json()
        assert made["recipe"]["rows"] == ["area:ccg"]
        assert made["id"] in [one["id"] for one in ana.get(f"{DP}/requests").json()["requests"]]
        assert ben.get(f"{DP}/requests").json()["requests"] == []
        listed = cas.get(f"{DP}/requests").json()["requests"]
        assert words in [one["words"] for one in listed]
        path = f"{DP}/requests/{made['id']}/answer"
        assert ana.post(path, json={"words": "Yes."}).status_code == 403
        answered = cas.post(path, json={"words": "Yes, from May."}).json()
        assert (answered["answer"], answered["answered_by"]) == ("Yes, from May.", "cas")
        assert cas.post(path, json={"words": "No."}).status_code == 409
        last = ana.get(f"{DP}/requests").json()["requests"][-1]
        assert last["answer"] == "Yes, from May."
        # nothing of the words is in the audit log
        log = cas.get("/audit?dataset=deaths-dp&most=1000").text
        assert "areas by month" not in log
        assert "from May" not in log


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"words": ""}, 422),
        ({"words": "x" * 1001}, 422),
        ({"recipe": {"rows": ["sex"]}}, 422),
        ({"words": "x", "recipe": {"rows": ["nothing"]}}, 400),
        ({"words": "x", "more": 1}, 422),
    ],
)
def test_requests_are_of_their_form(served: Served, body: dict, status: int):
    """Empty, long and unknown things are refused."""
    with served.client("ana") as ana:
        assert ana.post(f"{KEYED}/requests", json=body).status_code == status


def test_requests_are_bounded(served: Served):
    """Twenty may wait at once."""
    with served.client("ben") as ben:
        seen = [ben.post(f"{KEYED}/requests", json={"words": "again"}) for _ in range(21)]
        assert [one.status_code for one in seen] == [201] * 20 + [400]
        assert "20 requests" in seen[-1].json()["detail"]


def test_a_session_says_when_it_ends_and_can_be_kept(served: Served):
    """`idle_until` moves when the session is kept; `expires_at` stays; a token has neither."""
    with httpx.Client(base_url=f"{served.url}/api/v1") as browser:
        first = browser.post("/session", json={"name": "ana", "password": PASSWORD}).json()
        assert first["idle_until"] <= first["expires_at"]
        assert browser.post("/session/keep").status_code == 403
        kept = browser.post("/session/keep", headers={"X-CSRF-Token": first["csrf"]}).json()
        assert kept["idle_until"] > first["idle_until"]
        assert kept["expires_at"] == first["expires_at"]
    with served.client("ana") as ana:
        assert ana.get("/session").json()["idle_until"] is None
        assert ana.post("/session/keep").json()["expires_at"] is None


def test_budgets_are_figures(served: Served):
    """Exact numbers of every part, how many more tables fit, and shares for those who oversee."""
    with served.client("ana") as ana, served.client("cas") as cas, served.client("odo") as odo:
        cas.put(f"{DP}/budgets/project:health", json={"epsilon": "1", "reason": "a share"})
        budget = ana.get(f"{DP}/budget").json()
        figures = budget["standings"][0]["figures"]
        assert figures["cap"] == {"kind": "pure", "epsilon": "10"}
        left = float(figures["left"]["epsilon"])
        assert {one["epsilon"]: one["tables"] for one in budget["more"]} == {
            "0.1": int(left / 0.1 + 1e-9), "0.5": int(left / 0.5), "1": int(left)
        }  # fmt: skip
        assert budget["shares"] == []
        for who in (cas, odo):
            shares = who.get(f"{DP}/budget").json()["shares"]
            assert "project:health" in [one["scope"] for one in shares]


def test_a_ledger_is_verified_over_http(served: Served):
    """Sound, with its number of entries and its head; an analyst may not, a keyed one has none."""
    with served.client("odo") as odo, served.client("ana") as ana:
        seen = odo.get(f"{DP}/ledger:verify").json()
        assert seen["sound"]
        assert seen["entries"] == odo.get(f"{DP}/ledger").json()["entry_count"]
        assert len(seen["head"]) == 64
        assert ana.get(f"{DP}/ledger:verify").status_code == 403
        assert odo.get(f"{KEYED}/ledger:verify").status_code == 404


def test_the_client_has_the_same(served: Served):
    """Options and questions by hash, from Python."""
    with dc.connect(served.url, token=served.tokens["ana"]) as server:
        data = server.open("deaths")
        names = [one["name"] for one in data.options(rows=["region"])["variables"]]
        assert names == list(data.variables)
        table = data.table(rows=["sex"]).release()
        name = table.protected.provenance.question_hash
        assert data.question(name)["recipe"]["rows"] == ["sex"]
