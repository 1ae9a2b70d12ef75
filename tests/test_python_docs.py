"""The pages about Python and other tools: their examples run against a live server."""

from __future__ import annotations

import inspect
import re
import shutil
import textwrap
from pathlib import Path

import pandas as pd
import pytest

import discreet as dc
import discreet.client
from discreet import formats

from .server.serving import Served, Settings, add_accounts, serving

DOCS = Path(__file__).parent.parent / "docs"
PYTHON = DOCS / "reference" / "python.md"
TOOLS = DOCS / "how-to" / "read-with-other-tools.md"


def scripts(page: Path) -> list[str]:
    return re.findall(r"```py\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def script_of(docstring: str | None) -> str:
    """The indented lines of a docstring."""
    lines = (docstring or "").splitlines()
    return textwrap.dedent("\n".join(line for line in lines if not line or line[0] == " "))


def test_every_public_name_is_on_the_page() -> None:
    """A name in `discreet.__all__` that the page does not name fails the build."""
    text = PYTHON.read_text("utf-8")
    missing = [name for name in dc.__all__ if not re.search(rf"\b{name}\b", text)]
    assert not missing


PUBLIC = [
    name
    for name in dc.__all__
    if callable(getattr(dc, name))
    and not (inspect.isclass(getattr(dc, name)) and issubclass(getattr(dc, name), Exception))
]


def example_of(name: str) -> str:
    """The last paragraph of the help of a public name, where it is indented."""
    last = (inspect.getdoc(getattr(dc, name)) or "").rpartition("\n\n")[2]
    return textwrap.dedent(last) if last.startswith("    ") else ""


@pytest.mark.parametrize("name", PUBLIC)
def test_help_has_every_parameter_and_an_example(name: str) -> None:
    """What `help(dc.name)` shows: each parameter by its name, and something to try."""
    words = inspect.getdoc(getattr(dc, name)) or ""
    parameters = inspect.signature(getattr(dc, name)).parameters
    assert not [one for one in parameters if not re.search(rf"\b{one}\b", words)]
    assert ">>>" in words or example_of(name)


@pytest.mark.slow
def test_the_examples_of_a_custodian_run(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that need a folder, one after the other as a custodian would."""
    shutil.copytree(demo, tmp_path / "demo")
    lines = [f"p{number},{'fm'[number % 2]}" for number in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["person_id,sex", *lines]) + "\n")
    monkeypatch.chdir(tmp_path)
    named = [name for name in PUBLIC if example_of(name) and name != "connect"]
    order = ["init", "declare_unit", "load", "declare", "check", "open", "upgrade", "synthetic"]
    for name in [*order, *(one for one in named if one not in order)]:
        exec(compile(example_of(name), f"help({name})", "exec"), {"dc": dc})
    with dc.open("demo/deaths-open") as synthetic:
        assert "sex" in synthetic.variables


@pytest.mark.slow
def test_the_client_and_tool_examples_run(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every `py` block, and the client's docstring, runs as it stands but for address and token."""
    workspace = tmp_path / "demo"
    shutil.copytree(demo, workspace)
    tokens = add_accounts(workspace)
    monkeypatch.chdir(tmp_path)
    with serving(workspace, Settings(public=("deaths",), calls_per_minute=10**6)) as url:
        served = Served(url, workspace, tokens)
        body = {"dataset": "deaths", "recipe": {"rows": ["region"], "columns": ["sex"]}}
        with served.client("ana") as client:
            assert client.post("/saved", json={**body, "shared": True}).status_code == 201
        with dc.connect(url) as server:
            made = server.open("deaths").table(rows=["region"], columns=["sex"]).release()
            for ending in (".csv", ".px", ".sdmx.csv"):
                made.write(tmp_path / f"deaths{ending}")
        blocks = [*scripts(PYTHON), *scripts(TOOLS), script_of(dc.client.__doc__)]
        # readers of structures have an environment of their own: tests/conformance runs those
        blocks = [block for block in blocks if "structure.xml" not in block]
        assert len(blocks) == 6
        known: dict[str, object] = {}
        for block in blocks:
            text = re.sub("http://127.0.0.1:8000|https://tables.example.org", url, block)
            known = {}
            exec(text.replace("dct_…", tokens["ana"]), known)
            for name in ("server",):
                if name in known:
                    known[name].close()  # type: ignore[attr-defined]
            if "api" in known:
                known["api"]._client.session.close()  # type: ignore[attr-defined]
    frame = known["frame"]
    assert isinstance(frame, pd.DataFrame)
    assert "count" in frame.columns
    assert formats.by_extension("deaths.xlsx") == "xlsx"
    assert (tmp_path / "deaths.xlsx").stat().st_size > 1000
