"""A custodian's work with the Python client: a new data set, a release, a proposal; as over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import discreet as dc
from discreet.client import connection, remote_custody
from discreet.errors import DiscreetError
from discreet.server import Settings

from ..patience import PATIENCE
from .drafting import STAYS, stays, tree
from .serving import Served, add_accounts, serving

SETTINGS = Settings(calls_per_minute=10**6, lease_seconds=2, body_seconds=PATIENCE)
UNIT = {"unit": "person", "id": "patient_id", "records": 4, "drop": True}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    workspace = tmp_path_factory.mktemp("client")
    tokens = add_accounts(workspace)
    with serving(workspace, SETTINGS) as url:
        yield Served(url, workspace, tokens)


@pytest.mark.slow
def test_from_a_file_to_a_withdrawn_release(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Sent in pieces of which one breaks off; cancelled without a trace; made, released by two."""
    monkeypatch.setattr(remote_custody, "PIECE", 7_000)
    file = tmp_path / STAYS
    file.write_bytes(stays(400))
    lost = _losing(monkeypatch)
    with dc.connect(served.url, served.tokens["cas"]) as cas:
        before = tree(served.workspace)
        draft = cas.upload(file)
        assert lost, "no piece was lost"
        assert [one["id"] for one in cas.drafts] == [draft.id]
        assert draft.review["records"] == 400
        draft.cancel()
        assert tree(served.workspace) == before
        draft = cas.upload(file)
        with pytest.raises(DiscreetError, match="unit"):
            draft.finish()
        other = cas.draft(draft.id)
        other.say(name="stays", unit=UNIT)
        with pytest.raises(DiscreetError):
            draft.say(name="mine")
        draft.refresh()
        policy = {"family": "dp", "budget": "5"}
        names = [one["name"] for one in draft.review["variables"]]
        draft.say(policy=policy, declared=names)
        assert draft.finish() == "stays"
        table = {"rows": ["sex"], "epsilon": "0.5"}
        made = cas.make_release("stays", table, "Stays by sex", draft=True)
        assert cas.approve(made["id"], "compared")["state"] == "approved"
        assert cas.publish(made["id"])["state"] == "published"
        assert [one["id"] for one in cas.releases] == [made["id"]]
        assert cas.withdraw(made["id"], "wrong codes")["state"] == "withdrawn"


@pytest.mark.slow
def test_a_proposal_is_read_and_accepted_as_seen(served: Served):
    """What waits says its values; an acceptance of something else than was seen is refused."""
    with (
        dc.connect(served.url, served.tokens["cas"]) as cas,
        dc.connect(served.url, served.tokens["dora"]) as dora,
    ):
        first = cas.propose("more", dataset="stays", epsilon="6")
        second = cas.propose("more still", dataset="stays", epsilon="7")
        waits = [one for one in dora.decisions if one["kind"] == "proposal"]
        assert {one["changes"][0]["now"] for one in waits} == {"5"}
        seen = dora.proposal(second["id"])["seen"]
        assert dora.accept(first["id"])["state"] == "accepted"
        with pytest.raises(DiscreetError, match="no longer what you saw"):
            dora.accept(second["id"], seen=seen)
        assert dora.reject(second["id"])["state"] == "rejected"


def _losing(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Let one piece arrive by half, and the connection be lost then."""
    lost: list[bytes] = []
    ask = connection.Connection.request

    def request(self, method, path, **more):
        content = more.get("content")
        if content and not lost and int(more["headers"]["Upload-Offset"]):
            lost.append(content)
            ask(self, method, path, **more | {"content": content[: len(content) // 2]})
            raise connection._unreachable(self.url, httpx.ReadError("gone"))
        return ask(self, method, path, **more)

    monkeypatch.setattr(connection.Connection, "request", request)
    return lost
