"""What a server may be told: who sees what without login, and every limit."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError

WORKSPACE = "DISCREET_WORKSPACE"
SETTINGS = "DISCREET_SETTINGS"


@dataclass(frozen=True)
class Settings:
    """Limits and choices of one server; the limits are public in `/config`."""

    public: tuple[str, ...] = ()
    """Data sets anybody may ask without login; `*` means all."""
    public_spends: bool = False
    """Whether asking without login may spend budget."""
    workers: int = 1
    """Worker processes; rate limits are divided between them."""
    job_threads: int = 1
    most_body_bytes: int = 1 << 20
    most_upload_bytes: int = 4 << 30
    """The largest file that a custodian can upload."""
    draft_sources: tuple[str, ...] = ()
    """Databases that a draft may read, with the server's own rights, each as `host/database`."""
    upload_hours: float = 24.0
    """How long an upload that broke off can go on; after that it is removed."""
    most_json_depth: int = 32
    most_header_bytes: int = 16 << 10
    body_seconds: float = 10.0
    """How long a client may take to send its body."""
    most_seconds: float = 30.0
    """How long a table may take before it must be a job."""
    long_cells: int = 500_000
    """A question with more cells than this is answered as a job."""
    long_tables: int = 20
    calls_per_minute: int = 600
    """Requests of one token, session or address in a minute."""
    logins_per_minute: int = 10
    slots: int = 8
    """Tables made at once in each process."""
    waiting: int = 32
    """Requests that may wait for a slot in each process."""
    cache_bytes: int = 16 << 20
    """What each process keeps in memory of finished answers, and a quarter of it packed."""
    interior_bytes: int = 32 << 20
    """What each process keeps in memory of a data set's recent keyed interiors; 0 for nothing."""
    lease_seconds: float = 15.0
    hold_seconds: float = 3600.0
    """How long a job's budget is held while no server runs; a running one renews it."""
    keep_days: int = 28
    """How long results of jobs are kept as files; after that they are made again when asked for."""
    secure: bool = False
    """Whether clients come over https: cookies are then Secure and named __Host-."""
    origins: tuple[str, ...] = ()
    """Other origins whose pages may use a session here."""
    readable_from: tuple[str, ...] = ()
    """Origins whose pages may read what is public, without credentials; `*` for any."""
    hosts: tuple[str, ...] = ()
    """Names this server answers to (the Host header); empty: any, as behind a proxy."""
    metrics: bool = False
    """Whether `/metrics` is served, in Prometheus' form; keep it from the outside at the proxy."""
    log_level: str = "info"

    def is_public(self, dataset: str) -> bool:
        """Whether a data set may be asked without login."""
        return "*" in self.public or dataset in self.public

    def to_environment(self, workspace: Path) -> dict[str, str]:
        """What worker processes read to make the same app."""
        return {WORKSPACE: str(workspace.resolve()), SETTINGS: json.dumps(asdict(self))}

    @classmethod
    def from_environment(cls) -> tuple[Path, Settings]:
        """Workspace and settings as the parent process wrote them."""
        if WORKSPACE not in os.environ:
            raise InputError(f"{WORKSPACE} is not set. Start the server with `discreet serve DIR`.")
        given: dict[str, Any] = json.loads(os.environ.get(SETTINGS, "{}"))
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in given.items()
        }
        return Path(os.environ[WORKSPACE]), cls(**values)
