"""The cache of results: bounded, and never an error."""

from __future__ import annotations

import sqlite3

from discreet.store import Results


def test_kept_and_bounded(tmp_path):
    """Beyond its bytes the least recently used goes."""
    cache = Results(tmp_path, most_bytes=250)
    for name in ("a", "b"):
        cache.put(name, name.encode() * 100)
    assert cache.get("a") == b"a" * 100
    cache.put("c", b"c" * 100)
    assert cache.get("b") is None
    assert cache.get("a") == b"a" * 100
    assert cache.get("c") == b"c" * 100
    cache.put("huge", b"x" * 251)
    assert cache.get("huge") is None
    cache.put("a", b"new")
    assert cache.get("a") == b"new"
    cache.close()


def test_safe_to_delete_and_to_damage(tmp_path):
    """Deleted or garbled, under an open cache or not: empty, and it works on."""
    cache = Results(tmp_path)
    cache.put("a", b"1")
    for name in list(tmp_path.iterdir()):
        name.unlink()
    assert cache.get("a") is None
    cache.put("a", b"2")
    assert cache.get("a") == b"2"
    cache.close()
    (tmp_path / "cache.sqlite3").write_bytes(b"not a database at all, but long enough" * 50)
    cache = Results(tmp_path)
    assert cache.get("a") is None
    cache.put("a", b"3")
    assert cache.get("a") == b"3"
    cache.close()


def test_changed_bytes_are_not_served(tmp_path):
    cache = Results(tmp_path)
    cache.put("a", b"right")
    cache.close()
    with sqlite3.connect(tmp_path / "cache.sqlite3") as raw:
        raw.execute("UPDATE results SET result = x'00'")
    raw.close()
    assert cache.get("a") is None
    cache.close()
