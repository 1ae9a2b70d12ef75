"""A planted true count, id and record appear in no log, error, repr, cache or file but the data."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import traceback
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.arrangement import outline
from discreet.core.control import Control
from discreet.core.domain import AxisRef, Count
from discreet.errors import DiscreetError
from discreet.release import ask

from .conftest import CANARIES

PLANTED = 424_242


@pytest.fixture(scope="module", params=["cell-key", "dp"])
def planted(tmp_path_factory, request) -> Path:
    """A data set in which one cell holds exactly 424,242 records, one of them the canary."""
    base = tmp_path_factory.mktemp("canary")
    many = PLANTED + 1000
    table = pa.table(
        {
            "person": ["canary-person-77", *(f"p{i}" for i in range(1, many))],
            "place": ["here"] * PLANTED + ["there"] * 1000,
            "kind": [("a", "b", "c")[i % 3] for i in range(many)],
        }
    )
    pq.write_table(table, base / "people.parquet")
    folder = base / "people"
    budget = {"epsilon": "1"} if request.param == "dp" else None
    dc.init(base / "people.parquet", folder, Control(), family=request.param, budget=budget)
    dc.declare(folder)
    return folder


def leaks(text: str) -> list[str]:
    return [canary for canary in CANARIES if canary in text]


def asked(planted: Path) -> dict[str, str]:
    with dc.open(planted) as data:
        return {"epsilon": "0.01"} if data._data.policy.budget else {}


@pytest.mark.slow
def test_errors_reprs_and_logs_hold_no_planted_value(planted: Path, caplog):
    """Everything that can be provoked, with locals in the traceback, at debug level."""
    caplog.set_level(logging.DEBUG)
    parameters = asked(planted)
    told: list[str] = []
    with dc.open(planted) as data:
        inner = data._data
        true = inner.engine().count([Count((AxisRef("place", "place"),))], keys=True)
        told += [repr(true), repr(inner), repr(inner.secrets), repr(inner.manifest), repr(data)]
        for wrong in (
            {"rows": "nowhere"},
            {"rows": "place", "where": {"kind": "zz"}},
            {"rows": "place", "epsilon": "50"},
            {"rows": "place", "law": "nonsense"},
            {"rows": "place", "format": "x"},
            {"rows": "place", "sort": "kind:a,down"},
            {"rows": "place", "empty": "maybe"},
        ):
            # none may be answered: noise of 0 would publish the planted count by chance
            with pytest.raises(DiscreetError) as caught:
                data.table(**{**parameters, **wrong}).release()
            trace = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
            told.append("".join(trace.format()))
        draft = data.table(rows="kind", where={"place": "here"}, **parameters)
        told += [repr(draft), repr(draft.preview()), str(draft.preview().to_json())]
        shown = inner.description
        told.append(repr(ask(inner, draft._recipe).options(shown)))
        told.append(repr(outline(draft._recipe, shown, draft.guarantee)))
    told.append(caplog.text)
    assert not leaks("\n".join(told))


@pytest.mark.slow
def test_commands_and_their_files_hold_no_planted_value(planted: Path, tmp_path: Path):
    """check, dry run, ledger, and every file beside data, secrets and source."""
    base = [sys.executable, "-m", "discreet"]
    parameters = [f"--{k}={v}" for k, v in asked(planted).items()]
    table = ["table", str(planted), "--rows", "kind", *parameters]
    out = []
    for words in (
        ["check", str(planted)],
        [*table, "--dry-run"],
        [*table, "--json"],
        [*table, "-o", str(tmp_path / "t.csv")],
        [*table, "--sort", "total,down", "-o", str(tmp_path / "t.svg")],
        [*table, "--empty", "hide", "-o", str(tmp_path / "t.html")],
        ["ledger", "show", str(planted)],
        ["table", str(planted), "--rows", "plaec"],
    ):
        env = {**os.environ, "DISCREET_TRACE": "1"}
        done = subprocess.run([*base, *words], capture_output=True, text=True, env=env)
        out.append(done.stdout + done.stderr)
    assert not leaks("\n".join(out[1:])), "a reader's command told a planted value"
    assert "canary-person-77" not in out[0]
    for path in (*planted.rglob("*"), *tmp_path.glob("t.*")):
        if path.parent == tmp_path:
            assert not leaks(path.read_text("utf-8")), path.name
            continue
        private = {"versions", "secret"} & set(path.relative_to(planted).parts)
        if path.is_file() and not private:
            content = path.read_bytes()
            assert not any(canary.encode() in content for canary in CANARIES), path.name
            assert PLANTED.to_bytes(8, "little") not in content, path.name
