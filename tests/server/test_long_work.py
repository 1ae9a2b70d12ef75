"""Large results are written in a process of their own; whoever asks meanwhile is answered."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import numpy as np
import pytest

from discreet import formats
from discreet.core.control import Control
from discreet.core.table import ProtectedTable
from discreet.errors import Bug, Cancelled, InputError, StoreError
from discreet.server import Settings, elsewhere, rendering

from ..patience import PATIENCE, wait_until
from .serving import serving

pytestmark = pytest.mark.slow
SIDE = 90
BIG = {"rows": ["a"], "columns": ["b"], "layers": ["c"], "totals": False}
PATH = "/api/v1/datasets/wide/tables"


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set with three variables of ninety categories each: 729,000 cells."""
    from typer.testing import CliRunner

    from discreet.cli.main import app

    folder = tmp_path_factory.mktemp("wide")
    draws = np.random.default_rng(5).integers(0, SIDE, (20_000, 3))
    draws[:SIDE] = np.arange(SIDE)[:, None]
    lines = ["id,a,b,c", *(f"{n},a{x},b{y},c{z}" for n, (x, y, z) in enumerate(draws))]
    (folder / "wide.csv").write_text("\n".join(lines))
    workspace = folder / "work"
    words = ["init", str(folder / "wide.csv"), "--into", str(workspace / "wide")]
    done = CliRunner().invoke(app, [*words, "--family", "cell-key"])
    assert done.exit_code == 0, done.output
    return workspace


@pytest.fixture
def client(wide: Path) -> Iterator[httpx.Client]:
    settings = Settings(public=("*",), calls_per_minute=10**6, most_seconds=PATIENCE)
    with serving(wide, settings) as url, httpx.Client(base_url=url, timeout=PATIENCE) as client:
        yield client


def ended(client: httpx.Client, job: str) -> dict[str, object]:
    path = f"/api/v1/jobs/{job}"
    wait_until(lambda: client.get(path).json()["state"] not in ("waiting", "running"), "the job")
    return dict(client.get(path).json())


def test_eight_large_results_leave_others_prompt(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another format of a large result is a job, and nothing large is written in this process."""
    written: list[int] = []
    to_bytes = formats.to_bytes

    def noted(tables: Sequence[ProtectedTable], name: str) -> bytes:
        written.append(sum(table.cells for table in tables))
        return to_bytes(tables, name)

    monkeypatch.setattr(formats, "to_bytes", noted)
    made = client.post(PATH, json=BIG, params={"format": "parquet"})
    assert made.status_code == 202, made.text
    first = made.json()["id"]
    assert ended(client, first)["state"] == "done"
    answered: list[int] = []
    stop = threading.Event()

    def watch() -> None:
        with httpx.Client(base_url=client.base_url, timeout=PATIENCE) as other:
            while not stop.is_set():
                for path in ("/health", f"{PATH}?rows=a", f"{PATH}?rows=b&columns=c"):
                    answered.append(other.get(path).status_code)

    watcher = threading.Thread(target=watch)
    watcher.start()
    names = ("json-stat", "csv") * 4
    answers = [
        client.get(f"/api/v1/jobs/{first}/result", params={"format": name}) for name in names
    ]
    jobs = {answer.json()["id"] for answer in answers}
    assert {answer.status_code for answer in answers} == {202}
    assert len(jobs) == 2
    assert first not in jobs
    assert {ended(client, job)["state"] for job in jobs} == {"done"}
    stop.set()
    watcher.join()
    sizes = [len(client.get(f"/api/v1/jobs/{job}/result").content) for job in jobs]
    assert min(sizes) > 5_000_000
    again = client.get(f"/api/v1/jobs/{first}/result", params={"format": "csv"})
    assert again.json()["id"] in jobs
    assert set(answered) == {200}
    assert max(written) <= rendering.LARGE_CELLS


def test_large_tables_are_written_elsewhere_and_can_be_stopped(
    wide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes, errors in their sentence, an end when cancelled, nothing left behind."""
    import discreet

    tables = discreet.open(wide / "wide").table(rows=["a"], columns=["b"]).release().tables
    monkeypatch.setattr(rendering, "LARGE_CELLS", 10)
    for name in ("csv", "json-stat"):
        assert rendering.to_bytes(tables, name, Control()) == formats.to_bytes(tables, name)
    with pytest.raises(Cancelled):
        rendering.to_file(tmp_path / "x", tables, "csv", Control(cancelled=lambda: True))
    with pytest.raises((InputError, StoreError)):
        rendering.to_file(tmp_path / "no" / "x", tables, "csv", Control())
    assert list(tmp_path.iterdir()) == []


def test_work_elsewhere_ends_with_its_time_and_says_what_happened() -> None:
    """Cancelled while it works, killed, refused with a sentence: each comes back, and no process stays."""
    asked = itertools.count()
    words = {"doing": "waiting", "lost": "It is gone."}
    control = Control(cancelled=lambda: next(asked) > 3)
    with pytest.raises(Cancelled):
        elsewhere.done(time.sleep, 3600, control=control, **words)
    with pytest.raises(StoreError, match="It is gone"):
        elsewhere.done(os._exit, 9, control=Control(), **words)
    with pytest.raises(InputError, match="truth"):
        elsewhere.done(formats.by_name, "truth", control=Control(), **words)
    with pytest.raises(Bug):
        elsewhere.done(divmod, 1, 0, control=Control(), **words)
    assert elsewhere.done(sorted, [3, 1, 2], control=Control(), **words) == [1, 2, 3]
    assert multiprocessing.active_children() == []
