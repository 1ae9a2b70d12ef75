"""Answers are packed where that is worth it, and never where their length would tell a secret."""

from __future__ import annotations

import gzip

import httpx
import pytest

from discreet.server import packing
from discreet.server.auth import equal, masked

from .serving import PASSWORD, Served

TABLE = "/datasets/deaths/tables?rows=region&columns=cause"


def raw(served: Served, path: str, encoding: str = "gzip", name: str = "ana", **headers: str):
    """An answer as it came over the wire, and its bytes."""
    sent = {"Authorization": f"Bearer {served.tokens[name]}", "Accept-Encoding": encoding} | headers
    with httpx.stream("GET", f"{served.url}/api/v1{path}", headers=sent) as answer:
        return answer, b"".join(answer.iter_raw())


@pytest.mark.parametrize("format", ["json-stat", "csv", "html", "svg", "vega-lite", "px"])
def test_a_packed_answer_is_the_same_answer(served: Served, format: str):
    """From 1 kB an answer comes packed to those who take it; unpacked it is byte for byte the same."""
    path = f"{TABLE}&format={format}"
    answer, packed = raw(served, path)
    plain, body = raw(served, path, "identity")
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) == len(packed) < len(body)
    assert gzip.decompress(packed) == body
    assert "content-encoding" not in plain.headers
    assert "Accept-Encoding" in plain.headers["vary"]
    assert answer.headers["etag"] == f"W/{plain.headers['etag']}"
    again, _ = raw(served, path, **{"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("encoding", ["", "identity", "br", "gzip;q=0", "x-gzip"])
def test_who_does_not_take_gzip_gets_none(served: Served, encoding: str):
    """Nothing is packed for a client that does not say it takes gzip."""
    assert "content-encoding" not in raw(served, TABLE, encoding)[0].headers


def test_small_answers_and_binary_files_are_left_alone(served: Served):
    """Below 1 kB, and in formats that are packed already."""
    assert "content-encoding" not in raw(served, "/session")[0].headers
    assert "content-encoding" not in raw(served, f"{TABLE}&format=xlsx")[0].headers
    assert "content-encoding" not in raw(served, f"{TABLE}&format=parquet")[0].headers


def test_what_holds_a_secret_is_not_packed(served: Served):
    """An answer with a token shown once, or with a session's own CSRF token, keeps its length."""
    with served.client("ana") as ana:
        ana.headers["Accept-Encoding"] = "gzip"
        made = ana.post("/tokens", json={"label": "x" * 40})
        assert made.json()["token"].startswith("dct_")
        assert "content-encoding" not in made.headers
        assert ana.delete(f"/tokens/{made.json()['id']}").status_code == 204
    assert packing.holds_secret(b"{..dct_ab..}", "")
    assert packing.holds_secret(b"<input value=abcd>", "abcd")
    assert not packing.holds_secret(b"<input value=abcd>", "abce")
    with httpx.Client(base_url=served.url, headers={"Accept-Encoding": "gzip"}) as browser:
        login = browser.post("/api/v1/session", json={"name": "ana", "password": PASSWORD})
        csrf = login.json()["csrf"]
        page = browser.get("/")
        assert csrf not in page.text
        assert "content-encoding" not in browser.get("/api/v1/session").headers


def test_masked_tokens_are_accepted_and_differ_each_time(served: Served):
    """The token on a page is other bytes each time, and serves as the token itself does."""
    with httpx.Client(base_url=served.url) as browser:
        csrf = browser.post("/api/v1/session", json={"name": "ana", "password": PASSWORD}).json()[
            "csrf"
        ]
        assert masked(csrf) != masked(csrf)
        for token, status in ((masked(csrf), 201), (csrf, 201), (masked("00" * 32), 403)):
            made = browser.post(
                "/api/v1/tokens", json={"label": "t"}, headers={"X-CSRF-Token": token}
            )
            assert made.status_code == status
    assert not equal("zz" * 64, "00" * 32)
    assert not equal("", "00" * 32)
