"""The OpenAPI document is valid, reads well, and is enough to make a client."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from tools import other_tools

from ..server.serving import Served
from .conftest import Tools

ACCEPTED = {"info-contact"}
"""Whom to turn to is not known to the document: who runs a server says it in each description."""

ASKING = """
import json, sys
import pyarrow.parquet as pq
from discreet_client import Client
from discreet_client.api.catalogue import catalogue_datasets
from discreet_client.api.pxweb import pxweb_post_data
from discreet_client.api.tables import tables_ask, tables_ask_short, tables_check
from discreet_client.models import DataForm, Recipe

url, saved = sys.argv[1:]
client = Client(base_url=url, timeout=600)
names = [one.id for one in catalogue_datasets.sync(client=client).datasets]
file = tables_ask_short.sync(
    "deaths", client=client, rows="region", columns="month", where=["sex:F"], format_="parquet"
)
short = pq.read_table(file.payload).to_pylist()
body = Recipe.from_dict({"rows": ["region"], "columns": ["month"], "where": {"sex": ["F"]}})
asked = pq.read_table(
    tables_ask.sync("deaths", client=client, body=body, format_="parquet").payload
).to_pylist()
verdict = tables_check.sync("deaths", client=client, body=body)
selection = DataForm.from_dict({"selection": [
    {"variableCode": "region", "valueCodes": ["top(2)"]},
    {"variableCode": "sex", "valueCodes": ["F", "M"]},
]})
part = pxweb_post_data.sync(saved, client=client, body=selection, output_format="parquet")
print(json.dumps({
    "names": names, "short": short, "asked": asked, "allowed": verdict.allowed,
    "part": pq.read_table(part.payload).to_pylist(),
}))
"""


@pytest.fixture(scope="module")
def document(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("openapi") / "openapi.json"
    file.write_bytes(httpx.get(f"{served.url}/api/v1/openapi.json", timeout=300).content)
    return file


@pytest.mark.slow
def test_the_document_is_valid_and_reads_well(document: Path, tools: type[Tools]) -> None:
    """openapi-spec-validator has nothing to say, spectral no error and no warning not listed."""
    tools.python("-m", "openapi_spec_validator", document, folder=document.parent)
    (document.parent / "rules.yaml").write_text('extends: ["spectral:oas"]\n')
    told = tools.run(
        other_tools.NODE / ".bin" / "spectral",
        *("lint", document.name, "-r", "rules.yaml", "-f", "json", "--quiet"),
        folder=document.parent,
    )
    found = {finding["code"] for finding in json.loads(told or "[]")}
    assert found <= ACCEPTED


@pytest.mark.slow
def test_a_generated_client_asks_for_a_table_and_gets_parquet_intact(
    served: Served, document: Path, tools: type[Tools], tmp_path: Path
) -> None:
    """Every parameter is there, and a file arrives as its bytes.

    The generator writes `valuecodes[…]` without its name, so a selection is sent in a body.
    """
    tools.python(
        *("-m", "openapi_python_client", "generate", "--path", document, "--meta", "none"),
        *("--output-path", "discreet_client"),
        folder=tmp_path,
        PATH=f"{other_tools.PYTHON.parent}:/usr/bin:/bin",
    )
    with served.client("ana") as client:
        body = {
            "dataset": "deaths",
            "recipe": {"rows": ["region"], "columns": ["sex"]},
            "shared": True,
        }
        saved = client.post("/saved", json=body).raise_for_status().json()["id"]
        direct = client.get("/datasets/deaths/tables?rows=region&columns=month&where=sex:F").json()
        part = httpx.get(
            f"{served.url}/pxweb/v2/tables/{saved}/data"
            "?valuecodes[region]=top(2)&valuecodes[sex]=F,M",
            timeout=300,
        ).json()
    told = json.loads(tools.python("-c", ASKING, served.url, saved, folder=tmp_path))
    assert "deaths" in told["names"]
    assert told["allowed"] is True
    assert [row["count"] for row in told["short"]] == direct["value"]
    assert told["asked"] == told["short"]
    assert [row["count"] for row in told["part"]] == part["value"]
