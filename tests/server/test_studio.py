"""The policy studio: its figures are the simulator's, a policy is agreed by two, nothing gets lost."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from discreet.file_names import REHEARSAL_REPORTS
from discreet.server import Settings
from discreet.workspace import DataSet
from discreet.workspace.policy_change import change_policy

from .. import command
from ..languages.german import english_in
from ..patience import wait_until
from .serving import Served, add_accounts, serving

DP = "/datasets/deaths-dp"


@pytest.fixture(scope="module")
def studio(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A demo of its own: policies are changed here."""
    workspace = tmp_path_factory.mktemp("studio") / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    with serving(workspace, Settings(public=("*",), calls_per_minute=10**6)) as url:
        yield Served(url, workspace, tokens)


def page(served: Served, path: str, who: str = "cas", **query: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {served.tokens[who]}"}
    return httpx.get(served.url + path, params=query, headers=headers, timeout=600)


def post(served: Served, path: str, who: str = "cas", **fields: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {served.tokens[who]}"}
    return httpx.post(served.url + path, data=fields, headers=headers, timeout=600)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "wishes"),
    [
        ("deaths-dp", {"within": 10, "tables": 3, "risk": "10:25", "records": 529655}),
        ("deaths-dp", {"within": 4, "tables": 1, "risk": "5:40", "records": 12345}),
        ("deaths-dp", {"within": 2, "tables": 60, "risk": "20:21", "records": 300}),
        ("deaths", {"within": 7, "tables": 2, "risk": "1:3", "records": 99999}),
    ],
)
def test_figures_are_those_of_the_command_line(studio: Served, dataset: str, wishes: dict):
    """Floor, ceiling, odds in words and every figure of every table, to the last digit."""
    said = [f"--{name}={value}" for name, value in wishes.items()]
    printed = command.run("policy", "simulate", studio.workspace / dataset, *said, "--json")
    expected = json.loads(printed.stdout)
    prior, most = wishes["risk"].split(":")
    query = {key: str(value) for key, value in wishes.items() if key != "risk"}
    seen = page(studio, f"/custodian/{dataset}/policy", **query, prior=prior, most=most)
    assert seen.status_code == 200, seen.text
    text = html.unescape(seen.text)
    plain = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text))
    scale = expected["scale"]
    assert f"Each needs ε = {scale['floor']}," in plain
    assert f"at most ε = {scale['ceiling']}: the ceiling." in plain
    for sentence in (*scale["sentences"], *expected["sentences"]):
        assert sentence in plain
    if scale["recommended"]:
        assert f"take a budget of ε {scale['recommended']['epsilon_in_all']}" in plain
    listed = text[text.index('<table class="grid plain tried"') :]
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", listed, re.DOTALL)
    assert len(rows) == len(expected["tables"])
    for (name, cells), one in zip(rows, expected["tables"], strict=True):
        assert name == " × ".join(one["axes"])
        figures = ("cells", "noise_sd", "within", "reliable_from", "share_reliable")
        wanted = [one[figure] for figure in figures if one[figure] is not None]
        assert [float(value) for value in re.findall(r'<data value="([^"]*)"', cells)] == wanted


@pytest.mark.slow
def test_a_policy_is_proposed_by_one_and_accepted_by_another(studio: Served):
    """What an accepted draft says is served from then on, and the history names both."""
    fields = {"variables": "2", "cells": "5000", "reason": "a first step"}
    done = post(studio, "/custodian/deaths/policy", within="10", tables="1", **fields)
    assert done.status_code == 303
    with studio.client("cas") as cas, studio.client("dora") as dora:
        (waits,) = [
            one for one in cas.get("/proposals").json()["proposals"] if "policy" in one["change"]
        ]
        assert waits["change"] == {"policy": {"rules": {"max_variables": "2", "max_cells": "5000"}}}
        asked = {"rows": ["region"], "columns": ["sex"], "layers": ["age"]}
        assert cas.post("/datasets/deaths/tables", json=asked).status_code == 200
        own = cas.post(f"/proposals/{waits['id']}/accept")
        assert (own.status_code, own.json()["detail"][:25]) == (403, "Another custodian must ac")
        assert "another policy for deaths" in page(studio, "/custodian", "dora").text
        accepted = post(studio, f"/custodian/proposals/{waits['id']}/accept", "dora", csrf="")
        assert accepted.status_code == 303
        assert cas.post("/datasets/deaths/tables", json=asked).status_code == 403
        newest = dora.get("/datasets/deaths/policies").json()["policies"][0]
        assert newest["policy"]["rules"] == {"max_variables": "2", "max_cells": "5000"}
        assert newest["note"].startswith("policy of cas and dora; two custodian")


def test_what_cannot_be_proposed_is_said(studio: Served):
    """The policy in force, a rule that is none, a family, a file, an analyst: nothing waits then."""
    with studio.client("cas") as cas, studio.client("ana") as ana:
        before = len(cas.get("/proposals").json()["proposals"])
        same = post(studio, "/custodian/genes/policy", reason="none", within="10", tables="1")
        assert same.status_code == 400
        assert "nothing to propose" in same.text
        for policy in (
            {"rules": {"max_variables": "two"}},
            {"rules": {"no_such_rule": "2"}},
            {"family": "cell-key"},
            {"methods": {"noise": {"ptable": "../../secret"}}},
            {},
        ):
            body = {"dataset": "deaths-dp", "policy": policy, "reason": "why"}
            assert cas.post("/proposals", json=body).status_code == 400, policy
        mixed = {
            "dataset": "deaths-dp",
            "policy": {"approval": "two"},
            "epsilon": "1",
            "reason": "r",
        }
        assert cas.post("/proposals", json=mixed).status_code == 400
        assert ana.post("/proposals", json=mixed).status_code == 403
        assert len(cas.get("/proposals").json()["proposals"]) == before


def test_answers_that_a_policy_would_take_away_are_said_before(studio: Served):
    """A rule that forbids an answered table, and settings that measure otherwise; a lower limit neither."""
    asked = {"rows": ["region"], "columns": ["sex"], "epsilon": "0.25"}
    with studio.client("ana") as ana, studio.client("cas") as cas:
        assert ana.post(f"{DP}/tables", json=asked).status_code == 200

        def effects(draft: dict[str, Any]) -> dict[str, Any]:
            answer = cas.post(f"{DP}/policies:effects", json={"draft": draft})
            assert answer.status_code == 200, answer.text
            return answer.json()

        taken = effects({"rules": {"max_variables": "1"}})
        assert (taken["refused"], taken["anew"]) == (["Region × Sex"], [])
        assert taken["sentences"][0].startswith("1 answered question would be refused")
        limited = effects({"methods": {"noise": {"epsilon_most": "0.1"}}})
        assert (limited["refused"], limited["anew"], limited["sentences"]) == ([], [], [])
        assert effects({"rules": {"max_variables": "3"}})["sentences"] == []
        shown = page(studio, "/custodian/deaths-dp/policy", variables="1")
        assert "1 answered question would be refused" in html.unescape(shown.text)


@pytest.mark.slow
def test_what_a_rehearsal_found_is_on_its_custodians_page_alone(studio: Served, caplog):
    """Begun by the form; its sentences are in no other page, file, log line or job, nor for another."""
    caplog.set_level("DEBUG")
    begun = post(studio, "/custodian/deaths/rehearse", what="simulate", within="10", tables="1")
    assert begun.status_code == 303, begun.text
    at = begun.headers["location"]
    job = at.rpartition("/")[2]
    with studio.client("cas") as cas:
        wait_until(
            lambda: cas.get(f"/rehearsals/{job}").json()["state"] in ("done", "failed"), "its end"
        )
        found = cas.get(f"/rehearsals/{job}/report").json()["custodian_only"]
    assert found
    own = page(studio, at)
    assert "no-store" in own.headers["cache-control"]
    assert all(sentence in html.unescape(own.text) for sentence in found)
    for who in ("dora", "ana", "odo"):
        assert page(studio, at, who).status_code in (403, 404)
        deleted = post(studio, f"{at}/delete", who, csrf="")
        assert deleted.status_code in (403, 404)
    pages = ("/custodian", "/custodian/log", "/custodian/deaths/policy", "/jobs", "/audit")
    for who in ("cas", "dora"):
        for path in pages:
            text = html.unescape(page(studio, path, who).text)
            assert not [sentence for sentence in found if sentence in text], path
    said = [str(record.getMessage()) for record in caplog.records]
    files = [file for file in studio.workspace.rglob("*") if file.is_file()]
    for sentence in found:
        holds = [file for file in files if sentence.encode() in file.read_bytes()]
        assert {file.parent.name for file in holds} == {REHEARSAL_REPORTS}
        assert not [line for line in said if sentence in line]
    assert post(studio, f"{at}/delete", csrf="").status_code == 303
    assert page(studio, "/data/deaths", "ana").status_code == 200
    left = list((studio.workspace / REHEARSAL_REPORTS).glob(f"{job}*"))
    assert left == []


def test_a_german_custodian_reads_german(studio: Served):
    """The studio with its unit, and what a rehearsal found; no word is marked English."""
    german = {"Accept-Language": "de", "Authorization": f"Bearer {studio.tokens['cas']}"}
    with httpx.Client(base_url=studio.url, headers=german, timeout=600) as cas:
        shown = cas.get("/custodian/deaths/policy").text
        begun = cas.post("/custodian/deaths/rehearse", data={"what": "simulate", "tables": "1"})
        at = begun.headers["location"]
        job = f"/api/v1/rehearsals/{at.rpartition('/')[2]}"
        wait_until(lambda: cas.get(job).json()["state"] in ("done", "failed"), "its end")
        rehearsed = cas.get(at).text
        found = cas.get(f"{job}/report").json()["custodian_only"]
        assert cas.post(f"{at}/delete", data={"csrf": ""}).status_code == 303
    assert 'lang="en"' not in shown + rehearsed
    assert "Eine Einheit (Person)" in shown
    assert "(person)" not in shown
    assert found
    assert english_in(found) == {}
    assert all(sentence in html.unescape(rehearsed) for sentence in found)


def test_a_policy_is_written_in_its_place(demo: Path, tmp_path: Path):
    """Comments and order of discreet.yaml stay; twice is once; what cannot be read changes nothing."""
    folder = tmp_path / "deaths-dp"
    shutil.copytree(demo / "deaths-dp", folder)
    file = folder / "discreet.yaml"
    before = file.read_text()
    change = {"rules": {"max_variables": "2"}, "methods": {"noise": {"epsilon_most": "1"}}}
    change_policy(folder, change)
    once = file.read_text()
    change_policy(folder, change)
    assert file.read_text() == once
    kept = [line for line in before.splitlines() if line.startswith("#")]
    assert [line for line in once.splitlines() if line.startswith("#")] == kept
    with DataSet.open(folder) as data:
        assert data.policy.rules == {"max_variables": "2"}
        assert data.policy.methods["noise"] == {"epsilon_most": "1"}
        assert data.policy.approval == "one"
    with pytest.raises(Exception, match="approval"):
        change_policy(folder, {"approval": "three"})
    assert file.read_text() == once
    change_policy(folder, {"approval": "two"})
    with DataSet.open(folder) as data:
        assert data.policy.approval == "two"
