"""A Spark cluster of the tests' own: a master, two workers and a Connect server on loopback.

It runs from an environment of its own (`tools/spark_environment.py`), because Spark itself and the client
that discreet uses cannot be installed together.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..patience import PATIENCE
from .ports import free_port, listens

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = Path(os.environ.get("DISCREET_SPARK_ENVIRONMENT", ROOT / ".venv" / "spark"))
BRISK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""Java that begins at once and never becomes fast: right for many small questions."""
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
_JAVA_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")


def home() -> Path | None:
    """Where Spark is installed; None where it is not, or Java is missing."""
    found = sorted(ENVIRONMENT.glob("lib/python*/site-packages/pyspark"))
    return found[-1] if found and shutil.which("java") else None


@dataclass
class SparkCluster:
    """A standalone cluster; every part is a process of ours that can be killed."""

    folder: Path
    home: Path
    master_port: int
    connect_port: int
    java: str = ""
    parts: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @classmethod
    def start(cls, java: str = "") -> SparkCluster:
        """Start all parts and wait until questions are taken."""
        where = home()
        assert where is not None
        folder = Path(tempfile.mkdtemp(prefix="discreet-spark-"))
        cluster = cls(folder, where, free_port(), free_port(), java)
        try:
            cluster._begin()
        except BaseException:
            cluster.remove()
            raise
        return cluster

    @property
    def url(self) -> str:
        """The address that clients are given."""
        return f"sc://127.0.0.1:{self.connect_port}"

    def _begin(self) -> None:
        master = f"spark://127.0.0.1:{self.master_port}"
        at = ("--host", "127.0.0.1", "--webui-port", "0")
        self._run("master", "256m", "spark-class", "org.apache.spark.deploy.master.Master", *at, "--port", str(self.master_port))  # fmt: skip
        self._wait("master", self.master_port)
        for number in (1, 2):
            self.worker(number)
        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "800m",
            "spark.executor.memory": "700m",
            "spark.executor.cores": "1",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self.connect_port),
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.task.maxFailures": "8",
        }
        if self.java:
            settings |= dict.fromkeys(_JAVA_OPTIONS, self.java)
        words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        self._run("connect", "800m", "spark-submit", "--master", master, "--class", _CONNECT, *words, "spark-internal")  # fmt: skip
        self._wait("connect", self.connect_port)

    def worker(self, number: int) -> None:
        """Start a worker of one core."""
        master = f"spark://127.0.0.1:{self.master_port}"
        work = self.folder / f"work{number}"
        words = ("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g")
        self._run(f"worker{number}", "256m", "spark-class", "org.apache.spark.deploy.worker.Worker", *words, "--work-dir", str(work), master)  # fmt: skip

    def _run(self, part: str, memory: str, program: str, *words: str) -> None:
        environment = {
            **os.environ,
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": memory,
            "SPARK_DAEMON_JAVA_OPTS": self.java,
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
        }
        with (self.folder / f"{part}.log").open("wb") as log:
            self.parts[part] = subprocess.Popen(
                [str(self.home / "bin" / program), *words],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, cwd=self.folder,
            )  # fmt: skip

    def _wait(self, part: str, port: int) -> None:
        until = time.monotonic() + PATIENCE
        while not listens(port):
            ended = self.parts[part].poll() is not None
            if ended or time.monotonic() > until:
                raise AssertionError(f"{part} did not start:\n{self.log(part)[-3000:]}")
            time.sleep(0.1)

    def log(self, part: str) -> str:
        """What a part wrote into its log."""
        return (self.folder / f"{part}.log").read_text(errors="replace")

    def logs(self) -> str:
        """What all parts and their executors wrote."""
        files = [*self.folder.glob("*.log"), *self.folder.glob("work*/**/std*")]
        return "".join(path.read_text(errors="replace") for path in files)

    def kill(self, part: str) -> None:
        """Kill a part and what it started, as a lost machine would be."""
        process = self.parts.pop(part)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def remove(self) -> None:
        """Stop all parts and remove what they had."""
        for part in reversed(list(self.parts)):
            self.kill(part)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def shared(folder: Path) -> Iterator[SparkCluster]:
    """One cluster for all processes of a run: the first starts it, the last one removes it."""
    note = folder / "spark-cluster"
    with _locked(folder):
        if note.exists():
            where, home_, master, connect, users, pids = json.loads(note.read_text())
            cluster = SparkCluster(Path(where), Path(home_), master, connect)
        else:
            cluster, users = SparkCluster.start(BRISK), 0
            pids = [process.pid for process in cluster.parts.values()]
        said = [str(cluster.folder), str(cluster.home), cluster.master_port, cluster.connect_port]
        note.write_text(json.dumps([*said, users + 1, pids]))
    try:
        yield cluster
    finally:
        with _locked(folder):
            *said, users, pids = json.loads(note.read_text())
            note.write_text(json.dumps([*said, users - 1, pids]))
            if users == 1:
                note.unlink()
                for pid in reversed(pids):
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
                for process in cluster.parts.values():
                    process.wait()
                shutil.rmtree(cluster.folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "spark-cluster.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def running() -> Iterator[SparkCluster]:
    """A cluster for as long as it is used."""
    cluster = SparkCluster.start()
    try:
        yield cluster
    finally:
        cluster.remove()
