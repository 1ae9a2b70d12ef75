"""A custodian's verbs on a server: simulate a policy, rehearse on true data."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..core.control import Control
from .connection import Connection
from .remote_job import follow


class RemoteTrials:
    """What a data set on a server offers to those who oversee it."""

    _connection: Connection
    _path: str

    def simulate(self, **wishes: Any) -> dict[str, Any]:
        """What a policy makes possible, from public facts; for custodians and auditors.

        `within`, `of`, `risk`, `tables`, `records` and `draft` as in `dc.simulate`; `against` names
        another data set, whose policy is compared.
        """
        return dict(
            self._connection.json("POST", f"{self._path}/policies:simulate", body=dict(wishes))
        )

    def rehearse(
        self,
        what: str,
        *,
        save: str | Path | None = None,
        control: Control | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """Compare, attack or simulate on the server's own data, as its custodian; what was found.

        The server keeps the report for a day, for you alone; that somebody looked is said in every
        later table. `save` names a file for the page, readable by you alone.
        """
        path = f"{self._path}/rehearsals"
        begun = self._connection.json("POST", path, body={"what": what, **options})
        own = f"/rehearsals/{quote(str(begun['id']), safe='')}"
        follow(self._connection, own, begun, control or Control())
        found = dict(self._connection.json("GET", f"{own}/report"))
        if save is not None:
            from ..report.rehearsal_report import write_own

            page, _ = self._connection.request("GET", f"{own}/report", query={"format": "html"})
            write_own(page.text, Path(save))
        return found
