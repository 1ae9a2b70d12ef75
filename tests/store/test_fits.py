"""A fit is made once: whoever asks later gets that one, on whatever machine."""

from __future__ import annotations

import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import discreet as dc
from discreet.errors import StoreError
from discreet.file_names import CACHE, FITS
from discreet.methods import registry
from discreet.store import Fits

ASKED = {"method": "marginals", "epsilon": "1", "rows": "region", "columns": "sex"}


def test_the_first_is_kept(tmp_path: Path) -> None:
    """Of many writers at once one is first, and all of them get what it wrote."""
    fits = Fits(tmp_path / "people")
    with ThreadPoolExecutor(8) as pool:
        given = set(pool.map(lambda k: fits.keep("one", b"%d" % k), range(40)))
    assert len(given) == 1
    assert fits.get("one") in given
    assert fits.get("another") is None
    files = list((tmp_path / "people" / FITS).iterdir())
    assert [path.name for path in files] == ["one"]
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600


def test_damage_is_found(tmp_path: Path) -> None:
    """A changed byte is never answered from."""
    fits = Fits(tmp_path / "people")
    fits.keep("one", b"0123456789")
    path = tmp_path / "people" / FITS / "one"
    path.write_bytes(path.read_bytes()[:-1] + b"8")
    with pytest.raises(StoreError, match="damaged"):
        fits.get("one")


def test_hosts_share_them(tmp_path: Path) -> None:
    """Where hosts share a folder for what is large, fits lie there."""
    for host in ("first", "second"):
        (tmp_path / host / "people").mkdir(parents=True)
        (tmp_path / host / "store.yaml").write_text(
            f"database: postgresql://serving@127.0.0.1/none\nblobs: {tmp_path / 'blobs'}\n"
        )
    assert Fits(tmp_path / "first" / "people").keep("one", b"here") == b"here"
    assert Fits(tmp_path / "second" / "people").keep("one", b"there") == b"here"


def test_an_answer_is_not_fitted_again(fresh_demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the cache, and where fitting would give something else, the first numbers come back."""
    with dc.open(fresh_demo / "deaths-dp") as data:
        first = data.table(**ASKED).release().protected.values.tolist()
    (fresh_demo / "deaths-dp" / CACHE).unlink()

    def another(*_: object) -> None:
        raise AssertionError("fitted again")

    monkeypatch.setattr(type(registry.get("marginals")), "fitted", another)
    moved = fresh_demo.with_name("moved")
    shutil.move(fresh_demo, moved)
    with dc.open(moved / "deaths-dp") as data:
        assert data.table(**ASKED).release().protected.values.tolist() == first
