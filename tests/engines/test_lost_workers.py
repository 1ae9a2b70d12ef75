"""Machines of a cluster that go away in the middle of a count: one sentence, and nothing charged."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.core.control import Control
from discreet.core.domain import AxisRef, Count
from discreet.core.loss import PureLoss
from discreet.engines.coding import Source
from discreet.engines.opening import open_engine
from discreet.engines.remote_version import RemoteVersion
from discreet.errors import Cancelled, DataError, EngineError
from discreet.workspace import DataSet, declare, init, load
from discreet.workspace.unit_choice import UnitChoice

from ..patience import wait_until
from ..servers import spark as clusters
from . import remote_people
from .people import SALT, coded, coding_of, values

SOON = 5
"""Seconds after which a cluster without workers is given up; nothing is to be counted within them."""


def test_what_is_said_of_lost_machines() -> None:
    """Of what Spark writes nothing passes; the condition of a task is found in a job's words."""
    errors = pytest.importorskip("pyspark.errors")
    from discreet.engines.spark.sentences import failed

    gone = errors.PySparkException(
        "Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: "
        "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: worker lost"
    )
    said = failed(gone, "people", "counting")
    assert isinstance(said, EngineError)
    assert str(said).startswith("The cluster lost a worker while counting, and gave up.")
    text = errors.PySparkException(
        "Job aborted due to stage failure: Lost task 0.7 (TID 9) (10.0.0.7 executor 0): "
        "org.apache.spark.SparkIllegalArgumentException: [INVALID_UTF8_STRING] found in string: \\xFF"
    )
    said = failed(text, "people", "counting")
    assert isinstance(said, DataError)
    assert str(said) == "people holds bytes that are no UTF-8 text. Mend the text."


@pytest.fixture
def cluster() -> Iterator[clusters.SparkCluster]:
    """A cluster of this test's own, because it loses workers."""
    if clusters.home() is None:
        pytest.skip("Spark is not installed: python tools/spark_environment.py")
    with clusters.running() as own:
        yield own


def on(cluster: clusters.SparkCluster, records: int) -> Source:
    """Records in many small files, so that a count is many tasks."""
    folder = cluster.folder / "data" / secrets.token_hex(6)
    folder.mkdir(parents=True)
    for part in range(8):
        ids = range(part * records // 8, (part + 1) * records // 8)
        table = pa.table({"id": [f"p{i}" for i in ids], "a": [str(i % 3) for i in ids]})
        pq.write_table(table, folder / f"part-{part}.parquet")
    source = Source.guess(cluster.url)
    kept = str(cluster.folder / "coded")
    return replace(source, table=str(folder), kept_in=kept, counting="read-only")


def registered(cluster: clusters.SparkCluster) -> int:
    """How many workers the master has seen so far."""
    return cluster.log("master").count("Registering worker")


def in_seconds(folder: Path) -> Path:
    """The same version, whose counts may take a few seconds only."""
    version, other = RemoteVersion.read(folder), folder.with_name("impatient")
    other.mkdir()
    replace(version, source=replace(version.source, timeout=SOON)).write(other)
    return other


@pytest.mark.proof
def test_a_worker_lost_in_the_middle_of_a_count(
    cluster: clusters.SparkCluster, tmp_path: Path
) -> None:
    """A Spark worker killed while it counts: the same cells by the other; both killed: one sentence."""
    coding = coding_of((coded("a", "a", ("0", "1", "2")),), "id", salt=SALT)
    remote_people.loaded(on(cluster, 400_000), coding, tmp_path / "v")
    engine = open_engine(tmp_path / "v", coding.description, salt=SALT)
    count = Count((AxisRef("a", "a"),))
    (before,) = engine.count([count], keys=True)
    for round_ in range(5):
        threading.Timer(0.3 * (round_ + 1), cluster.kill, ("worker1",)).start()
        (after,) = engine.count([count], keys=True)
        assert values(after) == values(before)
        wait_until(lambda: "worker1" not in cluster.parts, "the kill")
        known = registered(cluster)
        cluster.worker(1)
        wait_until(lambda known=known: registered(cluster) > known, "the new worker")  # type: ignore[misc]
    cluster.kill("worker1")
    cluster.kill("worker2")
    impatient = open_engine(in_seconds(tmp_path / "v"), coding.description, salt=SALT)
    with pytest.raises(EngineError, match=r"^The data set is unavailable\.") as raised:
        impatient.count([count], keys=True)
    impatient.close()
    assert cluster.url not in str(raised.value)
    cluster.worker(1)
    (after,) = engine.count([count], keys=True)
    assert values(after) == values(before)
    engine.close()


@pytest.mark.proof
def test_nothing_is_charged_for_a_count_that_was_lost(
    cluster: clusters.SparkCluster, tmp_path: Path
) -> None:
    """No worker is left when a DP table is asked for: nothing is spent; with one again it is charged once."""
    source = on(cluster, 5_000)
    folder = tmp_path / "data"
    unit, budget = UnitChoice("person", "id"), {"epsilon": "2"}
    init(cluster.url, folder, table=source.table, unit=unit, family="dp", budget=budget, load=False)
    declare(folder)
    described = folder / "discreet.yaml"
    text = described.read_text()
    line = next(line for line in text.splitlines() if line.strip().startswith("table:"))
    more = f"\n  counting: coded\n  kept_in: {cluster.folder / 'coded'}"
    described.write_text(text.replace(line, line + more))
    load(folder)
    with dc.open(folder) as data:
        cluster.kill("worker1")
        cluster.kill("worker2")
        polls = iter(range(10**9))
        given_up = Control(cancelled=lambda: next(polls) > 100)
        with pytest.raises(Cancelled):
            data.table(rows=["a"], epsilon="1").release(control=given_up)
        assert spent(folder) == PureLoss(0)
        cluster.worker(1)
        data.table(rows=["a"], epsilon="1").release()
    assert spent(folder) == PureLoss(1)


def spent(folder: Path) -> object:
    with DataSet.open(folder) as data:
        return data.ledger().spent()
