"""The PxWebApi v2 face keeps to the official document, whatever is sent."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from . import pxweb_document
from .fuzzing import CHECKS, fuzzed
from .serving import Served

ALL_CHECKS = f"{CHECKS},unsupported_method"


@pytest.fixture(scope="module")
def written(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The document as a file, with names of tables, a code list and a query that are there."""
    recipes = [
        {"rows": ["region"], "columns": ["sex"]},
        {"rows": ["month"], "columns": ["cause"], "percent": "rows"},
        {"rows": ["sex"], "totals": False},
        {"rows": []},
    ]
    tables = []
    with served.client("ana") as client:
        for recipe in recipes:
            body = {"dataset": "deaths", "recipe": recipe, "shared": True}
            tables.append(client.post("/saved", json=body).raise_for_status().json()["id"])
    selection = {"selection": [{"variableCode": "region", "valueCodes": ["top(2)"]}]}
    query = {"tableId": tables[0], "language": "en", "selection": selection}
    with httpx.Client(base_url=f"{served.url}/pxweb/v2", timeout=300) as client:
        saved = client.post("/savedqueries", json=query).raise_for_status().json()["id"]
    ids = {"table": tables, "codelist": [f"{tables[0]}:region:ccg"], "query": [saved]}
    document = pxweb_document.document(ids)
    file = tmp_path_factory.mktemp("pxweb") / "pxweb.json"
    file.write_text(json.dumps(document), "utf-8")
    return file


def tried(served: Served, written: Path, folder: Path, examples: int, seed: int) -> int:
    at = ("--url", f"{served.url}/pxweb/v2")
    return fuzzed(str(written), folder, examples, seed, *at, checks=ALL_CHECKS)


@pytest.mark.slow
def test_the_face_keeps_to_the_official_document(
    served: Served, written: Path, tmp_path: Path
) -> None:
    """Some hundred requests made from PxWebApi's own document: no answer outside of it."""
    assert tried(served, written, tmp_path, 2, 1) >= 200


@pytest.mark.proof
def test_a_thousand_requests_of_the_official_document(
    served: Served, written: Path, tmp_path: Path, record_property
) -> None:
    """At least 1,000 requests made from PxWebApi's official document: no answer outside of it, its
    own listed faults set right."""
    cases = tried(served, written, tmp_path, 100, 2)
    record_property("cases", cases)
    record_property("faults of the document", len(pxweb_document.FAULTS))
    assert cases >= 1000
