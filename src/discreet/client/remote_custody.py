"""A custodian's verbs on a server: what waits, new data sets, releases, what two settle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..core.control import Control
from ..errors import DataError, EngineError, InputError
from .connection import Connection

PIECE = 8 << 20
"""Bytes sent at once."""
_WAIT_SECONDS = 0.3


class RemoteCustody:
    """What a server offers to its custodians."""

    _connection: Connection

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """What waits for a decision; a proposal with every value it changes, now and then."""
        return list(self._connection.json("GET", "/decisions")["decisions"])

    # New data sets

    @property
    def drafts(self) -> list[dict[str, Any]]:
        """Data sets and versions in the making."""
        return list(self._connection.json("GET", "/drafts")["drafts"])

    def upload(
        self, path: str | Path, *, dataset: str = "", control: Control | None = None
    ) -> NewDataSet:
        """Send a file and have it looked at: a new data set, or a new version of `dataset`.

            draft = server.upload("stays.csv")
            print(draft.review["unit"])
            draft.say(name="stays", unit={"unit": "person", "id": "patient_id", "records": 4})
            draft.finish()

        A connection that is lost goes on where it stopped. Nothing is made before `finish`.
        """
        file = Path(path)
        try:
            size = file.stat().st_size
        except OSError as error:
            raise DataError(f"Cannot read {file}: {error.strerror}.") from None
        body = {"file": file.name, "bytes": size} | ({"dataset": dataset} if dataset else {})
        made = self._connection.json("POST", "/drafts", body=body)
        draft = NewDataSet(self._connection, str(made["id"]))
        draft.send(file, control or Control())
        return draft

    def draft(self, identity: str) -> NewDataSet:
        """A draft that was begun before, by whomever."""
        found = NewDataSet(self._connection, identity)
        found.refresh()
        return found

    # Releases

    @property
    def releases(self) -> list[dict[str, Any]]:
        """Releases one may see."""
        listed: list[dict[str, Any]] = []
        offset: int | None = 0
        while offset is not None:
            part = self._connection.json("GET", "/releases", query={"offset": offset})
            listed += part["releases"]
            offset = part.get("next")
        return listed

    def make_release(
        self, dataset: str, recipe: Mapping[str, Any], title: str, **more: Any
    ) -> dict[str, Any]:
        """Make a release; `draft=True` waits for approval, `publish_at` for its time, `supersedes`."""
        body = {"dataset": dataset, "recipe": dict(recipe), "title": title, **more}
        return dict(self._connection.json("POST", "/releases", body=body))

    def approve(self, release: str, reason: str) -> dict[str, Any]:
        """Approve a release, with a reason that stays."""
        return self._to(release, "approve", {"reason": reason})

    def publish(self, release: str, publish_at: str | None = None) -> dict[str, Any]:
        """Publish an approved release, now or at a time to come."""
        return self._to(release, "publish", {"publish_at": publish_at} if publish_at else {})

    def withdraw(self, release: str, reason: str) -> dict[str, Any]:
        """Withdraw a release; its address says why for ever."""
        return self._to(release, "withdraw", {"reason": reason})

    def _to(self, release: str, verb: str, body: Mapping[str, Any]) -> dict[str, Any]:
        path = f"/releases/{quote(release, safe='')}/{verb}"
        return dict(self._connection.json("POST", path, body=dict(body)))

    # What two settle

    def propose(self, reason: str, **change: Any) -> dict[str, Any]:
        """Propose a budget, a policy or a custodian; `changes` says each value, now and then.

        server.propose("a monthly bulletin", dataset="deaths-dp", epsilon="12")
        """
        return dict(self._connection.json("POST", "/proposals", body={"reason": reason, **change}))

    def proposal(self, identity: str) -> dict[str, Any]:
        """One proposal; `seen` names the values as they are at this moment, for `accept`."""
        answer, _ = self._connection.request("GET", f"/proposals/{quote(identity, safe='')}")
        return dict(answer.json()) | {"seen": answer.headers["etag"]}

    def accept(self, identity: str, *, seen: str | None = None) -> dict[str, Any]:
        """Accept what another custodian proposed; with `seen` only while it changes what was read."""
        path = f"/proposals/{quote(identity, safe='')}/accept"
        headers = {"If-Match": seen} if seen else {}
        return dict(self._connection.json("POST", path, headers=headers))

    def reject(self, identity: str) -> dict[str, Any]:
        """Reject a proposal, or take one's own back."""
        path = f"/proposals/{quote(identity, safe='')}/reject"
        return dict(self._connection.json("POST", path))


class NewDataSet:
    """A data set or a version in the making; nobody but custodians sees it."""

    def __init__(self, connection: Connection, identity: str) -> None:
        self._connection, self.id = connection, identity
        self._path = f"/drafts/{quote(identity, safe='')}"
        self._edition = ""
        self.facts: dict[str, Any] = {}
        """What the server said of it last."""

    @property
    def review(self) -> dict[str, Any]:
        """What was found in the file, what follows from what was said, and what is still open."""
        return dict(self.facts.get("review") or {})

    def refresh(self) -> dict[str, Any]:
        """How far it is now."""
        answer, _ = self._connection.request("GET", self._path)
        self._edition, self.facts = answer.headers["etag"], dict(answer.json())
        return self.facts

    def send(self, file: Path, control: Control) -> None:
        """Send what is not there yet of the file, and wait until it was looked at."""
        size, at = file.stat().st_size, int(self.refresh()["received"])
        with file.open("rb") as stream:
            while at < size or not size:
                stream.seek(at)
                at = self._piece(stream.read(PIECE), at)
                control.step(at / size if size else 1.0, "sending")
                if not size:
                    break
        self._until("open", control)

    def _piece(self, data: bytes, at: int) -> int:
        """Send a piece; where the connection was lost, the server says how far it came."""
        headers = {"Upload-Offset": str(at), "Content-Type": "application/octet-stream"}
        try:
            self._connection.request("PATCH", f"{self._path}/file", content=data, headers=headers)
        except (EngineError, InputError):
            there = int(self.refresh()["received"])
            if there <= at:
                raise
            return there
        return at + len(data)

    def say(self, **answers: Any) -> dict[str, Any]:
        """Say something of it: name, about, unit, columns, declared, rules, policy, questions.

        Refused where another custodian changed it since it was read; `refresh` and say it again.
        """
        headers = {"If-Match": self._edition}
        answer, _ = self._connection.request("PATCH", self._path, body=answers, headers=headers)
        self._edition, self.facts = answer.headers["etag"], dict(answer.json())
        return self.review

    def finish(self, control: Control | None = None) -> str:
        """Make the data set, or load the version; its name."""
        headers = {"If-Match": self._edition}
        self._connection.request("POST", f"{self._path}/finish", headers=headers)
        self._until("done", control or Control())
        return str(self.facts["made"])

    def cancel(self) -> None:
        """Delete it with every byte of it."""
        self._connection.request("DELETE", self._path)

    def _until(self, state: str, control: Control) -> None:
        while self.refresh()["state"] != state:
            if self.facts["error"]:
                raise DataError(str(self.facts["error"]))
            control.step(float(self.facts["share"]), str(self.facts["doing"]))
            self._connection.sleep(_WAIT_SECONDS)
