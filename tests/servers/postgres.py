"""A Postgres server of the tests' own: made, started, crashed and removed by them."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .ports import free_port

OWNER = "keeper"
PASSWORD = "pass'word %:/@ 77"
"""Of every role that is made: with signs that an address has to escape."""


def programs() -> Path | None:
    """Where Debian or the system keeps the server's programs, which are not on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if found:
        return found[-1].parent
    other = shutil.which("postgres")
    return Path(other).parent if other else None


def _as_user() -> list[str]:
    """The server refuses root: it runs as the user that its package made."""
    if os.geteuid():
        return []
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]


@dataclass
class PostgresServer:
    """One server on loopback, its data in a folder of its own; disks are synced as in earnest."""

    folder: Path
    port: int
    programs: Path
    databases: int = 0

    @classmethod
    def start(cls, **settings: str) -> PostgresServer:
        """Make a new server and start it."""
        where = programs()
        assert where is not None
        folder = Path(tempfile.mkdtemp(prefix="discreet-postgres-", dir="/tmp"))
        if not os.geteuid():
            shutil.chown(folder, "postgres", "postgres")
        folder.chmod(0o700)
        server = cls(folder, free_port(), where)
        server._run("initdb", "-U", OWNER, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")  # fmt: skip
        server._write("pg_hba.conf", f"local all all trust\nhost all {OWNER} 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n")  # fmt: skip
        server.up(**settings)
        return server

    def _write(self, name: str, text: str) -> None:
        path = self.folder / "data" / name
        path.write_text(text)
        if not os.geteuid():
            shutil.chown(path, "postgres", "postgres")

    def _run(self, program: str, *words: str, check: bool = True) -> None:
        command = [*_as_user(), str(self.programs / program), "-D", str(self.folder / "data")]
        log = self.folder / "programs.log"
        with log.open("a") as out:
            subprocess.run(
                [*command, *words], check=check, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                cwd="/tmp",
            )  # fmt: skip

    def up(self, **settings: str) -> None:
        """Start the server with these settings."""
        given = {"listen_addresses": "127.0.0.1", "max_connections": "60", **settings}
        options = " ".join(f"-c {name}={value}" for name, value in given.items())
        words = ("-w", "-s", "-t", "600", "-l", str(self.folder / "log"))
        self._run("pg_ctl", "start", *words, "-o", f"-p {self.port} -k {self.folder} {options}")

    def down(self, mode: str = "fast") -> None:
        """Stop the server; `immediate` is a crash of it."""
        self._run("pg_ctl", "stop", "-w", "-s", "-t", "600", "-m", mode, check=False)

    def remove(self) -> None:
        """Stop the server and remove all it had."""
        self.down("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self) -> str:
        """All that the server wrote into its log."""
        return (self.folder / "log").read_text(errors="replace")

    def url(self, database: str = "postgres", role: str = OWNER, password: str = "") -> str:
        """The address of a database for a role."""
        from urllib.parse import quote

        secret = f":{quote(password, safe='')}" if password else ""
        return f"postgresql://{role}{secret}@127.0.0.1:{self.port}/{database}"

    def database(self, encoding: str = "UTF8", locale: str = "C.UTF-8") -> str:
        """A new database of a name of its own; its name."""
        self.databases += 1
        name = f"d{os.getpid()}_{self.databases}"
        self.execute(
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE '{locale}'"
        )
        return name

    def role(self, name: str) -> str:
        """A role that may log in with the password and do nothing else."""
        if not self.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{name}'"):
            quoted = PASSWORD.replace("'", "''")
            self.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{quoted}'")
        return name

    def execute(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements as the owner of everything; the rows of the last."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            rows: list[tuple[Any, ...]] = []
            for statement in statements:
                cursor = connection.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
            return rows


@contextlib.contextmanager
def running(**settings: str) -> Iterator[PostgresServer]:
    """A server for as long as it is used."""
    server = PostgresServer.start(**settings)
    try:
        yield server
    finally:
        server.remove()
