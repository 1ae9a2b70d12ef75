"""What a reader sees before protection is the same on two data sets that differ in one record."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import discreet as dc
from discreet import release as flow
from discreet.errors import DiscreetError

from .attacks.people import make

QUESTIONS = [
    {"rows": "area", "columns": "sex", "epsilon": "0.5"},
    {"rows": "area", "columns": "sex", "layers": "job", "epsilon": "1", "plan": "everything"},
    {"rows": "job", "where": {"sex": "f"}, "epsilon": "0.1"},
    {"rows": "job", "epsilon": "99"},
    {"rows": "job"},
    {"rows": "jobs", "epsilon": "1"},
    {"rows": "area", "where": {"job": "zz"}, "epsilon": "1"},
    {"rows": "area,sex,job,band,extra", "epsilon": "1"},
    {"rows": "area", "epsilon": "1", "law": "normal"},
    {"rows": "area", "epsilon": "1", "delta": "0.5", "law": "normal", "max_perturbation": "9"},
]


LINES = [
    "id,area,sex,job,band",
    *(f"{i},a{i % 5},{'fm'[i % 2]},{'xyz'[i % 3]},{i % 4}" for i in range(300)),
]
"""Three hundred made-up records."""

IDENTITIES = re.compile(r"\b[0-9a-f]{8,}\b")
"""Versions, hashes of questions and the head of the ledger's chain."""


@pytest.fixture(params=["dp", "cell-key"])
def neighbours(tmp_path: Path, request) -> tuple[str, list[Path]]:
    """Two data sets of one name that differ in one record."""
    one = make(tmp_path / "one", request.param, LINES)
    return request.param, [one, make(tmp_path / "two", request.param, [*LINES, "9999,a0,f,x,0"])]


def seen(folder: Path, question: dict) -> str:
    """Everything a check, a dry run or a refusal tells, as text, folder and versions apart."""
    with dc.open(folder) as data:
        asked = {k: v for k, v in question.items() if k != "epsilon" or data._data.policy.budget}
        try:
            found = data.table(**asked).preview()
            told = [str(found.verdict), found.left, found.affordable, found.answered]
            plan = found.plan
            told += [plan.counts, plan.guarantee.to_json(), plan.errors, plan.warnings]
            told += [plan.alternatives, plan.charge and plan.charge.to_json()]
            text = repr(told)
        except DiscreetError as error:
            text = f"{type(error).__name__}: {error}"
        text = text.replace(data._data.data_version, "VERSION").replace(str(folder), "FOLDER")
    return re.sub(r"[0-9a-f]{64}", "HASH", text)


def test_plans_refusals_and_texts_are_identical(neighbours):
    """Byte for byte, for questions that pass, fail and are refused."""
    _, (one, two) = neighbours
    for question in QUESTIONS:
        assert seen(one, question) == seen(two, question)


def test_a_twin_that_tells_is_caught(neighbours, monkeypatch):
    """The comparison above does see a plan that looks at the data."""
    _, (one, two) = neighbours
    left = property(lambda asked: str(asked.data.manifest.records))
    monkeypatch.setattr(flow.Asked, "left", left)
    assert seen(one, QUESTIONS[0]) != seen(two, QUESTIONS[0])


def test_the_public_report_differs_only_through_protected_values(tmp_path, neighbours):
    """Every digit of the public edition that differs comes from released numbers or identities."""
    family, folders = neighbours
    pages = []
    for folder in folders:
        with dc.open(folder) as data:
            asked = {"rows": "area", "columns": "sex"}
            if family == "dp":
                asked["epsilon"] = "2"
            made = data.table(**asked).release()
            out = made.write(tmp_path / f"out-{folder.parent.name}", formats=["csv"])
            page = (out / "report.html").read_text()
            manifest = json.loads((out / "manifest.json").read_text())
            manifest.pop("sha256")
            pages.append((page, manifest, made.protected, data._data.manifest.records))
    for page, manifest, released, records in pages:
        if records not in released.values:  # noise may land on the very number
            plain = IDENTITIES.sub("#", page)  # three digits may stand in any hash
            assert not re.search(rf"(?<![\d.,]){records}(?![\d.,])", plain)
        assert str(records) not in json.dumps(manifest["guarantee"])
    stripped = [re.sub(r"[0-9a-f]{8,}|-?[\d,.]+", "#", page) for page, *_ in pages]
    assert stripped[0] == stripped[1]
