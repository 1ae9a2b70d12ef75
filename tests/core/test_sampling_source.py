"""The random source never repeats itself: not over forks, threads, key erasure or reseeding."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import numpy as np
import pytest

from discreet.core import random_source
from discreet.core.law_builders import laplace
from discreet.core.random_source import BLOCK_BYTES, SLACK_BYTES, SystemSource, system_source

from .draws import draw


def blocks(data: bytes) -> list[bytes]:
    return [data[i : i + 16] for i in range(0, len(data) - 15, 16)]


def in_forks(count: int, work: Callable[[], bytes]) -> list[bytes]:
    """What `work` returns in each of so many forked processes."""
    answers = []
    for _ in range(count):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:  # pragma: no cover
            code = 1
            try:
                os.close(reading)
                with os.fdopen(writing, "wb") as out:
                    out.write(work())
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        with os.fdopen(reading, "rb") as incoming:
            answers.append(incoming.read())
        assert os.waitpid(child, 0)[1] == 0
    return answers


@pytest.mark.slow
def test_no_repeated_block_over_16_forked_workers() -> None:
    """16 children of a process whose source was in use, and the process itself: 0 repeats."""
    source = system_source()
    parent = source.take(1 << 14)
    children = in_forks(16, lambda: system_source().take(1 << 14))
    seen = [b for data in (parent, *children, source.take(1 << 14)) for b in blocks(data)]
    assert len(seen) == 18 * 1024
    assert len(set(seen)) == len(seen)


def test_draws_differ_over_forked_workers() -> None:
    law = laplace("0.1")
    draw(law, 10)
    answers = in_forks(4, lambda: draw(law, 1000).tobytes())
    assert len(set(answers)) == 4


class Careless(SystemSource):
    """The fault: keeps its state over a fork."""

    def _after_fork(self) -> None:
        self._process = os.getpid()


def test_a_source_that_survives_fork_would_be_caught() -> None:
    source = Careless()
    source.take(16)
    first, second = in_forks(2, lambda: source.take(64))
    assert first == second


def test_a_fork_without_handlers_is_noticed() -> None:
    """Where no Python hook ran, the changed process id alone makes a source start anew."""
    source = SystemSource()
    source._process = -1
    before = source._stream
    source.take(16)
    assert source._stream is not before


def test_no_repeated_block_over_threads() -> None:
    """8 threads, one source each and one shared by all: 0 repeats."""
    shared = SystemSource()
    out: list[bytes] = []

    def work() -> None:
        for _ in range(20):
            out.append(system_source().take(1024))
            out.append(shared.take(1024))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = [b for data in out for b in blocks(data)]
    assert len(seen) == 8 * 20 * 2 * 64
    assert len(set(seen)) == len(seen)


def test_each_thread_has_its_own_source() -> None:
    found: list[SystemSource] = []
    thread = threading.Thread(target=lambda: found.append(system_source()))
    thread.start()
    thread.join()
    assert found[0] is not system_source()
    assert system_source() is system_source()


def test_keys_are_erased_every_megabyte_and_reseeded(monkeypatch: pytest.MonkeyPatch) -> None:
    source = SystemSource()
    streams = {id(source._stream): source._stream}
    for _ in range(9):
        source.take(BLOCK_BYTES)
        streams[id(source._stream)] = source._stream
    assert len(streams) == 3
    asked: list[int] = []
    real = os.urandom
    monkeypatch.setattr(random_source, "_RESEED_EVERY", 1 << 21)
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(n) or real(n))
    for _ in range(18):
        source.take(BLOCK_BYTES)
    assert asked
    assert set(asked) == {48}


def test_large_fills_are_fresh_throughout() -> None:
    data = SystemSource().take(3 * BLOCK_BYTES + 5)
    assert len(data) == 3 * BLOCK_BYTES + 5
    assert len(set(blocks(data))) == len(blocks(data))


def test_a_short_buffer_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes longer"):
        SystemSource().fill(np.empty(SLACK_BYTES, dtype=np.uint8), 1)


def test_bytes_are_uniform() -> None:
    """n = 2^20 bytes, Pearson's χ² over 256 values with 255 degrees; false positives 10^-8.

    420 is far past the 1 − 10^-8 point (about 405); zeros, the twin, give n · 255.
    """

    def statistic(data: bytes) -> float:
        counted = np.bincount(np.frombuffer(data, dtype=np.uint8), minlength=256)
        expected = len(data) / 256
        return float(((counted - expected) ** 2 / expected).sum())

    assert statistic(SystemSource().take(1 << 20)) < 420
    assert statistic(bytes(1 << 20)) > 420
