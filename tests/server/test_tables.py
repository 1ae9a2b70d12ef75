"""Tables over HTTP: the same numbers as everywhere, charged once, refused with what would work."""

from __future__ import annotations

import csv
import io
import itertools
import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import discreet as dc
from discreet import formats

from ..attacks.people import change, make
from ..patience import wait_until
from .serving import Served, add_accounts, serving

REGIONS = {"rows": ["region"], "columns": ["sex"]}


def values_of_csv(text: str) -> list[int]:
    return [int(row["count"]) for row in csv.DictReader(io.StringIO(text))]


def values_of_parquet(body: bytes) -> list[int]:
    import pyarrow.parquet

    return pyarrow.parquet.read_table(io.BytesIO(body))["count"].to_pylist()


def settled(client: httpx.Client, job: dict[str, object]) -> dict[str, object]:
    def ended() -> bool:
        return state()["state"] in ("done", "failed", "cancelled")

    def state() -> dict[str, object]:
        return client.get(f"/jobs/{job['id']}").json()

    wait_until(ended, "the job to end")
    return state()


@pytest.mark.slow
def test_the_same_numbers_everywhere_and_one_charge(served: Served):
    """One recipe by HTTP in each format, as a job, by address, in Python and on the command line:
    equal numbers, equal guarantee, one charge."""
    recipe = {**REGIONS, "epsilon": "0.25"}
    path = "/datasets/deaths-dp/tables"
    with served.client("ana") as ana:
        before = len(ana.get("/datasets/deaths-dp/register").json()["charges"])
        first = ana.post(path, json=recipe)
        numbers, guarantee = first.json()["value"], first.json()["extension"]["guarantee"]
        assert first.headers["discreet-charged"] == "yes"
        assert values_of_csv(ana.post(path, json=recipe, params={"format": "csv"}).text) == numbers
        parquet = ana.post(path, json=recipe, headers={"Accept": "application/vnd.apache.parquet"})
        assert values_of_parquet(parquet.content) == numbers
        book = ana.post(path, json=recipe, params={"format": "xlsx"})
        assert book.content[:2] == b"PK"
        assert "attachment" in book.headers["content-disposition"]
        query = "rows=region&columns=sex&epsilon=0.25"
        assert ana.get(f"{path}?{query}").json()["value"] == numbers
        job = ana.post(path, json=recipe, headers={"Prefer": "respond-async"})
        assert job.status_code == 202
        assert settled(ana, job.json())["state"] == "done"
        kept = ana.get(job.headers["location"].removeprefix("/api/v1") + "/result")
        assert kept.json()["value"] == numbers
        other = ana.get(f"/jobs/{job.json()['id']}/result", params={"format": "csv"})
        assert values_of_csv(other.text) == numbers
        after = len(ana.get("/datasets/deaths-dp/register").json()["charges"])
    with dc.open(served.workspace / "deaths-dp") as data:
        table = data.table(rows=["region"], columns=["sex"], epsilon="0.25").release()
        assert table.protected.values.ravel().tolist() == numbers
        assert table.guarantee.to_json() == guarantee
    done = subprocess.run(
        [
            *(sys.executable, "-m", "discreet", "table", str(served.workspace / "deaths-dp")),
            *("--rows", "region", "--columns", "sex", "--epsilon", "0.25", "--format", "csv"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert values_of_csv(done.stdout) == numbers
    assert after == before + 1


def test_every_format_is_served(served: Served):
    """Each format there is comes by name and by media type, under its own ETag."""
    with served.client() as public:
        tags = set()
        for made in formats.FORMATS.values():
            named = public.post(
                "/datasets/deaths/tables", json=REGIONS, params={"format": made.name}
            )
            assert named.status_code == 200
            assert named.headers["content-type"].startswith(made.media_type)
            tags.add(named.headers["etag"])
        assert len(tags) == len(formats.FORMATS)
        assert public.post(
            "/datasets/deaths/tables", json=REGIONS, headers={"Accept": "image/png"}
        ).status_code == 406  # fmt: skip
        assert (
            public.post("/datasets/deaths/tables", json=REGIONS, params={"format": "cvs"})
            .json()["detail"]
            .endswith("Did you mean csv?")
        )
        both = {"tables": [{"rows": ["sex"]}, {"rows": ["age"]}]}
        several = public.post("/datasets/deaths/tables", json=both, params={"format": "csv"})
        assert several.status_code == 406
        whole = public.post("/datasets/deaths/tables", json=both).json()
        assert len(whole["link"]["item"]) == 2


def test_an_etag_is_the_question_and_how_it_looks(served: Served):
    """The same question, layout, format and language: 304; any of them changed: another tag."""
    with served.client("ana") as ana:
        path = "/datasets/deaths/tables"
        first = ana.post(path, json=REGIONS)
        tag = first.headers["etag"]
        again = ana.post(path, json=REGIONS, headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
        by_label = {"rows": ["area:region"], "columns": ["Sex"]}
        assert ana.post(path, json=by_label).headers["etag"] == tag
        turned = ana.post(path, json={"rows": ["sex"], "columns": ["region"]})
        assert turned.headers["etag"] != tag
        assert turned.headers["discreet-question"] == first.headers["discreet-question"]
        assert "no-store" in first.headers["cache-control"]
        refused = {"rows": ["ccg", "cause"], "columns": ["age", "sex", "month"]}
        assert ana.post(path, json=refused, headers={"If-None-Match": "*"}).status_code == 403


def test_an_idempotency_key_belongs_to_one_request(served: Served):
    """The same key and body: the same answer; another body: 409; another user: nothing to do with it."""
    path, key = "/datasets/deaths/tables", {"Idempotency-Key": "k-1"}
    with served.client("ana") as ana, served.client("ben") as ben:
        first = ana.post(path, json=REGIONS, headers=key)
        assert ana.post(path, json=REGIONS, headers=key).content == first.content
        other = ana.post(path, json={"rows": ["sex"]}, headers=key)
        assert other.status_code == 409
        assert ben.post(path, json={"rows": ["sex"]}, headers=key).status_code == 200


def test_refusals_name_their_rule_and_offer_what_works(served: Served):
    """A refused table comes with whole recipes that are accepted as they stand."""
    asked = {"rows": ["ccg", "cause"], "columns": ["age", "sex"], "layers": ["month"]}
    with served.client("ana") as ana:
        checked = ana.post("/datasets/deaths/tables:check", json=asked).json()
        answer = ana.post("/datasets/deaths/tables", json=asked)
        assert answer.status_code == 403
        problem = answer.json()
        assert problem["rule"] == checked["breaches"][0]["rule"]
        assert problem["alternatives"] == checked["alternatives"]
        assert not checked["allowed"]
        assert problem["alternatives"]
        for offer in problem["alternatives"]:
            assert offer["checked"]
            taken = ana.post("/datasets/deaths/tables:check", json=offer["recipe"]).json()
            assert taken["allowed"]
            assert taken["alternatives"] == []
        filtered = {**asked, "where": {"region": ["E12000007"]}}
        assert ana.post("/datasets/deaths/tables", json=filtered).status_code == 403
        much = ana.post("/datasets/deaths-dp/tables", json={**REGIONS, "epsilon": "100"})
        assert much.json()["rule"] == "budget"
        (less,) = much.json()["alternatives"]
        assert not less["checked"]  # likely: others may spend meanwhile
        seen = ana.post("/datasets/deaths-dp/tables:check", json=less["recipe"]).json()
        assert seen["affordable"]
        assert less["change"]["epsilon"] == less["recipe"]["epsilon"]
        wrong = ana.post("/datasets/deaths/tables", json={**REGIONS, "method": "noise"})
        assert wrong.json()["rule"] == "one-family"
        for offer in wrong.json()["alternatives"]:
            assert offer["change"] == {"method": offer["recipe"]["method"]}
            assert offer["checked"]


def test_check_says_what_would_happen_and_does_nothing(served: Served):
    """Verdict, cost, error and size from public facts; the ledger does not move."""
    with served.client("ana") as ana:
        before = ana.get("/datasets/deaths-dp/register").content
        seen = ana.post(
            "/datasets/deaths-dp/tables:check?ladder=true", json={**REGIONS, "epsilon": "0.125"}
        ).json()
        assert seen["allowed"]
        assert seen["affordable"]
        assert seen["cells"] == 14 * 3
        assert seen["cost"] == "epsilon = 0.125"
        assert seen["errors"][0]["noise_sd"] > 0
        assert seen["errors"][0]["share_unchanged"] == pytest.approx(0.0624, abs=5e-5)
        assert [rung["share_unchanged"][0] for rung in seen["ladder"]] == sorted(
            rung["share_unchanged"][0] for rung in seen["ladder"]
        )
        assert not seen["as_job"]
        giant = {"rows": ["ccg", "cause", "age"], "columns": ["sex", "month", "marital"]}
        over = ana.post("/datasets/deaths/tables:check", json=giant).json()
        assert not over["allowed"]
        assert over["cells"] == 252 * 16 * 11 * 3 * 13 * 7
        assert ana.get("/datasets/deaths-dp/register").content == before
        assert seen["query"] == "rows=area:region&columns=sex&method=noise&epsilon=0.125"


def test_public_asks_spend_nothing_unless_told(served: Served, demo, tmp_path):
    """Without login a budget is not spent; a question asked before is free; a share opens it."""
    import shutil

    from discreet.server import Settings

    from .serving import add_accounts, serving

    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    recipe = {**REGIONS, "epsilon": "0.5"}
    with serving(workspace, Settings(public=("*",), calls_per_minute=10**6)) as url:
        mine = Served(url, workspace, tokens)
        with mine.client() as public, mine.client("ana") as ana, mine.client("cas") as cas:
            refused = public.post("/datasets/deaths-dp/tables", json=recipe)
            assert refused.json()["rule"] == "public-budget"
            numbers = ana.post("/datasets/deaths-dp/tables", json=recipe).json()["value"]
            free = public.post("/datasets/deaths-dp/tables", json=recipe)
            assert free.json()["value"] == numbers
            share = {"epsilon": "0.3", "reason": "for everybody"}
            cas.put("/datasets/deaths-dp/budgets/user:public", json=share)
            assert public.post(
                "/datasets/deaths-dp/tables", json={**REGIONS, "epsilon": "0.2"}
            ).is_success
            over = public.post("/datasets/deaths-dp/tables", json={**REGIONS, "epsilon": "0.15"})
            assert over.json()["rule"] == "budget"


def test_jobs_tell_their_progress_and_can_be_cancelled(served: Served):
    """Events end with the job; a waiting job that is cancelled never runs; a refusal is said at once."""
    path = "/datasets/deaths/tables"
    run_later = {"Prefer": "respond-async"}
    with served.client("ana") as ana:
        job = ana.post(path, json={"rows": ["ccg"], "columns": ["cause"]}, headers=run_later)
        events = ana.get(f"/jobs/{job.json()['id']}/events").text
        assert "event: end" in events
        assert json.loads(events.rsplit("data: ", 1)[1])["state"] == "done"
        other = ana.post(path, json={"rows": ["ccg", "cause", "age"]}, headers=run_later).json()
        ended = ana.delete(f"/jobs/{other['id']}").json()
        assert ended["cancel_requested"] or ended["state"] in ("cancelled", "done")
        assert settled(ana, other)["state"] in ("cancelled", "done")
        giant = {"rows": ["ccg", "cause", "age"], "columns": ["sex", "month"]}
        assert ana.post(path, json=giant, headers=run_later).status_code == 403
        assert job.json()["id"] in [j["id"] for j in ana.get("/jobs").json()["jobs"]]


@pytest.mark.slow
def test_a_running_job_is_stopped(served: Served):
    """A job that has begun ends as cancelled soon after it was asked to, and has no result."""
    with served.client("ben") as ben:
        codes = {
            name: [
                c["code"]
                for c in ben.get(f"/datasets/deaths/codelists/{name}").json()["categories"]
            ]
            for name in ("ccg", "cause")
        }
        # hundreds of counts, of filters too wide to be axes: seconds of work
        parts = [
            {"rows": ["age", "month"], "where": {"ccg": [ccg], "cause": [cause]}}
            for ccg, cause in itertools.product(*codes.values())
        ][:400]
        assert len(parts) == 400
        later = {"Prefer": "respond-async"}
        job = ben.post("/datasets/deaths/tables", json={"tables": parts}, headers=later).json()
        with ben.stream("GET", f"/jobs/{job['id']}/events") as events:
            for line in events.iter_lines():
                if line.startswith("data: ") and json.loads(line[6:])["state"] == "running":
                    break
        ben.delete(f"/jobs/{job['id']}")
        ended = settled(ben, job)
        assert (ended["state"], ended["share"] < 1) == ("cancelled", True)
        assert ben.get(f"/jobs/{job['id']}/result").status_code == 409


def test_a_job_that_always_dies_is_given_up(served: Served):
    """Begun fifty times without an end, a job fails with a sentence instead of being begun again."""
    import sqlite3

    with served.client("ben") as ben:
        asked = {"rows": ["age"], "columns": ["marital"], "layers": ["month"]}
        from discreet.store import Jobs

        jobs = Jobs(served.workspace)
        request = {
            "dataset": "deaths",
            "recipe": asked,
            "format": "json-stat",
            "language": "",
            "project": "",
            "question": "",
        }
        job = jobs.create("elsewhere", request, user="ben")
        jobs.close()
        connection = sqlite3.connect(served.workspace / "jobs.sqlite3", timeout=300)
        with connection:
            connection.execute(
                "UPDATE jobs SET attempts = 50, kind = 'tables' WHERE id = ?", (job.id,)
            )
        connection.close()
        ended = settled(ben, {"id": job.id})
        assert ended["state"] == "failed"
        assert ended["error"]["type"] == "urn:discreet:gave-up"


def test_long_questions_become_jobs_by_their_size_alone(served: Served, demo, tmp_path):
    """More cells than the limit: 202, whatever the data; the verdict says so before."""
    import shutil

    from discreet.server import Settings

    from .serving import serving

    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    with (
        serving(workspace, Settings(public=("*",), long_cells=40)) as url,
        httpx.Client(base_url=f"{url}/api/v1") as public,
    ):
        seen = public.post("/datasets/deaths/tables:check", json=REGIONS).json()
        job = public.post("/datasets/deaths/tables", json=REGIONS)
        assert seen["as_job"]
        assert job.status_code == 202
        assert settled(public, job.json())["state"] == "done"
        table = public.get(f"/jobs/{job.json()['id']}/result").json()
        assert len(table["value"]) == seen["cells"] == 42


def test_saved_tables(served: Served):
    """A saved table is a readable recipe; shared, others read it too."""
    with served.client("ana") as ana, served.client("ben") as ben, served.client() as public:
        body = {"dataset": "deaths", "recipe": REGIONS, "title": "Deaths", "shared": True}
        made = ana.post("/saved", json=body).json()
        assert made["recipe"]["rows"] == ["area:region"]
        assert ben.get(f"/saved/{made['id']}/table?format=csv").status_code == 200
        assert public.get(f"/saved/{made['id']}/table").json()["size"] == [14, 3]
        assert made["id"] in [one["id"] for one in public.get("/saved").json()["saved"]]
        assert ben.delete(f"/saved/{made['id']}").status_code == 404
        assert ana.delete(f"/saved/{made['id']}").status_code == 204
        assert public.get(f"/saved/{made['id']}").status_code == 404
        wrong = ana.post("/saved", json={"dataset": "deaths", "recipe": {"rows": ["regoin"]}})
        assert wrong.json()["detail"].startswith("'regoin' is no variable or level of deaths. Did")


@pytest.mark.parametrize(
    ("dataset", "recipe", "rule"),
    [
        ("deaths", {"rows": ["region", "age", "cause", "month", "sex"]}, "max_variables"),
        ("deaths", {"rows": ["region"], "method": "noise", "epsilon": "1"}, "one-family"),
    ],
)
def test_what_may_not_be_asked_may_not_be_kept(served: Served, dataset, recipe, rule):
    """What rules or policy refuse is refused alike where it would only be kept; nothing is."""
    with served.client("ana") as ana:
        before = ana.get("/saved").json()
        asked = ana.post(f"/datasets/{dataset}/tables", json=recipe)
        kept = ana.post("/saved", json={"dataset": dataset, "recipe": recipe})
        assert (kept.status_code, kept.json()["rule"]) == (403, rule)
        assert kept.json()["detail"] == asked.json()["detail"]
        assert ana.get("/saved").json() == before


@pytest.mark.slow
def test_a_recipe_weaker_than_the_policy_is_not_kept(tmp_path: Path):
    """Neither a weaker treatment nor more than a question may spend; as strong as the policy is."""
    folder = make(tmp_path, "dp")
    change(folder, methods={"noise": {"negatives": "clip", "epsilon_most": "2"}})
    tokens = add_accounts(tmp_path)
    with serving(tmp_path) as url, Served(url, tmp_path, tokens).client("ana") as ana:
        for said, rule in (
            ({"negatives": "keep", "epsilon": "1"}, "treatment"),
            ({"epsilon": "3"}, "most-per-question"),
            ({"negatives": "balance", "epsilon": "1"}, None),
        ):
            recipe = {"rows": ["area"], **said}
            kept = ana.post("/saved", json={"dataset": "people", "recipe": recipe})
            assert kept.status_code == (201 if rule is None else 403), kept.text
            assert kept.json().get("rule") == rule
        assert len(ana.get("/saved").json()["saved"]) == 1


def test_releases_are_kept_embargoed_superseded_and_withdrawn(served: Served):
    """Before its time a release is not there; superseded it points on; withdrawn it says why."""
    with served.client("cas") as cas, served.client() as public, served.client("ana") as ana:
        body = {"dataset": "deaths", "recipe": REGIONS, "title": "Deaths by region"}
        later = cas.post("/releases", json={**body, "publish_at": "2999-01-01T00:00:00+00:00"})
        hidden = later.json()["id"]
        assert not later.json()["public"]
        assert cas.get(f"/releases/{hidden}/tables").status_code == 200
        for path in (f"/releases/{hidden}", f"/releases/{hidden}/tables"):
            none = public.get(path.replace(hidden, "0" * 16))
            assert public.get(path).content == ana.get(path).content == none.content
            assert public.get(path).status_code == 404
        held = public.post("/datasets/deaths/tables", json=REGIONS)
        assert (held.status_code, held.json()["rule"]) == (403, "embargo")
        wrong = {"reason": "Planned for the wrong day."}
        assert cas.post(f"/releases/{hidden}/withdraw", json=wrong).json()["state"] == "withdrawn"
        first = cas.post("/releases", json=body).json()
        assert first["state"] == "published"
        table = public.get(f"/releases/{first['id']}/tables", params={"format": "csv"})
        asked = public.post("/datasets/deaths/tables", json=REGIONS, params={"format": "csv"})
        assert values_of_csv(table.text) == values_of_csv(asked.text)
        second = cas.post("/releases", json={**body, "supersedes": first["id"]}).json()
        assert public.get(f"/releases/{first['id']}").json()["superseded_by"] == second["id"]
        link = public.get(f"/releases/{first['id']}/tables").headers["link"]
        assert second["id"] in link
        assert cas.post("/releases", json={**body, "supersedes": first["id"]}).status_code == 400
        reason = {"reason": "One region was coded wrongly."}
        assert cas.post(f"/releases/{first['id']}/withdraw", json=reason).is_success
        gone = public.get(f"/releases/{first['id']}/tables")
        assert (gone.status_code, reason["reason"] in gone.text) == (410, True)
        assert cas.post(f"/releases/{first['id']}/withdraw", json=reason).status_code == 409
        assert cas.post("/releases", json={**body, "publish_at": "soon"}).status_code == 400


def test_budgets_change_by_two_custodians(served: Served):
    """One proposes, another accepts; ledger, file and answer agree; one alone is said plainly."""
    change = {"dataset": "deaths-dp", "epsilon": "12", "reason": "agreed by the board"}
    with served.client("cas") as cas, served.client("dora") as dora, served.client("odo") as odo:
        made = cas.post("/proposals", json=change).json()
        assert made["state"] == "waiting"
        assert cas.post(f"/proposals/{made['id']}/accept").status_code == 403
        done = dora.post(f"/proposals/{made['id']}/accept").json()
        assert (done["state"], done["note"]) == (
            "accepted",
            "two custodian accounts of different origin agreed",
        )
        assert dora.post(f"/proposals/{made['id']}/accept").status_code == 409
        ledger = odo.get("/datasets/deaths-dp/ledger").json()
        assert ledger["cap"] == "epsilon = 12"
        assert any(entry["who"] == "cas and dora" for entry in ledger["entries"])
        assert 'budget: {epsilon: "12"}' in (
            served.workspace / "deaths-dp" / "discreet.yaml"
        ).read_text("utf-8")
        share = {"epsilon": "0.01", "reason": "a student"}
        cas.put("/datasets/deaths-dp/budgets/user:ben", json=share)
        with served.client("ben") as ben:
            over = ben.post("/datasets/deaths-dp/tables", json={"rows": ["sex"], "epsilon": "0.02"})
            assert over.json()["rule"] == "budget"
            assert ben.post(
                "/datasets/deaths-dp/tables", json={"rows": ["sex"], "epsilon": "0.01"}
            ).is_success
        assert cas.delete("/users/dora").json()["type"] == "urn:discreet:two-custodians"
        end = cas.post("/proposals", json={"end_custodian": "dora", "reason": "leaves"}).json()
        assert dora.post(f"/proposals/{end['id']}/accept").json()["state"] == "accepted"
        alone = cas.post("/proposals", json={**change, "epsilon": "13"}).json()
        assert alone["state"] == "accepted"
        assert "one custodian sufficed" in alone["note"]
        entries = odo.get("/datasets/deaths-dp/ledger").json()["entries"]
        assert entries[-1]["who"] == "cas"
        itself = cas.post("/proposals", json={"end_custodian": "cas", "reason": "too"})
        assert (itself.status_code, "only custodian" in itself.text) == (400, True)
        policies = odo.get("/datasets/deaths-dp/policies").json()["policies"]
        assert policies


def test_a_changed_description_is_served_at_once(served: Served):
    """When discreet.yaml is replaced the next request sees it; requests under way finish."""
    path = served.workspace / "deaths-dp" / "discreet.yaml"
    before = path.read_text("utf-8")
    with served.client("ana") as ana:
        assert ana.get("/datasets/deaths-dp").json()["population"] != "Everybody tested"
        every = [one["id"] for one in ana.get("/datasets").json()["datasets"]]
        text = before.replace("population:", "population: Everybody tested\n#", 1)
        if "population:" not in before:
            text = before.replace("title:", "population: Everybody tested\ntitle:", 1)
        path.write_text(text, "utf-8")
        assert ana.get("/datasets/deaths-dp").json()["population"] == "Everybody tested"
        path.write_text("family: [", "utf-8")
        broken = ana.get("/datasets/deaths-dp")
        assert broken.status_code == 503
        assert str(served.workspace) not in broken.text
        others = [one["id"] for one in ana.get("/datasets").json()["datasets"]]
        assert others == [name for name in every if name != "deaths-dp"]
        path.write_text(before, "utf-8")
        assert ana.get("/datasets/deaths-dp").is_success


@pytest.mark.parametrize(
    ("query", "found"), [("london", "area"), ("sex", "sex"), ("january", "month")]
)
def test_one_search_over_variables_and_categories(served: Served, query: str, found: str):
    """A word finds variables and categories at once."""
    with served.client() as public:
        answer = public.get("/datasets/deaths/variables", params={"query": query}).json()
        names = [variable["name"] for variable in answer["variables"]]
        assert found in names


def test_a_repeated_request_is_as_good_as_a_new_one(served: Served):
    """Sent again it gives the same bytes; to others only what they may see; after a change of the
    description the new words."""
    path = served.workspace / "deaths" / "discreet.yaml"
    before = path.read_text("utf-8")
    asked = {"rows": ["marital"], "columns": ["sex"]}
    with served.client("ana") as ana, served.client() as public, served.client("odo") as odo:
        first = ana.post("/datasets/deaths/tables", json=asked)
        for client in (ana, public, ana):
            again = client.post("/datasets/deaths/tables", json=asked)
            assert again.content == first.content
            assert again.headers["etag"] == first.headers["etag"]
        assert (
            "no-store" in ana.post("/datasets/deaths/tables", json=asked).headers["cache-control"]
        )
        assert odo.post("/datasets/deaths/tables", json=asked).status_code == 403
        spent = {**REGIONS, "epsilon": "0.0625"}
        charged = [
            ana.post("/datasets/deaths-dp/tables", json=spent).headers["discreet-charged"]
            for _ in range(3)
        ]
        assert charged == ["yes", "no", "no"]
        assert public.post("/datasets/deaths-dp/tables", json=spent).status_code == 401
        text = before.replace("title: Synthetic deaths", "title: Invented deaths", 1)
        spare = path.with_name("spare.yaml")
        spare.write_text(text, "utf-8")
        spare.replace(path)
        renamed = ana.post("/datasets/deaths/tables", json=asked)
        assert renamed.json()["label"].startswith("Invented deaths")
        assert renamed.json()["value"] == first.json()["value"]
        assert renamed.headers["etag"] != first.headers["etag"]
        path.write_text(before, "utf-8")
        rows = odo.get("/audit?user=ana&dataset=deaths").json()["rows"]
        assert len([row for row in rows if row.get("route") == "/datasets/{dataset}/tables"]) >= 4


def test_a_csv_file_leads_to_what_its_columns_are(served: Served):
    """Link describedby: CSVW metadata whose columns are those of the file, and which lead back."""
    asked = {"rows": ["region"], "columns": ["sex"], "where": {"marital": ["single"]}}
    with served.client("ana") as ana:
        for _ in range(2):  # the second time from memory
            file = ana.post("/datasets/deaths/tables?format=csv", json=asked)
            target, *facts = file.headers["link"].split("; ")
            assert 'rel="describedby"' in facts
        described = ana.get(served.url + target.strip("<>"))
        assert described.headers["content-type"] == "application/csvm+json"
        columns = [column["titles"] for column in described.json()["tableSchema"]["columns"]]
        assert columns == file.text.split("\r\n")[0].split(",")
        assert ana.get(served.url + described.json()["url"]).content == file.content
        sdmx = ana.post("/datasets/deaths/tables?format=sdmx-csv", json=asked)
        structure = ana.get(served.url + sdmx.headers["link"].split(";")[0].strip("<>"))
        assert structure.headers["content-type"] == "application/vnd.sdmx.structure+xml"
        assert sdmx.text.split("\r\n")[1].split(",")[1].split(":")[1][:-7] in structure.text
        new = "/datasets/deaths-dp/tables/metadata?rows=sex&epsilon=0.0123"
        with served.client() as public:
            assert public.get(new).status_code == 401
        wrong = ana.get("/datasets/deaths/tables/metadata?rows=regoin")
        assert wrong.status_code == 400
        giant = "/datasets/deaths/tables/metadata?rows=ccg,cause,age&columns=sex,month"
        assert ana.get(giant).json()["rule"] == "max_cells"


def test_answers_say_their_language(served: Served, demo, tmp_path):
    """Content-Language is what labels are in: the wished one where it is there, and what stands in."""
    import shutil

    from discreet.server import Settings

    from .serving import serving

    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    path = workspace / "deaths" / "discreet.yaml"
    text = path.read_text("utf-8").replace(
        "    label: Sex\n", "    label: {en: Sex, fr: Sexe}\n", 1
    )
    assert "Sexe" in text
    path.write_text(text.replace("title:", "language: en\ntitle:", 1), "utf-8")
    with (
        serving(workspace, Settings(public=("*",))) as url,
        httpx.Client(base_url=f"{url}/api/v1", timeout=300) as public,
    ):

        def language(query: str = "", **headers: str) -> tuple[str, str]:
            path = f"/datasets/deaths/tables?rows=sex{query}"
            answer = public.get(path, headers=headers)
            assert answer.is_success
            label = answer.json()["dimension"]["sex"]["label"]
            return answer.headers["content-language"], label

        assert language() == ("en", "Sex")
        assert language("&language=fr") == ("fr, en", "Sexe")
        assert language(**{"Accept-Language": "fr-CA, en;q=0.5"}) == ("fr, en", "Sexe")
        assert language(**{"Accept-Language": "fr;q=0.1, en;q=0.9"}) == ("en", "Sex")
        assert language(**{"Accept-Language": "fr;q=0, de"}) == ("en", "Sex")
        assert language("&language=de") == ("en", "Sex")
        wrong = public.get("/datasets/deaths/tables?rows=sex&language=xx")
        assert (wrong.status_code, "Choose en, fr or de." in wrong.text) == (400, True)
        wrong = public.get("/datasets/deaths-dp/tables?rows=nowhere")
        assert (wrong.status_code, wrong.headers["content-language"]) == (400, "en")


@pytest.mark.slow
def test_who_changed_a_policy_is_said(served: Served, demo, tmp_path):
    """A policy or an invariant changed in the file: one sufficed, and whose file it is; a change
    back is another; an agreed budget names both."""
    import shutil

    from .serving import add_accounts, serving

    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    path = workspace / "deaths-dp" / "discreet.yaml"
    before = path.read_text("utf-8")
    with serving(workspace) as url:
        mine = Served(url, workspace, tokens)
        with mine.client("odo") as odo, mine.client("cas") as cas, mine.client("dora") as dora:

            def history() -> list[str]:
                found = odo.get("/datasets/deaths-dp/policies").json()["policies"]
                return [one["note"] for one in found]

            assert len(history()) == 1
            for text in (before.replace("max_variables: 4", "max_variables: 3"), before):
                path.write_text(text, "utf-8")
                assert "changed in discreet.yaml: rules" in history()[0]
                assert "one custodian sufficed" in history()[0]
            assert len(history()) == 3
            change = {"dataset": "deaths-dp", "epsilon": "12", "reason": "agreed"}
            made = cas.post("/proposals", json=change).json()
            done = dora.post(f"/proposals/{made['id']}/accept").json()
            assert done["state"] == "accepted"
            assert (
                history()[0]
                == "budget of cas and dora; two custodian accounts of different origin agreed"
            )
            assert len(history()) == 4
            said = [row.get("reason") for row in odo.get("/audit?dataset=deaths-dp").json()["rows"]]
            assert history()[0] in said


@pytest.mark.slow
def test_a_change_cut_short_is_made_by_the_next_process(served: Served, demo, tmp_path):
    """Agreed, and the process died before anything was written: made at the next start, once."""
    import shutil

    from discreet.store.catalogue import Catalogue
    from discreet.store.workspace_database import WorkspaceDatabase

    from .serving import add_accounts, serving

    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    database = WorkspaceDatabase(workspace)
    catalogue = Catalogue(database)
    made = catalogue.propose("deaths-dp", {"epsilon": "12"}, "agreed", "cas")
    assert catalogue.decide(made.id, "applying", "dora", "two custodians agreed")
    database.close()
    for _ in range(2):
        with serving(workspace) as url:
            mine = Served(url, workspace, tokens)
            with mine.client("odo") as odo:
                ledger = odo.get("/datasets/deaths-dp/ledger").json()
                assert ledger["cap"] == "epsilon = 12"
                assert [e["who"] for e in ledger["entries"]].count("cas and dora") == 1
                assert odo.get(f"/proposals/{made.id}").json()["state"] == "accepted"


def test_a_treatment_over_http_is_free_and_a_weaker_one_is_refused(served: Served):
    """Asked again with another treatment a question is not charged, and says so beforehand."""
    with served.client("ana") as ana:
        asked = {"rows": ["region"], "columns": ["marital"], "epsilon": "0.05"}
        first = ana.post("/datasets/deaths-dp/tables", json=asked)
        assert first.headers["discreet-charged"] == "yes"
        for said in ({"negatives": "clip"}, {"consistency": "least squares"}, {"percent": "rows"}):
            check = ana.post("/datasets/deaths-dp/tables:check", json={**asked, **said}).json()
            assert check["standing"] == "answered"
            again = ana.post("/datasets/deaths-dp/tables", json={**asked, **said})
            assert again.status_code == 200
            assert again.headers["discreet-charged"] == "no"
            assert again.headers["discreet-question"] == first.headers["discreet-question"]
            if "negatives" in said:
                assert min(value for value in again.json()["value"] if value is not None) >= 0
        wrong = ana.post("/datasets/deaths/tables", json={"rows": ["sex"], "negatives": "clip"})
        assert wrong.status_code == 400
        assert "negatives" in wrong.json()["detail"]


def test_a_release_over_http_has_manifest_report_and_register(served: Served):
    """The same publication as on the command line; the internal report is never sent."""
    recipe = {"rows": ["region"], "columns": ["sex"], "epsilon": "0.05"}
    body = {"dataset": "deaths-dp", "recipe": recipe, "title": "Deaths by region"}
    with served.client("cas") as cas:
        made = cas.post("/releases", json=body).json()
        assert made["documents"] == ["report.html", "manifest.json", "register.json"]
        place = f"/releases/{made['id']}"
        manifest = cas.get(f"{place}/documents/manifest.json").json()
        assert manifest["question_hash"] == made["question"]
        assert "tables.csv" in manifest["sha256"]
        import hashlib

        table = cas.get(f"{place}/tables", params={"format": "csv"}).content
        assert hashlib.sha256(table).hexdigest() == manifest["sha256"]["tables.csv"]
        assert "Deaths by region" in cas.get(f"{place}/documents/report.html").text
        assert cas.get(f"{place}/documents/register.json").status_code == 200
        assert cas.get(f"{place}/documents/report-internal.html").status_code in (400, 404, 422)
        cas.post(f"{place}/withdraw", json={"reason": "a test"})
        assert cas.get(f"{place}/documents/manifest.json").status_code == 410
